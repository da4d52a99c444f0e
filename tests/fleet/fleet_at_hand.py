"""A fleet without Dask and ssh: the client and the labs are the real ones, and function calls stand between them.

A host is a home, a lease and a worker, whose labs are forked from one process that has imported them already. A task is
carried out at once, when it is handed out, so that the same happens at the same moment every time. ``happens`` is
called in place of one task, by its number; see ``DEATHS``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any
from unittest import mock

import forked_lab
from distributed.comm import CommClosedError
from distributed.protocol.pickle import dumps, loads

from acidtest.fleet import cluster, conduct, tasks
from acidtest.fleet.cluster import RESOURCE, Fleet
from acidtest.fleet.spec import FleetSpec

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["acidtest.fleet.lab"])


class ForkedLab(tasks._Lab):
    """As a worker's lab, forked in place of started."""

    dies = False  # when it gets its next request

    def __init__(self, machine: Machine, home: str | None) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
        environment = os.environ | {"ACIDTEST_HOME": str(home), "ACIDTEST_LEASE": str(machine.lease)}
        files = [DupFd(one) for one in (theirs_in, theirs_out, self._said.fileno())]
        forked = _forks.Process(
            target=forked_lab.run, args=(files, environment, machine.files), kwargs={"is_root": machine.is_root}
        )
        forked.start()
        os.close(theirs_in)
        os.close(theirs_out)
        self._process = _Process(forked, os.fdopen(ours_out, "w"), os.fdopen(ours_in))

    def ask(self, request: str, heard: str) -> str:
        if self.dies:
            self.kill()
        return super().ask(request, heard)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """As when its worker has ended: nobody will say anything more."""
        with suppress(BrokenPipeError):  # it has died
            self._process.stdin.close()


class _Process:
    """What of ``subprocess.Popen`` a worker's lab needs."""

    def __init__(self, forked: Any, stdin: Any, stdout: Any) -> None:
        self._forked, self.stdin, self.stdout = forked, stdin, stdout
        self.pid = forked.pid
        self.terminate, self.kill = forked.terminate, forked.kill

    def poll(self) -> int | None:
        return self._forked.exitcode

    def wait(self) -> int:
        self._forked.join()
        return self._forked.exitcode


class Machine:
    """A host, as the worker there sees it. ``seen`` has what is different there: contexts, entered for each task."""

    is_root = comes_back = True

    def __init__(self, name: str, home: Path) -> None:
        self.name, self.home = name, home
        self.labs: dict[str, ForkedLab] = {}
        self.is_there, self.started = True, 1
        self.seen: list[Callable[[], AbstractContextManager[Any]]] = []
        self.files: dict[Path, Path] = {}  # which another one is there in place of, by their paths
        self.lease = home / "lease"
        home.mkdir(parents=True)
        (home / "engines").symlink_to((Path(os.environ["ACIDTEST_HOME"]) / "engines").resolve())

    @property
    def address(self) -> str:
        return f"tcp://{self.name}:{self.started}"

    @contextmanager
    def within(self, worker: Any) -> Iterator[None]:
        with ExitStack() as held:
            for name, value in (
                ("_labs", self.labs),
                ("_Lab", partial(ForkedLab, self)),
                ("get_worker", lambda: worker),
            ):
                held.enter_context(mock.patch.object(tasks, name, value))
            for enter in self.seen:
                held.enter_context(enter())
            yield

    def worker_dies(self) -> None:
        """Its labs hear that it has ended; it comes again when it is started anew."""
        for lab in self.labs.values():
            lab.leave()
        self.labs, self.is_there = {}, False

    def power_fails(self) -> None:
        for lab in self.labs.values():
            lab.kill()
        self.worker_dies()

    def left(self) -> list[str]:
        return [str(path) for name in ("ledger/*.jsonl", "fleet/*") for path in self.home.glob(name)]


class Died(BaseException):
    """The client is killed."""


