"""Tables in a file, whatever they are drawn with: Markdown's pipes, HTML, the frames of database clients, and cells
between commas, semicolons, tabs or spaces. What their figures mean is for ``figures``."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import TableRow
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20  # of a text with tables
ROWS_MAX = 5_000  # of one table; a longer one is a log
CELL_MAX = 200  # characters
COLUMNS_MAX = 200
QUOTED_MAX = 300  # rows of one table of a text; a longer one is a record
UNIT_MAX = 5  # letters behind a figure
PROSE = linear.compile(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|html?)")
FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
HEADING_MAX = 200  # characters
HEADING = linear.Pattern(r"\s{0,3}(?:#{1,6}\s+|(?:<details>\s{0,3})?<summary>)(.{1,400}?)(?:</summary>.{0,99})?")
TAG = re.compile(r"<(/?)(table|tr|t[hd])\b[^<>]*>", re.IGNORECASE)
ANY_TAG = re.compile(r"<[^<>]*>")
NUMERIC = re.compile(r"[-+~]?\d[\d.,']{0,30}(?:e[-+]?\d{1,3})?[kKM%]?")
SPACES = re.compile(r"[ \t]+")
SEPARATORS = (",", ";", "\t")
BLANK = (" ", "  ")
ALIGNED = re.compile(r"[ \t]{2,200}|\t")
RULE = linear.compile(r"\s*[-=]{5,}[-= ]*")
RULED = linear.compile(r"[|+:=\- \t]*(?:--|==|:-|\|-\||- \|)[|+:=\- \t]*")  # below a heading
NOTHING = ("-", "--", "---")
CUT_LEAST = 3  # rows of a table that something else follows without a line between
MARKED = re.compile(r"\s<-{2,}")  # a remark that points to a row


@dataclass(frozen=True)
class Row:
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A heading and the rows below it, in the file's lines from ``line`` to ``last``."""

    line: int
    last: int
    head: tuple[str, ...]
    rows: tuple[Row, ...]


