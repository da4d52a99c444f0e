"""A cell's work in the rig's words."""

from __future__ import annotations

import os
from collections.abc import Sequence

from acidtest.engine import Engine, Instance
from acidtest.experiment import WorkloadSpec
from acidtest.journal.protocol import (
    ClosedLoop,
    CommitsWorkload,
    Count,
    Duration,
    IudWorkload,
    Job,
    LoadPhase,
    NumberedWorkload,
    Observe,
    OltpWorkload,
    OpenLoop,
    OrdersWorkload,
    Pacing,
    Phase,
    RunPhase,
    ScanWorkload,
    TpcbWorkload,
    TpccWorkload,
    Workload,
)
from acidtest.plan import Cell


def job_for(
    cell: Cell,
    instance: Instance,
    phases: Sequence[Phase],
    *,
    workload: WorkloadSpec | None = None,
    inspected: bool = False,
    observe: Observe | None = None,
) -> Job:
    """What the rig is to do with ``instance`` for ``cell``.

    ``workload`` is the one in force, where it is not the cell's. With ``inspected`` settings in force are asked for.
    """
    return Job(
        seed=cell.seed,
        target=instance.target(),
        workload=workload_of(workload or cell.workload),
        inspect=instance.inspections() if inspected else [],
        phases=list(phases),
        observe=observe,
    )


def load_phase() -> LoadPhase:
    """A load by as many sessions as this machine has processors."""
    return LoadPhase(sessions=os.cpu_count() or 1)


def workload_of(spec: WorkloadSpec) -> Workload:
    """The workload in the rig's words."""
    match spec.kind:
        case "commits":
            return CommitsWorkload(row_bytes=spec.row_bytes)
        case "tpcb":
            return TpcbWorkload(scale=spec.scale)
        case "tpcc":
            return TpccWorkload(
                warehouses=spec.warehouses,
                percent=spec.warehouse_percent,
                procedures=spec.procedures,
                keying=spec.keying,
                roaming=spec.roaming,
            )
        case "orders":
            return OrdersWorkload(
                products=spec.products, orders_per_call=spec.orders_per_call, repeatable=spec.repeatable
            )
        case "iud":
            return IudWorkload(rows=spec.rows)
        case "scan":
            return ScanWorkload(size_mb=spec.size_mb, read=spec.read)
        case "oltp":
            return OltpWorkload(tables=spec.tables, table_rows=spec.table_rows)
        case "numbered":
            return NumberedWorkload(terminals=spec.terminals, parts=spec.parts, row_bytes=spec.row_bytes)


def run_phase(spec: WorkloadSpec) -> RunPhase:
    """The workload's parameters in the rig's words."""
    pacing: Pacing = (
        ClosedLoop(think_ms=spec.think_ms)
        if spec.rate_per_s is None
        else OpenLoop(rate_per_s=spec.rate_per_s, arrivals=spec.arrivals)
    )
    return RunPhase(
        terminals=spec.terminals,
        threads=spec.threads,
        pacing=pacing,
        warmup_s=spec.warmup_s,
        extent=Count(transactions=spec.count) if spec.count else Duration(seconds=spec.duration_s or 0),
        retries=spec.retries,
    )


def template_bytes(spec: WorkloadSpec, engine: Engine) -> int:
    """About how large a loaded database of this workload is, on the generous side, for the free-space check."""
    transactions = spec.count or (spec.duration_s or 0) * (spec.rate_per_s or 20_000)
    rows, row_bytes = {"commits": (1, spec.row_bytes), "numbered": (2 * spec.parts, spec.row_bytes)}.get(
        spec.kind, (1, 20)
    )
    history = int(transactions * rows * (row_bytes + 100))
    if spec.kind == "scan":
        history = spec.size_mb * 1_200_000 if spec.read == "sorted" else 0  # what is sorted outside of memory
    loaded = {
        "commits": 0,
        "tpcb": spec.scale * 20_000_000,
        "tpcc": spec.warehouses * spec.warehouse_percent * 1_600_000,
        "orders": spec.products * 400,
        "iud": spec.rows * 400,
        "scan": spec.size_mb * 1_300_000,
        "oltp": spec.tables * spec.table_rows * 400,
        "numbered": spec.terminals * 2 * spec.parts * (spec.row_bytes + 100),
    }[spec.kind]
    return engine.empty_bytes + loaded + history
