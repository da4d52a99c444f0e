"""What a verdict is made of when the engine does not come up after a cut."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acidtest.engine import Ended
from acidtest.errors import CellFailed
from acidtest.powercut.checkers import judge
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.inspector import Inspector

PANIC = Ended(
    "postgresql-15: the server ended with code 1 while it started: PANIC: could not locate a valid checkpoint"
)
SILENT = CellFailed("postgresql-15: the server did not answer within 120 s: its log is empty")


class Starts:
    """An instance whose starts end so, one after another."""

    def __init__(self, *outcomes: CellFailed) -> None:
        self._outcomes = list(outcomes)

    def start(self, ledger: object) -> None:
        raise self._outcomes.pop(0)

    def lose_power(self) -> None:
        pass


@pytest.mark.parametrize(
    ("outcomes", "verdict", "words"),
    [
        ([PANIC, PANIC], "lost", "the engine does not start: .* PANIC"),
        ([SILENT], "unknown", "the engine could not be started: .* did not answer"),
        ([PANIC, SILENT], "unknown", "the engine could not be started: .* did not answer"),
    ],
    ids=["ends twice and says why", "does not answer", "the second time does not answer"],
)
def test_only_an_engine_that_ends_by_itself_and_says_why_has_lost(outcomes: Any, verdict: str, words: str) -> None:
    nobody: Any = None  # neither cell nor ledger is asked for anything before the engine answers
    instance: Any = Starts(*outcomes)
    evidence = CutEvidence()
    Inspector(nobody, instance, nobody, embedded=False).inspect(evidence, [])
    judgement = judge(evidence)
    (reason,) = judgement.reasons
    assert judgement.verdict == verdict
    assert re.search(words, reason)
    assert judgement.checks["engine-starts"] == verdict
