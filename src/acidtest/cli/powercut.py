"""``acidtest powercut``: cuts the power under loaded databases and shows what survived."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.cli import fleets, planning, stop_signals
from acidtest.cli.options import Cuts, FleetFile, Json, Only, PerhapsExperimentFile, PerhapsOut, Quick, option
from acidtest.cli.progress import watching
from acidtest.cli.report import show_cuts
from acidtest.errors import BadInput, CellFailed, MachineLacks
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest import powercut as power_cuts
    from acidtest.experiment import Experiment
    from acidtest.journal.models import Recording

WRITES_MAX = 40  # in a terminal


def powercut(
    file: PerhapsExperimentFile = None,
    out: PerhapsOut = None,
    quick: Quick = False,
    cuts: Cuts = None,
    only: Only = None,
    seed: Annotated[int | None, option("--seed", "Make the cut of this seed again.", min=0)] = None,
    replay: Annotated[
        Path | None, option("--replay", "Only inspect the disk in a state file again.", "STATE.json")
    ] = None,
    smaller: Annotated[
        int | None,
        option("--smaller", "Try for about SECONDS to make a history that loses smaller.", "SECONDS", min=1),
    ] = None,
    fleet: FleetFile = None,
    json: Json = False,
) -> None:
    """Cut the power of a simulated disk under each engine, and count acknowledged commits that are lost."""
    from acidtest import powercut as power_cuts
    from acidtest.report.survival_table import not_numbered

    if replay is not None:
        _replay(replay, json=json)
        return
    if file is None or out is None:
        raise BadInput("powercut: needs an experiment and --out DIR", "or --replay STATE.json alone")

    def to_cut(whole: Experiment) -> Experiment:
        again = cuts is not None or seed is not None
        return whole.to_cut().model_copy(update={"repetitions": cuts or 1} if again else {})

    if smaller is not None:
        given_too = [name for name, one in (("--fleet", fleet), ("--seed", seed), ("--cuts", cuts)) if one is not None]
        if given_too or json or only is None or len(only) > 1:
            raise BadInput("powercut --smaller: makes its own cuts", "give it FILE, --only COMBINATION and --out alone")
        _make_smaller(file, out, only[0], float(smaller), to_cut, quick=quick)
        return
    given = [("--cuts", cuts), *(("--only", name) for name in only or ()), ("--seed", seed)]
    command = [str(file), *(["--quick"] if quick else [])]
    command += [word for option, value in given if value is not None for word in (option, str(value))]
    console = Console(stderr=json, highlight=False)
    leaves = stop_signals.GOES_ON if seed is None else "what was cut is kept, and the same command begins anew"
    with ExitStack() as held:
        machines = held.enter_context(fleets.opened(fleet)) if fleet is not None else None
        part = machines.part(to_cut) if machines is not None else to_cut
        planned = planning.planned(file, quick=quick, cuts=True, part=part)
        if fleet is not None and planned.experiment.program is not None:
            raise BadInput(f"{file}: [program] is cut on one machine, this one", "leave --fleet out")
        unnumbered = {cell.workload_name: None for cell in planned.cells if not cell.workload.CAN_BE_SURVEYED}
        if note := not_numbered(list(unnumbered)):
            console.print(note, markup=False, soft_wrap=True)
        cut_power = machines.cut_power if machines is not None else power_cuts.cut_power
        with stop_signals.leaving(leaves), watching(console) as watcher:
            outcome = cut_power(planned, file, out, watcher, only=only or (), seed=seed, command=command)
    page = show_cuts(outcome.journal, out, console, json=json)
    exit_by_verdicts(outcome.journal.recordings, unwritten=bool(page.unwritten))


def exit_by_verdicts(recordings: Sequence[Recording], *, unwritten: bool) -> None:
    """End with the code that the cuts have come to, or go on where that is 0; ``unwritten``: the page."""
    from acidtest.analysis.expected_loss import is_unannounced

    if any(recording.status == "failed" for recording in recordings):
        print("Some cuts could not be made: see above.", file=sys.stderr)
        raise typer.Exit(CellFailed.exit_code)
    if any(recording.status == "invalid" or is_unannounced(recording) for recording in recordings):
        raise typer.Exit(1)
    if any(recording.cut is not None and recording.cut.verdict == "unknown" for recording in recordings):
        print("Of some cuts it is not known what survived: see above.", file=sys.stderr)
        raise typer.Exit(CellFailed.exit_code)
    if unwritten:
        raise typer.Exit(MachineLacks.exit_code)


def _make_smaller(
    file: Path, out: Path, only: str, seconds: float, part: Callable[[Experiment], Experiment], *, quick: bool
) -> None:
    from acidtest import powercut as power_cuts
    from acidtest.conductor.engines import plan_of
    from acidtest.powercut.conductor import chosen

    console = Console(highlight=False)
    planned = planning.planned(file, quick=quick, cuts=True, part=part)
    cell = chosen(planned, only=[only])[0]

    def tell(history: power_cuts.FoundHistory) -> None:
        came = f"{len(history.losses):,} lost: " + ", ".join(sorted(history.loss.broken)) if history.loss else "no loss"
        keys = {**history.workload.model_dump(exclude_defaults=True), "terminals": history.workload.terminals}
        shown = ", ".join(f"{key} = {value!r}" for key, value in sorted(keys.items()))
        console.print(f"{shown}: {came}, in {counted(history.cuts, 'cut')}", markup=False, soft_wrap=True)

    with stop_signals.leaving(stop_signals.NOTHING_KEPT), watching(console) as watcher:

        def cut(alone: Experiment, where: Path, many: int) -> list[Recording]:
            plan = plan_of(alone, cuts=True)
            first = replace(plan, cells=plan.cells[:many])
            return list(power_cuts.cut_power(first, file, where, watcher).journal.recordings)

        found = power_cuts.make_smaller(planned.experiment, cell, out, seconds, cut, tell)
    if found.loss is None:
        cuts = counted(found.cuts, "cut")
        console.print(f"It did not lose in {cuts}: there is nothing to be made smaller. Give --smaller more seconds.")
        return
    for reason in (*found.loss.reasons, *found.loss.files):
        console.print(f"  {reason}", markup=False, soft_wrap=True)
    made = out / power_cuts.SMALLER
    console.print(f"Again: acidtest powercut {made} --out DIR", markup=False, soft_wrap=True)
    raise typer.Exit(1)


def _replay(file: Path, *, json: bool) -> None:
    from acidtest import powercut as power_cuts
    from acidtest.analysis.files_left import in_words
    from acidtest.analysis.survival import checker_names
    from acidtest.doubts.unchecked import OF_REPLAY
    from acidtest.powercut.crash_states import history_in_words

    with stop_signals.leaving(stop_signals.NOTHING_KEPT):
        replayed = power_cuts.replay(file)
    judgement = replayed.judgement
    if json:
        fields = {
            "cell": replayed.cell,
            "verdict": judgement.verdict,
            "reasons": judgement.reasons,
            "checks": judgement.checks,
            "found": replayed.reasons_before,
            "files": replayed.files.model_dump() if replayed.files else None,
            "writes": [asdict(one) for one in replayed.writes] or None,
            "fate": replayed.fate.model_dump() if replayed.fate else None,
            "not_checked": [OF_REPLAY.as_json()],
            "announced_by": replayed.announced or None,
        }
        print(json_.dumps(fields, indent=2))
    else:
        print(f"{judgement.verdict}: {replayed.cell}")
        for line in (*judgement.reasons, *in_words(replayed.files)):
            print(f"  {line}")
        if replayed.announced:
            print(f"  announced by {replayed.announced}")
        agreeing = (name for name, verdict in judgement.checks.items() if verdict == judgement.verdict)
        checkers = checker_names(agreeing, of_program=replayed.is_program)
        print(f"  checkers that answered {judgement.verdict}: {', '.join(checkers)}")
        for line in history_in_words(replayed.writes, WRITES_MAX):
            print(f"  {line}")
        print(f"Not checked: {OF_REPLAY}.")
    if judgement.verdict == "lost" and not replayed.announced:
        raise typer.Exit(1)
