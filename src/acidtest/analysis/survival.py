"""Power cuts summed up: what each combination survived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import log10
from statistics import median

from acidtest.analysis.expected_loss import is_unannounced, losses
from acidtest.analysis.samples import by_levels
from acidtest.journal.models import Cut, Recording, States, Verdict
from acidtest.words import counted

HELD = "conditions held"  # and no commit could be looked for
# Checkers by whose answer file system or engine themselves object to what they find.
OBJECTIONS = ("file-system-mounts", "engine-starts", "engine-reads-its-data", "engine-check-holds")


WORST_FIRST: tuple[Verdict, ...] = ("lost", "unknown", "survived")


def merge(first: Verdict, *others: Verdict) -> Verdict:
    """The worst of the verdicts: one ``lost`` is enough, and ``survived`` takes all of them.

    Source: ``merge-valid`` in jepsen's ``checker.clj``, whose ``:unknown`` stands between ``false`` and ``true`` too.
    """
    return min((first, *others), key=WORST_FIRST.index)


def checker_names(names: Iterable[str], *, of_program: bool) -> list[str]:
    """As tables show the names of checkers: a program acknowledges items, and is no engine."""
    if not of_program:
        return list(names)
    words = (("engine", "program"), ("commits", "items"), ("transactions", "items"))
    return [reduce(lambda shown, word: shown.replace(*word), words, name) for name in names]


# Checkers that try the trial itself: on a combination once, before its first cut, or anew after each cut.
CONTROLS = {
    "disk-loses-its-cache": "combination",
    "holds-without-a-cut": "combination",
    "check-notices-an-empty-disk": "combination",
    "check-notices-a-planted-loss": "cut",
    "comparison-notices-a-planted-loss": "combination",
    "machine-was-off": "cut",
}


@dataclass(frozen=True)
class Control:
    """How often a checker that tries the trial itself has found it sound."""

    checker: str
    held: int
    tried: int
    unit: str  # what is counted: "combination", "cut", or "load" whose crash states were looked at


def controls(recordings: Sequence[Recording]) -> list[Control]:
    """In the order of CONTROLS, those that were tried; none of journals whose cuts do not tell."""
    cuts = [
        (recording.cell.rpartition("#")[0], recording.cell, recording.cut.checks)
        for recording in recordings
        if recording.status == "done" and recording.cut
    ]
    tried: list[Control] = []
    each = "load" if all(recording.cut and recording.cut.states for recording in recordings) else "cut"
    for checker, unit in CONTROLS.items():
        held: dict[str, bool] = {}  # by combination or cut: one cut that it did not hold for is enough
        for combination, cell, checks in cuts:
            if checker in checks:
                key = combination if unit == "combination" else cell
                held[key] = held.get(key, True) and checks[checker] == "survived"
        if held:
            tried.append(Control(checker, sum(held.values()), len(held), each if unit == "cut" else unit))
    return tried


@dataclass(frozen=True)
class Survival:
    """All cuts of one combination. Times are medians, in seconds; None where nothing came back."""

    levels: dict[str, str]
    cuts: int  # that were made, those without a verdict included
    survived: int
    held: int  # in which no commit could be looked for: every check that could run held, and no more is known
    lost: int
    losses_announced: int  # by the level or the drive; of crash states each that lost is a loss
    losses_unannounced: int
    damaged: int | None  # of those lost, of crash states each; None where one of them does not tell
    lost_silently: int  # of those lost: the engine started, answered, and found nothing wrong in its files
    unknown: int
    acknowledged: int  # commits, before all cuts together
    lost_commits_worst: int | None  # in the cut that lost the most; None where commits of one could not be counted
    # Before the cut, when the oldest commit that is missing was acknowledged, in the cut where that is longest; None
    # where none is missing, or no cut tells.
    lost_ms_worst: float | None
    torn: int  # transactions found in parts, over all cuts
    filesystem_recovery_s: float | None
    engine_recovery_s: float | None
    repaired: int  # cuts after which the file system had to be repaired
    filesystem_errors: int  # cuts after which its own program found errors
    # Of those lost: the most commits that one lost in which they could be counted, 0 where none could; and how many
    # could not, all of them damaged or not.
    lost_counted_worst: int
    lost_uncounted: int
    uncounted_damaged: bool
    # Each cut or crash state lost all that was acknowledged before it (of a crash state perhaps nothing), and shows no
    # damage.
    lost_all: bool
    cycle_s: float | None
    states: int  # crash states that were built and looked at
    states_survived: int
    states_undemanded: int | None  # of those that survived, the ones before the first acknowledged commit
    damaged_state: str | None  # file of a crash state that shows damage, where the witness shows none
    states_per_s: float | None
    images: int | None  # different contents of the disk among the states; None in older journals, as the next three
    outcomes: int | None  # different ends that recovery came to, of the load that had the most
    states_drawn: int | None  # of the states, those drawn at random
    drawn_outcomes_once: int | None  # ends of recovery that came up once among the drawn ones of a load, over all loads
    # By kind of block: moments at which a state lacked one that was pending, and all at which one was; over all loads.
    exercised: dict[str, tuple[int, int]] | None
    legal_log10: float | None  # of how many images cuts could have left, the decimal logarithm: at most
    after_failed_flush: dict[str, int]  # "stopped", "went on", "hung" -> cuts; empty where no flush was made to fail
    speeds: tuple[tuple[Verdict, float], ...]  # of each cut that has one: its verdict, commits a second before it
    storage_failure: (
        str | None
    )  # what storage did wrong with its power on, as ``place.disk_failure`` has it; None: power failed
    # The worst cut that is not survived: one whose loss was not announced first, then the one that lost most.
    witness: Recording | None
    kept: (
        Recording | None
    )  # another cut, what it left being in a state file; None where the witness has one, or none has

    @property
    def verdict(self) -> Verdict:
        """Of the combination: that of its worst cut; without any cut nothing is known."""
        unknown = self.unknown + self.held
        counts: dict[Verdict, int] = {"lost": self.lost, "unknown": unknown, "survived": self.survived}
        verdicts = [verdict for verdict, count in counts.items() if count]
        return merge(*verdicts) if verdicts else "unknown"

    @property
    def said(self) -> str:
        """The verdict in words: whether what is lost was announced, and that nothing but conditions was looked at."""
        if self.verdict == "unknown" and self.held and not self.unknown:
            return HELD
        return "lost, as announced" if self.verdict == "lost" and not self.losses_unannounced else self.verdict

    @property
    def survived_of(self) -> str:
        """How many survived of those that were looked at; "–" where no commit was looked for."""
        if self.held:
            return "–"
        if self.states:
            return f"{self.states_survived:,} of {counted(self.states, 'state')}"
        return f"{self.survived:,} of {self.cuts:,}"

    @property
    def is_dark(self) -> bool:
        """Whether none of its cuts has a verdict, so that nothing is known of a loss."""
        return not (self.survived or self.held or self.lost)

    @property
    def exercised_share(self) -> float | None:
        """Of the pairs of a moment and a kind of block that was pending then, those where a state lacked such a block.
        None where that is not known, or nothing was pending."""
        pairs = [(0, 0)] if self.exercised is None else list(self.exercised.values())
        all_ = sum(of for _, of in pairs)
        return sum(done for done, _ in pairs) / all_ if all_ else None

    @property
    def commits_per_s(self) -> float | None:
        """The median of the cuts: a speed on the simulated disk, from the load's start to the cut."""
        return median(speed for _, speed in self.speeds) if self.speeds else None


