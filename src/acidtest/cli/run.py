"""``acidtest run``: every cell not yet in the journal, then the table and the page."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from acidtest import experiment, plan, runner
from acidtest.cli import report
from acidtest.cli.spans import span
from acidtest.journal import protocol
from acidtest.journal.models import Recording, counted
from acidtest.report.results import number


def run(
    file: Annotated[Path, typer.Argument(help="The experiment (.toml).", metavar="FILE.toml")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where journal and page go. A second run resumes.")],
    quick: Annotated[bool, typer.Option("--quick", help="The experiment's small size.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run cells again that could not run.")] = False,
    use_device: Annotated[
        list[str] | None,
        typer.Option("--use-device", help="A real block device that may be written to.", metavar="/dev/X"),
    ] = None,
    erase: Annotated[
        list[str] | None,
        typer.Option("--erase", help="Of these, one on which everything may be destroyed.", metavar="/dev/X"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, progress on standard error.")
    ] = False,
) -> None:
    """Run an experiment; resume it when DIR holds a part of it."""
    from acidtest.report.terminal import print_results

    planned = plan.make(experiment.read(file, quick=quick))
    console = Console(stderr=json, highlight=False)
    watcher: runner.Watcher = _Bars(console) if console.is_terminal else _Lines(console)
    try:
        devices = runner.Devices.named(use_device or [], erase or [])
        outcome = runner.run(planned, file, out, watcher, retry_failed=retry_failed, devices=devices)
    finally:
        if isinstance(watcher, _Bars):
            watcher.bars.stop()
    rendered = report.render(out)
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
    else:
        print_results(rendered.results, console)
        console.print(f"\nPage: {rendered.page}", soft_wrap=True)
    found = {recording.status for recording in outcome.journal.recordings}
    if "failed" in found:
        print("Some cells could not run: see above; --retry-failed runs them again.", file=sys.stderr)
        raise typer.Exit(3)
    if "invalid" in found:
        print("Some cells are invalid and have no number: see above.", file=sys.stderr)
        raise typer.Exit(1)


class _Lines:
    """Progress for a log: one line a cell."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._done = 0

    def begins(self, done: int, total: int, place: str) -> None:
        self._done, self._total = done, total
        held = f", {done} already in the journal" if done else ""
        self._console.print(f"{total} cells{held}; databases in {place}", soft_wrap=True)

    def released(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(f"left behind by an earlier run: {line}", soft_wrap=True)

    def brings(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)

    def admitted(self, lines: list[str]) -> None:
        for line in lines:
            self._console.print(f"device {line}", soft_wrap=True, markup=False)

    def cell_begins(self, cell: plan.Cell, left_s: float) -> None:
        pass

    def progress(self, cell: plan.Cell, event: protocol.Progress) -> None:
        pass

    def cell_ended(self, cell: plan.Cell, recording: Recording, left_s: float) -> None:
        self._done += 1
        self._console.print(
            f"[{self._done}/{self._total}] {cell.id}: {_said(recording)}; {span(left_s)} left",
            soft_wrap=True,
            markup=False,
        )


class _Bars(_Lines):
    """Progress for a person: the whole run and the cell at work, with the time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[said]}"),
            console=console,
            transient=True,
        )
        self._whole: TaskID | None = None
        self._cell: TaskID | None = None

    def begins(self, done: int, total: int, place: str) -> None:
        super().begins(done, total, place)
        self._whole = self.bars.add_task("cells", total=total, completed=done, said="")
        self._cell = self.bars.add_task("", total=1, said="")
        self.bars.start()

    def cell_begins(self, cell: plan.Cell, left_s: float) -> None:
        assert self._whole is not None
        assert self._cell is not None
        self.bars.update(self._whole, said=f"{self._done} of {self._total}, {span(left_s)} left")
        self.bars.update(self._cell, description=cell.id, completed=0, said="preparing")

    def progress(self, cell: plan.Cell, event: protocol.Progress) -> None:
        assert self._cell is not None
        what = {"load": "loading", "check": "checking", "warmup": "warm-up", "run": "measuring"}[event.phase]
        unit = "rows" if event.phase == "load" else counted(cell.workload.kind)
        rate = "" if event.phase == "check" else f", {number(event.rate_per_s)} {unit}/s"
        self.bars.update(self._cell, completed=event.fraction or 0, said=f"{what}{rate}")

    def cell_ended(self, cell: plan.Cell, recording: Recording, left_s: float) -> None:
        super().cell_ended(cell, recording, left_s)
        assert self._whole is not None
        self.bars.update(self._whole, completed=self._done, said=f"{self._done} of {self._total}, {span(left_s)} left")


def _said(recording: Recording) -> str:
    if recording.status != "done" or recording.result is None:
        return f"{recording.status}: {recording.reason}"
    result = recording.result
    unit = counted(str(recording.workload["kind"]))
    return f"{number(result.goodput_per_s)} {unit}/s in {result.measured_s:.2f} s"
