"""The systems that results come from, as tools and programs print them beside their figures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Statement

ARCHITECTURES = {"x64": "x86-64", "x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64", "arm64": "arm64"}
SYSTEMS = {
    "darwin": "macOS",
    "macos": "macOS",
    "mac": "macOS",
    "linux": "Linux",
    "win32": "Windows",
    "windows": "Windows",
}
RELEASE = re.compile(r"\d{1,4}\.\d{1,4}")
WORD = re.compile(r"[a-z]+|\d+")
QUOTED = 6  # of each value
SPELLED = {
    "macOS": ("darwin", "mac", "osx"),
    "x86-64": ("x86", "x64", "amd64"),
    "arm64": ("arm", "aarch64", "m1", "m2"),
}


@dataclass(frozen=True)
class Differing:
    """Something that is not the same in all results."""

    what: str  # "system", "release of the kernel"
    values: Mapping[str, Sequence[Statement]]


def _system(name: str, value: str) -> str:
    if name not in ("platform", "os", "operating system", "operating_system", "system"):
        return ""
    words = WORD.findall(value.lower())
    return next((SYSTEMS[word] for word in words if word in SYSTEMS), "")


def _release(name: str, value: str) -> str:
    """The first two numbers of a kernel's or a system's version, with its name."""
    if name not in ("os", "operating system", "operating_system", "system", "kernel"):
        return ""
    match = RELEASE.search(value)
    system = _system("system", value) or value.split(" ", maxsplit=1)[0][:20]
    return f"{system} {match[0]}" if match else ""


def _architecture(name: str, value: str) -> str:
    return ARCHITECTURES.get(value.lower(), "") if name in ("arch", "architecture") else ""


def _processors(name: str, value: str) -> str:
    return f"processors: {value}" if name == "processors" else ""


def _processor(name: str, value: str) -> str:
    return " ".join(value.split()) if name in ("cpu", "processor") and re.search(r"[A-Za-z]{3}", value) else ""


KINDS: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    ("system", _system),
    ("architecture", _architecture),
    ("number of processors", _processors),
    ("processor", _processor),
    ("release of the system", _release),
)


def differing(bench: Bench) -> Iterator[Differing]:
    """What of the system differs between results, where the name of a result's file or folder does not tell it."""
    said = bench.said("platform")
    for what, read in KINDS:
        values: dict[str, dict[str, Statement]] = defaultdict(dict)
        for one in said:
            name, _, value = one.text.partition(" ")
            if name.startswith("operating") and value.startswith("system "):
                value = value.removeprefix("system ")
            if known := read(name, value):
                values[known].setdefault(one.where.file, one)
        files = [file for of in values.values() for file in of]
        if len(values) < 2 or len(set(files)) < len(files):
            continue  # one file of several is a summary
        if sum(all(_told(value, file) for file in of) for value, of in values.items()) >= len(values) - 1:
            continue
        ranked = sorted(values.items(), key=lambda one: len(one[1]))
        yield Differing(what, {value: list(of.values())[:QUOTED] for value, of in ranked})


def _told(value: str, file: str) -> bool:
    words = {word for word in WORD.findall(value.lower()) if len(word) > 2 and word != "processors"}
    words |= set(SPELLED.get(value, ()))
    return bool(words & set(WORD.findall(file.lower())))
