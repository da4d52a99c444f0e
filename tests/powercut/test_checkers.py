"""Checkers and the verdict that they compose: the worst of theirs, from evidence that can be relied on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from acidtest.analysis.survival import merge
from acidtest.journal.models import FailingState, Fate, Integrity, RecoveryOutcome, Verdict
from acidtest.journal.protocol import Checked, Condition
from acidtest.powercut.checkers import CHECKERS, Answer, Checker, compose, given, judge
from acidtest.powercut.coverage import rank
from acidtest.powercut.evidence import CutEvidence

HOLDS = Integrity(holds="holds", check="PRAGMA integrity_check", said="ok")
CHECKED = Checked(conditions=[Condition(name="counters_match", holds=True, detail="0 differ")], seconds=0.1)
FAILING = Checked(conditions=[Condition(name="sums", holds=False, detail="1 and 2")], seconds=0.1)
KEPT = Fate(acknowledged=2, present=2, lost=0, loaded_lost=0, unacknowledged=0, torn=0, order_broken=False, examples=[])
GONE, PARTS = "transaction 3 of terminal 0 was acknowledged and is not there", "transaction 4 is there in parts"
LOST = KEPT.model_copy(update={"present": 1, "lost": 1, "examples": [GONE]})
TORN = KEPT.model_copy(update={"torn": 1, "examples": [PARTS]})
WHOLE = CutEvidence(
    disk_loses=True, broken_without_cut=[], fate=KEPT, checked=CHECKED, integrity=HOLDS, filesystem_check="clean"
)
NOTHING = CutEvidence()
KEEPS_ALL = "the disk lost nothing of what was written and not flushed: a cut of its power proves nothing"

verdicts: st.SearchStrategy[Verdict] = st.sampled_from(("survived", "unknown", "lost"))


def crash(_: CutEvidence) -> Answer:
    raise ZeroDivisionError("division by zero")


def answering(name: str, verdict: Verdict, *, weighs: bool = True) -> Checker:
    return Checker(name, lambda _: Answer(verdict, (f"{name} answers {verdict}",)), weighs=weighs)


def several(answers: Sequence[Verdict], prefix: str = "checker") -> list[Checker]:
    return [answering(f"{prefix}-{number}", answer) for number, answer in enumerate(answers)]


BAD = {"survived": 0, "unknown": 1, "lost": 2}


@drawn(verdicts, verdicts, verdicts)
def test_merging_is_associative_commutative_and_idempotent(a: Verdict, b: Verdict, c: Verdict) -> None:
    assert merge(a, merge(b, c)) == merge(merge(a, b), c) == merge(a, b, c)
    assert merge(a, b) == merge(b, a)
    assert merge(a, a) == merge(a) == a
    assert BAD[merge(a, b)] == max(BAD[a], BAD[b])


@drawn(st.lists(verdicts, min_size=1), verdicts, st.integers(0))
def test_one_checker_more_never_makes_a_verdict_better(answers: list[Verdict], more: Verdict, place: int) -> None:
    checkers = several(answers)
    before = compose(checkers)(NOTHING)
    checkers.insert(place % (len(checkers) + 1), answering("one-more", more))
    after = compose(checkers)(NOTHING)
    assert BAD[after.verdict] >= BAD[before.verdict]
    assert after.checks == before.checks | {"one-more": more}


@drawn(st.lists(verdicts), st.integers(0))
def test_a_checker_that_crashes_is_unknown_and_named(answers: list[Verdict], place: int) -> None:
    checkers = several(answers)
    checkers.insert(place % (len(checkers) + 1), Checker("broken-one", crash))
    judgement = compose(checkers)(NOTHING)
    assert judgement.checks["broken-one"] == "unknown"
    assert judgement.verdict == ("lost" if "lost" in answers else "unknown")
    if judgement.verdict == "unknown":
        assert "the checker broken-one crashed: ZeroDivisionError: division by zero" in judgement.reasons


@drawn(st.lists(verdicts, min_size=1), st.lists(verdicts, min_size=1))
def test_guarded_checkers_know_nothing_unless_every_guard_survives(
    guards: list[Verdict], answers: list[Verdict]
) -> None:
    guarding = several(guards, "guard")
    judgement = compose([*guarding, *given(guarding, several(answers))])(NOTHING)
    if merge(*guards) == "survived":
        assert judgement.verdict == merge(*answers)
    else:
        assert judgement.verdict == merge(*guards)
        assert {judgement.checks[f"checker-{number}"] for number in range(len(answers))} == {"unknown"}
        assert all(reason.startswith("guard-") for reason in judgement.reasons)


def test_a_guard_that_crashes_lets_nothing_survive() -> None:
    guard = Checker("guard", crash)
    judgement = compose([guard, *given([guard], several(["survived", "lost"]))])(NOTHING)
    assert judgement.verdict == "unknown"
    assert judgement.reasons == ["the checker guard crashed: ZeroDivisionError: division by zero"]


def test_reasons_are_those_of_the_checkers_that_made_the_verdict_each_once() -> None:
    checkers = [answering("a", "unknown"), answering("b", "lost"), answering("c", "survived")]
    checkers.append(Checker("again", lambda _: Answer("lost", ("b answers lost", "and more"))))
    assert compose(checkers)(NOTHING).reasons == ["b answers lost", "and more"]


def test_what_does_not_weigh_is_recorded_all_the_same() -> None:
    judgement = compose([answering("a", "survived"), answering("aside", "lost", weighs=False)])(NOTHING)
    assert (judgement.verdict, judgement.reasons) == ("survived", ["a answers survived"])
    assert judgement.checks == {"a": "survived", "aside": "lost"}


def test_without_a_checker_that_applies_and_weighs_nothing_is_known() -> None:
    judgement = compose([answering("aside", "survived", weighs=False), Checker("elsewhere", lambda _: None)])(NOTHING)
    assert (judgement.verdict, judgement.checks) == ("unknown", {"aside": "survived"})
    assert judgement.reasons == ["no checker applies to what the cut has shown"]


@drawn(st.lists(verdicts, min_size=1))
def test_a_checker_or_guard_that_does_not_apply_changes_nothing(answers: list[Verdict]) -> None:
    elsewhere, other = Checker("elsewhere", lambda _: None), Checker("other", lambda _: None)
    without = compose(several(answers))(NOTHING)
    assert compose([elsewhere, *given([elsewhere], several(answers)), *given([elsewhere], [other])])(NOTHING) == without


def test_a_name_is_used_once() -> None:
    with pytest.raises(ValueError, match="same name"):
        compose(several(["survived"]) * 2)


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_every_checker_that_crashes_is_found_out(checker: Checker) -> None:
    broken = [replace(one, check=crash) if one is checker else one for one in CHECKERS]
    judgement = compose(broken)(WHOLE)
    assert judgement.checks[checker.name] == "unknown"
    assert judgement.verdict == ("unknown" if checker.weighs else "survived")


# What each piece of evidence, alone, does to a cut that survived: the verdict, its reasons, and the checkers with it.
TABLE: dict[str, tuple[dict[str, object], Verdict, list[str], set[str]]] = {
    "the disk keeps all": (
        {"disk_loses": False}, "unknown", [KEEPS_ALL], {"disk-loses-its-cache"},
    ),
    "the checks fail without a cut": (
        {"broken_without_cut": ["sums", "more"]}, "unknown",
        ["without a power cut the checks do not hold: sums; more"], {"holds-without-a-cut"},
    ),
    "the rig dies": (
        {"inspection_error": "the survey ended before its time: killed", "fate": None, "integrity": None}, "unknown",
        ["the survey ended before its time: killed"], {"inspection-completes"},
    ),
    "a line is missing": (
        {"missing_lines": 2}, "unknown", ["the acknowledgement log lacks 2 lines"], {"acknowledgement-log-is-complete"},
    ),
    "no mount": (
        {"mount_error": "bad superblock", "fate": None, "checked": None, "integrity": None}, "lost",
        ["the file system cannot be mounted: bad superblock"], {"file-system-mounts"},
    ),
    "no start": (
        {"start_error": "PANIC", "fate": None, "checked": None, "integrity": None}, "lost",
        ["the engine does not start: PANIC"], {"engine-starts"},
    ),
    "an error while it is read": (
        {"read_error": "page 7 is corrupt", "fate": None, "integrity": None}, "lost",
        ["the engine does not give its data back: page 7 is corrupt"], {"engine-reads-its-data"},
    ),
    "a commit is gone": ({"fate": LOST}, "lost", [GONE], {"acknowledged-commits-are-there"}),
    "a transaction is torn": ({"fate": TORN}, "lost", [PARTS], {"transactions-are-whole"}),
    "a condition fails": ({"checked": FAILING}, "lost", ["sums does not hold: 1 and 2"], {"conditions-hold"}),
    "the engine's check fails": (
        {"integrity": Integrity(holds="broken", check="CHECK TABLE", said="Corrupt")}, "lost", ["CHECK TABLE: Corrupt"],
        {"engine-check-holds"},
    ),
    "commits and conditions": (
        {"fate": LOST, "checked": FAILING}, "lost", [GONE, "sums does not hold: 1 and 2"],
        {"acknowledged-commits-are-there", "conditions-hold"},
    ),
    "no survey": (
        {"fate": None}, "unknown", ["what the database holds could not be surveyed"],
        {"acknowledged-commits-are-there", "transactions-are-whole"},
    ),
    "conditions not checked": (
        {"checked": None}, "unknown", ["the consistency conditions could not be checked"], {"conditions-hold"},
    ),
    "a condition of the workload was left out": (
        {"conditions": ("counters_match", "sums")}, "unknown", ["sums was not checked"], {"conditions-hold"},
    ),
    "the engine's check did not run": (
        {"integrity": None}, "unknown", ["the engine's own integrity check did not run"], {"engine-check-holds"},
    ),
    "the engine's check cannot run": (
        {"integrity": Integrity(holds="unknown", check="amcheck", said="not installed")}, "unknown",
        ["amcheck could not be run: not installed"], {"engine-check-holds"},
    ),
    "the file system's own program finds errors": (
        {"filesystem_check": "errors", "filesystem_message": "inode 12"}, "survived", [], set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_a_piece_of_evidence_does_to_the_verdict(name: str) -> None:
    changes, verdict, reasons, checkers = TABLE[name]
    judgement = judge(replace(WHOLE, **changes))
    assert (judgement.verdict, judgement.reasons) == (verdict, reasons)
    assert judgement.damage == [reason for reason in reasons if verdict == "lost" and reason != GONE]
    if verdict != "survived":
        assert checkers <= {name for name, answer in judgement.checks.items() if answer == verdict}


def test_of_a_cut_that_survived_every_checker_answers_so() -> None:
    assert set(judge(WHOLE).checks.values()) == {"survived"}
    elsewhere = {
        "something-is-left",
        "check-notices-an-empty-disk",
        "check-notices-a-planted-loss",
        "acknowledgements-come-one-by-one",
        "machine-was-off",
        "witness-saw-all",
        "comparison-notices-a-planted-loss",
        "fault-strikes",
    }  # lost disks, programs, real plugs, storage that does wrong
    assert {checker.name for checker in CHECKERS} - judge(WHOLE).checks.keys() == elsewhere
    # A workload that numbers nothing is judged by its conditions, and no checker looks for commits.
    judgement = judge(replace(WHOLE, fate=None, is_numbered=False))
    assert judgement.verdict == "survived"
    assert not {"acknowledged-commits-are-there", "transactions-are-whole"} & judgement.checks.keys()


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[1] == "lost"])
def test_no_witness_of_an_unsound_trial_is_heard(name: str) -> None:
    witness = replace(WHOLE, **TABLE[name][0])
    judgement = judge(replace(witness, disk_loses=False))
    assert (judgement.verdict, judgement.reasons) == ("unknown", [KEEPS_ALL])
    assert "lost" not in judgement.checks.values()
    gap = judge(replace(witness, missing_lines=1))
    assert (gap.verdict, gap.reasons) == ("unknown", ["the acknowledgement log lacks 1 line"])


def test_every_reason_why_a_trial_is_not_sound_is_told() -> None:
    both = replace(WHOLE, disk_loses=False, broken_without_cut=["sums"], missing_lines=1)
    assert judge(both).reasons == [KEEPS_ALL, "without a power cut the checks do not hold: sums"]


def test_nothing_is_known_of_a_cut_that_nobody_looked_at() -> None:
    judgement = judge(NOTHING)
    assert judgement.verdict == "unknown"
    assert judgement.checks["file-system-mounts"] == judgement.checks["engine-starts"] == "unknown"


def test_the_format_page_names_every_checker() -> None:
    page = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text()
    assert [checker.name for checker in CHECKERS if f"`{checker.name}`" not in page] == []


def test_what_was_not_tried_is_no_check() -> None:
    judgement = judge(replace(WHOLE, disk_loses=None, broken_without_cut=None))
    assert judgement.verdict == "survived"
    assert not {"disk-loses-its-cache", "holds-without-a-cut"} & judgement.checks.keys()


def test_what_cannot_be_mounted_says_nothing_of_the_engine() -> None:
    checks = judge(replace(NOTHING, mount_error="bad superblock")).checks
    assert (checks["file-system-mounts"], checks["engine-starts"]) == ("lost", "unknown")


SHORT = Checked(
    conditions=[Condition(name="numbered_left_matches_acknowledged", holds=False, detail="12 rows, 9 acknowledged")],
    seconds=0.1,
)


@pytest.mark.parametrize(
    ("changes", "damage"),
    [
        ({"fate": LOST}, []),
        ({"fate": LOST, "checked": SHORT}, []),
        ({"fate": None, "is_numbered": False, "checked": SHORT}, []),
        ({"fate": LOST.model_copy(update={"order_broken": True})}, ["a later commit is there than one that is missing"]),
        ({"fate": LOST.model_copy(update={"loaded_lost": 1})}, ["rows that were loaded before the run are missing"]),
        ({"fate": TORN.model_copy(update={"examples": []})}, ["transactions are there in parts"]),
        ({"fate": TORN, "disk_loses": False}, []),
    ],
)  # fmt: skip
def test_what_shows_more_than_missing_commits_is_damage(changes: dict[str, object], damage: list[str]) -> None:
    assert judge(replace(WHOLE, **changes)).damage == damage


@drawn(st.integers(0, 4), st.integers(0, 4), st.booleans(), st.booleans())
def test_of_crash_states_a_loss_that_nobody_announced_is_worst(few: int, many: int, one: bool, other: bool) -> None:
    def state(departures: int, unannounced: bool) -> tuple[FailingState, RecoveryOutcome]:
        without = list(range(departures))
        failing = FailingState(start=0, to=9, without=without, torn=[], of="", outcome=0, reasons=["x"])
        return failing, RecoveryOutcome(verdict="lost", unannounced=unannounced, damaged=False, found="", checks={})

    first, second = sorted([state(few, one), state(many, other)], key=lambda found: rank(*found))
    assert (first[1].unannounced, -len(first[0].without)) >= (second[1].unannounced, -len(second[0].without))


def test_a_workload_that_has_no_condition_has_not_survived() -> None:
    """As one of the user's own may be, whose transactions cannot be looked for either."""
    unchecked = replace(WHOLE, fate=None, is_numbered=False, checked=Checked(conditions=[], seconds=0.1))
    judgement = judge(unchecked)
    assert judgement.verdict == "unknown"
    assert judgement.reasons == ["the workload has no conditions: nothing shows whether its rows are whole"]


def test_a_loss_that_a_known_fault_explains_names_it_behind_the_first_example() -> None:
    hidden = (
        "Pointer page 180 {sequence 0} bits {0x10 empty} are not consistent with data page 186 {sequence 4} state {}"
    )
    warned = HOLDS.model_copy(update={"said": f"Validation finished: 0 errors, 1 warnings, 0 fixed / {hidden}"})
    answered = judge(replace(WHOLE, fate=LOST, integrity=warned))
    assert answered.verdict == "lost"
    assert answered.reasons[0] == GONE and "a known fault of Firebird" in answered.reasons[1]
    assert answered.damage == judge(replace(WHOLE, fate=LOST)).damage
    assert judge(replace(WHOLE, integrity=warned)).reasons == []
    assert len(judge(replace(WHOLE, fate=LOST)).reasons) == 1
