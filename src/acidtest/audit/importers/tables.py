"""Tables in a file, whatever they are drawn with: Markdown's pipes, HTML, the frames of database clients, and cells
between commas, semicolons, tabs or spaces. What their figures mean is for ``figures``."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from acidtest.audit.importers.file import File
from acidtest.formats import linear

BYTES_MAX = 4 << 20  # of a text with tables
ROWS_MAX = 5_000  # of one table; a longer one is a log
CELL_MAX = 200  # characters
COLUMNS_MAX = 200
UNIT_MAX = 5  # letters behind a figure
CAPTION_LINES = 6  # before a table that may say what it shows
PROSE = re.compile(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|html?)")
FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
TAG = re.compile(r"<(/?)(table|thead|tr|t[hd]|caption)\b[^<>]*>", re.IGNORECASE)
ANY_TAG = re.compile(r"<[^<>]*>")
HEADING = re.compile(r"\s{0,3}#{1,6}\s|\s{0,3}\*\*|=+\s")
NUMERIC = re.compile(r"[-+~]?\d[\d.,']{0,30}(?:e[-+]?\d{1,3})?[kKM%]?")
SPACES = re.compile(r"[ \t]+")
SEPARATORS = (",", ";", "\t")
BLANK = (" ", "  ")
ALIGNED = re.compile(r"[ \t]{2,200}|\t")
RULE = linear.compile(r"\s*[-=]{5,}[-= ]*")
NOTHING = ("-", "--", "---")
CUT_LEAST = 3  # rows of a table that something else follows without a line between
MARKED = re.compile(r"\s<-{2,}")  # a remark that points to a row


@dataclass(frozen=True)
class Row:
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A heading and the rows below it. ``caption`` is what stands above: its own, or the lines before it."""

    line: int
    last: int
    caption: str
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
    return [*drawn, *_fenced(file.lines)] if PROSE.fullmatch(file.base) else drawn or list(delimited(file.lines))


def _fenced(lines: Sequence[str]) -> Iterator[Table]:
    """Delimited tables in the blocks of a text that are not set as prose."""
    begin: int | None = None
    for at, line in enumerate(lines):
        if FENCE.match(line):
            if begin is not None:
                yield from (replace(one, caption=_above(lines, begin - 1)) for one in delimited(lines[begin:at], begin))
            begin = at + 1 if begin is None else None


def _amount(cell: str) -> str:
    """A cell without the unit behind its figure: "2.34" of "2.34 ms"."""
    figure, _, unit = cell.partition(" ")
    return figure if len(unit) <= UNIT_MAX and unit.isascii() else cell


def is_numeric(cell: str) -> bool:
    return NUMERIC.fullmatch(cell.strip().strip("*_` ")) is not None


# -------------------------------------------------------------------------------------------------- frames and pipes


def _drawn(lines: Sequence[str]) -> Iterator[Table]:
    """Tables whose heading is ruled off: ``| a | b |`` over ``|---|---|``, ``a | b`` over ``---+---``, and framed."""
    at = 1
    while at < len(lines):
        rule = lines[at].strip()
        if not _is_rule(rule) or "|" not in lines[at - 1]:
            at += 1
            continue
        head = _cells(lines[at - 1])
        rows: list[Row] = []
        below = at + 1
        while below < len(lines) and len(rows) <= ROWS_MAX:
            bare = lines[below].strip()
            if "|" in bare and not _is_rule(bare):
                rows.append(Row(below + 1, _cells(lines[below])))
            elif not _is_rule(bare):
                break
            below += 1
        if len(head) > 1 and len(head) <= COLUMNS_MAX and rows and len(rows) <= ROWS_MAX:
            yield Table(at, below, _above(lines, at - 1), head, tuple(rows))
        at = below + 1


def _is_rule(bare: str) -> bool:
    return len(bare) > 2 and "-" in bare + "-" * ("=" in bare) and set(bare) <= set("|+-=: \t") and _ruled(bare)


def _ruled(bare: str) -> bool:
    return ("|" in bare or "+" in bare) and (
        "--" in bare or "==" in bare or ":-" in bare or "|-|" in bare or "- |" in bare
    )


def _cells(line: str) -> tuple[str, ...]:
    bare = line.strip()
    bare = bare.removeprefix("|").removesuffix("|")
    return tuple(_plain(cell) for cell in bare.replace("\\|", "/").split("|")[: COLUMNS_MAX + 1])


def _plain(cell: str) -> str:
    """Without the marks of Markdown and HTML."""
    bare = html.unescape(ANY_TAG.sub(" ", cell[: 10 * CELL_MAX]))
    return " ".join(bare.replace("*", "").replace("`", "").replace("\\", "").split())[:CELL_MAX]


