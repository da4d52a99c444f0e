"""What engines do when nobody sets it, and how values are written: from ``settings.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([bkmgt]?)(?:i?b)?", re.IGNORECASE)
NUMBER = re.compile(r"\d{1,15}")
PAGES = re.compile(r"(\d{1,15})8kb")  # so many pages, as ``Engine.alike`` writes it
TIME = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*(us|ms|s|min|h|d)")
TIMES_MS = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
FRACTION = re.compile(r"\d{1,15}\.\d{1,9}")
ON, OFF = frozenset(("on", "1", "true", "yes", "y")), frozenset(("off", "0", "false", "no", "n"))


@dataclass(frozen=True)
class Known:
    """One setting of one engine."""

    name: str  # as the manual writes it
    defaults: tuple[tuple[tuple[int, ...], str], ...]  # from a version on
    until: tuple[int, ...]  # the first version without it; () for none
    note: bool  # whether a benchmark should have decided it
    means: str
    oldest: tuple[int, ...]  # the first version of the engine that is known here

    def default(self, version: str) -> str | None:
        """What holds in ``version``; of an unknown one or a series, what holds in all. None where that is not known."""
        of = numbers(version)
        if not of:
            everywhere = len(self.defaults) == 1 and not self.until and self.defaults[0][0] <= self.oldest
            return self.defaults[0][1] if everywhere else None
        if self.until and (of >= self.until or _within(self.until, of)):
            return None
        values = {value for since, value in self.defaults if _within(since, of)}
        values.add(next((value for since, value in reversed(self.defaults) if of >= since), ""))
        return values.pop() or None if len(values) == 1 else None


def _within(one: tuple[int, ...], series: tuple[int, ...]) -> bool:
    """Whether a version is one of this series, and not its first."""
    return one[: len(series)] == series and any(one[len(series) :])


@dataclass(frozen=True)
class Engine:
    known: dict[str, Known]  # by the name in lower case
    neutral: re.Pattern[str]  # names of what has nothing to do with speed or safety
    names: re.Pattern[str]  # of settings that only this engine has
    idle: re.Pattern[str]  # of what benchmarks of transactions do not use, or every packager sets
    units: tuple[tuple[str, re.Pattern[str]], ...]  # what a number without a unit counts in, and the settings' names

    def alike(self, name: str, value: str) -> str:
        """One spelling for what the engine takes for the same: "16384" of PostgreSQL's shared_buffers is "128MB"."""
        unit = next((unit for unit, names in self.units if names.fullmatch(name)), "")
        return alike(f"{value}{unit}" if unit and NUMBER.fullmatch(value.strip()) else value)

    def has(self, name: str) -> bool:
        """Whether a setting of this name, in lower case, is one of this engine's."""
        return name in self.known or self.names.fullmatch(name) is not None

    def spelled(self, name: str) -> str:
        """A setting's name as the manual writes it."""
        return self.known[name].name if name in self.known else name


def numbers(version: str) -> tuple[int, ...]:
    """ "3.0.5" as something that can be compared; without what is behind it, as in "10.6.8-MariaDB" and "18beta1"."""
    begins = re.match(r"\d{1,9}(?:\.\d{1,9}){0,9}", version)
    return tuple(int(part) for part in begins[0].split(".")) if begins else ()


@cache
def of(engine: str | None) -> Engine:
    """What is known of an engine; of one that is not here, nothing."""
    with resources.files("acidtest").joinpath("settings.toml").open("rb") as file:
        tables = tomllib.load(file)
    table = tables.get(engine or "", {})
    units = tuple((unit, re.compile(pattern)) for unit, pattern in table.get("units", {}).items())
    both = tables.get(table.get("like", ""), {}) | table
    known = {}
    oldest = numbers(both.get("oldest", ""))
    for name, one in both.items():
        if isinstance(one, dict) and name != "units":
            defaults = sorted((numbers(since), value) for since, value in one["default"].items())
            until = numbers(one.get("until", ""))
            known[name] = Known(
                one["name"], tuple(defaults), until, one.get("note", False), one.get("means", ""), oldest
            )
    words = ("neutral", "names", "idle")
    neutral, names, idle = (re.compile("".join(both.get(word, "").split()) or r"(?!)") for word in words)
    return Engine(known, neutral, names, idle, units)


def size(value: str) -> int | None:
    """ "64K", "128MB", "1 GB" in bytes, or the plain number; None of what is neither."""
    match = SIZE.fullmatch(value.strip())
    return int(float(match[1]) * UNITS[match[2].lower()]) if match else None


def alike(value: str) -> str:
    """One spelling for what an engine takes for the same."""
    low = value.strip().lower()
    if FRACTION.fullmatch(low):
        low = f"{float(low):.9g}"
    if low in ON or low in OFF:
        return "on" if low in ON else "off"
    if pages := PAGES.fullmatch(low):
        return str(int(pages[1]) * 8192)
    number = size(low)
    if number is not None and not FRACTION.fullmatch(low):
        return str(number)
    if time := TIME.fullmatch(low):
        return f"{float(time[1]) * TIMES_MS[time[2]]:.9g} ms"
    return low
