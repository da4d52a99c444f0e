"""The load of a cell from several hosts at once: what comes together is what one machine would have brought."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import experiment as experiment_
from acidtest import plan
from acidtest.cli.report import render
from acidtest.engine import Engine, Instance, catalogue
from acidtest.engine.firebird.engine import FirebirdTarget
from acidtest.engine.mysql.instance import MysqlTarget
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.fleet import cluster, load
from acidtest.fleet.cluster import Fleet
from acidtest.fleet.conduct import Task
from acidtest.fleet.spec import read
from acidtest.journal import reader
from acidtest.journal.models import Recording, Scalar
from acidtest.journal.protocol import Progress
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from hosts import SshHost, SshHosts, ssh_hosts
from support import command

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


def experiment(tmp_path: Path, url: str, workload: str, *, machines: int = 2, more: str = "") -> Path:
    path = tmp_path / "e.toml"
    path.write_text(
        f'name = "together"\nrepetitions = 1\nengine = "mine"\ndurability = "drive"\n[load]\nmachines = {machines}\n'
        f'{workload}\n[servers.mine]\nurl = "{url}"\n{more}'
    )
    return path


def recordings(tmp_path: Path) -> list[Recording]:
    return reader.read(tmp_path / "out" / "journal.jsonl").recordings


def run(machines: Fleet, where: Path, out: Path, watcher: Mock, *, retry_failed: bool = False) -> None:
    made = plan.make(experiment_.read(where))
    task = Task.of_run(made, where, out, watcher, retry_failed=retry_failed)
    load.conduct_together(machines, machines.hosts(), task)


WORKLOADS = """[workload.tpcb]
terminals = 5
warmup_s = 0.5
duration_s = 2
rate_per_s = 60
[workload.tpcc]
warehouse_percent = 10
warmup_s = 0.5
duration_s = 2
[[workload.tpcc.classes]]
name = "few"
terminals = 1
[[workload.tpcc.classes]]
name = "many"
terminals = 4
"""


@pytest.fixture(scope="module")
def workers_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("here")
    file = directory / "fleet.toml"
    file.write_text("local = 2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACIDTEST_LEASE", str(directory / "lease"))
        with cluster.opened(read(file), file) as machines:
            yield machines


@pytest.mark.sampled(1)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_comes_together_is_what_one_machine_would_have_brought(
    tmp_path: Path,
    workers_here: Fleet,
    engines_installed: None,
    sealed: Callable[[Engine], list[Path]],
    ledger: Ledger,
    family: str,
) -> None:
    """Counts, conditions and histogram of an open loop; classes and kinds of a closed one."""
    with served(family, sealed, tmp_path / "own", ledger) as server:
        run(workers_here, experiment(tmp_path, server.url(), WORKLOADS), tmp_path / "out", Mock())
    opened, closed = sorted(recordings(tmp_path), key=lambda recording: str(recording.workload["name"]))
    result = opened.result
    assert result is not None, opened.reason
    assert [(generator.host, generator.terminals) for generator in opened.generators] == [
        ("local-1", 3),
        ("local-2", 2),
    ]
    assert result.terminals == 5
    assert result.counts.committed == sum(generator.committed for generator in opened.generators) > 0
    assert all(generator.committed for generator in opened.generators)
    assert result.latency.count == sum(count for _, count in result.latency.buckets) == result.counts.committed
    # Each condition holds, with all that was acknowledged to both, the warm-up included.
    assert opened.checks_after is not None
    assert all(condition.holds for condition in opened.checks_after.conditions)
    (history,) = [condition for condition in opened.checks_after.conditions if "acknowledged" in condition.detail]
    rows, acknowledged = map(int, re.findall(r"\d+", history.detail)[:2])
    assert rows == acknowledged == sum(one.committed for one in result.series)
    assert result.arrivals is not None
    assert result.arrivals.scheduled == result.counts.committed + result.arrivals.unfinished + result.counts.given_up

    result = closed.result
    assert result is not None, closed.reason
    assert [(class_.name, class_.terminals) for class_ in result.classes] == [("few", 1), ("many", 4)]
    # Deliveries are worked off by workers, who belong to no class.
    (deliveries,) = [kind.committed for kind in result.kinds if kind.name == "delivery"]
    of_classes = sum(class_.tally.counts.committed for class_ in result.classes)
    assert of_classes + deliveries == result.counts.committed
    assert sum(kind.committed for kind in result.kinds) == result.counts.committed
    assert closed.checks_after is not None
    assert all(condition.holds for condition in closed.checks_after.conditions)


# ------------------------------------------------------------------------------------- hosts of their own


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    with ssh_hosts(tmp_path_factory.mktemp("hosts"), 3) as made:
        yield made


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, hosts: SshHosts) -> Iterator[Fleet]:
    file = hosts.fleet(tmp_path_factory.mktemp("fleet") / "fleet.toml")
    with cluster.opened(read(file), file) as machines:
        yield machines


@pytest.fixture
def together(workers: Fleet, hosts: SshHosts) -> Iterator[Fleet]:
    """These hosts, all of them there, and none of acidtest's there afterwards."""
    end = time.monotonic() + 120
    while len(workers.hosts()) < len(hosts.hosts):
        assert time.monotonic() < end
        workers.start_missing()
        time.sleep(0.1)
    yield workers
    for host in hosts.hosts:
        for pid in at_work(host):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


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


