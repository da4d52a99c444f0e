"""Who noticed, and what was served: by what was seen, never by what was not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acidtest.analysis.expected_loss import POWER_STAYS, SPOILS
from acidtest.journal.models import Fate, Integrity, Notice, StorageFailure
from acidtest.journal.protocol import Checked, Condition
from acidtest.powercut.checkers import judge
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.fault_detection import meets_full, of_evidence, outcome, served, why_unstruck, worth_noticing

FATE = Fate(
    acknowledged=9, present=9, lost=0, loaded_lost=0, unacknowledged=0, torn=0, order_broken=False, examples=[]
)  # fmt: skip
RIGHT = CutEvidence(
    unstruck="",
    fate=FATE,
    checked=Checked(conditions=[Condition(name="sums", holds=True, detail="")], seconds=0.1),
    integrity=Integrity(holds="holds", check="CHECK", said=""),
    filesystem_check="clean",
)
WRONG = replace(RIGHT, fate=FATE.model_copy(update={"present": 8, "lost": 1, "examples": ["one is missing"]}))
BROKEN = Integrity(holds="broken", check="CHECK", said="page 7")
UNASKED = Integrity(holds="unknown", check="CHECK", said="is not installed")


def found(**changes: Any) -> StorageFailure:
    fields: dict[str, Any] = {
        "fault": "(rot 8)", "aimed_at": "a block of a.db", "struck": 1, "read_back": 1, "after": None,
        "acknowledged_after": None, "notices": [], "served": "unknown", "outcome": "unknown", "why": "",
    }  # fmt: skip
    return StorageFailure(**(fields | changes))


@pytest.mark.parametrize(
    ("evidence", "notices", "is_served", "comes_to"),
    [
        (RIGHT, [], "right", "unnoticed"),
        (WRONG, [], "wrong", "silent"),
        (WRONG, [Notice(by="log", said="checksum")], "wrong", "noticed"),
        (replace(WRONG, integrity=BROKEN), [], "wrong", "by check"),
        (replace(RIGHT, integrity=BROKEN), [], "right", "by check"),
        (replace(RIGHT, filesystem_check="errors", filesystem_message="inode 12"), [], "right", "by check"),
        (replace(WRONG, integrity=UNASKED), [], "wrong", "unknown"),  # nobody asked, nobody knows
        (replace(RIGHT, fate=None, checked=None, read_error="I/O error"), [], "refused", "noticed"),
        (replace(RIGHT, fate=None, checked=None, start_error="PANIC"), [], "refused", "noticed"),
        (replace(RIGHT, fate=None, checked=None, mount_error="bad superblock"), [], "refused", "noticed"),
        (replace(RIGHT, inspection_error="no answer"), [], "unknown", "unknown"),
        (replace(RIGHT, unstruck="the fault did not strike"), [], "right", "unknown"),
        (replace(RIGHT, fate=FATE.model_copy(update={"torn": 1})), [], "wrong", "silent"),
        (replace(RIGHT, fate=FATE.model_copy(update={"loaded_lost": 1})), [], "wrong", "silent"),
        (
            replace(RIGHT, checked=Checked(conditions=[Condition(name="s", holds=False, detail="")], seconds=0)), [],
            "wrong", "silent",
        ),
    ],
)  # fmt: skip
def test_outcomes_follow_from_what_was_seen(
    evidence: CutEvidence, notices: list[Notice], is_served: str, comes_to: str
) -> None:
    assert served(evidence) == is_served
    one = found(served=is_served, notices=[*notices, *of_evidence(evidence)])
    assert outcome(one, evidence, judge(evidence))[0] == comes_to


def test_a_fault_that_struck_nothing_is_unknown_and_says_so() -> None:
    assert why_unstruck(found(struck=1, read_back=1)) == ""
    assert why_unstruck(found(struck=3, read_back=None)) == ""
    for one, said in [
        (found(struck=0), "the fault did not strike: nothing was asked of the drive there (a block of a.db)"),
        (found(struck=0, aimed_at=""), "the fault did not strike: no request came after it"),
        (found(struck=1, read_back=0), "the spoiled block was never read again (a block of a.db)"),
    ]:
        assert why_unstruck(one) == said
        evidence = replace(RIGHT, unstruck=said)
        judgement = judge(evidence)
        assert (judgement.verdict, judgement.checks["fault-strikes"]) == ("unknown", "unknown")
        assert outcome(one.model_copy(update={"served": "right"}), evidence, judgement) == ("unknown", said)
    assert "fault-strikes" not in judge(replace(RIGHT, unstruck=None)).checks  # power failed


LOG = """2026-01-01 00:00:01 UTC [77] LOG:  database system is ready to accept connections
2026-01-01 00:00:02 UTC [78] WARNING:  page verification failed, calculated checksum 1 but expected 2
2026-01-01 00:00:03 UTC [78] WARNING:  page verification failed, calculated checksum 11 but expected 22
2026-01-01 00:00:04 UTC [78] ERROR:  could not read block 5 in file "base/1/2": Input/output error
"""


def test_a_log_tells_by_its_words_and_not_by_what_it_always_says() -> None:
    assert [notice.said.partition("] ")[2] for notice in worth_noticing(LOG)] == [
        "WARNING:  page verification failed, calculated checksum 1 but expected 2",
        'ERROR:  could not read block 5 in file "base/1/2": Input/output error',
    ]
    usual = LOG.splitlines()[1].replace("[78]", "[5]")
    (one,) = worth_noticing(LOG, usual)
    assert one.said.endswith("Input/output error")
    assert worth_noticing("LOG:  redo done\nLOG:  checkpoint complete") == []


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ("database or disk is full", True),
        ("The table 'numbered_left' is full (error 1114)", True),
        ("could not extend file: No space left on device", True),
        ("Input/output error", False),
    ],
)
def test_who_has_met_a_full_disk_says_so(said: str, full: bool) -> None:
    assert meets_full([Notice(by="session", said=said)]) == full


def test_the_failures_are_those_that_announcements_know() -> None:
    named = {name for name, failure in FAILURES.items() if failure.wrong}
    assert named - {"vanished-disk"} == POWER_STAYS
    spoils = {
        name
        for name, failure in FAILURES.items()
        if failure.wrong and failure.wrong.at in ("block", "reading", "write")
    }
    assert spoils == set(SPOILS)