def survivals(recordings: Iterable[Recording]) -> list[Survival]:
    """One for each combination, in the order in which they were first cut."""
    return [_survival(group) for group in by_levels(recordings)]


def _survival(group: list[Recording]) -> Survival:
    cuts = [recording.cut for recording in group if recording.cut is not None and recording.status == "done"]
    fates = [cut.fate for cut in cuts if cut.fate is not None]
    lost = [cut for cut in cuts if cut.verdict == "lost"]
    states = [cut.states for cut in cuts if cut.states is not None]
    sound = [_is_counted(cut) for cut in cuts if cut.verdict == "survived"]
    survived, held = sound.count(True), sound.count(False)
    both = [losses(recording) for recording in group]
    witness = max((r for r in group if _badness(r) > (False, 0, False)), key=_badness, default=None)
    kept = next((r for r in group if r.cut and r.status == "done" and r.cut.state), None)
    return Survival(
        levels=group[0].levels,
        cuts=len(group),
        survived=survived,
        held=held,
        lost=len(lost),
        losses_announced=sum(announced for announced, _ in both),
        losses_unannounced=sum(unannounced for _, unannounced in both),
        damaged=_sum(map(_damaged, lost)) if lost else 0,
        lost_silently=sum(is_silent(cut) for cut in lost),
        unknown=len(group) - survived - held - len(lost),
        acknowledged=sum(fate.acknowledged for fate in fates),
        lost_commits_worst=None if any(cut.fate is None for cut in lost) else max((f.lost for f in fates), default=0),
        lost_ms_worst=max((cut.lost_ms for cut in cuts if cut.lost_ms is not None), default=None),
        torn=sum(fate.torn for fate in fates),
        filesystem_recovery_s=_median(cuts, "filesystem_recovery_s"),
        engine_recovery_s=_median(cuts, "engine_recovery_s"),
        repaired=sum(cut.filesystem_repaired for cut in cuts),
        filesystem_errors=sum(cut.filesystem_check == "errors" for cut in cuts),
        lost_counted_worst=max((cut.fate.lost for cut in lost if cut.fate), default=0),
        lost_uncounted=sum(cut.fate is None for cut in lost),
        uncounted_damaged=all(cut.damage for cut in lost if cut.fate is None),
        lost_all=len(cuts) == len(group) and all(map(_lost_all, cuts)),
        cycle_s=_median(cuts, "cycle_s"),
        states=sum(state.looked_at for state in states),
        states_survived=sum(state.survived for state in states),
        states_undemanded=_sum(state.survived_undemanded for state in states),
        damaged_state=next((state.shortest_damaged for state in states if state.shortest_damaged), None),
        states_per_s=median(state.per_s for state in states) if states else None,
        images=_sum(state.images for state in states),
        outcomes=max((state.outcomes for state in states if state.outcomes is not None), default=None),
        states_drawn=_sum(state.drawn for state in states),
        drawn_outcomes_once=_sum(state.drawn_outcomes_once for state in states),
        exercised=_exercised(states),
        legal_log10=_legal_log10(states),
        after_failed_flush=dict(Counter(cut.after_failed_flush for cut in cuts if cut.after_failed_flush)),
        storage_failure=next((cut.failure for cut in cuts if cut.storage is not None), None),
        speeds=tuple(
            (recording.cut.verdict, per_s)
            for recording in group
            if recording.cut and (per_s := speed(recording)) is not None
        ),
        witness=witness,
        kept=None if witness is None or (witness.cut and witness.cut.state) else kept,
    )


