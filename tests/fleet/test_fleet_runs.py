"""An experiment over hosts that are reached by ssh: one journal, each cell once, nothing left, whatever dies."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acidtest.journal import reader
from hosts import SshHosts, ssh_hosts
from support import ACIDTEST

EXPERIMENT = """
name = "over-a-fleet"
repetitions = 3
[factors]
engine = ["sqlite"]
durability = ["os", "drive"]
[workload.commits]
count = 200
"""
CELLS = 12


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    with ssh_hosts(tmp_path_factory.mktemp("hosts"), 2) as made:
        yield made


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "e.toml"
    path.write_text(EXPERIMENT)
    return path


class Command:
    """acidtest at work, whose lines can be waited for."""

    def __init__(self, tmp_path: Path, *arguments: str | Path) -> None:
        self.log = tmp_path / "log"
        environment = os.environ | {"ACIDTEST_LEASE": str(tmp_path / "lease"), "COLUMNS": "200"}
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [ACIDTEST, *map(str, arguments)], stdout=file, stderr=subprocess.STDOUT, env=environment
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def await_line(self, pattern: str) -> None:
        end = time.monotonic() + 240
        while not re.search(pattern, self.said, re.MULTILINE):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.02)

    def ended(self) -> int:
        return self.process.wait(400)


def cells(out: Path) -> Counter[str]:
    lines = (out / "journal.jsonl").read_text().splitlines()[1:]
    return Counter(told["cell"] for line in lines if (told := json.loads(line))["kind"] == "recording")


def nothing_left(hosts: SshHosts) -> None:
    """Neither processes nor entries of a ledger nor files of a run; what ends by itself is given the time."""
    end = time.monotonic() + 90
    while True:
        left = [one for host in hosts.hosts for one in (*host.left(), *map(str, host.find("acidtest")))]
        left += [str(pid) for host in hosts.hosts for pid in host.find("dask_spec")]
        if not left:
            return
        assert time.monotonic() < end, left
        time.sleep(0.1)


def command(tmp_path: Path, hosts: SshHosts, experiment: Path, more: str = "") -> Command:
    fleet = hosts.fleet(tmp_path / "fleet.toml", more)
    return Command(tmp_path, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out")


def test_the_same_table_with_host_from_one_journal(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    run = command(tmp_path, hosts, experiment)
    assert run.ended() == 0, run.said
    nothing_left(hosts)
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    addresses = {host.address for host in hosts.hosts}
    assert {host.name for host in journal.hosts} == addresses
    assert all(abs(host.clock_offset_s) <= host.clock_error_s + 0.001 for host in journal.hosts)  # one machine's clock
    assert all(host.hash_mb_per_s > 0 and (host.flushes_per_s or 0) > 0 for host in journal.hosts)
    recordings = journal.recordings
    assert len(recordings) == CELLS
    assert {one.status for one in recordings} == {"done"}
    assert all(one.host == one.levels["host"] for one in recordings)
    # Each ran where it was sent: in the directory that this host was given.
    homes = {host.address: str(host.home) for host in hosts.hosts}
    assert all(one.place.path.startswith(homes[str(one.host)]) for one in recordings)
    assert "durability by host" in run.said
    assert "Page:" in run.said


def kill_client(run: Command, hosts: SshHosts) -> None:
    run.process.kill()


def stop_client(run: Command, hosts: SshHosts) -> None:
    run.process.send_signal(signal.SIGINT)


def kill_worker(run: Command, hosts: SshHosts) -> None:
    for pid in hosts.hosts[0].find("spawn_main"):
        os.kill(pid, signal.SIGKILL)


def kill_lab(run: Command, hosts: SshHosts) -> None:
    for pid in hosts.hosts[0].find("acidtest.fleet.lab"):
        os.kill(pid, signal.SIGKILL)


def cut_link(run: Command, hosts: SshHosts) -> None:
    hosts.hosts[0].cut_link()
    time.sleep(3)
    hosts.hosts[0].mend_link()


@pytest.mark.parametrize("happens", [kill_client, stop_client, kill_worker, kill_lab, cut_link])
def test_whatever_dies_the_same_command_goes_on(
    tmp_path: Path, hosts: SshHosts, experiment: Path, happens: Callable[[Command, SshHosts], None]
) -> None:
    run = command(tmp_path, hosts, experiment)
    run.await_line(r"^\[4/12\]")
    happens(run, hosts)
    code = run.ended()
    if happens is stop_client:
        assert code == 128 + signal.SIGINT, run.said
        assert "goes on" in run.said
        nothing_running(hosts)
    runs = 1
    while code != 0:
        assert runs < 3, run.said
        run = command(tmp_path, hosts, experiment)
        code, runs = run.ended(), runs + 1
    assert set(cells(tmp_path / "out").values()) == {1}
    assert len(cells(tmp_path / "out")) == CELLS
    nothing_left(hosts)


MOMENTS = int(os.environ.get("ACIDTEST_FLEET_MOMENTS", "1"))


@pytest.mark.timeout(400 * MOMENTS)
def test_at_random_moments(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    """ACIDTEST_FLEET_MOMENTS says at how many; what happens, and when, follows from the number of each."""
    for number in range(MOMENTS):
        chance = random.Random(number)
        happens = chance.choice([kill_client, kill_worker, kill_lab, cut_link])
        line, delay = chance.randrange(1, CELLS), chance.uniform(0, 1)
        at = f"moment {number}: {happens.__name__} {delay:.2f} s after cell {line}"
        out = tmp_path / f"{number}"
        out.mkdir()
        codes = []
        while 0 not in codes:
            run = command(out, hosts, experiment)
            if not codes:
                run.await_line(rf"^\[{line}/{CELLS}\]")
                time.sleep(delay)
                happens(run, hosts)
            codes.append(run.ended())
            assert len(codes) < 4, f"{at}: {run.said}"
        assert set(cells(out / "out").values()) == {1}, at
        assert len(cells(out / "out")) == CELLS, at
        nothing_left(hosts)


def nothing_running(hosts: SshHosts) -> None:
    """What the client stopped has been released before it ended."""
    for host in hosts.hosts:
        assert not host.find("acidtest-rig"), host.processes()
        assert not list(host.home.glob("ledger/*.jsonl"))


def test_a_pool_spreads_repetitions(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    run = command(tmp_path, hosts, experiment, 'spread = "pool"')
    assert run.ended() == 0, run.said
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    assert len(journal.recordings) == CELLS // 2
    assert "host" not in journal.header.factors
    assert {one.host for one in journal.recordings} <= {host.address for host in hosts.hosts}


@contextmanager
def dask(hosts: SshHosts, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler that the user has started, with a worker on each host; the scheduler's process."""
    quiet = ["--dashboard-address", "127.0.0.1:0"]
    address = f"tcp://{hosts.listen}:{port}"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", hosts.listen, "--port", str(port)]
    with ExitStack() as held:
        scheduler = held.enter_context(_process([*command, *quiet]))
        for number, host in enumerate(hosts.hosts, start=1):
            worker = [
                "ip", "netns", "exec", host.namespace, sys.executable, "-m", "distributed.cli.dask_worker", address,
                "--host", host.address, "--nthreads", "1", "--resources", "machine=1", "--death-timeout", "5", *quiet,
            ]  # fmt: skip
            named = {"NODE_NAME": f"node-{number}", "ACIDTEST_HOME": str(host.home)}
            lease = {"ACIDTEST_LEASE": str(host.home / "lease")}
            held.enter_context(_process(worker, **named, **lease))
        yield scheduler