def with_server(machines: Fleet, name: str) -> Fleet:
    """The same workers, where the fleet's file says that this host has the server."""
    return Fleet(machines.spec.model_copy(update={"server": name}), machines.client, machines._cluster)


def drive(
    tmp_path: Path,
    machines: Fleet,
    hosts: SshHosts,
    url: str,
    heard: Callable[[SshHost, Progress], None],
    *,
    retry_failed: bool = False,
) -> Recording:
    """Run the experiment from two hosts, ``heard`` being called with the second one's and each progress of its run."""
    where = experiment(tmp_path, url, OPEN)
    chosen = load.chosen_of(machines, machines.hosts(), 2, where)
    second = next(host for host in hosts.hosts if host.address == chosen[-1].name)

    def progress(cell: plan.Cell, event: Progress) -> None:
        if event.phase == "run":
            heard(second, event)

    run(machines, where, tmp_path / "out", Mock(progress=progress), retry_failed=retry_failed)
    nothing_left(hosts)
    (recording,) = recordings(tmp_path)
    return recording


def at_work(host: SshHost) -> list[int]:
    """Labs and rigs: the workers stay."""
    return host.find("acidtest.fleet.lab") + host.find("acidtest-rig")


def nothing_left(hosts: SshHosts) -> None:
    end = time.monotonic() + 90
    while left := [one for host in hosts.hosts for one in (*host.left(), *map(str, at_work(host)))]:
        assert time.monotonic() < end, left
        time.sleep(0.1)


def rig_of(host: SshHost) -> int:
    (pid,) = host.find("acidtest-rig jobs")
    return pid


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


