"""A cell whose load comes from several machines.

One of them runs the cell: it loads, checks, drives a part of the load or has the server, puts the parts together, and
checks what all of them were told. The others drive their part and bring it back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from acidtest.analysis.latency import percentile_ns
from acidtest.analysis.merge import Part, acknowledged_totals, together
from acidtest.conductor.device import CellDevice
from acidtest.conductor.generators import Brought, Generators, Moment, Served
from acidtest.conductor.instruments import Instrument
from acidtest.conductor.rig import SILENCE_S, Gated, converse, job_for
from acidtest.conductor.rig_work import RigWork
from acidtest.engine import Instance
from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed
from acidtest.journal.models import Generator, ServerHost
from acidtest.journal.protocol import (
    Duration,
    Job,
    Phase,
    Progress,
    Ready,
    Result,
    RunPhase,
    RunResult,
    Settings,
    Share,
    Shared,
    Target,
)
from acidtest.place import host
from acidtest.place.host import HostWatch
from acidtest.plan import Cell

Told = Callable[[Progress], None]


def drive(
    job: Job, launcher: Launcher, environment: dict[str, str], name: str, ready: Callable[[], Moment], tell: Told
) -> Brought:
    """Drive one part of a load, whose ``job`` has a share, on this machine, which is called ``name``.

    ``ready`` is called when the sessions are open, and answers when the load begins. Raises CellFailed.
    """
    rigs: list[Gated] = []

    def start(text: bytes, variables: object) -> Gated:
        rigs.append(Gated(launcher, text, environment))
        return rigs[0]

    settings: list[Settings] = []
    result: RunResult | None = None
    shared: Shared | None = None
    moment: Moment | None = None
    with closing(converse(job, launcher, environment, start)) as events:
        for event in events:
            match event:
                case Settings():
                    settings.append(event)
                case Ready():
                    moment = ready()
                    rigs[0].go(moment.at_ns)
                case Result():
                    result = event
                case Shared():
                    shared = event
                case Progress():
                    tell(event)
    if result is None or shared is None or moment is None:
        raise CellFailed("the rig ended without its part of the load")
    return Brought(
        host=name,
        cpu_count=host.processors(),
        result=result,
        shared=shared,
        settings=settings,
        clock_offset_s=moment.clock_offset_s,
        clock_error_s=moment.clock_error_s,
    )


def part_of(cell: Cell, instance: Instance, share: Share) -> Job:
    """What a rig is to do for one part of the load of ``cell``."""
    return job_for(cell, instance, [_phase(cell, share)], inspected=True)


def part_elsewhere(cell: Cell, served: Served, share: Share) -> Job:
    """The same on another machine than the server's."""
    engine = str(served.target["engine"])
    kind = next(
        subclasse for subclasse in Target.__subclasses__() if subclasse.model_fields["engine"].default == engine
    )
    target = kind.model_validate(served.target)
    message = cell.workload.message()
    return Job(seed=cell.seed, target=target, workload=message, inspect=served.inspect, phases=[_phase(cell, share)])


def _phase(cell: Cell, share: Share) -> RunPhase:
    return cell.workload.run_phase().model_copy(update={"share": share})


def run(work: RigWork, generators: Generators, before: Sequence[Phase]) -> None:
    """As ``cell.run_in_rig``, with the load from ``generators``. Raises CellFailed when one of them cannot go on."""
    own = generators.own
    of_storage: list[Instrument] = []
    if not work.instruments and own.share is None and own.directory is not None:  # of a server that is not ours
        of_storage = [CellDevice(own.directory, timed=True, warmup_s=work.cell.workload.warmup_s)]
        work = replace(work, instruments=of_storage)
    work.do(work.before(before))
    instance, outcome = work.instance, work.outcome
    target = instance.target_elsewhere().model_dump(mode="json", by_alias=True)
    private = work.context.engine(work.cell).private
    generators.loaded(Served(target=target, inspect=instance.inspections()) if private else None)
    brought = _all_parts(work, generators)
    work.answers.extend(answer for part in brought for answer in part.settings)
    work.hear(Result(**dict(together([Part(part.result, part.shared) for part in brought]))))
    for instrument in of_storage:
        instrument.record(outcome)
    outcome.generators = [_generator(part) for part in brought]
    work.do(work.after(acknowledged_totals([part.shared for part in brought])))


