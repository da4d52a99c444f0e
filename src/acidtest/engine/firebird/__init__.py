"""Firebird 3.0, 4.0 and 5.0, embedded: the engine runs inside the rig's process."""

from acidtest.engine.firebird.embedded import engines

__all__ = ["engines"]
