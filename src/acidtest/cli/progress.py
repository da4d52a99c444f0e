"""Shows how a command goes: bars for a person, a line now and then for a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Shown

from acidtest.cli.spans import span
from acidtest.report.numbers import number
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.conductor.watcher import Exploring, Loading, Watcher
    from acidtest.journal.models import Recording
    from acidtest.journal.protocol import Progress
    from acidtest.plan import Cell

LOAD_SHOWN_EVERY_S = 60.0  # to a log


def bars(console: Console, *, disable: bool = False) -> Shown:
    """Bars that vanish when the command has ended; each has a field ``status``."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[status]}"))
    return Shown(*columns, console=console, transient=True, disable=disable)


class Bar:
    """One bar, for a person: to a log nothing is written."""

    def __init__(self, console: Console, what: str, total: float, status: str = "") -> None:
        self._bars = bars(console, disable=not console.is_terminal)
        self._task = self._bars.add_task(what, total=total, status=status)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, done: float, status: str, what: str | None = None) -> None:
        """How much of the total is done; ``what`` replaces what stands before the bar."""
        self._bars.update(self._task, completed=done, status=status, description=what)


@contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    """Shows on ``console`` how a run goes."""
    watcher = Bars(console) if console.is_terminal else Lines(console)
    try:
        yield watcher
    finally:
        if isinstance(watcher, Bars):
            watcher.bars.stop()


