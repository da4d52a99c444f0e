"""What Firebird's gstat prints of a database: header, tables, indexes. Its lines are those of ``dba_print`` in
``src/utilities/gstat/dba.epp`` of Firebird's source; what a version does not print is missing, not zero."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

HEADER = "Database header page information"
DATABASE = re.compile(r'Database "(.*)"')
HEADER_LINE = re.compile(r"\s*+([A-Z][A-Za-z ]+?)(?:\t+|: *|  +)(.+)")
DATA_PAGES = re.compile(r"\s+Data pages: (\d{1,12})")

ANALYZING = "Analyzing database pages"
TABLE = re.compile(r"(\S.*) \(\d+\)")
INDEX = re.compile(r"    Index (.*) \(\d+\)")
FIGURE = re.compile(r"(?<![A-Za-z -])[ -]*+([A-Za-z][A-Za-z -]*+): (-?\d++(?:\.\d+)?)(?=[,% ]|$)")
DAMAGED = re.compile(r"\s*(Expected .+ on page \d+.*)")  # it counts the rest, and ends in order


@dataclass(frozen=True)
class Part:
    """A table or an index: each figure under its words in lower case, "average record length"."""

    name: str
    table: str  # of an index; "" of a table
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    header: dict[str, str]  # "Page size" -> "8192"
    parts: list[Part]  # a table, then its indexes
    damaged: str  # what it found instead of a page of the kind that it looked for; ""

    @property
    def tables(self) -> list[Part]:
        return [part for part in self.parts if not part.table]

    @property
    def indexes(self) -> list[Part]:
        return [part for part in self.parts if part.table]


def parse(lines: Iterable[str]) -> Output:
    """Read the output of ``gstat -a -r``, or of the services' equal."""
    header: dict[str, str] = {}
    parts: list[Part] = []
    damaged, table, analyzing = "", "", False
    for line in map(str.rstrip, lines):
        if not analyzing:
            analyzing = line.startswith(ANALYZING)
            if match := HEADER_LINE.fullmatch(line):
                header.setdefault(match[1], match[2])
        elif match := TABLE.fullmatch(line):
            table = match[1]
            parts.append(Part(table, ""))
        elif match := INDEX.fullmatch(line):
            parts.append(Part(match[1], table))
        elif match := DAMAGED.fullmatch(line):
            damaged = damaged or match[1]
        elif parts:
            for words, number in FIGURE.findall(line):
                parts[-1].figures.setdefault(words.lower(), float(number))
    return Output(header, parts, damaged)
