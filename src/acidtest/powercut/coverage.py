"""Which crash states of one recorded load are looked at, by whom, and until when; pure but for reading the load.

There is one list of what was looked at: the lines ``Explored`` of the journal. A state on it is not handed out again,
also where a run was ended. States that are handed out and did not come back are handed out again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from acidtest.analysis.survival import WORST_FIRST, merge
from acidtest.conductor.watcher import Exploring
from acidtest.journal.models import Explored, FailingState, RecoveryOutcome, States, Verdict
from acidtest.plan import Cell
from acidtest.powercut import crash_states
from acidtest.powercut.crash_states import DRAWN, State
from acidtest.powercut.recorded_load import RecordedLoad, contents

STATES = 200  # where the experiment names neither a number nor a time
BATCH_S = 3.0  # that a host looks before it tells: so much is looked at again where it dies
BATCH_MAX = 500


@dataclass(frozen=True)
class Asked:
    """A state to look at, and how it stands on the list."""

    state: State
    image: str
    demanded: int

    @property
    def at_random(self) -> bool:
        return self.state.of == DRAWN


@dataclass(frozen=True)
class Budget:
    """How much is looked at: so many states, or for so long; whichever ends first."""

    states: int | None
    seconds: float | None

    @staticmethod
    def of(cell: Cell) -> Budget:
        states, seconds = cell.place.disk_states, cell.place.disk_states_s
        return Budget(STATES if states is None and seconds is None else states, seconds)


class Exploration:
    """The states of one load: handed out in batches, taken back as lines of the journal."""

    def __init__(self, load: RecordedLoad, sha256: str, seed: int, budget: Budget) -> None:
        self.load_sha256 = sha256
        self._budget = budget
        images = contents(load)
        demanded = load.demanded()
        self._drawn = crash_states.states(
            load.records, load.start, load.end, load.sector_bytes, seed, images, demanded.__getitem__, load.kind_of
        )
        self._load = load
        # What could be exercised, and what has been: writes of a kind that were pending at a moment, by the moment.
        self._pending: dict[str, set[int]] = {}
        self._exercised: dict[str, set[int]] = {}
        for to, writes in images.pending.items():
            for kind in crash_states.by_kind(writes, load.kind_of):
                self._pending.setdefault(kind, set()).add(to)
        self._demanded = demanded
        self._legal_log10 = crash_states.added_log10([images.legal_log10(writes) for writes in images.pending.values()])
        logged = load.records[load.start : load.end]
        self._flushes = sum(one.is_flush for one in logged)
        self._writes = len(logged) - self._flushes
        self._known: dict[str, int] = {}  # image -> the most commits that it was looked at for
        self._waiting: deque[Asked] = deque()  # given back
        self._has_drawn = False
        self._out = 0  # handed out and not come back
        self._is_exhausted = False
        self._elapsed_s = 0.0  # of the budget, when the last line came
        self._verdicts: Counter[Verdict] = Counter()
        self._outcomes: dict[tuple[Verdict, bool, str], RecoveryOutcome] = {}
        self._drawn_outcomes: Counter[tuple[Verdict, bool, str]] = Counter()
        self._damaged = self._lost_all = self._undemanded = self._drawn_count = 0
        self.looked_at = 0
        self.worst: tuple[FailingState, RecoveryOutcome] | None = None
        self.worst_damaged: tuple[FailingState, RecoveryOutcome] | None = None

    @property
    def elapsed_s(self) -> float:
        """Of the budget's time, in all runs, up to the last line."""
        return self._elapsed_s

    def batch(self, size: int, elapsed_s: float) -> list[Asked]:
        """The next states, at most ``size`` of them; none where the budget is used up, or all are handed out."""
        asked: list[Asked] = []
        if self._budget.seconds is not None and elapsed_s >= self._budget.seconds:
            return asked
        if self._budget.states is not None:
            size = min(size, self._budget.states - self.looked_at - self._out)
        while len(asked) < size:
            one = self._waiting.popleft() if self._waiting else self._next()
            if one is None:
                self._is_exhausted = True
                break
            if self._known.get(one.image, -1) < one.demanded:
                asked.append(one)
            else:
                self._count(one.state)
        self._out += len(asked)
        return asked

    def _next(self) -> Asked | None:
        self._has_drawn = True
        state, image = next(self._drawn, (None, 0))
        return None if state is None else Asked(state, f"{image:032x}", self._demanded[state.to])

    def give_back(self, asked: Sequence[Asked]) -> None:
        """Those that were handed out and not looked at."""
        self._waiting.extend(asked)
        self._out -= len(asked)

    def came_back(self, asked: Sequence[Asked]) -> None:
        """Those that were handed out and are in a line that is taken now."""
        self._out -= len(asked)
        for one in asked:
            self._count(one.state)

    def _count(self, state: State) -> None:
        """What a state that was looked at has exercised."""
        for number in (*state.without, *(number for number, _ in state.torn)):
            self._exercised.setdefault(self._load.kind_of(number), set()).add(state.to)

    def take(self, line: Explored) -> None:
        """A line of the journal. Lines of another load say nothing of this one."""
        if line.load != self.load_sha256:
            return
        self._elapsed_s = max(self._elapsed_s, line.elapsed_s)
        for image, demanded, index, at_random in line.states:
            outcome = line.outcomes[index]
            self._known[image] = max(demanded, self._known.get(image, -1))
            key = outcome.verdict, outcome.unannounced, outcome.found
            self._outcomes[key] = with_checks_of(self._outcomes.get(key, outcome), outcome)
            self._drawn_outcomes[key] += at_random
            self._verdicts[outcome.verdict] += 1
            self._damaged += outcome.damaged
            self._lost_all += outcome.lost_all
            self._undemanded += outcome.verdict == "survived" and not demanded
            self._drawn_count += at_random
        self.looked_at += len(line.states)
        self.worst = _worse(self.worst, line.worst, line.outcomes)
        self.worst_damaged = _worse(self.worst_damaged, line.worst_damaged, line.outcomes)

    def new(self, line: Explored) -> Explored | None:
        """``line`` with those of its states that are not on the list; None where there are none, or of another load."""
        if line.load != self.load_sha256:
            return None
        states = [state for state in line.states if self._known.get(state[0], -1) < state[1]]
        return line.model_copy(update={"states": states}) if states else None

    def is_over(self, elapsed_s: float) -> bool:
        """Whether nothing more is to be handed out, and nothing is out."""
        return self._out == 0 and not self._goes_on(elapsed_s)

    def _goes_on(self, elapsed_s: float) -> bool:
        if self._budget.seconds is not None and elapsed_s >= self._budget.seconds:
            return False
        if self._budget.states is not None and self.looked_at >= self._budget.states:
            return False
        return bool(self._waiting) or not self._is_exhausted

    def far(self, elapsed_s: float) -> Exploring:
        """How far it has come."""
        per_s = self.looked_at / elapsed_s if elapsed_s > 0 else 0.0
        states, seconds = self._budget.states, self._budget.seconds
        left = [] if seconds is None else [max(0.0, seconds - elapsed_s)]
        if states is not None and per_s > 0:
            left.append((states - self.looked_at) / per_s)
        parts = [0.0 if seconds is None else elapsed_s / seconds, 0.0 if states is None else self.looked_at / states]
        return Exploring(
            states=self.looked_at,
            images=len(self._known),
            outcomes=len(self._outcomes),
            lost=self._verdicts["lost"],
            per_s=per_s,
            fraction=min(1.0, max(parts)),
            left_s=min(left, default=None),
            elapsed_s=elapsed_s,
        )

    def count(self, verdict: Verdict) -> int:
        """How many states have this verdict."""
        return self._verdicts[verdict]

    @property
    def damaged(self) -> int:
        """How many states show damage."""
        return self._damaged

    @property
    def logged(self) -> int:
        """How many writes and flushes the load has."""
        return self._writes + self._flushes

    def checks(self) -> dict[str, Verdict]:
        """The worst that each checker has answered of any state."""
        outcomes = list(self._outcomes.values())
        return reduce(with_checks_of, outcomes).checks if outcomes else {}

    def summary(self, elapsed_s: float, shortest: str | None, shortest_damaged: str | None = None) -> States:
        """What was looked at, and what it showed. A run that only took lines of an earlier one has drawn no state, and
        does not know what they exercised."""
        exercised = {kind: (len(self._exercised.get(kind, ())), len(of)) for kind, of in sorted(self._pending.items())}
        return States(
            looked_at=self.looked_at,
            survived=self._verdicts["survived"],
            lost=self._verdicts["lost"],
            unknown=self._verdicts["unknown"],
            damaged=self._damaged,
            lost_all=self._lost_all,
            survived_undemanded=self._undemanded,
            per_s=self.looked_at / max(elapsed_s, 1e-9),
            writes=self._writes,
            flushes=self._flushes,
            shortest=shortest,
            shortest_damaged=shortest_damaged,
            images=len(self._known),
            outcomes=len(self._outcomes),
            drawn=self._drawn_count,
            legal_log10=self._legal_log10,
            drawn_outcomes_once=sum(times == 1 for times in self._drawn_outcomes.values()),
            exercised=exercised if self._has_drawn and self._load.kinds else None,
        )


