"""Runs an experiment's cells: databases that grow in place, all others on copies."""

from __future__ import annotations

from pathlib import Path

from acidtest.conductor.admission import Devices
from acidtest.conductor.base import Conductor
from acidtest.conductor.conduct import Predict, RunOutcome, conduct
from acidtest.conductor.grid import Grid
from acidtest.conductor.growth import Growth
from acidtest.conductor.machines import refuse_one
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
    predict: Predict | None = None,
) -> RunOutcome:
    """Run the cells of ``plan`` missing from ``out``'s journal; with ``retry_failed`` also those that failed. What
    ``predict`` says of a held-out size is in the journal before anything of that size is loaded.

    Raises what ``conduct`` raises.
    """
    refuse_search(plan, where)
    refuse_one(plan, where)
    output = output_of(plan, out, retry_failed=retry_failed)
    return conduct(plan, conductor_of(plan), output, where, watcher, devices, predict)


def conductor_of(plan: Plan) -> Conductor:
    """What runs the cells of ``plan``."""
    return Grid() if plan.experiment.growth is None else Growth(plan)


def output_of(plan: Plan, out: Path, *, retry_failed: bool) -> Output:
    """The directory ``out`` with the journal of a run of ``plan``."""
    return Output(out, header(plan), runs_again=lambda recording: retry_failed and recording.status == "failed")
