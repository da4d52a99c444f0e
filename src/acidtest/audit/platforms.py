"""The systems that results come from, as tools and programs print them beside their figures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Statement

ARCHITECTURES = {"x64": "x86-64", "x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64", "arm64": "arm64"}
SYSTEMS = {
    **dict.fromkeys(("darwin", "macos", "mac"), "macOS"),
    "linux": "Linux",
    **dict.fromkeys(("win32", "windows"), "Windows"),
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


def _system(value: str) -> str:
    return next((SYSTEMS[word] for word in WORD.findall(value.lower()) if word in SYSTEMS), "")


def _release(value: str) -> str:
    """The first two numbers of a kernel's or a system's version, with its name."""
    match = RELEASE.search(value)
    return f"{_system(value) or value.split(' ', maxsplit=1)[0][:20]} {match[0]}" if match else ""


def _processor(value: str) -> str:
    return " ".join(value.split()) if re.search(r"[A-Za-z]{3}", value) else ""


NAMES = ("os", "operating system", "operating_system", "system")
# What may differ, the names under which tools print it, and how a value is told.
KINDS: tuple[tuple[str, tuple[str, ...], Callable[[str], str]], ...] = (
    ("system", ("platform", *NAMES), _system),
    ("architecture", ("arch", "architecture"), lambda value: ARCHITECTURES.get(value.lower(), "")),
    ("number of processors", ("processors",), "processors: {}".format),
    ("processor", ("cpu", "processor"), _processor),
    ("release of the system", ("kernel", *NAMES), _release),
)


def differing(bench: Bench) -> Iterator[Differing]:
    """What of the system differs between results, where the name of a result's file or folder does not tell it."""
    for what, names, read in KINDS:
        values: dict[str, dict[str, Statement]] = defaultdict(dict)
        for one in bench.said("platform"):
            name = next((name for name in names if one.text.startswith(f"{name} ")), None)
            if name and (known := read(one.text.removeprefix(f"{name} "))):
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
