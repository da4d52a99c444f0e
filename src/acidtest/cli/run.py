"""``acidtest run``: every cell not yet in the journal, then the table and the page."""

from __future__ import annotations

import json as json_
import sys
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from acidtest.cli import fleets, planning, report, stop_signals
from acidtest.cli.options import Erase, ExperimentFile, FleetFile, Json, Out, Quick, RetryFailed, UseDevice
from acidtest.cli.progress import watching
from acidtest.errors import MachineLacks

if TYPE_CHECKING:
    from acidtest import plan
    from acidtest.journal.models import Forecast, Journal


def run(
    file: ExperimentFile,
    out: Out,
    quick: Quick = False,
    retry_failed: RetryFailed = False,
    use_device: UseDevice = None,
    erase: Erase = None,
    fleet: FleetFile = None,
    json: Json = False,
) -> None:
    """Run an experiment; resume it when DIR holds a part of it."""
    from acidtest.conductor.admission import Devices
    from acidtest.conductor.run import run as run_cells
    from acidtest.experiment import Experiment
    from acidtest.report.terminal import print_results

    console = Console(stderr=json, highlight=False)
    devices = Devices.named(use_device or [], erase or [])
    if fleet is not None:
        fleets.refuse_devices(fleet, devices)
        with fleets.opened(fleet) as machines:
            planned = planning.planned(file, quick=quick, cuts=False, part=machines.part(Experiment.to_run))
            planning.print_notes(planned, console)
            with stop_signals.leaving(stop_signals.GOES_ON), watching(console) as watcher:
                outcome = machines.run(planned, file, out, watcher, retry_failed=retry_failed)
    else:
        planned = planning.planned(file, quick=quick, cuts=False, part=Experiment.to_run)
        planning.print_notes(planned, console)
        with stop_signals.leaving(stop_signals.GOES_ON), watching(console) as watcher:
            outcome = run_cells(
                planned, file, out, watcher, retry_failed=retry_failed, devices=devices, predict=predicted
            )
    recordings = [recording for recording in outcome.journal.recordings if recording.status != "done"]
    statuses = {recording.status for recording in recordings}
    del outcome  # the report reads the journal itself, and two of a large one need not be held
    with stop_signals.leaving(stop_signals.GOES_ON):
        rendered = report.render(out, waivers=planned.experiment.waive)
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
    else:
        print_results(rendered.results, console)
    rendered.page.show(console, json=json)
    if "failed" in statuses:
        print(report.could_not_run("cells", recordings), file=sys.stderr)
        raise typer.Exit(3)
    if "invalid" in statuses:
        print("Some cells are invalid and have no figure: see above.", file=sys.stderr)
        raise typer.Exit(1)
    report.exit_if_severe(rendered.results.severe)
    if rendered.page.unwritten:
        raise typer.Exit(MachineLacks.exit_code)


def predicted(journal: Journal, cell: plan.Cell) -> Forecast | None:
    """What the journal lets expect of the held-out size of ``cell``; None where it is there already."""
    from acidtest.analysis.growth.held_out import predict
    from acidtest.journal.models import SIZE

    assert cell.size is not None
    series = {factor: level for factor, level in cell.levels.items() if factor != SIZE}
    return predict(journal, series, cell.size.asked, cell.size.bytes, cell.size.units)