@pytest.mark.parametrize("shipped", [True, pytest.param(False, marks=pytest.mark.long)], ids=["postgresql", "mariadb"])
def test_a_server_that_acidtest_starts_on_a_host_of_its_own(
    tmp_path: Path,
    together: Fleet,
    hosts: SshHosts,
    engines_installed: None,
    shipped: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = hosts.hosts[0]
    file = hosts.fleet(tmp_path / "fleet.toml", f'server = "{server.address}"')
    where, more = SHIPPED, ["--quick"]
    if not shipped:
        where, more = tmp_path / "e.toml", []
        where.write_text(MARIADB)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(cluster, "opened", lambda spec, where: nullcontext(with_server(together, spec.server)))
    code = command("run", where, "--fleet", file, "--out", tmp_path / "out", *more)
    told, complaints = capsys.readouterr()
    assert code == 0, (told, complaints)
    (recording,) = recordings(tmp_path)
    assert recording.status == "done", recording.reason
    assert recording.host == server.address
    assert [generator.host for generator in recording.generators] == sorted(host.address for host in hosts.hosts[1:])
    assert recording.result is not None
    assert recording.result.counts.committed == sum(generator.committed for generator in recording.generators) > 0
    assert recording.checks_after is not None
    assert all(condition.holds for condition in recording.checks_after.conditions)
    assert recording.server_host is not None
    settings = {setting.name: setting for setting in recording.settings}
    assert settings["connection"].in_force == "tcp"
    assert "Machines of the load" in told
    assert f"the server's machine {server.address}" in " ".join(told.split())
    nothing_left(hosts)


def test_the_host_of_the_server_leads_and_is_watched_and_a_generator_that_is_late_is_named(
    tmp_path: Path, together: Fleet, hosts: SshHosts, reached: str
) -> None:
    server = hosts.hosts[0]
    stopped: list[int] = []
    news = 0

    def stop_for_two_news(second: SshHost, event: Progress) -> None:
        nonlocal news
        if not stopped:
            stopped.append(rig_of(second))
            os.kill(stopped[0], signal.SIGSTOP)
        elif (news := news + 1) == 2:
            os.kill(stopped[0], signal.SIGCONT)

    recording = drive(tmp_path, with_server(together, server.address), hosts, reached, stop_for_two_news)
    assert recording.status == "done", recording.reason
    assert recording.host == server.address
    others = sorted(host.address for host in hosts.hosts[1:])
    assert [generator.host for generator in recording.generators] == others
    assert recording.server_host is not None
    assert recording.server_host.host == server.address
    assert len(recording.server_host.samples) >= 3
    assert all(0 <= sample.busy <= 1 and sample.available_bytes > 0 for sample in recording.server_host.samples)
    # One machine's clock: what is measured of it is right within its error.
    assert all(abs(generator.clock_offset_s) <= generator.clock_error_s + 0.001 for generator in recording.generators)
    assert news >= 2
    _, second = recording.generators
    assert second.stood_still_ms_max > 900
    rendered = render(tmp_path / "out", waivers={})
    late = [finding for finding in rendered.results.findings if finding.rule.name == "generator-late"]
    assert any(f"{second.host} stood still" in finding.advice for finding in late)
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"the slowest of the machines was {second.host}" in page


def test_a_generator_that_dies_fails_the_cell_as_a_whole(
    tmp_path: Path, together: Fleet, hosts: SshHosts, reached: str
) -> None:
    killed: list[int] = []

    def kill_once(second: SshHost, event: Progress) -> None:
        if not killed:
            killed.append(rig_of(second))
            os.kill(killed[0], signal.SIGKILL)

    recording = drive(tmp_path, together, hosts, reached, kill_once)
    assert recording.status == "failed"
    assert re.search(r"^198\S+: .*killed by signal 9", str(recording.reason)), recording.reason
    assert recording.result is None
    recording = drive(tmp_path, together, hosts, reached, kill_once, retry_failed=True)
    assert recording.status == "done", recording.reason


@pytest.mark.long  # make test has it without a network: tests/fleet/test_fleet_moments.py
@pytest.mark.parametrize("what", ["acidtest.fleet.lab", "spawn_main"])
def test_a_cell_is_run_again_when_the_lab_or_the_worker_of_a_generator_dies(
    tmp_path: Path, together: Fleet, hosts: SshHosts, reached: str, what: str
) -> None:
    killed: list[int] = []

    def kill_once(second: SshHost, event: Progress) -> None:
        if not killed:
            killed.extend(second.find(what))
            assert killed
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    recording = drive(tmp_path, together, hosts, reached, kill_once)
    assert killed
    assert recording.status == "done", recording.reason
    assert len(recording.generators) == 2
