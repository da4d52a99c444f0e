"""``python -m bench fleet``: what the client of a fleet takes, over simulated hosts that answer at once.

One real cell is run; simulated hosts answer with its recording, each under the id of the cell that was asked for. All
else is the client's own: plan, queues, a line of the journal flushed to the drive for each cell, and the estimate of
time left. Told are cells a second, by which 100 hosts are kept busy if a cell takes longer than 100 over that rate,
and the memory of the process after so many cells.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console

from acidtest import __version__, conductor, experiment
from acidtest.cli.progress import Lines
from acidtest.conductor.run import output_of, run
from acidtest.errors import Problems
from acidtest.files import find_rig
from acidtest.fleet import conduct
from acidtest.fleet.cluster import Host
from acidtest.fleet.spec import FleetSpec
from acidtest.journal.models import Recording
from acidtest.plan import Cell, Plan

HOSTS, TOLD_AT = 100, (100, 1_000, 5_000, 10_000)
EXPERIMENT = """
name = "bench"
repetitions = {repetitions}
[factors]
engine = ["sqlite"]
durability = ["os", "drive"]
terminals = [1, 2, 3, 4, 5]
[workload.commits]
count = 200
"""


class Quiet(Lines):
    """Notes the memory instead of telling cells."""

    def __init__(self, began: float) -> None:
        super().__init__(Console(quiet=True))
        self._began = began

    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None:
        self._done += 1
        if self._done in TOLD_AT:
            rate = self._done / (time.monotonic() - self._began)
            print(f"{self._done:>8,} {rate:>10,.0f} {resident_mb():>14,.0f}")


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


class Client:
    """What of Dask's client is used beside tasks."""

    status = "running"

    def subscribe_topic(self, name: str, handler: Callable[[Any], None]) -> None:
        pass

    def unsubscribe_topic(self, name: str) -> None:
        pass

    def run(self, function: Callable[..., Any], *arguments: Any, workers: list[str]) -> dict[str, Any]:
        return dict.fromkeys(workers, __version__)


class Simulated:
    """A fleet whose hosts answer at once."""

    def __init__(self, count: int, answers: dict[str, Any], line: str) -> None:
        self.spec, self.client = FleetSpec(local=1, spread="pool"), Client()
        self._hosts = [Host(f"host-{number:03}", f"tcp://host-{number:03}") for number in range(count)]
        self._answers, self._line = answers, line
        self._pool = ThreadPoolExecutor(1)

    def hosts(self) -> list[Host]:
        return self._hosts

    def check(self) -> None:
        pass

    def start_missing(self) -> None:
        pass

    def awaited(self, host: Host, future: Future[Any]) -> Any:
        return future.result()

    def run(self, function: Callable[..., Any], host: Host, *arguments: Any) -> Future[Any]:
        return self._pool.submit(self._answer, function.__name__, host, arguments)

    def _answer(self, function: str, host: Host, arguments: tuple[Any, ...]) -> Any:
        if function == "clock":
            return time.time()
        if function == "facts":
            return json.dumps({"answer": self._answers["facts"]})
        request = json.loads(arguments[-1])
        if request["do"] != "step":
            return json.dumps({"answer": self._answers[request["do"]]})
        answer = json.loads(self._line)
        cell = request["cells"][0]
        answer |= {"cell": cell, "host": host.name}
        return json.dumps({"answer": {"cell": cell, "recordings": [json.dumps(answer)], "files": {}}})


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory) / "bench.toml"
        recording = _one_real(where, Path(directory) / "one")
        where.write_text(EXPERIMENT.format(repetitions=max(TOLD_AT) // 10), encoding="utf-8")
        plan = _planned(where)
        fleet: Any = Simulated(HOSTS, _answers(recording), recording.model_dump_json(by_alias=True))
        print(
            f"{HOSTS} simulated hosts, {len(recording.model_dump_json()):,} bytes a recording; "
            f"{resident_mb():.0f} MB before"
        )
        print(f"{'cells':>8} {'cells/s':>10} {'resident MB':>14}")
        output = output_of(plan, Path(directory) / "out", retry_failed=False)
        task = conduct.Task(plan, output, where, Quiet(time.monotonic()))
        outcome = conduct.conduct(fleet, fleet.hosts(), task)
        print(f"{outcome.ran:,} cells in the journal, each once; {resident_mb():,.0f} MB with all of it read")


def _planned(where: Path) -> Plan:
    problems = Problems()
    return conductor.planned(experiment.read(where, problems=problems), where, problems, cuts=False)


def _one_real(where: Path, out: Path) -> Recording:
    where.write_text(EXPERIMENT.format(repetitions=1).replace("[1, 2, 3, 4, 5]", "[1]"), encoding="utf-8")
    outcome = run(_planned(where), where, out, Lines(Console(quiet=True)))
    return outcome.journal.recordings[0]


def _answers(recording: Recording) -> dict[str, Any]:
    machine = recording.machine.model_dump(mode="json")
    facts = {
        "architecture": platform.machine(), "user": "root",
        "rig_sha256": hashlib.sha256(find_rig().read_bytes()).hexdigest(),
    }  # fmt: skip
    begun = {
        "recordings": [], "explored": [], "machine": machine, "place": recording.place.model_dump(mode="json"),
        "hash_mb_per_s": 1.0, "flushes_per_s": 1.0,
    }  # fmt: skip
    return {"facts": facts, "admit": {"engines": {}, "devices": {}}, "begin": begun, "end": {}}
