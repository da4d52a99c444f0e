"""``python -m bench explore``: crash states a second by the number of workers, and what their client can bear.

SQLite, ``numbered`` at level ``drive`` on an honest disk and ext4, four terminals, 100 commits; each run explores a
load of its own for some seconds, without a fleet and with workers on this machine, in interleaved rounds. Then what
one client does for all workers is measured apart: it draws states and tells images apart, sends batches through Dask's
scheduler, takes their answers, and flushes a line of the journal for each.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from io import StringIO
from pathlib import Path
from statistics import median

from rich.console import Console

from acidtest import experiment, powercut
from acidtest.analysis import disk_log
from acidtest.cli.progress import Lines, watching
from acidtest.conductor import plan_of
from acidtest.conductor.watcher import Exploring
from acidtest.fleet import cluster, conduct, tasks
from acidtest.fleet.exploration import ASKED
from acidtest.fleet.spec import FleetSpec
from acidtest.journal.models import Explored
from acidtest.journal.reader import CUTS, explored, read
from acidtest.journal.writer import JournalWriter
from acidtest.plan import Cell
from acidtest.powercut import recorded_load
from acidtest.powercut.conductor import cuts_of
from acidtest.powercut.coverage import Asked, Budget, Exploration
from acidtest.powercut.state_file import STATES
from bench.disk import spread

EXPERIMENT = """
name = "bench"
repetitions = 1
engine = "sqlite"
durability = "drive"
[workload.numbered]
terminals = 4
count = 100
[place]
kind = "disk"
filesystem = "ext4"
size_mb = 64
disk_failure = "crash-states"
disk_states_s = {seconds}
"""
WORKERS = (0, 1, 2, 4)  # 0: without a fleet
TASKS = 2_000
DRAWN = 4_000  # states
BATCH = 100  # of them


class Enough(Exception):
    """What was wanted is there."""


class FirstBatch(Lines):
    """Ends a run as soon as a batch of states was looked at."""

    def exploring(self, cell: Cell, far: Exploring) -> None:
        raise Enough


def main(rounds: int, seconds: int) -> None:
    rates: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "bench.toml"
        file.write_text(EXPERIMENT.format(seconds=seconds), encoding="utf-8")
        for number in range(rounds):
            for workers in WORKERS:
                out = Path(directory) / f"{number}-{workers}"
                rates[workers].append(_explored(file, out, workers))
        print(f"{'workers':<16}{'crash states a second':>28}{'against 1 worker':>20}")
        for workers, of in rates.items():
            ratios = [rate / one for rate, one in zip(of, rates[1], strict=True)]
            name = f"{workers}" if workers else "no fleet"
            print(f"{name:<16}{spread(of, 1):>28}{spread(ratios, 2):>20}", flush=True)
        _client(Path(directory))


def _explored(file: Path, out: Path, workers: int) -> float:
    plan = plan_of(experiment.read(file), cuts=True)
    with watching(Console(file=StringIO())) as watcher:
        if workers == 0:
            outcome = powercut.cut_power(plan, file, out, watcher)
        else:
            with cluster.opened(FleetSpec(local=workers, spread="pool"), file) as fleet:
                cuts, output = cuts_of(plan, out, only=(), seed=None, command=())
                task = conduct.Task(cuts, output, file, watcher, cuts=True)
                outcome = conduct.conduct(fleet, fleet.hosts(), task)
    (recording,) = outcome.journal.recordings
    if recording.cut is None or recording.cut.states is None or recording.cut.verdict != "survived":
        raise SystemExit(f"{recording.status}: {recording.reason or recording.cut}")
    return recording.cut.states.per_s


def _client(directory: Path) -> None:
    load = _kept(directory)
    log = directory / "log"
    began = time.monotonic()
    of = recorded_load.read(load, log)
    exploration = Exploration(of.load, of.sha256, 1, Budget(None, None))
    opened_s = time.monotonic() - began
    image_bytes = sum(record.length for record in of.load.records[: of.load.start])
    load_bytes = disk_log_bytes(log) - image_bytes
    print(
        f"a load: {load.stat().st_size:,} bytes sent to each host once, of {image_bytes:,} bytes of image and "
        f"{load_bytes:,} bytes of log; {opened_s:.2f} s to open"
    )
    began = time.monotonic()
    batches: list[list[Asked]] = []
    while sum(map(len, batches)) < DRAWN and (asked := exploration.batch(BATCH, 0.0)):
        batches.append(asked)
    drawn = sum(map(len, batches))
    print(f"states drawn and distinguished: {drawn / (time.monotonic() - began):,.0f} a second ({drawn:,})")
    known = next(directory.glob(f"*/{CUTS}"))
    template = next(iter(explored(known)))
    lines = [_line(template, batch) for batch in batches]
    requests = [json.dumps({"do": "look", "asked": ASKED.dump_python(batch, mode="json")}) for batch in batches]
    sent, heard = (sum(map(len, of)) / drawn for of in (requests, [line.model_dump_json() for line in lines]))
    print(f"a state: {sent:.0f} bytes in a request, {heard:.0f} bytes in an answer and in the journal")
    apart = directory / "apart"
    apart.mkdir()
    with JournalWriter(apart, read(known).header, CUTS) as writer:
        began = time.monotonic()
        for line in lines:
            writer.append(line)
            exploration.take(line)
        took_s = time.monotonic() - began
    print(f"answers of {BATCH} states taken and flushed: {len(lines) / took_s:,.0f} a second")
    with cluster.opened(FleetSpec(local=2), Path("bench")) as fleet:
        rates = []
        hosts = fleet.hosts()
        for _ in range(3):
            began = time.monotonic()
            futures = [fleet.run(tasks.clock, hosts[number % len(hosts)]) for number in range(TASKS)]
            fleet.client.gather(futures)
            rates.append(TASKS / (time.monotonic() - began))
        print(f"tasks through Dask's scheduler, to two workers and back: {median(rates):,.0f} a second")


def _kept(directory: Path) -> Path:
    """The file of a recorded load: that of a run which is ended as soon as it has looked at one batch."""
    file, out = directory / "kept.toml", directory / "kept"
    file.write_text(EXPERIMENT.format(seconds=30), encoding="utf-8")

    with contextlib.suppress(Enough):
        powercut.cut_power(plan_of(experiment.read(file), cuts=True), file, out, FirstBatch(Console(quiet=True)))
    return next((out / STATES).glob("*.load"))


def _line(template: Explored, batch: list[Asked]) -> Explored:
    states = [(one.image, one.demanded, 0, one.at_random) for one in batch]
    return template.model_copy(update={"states": states})


def disk_log_bytes(log: Path) -> int:
    """Bytes of all writes in a log."""
    _, records = disk_log.read(log)
    return sum(record.length for record in records)
