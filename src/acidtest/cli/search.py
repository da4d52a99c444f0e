"""``acidtest search``: the highest rate that holds a limit of latency, of each combination."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli import complete, planning, stop_signals
from acidtest.cli.options import Erase, ExperimentFile, Json, PerhapsOut, Quick, RetryFailed, UseDevice, option
from acidtest.cli.progress import Bars, Lines
from acidtest.cli.report import could_not_run, exit_if_severe, show_searches
from acidtest.cli.spans import span
from acidtest.errors import BadInput, MachineLacks
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.conductor.search import Wanted
    from acidtest.experiment import Experiment
    from acidtest.journal.models import Recording
    from acidtest.plan import Plan


def search(
    file: ExperimentFile,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            "-l",
            help='The limit of latency: "p99 < 10 ms", "new_order p90 < 5 s and max < 1 s". Without it, the one that '
            "the file sets for searches.",
            autocompletion=complete.limits,
        ),
    ] = None,
    out: PerhapsOut = None,
    plan: Annotated[bool, option("--plan", "Only say which runs it takes and how long.")] = False,
    quick: Quick = False,
    retry_failed: RetryFailed = False,
    use_device: UseDevice = None,
    erase: Erase = None,
    fleet: Annotated[Path | None, typer.Option("--fleet", hidden=True)] = None,
    json: Json = False,
) -> None:
    """Find the highest rate that holds a limit of latency, and draw latency against load."""
    from acidtest.conductor.admission import Devices
    from acidtest.conductor.search import search as search_rates

    if fleet is not None:
        raise BadInput(
            "--fleet: a search runs on this machine only: the rate of each run follows from the runs before it",
            "run the search on each host by itself",
        )
    planned = planning.planned(file, quick=quick, cuts=False, part=_asking(file, limit))
    if plan:
        show_plan(planned, json=json)
        return
    if out is None:
        raise BadInput("search: needs --out DIR", "or --plan, which runs nothing")
    console = Console(stderr=json, highlight=False)
    for line in plan_lines(planned):
        console.print(line, style="dim", markup=False)
    progress = _Progress(planned)
    with stop_signals.leaving(stop_signals.GOES_ON), _watching(console, planned, progress) as watcher:
        devices = Devices.named(use_device or [], erase or [])
        outcome = search_rates(planned, file, out, watcher, progress.decide, retry_failed=retry_failed, devices=devices)
    results, page = show_searches(outcome.journal, out, console, json=json, waivers=planned.experiment.waive)
    broken = [line.search.broken for line in results.lines if line.search.broken]
    if any(recording.status == "failed" for recording in broken):
        print(could_not_run("runs", broken), file=sys.stderr)
        raise typer.Exit(3)
    if broken:
        print("A run is invalid, and without it nothing can be decided: see above.", file=sys.stderr)
        raise typer.Exit(1)
    exit_if_severe(results.severe)
    if page.unwritten:
        raise typer.Exit(MachineLacks.exit_code)


def _asking(file: Path, limit: str | None) -> Callable[[Experiment], Experiment]:
    """The experiment with the limit of the command line, laid over that of its file."""
    from acidtest.experiment import SearchSpec
    from acidtest.limits import limit_of

    def part(whole: Experiment) -> Experiment:
        to_run = whole.to_run()
        if limit is None:
            if to_run.search is None:
                raise BadInput(
                    f"{file}: says no limit", 'give one, as in --limit "p99 < 10 ms", or write [search] limit = "…"'
                )
            return to_run
        try:
            text = str(limit_of(limit))
        except BadInput as error:
            raise BadInput(f"--limit: {error.message}", error.remedy) from None
        before = to_run.search.model_dump() if to_run.search else {}
        return to_run.model_copy(update={"search": SearchSpec.model_validate(before | {"limit": text})})

    return part


def plan_lines(planned: Plan) -> list[str]:
    """Which runs a search takes, and how long they are assumed to last."""
    from acidtest.plan import search as of_search
    from acidtest.plan import typical_runs, typical_seconds

    spec = planned.experiment.search
    assert spec is not None
    combinations = len(planned.combinations())
    runs = typical_runs(planned)
    return [
        f"Search for the highest rate with {spec.limit}: {counted(combinations, 'combination')}, about "
        f"{counted(runs, 'run')} each (at least {of_search.least_runs(planned):,}, at most {spec.runs_max:,}).",
        f"One run in a closed loop, five shares of its rate, a few to close in, and "
        f"{planned.experiment.repetitions:,} to confirm; rates lie {spec.step_percent:g} % apart.",
        f"About {span(typical_seconds(planned))}: an assumption until the first runs have ended.",
        *of_search.notes(planned),
    ]


def show_plan(planned: Plan, *, json: bool) -> None:
    """Print which runs the searches of ``planned`` take, and how long."""
    from acidtest.plan import search as of_search
    from acidtest.plan import typical_runs, typical_seconds

    if not json:
        console = Console(highlight=False)
        console.print(planned.experiment.title or planned.experiment.name, style="bold", markup=False)
        for line in plan_lines(planned):
            console.print(line, markup=False)
        for cell in planned.combinations():
            console.print(f"  {cell.combination}", markup=False, soft_wrap=True)
        return
    spec = planned.experiment.search
    assert spec is not None
    fields = {
        "experiment": planned.experiment.name,
        "limit": spec.limit,
        "combinations": [cell.combination for cell in planned.combinations()],
        "runs_each": {
            "least": of_search.least_runs(planned),
            "typical": typical_runs(planned),
            "most": spec.runs_max,
        },
        "seconds_assumed": round(typical_seconds(planned), 1),
        "notes": of_search.notes(planned),
    }
    print(json_.dumps(fields, indent=2))


class _Progress:
    """Decides as the report will read it, and remembers what has been seen."""

    def __init__(self, planned: Plan) -> None:
        from acidtest.analysis.search.recorded import Asked, judge_of

        self._asked = Asked.of(planned.experiment.model_dump(mode="json"))
        self._judge = judge_of(self._asked)
        self._held: dict[str, int] = {}  # runs of each combination

    @property
    def held(self) -> int:
        """Runs so far."""
        return sum(self._held.values())

    def decide(self, recordings: Sequence[Recording]) -> Wanted | None:
        """The next run of the combination that ``recordings`` are of."""
        from acidtest.analysis.search.recorded import replayed
        from acidtest.conductor.search import Wanted

        replay = replayed(recordings, self._asked, self._judge)
        if recordings:
            self._held[str(replay.levels)] = len(recordings)
        if replay.next is None:
            return None
        return Wanted(replay.next.rate_per_s, replay.next.number, len(replay.taken) + 1, replay.least_left)

    def said(self, recording: Recording) -> str:
        """What a run has shown; "" of one that has no result."""
        from acidtest.report.search import said_of

        if recording.status != "done" or recording.result is None:
            return ""
        return said_of(self._judge(recording, recording.workload.get("rate_per_s")), self._asked.limit)


@contextmanager
def _watching(console: Console, planned: Plan, progress: _Progress) -> Iterator[Lines]:
    """Shows how the search goes: in runs, whose number nobody knows before."""
    watcher: Lines = (_SearchBars if console.is_terminal else _SearchLines)(console, planned, progress)
    try:
        yield watcher
    finally:
        if isinstance(watcher, Bars):
            watcher.bars.stop()


class _SearchLines(Lines):
    """Progress for a log."""

    UNIT = "run"

    def __init__(self, console: Console, planned: Plan, progress: _Progress) -> None:
        from acidtest.plan import typical_runs

        super().__init__(console)
        self._progress = progress
        self._expected = typical_runs(planned) * len(planned.combinations())

    def begins(self, done: int, total: int, place: str) -> None:
        super().begins(self._progress.held, max(self._expected, self._progress.held), place)

    def _so_far(self, of: str) -> str:
        return f"run {self._done:,}"

    def _left(self, left_s: float) -> str:
        """A guess: nobody knows how many runs it takes, fewer where nothing can be told, and more near a limit."""
        return f"about {span(left_s)} left, if it takes as many runs as most" if left_s else "no run left"

    def _outcome(self, recording: Recording) -> str:
        return self._progress.said(recording) or super()._outcome(recording)


class _SearchBars(_SearchLines, Bars):
    """Progress for a person."""