@contextmanager
def _process(command: list[str], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def test_a_scheduler_that_dies_is_told_and_the_same_command_goes_on(
    tmp_path: Path, hosts: SshHosts, experiment: Path
) -> None:
    fleet = tmp_path / "fleet.toml"
    port = free_port(hosts.listen)
    fleet.write_text(f'address = "tcp://{hosts.listen}:{port}"\nspread = "compare"\n')
    arguments = ("run", experiment, "--fleet", fleet, "--out", tmp_path / "out")
    with dask(hosts, port) as scheduler:
        run = Command(tmp_path, *arguments)
        run.await_line(r"^\[4/12\]")
        scheduler.kill()
        assert run.ended() == 3, run.said
        assert "the scheduler of the fleet is gone" in run.said
    nothing_running_there(hosts)
    with dask(hosts, port):
        run = Command(tmp_path, *arguments)
        assert run.ended() == 0, run.said
    assert set(cells(tmp_path / "out").values()) == {1}
    assert {one.host for one in reader.read(tmp_path / "out" / "journal.jsonl").recordings} == {"node-1", "node-2"}
    nothing_left(hosts)


def nothing_running_there(hosts: SshHosts) -> None:
    end = time.monotonic() + 90
    while left := [line for host in hosts.hosts for line in host.processes().values() if "sshd" not in line]:
        assert time.monotonic() < end, left
        time.sleep(0.1)


def free_port(address: str) -> int:
    with socket.socket() as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def refused(tmp_path: Path, hosts: SshHosts, experiment: Path, *edits: tuple[str, str]) -> str:
    fleet = hosts.fleet(tmp_path / "fleet.toml")
    text = fleet.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after, 1)
    fleet.write_text(text)
    run = Command(tmp_path, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out")
    assert run.ended() in (2, 3, 4), run.said
    assert not (tmp_path / "out" / "journal.jsonl").exists() or not cells(tmp_path / "out")
    assert "Traceback" not in run.said
    return run.said


def test_a_host_that_does_not_answer_is_told(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    nobody = hosts.hosts[0].address.rpartition(".")[0] + ".1"  # ours, where no sshd listens
    said = refused(tmp_path, hosts, experiment, *[(hosts.hosts[0].address, nobody)] * 3)
    assert nobody in said
    assert "same command" in said


def test_a_host_without_acidtest_is_told(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    without = tmp_path / "without"
    python = subprocess.run(
        [os.environ.get("PYTHON", "python3"), "-c", "import sys; print(sys.executable)"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    without.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {python} "$@"\n')
    without.chmod(0o755)
    text = hosts.fleet(tmp_path / "seen.toml").read_text()
    line = next(line for line in text.splitlines() if line.startswith("python"))
    said = refused(tmp_path, hosts, experiment, (line, f'python = "{without}"'))
    assert hosts.hosts[0].address in said


def test_what_a_host_lacks_is_told_before_anything_is_made(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    home = next(iter(hosts.hosts)).home
    gone = tmp_path / "without-engines"
    gone.mkdir()
    experiment.write_text(EXPERIMENT.replace('"sqlite"', '"firebird-5.0"').replace("commits", "tpcb"))
    said = refused(tmp_path, hosts, experiment, (f'home = "{home}"', f'home = "{gone}"'))
    assert f"{hosts.hosts[0].address}: firebird-5.0" in said
    assert "acidtest engines install firebird-5.0" in said
    assert not list(gone.glob("fleet/*"))


def test_a_device_is_named_by_host(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    experiment.write_text(EXPERIMENT + '[place]\nkind = "device"\ndevice = "/dev/sdzz"\nfilesystem = "ext4"\n')
    said = refused(tmp_path, hosts, experiment)
    assert hosts.hosts[0].address in said
    assert "/dev/sdzz" in said
