"""Runs an experiment's cells: databases that grow in place, all others on copies."""

from __future__ import annotations

from pathlib import Path

from acidtest.conductor.admission import Devices
from acidtest.conductor.base import Conductor
from acidtest.conductor.conduct import RunOutcome, conduct
from acidtest.conductor.grid import Grid
from acidtest.conductor.growth import Growth
from acidtest.conductor.output import Output, header
from acidtest.conductor.search import refuse_search
from acidtest.conductor.watcher import Watcher
from acidtest.plan import Plan


def run(
    plan: Plan,
    where: Path,
    out: Path,
    watcher: Watcher,
    *,
    retry_failed: bool = False,
    devices: Devices = Devices(),
) -> RunOutcome:
    """Run the cells of ``plan`` missing from ``out``'s journal; with ``retry_failed`` also those that failed.

    Raises what ``conduct`` raises.
    """
    refuse_search(plan, where)
    conductor: Conductor = Grid() if plan.experiment.growth is None else Growth(plan)
    output = Output(out, header(plan), runs_again=lambda recording: retry_failed and recording.status == "failed")
    return conduct(plan, conductor, output, where, watcher, devices)