def _above(lines: Sequence[str], at: int) -> str:
    """The lines before line ``at`` (from 0) that may be its caption, up to the next heading."""
    said: list[str] = []
    for line in reversed(lines[max(0, at - CAPTION_LINES) : at]):
        bare = line.strip()
        if "|" in bare or FENCE.match(line) or (said and not bare and HEADING.match(said[-1])):
            break
        if bare and not _is_rule(bare):
            said.append(bare[:CELL_MAX])
            if HEADING.match(line):
                break
    return "\n".join(reversed(said))


# ------------------------------------------------------------------------------------------------------------- HTML


def _html(text: str) -> Iterator[Table]:
    """Every table of a page; of nested ones the inner."""
    begin = line = 0
    at_line = 1
    cells: list[str] = []
    rows: list[Row] = []
    cell_at: int | None = None
    caption = lead = ""
    caption_at = None
    inside = False
    before = 0  # where the text before the table begins
    for tag in TAG.finditer(text):
        at_line += text.count("\n", begin, tag.start())
        begin = tag.start()
        name, closes = tag[2].lower(), bool(tag[1])
        if cell_at is not None and (name in ("td", "th", "tr") or (name == "table" and closes)):
            cells.append(_plain(text[cell_at : min(tag.start(), cell_at + 10 * CELL_MAX)]))
            cell_at = None
        if name == "table" and not closes:
            inside, rows, cells, line = True, [], [], at_line
            caption, lead = "", text[max(before, tag.start() - 1_000) : tag.start()]
        elif name in ("tr", "table") and inside and cells:
            rows.append(Row(at_line, tuple(cells[:COLUMNS_MAX])))
            cells = []
        if name == "table" and closes and inside:
            if 1 < len(rows) <= ROWS_MAX:
                caption = caption or " ".join(html.unescape(ANY_TAG.sub(" ", lead)).split())[-CELL_MAX:]
                yield Table(line, at_line, caption, rows[0].cells, tuple(rows[1:]))
            inside, before = False, tag.end()
        elif name == "caption":
            if closes and caption_at is not None:
                caption = _plain(text[caption_at : caption_at + 10 * CELL_MAX].partition("<")[0])
            caption_at = None if closes else tag.end()
        elif name in ("td", "th") and not closes and inside:
            cell_at = tag.end()


# -------------------------------------------------------------------------------------------------------- delimited


def delimited(lines: Sequence[str], before: int = 0) -> Iterator[Table]:
    """Blocks of lines with as many cells each, the first of which is a heading."""
    begin = 0
    lines = [MARKED.split(line)[0] for line in lines]
    for at in range(len(lines) + 1):
        if at < len(lines) and lines[at].strip():
            continue
        if at - begin > 1:
            table = _block(lines, begin, at)
            if table is not None:
                moved = tuple(replace(row, line=row.line + before) for row in table.rows) if before else table.rows
                yield replace(table, line=table.line + before, last=table.last + before, rows=moved)
        begin = at + 1


def _block(lines: Sequence[str], begin: int, end: int) -> Table | None:
    if begin + 3 < end and RULE.fullmatch(lines[begin + 1]) and RULE.fullmatch(lines[begin + 3]):
        begin += 1  # a title
    if begin + 2 < end and RULE.fullmatch(lines[begin]):
        begin += 1  # it is ruled above too
    head_line = lines[begin]
    separator = next((one for one in SEPARATORS if one in head_line), " ")
    if len(head_line) > COLUMNS_MAX * CELL_MAX or end - begin > ROWS_MAX + 1:
        return None
    if separator == " " and ALIGNED.search(head_line.strip()):
        separator = "  "  # between columns, within which words have one
    head = _split(head_line.removeprefix("#") if separator.isspace() else head_line, separator)
    ended = not head or not head[-1]  # a separator after the last cell too
    head = head[:-1] if ended else head
    if not 1 < len(head) <= COLUMNS_MAX or sum(map(is_numeric, head)) * 2 > len(head) or not all(map(len, head)):
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
        rows.append(Row(at + 1, cells))
    figures = sum(is_numeric(_amount(cell)) or cell in NOTHING for row in rows for cell in row.cells)
    if separator in BLANK and all(row.cells[0].endswith(":") for row in rows):
        return None  # a list of labels, and no table
    if not rows or figures < len(rows) or (separator in BLANK and figures < len(rows) * (len(head) - 1)):
        return None
    return Table(begin + 1, end, "", head, tuple(rows))


def _split(line: str, separator: str) -> tuple[str, ...]:
    if separator in BLANK:
        return tuple((SPACES if separator == " " else ALIGNED).split(line.strip()))
    try:
        cells = next(csv.reader([line.replace("\0", "")], delimiter=separator), [])
    except csv.Error:
        return ()
    return tuple(cell.strip()[:CELL_MAX] for cell in cells)
