"""Dask on a fleet: the scheduler and the workers, one a host, however they come to be there."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Scheduler
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.core import Status
from distributed.deploy.spec import SpecCluster
from distributed.deploy.subprocess import SubprocessWorker
from distributed.scheduler import KilledWorker
from distributed.security import Security
from distributed.utils import get_ip

from acidtest.errors import AcidtestError, BadInput, CellFailed, MachineLacks
from acidtest.fleet.spec import FleetSpec
from acidtest.words import counted

# What Dask raises for a task whose worker or scheduler has died.
GONE = (KilledWorker, CancelledError, FutureCancelledError, CommClosedError)
RESOURCE = "machine"  # of which each worker has one: who has it measures
POLL_S = 2.0
COME_S = 120.0  # for the first worker of each host
START_S = 120.0  # over ssh: to connect, and for the worker to say that it has started
SSH_OPTIONS = {"connect_timeout": 30, "login_timeout": 60, "keepalive_interval": 15}  # seconds; of asyncssh
LOOPBACK = "127.0.0.1"
QUIET_ADDRESS = f"{LOOPBACK}:0"
REMEDY = "pip install 'acidtest[fleet]'"


@dataclass(frozen=True)
class Host:
    """A machine of the fleet, and the worker on it."""

    name: str
    address: str  # of the worker


class Fleet:
    """Dask's client, and which hosts there are."""

    def __init__(self, spec: FleetSpec, client: Any, cluster: Any = None) -> None:
        self.spec, self.client = spec, client
        self._cluster = cluster  # Dask's, of workers that were started for this fleet
        self._is_starting = False
        self._names: dict[str, str] = {}  # of hosts, by the addresses of their workers

    def hosts(self) -> list[Host]:
        """Those whose worker is there now, by name; of several workers on one host the first.

        Raises BadInput for a worker that does not have the resource by which machines are leased, and AcidtestError
        where the scheduler is gone.
        """
        workers = self.workers()
        found: dict[str, Host] = {}
        for address in sorted(workers):
            worker = workers[address]
            if not worker.get("resources", {}).get(RESOURCE):
                raise BadInput(
                    f"{address}: this worker does not say that it has a machine to lease",
                    f"start it with: dask worker … --nthreads 1 --resources {RESOURCE}=1",
                )
            if address not in self._names:
                named = self.spec.means in ("ssh", "local")
                self._names[address] = str(worker["name"]) if named else self._named(address)
            name = self._names[address]
            found.setdefault(name, Host(name, address))
        return [found[name] for name in sorted(found)]

    def workers(self) -> dict[str, Any]:
        """What the scheduler says of each worker, by its address. Raises AcidtestError where the scheduler is gone."""
        self.check()
        try:
            # Client.scheduler_info() now and then has none of them: a clock of the client's own refreshes it without.
            identity: dict[str, Any] = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        except OSError:
            raise _without_scheduler() from None
        workers: dict[str, Any] = identity["workers"]
        return workers

    def check(self) -> None:
        """Raise AcidtestError where the scheduler is gone."""
        if self.client.status != "running":
            raise _without_scheduler()

    def start_missing(self) -> None:
        """Begin to start workers anew where those that were started for this fleet have ended; returns at once.

        A host that cannot be reached yet is tried again by the next call.
        """
        if self._cluster is None or self._is_starting:
            return
        self._is_starting = True
        self._cluster.loop.add_callback(self._start_missing)

    async def _start_missing(self) -> None:
        cluster = self._cluster
        for name, worker in list(cluster.workers.items()):
            if worker.status not in (Status.running, Status.closing):  # its start has failed
                del cluster.workers[name]
        with suppress(Exception):
            await cluster  # brings it to what was asked for: those that ended, which it has noticed, are started again
        self._is_starting = False

    def _named(self, address: str) -> str:
        """The name of the machine of a worker, as its scheduler of jobs knows it or else as it calls itself.

        The function travels whole: acidtest may not be there.
        """

        def identity() -> str:
            import os
            import socket

            names = (os.environ.get(key) for key in ("SLURMD_NODENAME", "NODE_NAME"))
            return next(filter(None, names), None) or socket.gethostname()

        return str(next(iter(self.client.run(identity, workers=[address]).values())))

    def run(self, function: Callable[..., Any], host: Host, *arguments: Any) -> Any:
        """The future of ``function`` on ``host``, alone there; the machine is leased for as long as it runs."""
        return self.client.submit(
            function,
            *arguments,
            workers=[host.address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
        )

    def beside(self, host: Host, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of ``function`` on ``host``, at once, beside a task that is at work there. It must not take long.

        Raises CellFailed where the host is gone.
        """
        try:
            return self.client.run(function, *arguments, workers=[host.address])[host.address]
        except (*GONE, OSError, KeyError, TimeoutError):
            raise CellFailed(f"{host.name}: is gone", "see why, and run the same command again") from None

    def awaited(self, host: Host, future: Any) -> Any:
        """The result of a task on ``host``. Raises CellFailed where the host is gone meanwhile."""
        while True:
            why = "its worker has ended"
            try:
                return future.result(timeout=POLL_S)
            except TimeoutError:
                if host in self.hosts():
                    continue
            except GONE as error:
                self.check()
                why = _first_line(error)
            raise CellFailed(f"{host.name}: is gone: {why}", "see why, and run the same command again")


def _without_scheduler() -> AcidtestError:
    return AcidtestError(
        "the scheduler of the fleet is gone, or cannot be reached any more",
        "start it again or repair the network, and run the same command again: it goes on",
    )


@contextmanager
def opened(spec: FleetSpec, where: Path) -> Iterator[Fleet]:
    """The fleet of the file ``where``, with a worker on each host; what was started for it ends afterwards.

    Raises MachineLacks without Dask, and AcidtestError where a host or scheduler cannot be reached.
    """
    for name in ("distributed", "asyncssh"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is told by the run
    with ExitStack() as held:
        try:
            scheduler, expected = _STARTED[spec.means](spec, held)
            client = held.enter_context(Client(scheduler, timeout=30, security=_security(spec), set_as_default=False))
        except ImportError as error:
            raise MachineLacks(f"{where}: {error.name or error} is not installed here", REMEDY) from None
        except (OSError, RuntimeError, TimeoutError) as error:
            raise AcidtestError(
                f"{where}: {_target(spec)} cannot be reached: {_first_line(error)}",
                "repair that, and run the same command again",
            ) from None
        except Exception as error:  # asyncssh's own have no common parent with a message for users
            raise AcidtestError(
                f"{where}: {_target(spec)}: {_first_line(error)}", "repair that, and run the same command again"
            ) from None
        fleet = Fleet(spec, client, None if isinstance(scheduler, str) else scheduler)
        _await(fleet, expected, where)
        yield fleet


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _target(spec: FleetSpec) -> str:
    return {"address": str(spec.address), "ssh": ", ".join(spec.ssh)}.get(spec.means, spec.means)


def _await(fleet: Fleet, expected: int, where: Path) -> None:
    # Jobs and pods wait for their turn; hosts that are named answer or do not.
    queued = fleet.spec.means in ("slurm", "kubernetes")
    come_s = max(COME_S, fleet.spec.patience_s) if queued else COME_S
    end = time.monotonic() + come_s
    while (came := len(fleet.workers())) < expected:
        if time.monotonic() > end:
            raise AcidtestError(
                f"{where}: {came} of {counted(expected, 'worker')} came within {come_s:.0f} s",
                "see what keeps the others, and run the same command again",
            )
        time.sleep(0.1)


def _security(spec: FleetSpec) -> Any:
    if spec.tls is None:
        return None
    files = spec.tls
    return Security(
        require_encryption=True,
        tls_ca_file=files.ca,
        tls_client_cert=files.cert, tls_client_key=files.key,
        tls_scheduler_cert=files.cert, tls_scheduler_key=files.key,
        tls_worker_cert=files.cert, tls_worker_key=files.key,
    )  # fmt: skip


def _of_address(spec: FleetSpec, held: ExitStack) -> tuple[Any, int]:
    return spec.address, spec.workers


def _worker_options(name: str, listen: str | None) -> dict[str, Any]:
    """``listen`` is the worker's own address; None: as Dask finds it. What Dask shows over HTTP stays on its host."""
    options = {
        "nthreads": 1, "resources": {RESOURCE: 1}, "name": name, "memory_limit": 0, "dashboard_address": QUIET_ADDRESS,
    }  # fmt: skip
    return options | ({"host": listen} if listen else {})


def _scheduler_options(spec: FleetSpec, host: str) -> dict[str, Any]:
    security = _security(spec)
    protocol = "tls" if security else "tcp"
    options = {
        "host": host,
        "port": 0,
        "protocol": f"{protocol}://",
        "dashboard": False,
        "dashboard_address": QUIET_ADDRESS,
    }
    return options | ({"security": security} if security else {})


def _started(held: ExitStack, workers: dict[str, Any], scheduler: dict[str, Any], spec: FleetSpec) -> Any:
    cluster = SpecCluster(
        workers=workers,
        scheduler={"cls": Scheduler, "options": scheduler},
        security=_security(spec),
        shutdown_on_close=True,
        silence_logs=False,
        name="acidtest",
    )
    held.callback(functools.partial(_close, cluster))
    return cluster


def _close(cluster: Any) -> None:
    with suppress(Exception):  # a host that is gone cannot be told to end
        cluster.close(timeout=30)


@contextmanager
def _in_environment(name: str, value: str) -> Iterator[None]:
    """Has processes that are started within find ``name``; one that the user has set stays."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _of_local(spec: FleetSpec, held: ExitStack) -> tuple[Any, int]:
    assert spec.local is not None
    names = [f"local-{number}" for number in range(1, spec.local + 1)]
    # Their processes share our standard error. It is in our environment only meanwhile: what a process of ours starts
    # over ssh later must say that it has started.
    held.enter_context(_in_environment("DASK_LOGGING__DISTRIBUTED", "critical"))
    # Each in a process of its own: Dask's LocalCluster would have them import the command's own script.
    workers = {
        name: {
            "cls": SubprocessWorker,
            "options": {
                "worker_class": "distributed.Nanny",
                "name": name,
                "worker_kwargs": _worker_options(name, LOOPBACK),
            },
        }
        for name in names
    }
    return _started(held, workers, _scheduler_options(spec, LOOPBACK), spec), len(names)


def _of_ssh(spec: FleetSpec, held: ExitStack) -> tuple[Any, int]:
    import asyncssh  # noqa: F401 - told of before anything is started
    from distributed.deploy.ssh import Worker

    class InTime(Worker):  # type: ignore[misc]
        """Which Dask takes for started when it reads so in what the worker logs, and waits for that without end."""

        proc: Any
        connection: Any

        async def start(self) -> None:
            try:
                await asyncio.wait_for(super().start(), START_S)
            except TimeoutError:
                if self.proc is not None:
                    self.proc.kill()
                if self.connection is not None:
                    self.connection.close()
                self.proc = self.connection = None
                raise TimeoutError(
                    f"{self.address}: its worker did not say within {START_S:.0f} s that it has started"
                ) from None

    # Those lines of the log are needed, whatever the user has set for Dask here, which is passed on to the hosts.
    held.enter_context(dask.config.set(logging={"distributed": "info"}))
    options = spec.ssh_options.model_dump(exclude_none=True, exclude={"client_keys"}) | SSH_OPTIONS
    if keys := spec.ssh_options.client_keys:
        options["client_keys"] = list(keys)
    workers = {
        name: {
            "cls": InTime,
            "options": {
                "address": name,
                "connect_options": dict(options),
                "kwargs": _worker_options(name, spec.of_host(name).listen),
                "worker_class": "distributed.Nanny",
                "remote_python": spec.of_host(name).python,
            },
        }
        for name in spec.ssh
    }
    listen = spec.listen or get_ip(spec.ssh[0], spec.ssh_options.port or 22)
    return _started(held, workers, _scheduler_options(spec, listen), spec), len(spec.ssh)


def _of_slurm(spec: FleetSpec, held: ExitStack) -> tuple[Any, int]:
    from dask_jobqueue import SLURMCluster

    slurm = spec.slurm
    assert slurm is not None
    given = {"queue": slurm.queue, "account": slurm.account, "interface": slurm.interface, "python": slurm.python}
    cluster = SLURMCluster(
        cores=slurm.cores,
        processes=1,
        memory=slurm.memory,
        walltime=slurm.walltime,
        nanny=True,
        job_extra_directives=list(slurm.directives),
        job_script_prologue=list(slurm.prologue),
        worker_extra_args=["--nthreads", "1", "--resources", f"{RESOURCE}=1", "--memory-limit", "0"],
        scheduler_options={"dashboard": False, "dashboard_address": QUIET_ADDRESS}
        | ({"host": spec.listen} if spec.listen else {}),
        silence_logs=logging.CRITICAL,
        security=_security(spec),
        **{name: value for name, value in given.items() if value is not None},
    )
    held.callback(functools.partial(_close, cluster))
    cluster.scale(jobs=slurm.machines)
    return cluster, slurm.machines


def _of_kubernetes(spec: FleetSpec, held: ExitStack) -> tuple[Any, int]:
    from dask_kubernetes.operator import KubeCluster

    wanted = spec.kubernetes
    assert wanted is not None
    cluster = KubeCluster(
        name="acidtest",
        image=wanted.image,
        namespace=wanted.namespace,
        n_workers=wanted.machines,
        worker_command=["dask", "worker", "--nthreads", "1", "--resources", f"{RESOURCE}=1"],
    )
    held.callback(functools.partial(_close, cluster))
    return cluster, wanted.machines


_STARTED: dict[str, Callable[[FleetSpec, ExitStack], tuple[Any, int]]] = {
    "address": _of_address,
    "ssh": _of_ssh,
    "slurm": _of_slurm,
    "kubernetes": _of_kubernetes,
    "local": _of_local,
}
