"""A load that comes from several hosts of a fleet at once, against one server.

One host leads a cell: it loads, checks, and puts the parts together. It is the host that has the server, where the
fleet's file names one, and else the first generator. The client brings the hosts together: it hears when each is ready,
measures their clocks, and names one moment at which all begin. If one of them cannot go on, the cell is over for all.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acidtest.conductor.conduct import RunOutcome
from acidtest.errors import AcidtestError, BadInput, CellFailed, not_among
from acidtest.fleet import host_client, tasks
from acidtest.fleet.cluster import Fleet, Host
from acidtest.fleet.conduct import FleetRun, Task, WorkingHost, conduct
from acidtest.fleet.host_client import answered
from acidtest.journal.protocol import Progress
from acidtest.plan import Plan
from acidtest.words import counted

# From when all are ready to when they begin: until each of them has heard.
LEAD_S = 1.0
LEAD_S_EACH = 0.02
ATTEMPTS = 3  # of one cell, before a host whose lab dies each time is given up


def conduct_together(fleet: Fleet, hosts: Sequence[Host], task: Task) -> RunOutcome:
    """As ``conduct``, with the load of each cell from as many hosts as the experiment says."""
    plan, where = task.plan, task.where
    _refuse_homeless(fleet, plan, where)
    chosen = chosen_of(fleet, hosts, plan.experiment.machines, where)
    if idle := [host.name for host in hosts if host not in chosen]:
        task.watcher.doubts([f"not needed: {', '.join(idle)}"])
    return conduct(fleet, chosen, task, _LoadRun)


def _refuse_homeless(fleet: Fleet, plan: Plan, where: Path) -> None:
    """Raise BadInput where acidtest is to start the server and the fleet does not say on which host."""
    made = dict.fromkeys(cell.engine for cell in plan.cells if cell.engine not in plan.experiment.servers)
    if made and fleet.spec.server is None:
        raise BadInput(
            f"{where}: load.machines: {', '.join(made)}: no host of the fleet is to have the server",
            'write server = "NAME" into the fleet\'s file: that host has the server, and drives no load',
        )


def chosen_of(fleet: Fleet, hosts: Sequence[Host], machines: int, where: Path) -> list[Host]:
    """The host that has the server, where the fleet's file names it, and then the generators.

    Raises BadInput where there are too few, or there is none of that name.
    """
    named = fleet.spec.server
    server = [host for host in hosts if host.name == named]
    if named is not None and not server:
        raise BadInput(f"server of the fleet: {not_among('host', named, [host.name for host in hosts])}")
    generators = [host for host in hosts if host not in server]
    if len(generators) < machines:
        beside = f" beside {named}, which has the server" if named else ""
        raise BadInput(
            f"{where}: load.machines = {machines}: the fleet has {counted(len(generators), 'host')}{beside}",
            "name more hosts in the fleet's file, or fewer machines",
        )
    return [*server, *generators[:machines]]


class _LoadRun(FleetRun):
    """One run over a fleet, in which all hosts work on one cell at a time."""

    def __init__(self, fleet: Fleet, *arguments: Any, **options: Any) -> None:
        super().__init__(fleet, *arguments, **options)
        self._leader, *_ = self._workers
        self._generators = [worker for worker in self._workers if worker.name != fleet.spec.server]
        self._attempt = 0
        self._is_abandoned = False
        self._ready: set[str] = set()
        self._brought: dict[str, str] = {}
        self._progress: dict[str, Progress] = {}
        self._deaths: dict[str, int] = {}  # of labs, by cell

    @property
    def _partners(self) -> list[WorkingHost]:
        return [worker for worker in self._generators if worker is not self._leader]

    def _is_over(self) -> bool:
        return not self._futures and (self._leader.is_done or any(worker.failed for worker in self._workers))

    def _hand_out(self) -> None:
        leader = self._leader
        if leader.is_done or any(worker.failed for worker in self._workers):
            return
        ready = [worker for worker in self._workers if self._is_ready(worker)]
        if len(ready) < len(self._workers):
            return
        if not leader.left:
            leader.left = [cell for cell in leader.queue.popleft() if cell.id in self._missing]
            if not leader.left:
                return
        self._attempt += 1
        self._is_abandoned = False
        self._ready, self._brought, self._progress = set(), {}, {}
        cells = [cell.id for cell in leader.left]
        request = {"do": "lead", "cells": cells, "acknowledged": leader.unheard, **self._place_of(leader)}
        self._ask(leader, "step", request)

    def _place_of(self, worker: WorkingHost) -> dict[str, Any]:
        """Which part is its own, in which attempt."""
        share = [self._generators.index(worker), len(self._generators)] if worker in self._generators else None
        address = urlsplit(worker.host.address).hostname
        return {"share": share, "attempt": self._attempt, "address": address}

    def _tell(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "share":
            if event["attempt"] == self._attempt and not self._is_abandoned:
                self._heard_of(event)
        elif event["event"] == "progress" and event["cell"] in self._cells:
            self._progressed(event)
        else:
            super()._tell(event)

    def _heard_of(self, event: Mapping[str, Any]) -> None:
        if event["what"] == "loaded":
            cell = self._leader.left[0].id
            for worker in self._partners:
                request = {"do": "generate", "cell": cell, "served": event["served"], **self._place_of(worker)}
                self._ask(worker, "generate", request)
            return
        self._ready.add(event["host"])
        if len(self._ready) == len(self._workers):
            try:
                self._go()
            except CellFailed as error:
                self._abandon(error.message)

    def _go(self) -> None:
        """Name the moment at which all begin, to each by its own clock."""
        clocks = {worker.name: host_client.clock_beside(self._fleet, worker.host) for worker in self._workers}
        at_s = time.time() + LEAD_S + LEAD_S_EACH * len(self._workers)
        for worker in self._workers:
            clock = clocks[worker.name]
            self._say(
                worker,
                "go",
                at_ns=int((at_s + clock.offset_s) * 1e9),
                clock_offset_s=clock.offset_s,
                clock_error_s=clock.error_s,
            )

    def _say(self, worker: WorkingHost, what: str, **fields: Any) -> None:
        text = json.dumps({"do": what, "attempt": self._attempt, **fields})
        self._fleet.beside(worker.host, tasks.say, self._run, text)

    def _abandon(self, why: str) -> None:
        """The cell is over for all hosts that are still at work on it, as if it had not begun."""
        if self._is_abandoned:
            return
        self._is_abandoned = True
        for worker in self._workers:
            if worker.future is not None and worker.does in ("step", "generate"):
                with contextlib.suppress(CellFailed):  # who is gone hears nothing, and is missed
                    self._say(worker, "abandon", why=why)

    def _progressed(self, event: Mapping[str, Any]) -> None:
        """The progress of all together, told when the first generator tells its own."""
        progress = Progress.model_validate(event["progress"])
        self._progress[event["host"]] = progress
        if progress.phase in ("load", "check"):
            self._watcher.progress(self._cells[event["cell"]], progress)
        elif event["host"] == self._generators[0].name:
            of = self._progress.values()
            sums = {"done": sum(one.done for one in of), "rate_per_s": sum(one.rate_per_s for one in of)}
            self._watcher.progress(self._cells[event["cell"]], progress.model_copy(update=sums))

    def _gone(self, worker: WorkingHost) -> None:
        super()._gone(worker)
        self._abandon(f"{worker.name} is gone")

    def _ended(self, worker: WorkingHost, future: Any) -> None:
        if worker.does not in ("step", "generate"):
            super()._ended(worker, future)
            return
        try:
            reply = json.loads(self._fleet.awaited(worker.host, future))
        except CellFailed:
            self._gone(worker)
            return
        if "died" in reply and self._may_come_again():
            self._gone(worker)
            return
        if "busy" in reply:
            super()._ended(worker, future)
            return
        if reply.get("answer", {}).get("abandoned"):
            self._abandon(f"{worker.name} gave up")
            worker.give_back()
            return
        if worker.does == "step":
            super()._ended(worker, future)
            self._abandon(f"{worker.name} has ended the cell")
            return
        self._generated(worker, reply)

    def _may_come_again(self) -> bool:
        cell = self._leader.left[0].id if self._leader.left else ""
        self._deaths[cell] = self._deaths.get(cell, 0) + 1
        return self._deaths[cell] < ATTEMPTS

    def _generated(self, worker: WorkingHost, reply: Mapping[str, Any]) -> None:
        """A part has come, or it will not come."""
        if self._is_abandoned:
            return
        try:
            self._brought[worker.name] = answered(worker.host, reply)["brought"]
            if len(self._brought) == len(self._partners):
                self._say(self._leader, "parts", parts=[self._brought[worker.name] for worker in self._partners])
        except AcidtestError as error:
            with contextlib.suppress(CellFailed):
                self._say(self._leader, "fail", why=error.message)
            for other in self._partners:
                if other.future is not None:
                    with contextlib.suppress(CellFailed):
                        self._say(other, "abandon", why=error.message)