def of_file(file: File) -> list[Table]:
    """All tables of a text; none of what is no text or is too long to be one that somebody wrote."""
    if file.size > BYTES_MAX or b"\0" in file.head[:4096]:
        return []
    if b"<t" in file.head.lower() and file.base.endswith((".html", ".htm", ".xhtml")):
        return list(_html(file.text))
    drawn = list(_drawn(file.lines))
    if not drawn and b"<table" in file.head.lower():
        drawn = list(_html(file.text))
    if not PROSE.fullmatch(file.base):
        return drawn or list(delimited(file.lines))
    return [*drawn, *(table for begin, end in blocks(file.lines) for table in delimited(file.lines[begin:end], begin))]


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines between each pair of fences, from 0; of one that is never closed those to the end."""
    fences = [at for at, line in enumerate(lines) if FENCE.match(line)]
    yield from ((fence + 1, other) for fence, other in zip(fences[::2], [*fences[1::2], len(lines)], strict=False))


def headings(lines: Sequence[str]) -> list[str]:
    """Of each line of a text the heading above it; a line of a block that begins with "#" is none."""
    found, under, fenced = [], "", False
    for line in lines:
        begins = line.lstrip()[:1]  # by which most lines are known to be neither
        if begins in ("`", "~") and FENCE.match(line.lstrip()):
            fenced = not fenced
        elif begins in ("#", "<") and not fenced and (match := HEADING.fullmatch(line.rstrip())):
            under = match[1].strip("# \t")[:HEADING_MAX]
        found.append(under)
    return found


def is_numeric(cell: str) -> bool:
    return NUMERIC.fullmatch(cell.strip().strip("*_` ")) is not None


# -------------------------------------------------------------------------------------------------- frames and pipes


def _drawn(lines: Sequence[str]) -> Iterator[Table]:
    """Tables whose heading is ruled off: ``| a | b |`` over ``|---|---|``, ``a | b`` over ``---+---``, and framed."""
    at = 1
    while at < len(lines):
        if "|" not in lines[at - 1] or not _is_rule(lines[at].strip()):
            at += 1
            continue
        head = _cells(lines[at - 1])
        rows: list[Row] = []
        below = at + 1
        while below < len(lines) and len(rows) <= ROWS_MAX:
            bare = lines[below].strip()
            if not _is_rule(bare):
                if "|" not in bare:
                    break
                rows.append(Row(below + 1, _cells(lines[below])))
            below += 1
        if 1 < len(head) <= COLUMNS_MAX and 0 < len(rows) <= ROWS_MAX:
            yield Table(at, below, head, tuple(rows))
        at = below + 1


def _is_rule(bare: str) -> bool:
    return len(bare) > 2 and ("|" in bare or "+" in bare) and RULED.fullmatch(bare) is not None


def _cells(line: str) -> tuple[str, ...]:
    bare = line.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell) for cell in bare.replace("\\|", "/").split("|")[: COLUMNS_MAX + 1])


def _plain(cell: str) -> str:
    """Without the marks of Markdown and HTML."""
    bare = html.unescape(ANY_TAG.sub(" ", cell[: 10 * CELL_MAX]))
    return " ".join(bare.replace("*", "").replace("`", "").replace("\\", "").split())[:CELL_MAX]


def _html(text: str) -> Iterator[Table]:
    """Every table of a page; of nested ones the inner."""
    counted = begin = line = 0
    cells: list[str] = []
    rows: list[Row] | None = None
    cell_at: int | None = None
    for tag in TAG.finditer(text):
        counted += text.count("\n", begin, tag.start())
        begin = tag.start()
        name, closes = tag[2].lower(), bool(tag[1])
        if cell_at is not None and (name != "table" or closes):
            cells.append(_plain(text[cell_at : min(begin, cell_at + 10 * CELL_MAX)]))
            cell_at = None
        if name == "table" and not closes:
            rows, cells, line = [], [], counted + 1
        elif rows is None:
            continue
        elif name in ("tr", "table") and cells:
            rows.append(Row(counted + 1, tuple(cells[:COLUMNS_MAX])))
            cells = []
        elif name in ("td", "th") and not closes:
            cell_at = tag.end()
        if name == "table" and closes:
            if 1 < len(rows) <= ROWS_MAX:
                yield Table(line, counted + 1, rows[0].cells, tuple(rows[1:]))
            rows = None


# -------------------------------------------------------------------------------------------------------- delimited


def delimited(lines: Sequence[str], before: int = 0) -> Iterator[Table]:
    """Blocks of lines with as many cells each, the first of which is a heading; ``before`` lines stand above."""
    begin = 0
    lines = [MARKED.split(line)[0] for line in lines]
    for at in range(len(lines) + 1):
        if at < len(lines) and lines[at].strip():
            continue
        if at - begin > 1 and (table := _block(lines, begin, at, before)):
            yield table
        begin = at + 1


def _block(lines: Sequence[str], begin: int, end: int, before: int) -> Table | None:
    if begin + 3 < end and RULE.fullmatch(lines[begin + 1]) and RULE.fullmatch(lines[begin + 3]):
        begin += 1  # a title
    if begin + 2 < end and RULE.fullmatch(lines[begin]):
        begin += 1  # it is ruled above too
    head_line = lines[begin]
    separator = next((separator for separator in SEPARATORS if separator in head_line), " ")
    if len(head_line) > COLUMNS_MAX * CELL_MAX or end - begin > ROWS_MAX + 1:
        return None
    if separator == " " and ALIGNED.search(head_line.strip()):
        separator = "  "  # between columns, within which words have one
    head = _split(head_line.removeprefix("#") if separator.isspace() else head_line, separator)
    ended = not head or not head[-1]  # a separator after the last cell too
    head = head[:-1] if ended else head
    if not 1 < len(head) <= COLUMNS_MAX or sum(map(is_numeric, head)) * 2 > len(head) or not all(head):
        return None
    rows: list[Row] = []
    for at in range(begin + 1, end):
        if lines[at].startswith("#") or RULE.fullmatch(lines[at]):
            continue
        cells = _split(lines[at], separator)
        cells = cells[:-1] if ended and cells and not cells[-1] else cells
        if len(cells) != len(head):
            if separator in BLANK and len(rows) >= CUT_LEAST and not any(map(is_numeric, cells[:1])):
                break  # what a tool prints below its table
            return None
        rows.append(Row(before + at + 1, cells))
    if separator in BLANK and all(row.cells[0].endswith(":") for row in rows):
        return None  # a list of labels, and no table
    figures = sum(_is_figure(cell) for row in rows for cell in row.cells)
    if not rows or figures < len(rows) * (len(head) - 1 if separator in BLANK else 1):
        return None
    return Table(before + begin + 1, before + end, head, tuple(rows))


def _is_figure(cell: str) -> bool:
    """Whether it is a figure, a figure with its unit ("2.34 ms"), or a mark for none."""
    figure, _, unit = cell.partition(" ")
    return cell in NOTHING or is_numeric(figure if len(unit) <= UNIT_MAX and unit.isascii() else cell)


def _split(line: str, separator: str) -> tuple[str, ...]:
    if separator in BLANK:
        return tuple((SPACES if separator == " " else ALIGNED).split(line.strip()))
    try:
        cells = next(csv.reader([line.replace("\0", "")], delimiter=separator), [])
    except csv.Error:
        return ()
    return tuple(cell.strip()[:CELL_MAX] for cell in cells)


def _read(file: File) -> Sequence[TableRow] | None:
    """The rows of a text's tables as they stand there."""
    short = [one for one in of_file(file) if len(one.rows) <= QUOTED_MAX] if PROSE.fullmatch(file.base) else []
    if not short:
        return None
    above = headings(file.lines)
    return [
        TableRow(file.at(row.line), one.line, one.head, row.cells, under=above[min(one.line, len(above)) - 1])
        for one in short
        for row in one.rows
    ][:ROWS_MAX]


IMPORTER = Importer("text", _read, beside=True)
