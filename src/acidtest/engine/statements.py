"""An engine's own trace of statements: how often each ran, how long, and what it did."""

from __future__ import annotations

from abc import ABC, abstractmethod

from acidtest.journal.models import TracedStatements
from acidtest.journal.protocol import Begins


class StatementTrace(ABC):
    """A trace session of one instance. In this order: ``begin``, the rig's work, ``finish``; ``end`` always.

    What keeps the engine from tracing is told by ``finish``; it never ends the cell.
    """

    @abstractmethod
    def begin(self) -> None:
        """Start the session; the instance has started."""

    @abstractmethod
    def terminals_begin(self, event: Begins) -> None:
        """From now on, and of these sessions, statements count."""

    @abstractmethod
    def finish(self, committed: int) -> TracedStatements:
        """Stop the session and tell what it saw. ``committed`` transactions were acknowledged to the terminals."""

    @abstractmethod
    def end(self) -> None:
        """Let go of everything, whatever became of it."""
