"""SQLite, built into the rig, and shared libraries of the user's."""

from acidtest.engine.sqlite.build import SqliteBuild
from acidtest.engine.sqlite.engine import engines

__all__ = ["SqliteBuild", "engines"]
