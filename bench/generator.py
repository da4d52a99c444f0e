"""``make bench``: what the generator itself costs, beside what the engine in the same process costs.

Runs the rig alone over databases in memory (tmpfs), interleaved, and prints medians with minimum and maximum. The
share is the figure to look at: absolute times are this machine's at this hour.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import catalogue
from acidtest.errors import MachineLacks
from acidtest.journal.protocol import ClosedLoop, Duration, Job, LoadPhase, Result, RunPhase, WorkloadMessage
from acidtest.place import Ledger
from acidtest.workload.commits import CommitsWorkload
from acidtest.workload.tpcb import TpcbWorkload

ROUNDS = 5
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - each run makes its own directory
WORKLOADS: dict[str, WorkloadMessage] = {"commits": CommitsWorkload(row_bytes=100), "tpcb": TpcbWorkload(scale=1)}


def one(engine_id: str, workload: WorkloadMessage, ledger: Ledger) -> Result:
    """One run of three seconds with one terminal, without flushes."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        engine = catalogue.find(engine_id)
        template, cell = Path(directory) / "template", Path(directory) / "cell"
        template.mkdir()
        cell.mkdir()
        loading = engine.create(template, {})
        loading.start(ledger)
        job = Job(seed=1, target=loading.target(), workload=workload, inspect=[], phases=[LoadPhase()])
        for _ in converse(job, ledger, loading.environment()):
            pass
        loading.seal()
        files = loading.database_files()
        loading.release()
        for file in files:
            file.rename(cell / file.name)
        instance = engine.adopt(cell, {}, engine.durability_levels()[0])
        instance.start(ledger)
        run = RunPhase(terminals=1, pacing=ClosedLoop(think_ms=0), warmup_s=0.5, extent=Duration(seconds=3), retries=0)
        job = Job(seed=1, target=instance.target(), workload=workload, inspect=[], phases=[run])
        results = [e for e in converse(job, ledger, instance.environment()) if isinstance(e, Result)]
        instance.release()
        return results[0]


def main() -> None:
    engines = []
    for engine in catalogue.known():
        try:
            catalogue.find(engine)
        except MachineLacks as error:
            print(f"left out: {error.message}")
        else:
            engines.append(engine)
    ledger = Ledger()
    measured: dict[tuple[str, str], list[Result]] = {}
    for _ in range(ROUNDS):
        for name, workload in WORKLOADS.items():
            for engine in engines:
                measured.setdefault((name, engine), []).append(one(engine, workload, ledger))
    ledger.close()
    print(
        f"{'workload':<10}{'engine':<14}{'commits/s':>12}  "
        f"{'generator µs/tx':>22}  {'driver+engine µs/tx':>22}  {'share':>7}"
    )
    for (name, engine), results in measured.items():
        generator = [r.cpu.generator_us_per_transaction for r in results]
        session = [r.cpu.session_us_per_transaction for r in results]
        share = statistics.median(g / (g + s) for g, s in zip(generator, session, strict=True))
        rate = statistics.median(r.goodput_per_s for r in results)
        print(f"{name:<10}{engine:<14}{rate:>12,.0f}  {spread(generator):>22}  {spread(session):>22}  {share:>7.1%}")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
