"""``workload.toml``: what a folder says of its variables, its load and its mix beside its files of SQL."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from acidtest.errors import BadInput, Problems, not_among

Value = int | float | str  # of a variable
T = TypeVar("T")

KEYS = ("description", "variables", "load", "transactions")
LOAD_KEYS = ("rows", "columns", "csv")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
CSV_NAME = re.compile(r"[^/\\\0]{1,250}\.csv")
TEXT_MAX = 10_000  # characters of a variable or an expression
WEIGHT_MAX = 1e9
SHOWN_MAX = 60


@dataclass(frozen=True)
class Load:
    """How one table is filled: by expressions, or from a CSV file."""

    rows: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    csv: str | None = None  # the name of the file, which lies in the folder


@dataclass(frozen=True)
class Declared:
    """All that the file says; of what is not sound nothing."""

    variables: Mapping[str, Value] = field(default_factory=dict)
    load: Mapping[str, Load] = field(default_factory=dict)
    weights: Mapping[str, float] | None = None  # None: it has no [transactions]


def declared(text: str, where: str, problems: Problems) -> Declared:
    """What the TOML ``text`` says. What is wrong with a key is added to ``problems``; ``where`` is the file.

    Raises BadInput where it is no TOML.
    """
    try:
        written = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number may have too many digits, a list too many brackets
        why = " ".join(str(error).split()) if isinstance(error, ValueError) else "it is nested too deeply"
        raise BadInput(f"{where}: not TOML: {why}", "correct that line") from None
    reading = _Reading(where, problems)
    reading.known("key", written, KEYS)
    if not isinstance(written.get("description", ""), str):
        reading.refuse(f"description: found {shown(written['description'])}, must be a text")
    weights = reading.each("transactions", written, weight) if "transactions" in written else None
    return Declared(
        variables=reading.each("variables", written, value, named=IDENTIFIER),
        load=reading.each("load", written, reading.load, named=IDENTIFIER),
        weights=weights,
    )


def value(given: object) -> Value:
    """The value of a variable. Raises ValueError, in words that follow its key."""
    if isinstance(given, bool) or not isinstance(given, Value):
        raise ValueError(f"found {shown(given)}, must be a number or a text")
    if isinstance(given, int) and not -(2**63) <= given < 2**63:
        raise ValueError(f"found {shown(given)}")
    if isinstance(given, float) and not math.isfinite(given):
        raise ValueError(f"found {given}, must be finite")
    if isinstance(given, str) and (len(given) > TEXT_MAX or "\0" in given):
        raise ValueError(f"must have at most {TEXT_MAX:,} characters, none of them NUL")
    return given


def weight(given: object) -> float:
    """The weight of a transaction. Raises ValueError, in words that follow its key."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"found {shown(given)}, must be a number")
    if not 0 <= given <= WEIGHT_MAX:
        raise ValueError(f"found {shown(given)}, must be 0 to {WEIGHT_MAX:,.0f}")
    return float(given)


def shown(found: object) -> str:
    """What was found, on one line."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        return "a whole number that needs more than 64 bits"
    if isinstance(found, dict | list):
        return "a table" if isinstance(found, dict) else "a list"
    return f'"{cut(found)}"' if isinstance(found, str) else cut(str(found))


def cut(text: str) -> str:
    """``text`` for one line: printable, and of a long one the beginning."""
    whole = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text[:SHOWN_MAX])
    return whole if len(text) <= SHOWN_MAX else f"{whole}…"


class _Reading:
    def __init__(self, where: str, problems: Problems) -> None:
        self._where, self._problems = where, problems

    def refuse(self, message: str, remedy: str = "") -> None:
        self._problems.add(BadInput(f"{self._where}: {message}", remedy))

    def known(self, what: str, table: Mapping[str, Any], allowed: Collection[str]) -> None:
        for key in table:
            if key not in allowed:
                self.refuse(not_among(what, cut(key), allowed), "correct it, or leave it out")

    def each(
        self, key: str, written: Mapping[str, Any], one: Callable[[Any], T], named: re.Pattern[str] | None = None
    ) -> dict[str, T]:
        """What the table ``key`` holds, each value as ``one`` reads it; those that are not sound are left out."""
        table = written.get(key, {})
        if not isinstance(table, dict):
            self.refuse(f"{key}: found {shown(table)}, must be a table")
            return {}
        found: dict[str, T] = {}
        for name, given in table.items():
            at = f"{key}.{cut(name)}"
            if named is not None and not named.fullmatch(name):
                self.refuse(f"{at}: a name has letters, digits and _, no digit first, at most 63", "name it otherwise")
                continue
            try:
                found[name] = one(given)
            except ValueError as error:
                self.refuse(f"{at}: {error}" if not str(error).startswith(".") else f"{at}{error}")
        return found

    def load(self, given: object) -> Load:
        """One table's load. Raises ValueError."""
        if not isinstance(given, dict):
            raise ValueError(f"found {shown(given)}, must be a table with rows and columns, or with csv")
        if unknown := [key for key in given if key not in LOAD_KEYS]:
            raise ValueError(not_among("key", cut(unknown[0]), LOAD_KEYS))
        if "csv" in given:
            if len(given) > 1:
                raise ValueError("has csv and rows or columns: keep one of them")
            if not isinstance(given["csv"], str) or not CSV_NAME.fullmatch(given["csv"]):
                raise ValueError(f".csv: found {shown(given['csv'])}, must name a file of the folder that ends in .csv")
            return Load(csv=given["csv"])
        if missing := [key for key in ("rows", "columns") if key not in given]:
            raise ValueError(f"{missing[0]} is missing: a table has rows and columns, or csv")
        columns = given["columns"]
        if not isinstance(columns, dict) or not columns:
            raise ValueError('.columns: must be a table with an expression for each column: { id = ":row" }')
        if wrong := [name for name in columns if not IDENTIFIER.fullmatch(name)]:
            raise ValueError(
                f'.columns: "{cut(wrong[0])}" is no name of a column: letters, digits and _, no digit first'
            )
        pairs = tuple((name, _expression(f".columns.{name}", of)) for name, of in columns.items())
        return Load(_expression(".rows", given["rows"]), pairs)


def _expression(key: str, given: object) -> str:
    """As text; a number is one too. Raises ValueError."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return repr(value(given))
    if not isinstance(given, str) or not given.strip() or len(given) > TEXT_MAX or "\0" in given:
        raise ValueError(f"{key}: found {shown(given)}, must be an expression in a text")
    return given
