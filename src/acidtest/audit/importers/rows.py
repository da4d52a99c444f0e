"""The rows of tables in texts as they stand there, for what the table itself says of its figures: a change, a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import TableRow
from acidtest.audit.importers import headings, tables
from acidtest.audit.importers.file import File, Importer

ROWS_MAX = 300  # of one table; a longer one is a record
FILE_ROWS_MAX = 5_000


def _read(file: File) -> Sequence[TableRow] | None:
    if not tables.PROSE.fullmatch(file.base):
        return None
    of_file = tables.of_file(file)
    return list(_rows(file, of_file))[:FILE_ROWS_MAX] or None if of_file else None


def _rows(file: File, of_file: Sequence[tables.Table]) -> Iterator[TableRow]:
    above = headings.of_lines(file.lines)
    for table in of_file:
        if len(table.rows) <= ROWS_MAX:
            under = above[table.line - 1] if table.line <= len(above) else ""
            for row in table.rows:
                yield TableRow(file.at(row.line), table.line, table.head, row.cells, table.caption, under)


IMPORTER = Importer("text", _read, beside=True)