def _worse(
    worst: tuple[FailingState, RecoveryOutcome] | None,
    failing: FailingState | None,
    outcomes: Sequence[RecoveryOutcome],
) -> tuple[FailingState, RecoveryOutcome] | None:
    """The worse of the two; ``outcomes`` are those of the line that tells of ``failing``."""
    if failing is None:
        return worst
    found = failing, outcomes[failing.outcome]
    return found if worst is None or rank(*found) < rank(*worst) else worst


def rank(state: FailingState, outcome: RecoveryOutcome) -> tuple[int, bool, int, int]:
    """Orders states: the worst verdict first, of losses those that were not announced, and of these that which departs
    least from the disk as it was."""
    departures = len(state.without) + len(state.torn)
    return WORST_FIRST.index(outcome.verdict), not outcome.unannounced, departures, state.to


def with_checks_of(outcome: RecoveryOutcome, other: RecoveryOutcome) -> RecoveryOutcome:
    """The outcome, with the worse answer of each checker: one may apply to some of the states that come to it."""
    if other.checks.items() <= outcome.checks.items():
        return outcome
    checks = {name: merge(answer, outcome.checks.get(name, answer)) for name, answer in other.checks.items()}
    return outcome.model_copy(update={"checks": outcome.checks | checks})


def batch_size(states: int, seconds: float) -> int:
    """How many states the next batch has, by what the last one took."""
    if not states:
        return 1
    return max(1, min(BATCH_MAX, round(states * BATCH_S / max(seconds, 1e-3))))


def as_state(failing: FailingState) -> State:
    """The same in the words of crash states."""
    torn = tuple((write, tuple(sectors)) for write, sectors in failing.torn)
    return State(failing.start, failing.to, tuple(failing.without), torn, failing.of)
