"""Tables as database shells print them: psql's and mysql's frames, CSV. Of a long output each table, with its lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

CELLS_MAX = 64
CELL_MAX = 4096
ROWS_MAX = 20_000  # of one table: no engine has as many settings
RULE = re.compile(r"\+?[-=]{2,}(?:[+|][-=]+){0,63}\+?")  # "+----+----+" of mysql, "----+----" of psql


@dataclass
class Table:
    """``names`` are the columns' in lower case; each row has its line, counted from 1."""

    names: tuple[str, ...]
    line: int
    rows: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def _cells(line: str, mark: str = "|") -> tuple[str, ...]:
    bare = line.rstrip("\r\n") if mark == "\t" else line.strip()
    if mark == "|" and bare[:1] == "|" and bare[-1:] == "|" and len(bare) > 1:
        bare = bare[1:-1]
    return tuple(cell.strip()[:CELL_MAX] for cell in bare.split(mark, CELLS_MAX))


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.lower().strip('"`') for cell in cells)


def tables(lines: Sequence[str]) -> Iterator[Table]:
    """Each table with a header in ``lines``, in order. Time is linear in their length."""
    at, count = 0, len(lines)
    while at < count:
        line = lines[at].strip()
        if not line:
            at += 1
        elif (found := _ruled(lines, at)) is not None:
            yield found
            at = max(at + 1, found.rows[-1][0] if found.rows else found.line + 1)
        else:
            at += 1


def _ruled(lines: Sequence[str], at: int) -> Table | None:
    """A header with a rule under it, and perhaps one above."""
    head = at + 1 if RULE.fullmatch(lines[at].strip()) else at
    if head + 1 >= len(lines) or not RULE.fullmatch(lines[head + 1].strip()):
        return None
    names = _names(_cells(lines[head]))
    if not any(names):
        return None
    table = Table(names, head + 1)
    for number in range(head + 2, len(lines)):
        line = lines[number]
        cells = _cells(line)
        ended = RULE.fullmatch(line.strip()) or not line.strip() or (len(names) == 1 and line.lstrip()[:1] == "(")
        if ended or len(cells) != len(names):
            break
        if (cells[0] or not table.rows) and len(table.rows) < ROWS_MAX:  # else a value that goes on in the next line
            table.rows.append((number + 1, cells))
    return table


def separated(lines: Sequence[str], head: int, mark: str) -> Table:
    """The table whose header is ``lines[head]``, its cells apart by ``mark``: "\\t", "," or "|"; until a line has
    another number of cells. CSV's quotes hold within a line and over several."""
    rows = _split(lines, head, mark)
    table = Table(_names(next(rows, (0, ()))[1]), head + 1)
    for line, cells in rows:
        if len(cells) != len(table.names) or len(table.rows) >= ROWS_MAX:
            break
        table.rows.append((line, cells))
    return table


def _split(lines: Sequence[str], head: int, mark: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    if mark != ",":
        yield from ((number + 1, _cells(lines[number], mark)) for number in range(head, len(lines)))
        return
    reader = csv.reader(lines[number] + "\n" for number in range(head, len(lines)))
    with suppress(csv.Error):  # a field of more than 128 KB
        for row in reader:
            yield head + reader.line_num, tuple(cell.strip()[:CELL_MAX] for cell in row)
