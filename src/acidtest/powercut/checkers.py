"""What judges a power cut: checkers, each a value with a name, and the verdict that they compose; pure.

A checker takes the evidence of one cut and answers ``survived``, ``lost`` or ``unknown``, with reasons. ``lost`` needs
a witness: a commit, a condition or a structure that is not as it was acknowledged, or a file system or engine that says
why it does not give back what it was given. ``survived`` needs what the checker looks at to be there, and to be as it
must be. The verdict on the cut is the worst of theirs.

Checkers live beside the trial and not in ``analysis``, because a part of what they judge is not recorded. What is
recorded is what each of them has answered, and what of it shows more than that the last commits are missing: damage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from acidtest.analysis.survival import merge
from acidtest.families import FAMILIES
from acidtest.journal.models import Cut, DiskFailure, Verdict
from acidtest.powercut.acknowledgement_log import NS_OF_MS, commit_ms
from acidtest.powercut.commit_accounting import missing_examples, partial_examples
from acidtest.powercut.evidence import CutEvidence
from acidtest.words import counted
from acidtest.workload import broken, counts_commits


@dataclass(frozen=True)
class Answer:
    """What one checker finds. Without a reason, an ``unknown`` is explained by another checker."""

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()  # of lost: what shows more than that the last commits are missing


def _damaged(*reasons: str) -> Answer:
    return Answer("lost", reasons, damage=reasons)


SURVIVED, UNEXPLAINED = Answer("survived"), Answer("unknown")
NOT_SURVEYED = Answer("unknown", ("what the database holds could not be surveyed",))


@dataclass(frozen=True)
class Checker:
    """One checker. The recording keeps its answer under ``name``."""

    name: str
    check: Callable[[CutEvidence], Answer | None]
    weighs: bool = True  # False: its answer is recorded and is no part of the verdict

    def answer(self, evidence: CutEvidence) -> Answer | None:
        """What it finds; ``unknown`` where it crashes, never ``survived``. None where it does not apply.

        Source: ``check-safe`` in jepsen's ``checker.clj``.
        """
        try:
            return self.check(evidence)
        except Exception as error:
            return Answer("unknown", (f"the checker {self.name} crashed: {type(error).__name__}: {error}",))


@dataclass(frozen=True)
class Judgement:
    """The verdict on a cut, the reasons for it, and what each checker answered."""

    verdict: Verdict
    reasons: list[str]  # of the checkers that have the same verdict; none of survived
    checks: dict[str, Verdict]  # by the checker's name
    damage: list[str] = field(default_factory=list)  # of lost, as in Answer


Judge = Callable[[CutEvidence], Judgement]


def compose(checkers: Sequence[Checker]) -> Judge:
    """A judge whose verdict is the worst that a weighing checker answers, of those that apply.

    Where none applies it is ``unknown``. Raises ValueError when two checkers have one name.
    """
    if len({checker.name for checker in checkers}) != len(checkers):
        raise ValueError("two checkers have the same name")

    def judge(evidence: CutEvidence) -> Judgement:
        possible = [(checker, checker.answer(evidence)) for checker in checkers]
        answers = [(checker, answer) for checker, answer in possible if answer is not None]
        checks = {checker.name: answer.verdict for checker, answer in answers}
        weighing = [answer for checker, answer in answers if checker.weighs]
        if not weighing:
            return Judgement("unknown", ["no checker applies to what the cut has shown"], checks)
        verdict = merge(*(answer.verdict for answer in weighing))
        reasons = [reason for answer in weighing if answer.verdict == verdict for reason in answer.reasons]
        damage = [one for answer in weighing if answer.verdict == verdict for one in answer.damage]
        return Judgement(verdict, list(dict.fromkeys(reasons)), checks, list(dict.fromkeys(damage)))

    return judge


def given(guards: Sequence[Checker], checkers: Sequence[Checker]) -> tuple[Checker, ...]:
    """``checkers``, each of which knows nothing unless every guard that applies survived.

    What a trial shows that is not sound is no witness, neither of a loss nor of a survival. The guards are to be
    composed with them: they hold the reasons.
    """

    def guarded(checker: Checker) -> Checker:
        def check(evidence: CutEvidence) -> Answer | None:
            answer = checker.check(evidence)
            held = [guard.answer(evidence) for guard in guards]
            is_sound = all(one is None or one.verdict == "survived" for one in held)
            return answer if answer is None or is_sound else UNEXPLAINED

        return replace(checker, check=check)

    return tuple(guarded(checker) for checker in checkers)


def _unknown_for(reason: str | None) -> Answer:
    return Answer("unknown", (reason,)) if reason is not None else SURVIVED


def _disk_loses(evidence: CutEvidence) -> Answer | None:
    keeps = "the disk lost nothing of what was written and not flushed: a cut of its power proves nothing"
    return None if evidence.disk_loses is None else _unknown_for(None if evidence.disk_loses else keeps)


def _holds_without_cut(evidence: CutEvidence) -> Answer | None:
    if evidence.broken_without_cut is None:
        return None
    broken = "; ".join(evidence.broken_without_cut[:2])
    return _unknown_for(f"without a power cut the checks do not hold: {broken}" if broken else None)


def _notices_planted(evidence: CutEvidence) -> Answer | None:
    if evidence.planted is None:
        return None
    answered = f"program.check answered {evidence.planted}, which was never written: its answers prove nothing"
    return _unknown_for(answered if evidence.planted else None)


def _unless_empty(found: str | None) -> Answer | None:
    return None if found is None else _unknown_for(found or None)


def _log_is_complete(evidence: CutEvidence) -> Answer:
    lacks = f"the acknowledgement log lacks {counted(evidence.missing_lines, 'line')}"
    return _unknown_for(lacks if evidence.missing_lines else None)


def _engine_answered(evidence: CutEvidence) -> bool:
    seen = (evidence.fate, evidence.checked, evidence.integrity)
    return not evidence.nothing_left and any(one is not None for one in seen)


def _something_is_left(evidence: CutEvidence) -> Answer | None:
    gone = "the disk is lost for good, and there is no replica"
    return _damaged(gone) if evidence.nothing_left else None


def _mounts(evidence: CutEvidence) -> Answer:
    if evidence.nothing_left:
        return UNEXPLAINED
    if evidence.mount_error is not None:
        return _damaged(f"the file system cannot be mounted: {evidence.mount_error}")
    later = (evidence.start_error, evidence.read_error)
    return SURVIVED if _engine_answered(evidence) or any(error is not None for error in later) else UNEXPLAINED


def _starts(evidence: CutEvidence) -> Answer:
    if evidence.start_error is not None:
        who = "program" if evidence.is_program else "engine"
        return _damaged(f"the {who} does not start: {evidence.start_error}")
    return SURVIVED if _engine_answered(evidence) else UNEXPLAINED


def _reads(evidence: CutEvidence) -> Answer:
    if evidence.read_error is not None:
        return _damaged(f"the engine does not give its data back: {evidence.read_error}")
    return SURVIVED if _engine_answered(evidence) else UNEXPLAINED


def _commits(evidence: CutEvidence) -> Answer | None:
    fate = evidence.fate
    if not evidence.is_numbered:
        return None  # there are none to look for: the workload's conditions stand for them
    if fate is None:
        return NOT_SURVEYED
    if not fate.lost and not fate.loaded_lost:
        return SURVIVED
    older = ["rows that were loaded before the run are missing"] if fate.loaded_lost else []
    older += ["a later commit is there than one that is missing"] if fate.order_broken else []
    examples = missing_examples(fate)
    return Answer("lost", (*examples[:1], *_known(evidence), *examples[1:]), damage=tuple(older))


def _known(evidence: CutEvidence) -> list[str]:
    """What a known fault explains of what is missing, by the words of the engine's own check."""
    text = evidence.integrity.said if evidence.integrity else ""
    return [means for family in FAMILIES.values() if (means := family.known_by(text))]


