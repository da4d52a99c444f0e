"""The load of a cell from several hosts at once: what comes together is what one machine would have brought."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import experiment as experiment_
from acidtest import fleet, plan
from acidtest.cli.report import render
from acidtest.engine import Engine, Instance, catalogue
from acidtest.engine.firebird.target import FirebirdTarget
from acidtest.engine.mysql.target import MysqlTarget
from acidtest.engine.postgres.target import PostgresTarget
from acidtest.fleet import cluster, load
from acidtest.journal import reader
from acidtest.journal.models import Recording, Scalar
from acidtest.journal.protocol import Progress
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from hosts import SshHost, SshHosts, ssh_hosts
from support import ACIDTEST

FAMILIES = ("postgresql-15", "mariadb-10.11", "firebird-4.0-server")


class Served:
    """A server that plays the user's own."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        target = instance.target()
        assert isinstance(target, PostgresTarget | MysqlTarget | FirebirdTarget)
        self.family = {"postgres": "postgresql"}.get(target.engine, target.engine)
        at = target.remote if isinstance(target, FirebirdTarget) else target
        assert at is not None
        self.user, self.database = target.user, target.database
        self.host, self.port, self.password = at.host, at.port, str(at.password)

    def url(self, host: str = "", port: int = 0) -> str:
        at = f"{host or self.host}:{port or self.port}"
        return f"{self.family}://{self.user}:{self.password}@{at}/{self.database}"


@contextmanager
def served(name: str, sealed: Callable[[Engine], list[Path]], directory: Path, ledger: Ledger) -> Iterator[Served]:
    engine = catalogue.find(name)
    settings: dict[str, Scalar] = {} if engine.family == "firebird" else {"connection": "tcp"}
    directory.mkdir()
    for path in sealed(engine):
        copy_tree(path, directory / path.name)
    instance = engine.adopt(directory, settings, "drive")
    instance.start(ledger)
    try:
        yield Served(instance)
    finally:
        instance.release()


@pytest.fixture(params=FAMILIES)
def server(
    request: pytest.FixtureRequest,
    engines_installed: None,
    sealed: Callable[[Engine], list[Path]],
    tmp_path: Path,
    ledger: Ledger,
) -> Iterator[Served]:
    with served(request.param, sealed, tmp_path / "own", ledger) as one:
        yield one


def experiment(tmp_path: Path, url: str, workload: str, *, machines: int = 2, more: str = "") -> Path:
    path = tmp_path / "e.toml"
    path.write_text(
        f'name = "together"\nrepetitions = 1\nengine = "mine"\ndurability = "drive"\n[load]\nmachines = {machines}\n'
        f'{workload}\n[servers.mine]\nurl = "{url}"\n{more}'
    )
    return path


def local(tmp_path: Path, workers: int, more: str = "") -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(f"local = {workers}\n{more}")
    return path


