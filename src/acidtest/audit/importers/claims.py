"""What the texts beside a benchmark say of it: what it claims to measure, how large the database and the memory are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Claim
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.settings import size

SUFFIXES = (".txt", ".md", ".rst", ".adoc", ".htm", ".html")
LINE_MAX = 2_000
AMOUNT = r"(\d{1,6}(?:[.,]\d{1,3})?)[ -]?([KMGT])i?B"
DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
DRIVE = re.compile(
    r"(?<!no )(?<!not )(?<!not a )\b(drive|disk|storage|i/o)[ -](test|benchmark)\b|"
    r"\b(speed|performance) of (the|a|your) (drive|disk|ssd|storage)\b",
    re.IGNORECASE,
)
DATABASE = (
    re.compile(AMOUNT + r"(?: \w{1,20}){0,2} (?:database|data base|db)\b", re.IGNORECASE),
    re.compile(
        r"\b(?:database|db)(?: (?:size|is|of|has|with|file|takes|holds|about|only|then)){1,6}:? " + AMOUNT, re.I
    ),
)
MEMORY = (
    re.compile(AMOUNT + r" (?:of )?(?:RAM|memory|DDR\d)\b", re.IGNORECASE),
    re.compile(r"\b(?:RAM|memory):? {0,9}" + AMOUNT, re.IGNORECASE),
    re.compile(r"\bMemTotal: {1,40}(\d{1,12}) (k)B"),
)


def _claims(file: File) -> Iterator[Claim]:
    for number, line in enumerate(file.lines, start=1):
        head, where = line[:LINE_MAX], file.at(number)
        text = " ".join(head.split())[:200]
        if DRIVE.search(head):
            yield Claim(where, "drive test", text)
        for patterns, about in ((DATABASE, "database size"), (MEMORY, "memory")):
            match = next(filter(None, (pattern.search(head) for pattern in patterns)), None)
            if match:
                number_of = match[1].replace(",", ".")
                memory = about == "memory"  # counted in powers of two, as databases are not
                amount = size(number_of + match[2]) if memory else int(float(number_of) * DECIMAL[match[2].lower()])
                yield Claim(where, "memory" if memory else "database size", text, amount)


def _read(file: File) -> Sequence[Claim] | None:
    readme = file.base.startswith(("readme", "meminfo")) and "." not in file.base
    if not (readme or file.base.endswith(SUFFIXES)) or "\0" in file.text:
        return None
    return list(_claims(file)) or None


IMPORTER = Importer("text", _read, beside=True)
