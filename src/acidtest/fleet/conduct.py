"""Takes a plan to one journal over a fleet: which host gets what, and every recording on the drive before the next.

A host has one item at a time: a cell, or the cells that belong together on one database. It hands back a recording as
each cell ends and keeps it until it hears that the recording is on the drive here. What a host or a client that died
had measured is taken from there when the same command goes on.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import queue
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from acidtest.conductor.admission import Devices, refuse_changed_engines
from acidtest.conductor.conduct import Estimate, RunOutcome
from acidtest.conductor.output import Output
from acidtest.conductor.run import output_of
from acidtest.conductor.search import refuse_search
from acidtest.conductor.verify import verify
from acidtest.conductor.watcher import Watcher
from acidtest.conductor.workload_description import described
from acidtest.errors import AcidtestError, BadInput, CellFailed, Problems
from acidtest.experiment import Experiment, Level
from acidtest.files import find_rig, fsync_path
from acidtest.fleet import host_client, tasks
from acidtest.fleet.cluster import Fleet, Host
from acidtest.fleet.exploration import Explorations
from acidtest.fleet.host_client import Facts, answered
from acidtest.fleet.messages import Assignment
from acidtest.journal.models import (
    HOST,
    SIZE,
    EngineFacts,
    Explored,
    Header,
    HostRecord,
    Machine,
    PlaceFacts,
    Recording,
)
from acidtest.journal.protocol import Progress
from acidtest.journal.writer import JournalWriter
from acidtest.plan import Cell, Plan, time_left
from acidtest.powercut.conductor import builds_states, earlier
from acidtest.powercut.state_file import STATES
from acidtest.words import counted

POLL_S = 1.0
IDLE_POLL_S = 0.05
BUSY_POLL_S = 5.0
REST_S = 60.0  # without a request: then a host that waits is told that there will be one


@dataclass(frozen=True)
class Task:
    """What a fleet is to do: the cells of ``plan`` that ``output`` lacks. ``where`` is the experiment's file."""

    plan: Plan
    output: Output
    where: Path
    watcher: Watcher
    cuts: bool = False  # its cells are power cuts

    @classmethod
    def of_run(cls, plan: Plan, where: Path, out: Path, watcher: Watcher, *, retry_failed: bool = False) -> Task:
        """A run into ``out``, as ``conductor.run`` makes it."""
        return cls(plan, output_of(plan, out, retry_failed=retry_failed), where, watcher)