def _transactions(evidence: CutEvidence) -> Answer | None:
    fate = evidence.fate
    if not evidence.is_numbered:
        return None
    if fate is None:
        return NOT_SURVEYED
    return _damaged(*(partial_examples(fate) or ["transactions are there in parts"])) if fate.torn else SURVIVED


def _conditions(evidence: CutEvidence) -> Answer | None:
    if evidence.is_program:
        return None
    if evidence.checked is None:
        return Answer("unknown", ("the consistency conditions could not be checked",))
    checked = evidence.checked.conditions
    if amiss := [one for one in checked if not one.holds]:
        # That there are not as many rows as acknowledged commits says no more than that some are missing.
        damage = tuple(broken(one) for one in amiss if not counts_commits(one.name))
        return Answer("lost", tuple(map(broken, amiss)), damage=damage)
    if not checked and not evidence.conditions and not evidence.is_numbered:
        return Answer("unknown", ("the workload has no conditions: nothing shows whether its rows are whole",))
    missing = [name for name in evidence.conditions if name not in {one.name for one in checked}]
    return Answer("unknown", tuple(f"{name} was not checked" for name in missing)) if missing else SURVIVED


def _integrity(evidence: CutEvidence) -> Answer | None:
    integrity = evidence.integrity
    if integrity is None and evidence.is_program:
        return None
    if integrity is None:
        return Answer("unknown", ("the engine's own integrity check did not run",))
    match integrity.holds:
        case "broken":
            return _damaged(f"{integrity.check}: {integrity.said}")
        case "unknown":
            return Answer("unknown", (f"{integrity.check} could not be run: {integrity.said}",))
        case "holds":
            return SURVIVED


