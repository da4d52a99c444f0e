"""Columns about an administrator's operations, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from acidtest.analysis.maintenance import Operations
from acidtest.report.line import Line
from acidtest.report.numbers import number
from acidtest.report.table import NOTHING, Column, told

ANSWERS_MAX = 6

EXPLAINED = (
    "Seconds are of one operation, the median of the repetitions, until what it has written is on the drive; “flush s” "
    "is the part after the engine's own answer, and a dash there means that nobody waited for it. MB (10^6 bytes) a "
    "second are of the database, not of the backup's file. Whatever was backed up was restored and looked into "
    "afterwards, outside of these times; “oldest” is the number of the oldest transaction of interest. A cell in "
    "which a condition failed has no figure."
)


def _figure(text: Callable[[Operations], str]) -> Callable[[Any], str]:
    return lambda line: text(line.operations) if line.operations else NOTHING


def _versions(one: Operations) -> str:
    return f"{one.before.versions:,} → {one.after.versions:,}" if one.before and one.after else NOTHING


def _oldest(one: Operations) -> str:
    return f"{one.before.oldest:,} → {one.after.oldest:,}" if one.before and one.after else NOTHING


COLUMNS = (
    Column("s each", _figure(lambda one: number(one.seconds))),
    Column("flush s", _figure(lambda one: number(one.flush_s)), drop=3),
    Column("database MB", _figure(lambda one: number(one.database_mb)), drop=5),
    Column("MB/s", _figure(lambda one: number(one.mb_per_s)), drop=1),
    Column("backup MB", _figure(lambda one: number(one.backup_mb)), drop=2),
    Column("workers seen", _figure(lambda one: NOTHING if one.workers is None else str(one.workers)), drop=4),
    Column("old versions", _figure(_versions), drop=3),
    Column("oldest", _figure(_oldest), drop=6),
)


def columns(lines: Iterable[Line]) -> list[Column]:
    """Those that some line has a figure for; none where no line has operations."""
    return told(COLUMNS, list(lines))


def answer(measured: Iterable[Line]) -> list[str]:
    """How long operations took: one sentence each, or one of the quickest and the longest where there are many."""
    done = sorted(((line, line.operations) for line in measured if line.operations), key=lambda one: one[1].seconds)
    if len(done) > ANSWERS_MAX:
        (quickest, least), (longest, most) = done[0], done[-1]
        took = f"from {number(least.seconds)} s ({quickest.label}) to {number(most.seconds)} s ({longest.label})"
        return [f"An operation took {took}."]
    said = []
    for line, one in done:
        flushed = "" if one.flush_s is not None else ", without a flush"
        speed = f"{number(one.mb_per_s)} MB of database a second"
        said.append(f"{line.label}: {number(one.seconds)} s, {speed}{flushed}.")
    return said