class Hands:
    """What of Dask's client a fleet uses."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.machines = machines
        self.status = "running"
        self.scheduler = mock.Mock()
        self.asked: list[str] = []  # what labs were asked
        self.happens: dict[int, Death] = {}  # in place of the task of this number, of those
        self._listening: dict[str, Callable[[Any], None]] = {}

    def fleet(self, path: Path, more: str = "", **tables: str) -> Path:
        """A fleet's file of all of them; ``tables`` has further lines of the table of a host, by its name."""
        names = [machine.name for machine in self.machines]
        text = f"ssh = {names}\npatience_s = 1\n{more}\n"
        for machine in self.machines:
            text += f'[hosts.{machine.name}]\nhome = "{machine.home}"\n{tables.get(machine.name, "")}\n'
        path.write_text(text)
        return path

    def submit(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str], **options: Any) -> Any:
        machine = self._at(workers[0])
        future: Future[Any] = Future()
        happens = None
        if function is tasks.ask:
            self.asked.append(f"{machine.name}: {json.loads(arguments[-1])['do']}")
            happens = self.happens.pop(len(self.asked), None)
        carry_out = partial(self._on, machine, function, *arguments)
        try:
            future.set_result(happens(self, machine, carry_out) if happens else carry_out())
        except CommClosedError as error:
            future.set_exception(error)
        return future

    def run(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str]) -> dict[str, Any]:
        return {address: self._on(self._at(address), function, *arguments) for address in workers}

    def sync(self, function: Any, **options: Any) -> dict[str, Any]:
        there = [machine for machine in self.machines if machine.is_there]
        return {"workers": {machine.address: {"name": machine.name, "resources": {RESOURCE: 1}} for machine in there}}

    def scatter(self, content: bytes) -> bytes:
        return content

    def subscribe_topic(self, topic: str, heard: Callable[[Any], None]) -> None:
        self._listening[topic] = heard

    def unsubscribe_topic(self, topic: str) -> None:
        del self._listening[topic]

    def log_event(self, topic: str, event: Any) -> None:
        if topic in self._listening:
            self._listening[topic]((time.time(), event))

    def end(self) -> None:
        """All that it started ends; labs release what they have made."""
        self.status = "closed"
        for machine in self.machines:
            machine.worker_dies()

    def _at(self, address: str) -> Machine:
        return next(machine for machine in self.machines if machine.address == address)

    def _on(self, machine: Machine, function: Callable[..., Any], *arguments: Any) -> Any:
        if not machine.is_there:
            raise CommClosedError("nobody is there")
        travels = dumps(function)
        with machine.within(self):
            return loads(travels)(*arguments)


class FleetAtHand(Fleet):
    """Its workers come again when they are started."""

    def start_missing(self) -> None:
        for machine in self.client.machines:
            if machine.comes_back and not machine.is_there:
                machine.is_there, machine.started = True, machine.started + 1


@contextmanager
def at_hand(machines: Sequence[Machine]) -> Iterator[Hands]:
    """Commands in this process that open a fleet find these machines."""
    hands = Hands(machines)

    @contextmanager
    def opened(spec: FleetSpec, where: Path) -> Iterator[Fleet]:
        assert spec.ssh == tuple(machine.name for machine in machines)
        for machine in machines:
            machine.is_there = True
        hands.status = "running"
        try:
            yield FleetAtHand(spec, hands)
        finally:
            hands.end()

    with ExitStack() as held:
        held.enter_context(mock.patch.object(cluster, "opened", opened))
        for module, name in ((conduct, "POLL_S"), (conduct, "BUSY_POLL_S"), (conduct, "IDLE_POLL_S")):
            held.enter_context(mock.patch.object(module, name, 0.01))
        yield hands


Death = Callable[[Hands, Machine, Callable[[], str]], str]
DEAD = json.dumps({"died": -9, "said": ""})


def client_dies(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    carry_out()
    hands.end()
    raise Died


def client_is_stopped(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    raise KeyboardInterrupt


def lab_dies(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    for lab in machine.labs.values():
        lab.dies = True
    return carry_out()


def lab_dies_with_its_answer(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    carry_out()
    for lab in machine.labs.values():
        lab.kill()
    return DEAD


def worker_dies(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    machine.worker_dies()
    return carry_out()


def worker_dies_with_its_answer(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    carry_out()
    machine.worker_dies()
    raise CommClosedError("the worker has ended")


def power_fails(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    machine.power_fails()
    return carry_out()


def another_run_has_it(hands: Hands, machine: Machine, carry_out: Callable[[], str]) -> str:
    """One that was quicker when the lab had ended."""
    for lab in machine.labs.values():
        lab.leave()
        lab._process.wait()
    return json.dumps({"busy": "another"})


DEATHS: Sequence[Death] = (
    client_is_stopped, another_run_has_it, worker_dies, power_fails, lab_dies, lab_dies_with_its_answer,
    worker_dies_with_its_answer, client_dies,
)  # fmt: skip
