"""Fakelite: SQLite under another name, in the rig."""

from acidtest.engine.fakelite.engine import engines

__all__ = ["engines"]
