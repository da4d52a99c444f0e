"""From an experiment's file to its plan, for the commands that need one; everything that is wrong with it at once."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from acidtest.cli.progress import bars
from acidtest.errors import Problems

if TYPE_CHECKING:
    from acidtest.experiment import Experiment
    from acidtest.plan import Plan, Tell

SHOWN_AFTER_S = 1.0


def planned(
    file: Path,
    *,
    quick: bool,
    cuts: bool | None = None,
    part: Callable[[Experiment], Experiment] = lambda whole: whole,
) -> Plan:
    """The verified plan of the experiment in ``file``, or of that ``part`` of it which the command is for.

    ``cuts`` is as in Plan. Shows how it goes when it takes long. Raises BadInput with everything that is wrong.
    """
    from acidtest import conductor, experiment

    problems = Problems()
    read = experiment.read(file, quick=quick, problems=problems)
    plan: Plan | None = None
    with problems.gather(), _no_collecting(), _shown() as tell:
        plan = conductor.planned(part(read), file, problems, cuts=cuts, tell=tell)
    if read.waive:  # otherwise the rules need not be imported, which takes a tenth of a second
        from acidtest.audit.rules import rules
        from acidtest.finding import check_waivers

        with problems.gather():
            check_waivers(read.waive, f"{file}: waive", rules())
    problems.check()
    assert plan is not None, "without a problem there is a plan"
    return plan


def notes(plan: Plan) -> list[str]:
    """What is to be known of the plan before it begins; a sentence that several workloads have in common once."""
    from acidtest import conductor

    workloads = {id(cell.workload): cell.workload for cell in plan.cells}.values()
    return [
        *dict.fromkeys(line for workload in workloads for line in workload.told_before()),
        *conductor.same_builds(plan),
    ]


def print_notes(plan: Plan, console: Console) -> None:
    """Print them, each sentence on one line however wide."""
    for line in notes(plan):
        console.print(line, soft_wrap=True, markup=False)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Python looks for garbage among all that a plan consists of, again and again while it grows, and there is none."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


@contextmanager
def _shown() -> Iterator[Tell]:
    """Takes how planning goes, and shows it to a person as soon as it has taken longer than a moment."""
    began = time.monotonic()
    console = Console(stderr=True)
    shown = bars(console)
    task = shown.add_task("planning", total=None, status="")

    def tell(what: str, done: int, total: int) -> None:
        if not shown.live.is_started:
            if not console.is_terminal or time.monotonic() - began < SHOWN_AFTER_S:
                return
            shown.start()
        shown.update(task, completed=done, total=total, status=f"{done:,} of {total:,} {what}")

    try:
        yield tell
    finally:
        if shown.live.is_started:
            shown.stop()