def _all_parts(work: RigWork, generators: Generators) -> list[Brought]:
    cell, context, own = work.cell, work.context, generators.own
    limit_s = cell.workload.warmup_s + (cell.workload.duration_s or 0.0) + SILENCE_S
    if own.share is None:
        return _while_serving(work, generators, limit_s)

    def tell(event: Progress) -> None:
        context.watcher.progress(cell, event)
        generators.look()

    job = part_of(cell, work.instance, own.share)
    environment = work.instance.environment()
    brought = [drive(job, work.launcher, environment, own.host, generators.ready, tell)]
    return [*brought, *generators.others(limit_s)]


def _while_serving(work: RigWork, generators: Generators, limit_s: float) -> list[Brought]:
    """What the others bring while this machine has the server, and is watched."""
    cell, outcome, own = work.cell, work.outcome, generators.own
    watch = HostWatch()
    watch.start()
    try:
        moment = generators.ready()
        measured_s = moment.at_ns / 1e9 + cell.workload.warmup_s
        outcome.measured_from = measured_s
        begin_s = time.monotonic() + measured_s - time.time()
        with _Clock(work, begin_s):
            brought = generators.others(limit_s)
    finally:
        watch.stop()
    end_s = begin_s + max(part.result.measured_s for part in brought)
    outcome.server_host = ServerHost(host=own.host, cpu_count=host.processors(), samples=watch.samples(begin_s, end_s))
    return brought


class _Clock:
    """Tells instruments of the time of a measurement that other machines make, as a rig here would have told it."""

    def __init__(self, work: RigWork, begin_s: float) -> None:
        phase = work.cell.workload.run_phase()
        assert isinstance(phase.extent, Duration)
        self._work, self._begin_s = work, begin_s
        self._warmup_s, self._length_s = phase.warmup_s, phase.extent.seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go, name="acidtest-clock", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _go(self) -> None:
        at_s = 0.0
        while at_s <= self._length_s:
            if self._ended.wait(max(0.0, self._begin_s + at_s - time.monotonic())):
                return
            fraction = 1.0 if at_s == self._length_s else at_s / self._length_s
            elapsed_s = self._warmup_s + time.monotonic() - self._begin_s
            progress = Progress(phase="run", fraction=fraction, elapsed_s=elapsed_s, done=0, rate_per_s=0.0)
            for instrument in self._work.instruments:
                instrument.hear(progress, self._work.outcome)
            if at_s == self._length_s:
                return
            at_s = min(at_s + 1.0, self._length_s)


def _generator(one: Brought) -> Generator:
    result, counts = one.result, one.result.counts
    lateness = result.arrivals.lateness if result.arrivals else None
    late = lateness if lateness and lateness.count else None
    return Generator(
        host=one.host,
        terminals=result.terminals,
        threads=result.threads,
        committed=counts.committed,
        ended=counts.committed + counts.rolled_back + counts.given_up + counts.errors,
        measured_s=result.measured_s,
        cpu=result.cpu,
        cpu_count=one.cpu_count,
        service_mean_ns=result.service.mean_ns,
        lateness_ms_p99=percentile_ns(late, 0.99) / 1e6 if late else None,
        lateness_ms_max=late.max_ns / 1e6 if late else None,
        stood_still_ms_max=one.shared.stood_still_ns_max / 1e6,
        began_late_ms=one.shared.began_late_ns / 1e6,
        clock_offset_s=one.clock_offset_s,
        clock_error_s=one.clock_error_s,
    )