def with_hosts(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with the factor ``host``: each combination on each of these hosts."""
    levels = [Level(name=name) for name in names]
    factors: dict[str, list[Level]] = {}
    for factor, of in experiment.factors.items():
        if factor == SIZE:  # stays the last one: the sizes of a database follow each other
            factors[HOST] = levels
        factors[factor] = of
    factors.setdefault(HOST, levels)
    update: dict[str, Any] = {"factors": factors}
    if experiment.whole is not None:
        update["whole"] = with_hosts(experiment.whole, names)
    return experiment.model_copy(update=update)


def conduct(fleet: Fleet, hosts: Sequence[Host], task: Task, kind: type[FleetRun] | None = None) -> RunOutcome:
    """Do ``task`` on ``hosts``. ``kind`` is the way in which hosts share cells, where it is not that each runs its own.

    Raises what ``conductor.conduct`` raises, with the name of the host it is about, and AcidtestError where no host is
    left that could go on.
    """
    output, watcher = task.output, task.watcher
    refuse_search(task.plan, task.where)
    verify(task.plan, task.where)
    task = replace(task, plan=described(task.plan))
    _refuse_what_stays_here(task.plan, task.where)
    held = output.held()
    left = output.remaining(task.plan, held)
    if held and held.damaged:
        watcher.doubts([line.told for line in held.damaged])
    if held and not left:
        watcher.begins(len(task.plan.cells), len(task.plan.cells), _named(hosts))
        host_client.dismiss(fleet, hosts, _id(held.header), [recording.cell for recording in held.recordings])
        return RunOutcome(held, 0)
    found = host_client.facts(fleet, hosts)
    host_client.refuse_unlike(found, hashlib.sha256(find_rig().read_bytes()).hexdigest())
    with output.opened() as writer:
        work = (kind or FleetRun)(fleet, found, task, writer)
        with work.heard():
            work.admit()
            work.go()
        return RunOutcome(writer.journal, work.ran)


def _id(header: Header) -> str:
    """Tells a run from all others, on whatever host."""
    return hashlib.sha256(f"{header.digest} {header.created_at}".encode()).hexdigest()[:16]


def _named(hosts: Sequence[Host]) -> str:
    return f"{counted(len(hosts), 'host')}: {', '.join(host.name for host in hosts)}"


def _refuse_what_stays_here(plan: Plan, where: Path) -> None:
    """A file of the user's that is read by its path would have to be on each host, and the same. A forecast needs a
    journal of all sizes before the next one is loaded, and hosts send theirs meanwhile."""
    if plan.experiment.growth is not None and plan.experiment.growth.held_out:
        raise BadInput(
            f"{where}: growth.held_out: a held-out size is predicted on the machine that measures the others",
            "run without --fleet, or leave held_out out",
        )
    for cell in plan.cells:
        if files := cell.workload.local_files():
            raise BadInput(
                f"{where}: workload {cell.workload_name}: reads {files[0]}, and a host has no such file",
                "give rows by expressions, or run without --fleet",
            )
        if cell.workload.of_the_user() is not None:
            raise BadInput(
                f"{where}: workload {cell.workload_name}: its database is prepared on one server, and several hosts "
                "would work on it at the same time",
                "run without --fleet",
            )


def items(cells: Sequence[Cell], *, cuts: bool) -> list[list[Cell]]:
    """What a host is given whole: cells that share a database as it lies, or a disk; otherwise each cell alone."""

    def together(cell: Cell) -> str:
        return cell.combination if cuts else cell.series or cell.id

    return [list(group) for _, group in groupby(cells, key=together)]


@dataclass
class WorkingHost:
    """A host at work, and what it knows."""

    facts: Facts
    host: Host
    queue: deque[list[Cell]]  # items; of a pool one queue for all
    left: list[Cell] = field(default_factory=list)  # of the item at work
    unheard: list[str] = field(default_factory=list)  # cells whose recordings are on the drive here, untold yet
    future: Any = None
    does: str = ""  # "admit", "begin", "step", "" for nothing
    admitted: bool = True  # by the lab that is there now
    began: bool = False
    explores: Mapping[str, Any] | None = None  # what of crash states it was asked for last
    heard_at: float = 0.0
    gone_since: float | None = None
    not_before: float = 0.0
    failed: AcidtestError | None = None

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def is_done(self) -> bool:
        return not self.left and not self.queue

    def give_back(self) -> None:
        """What is left of the item at work is the next one of the queue again, for a lab that knows nothing yet."""
        if self.left:
            self.queue.appendleft(self.left)
            self.left = []
        self.admitted = self.began = False


class FleetRun:
    """One run over a fleet."""

    def __init__(self, fleet: Fleet, found: Sequence[Facts], task: Task, writer: JournalWriter) -> None:
        self._fleet, self._task, self._writer = fleet, task, writer
        self._plan, self._watcher = task.plan, task.watcher
        plan, output, cuts = task.plan, task.output, task.cuts
        journal = writer.journal
        self._header = journal.header
        self._run = _id(self._header)
        self._cells = {cell.id: cell for cell in plan.cells}
        self._missing = {cell.id: cell for cell in output.remaining(plan, journal)}
        explored = [cell for cell in self._missing.values() if cuts and builds_states(cell)]
        self._explorations = Explorations(
            explored, earlier(output, plan) if explored else {}, plan.experiment, writer, self._watcher, self._keep
        )
        self.ran = 0
        self._took: list[tuple[Cell, float]] = []
        self._estimate = Estimate(lambda cells: time_left(cells, self._took))
        self._heard: queue.SimpleQueue[Any] = queue.SimpleQueue()  # events, and futures that have ended
        self._looked = 0.0
        in_items = [cell for cell in self._missing.values() if not (cuts and builds_states(cell))]
        pool: deque[list[Cell]] = deque(items(in_items, cuts=cuts))
        self._workers = [WorkingHost(facts, facts.host, self._queue_of(facts, pool)) for facts in found]
        self._futures: dict[Any, WorkingHost] = {}

    def _queue_of(self, one: Facts, pool: deque[list[Cell]]) -> deque[list[Cell]]:
        if not self._compares:
            return pool
        return deque(item for item in pool if item[0].levels[HOST] == one.host.name)

    @property
    def _compares(self) -> bool:
        return HOST in self._plan.experiment.factors

    @contextmanager
    def heard(self) -> Iterator[None]:
        """What the labs tell is heard within."""
        name = tasks.topic(self._run)
        client = self._fleet.client
        client.subscribe_topic(name, lambda event: self._heard.put(event[1]))
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                client.unsubscribe_topic(name)

    def admit(self) -> None:
        """Have each host refuse what it cannot run, before anything is made on any of them."""
        problems = Problems()
        requests = [(worker, self._admission(worker)) for worker in self._workers]
        asked = [(worker, request, self._asked(worker, request)) for worker, request in requests]
        answers: dict[str, Mapping[str, Any]] = {}
        for worker, request, future in asked:
            with problems.gather():
                answers[worker.name] = self._awaited(worker, future, request)
        problems.check()
        with problems.gather():
            host_client.refuse_other_engines({host: answer["engines"] for host, answer in answers.items()})
        with problems.gather():
            found = {id: facts for answer in answers.values() for id, facts in answer["engines"].items()}  # noqa: A001
            now = {id: EngineFacts.model_validate(facts) for id, facts in found.items()}  # noqa: A001
            refuse_changed_engines(self._writer.journal, now, self._task.where)
        if not self._compares:
            with problems.gather():
                host_client.refuse_other_devices({host: answer["devices"] for host, answer in answers.items()})
        problems.check()

    def _admission(self, worker: WorkingHost) -> dict[str, Any]:
        spec = self._fleet.spec.of_host(worker.name)
        mine = [cell for cell in self._plan.cells if not self._compares or cell.levels[HOST] == worker.name]
        assignment = Assignment(
            run=self._run,
            host=worker.name,
            plan=Plan(self._plan.experiment, tuple(mine), self._plan.cuts, self._plan.reached),
            left=tuple(cell.id for cell in mine if cell.id in self._missing),
            cuts=self._task.cuts,
            header=self._header,
            where=str(self._task.where),
            directory=spec.directory,
            devices=Devices.named(spec.use_devices, spec.erase),
        )
        return {"do": "admit", "assignment": assignment.packed()}

    def _asked(self, worker: WorkingHost, request: Mapping[str, Any]) -> Any:
        home = self._fleet.spec.of_host(worker.name).home
        return self._fleet.run(tasks.ask, worker.host, self._run, home, json.dumps(request))

    def _awaited(self, worker: WorkingHost, future: Any, request: Mapping[str, Any]) -> dict[str, Any]:
        """Its answer; asked again as long as another run has the machine."""
        is_reported = False
        while "busy" in (reply := json.loads(self._fleet.awaited(worker.host, future))):
            if not is_reported:
                is_reported = True
                self._watcher.doubts([_has_another_run(worker, reply)])
            time.sleep(BUSY_POLL_S)
            future = self._asked(worker, request)
        return answered(worker.host, reply)

    def go(self) -> None:
        """All cells that are left. In the end every host that is there has released what was made for the run."""
        done = len(self._plan.cells) - len(self._missing)
        self._watcher.begins(done, len(self._plan.cells), _named([worker.host for worker in self._workers]))
        with contextlib.closing(self._explorations):
            try:
                while not self._is_over():
                    self._hand_out()
                    self._hear()
                    self._miss()
            except BaseException:
                self._stop()
                self._end(0.0)
                raise
            self._end(END_S)
        problems = Problems()
        for worker in self._workers:
            if worker.failed is not None and self._missing:
                problems.add(worker.failed)
        problems.check()
        if self._missing:
            raise AcidtestError(
                f"{counted(len(self._missing), 'cell')} could not be run: no host is left for them",
                "see above, and run the same command again: it goes on",
            )

    def _is_over(self) -> bool:
        waiting = [worker for worker in self._workers if worker.failed is None and not self._is_done(worker)]
        return not self._futures and not waiting

    def _is_done(self, worker: WorkingHost) -> bool:
        return worker.is_done and not self._explorations.wants(worker.name)

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.failed is not None or self._is_done(worker) or not self._is_ready(worker):
                continue
            if worker.is_done:
                self._explore(worker)
                continue
            if not worker.left:
                worker.left = [cell for cell in worker.queue.popleft() if cell.id in self._missing]
                if not worker.left:
                    continue
            cells = [cell.id for cell in worker.left]
            self._ask(worker, "step", {"do": "step", "cells": cells, "acknowledged": worker.unheard})

    def _is_ready(self, worker: WorkingHost) -> bool:
        """Whether it is free and has all that the run needs; what is missing there is asked for."""
        if worker.future is not None or time.monotonic() < worker.not_before:
            return False
        if worker.gone_since is not None and not self._is_back(worker):
            return False
        if not worker.admitted:
            self._ask(worker, "admit", self._admission(worker))
        elif not worker.began:
            self._ask(worker, "begin", {"do": "begin"})
        return worker.future is None

    def _explore(self, worker: WorkingHost) -> None:
        """Have it look at crash states, or wait for those who do.

        A time for it begins when all hosts that are there are ready: what they measure beforehand is measured alone.
        """
        are_ready = all(worker.began or worker.failed or worker.gone_since is not None for worker in self._workers)
        worker.explores = self._explorations.request(worker.name) if are_ready else None
        for recording in self._explorations.ended():
            self._write(recording)
        if worker.explores is not None:
            self._ask(worker, "explore", {**worker.explores, "acknowledged": worker.unheard})
        elif time.monotonic() > worker.heard_at + REST_S:
            self._ask(worker, "rest", {"do": "rest"})

    def _explored(self, worker: WorkingHost, answer: Mapping[str, Any]) -> None:
        worker.unheard = []
        request = worker.explores
        assert request is not None
        if "lacks" in answer:
            content = self._explorations.content(request["cell"], self._fleet.client.scatter)
            self._await(worker, "put", self._fleet.run(tasks.put, worker.host, answer["lacks"], content))
            return
        recordings, forgotten = self._explorations.answered(worker.name, request, answer)
        for recording in recordings:
            self._write(recording)
        if forgotten:
            worker.unheard.append(forgotten)

    def _ask(self, worker: WorkingHost, does: str, request: Mapping[str, Any]) -> None:
        self._await(worker, does, self._asked(worker, request))

    def _await(self, worker: WorkingHost, does: str, future: Any) -> None:
        worker.does, worker.future = does, future
        self._futures[worker.future] = worker
        worker.future.add_done_callback(self._heard.put)

    def _hear(self) -> None:
        """What has been told, and what has ended, since the last time; waits a moment for either."""
        with contextlib.suppress(queue.Empty):
            what = self._heard.get(timeout=POLL_S if self._futures else IDLE_POLL_S)
            while True:
                if isinstance(what, dict):
                    self._tell(what)
                elif (worker := self._futures.pop(what, None)) is not None:
                    worker.future = None
                    self._ended(worker, what)
                what = self._heard.get_nowait()

    def _tell(self, event: Mapping[str, Any]) -> None:
        match event["event"]:
            case "lines":
                self._watcher.doubts([f"{event['host']}: {line}" for line in event["lines"]])
            case "begins" if event["cell"] in self._cells:
                self._watcher.cell_begins(self._cells[event["cell"]], self._left_s())
            case "progress" if event["cell"] in self._cells:
                progress = Progress.model_validate(event["progress"])
                self._watcher.progress(self._cells[event["cell"]], progress)

    def _left_s(self) -> float:
        at_work = sum(worker.failed is None for worker in self._workers) or 1
        return self._estimate.seconds(self._missing.values()) / at_work

    def _miss(self) -> None:
        """Notice which hosts are gone."""
        if time.monotonic() < self._looked + POLL_S:
            return
        self._looked = time.monotonic()
        there = {host.name: host for host in self._fleet.hosts()}
        for future, worker in list(self._futures.items()):
            if there.get(worker.name) != worker.host:
                del self._futures[future]
                worker.future = None
                with contextlib.suppress(Exception):
                    future.cancel()
                self._gone(worker)

    def _gone(self, worker: WorkingHost) -> None:
        """Its item goes back; it may come again."""
        if worker.gone_since is None:
            worker.gone_since = time.monotonic()
            self._watcher.doubts(
                [
                    f"{worker.name}: is gone; waiting up to {self._fleet.spec.patience_s:.0f} s for it to come back, "
                    "then what it had in hand is run again"
                ]
            )
        worker.give_back()
        self._explorations.gone(worker.name)

    def _is_back(self, worker: WorkingHost) -> bool:
        assert worker.gone_since is not None
        host = next((host for host in self._fleet.hosts() if host.name == worker.name), None)
        if host is not None:
            worker.host = host
            return True
        patience_s = self._fleet.spec.patience_s
        if time.monotonic() - worker.gone_since > patience_s:
            worker.failed = AcidtestError(
                f"{worker.name}: was gone for {patience_s:.0f} s",
                "repair that, and run the same command again: it goes on",
            )
        self._fleet.start_missing()
        worker.not_before = time.monotonic() + POLL_S
        return False

    def _ended(self, worker: WorkingHost, future: Any) -> None:
        try:
            # Where the worker died after it had answered, Dask would run the task again, on a worker that is not there.
            reply = json.loads(self._fleet.awaited(worker.host, future))
        except CellFailed:
            self._gone(worker)
            return
        if "busy" in reply:  # its own lab ended, and another run was quicker
            if worker.admitted:
                self._watcher.doubts([_has_another_run(worker, reply)])
            worker.give_back()
            self._explorations.gone(worker.name)
            worker.not_before = time.monotonic() + BUSY_POLL_S
            return
        try:
            answer = answered(worker.host, reply)
        except AcidtestError as error:
            worker.failed = error
            self._watcher.doubts([error.message])
            worker.give_back()
            self._explorations.gone(worker.name)
            return
        worker.heard_at = time.monotonic()
        if worker.does == "admit":
            worker.admitted, worker.gone_since = True, None
        elif worker.does == "begin":
            self._began(worker, answer)
        elif worker.does == "step":
            worker.unheard = []
            self._stepped(worker, answer)
        elif worker.does == "explore":
            self._explored(worker, answer)
        elif worker.does == "put":
            assert worker.explores is not None
            self._ask(worker, "explore", {**worker.explores, "acknowledged": []})

    def _began(self, worker: WorkingHost, answer: Mapping[str, Any]) -> None:
        worker.began = True
        facts = worker.facts
        self._writer.append(
            HostRecord(
                name=worker.name,
                address=worker.host.address,
                read_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                user=facts.user,
                machine=Machine.model_validate(answer["machine"]),
                place=PlaceFacts.model_validate(answer["place"]),
                rig_sha256=facts.rig_sha256,
                clock_offset_s=facts.clock.offset_s,
                clock_error_s=facts.clock.error_s,
                hash_mb_per_s=answer["hash_mb_per_s"],
                flushes_per_s=answer["flushes_per_s"],
            )
        )
        kept = [Recording.model_validate_json(line) for line in answer["recordings"]]
        taken = [
            recording
            for recording in kept
            if recording.cell in self._missing and not self._task.output.runs_again(recording)
        ]
        if taken:
            self._watcher.doubts(
                [f"{worker.name}: {counted(len(taken), 'cell')} that it had measured taken from there"]
            )
        for recording in kept:
            if recording in taken:
                self._write(recording)
            worker.unheard.append(recording.cell)
        for line in map(Explored.model_validate_json, answer["explored"]):
            self._explorations.take(line)
            worker.unheard.append(line.id)

    def _stepped(self, worker: WorkingHost, answer: Mapping[str, Any]) -> None:
        for name, content in answer["files"].items():
            self._keep(name, base64.b64decode(content))
        recordings = [Recording.model_validate_json(line) for line in answer["recordings"]]
        for recording in recordings:
            self._write(self._here(recording))
            worker.unheard.append(recording.cell)
        worker.left = [cell for cell in worker.left if cell.id != answer["cell"]]
        self._missing.pop(answer["cell"], None)

    def _here(self, recording: Recording) -> Recording:
        """The same, its state file named as it lies here: the host named it by a directory of its own."""
        cut = recording.cut
        if cut is None or cut.state is None:
            return recording
        state = str(self._task.output.directory / STATES / Path(cut.state).name)
        return recording.model_copy(update={"cut": cut.model_copy(update={"state": state})})

    def _write(self, recording: Recording) -> None:
        self._writer.append(recording)
        self._explorations.recorded(recording.cell)
        self.ran += recording.cell in self._missing
        self._missing.pop(recording.cell, None)
        if (cell := self._cells.get(recording.cell)) is not None:
            self._took.append((cell, _seconds(recording)))
            self._watcher.cell_ended(cell, recording, self._left_s())

    def _keep(self, name: str, content: bytes) -> None:
        """A file that belongs to a recording, on the drive before it."""
        path = self._task.output.directory / name
        if not path.resolve().is_relative_to(self._task.output.directory.resolve()):
            raise AcidtestError(f"{name}: a host sent a file that does not belong into {self._task.output.directory}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        fsync_path(path)
        fsync_path(path.parent)

    def _farewell(self, host: str, cells: Sequence[str]) -> dict[str, Any]:
        return host_client.farewell(self._run, host, self._fleet.spec.of_host(host), cells)

    def _stop(self) -> None:
        """Have the hosts at work end in mid-cell, and release what they made."""
        asked = [worker for worker in self._workers if worker.future is not None]
        for worker in asked:
            with contextlib.suppress(Exception):  # who is gone has released it by itself, or will when it is cleaned
                self._fleet.client.run(tasks.stop, self._run, workers=[worker.host.address])
        for worker in asked:
            with contextlib.suppress(Exception):
                worker.future.result(timeout=END_S)

    def _end(self, patience_s: float) -> None:
        """Have the hosts release what they made, and remove what is on the drive here.

        Hosts that are gone are given up after ``patience_s``: the same command, or ``acidtest clean``, asks them again.
        """
        end = time.monotonic() + patience_s
        asked: dict[str, Any] = {}
        left = [worker for worker in self._workers if worker.failed is None or worker.gone_since is None]
        while True:
            try:
                there = {host.name: host for host in self._fleet.hosts()}
            except AcidtestError:  # nobody is left to be asked
                return
            for worker in list(left):
                host, future = there.get(worker.name), asked.get(worker.name)
                if host is None or host != worker.host:
                    asked.pop(worker.name, None)
                if host is None:
                    continue
                worker.host = host
                if worker.name not in asked:
                    asked[worker.name] = self._asked(worker, self._farewell(worker.name, worker.unheard))
                elif future is not None and future.done():
                    left.remove(worker)
            if not left or (time.monotonic() > end and not any(worker.name in asked for worker in left)):
                return
            if time.monotonic() > end + END_S:
                return
            self._fleet.start_missing()
            time.sleep(IDLE_POLL_S)


END_S = 60.0


def _has_another_run(worker: WorkingHost, reply: Mapping[str, Any]) -> str:
    return f"waiting for {worker.name}, which another run has (run {reply['busy']})"


def _seconds(recording: Recording) -> float:
    began, ended = map(datetime.fromisoformat, (recording.started_at, recording.ended_at))
    return (ended - began).total_seconds()