def _filesystem(evidence: CutEvidence) -> Answer:
    verdicts: dict[str, Verdict] = {"clean": "survived", "errors": "lost", "unknown": "unknown"}
    return Answer(verdicts[evidence.filesystem_check], tuple(filter(None, [evidence.filesystem_message])))


SOUND = (
    Checker("disk-loses-its-cache", _disk_loses),
    Checker("holds-without-a-cut", _holds_without_cut),
    Checker("check-notices-an-empty-disk", lambda evidence: _unless_empty(evidence.blind_to_loss)),
    Checker("check-notices-a-planted-loss", _notices_planted),
    Checker("machine-was-off", lambda evidence: _unless_empty(evidence.restarted)),
    Checker("witness-saw-all", lambda evidence: _unless_empty(evidence.witnessed)),
    Checker("comparison-notices-a-planted-loss", lambda evidence: _unless_empty(evidence.unnoticed_loss)),
    Checker("fault-strikes", lambda evidence: _unless_empty(evidence.unstruck)),
    Checker("inspection-completes", lambda evidence: _unknown_for(evidence.inspection_error)),
)
GUARDS = (*SOUND, *given(SOUND, (Checker("acknowledgement-log-is-complete", _log_is_complete),)))
WITNESSES = (
    Checker("something-is-left", _something_is_left),
    Checker("file-system-mounts", _mounts),
    Checker("engine-starts", _starts),
    Checker("engine-reads-its-data", _reads),
    Checker("acknowledged-commits-are-there", _commits),
    Checker("transactions-are-whole", _transactions),
    Checker("conditions-hold", _conditions),
    Checker("engine-check-holds", _integrity),
    # No guard: what is lost was acknowledged, however late.
    Checker("acknowledgements-come-one-by-one", lambda evidence: _unless_empty(evidence.buffered)),
)
REPORTED = (Checker("file-system-check", _filesystem, weighs=False),)
CHECKERS = (*GUARDS, *given(GUARDS, WITNESSES), *REPORTED)

judge = compose(CHECKERS)


def recorded(
    evidence: CutEvidence,
    judgement: Judgement,
    failure: DiskFailure | Literal["plug"],
    drive: str,
    cycle_s: float,
    state: str | None = None,
) -> Cut:
    """A cut as it is recorded: what was found of it, and the verdict; ``state`` is the file of what it left."""
    cut, acknowledged = evidence.cut, evidence.acknowledged or []
    missing_ns = evidence.first_missing_ns
    return Cut(
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        checks=judgement.checks,
        damage=judgement.damage,
        failure=failure,
        after_failed_flush=evidence.after_failed_flush,
        failed_flush_said=evidence.failed_flush_error,
        acknowledged_after_failed_flush=evidence.acknowledged_after_failed_flush,
        drive=drive,
        at_s=evidence.at_s,
        kept_bytes=cut.kept_bytes if cut else None,
        lost_bytes=cut.lost_bytes if cut else None,
        torn_writes=cut.torn_writes if cut else None,
        fate=evidence.fate,
        integrity=evidence.integrity,
        filesystem_check=evidence.filesystem_check,
        filesystem_said=evidence.filesystem_message,
        filesystem_repaired=evidence.filesystem_repaired,
        filesystem_mending_said=evidence.filesystem_mending_said,
        filesystem_recovery_s=evidence.filesystem_recovery_s,
        engine_recovery_s=evidence.engine_recovery_s,
        cycle_s=cycle_s,
        state=state,
        recovery=evidence.recovery,
        replication=evidence.replication,
        storage=evidence.storage,
        files=evidence.files,
        commit_ms=commit_ms(acknowledged),
        lost_ms=(evidence.cut_ns - missing_ns) / NS_OF_MS if missing_ns else None,
    )
