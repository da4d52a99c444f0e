"""Processes of their own that die at random moments, over each kind of fleet: as in ``test_fleet_moments``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fleet_commands import CELLS, Command, dask, each_once, free_port, nothing_left

from hosts import SshHost, SshHosts
from slurms import Slurm

MOMENTS = int(os.environ.get("ACIDTEST_FLEET_MOMENTS", "1"))
REPLAY = (
    "ACIDTEST_FLEET_MOMENTS={next} .venv/bin/python -m pytest "
    "'tests/fleet/test_fleet_random_moments.py::test_at_a_random_moment[{number}-{means}]'"
)
PATIENCE = "patience_s = 60\n"


@dataclass
class Run:
    """A command at work over a fleet, and what it works on."""

    out: Path
    hosts: list[SshHost]
    arguments: tuple[str | Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    slurm: Slurm | None = None
    scheduler: subprocess.Popen[bytes] | None = None

    def begins(self) -> None:
        self.command = Command(self.out, *self.arguments, **self.environment)

    def kill(self, words: str) -> None:
        for pid in self.hosts[0].find(words):
            os.kill(pid, signal.SIGKILL)


def kill_client(run: Run) -> None:
    run.command.process.kill()


def stop_client(run: Run) -> None:
    run.command.process.send_signal(signal.SIGINT)


def kill_worker(run: Run) -> None:
    run.kill("spawn_main")


def kill_lab(run: Run) -> None:
    run.kill("acidtest.fleet.lab")


def kill_host(run: Run) -> None:
    """Worker, lab, rig and engine of one host at once, as when its power fails; it is up again at once."""
    if run.slurm is not None:
        run.slurm.restart_node(0)
    else:
        run.hosts[0].power_off()


def cut_link(run: Run) -> None:
    run.hosts[0].cut_link()
    time.sleep(3)
    run.hosts[0].mend_link()


def kill_scheduler(run: Run) -> None:
    """Of Dask, which the user has started."""
    assert run.scheduler is not None
    run.scheduler.kill()


def kill_controller(run: Run) -> None:
    """Slurm's own scheduler, which its administrator starts again."""
    assert run.slurm is not None
    run.slurm.controller.kill()
    run.slurm.start_controller()


def cancel_job(run: Run) -> None:
    """As at the end of its time, or by an administrator."""
    assert run.slurm is not None
    run.slurm.run("scancel", "--nodelist", run.slurm.names[0])


@contextmanager
def over_ssh(out: Path, experiment: Path, hosts: SshHosts) -> Iterator[Run]:
    fleet = hosts.fleet(out / "fleet.toml", PATIENCE)
    yield Run(out, hosts.hosts, ("run", experiment, "--fleet", fleet, "--out", out / "out"))


@contextmanager
def over_slurm(out: Path, experiment: Path, nodes: Slurm) -> Iterator[Run]:
    fleet = nodes.fleet(out / "fleet.toml", PATIENCE)
    arguments = ("run", experiment, "--fleet", fleet, "--out", out / "out")
    yield Run(out, nodes.hosts, arguments, nodes.environment, slurm=nodes)


@contextmanager
def over_a_scheduler(out: Path, experiment: Path, hosts: SshHosts) -> Iterator[Run]:
    """One that the user has started, and starts again with its workers where it was killed."""
    port = free_port(hosts.listen)
    fleet = out / "fleet.toml"
    fleet.write_text(f'address = "tcp://{hosts.listen}:{port}"\nworkers = 2\nspread = "compare"\npatience_s = 15\n')
    with dask(hosts, port, out) as scheduler:
        yield Run(out, hosts.hosts, ("run", experiment, "--fleet", fleet, "--out", out / "out"), scheduler=scheduler)


DEATHS: dict[str, list[Callable[[Run], None]]] = {
    "ssh": [kill_client, stop_client, kill_worker, kill_lab, kill_host, cut_link],
    "slurm": [kill_client, kill_worker, kill_lab, kill_host, cut_link, kill_controller, cancel_job],
    "scheduler": [kill_client, kill_worker, kill_lab, kill_host, cut_link, kill_scheduler],
}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("means", DEATHS)
@pytest.mark.parametrize("number", range(MOMENTS))
def test_at_a_random_moment(
    tmp_path: Path, experiment: Path, request: pytest.FixtureRequest, means: str, number: int
) -> None:
    """ACIDTEST_FLEET_MOMENTS says at how many; what happens, and when, follows from the number of each."""
    chance = random.Random(f"{means} {number}")
    happens = chance.choice(DEATHS[means])
    line, delay_s = chance.randrange(1, CELLS), chance.uniform(0, 1)
    print(f"moment {number} over {means}: {happens.__name__}, {delay_s:.2f} s after cell {line}")
    print(f"again: {REPLAY.format(next=number + 1, number=number, means=means)}")
    opened = {
        "ssh": lambda: over_ssh(tmp_path, experiment, request.getfixturevalue("hosts")),
        "slurm": lambda: over_slurm(tmp_path, experiment, request.getfixturevalue("nodes")),
        "scheduler": lambda: over_a_scheduler(tmp_path, experiment, request.getfixturevalue("hosts")),
    }[means]
    codes: list[int] = []
    said = ""
    while 0 not in codes:
        assert len(codes) < 3, f"ended with {codes}: {said}"
        with opened() as run:
            run.begins()
            if not codes:
                run.command.await_line(rf"^\[{line}/{CELLS}\]")
                time.sleep(delay_s)
                happens(run)
            codes.append(run.command.ended())
            said = run.command.said
            assert "Traceback" not in said, said
    each_once(tmp_path / "out")
    nothing_left(run.hosts)