def run(tmp_path: Path, experiment: Path, fleet: Path, *more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ACIDTEST_LEASE": str(tmp_path / "lease"), "COLUMNS": "140"}
    command = [ACIDTEST, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out", *more]
    return subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False, timeout=500
    )


def recordings(tmp_path: Path) -> list[Recording]:
    return reader.read(tmp_path / "out" / "journal.jsonl").recordings


def test_counts_conditions_and_histogram_are_those_of_all(tmp_path: Path, server: Served) -> None:
    workload = "[workload.tpcb]\nterminals = 5\nwarmup_s = 1\nduration_s = 3\nrate_per_s = 60\n"
    ran = run(tmp_path, experiment(tmp_path, server.url(), workload), local(tmp_path, 2))
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    (recording,) = recordings(tmp_path)
    result = recording.result
    assert result is not None
    assert [(one.host, one.terminals) for one in recording.generators] == [("local-1", 3), ("local-2", 2)]
    assert result.terminals == 5
    assert result.counts.committed == sum(one.committed for one in recording.generators) > 0
    assert all(one.committed for one in recording.generators)
    assert result.latency.count == sum(count for _, count in result.latency.buckets) == result.counts.committed
    # Each condition holds, with all that was acknowledged to both, the warm-up included.
    assert recording.checks_after is not None
    assert all(one.holds for one in recording.checks_after.conditions)
    (history,) = [one for one in recording.checks_after.conditions if "acknowledged" in one.detail]
    rows, acknowledged = map(int, re.findall(r"\d+", history.detail)[:2])
    assert rows == acknowledged == sum(one.committed for one in result.series)
    assert result.arrivals is not None
    assert result.arrivals.scheduled == result.counts.committed + result.arrivals.unfinished + result.counts.given_up


def test_a_closed_loop_with_classes_and_kinds(tmp_path: Path, server: Served) -> None:
    workload = """[workload.tpcc]
warehouse_percent = 10
warmup_s = 0.5
duration_s = 3
[[workload.tpcc.classes]]
name = "few"
terminals = 1
[[workload.tpcc.classes]]
name = "many"
terminals = 4
"""
    ran = run(tmp_path, experiment(tmp_path, server.url(), workload), local(tmp_path, 2))
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    (recording,) = recordings(tmp_path)
    result = recording.result
    assert result is not None
    assert [(one.name, one.terminals) for one in result.classes] == [("few", 1), ("many", 4)]
    # Deliveries are worked off by workers, who belong to no class.
    (deliveries,) = [kind.committed for kind in result.kinds if kind.name == "delivery"]
    of_classes = sum(one.tally.counts.committed for one in result.classes)
    assert of_classes + deliveries == result.counts.committed
    assert sum(kind.committed for kind in result.kinds) == result.counts.committed
    assert recording.checks_after is not None
    assert all(one.holds for one in recording.checks_after.conditions)


# ------------------------------------------------------------------------------------- hosts of their own


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    with ssh_hosts(tmp_path_factory.mktemp("hosts"), 3) as made:
        yield made


@pytest.fixture
def reached(
    engines_installed: None,
    sealed: Callable[[Engine], list[Path]],
    tmp_path: Path,
    ledger: Ledger,
    hosts: SshHosts,
) -> Iterator[str]:
    """The URL of a server that all hosts reach."""
    with (
        served("postgresql-15", sealed, tmp_path / "own", ledger) as one,
        passed_on(hosts.listen, (one.host, one.port)) as port,
    ):
        yield one.url(hosts.listen, port)


@contextmanager
def passed_on(address: str, to: tuple[str, int]) -> Iterator[int]:
    """A port at ``address`` that passes what it gets on to a server of ours, which listens on the loopback alone."""
    listening = socket.create_server((address, 0))

    def pump(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while chunk := one.recv(1 << 16):
                other.sendall(chunk)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection(to)
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


OPEN = "[workload.tpcb]\nterminals = 6\nwarmup_s = 1\nduration_s = 6\nrate_per_s = 20\n"


def drive(
    tmp_path: Path,
    hosts: SshHosts,
    url: str,
    heard: Callable[[SshHost, Progress], None] = lambda host, event: None,
    *,
    more: str = "",
    retry_failed: bool = False,
) -> Recording:
    """Run the experiment from two hosts, ``heard`` being called with the second one's and each progress of its run."""
    file = hosts.fleet(tmp_path / "fleet.toml", more)
    where = experiment(tmp_path, url, OPEN)
    spec = fleet.read(file)
    with cluster.opened(spec, file) as machines:
        there = machines.hosts()
        chosen = load.chosen_of(machines, there, 2, where)
        second = next(host for host in hosts.hosts if host.address == chosen[-1].name)

        def progress(cell: plan.Cell, event: Progress) -> None:
            if event.phase == "run":
                heard(second, event)

        made = plan.make(experiment_.read(where))
        watcher = Mock(progress=progress)
        load.run(machines, there, made, where, tmp_path / "out", watcher, retry_failed=retry_failed)
    nothing_left(hosts)
    (recording,) = recordings(tmp_path)
    return recording


def nothing_left(hosts: SshHosts) -> None:
    end = time.monotonic() + 90
    while left := [one for host in hosts.hosts for one in (*host.left(), *map(str, host.find("acidtest")))]:
        assert time.monotonic() < end, left
        time.sleep(0.1)


def rig_of(host: SshHost) -> int:
    (pid,) = host.find("acidtest-rig jobs")
    return pid


def test_the_host_of_the_server_leads_and_is_watched(tmp_path: Path, hosts: SshHosts, reached: str) -> None:
    server = hosts.hosts[0]
    recording = drive(tmp_path, hosts, reached, more=f'server = "{server.address}"')
    assert recording.status == "done", recording.reason
    assert recording.host == server.address
    others = sorted(host.address for host in hosts.hosts[1:])
    assert [one.host for one in recording.generators] == others
    assert recording.server_host is not None
    assert recording.server_host.host == server.address
    assert len(recording.server_host.samples) >= 3
    assert all(0 <= one.busy <= 1 and one.available_bytes > 0 for one in recording.server_host.samples)
    # One machine's clock: what is measured of it is right within its error.
    assert all(abs(one.clock_offset_s) <= one.clock_error_s + 0.001 for one in recording.generators)


SHIPPED = Path(__file__).parents[2] / "experiments" / "load-from-many.toml"
MARIADB = """name = "apart"
repetitions = 1
engine = "mariadb-10.11"
durability = "drive"
[load]
machines = 2
[workload.tpcb]
terminals = 4
warmup_s = 0.5
duration_s = 3
[settings.mysql]
connection = "tcp"
"""


@pytest.mark.parametrize("shipped", [True, False], ids=["postgresql-15", "mariadb-10.11"])
def test_a_server_that_acidtest_starts_on_a_host_of_its_own(
    tmp_path: Path, hosts: SshHosts, engines_installed: None, shipped: bool
) -> None:
    server = hosts.hosts[0]
    file = hosts.fleet(tmp_path / "fleet.toml", f'server = "{server.address}"')
    where, more = SHIPPED, ["--quick"]
    if not shipped:
        where, more = tmp_path / "e.toml", []
        where.write_text(MARIADB)
    ran = run(tmp_path, where, file, *more)
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    (recording,) = recordings(tmp_path)
    assert recording.status == "done", recording.reason
    assert recording.host == server.address
    assert [one.host for one in recording.generators] == sorted(host.address for host in hosts.hosts[1:])
    assert recording.result is not None
    assert recording.result.counts.committed == sum(one.committed for one in recording.generators) > 0
    assert recording.checks_after is not None
    assert all(one.holds for one in recording.checks_after.conditions)
    assert recording.server_host is not None
    settings = {one.name: one for one in recording.settings}
    assert settings["connection"].in_force == "tcp"
    assert "Machines of the load" in ran.stdout
    assert f"the server's machine {server.address}" in " ".join(ran.stdout.split())
    nothing_left(hosts)


def test_a_generator_that_is_late_is_named(tmp_path: Path, hosts: SshHosts, reached: str) -> None:
    stopped: list[int] = []
    news = 0

    def stop_for_two_news(second: SshHost, event: Progress) -> None:
        nonlocal news
        if not stopped:
            stopped.append(rig_of(second))
            os.kill(stopped[0], signal.SIGSTOP)
        elif (news := news + 1) == 2:
            os.kill(stopped[0], signal.SIGCONT)

    recording = drive(tmp_path, hosts, reached, stop_for_two_news)
    assert news >= 2
    assert recording.status == "done", recording.reason
    _, second = recording.generators
    assert second.stood_still_ms_max > 900
    rendered = render(tmp_path / "out", waivers={})
    late = [one for one in rendered.results.findings if one.rule.name == "generator-late"]
    assert any(f"{second.host} stood still" in one.advice for one in late)
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"the slowest of the machines was {second.host}" in page


def test_a_generator_that_dies_fails_the_cell_as_a_whole(tmp_path: Path, hosts: SshHosts, reached: str) -> None:
    killed: list[int] = []

    def kill_once(second: SshHost, event: Progress) -> None:
        if not killed:
            killed.append(rig_of(second))
            os.kill(killed[0], signal.SIGKILL)

    recording = drive(tmp_path, hosts, reached, kill_once)
    assert recording.status == "failed"
    assert re.search(r"^198\S+: .*killed by signal 9", str(recording.reason)), recording.reason
    assert recording.result is None
    recording = drive(tmp_path, hosts, reached, retry_failed=True)
    assert recording.status == "done", recording.reason


@pytest.mark.parametrize("what", ["acidtest.fleet.lab", "spawn_main"])
def test_a_cell_is_run_again_when_the_lab_or_the_worker_of_a_generator_dies(
    tmp_path: Path, hosts: SshHosts, reached: str, what: str
) -> None:
    killed: list[int] = []

    def kill_once(second: SshHost, event: Progress) -> None:
        if not killed:
            killed.extend(second.find(what))
            assert killed
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    recording = drive(tmp_path, hosts, reached, kill_once)
    assert killed
    assert recording.status == "done", recording.reason
    assert len(recording.generators) == 2
