"""The systems and machines that results come from, as tools, programs and tables show them beside their figures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Statement, TableRow
from acidtest.audit.rules.builds import named
from acidtest.finding import FAIR, Found, rule

UNLIKE = 1.2  # times as much memory
MACHINE = re.compile(r"(?:v?cpus?|cores|processor|os|operating system|kernel|memory|ram)\b", re.IGNORECASE)
MEMORY = re.compile(r"(?:memory|ram)(?: \(.{1,40}\))?", re.IGNORECASE)
SIZE = re.compile(r"~?(\d{1,6}(?:\.\d{1,3})?) ?([MGT])i?B\b", re.IGNORECASE)
POWERS = {"M": 1, "G": 1 << 10, "T": 1 << 20}
SOFTWARE = re.compile(r"\w[\w .+-]{1,30}")
DOTTED = re.compile(r"v?(\d{1,4}\.\d{1,4}\.\d{1,4}\S{0,20})(?:$| )")
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


def _differing(bench: Bench) -> Iterator[Differing]:
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


@rule(
    "system-differs",
    severity="doubtful",
    says="Figures of different systems are compared: their files, caches, schedulers and processors differ too.",
    remedy="Measure all sides on the same system, or make it a factor.",
    disproved_by="a log or a version query of the measured servers that shows other builds, or results of one system",
    source="The study of InnoDB's commits on Windows and Linux: the same engine, up to ten times apart",
)
def system_differs(bench: Bench) -> Iterator[Found]:
    if "system" in bench.factors:
        return
    built = [(side, systems) for side in bench.sides if (systems := sorted({server.system for server in side.servers}))]
    if len({tuple(systems) for _, systems in built}) > 1:
        parts = dict.fromkeys(f"{named(side, bench.sides)} is built for {' and '.join(of)}" for side, of in built)
        binaries = [binary for side, _ in built for binary in side.servers]
        yield Found(
            f"{', '.join(parts)}.", tuple(binary.where.says(f"built for {binary.system}") for binary in binaries)
        )
    if "machine" not in bench.factors and (differing := list(_differing(bench))):
        text = "; ".join(f"the {one.what} ({', '.join(one.values)})" for one in differing)
        evidence = dict.fromkeys(
            said.where.says(said.text) for one in differing for of in one.values.values() for said in of
        )
        # Systems may be what is compared: what a kit's files do not say is for its reader to know.
        yield Found(f"The results come from systems that differ in {text}.", tuple(evidence), noted=True)
    if not {"machine", "memory"} & bench.factors:
        yield from _memories(bench)


def _memories(bench: Bench) -> Iterator[Found]:
    """Listings of memory, or columns of a table of machines, that are not of one size."""
    listed_ = sorted(bench.said("memory"), key=lambda one: one.value or 0)
    if listed_ and (listed_[-1].value or 0) > UNLIKE * (listed_[0].value or 0):
        text = f"The memory differs: {listed_[0].text}, and {listed_[-1].text}."
        yield Found(text, tuple(dict.fromkeys(one.where.says(one.text) for one in listed_)), noted=True)
    for row, sizes in _environments(bench, MEMORY, SIZE):
        amounts = [float(size[1]) * POWERS[size[2].upper()] for size in sizes]
        if max(amounts) > UNLIKE * min(amounts):
            yield Found(f"The memory differs: {_columns(row)}.", (row.where.says(" | ".join(row.cells)),), noted=True)


def _environments(
    bench: Bench, label: re.Pattern[str], cell: re.Pattern[str]
) -> Iterator[tuple[TableRow, list[re.Match[str]]]]:
    """Rows of this label in tables of machines, which have a column for each side, and what their cells hold."""
    tables = {
        (row.where.file, row.table) for row in bench.rows if row.cells and MACHINE.match(row.cells[0].strip("*` "))
    }
    for row in bench.rows:
        if (row.where.file, row.table) in tables and len(row.cells) > 2 and label.fullmatch(row.cells[0].strip("*` ")):
            found = [match for one in row.cells[1:] if (match := cell.match(one.strip("*` ")))]
            if len(found) == len(row.cells) - 1:
                yield row, found


def _columns(row: TableRow) -> str:
    return ", ".join(f"{cell} of {head}" for head, cell in zip(row.head[1:], row.cells[1:], strict=False))


@rule(
    "version-differs",
    severity="note",
    says="What is compared runs on different versions of the same software: a difference may be theirs.",
    remedy="Give all sides one version, or make it a factor.",
    disproved_by="a version query of what was measured",
    source=FAIR,
)
def version_differs(bench: Bench) -> Iterator[Found]:
    for row, versions in _environments(bench, SOFTWARE, DOTTED):
        if "version" not in bench.factors and len({version[1] for version in versions}) > 1:
            yield Found(
                f"{row.cells[0].strip('*` ')} differs: {_columns(row)}.", (row.where.says(" | ".join(row.cells)),)
            )
