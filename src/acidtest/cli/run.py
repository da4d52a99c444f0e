"""``acidtest run``: every cell not yet in the journal, then the table and the page."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from acidtest.cli import complete, fleets, planning, report, stop_signals
from acidtest.cli.devices import Erase, UseDevice
from acidtest.cli.spans import span
from acidtest.errors import MachineLacks
from acidtest.report.numbers import number
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest import conductor, plan
    from acidtest.journal import protocol
    from acidtest.journal.models import Forecast, Journal, Recording

LOAD_SHOWN_EVERY_S = 60.0  # to a log


def run(
    file: complete.Experiment,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of journal and page. A second run resumes.")],
    quick: Annotated[bool, typer.Option("--quick", help="Run the experiment at its small size.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also run cells that could not run before.")
    ] = False,
    use_device: UseDevice = None,
    erase: Erase = None,
    fleet: fleets.FleetFile = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, progress on standard error.")
    ] = False,
) -> None:
    """Run an experiment; resume it when DIR holds a part of it."""
    from acidtest import conductor
    from acidtest.experiment import Experiment
    from acidtest.report.terminal import print_results

    console = Console(stderr=json, highlight=False)
    devices = conductor.Devices.named(use_device or [], erase or [])
    if fleet is not None:
        fleets.refuse_devices(fleet, devices)
        with fleets.opened(fleet) as machines:
            planned = planning.planned(file, quick=quick, cuts=False, part=machines.part(Experiment.to_run))
            planning.print_told(planned, console)
            with stop_signals.leaving(stop_signals.GOES_ON), watching(console) as watcher:
                outcome = machines.run(planned, file, out, watcher, retry_failed=retry_failed)
    else:
        planned = planning.planned(file, quick=quick, cuts=False, part=Experiment.to_run)
        planning.print_told(planned, console)
        with stop_signals.leaving(stop_signals.GOES_ON), watching(console) as watcher:
            outcome = conductor.run(
                planned, file, out, watcher, retry_failed=retry_failed, devices=devices, foretell=foretold
            )
    statuses = {recording.status for recording in outcome.journal.recordings}
    del outcome  # the report reads the journal itself, and two of a large one need not be held
    with stop_signals.leaving(stop_signals.GOES_ON):
        rendered = report.render(out, waivers=planned.experiment.waive)
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
    else:
        print_results(rendered.results, console)
    rendered.page.show(console, json=json)
    if "failed" in statuses:
        print("Some cells could not run: see above; --retry-failed runs them again.", file=sys.stderr)
        raise typer.Exit(3)
    if "invalid" in statuses:
        print("Some cells are invalid and have no figure: see above.", file=sys.stderr)
        raise typer.Exit(1)
    if severe := rendered.results.severe:
        names = ", ".join(dict.fromkeys(finding.rule.name for finding in severe))
        print(f"By these findings the figures must not be believed: {names}. See above.", file=sys.stderr)
        raise typer.Exit(1)
    if rendered.page.unwritten:
        raise typer.Exit(MachineLacks.exit_code)


def foretold(journal: Journal, cell: plan.Cell) -> Forecast | None:
    """What the journal lets expect of the held-out size of ``cell``; None where it is there already."""
    from acidtest.analysis.growth import foretell
    from acidtest.journal.models import SIZE

    assert cell.size is not None
    series = {factor: level for factor, level in cell.levels.items() if factor != SIZE}
    return foretell(journal, series, cell.size.asked, cell.size.bytes, cell.size.units)


@contextmanager
def watching(console: Console) -> Iterator[conductor.Watcher]:
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

    def cell_begins(self, cell: plan.Cell, left_s: float) -> None:
        pass

    def progress(self, cell: plan.Cell, event: protocol.Progress) -> None:
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

    def loading(self, cell: plan.Cell, loading: conductor.Loading) -> None:
        if loading.ended or loading.elapsed_s - self._shown_s >= LOAD_SHOWN_EVERY_S:
            self._shown_s = 0.0 if loading.ended else loading.elapsed_s
            self._console.print(f"{cell.combination}: {_load_text(loading)}", soft_wrap=True, markup=False)

    def exploring(self, cell: plan.Cell, far: conductor.Exploring) -> None:
        if far.elapsed_s - self._shown_s >= LOAD_SHOWN_EVERY_S or far.elapsed_s < self._shown_s:
            self._shown_s = far.elapsed_s
            self._console.print(f"{cell.combination}: {_exploring_text(far)}", soft_wrap=True, markup=False)

    def cell_ended(self, cell: plan.Cell, recording: Recording, left_s: float) -> None:
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
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[status]}"),
            console=console,
            transient=True,
        )
        self._whole: TaskID | None = None
        self._cell: TaskID | None = None

    def begins(self, done: int, total: int, place: str) -> None:
        super().begins(done, total, place)
        self._whole = self.bars.add_task(f"{self.UNIT}s", total=total, completed=done, status="")
        self._cell = self.bars.add_task("", total=1, status="")
        self.bars.start()

    def cell_begins(self, cell: plan.Cell, left_s: float) -> None:
        assert self._whole is not None
        assert self._cell is not None
        self.bars.update(self._whole, status=f"{self._so_far(' of ')}, {self._left(left_s)}")
        self.bars.update(self._cell, description=cell.id, completed=0, status="preparing")

    def progress(self, cell: plan.Cell, event: protocol.Progress) -> None:
        assert self._cell is not None
        what = {"load": "loading", "check": "checking", "warmup": "warm-up", "run": "measuring"}[event.phase]
        unit = {"load": "rows"}.get(event.phase, cell.workload.UNIT)
        rate = f", {number(event.rate_per_s)} {unit}/s" if event.phase != "check" else ""
        at = f", at {event.at}" if event.at else ""
        self.bars.update(self._cell, completed=event.fraction or 0, status=f"{what}{rate}{at}")

    def loading(self, cell: plan.Cell, loading: conductor.Loading) -> None:
        if loading.ended:
            super().loading(cell, loading)
        assert self._cell is not None
        done = min(1.0, loading.bytes / loading.of_bytes)
        self.bars.update(self._cell, completed=done, status=_load_text(loading))

    def exploring(self, cell: plan.Cell, far: conductor.Exploring) -> None:
        assert self._cell is not None
        self.bars.update(self._cell, description=cell.id, completed=far.fraction, status=_exploring_text(far))

    def cell_ended(self, cell: plan.Cell, recording: Recording, left_s: float) -> None:
        super().cell_ended(cell, recording, left_s)
        assert self._whole is not None
        self.bars.update(self._whole, completed=self._done, status=f"{self._so_far(' of ')}, {self._left(left_s)}")


def _load_text(loading: conductor.Loading) -> str:
    speed = f"{number(loading.bytes_per_s / 1e6)} MB/s"
    if loading.ended:
        added = f"{number(loading.added_bytes / 1e6)} MB in {span(loading.elapsed_s)}, {speed}"
        return f"loaded to {number(loading.bytes / 1e6)} MB: {added}"
    left = f", {span(loading.left_s)} left" if loading.left_s is not None else ""
    return f"loading {number(loading.bytes / 1e6)} of {number(loading.of_bytes / 1e6)} MB, {speed}{left}"


def _exploring_text(far: conductor.Exploring) -> str:
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