def _lost_all(cut: Cut) -> bool:
    """Whether all that was acknowledged is missing, and what is there is whole; of crash states in each of them, unless
    nothing had been acknowledged before it."""
    fate, states = cut.fate, cut.states
    if states is not None:
        all_ = states.looked_at == (states.lost_all or 0) + (states.survived_undemanded or 0)
        return all_ and states.looked_at > 0 and states.damaged == 0 and said_of_cut(cut) != HELD
    return cut.verdict == "lost" and fate is not None and fate.lost == fate.acknowledged > 0 and cut.damage == []


def _damaged(cut: Cut) -> int | None:
    """How many show damage, of a cut that lost or of its crash states; None where it does not tell."""
    if cut.states is not None:
        return cut.states.damaged
    return None if cut.damage is None else int(bool(cut.damage))


def _is_counted(cut: Cut) -> bool:
    """Whether each acknowledged commit was looked for, or the power did not fail and what storage did wrong was.

    Crash states that survived have no fate, for they are many: a checker says whether it looked for commits in them."""
    if cut.fate is not None or cut.storage is not None:
        return True
    return cut.states is not None and (not cut.checks or "acknowledged-commits-are-there" in cut.checks)


def said_of_cut(cut: Cut) -> str:
    """The verdict on one cut; not "survived" where no commit was looked for."""
    return HELD if cut.verdict == "survived" and not _is_counted(cut) else cut.verdict


def is_silent(cut: Cut) -> bool:
    """Whether neither file system nor engine objects to what a cut that lost has left: it is served as if it were
    right.

    Where the engine's own check could not run, nobody knows; then it is not called silent."""
    if cut.storage is not None:
        return cut.storage.outcome == "silent"
    objects = any(cut.checks.get(name) == "lost" for name in OBJECTIONS)
    return cut.verdict == "lost" and not objects and cut.checks.get("engine-check-holds") == "survived"


def speed(recording: Recording) -> float | None:
    """Commits a second that were acknowledged before the cut; None where that is not known.

    Of crash states it is not: their commits are those of one state, not of the whole load. Nor is it of a whole
    machine, whose processor is emulated.
    """
    cut = recording.cut
    if cut is None or recording.status != "done" or recording.place.guest is not None:
        return None
    if cut.fate is None or cut.states is not None or cut.at_s <= 0:
        return None
    return cut.fate.acknowledged / cut.at_s


def _badness(recording: Recording) -> tuple[bool, int, bool]:
    cut = recording.cut
    if cut is None or recording.status != "done" or cut.verdict == "unknown":
        return False, 1, False
    if cut.verdict == "survived":
        return False, 0, False
    return is_unannounced(recording), 2 + (cut.fate.lost if cut.fate else 1 << 40), cut.state is not None


def _median(cuts: list[Cut], name: str) -> float | None:
    values = [value for cut in cuts if (value := getattr(cut, name)) is not None]
    return median(values) if values else None


def _sum(values: Iterable[int | None]) -> int | None:
    """None where one of them is not known, or there are none."""
    known = list(values)
    return None if not known or None in known else sum(value for value in known if value is not None)


def _exercised(states: list[States]) -> dict[str, tuple[int, int]] | None:
    """None where one of them does not tell, or there are none."""
    if not states:
        return None
    total: dict[str, tuple[int, int]] = {}
    for state in states:
        if state.exercised is None:
            return None
        for kind, (done, of) in state.exercised.items():
            before = total.get(kind, (0, 0))
            total[kind] = before[0] + done, before[1] + of
    return total


def _legal_log10(states: list[States]) -> float | None:
    """Of all loads together."""
    logs = [state.legal_log10 for state in states if state.legal_log10 is not None]
    if not logs or len(logs) < len(states):
        return None
    return max(logs) + log10(sum(10 ** (log - max(logs)) for log in logs))
