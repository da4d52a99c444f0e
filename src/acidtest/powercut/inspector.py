"""Starts the engine over what a power cut has left and finds out what is there."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import Protocol

from acidtest.conductor.rig import Refused, Standing, Start, answered, converse, job_for
from acidtest.engine import Ended, Instance
from acidtest.errors import CellFailed
from acidtest.journal.protocol import AskPhase, Checked, CheckPhase, Event, Hello, Phase, Surveyed, SurveyPhase
from acidtest.place import Ledger
from acidtest.plan import Cell
from acidtest.powercut.acknowledgement_log import Acknowledgement, kinds
from acidtest.powercut.commit_accounting import compare, first_missing_ns
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.load import Unledgered


class Kept(Protocol):
    """Processes that stay from inspection to inspection."""

    @property
    def is_fresh(self) -> bool:
        """Whether the next inspection is that of processes that have seen no other state."""


class Inspecting(ABC):
    """Looks at what is mounted, again and again."""

    @abstractmethod
    def inspect(self, evidence: CutEvidence, acknowledged: Sequence[Acknowledgement]) -> None:
        """Start what is looked at, find out what is there, and leave it in ``evidence``."""

    @abstractmethod
    def staying(self) -> AbstractContextManager[Kept]:
        """Processes that inspect stay for the next inspection, as long as ``renew`` does not end them."""

    @abstractmethod
    def renew(self) -> None:
        """The next inspection is that of new processes."""


class Inspector(Inspecting):
    """The engine of ``cell`` as ``instance``, whose files are mounted when ``inspect`` is called."""

    def __init__(
        self,
        cell: Cell,
        instance: Instance,
        ledger: Ledger,
        *,
        embedded: bool,
        begin: Callable[[], None] | None = None,
        start_rig: Start | None = None,
        fetch: Callable[[], None] | None = None,
    ) -> None:
        """``begin`` brings the engine to serve, where that is more than to start it. By ``start_rig`` the rig runs
        elsewhere, and ``fetch`` brings the database to where the engine's check runs."""
        self._cell, self._instance, self._embedded = cell, instance, embedded
        self.begin = begin or partial(instance.start, ledger)
        self._start_rig, self._fetch = start_rig, fetch
        self._standing: Standing | None = None

    def inspect(self, evidence: CutEvidence, acknowledged: Sequence[Acknowledgement]) -> None:
        """Start the engine, survey and check the database."""
        began = time.monotonic()
        try:
            self._start()
            if not self._embedded:
                evidence.engine_recovery_s = time.monotonic() - began
        except Ended as error:
            evidence.start_error = error.message
            return
        except CellFailed as error:
            evidence.inspection_error = f"the engine could not be started: {error.message}"
            return
        phases: list[Phase] = [
            CheckPhase(at_least=kinds(acknowledged)),
            *([SurveyPhase()] if evidence.is_numbered else []),
        ]
        try:
            with closing(self._converse(phases)) as events:
                for event in events:
                    match event:
                        case Hello() if self._embedded:
                            evidence.engine_recovery_s = time.monotonic() - began
                        case Checked():
                            evidence.checked = event
                        case Surveyed():
                            evidence.fate = compare(acknowledged, event)
                            evidence.first_missing_ns = first_missing_ns(acknowledged, event)
        except Refused as error:
            evidence.read_error = error.message
            return
        except CellFailed as error:
            evidence.inspection_error = f"the survey ended before its time: {error.message}"
            return
        try:
            if self._fetch is not None:
                self._fetch()
        except CellFailed as error:
            evidence.inspection_error = f"the database could not be fetched for its check: {error.message}"
            return
        evidence.integrity = self._instance.integrity(self.ask)

    def _start(self) -> None:
        """Start the engine; once more if it ends by itself, as an administrator would do."""
        try:
            self.begin()
        except Ended:
            self._instance.lose_power()
            self.begin()

    def ask(self, question: str) -> list[list[str | None]]:
        """Its rows as text. Raises CellFailed with the engine's words."""
        return answered(self._converse([AskPhase(questions=[question])]))

    def _converse(self, phases: Sequence[Phase]) -> Generator[Event]:
        job = job_for(self._cell, self._instance, phases)
        return converse(job, Unledgered(), self._instance.environment(), self._start_rig or self._standing)

    @contextmanager
    def staying(self) -> Iterator[Standing]:
        """Loading an engine takes longer than opening a database with it."""
        self._standing = standing = Standing(Unledgered(), local_names=True)
        self._instance.expect_looks(many=True)
        try:
            yield standing
        finally:
            standing.end()
            self._standing = None
            self._instance.expect_looks(many=False)

    def renew(self) -> None:
        if self._standing is not None:
            self._standing.end()
            self._instance.expect_looks(many=True)
