"""SQLite, built into the rig."""

from acidtest.engine.sqlite.engine import engines

__all__ = ["engines"]
