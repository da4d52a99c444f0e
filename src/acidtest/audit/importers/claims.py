"""What the texts beside a benchmark say of it: what it claims to measure, how large the database and the memory are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Claim
from acidtest.audit.importers import prose
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear
from acidtest.settings import size

SUFFIXES = (".txt", ".md", ".rst", ".adoc", ".htm", ".html")
LINE_MAX = 2_000
AMOUNT = r"(\d{1,6}(?:[.,]\d{1,3})?)[ -]?([KMGT])i?B"
DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
DRIVE = linear.compile(
    r"\b(drive|disk|storage|i/o)[ -](test|benchmark)s?\b|"
    r"\b(speed|performance) of (the|a|your) (drive|disk|ssd|storage)\b",
    linear.I,
)
DATABASE = (
    linear.compile(AMOUNT + r"(?: \w{1,20}){0,2} (?:database|data ?base|db|data ?set)\b", linear.I),
    linear.compile(r"\b\d[\d,.]{0,12}k?m? (?:rows|records|documents)[* ]{0,3}\(~?" + AMOUNT + r"\)", linear.I),
    linear.compile(
        r"\b(?:database|db)(?: (?:size|is|of|has|with|file|takes|holds|about|only|then)){1,6}:? " + AMOUNT, linear.I
    ),
)
MEMORY = (
    linear.compile(AMOUNT + r" (?:of )?(?:\w{1,12} )?(?:RAM|memory|DDR\d)\b", linear.I),
    linear.compile(r"\b(?:RAM|memory)\b[ :*_=]{0,12}" + AMOUNT, linear.I),
    linear.compile(r"\bMemTotal: {1,40}(\d{1,12}) (k)B"),
)
ANY = linear.compile(
    r"drive|disk|storage|i/o|database|data base|data ?set|rows|records|documents|db|ram|mem|ddr", linear.I
)
CELL = linear.compile(AMOUNT, linear.I)
IS_MEMORY = linear.compile(r"\b(?:RAM|memory|mem|DRAM)\b", linear.I)
# "Shared memory", "memory limit of 4 GB": not what the machine has.
OTHER_MEMORY = linear.compile(
    r"\b(?:shared|swap|virtual|heap|gpu|video|work|cache|buffer|maintenance)[ _-]?(?:memory|mem|ram)\b|"
    r"\b(?:memory|ram|mem)[ _-]?(?:limit|usage|used|consum\w*|footprint|request|reservation|bandwidth)|"
    r"\b(?:uses?|used|using|takes?|consum\w+|needs?|limit\w* to|up to)\b",
    linear.I,
)


def _claims(file: File) -> Iterator[Claim]:
    machines = prose.Machines(file.prose, LINE_MAX)
    for number, whole in enumerate(file.prose, start=1):
        line, where = whole[:LINE_MAX], file.at(number)
        if not ANY.search(line) and not ("|" in line and CELL.search(line)):
            continue
        text = " ".join(line.split())[:200]
        test = DRIVE.search(line)
        if test and not prose.denied(line, *test.span()):
            yield Claim(where, "drive test", text)
        for begin, amount in _sizes(line):
            yield Claim(where, "database size", text, amount, machines.of(number, begin))
        for begin, amount in _memory(line, machines.heads(number)):
            yield Claim(where, "memory", text, amount, machines.of(number, begin))


def _sizes(line: str) -> Iterator[tuple[int, int]]:
    match = next(filter(None, (pattern.search(line) for pattern in DATABASE)), None)
    if match and not _unsaid(line, *match.span()):
        yield match.start(), int(float(match[1].replace(",", ".")) * DECIMAL[match[2].lower()])


def _memory(line: str, heads: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Each amount of memory that a line tells of, with where it stands. In a table either the row or the column says
    that it is one. Counted in powers of two, as databases are not."""
    row = prose.cells(line)
    if OTHER_MEMORY.search(line):
        return
    if row:
        whole = IS_MEMORY.search(next((text for _, text in row if text), "")) is not None
        for n, (begin, text) in enumerate(row):
            column = n < len(heads) and IS_MEMORY.search(heads[n]) is not None
            match = CELL.search(text) if whole or column else None
            if match or (match := next(filter(None, (pattern.search(text) for pattern in MEMORY)), None)):
                yield begin, size(match[1].replace(",", ".") + match[2]) or 0
        return
    found = next((many for pattern in MEMORY if (many := list(pattern.finditer(line)))), [])
    for match in found:
        if not _unsaid(line, *match.span()):
            yield match.start(), size(match[1].replace(",", ".") + match[2]) or 0


def _unsaid(line: str, begin: int, end: int) -> bool:
    return prose.denied(line, begin, end) or prose.supposed(line, begin)


def _read(file: File) -> Sequence[Claim] | None:
    readme = file.base.startswith(("readme", "meminfo")) and "." not in file.base
    if not (readme or file.base.endswith(SUFFIXES)) or b"\0" in file.head:
        return None
    return list(_claims(file)) or None


IMPORTER = Importer("text", _read, beside=True)
