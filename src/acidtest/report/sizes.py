"""Columns about sizes, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidtest.analysis.sizes import differ
from acidtest.report.fitted import Column
from acidtest.report.numbers import number

if TYPE_CHECKING:
    from acidtest.report.results import Line

EXPLAINED = (
    "MB are 10^6 bytes, medians of the repetitions. The database is its tables and indexes: when the measurement began "
    "→ at its largest, where it grew. The log is the engine's write-ahead or redo log at its largest."
)


def _mb(size: float | None) -> str:
    return number(size / 1e6) if size is not None else "–"


def _database(line: Line) -> str:
    one = line.sizes
    if one is None:
        return "–"
    return _mb(one.database_bytes) + (f" → {_mb(one.database_bytes_max)}" if one.database_grew else "")


def columns(lines: Sequence[Line], *, database: bool = True) -> list[Column]:
    """Of what differs between rows, or grew while it was measured."""
    seen = [line.sizes for line in lines if line.sizes]
    logs = [one.log_bytes_max for one in seen if one.log_bytes_max is not None]
    shown = []
    if database and (differ([one.database_bytes for one in seen]) or any(one.database_grew for one in seen)):
        shown.append(Column("database MB", _database, drop=4))
    if differ(logs) or any(one.log_grew for one in seen):
        shown.append(Column("log MB", lambda line: _mb(line.sizes.log_bytes_max if line.sizes else None), drop=4))
    return shown
