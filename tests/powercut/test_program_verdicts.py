"""Verdicts on a program: which evidence counts only after its check has been seen to notice a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import Mock

import pytest

from acidtest.errors import CellFailed
from acidtest.journal.models import Fate, Integrity
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.checkers import judge
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.program import ProgramInspector, blind_to_loss

KEPT = Fate(acknowledged=2, present=2, lost=0, loaded_lost=0, unacknowledged=0, torn=0, order_broken=False, examples=[])
GONE = 'item "key-2" was acknowledged and is not there'
LOST = KEPT.model_copy(update={"present": 1, "lost": 1, "examples": [GONE]})
TORN = KEPT.model_copy(update={"present": 1, "torn": 1, "examples": ['item "key-2" is there in parts']})
SOUND = CutEvidence(
    is_program=True,
    disk_loses=True,
    broken_without_cut=[],
    blind_to_loss="",
    planted="",
    fate=KEPT,
    filesystem_check="clean",
)
BLIND = "on a disk that had lost everything, check did not answer missing for 2 of 2 items"


def test_a_program_needs_neither_conditions_nor_an_integrity_check() -> None:
    judgement = judge(SOUND)
    assert judgement.verdict == "survived", judgement.reasons
    assert not {"conditions-hold", "engine-check-holds"} & judgement.checks.keys()
    # Of an engine without them nothing is known.
    assert judge(replace(SOUND, is_program=False)).verdict == "unknown"


@pytest.mark.parametrize("fate", [KEPT, LOST, TORN])
@pytest.mark.parametrize(
    ("amiss", "reason"),
    [
        ({"blind_to_loss": BLIND}, BLIND),
        (
            {"planted": 'present for "key-92"'},
            'program.check answered present for "key-92", which was never written: its answers prove nothing',
        ),
        ({"broken_without_cut": [GONE]}, f"without a power cut the checks do not hold: {GONE}"),
        ({"disk_loses": False}, "the disk lost nothing of what was written and not flushed"),
        ({"inspection_error": "program.check ended with code 7: boom"}, "program.check ended with code 7: boom"),
    ],
)
def test_nothing_counts_unless_the_check_was_seen_to_notice_a_loss(
    fate: Fate, amiss: dict[str, object], reason: str
) -> None:
    judgement = judge(replace(SOUND, fate=fate, **amiss))  # type: ignore[arg-type]
    assert judgement.verdict == "unknown"
    assert judgement.reasons[0].startswith(reason)


def test_what_was_acknowledged_late_may_be_lost_and_never_survives() -> None:
    late = replace(SOUND, buffered="program.load acknowledged 9 of 10 items in one write with the next")
    kept, gone = judge(late), judge(replace(late, fate=LOST))
    assert (kept.verdict, kept.reasons) == ("unknown", [late.buffered])
    assert (gone.verdict, gone.reasons) == ("lost", [GONE])
    assert gone.checks["acknowledgements-come-one-by-one"] == "unknown"
    assert judge(replace(SOUND, buffered="")).verdict == "survived"


def test_a_missing_item_is_lost_and_one_in_parts_is_damage() -> None:
    gone, parts = judge(replace(SOUND, fate=LOST)), judge(replace(SOUND, fate=TORN))
    assert (gone.verdict, gone.reasons, gone.damage) == ("lost", [GONE], [])
    assert (parts.verdict, parts.damage) == ("lost", ['item "key-2" is there in parts'])


def test_a_program_that_does_not_start_or_says_that_it_is_damaged_has_lost() -> None:
    starts = judge(replace(SOUND, fate=None, planted=None, start_error="kv: the server ended with code 1"))
    assert starts.verdict == "lost"
    assert starts.damage == ["the program does not start: kv: the server ended with code 1"]
    said = Integrity(holds="broken", check="program.check", said="page 3 has no checksum")
    damaged = judge(replace(SOUND, integrity=said))
    assert (damaged.verdict, damaged.damage) == ("lost", ["program.check: page 3 has no checksum"])


class _Check(ProgramInspector):
    """One that answers so, or cannot look."""

    def __init__(self, answer: str | None) -> None:
        instance = Mock()
        instance.spec.start = ""
        super().__init__(instance, Mock())
        self._answer = answer

    def _start(self) -> None: ...

    def ask(self, asked: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        if self._answer is None:
            raise CellFailed("program.check ended with code 1: no such table: sales")
        return dict.fromkeys(asked, self._answer), []


def test_a_check_that_dies_where_everything_is_lost_is_told_before_the_first_cut() -> None:
    log = [Acknowledgement(0, n, 0, n, 10 * n, 10 * n, f"key-{n}") for n in (1, 2)]
    blind, mute = blind_to_loss(_Check(None), log)
    assert blind == ""  # it has noticed that something is wrong
    assert mute == (
        "on a disk that had lost everything written since the start, program.check ended with code 1: no such table: "
        "sales. A cut that takes everything is unknown for that reason, and not lost, until check answers missing for "
        "each item there"
    )
    assert blind_to_loss(_Check("missing"), log) == ("", "")
    blind, mute = blind_to_loss(_Check("present"), log)
    assert blind.endswith("does check look there?")
    assert mute == ""


def test_the_time_of_the_oldest_missing_item_is_kept() -> None:
    evidence = CutEvidence(is_program=True)
    _Check("missing").inspect(evidence, [Acknowledgement(0, 1, 0, 1, 5, 10, "key-1")])
    assert evidence.first_missing_ns == 10
