"""Commands that work on a fleet, what they have left, and schedulers that a user has started."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hosts import SshHost, SshHosts
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
CELLS = 12  # of it, on two hosts


class Command:
    """acidtest at work, whose lines can be waited for."""

    def __init__(self, tmp_path: Path, *arguments: str | Path, **environment: str) -> None:
        self.log = tmp_path / "log"
        known = os.environ | {"ACIDTEST_LEASE": str(tmp_path / "lease"), "COLUMNS": "200"} | environment
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [ACIDTEST, *map(str, arguments)], stdout=file, stderr=subprocess.STDOUT, env=known, cwd=tmp_path
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def await_line(self, pattern: str) -> None:
        end = time.monotonic() + 240
        while True:
            has_ended = self.process.poll() is not None  # asked first: its last lines count too
            if re.search(pattern, self.said, re.MULTILINE):
                return
            assert not has_ended, self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.02)

    def ended(self) -> int:
        return self.process.wait(400)


def cells(out: Path) -> Counter[str]:
    """How often each cell is in the journal."""
    lines = (out / "journal.jsonl").read_text().splitlines()[1:]
    return Counter(answer["cell"] for line in lines if (answer := json.loads(line))["kind"] == "recording")


def each_once(out: Path, count: int = CELLS) -> None:
    found = cells(out)
    assert len(found) == count, found
    assert set(found.values()) == {1}, found


def nothing_left(hosts: list[SshHost]) -> None:
    """Neither processes nor entries of a ledger nor files of a run; what ends by itself is given the time."""
    end = time.monotonic() + 120
    while left := [one for host in hosts for one in (*host.left(), *host.at_work().values())]:
        assert time.monotonic() < end, left
        time.sleep(0.1)


def nothing_at_work(hosts: list[SshHost]) -> None:
    """No process is left there; what ends by itself is given the time."""
    end = time.monotonic() + 120
    while left := [line for host in hosts for line in host.at_work().values()]:
        assert time.monotonic() < end, left
        time.sleep(0.1)


@contextmanager
def dask(hosts: SshHosts, port: int, logs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler that the user has started, with a worker on each host; the scheduler's process."""
    quiet = ["--dashboard-address", "127.0.0.1:0"]
    address = f"tcp://{hosts.listen}:{port}"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", hosts.listen, "--port", str(port)]
    with ExitStack() as held:
        scheduler = held.enter_context(_process([*command, *quiet], logs / "scheduler"))
        for number, host in enumerate(hosts.hosts, start=1):
            worker = [
                "ip", "netns", "exec", host.namespace, sys.executable, "-m", "distributed.cli.dask_worker", address,
                "--host", host.address, "--nthreads", "1", "--resources", "machine=1", *quiet,
            ]  # fmt: skip
            named = {"NODE_NAME": f"node-{number}", "ACIDTEST_HOME": str(host.home)}
            lease = {"ACIDTEST_LEASE": str(host.home / "lease")}
            held.enter_context(_process(worker, logs / f"worker-{number}", **named, **lease))
        yield scheduler


@contextmanager
def _process(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as file:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def free_port(address: str) -> int:
    with socket.socket() as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])