class Lines:
    """Progress for a log: one line a cell."""

    UNIT = "cell"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._done = 0
        self._shown_s = 0.0  # of the load at work
        self._place_s: tuple[str | None, float] = (None, 0.0)  # what was last seen at work, and when that was told

    def begins(self, done: int, total: int, place: str) -> None:
        self._done, self._total = done, total
        held = f", {done:,} already in the journal" if done else ""
        self._console.print(f"{counted(total, self.UNIT)}{held}; databases in {place}", soft_wrap=True)

    def released(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(f"left behind by an earlier run: {line}", soft_wrap=True)

    def doubts(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(line, style="yellow", soft_wrap=True, markup=False)

    def brings(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)

    def admitted(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(f"device {line}", soft_wrap=True, markup=False)

    def cell_begins(self, cell: Cell, left_s: float) -> None:
        pass

    def progress(self, cell: Cell, event: Progress) -> None:
        """What is the user's own, and takes its time, is told by its place."""
        if event.at is None:
            self._place_s = (None, 0.0)
            return
        place, since_s = self._place_s
        if event.at != place or event.elapsed_s < since_s:
            self._place_s = (event.at, event.elapsed_s)
        elif event.elapsed_s - since_s >= LOAD_SHOWN_EVERY_S:
            self._place_s = (event.at, event.elapsed_s)
            rows = f", {counted(event.done, 'row')} so far" if event.done else ""
            self._console.print(f"{cell.combination}: still at {event.at}{rows}", soft_wrap=True, markup=False)

    def loading(self, cell: Cell, loading: Loading) -> None:
        if loading.ended or loading.elapsed_s - self._shown_s >= LOAD_SHOWN_EVERY_S:
            self._shown_s = 0.0 if loading.ended else loading.elapsed_s
            self._console.print(f"{cell.combination}: {_load_text(loading)}", soft_wrap=True, markup=False)

    def exploring(self, cell: Cell, far: Exploring) -> None:
        if far.elapsed_s - self._shown_s >= LOAD_SHOWN_EVERY_S or far.elapsed_s < self._shown_s:
            self._shown_s = far.elapsed_s
            self._console.print(f"{cell.combination}: {_exploring_text(far)}", soft_wrap=True, markup=False)

    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None:
        self._done += 1
        self._shown_s = 0.0
        self._console.print(
            f"[{self._so_far('/')}] {cell.id}: {self._outcome(recording)}; {self._left(left_s)}",
            soft_wrap=True,
            markup=False,
        )

    def _so_far(self, of: str) -> str:
        """Cells that have ended, of all."""
        return f"{self._done:,}{of}{self._total:,}"

    def _left(self, left_s: float) -> str:
        return f"{span(left_s)} left"

    def _outcome(self, recording: Recording) -> str:
        return _outcome_text(recording)


class Bars(Lines):
    """Progress for a person: the whole run and the cell at work, with the time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bars = bars(console)
        self._whole: TaskID | None = None
        self._cell: TaskID | None = None

    def begins(self, done: int, total: int, place: str) -> None:
        super().begins(done, total, place)
        self._whole = self.bars.add_task(f"{self.UNIT}s", total=total, completed=done, status="")
        self._cell = self.bars.add_task("", total=1, status="")
        self.bars.start()

    def cell_begins(self, cell: Cell, left_s: float) -> None:
        assert self._whole is not None
        assert self._cell is not None
        self.bars.update(self._whole, status=f"{self._so_far(' of ')}, {self._left(left_s)}")
        self.bars.update(self._cell, description=cell.id, completed=0, status="preparing")

    def progress(self, cell: Cell, event: Progress) -> None:
        assert self._cell is not None
        what = {"load": "loading", "check": "checking", "warmup": "warm-up", "run": "measuring"}[event.phase]
        unit = {"load": "rows"}.get(event.phase, cell.workload.UNIT)
        rate = f", {number(event.rate_per_s)} {unit}/s" if event.phase != "check" else ""
        at = f", at {event.at}" if event.at else ""
        self.bars.update(self._cell, completed=event.fraction or 0, status=f"{what}{rate}{at}")

    def loading(self, cell: Cell, loading: Loading) -> None:
        if loading.ended:
            super().loading(cell, loading)
        assert self._cell is not None
        done = min(1.0, loading.bytes / loading.of_bytes)
        self.bars.update(self._cell, completed=done, status=_load_text(loading))

    def exploring(self, cell: Cell, far: Exploring) -> None:
        assert self._cell is not None
        self.bars.update(self._cell, description=cell.id, completed=far.fraction, status=_exploring_text(far))

    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None:
        super().cell_ended(cell, recording, left_s)
        assert self._whole is not None
        self.bars.update(self._whole, completed=self._done, status=f"{self._so_far(' of ')}, {self._left(left_s)}")


def _load_text(loading: Loading) -> str:
    speed = f"{number(loading.bytes_per_s / 1e6)} MB/s"
    if loading.ended:
        added = f"{number(loading.added_bytes / 1e6)} MB in {span(loading.elapsed_s)}, {speed}"
        return f"loaded to {number(loading.bytes / 1e6)} MB: {added}"
    left = f", {span(loading.left_s)} left" if loading.left_s is not None else ""
    return f"loading {number(loading.bytes / 1e6)} of {number(loading.of_bytes / 1e6)} MB, {speed}{left}"


def _exploring_text(far: Exploring) -> str:
    left = f", {span(far.left_s)} left" if far.left_s is not None else ""
    lost = f", {far.lost:,} lost" if far.lost else ""
    outcomes = counted(far.outcomes, "outcome")
    return (
        f"{counted(far.states, 'state')}, {counted(far.images, 'image')}, {outcomes}{lost}, {number(far.per_s)}/s{left}"
    )


def _outcome_text(recording: Recording) -> str:
    if recording.status == "done" and (cut := recording.cut) is not None:
        from acidtest.analysis.expected_loss import is_unannounced
        from acidtest.analysis.survival import said_of_cut

        announced = cut.verdict == "lost" and not is_unannounced(recording)
        verdict = "lost, as announced" if announced else said_of_cut(cut)
        if cut.states is not None:
            states = cut.states
            seen = f", {counted(states.outcomes, 'outcome')}" if states.outcomes is not None else ""
            lost = f"{states.lost:,} of {counted(states.looked_at, 'crash state')} lost"
            lost += f", {states.unknown:,} unknown" if states.unknown else ""
            tally = f"{lost}{seen}, {states.per_s:,.1f} a second"
            return f"{verdict}, {tally}{f': {cut.reasons[0]}' if cut.reasons else ''}"
        one = "item" if recording.promise is not None else "commit"
        lost = f", {cut.fate.lost:,} of {counted(cut.fate.acknowledged, one)} lost" if cut.fate else ""
        return f"{verdict}{lost} in {cut.cycle_s:.2f} s{f': {cut.reasons[0]}' if cut.reasons else ''}"
    if recording.status != "done" or recording.result is None:
        return f"{recording.status}: {recording.reason}"
    from acidtest.workload import unit as unit_of

    result = recording.result
    unit = unit_of(str(recording.workload["kind"]))
    return f"{number(result.goodput_per_s)} {unit}/s in {result.measured_s:.2f} s"
