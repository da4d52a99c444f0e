"""What a database that has come to a size looks like inside."""

from __future__ import annotations

from functools import partial

from acidtest.conductor.growth.at_work import EngineAtWork
from acidtest.conductor.rig import Standing
from acidtest.journal.models import DatabaseStatistics
from acidtest.place import filecache


def statistics_of(at_work: EngineAtWork) -> DatabaseStatistics:
    """By the engine's own means, with a full read timed cold and warm. May end the server.

    Raises CellFailed in one line where they cannot be taken, as of files that are damaged.
    """
    standing = Standing(at_work.launcher)

    def forget() -> None:
        at_work.database.place().settle()
        filecache.drop(filecache.files_below(at_work.instance.database_files()))

    try:
        return at_work.instance.statistics(partial(at_work.ask, standing), forget)
    finally:
        standing.end()
