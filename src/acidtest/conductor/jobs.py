"""What the rig is to do for a cell."""

from __future__ import annotations

import os
from collections.abc import Sequence

from acidtest.engine import Instance
from acidtest.journal.protocol import Job, LoadPhase, Phase
from acidtest.plan import Cell
from acidtest.workload import WorkloadSpec


def job_for(
    cell: Cell,
    instance: Instance,
    phases: Sequence[Phase],
    *,
    workload: WorkloadSpec | None = None,
    inspected: bool = False,
) -> Job:
    """What the rig is to do with ``instance`` for ``cell``.

    ``workload`` is the one in force, where it is not the cell's. With ``inspected`` settings in force are asked for.
    """
    return Job(
        seed=cell.seed,
        target=instance.target(),
        workload=(workload or cell.workload).message(),
        inspect=instance.inspections() if inspected else [],
        phases=list(phases),
    )


def load_phase(loaded: int = 0) -> LoadPhase:
    """A load by as many sessions as this machine has processors, on top of ``loaded`` units of the workload's size."""
    return LoadPhase(sessions=os.cpu_count() or 1, from_units=loaded)
