"""An experiment over hosts that are reached by ssh: one journal, each cell once, nothing left, whatever dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from fleet_commands import Command, dask, each_once, free_port, nothing_at_work, nothing_left

from acidtest.journal import reader
from hosts import SshHosts


def command(tmp_path: Path, hosts: SshHosts, experiment: Path, more: str = "") -> Command:
    fleet = hosts.fleet(tmp_path / "fleet.toml", more)
    return Command(tmp_path, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out")


def test_one_journal_and_one_table_whatever_dies(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    """The client of the first run; of the second one host's worker, while the link to the other one is down."""
    run = command(tmp_path, hosts, experiment)
    run.await_line(r"^\[1/12\]")
    run.process.kill()
    run.ended()
    run = command(tmp_path, hosts, experiment)
    run.await_line(r"^12 cells, ")
    first, second = hosts.hosts
    second.cut_link()
    for pid in first.find("spawn_main"):
        os.kill(pid, signal.SIGKILL)
    time.sleep(3)
    second.mend_link()
    assert run.ended() == 0, run.said
    each_once(tmp_path / "out")
    nothing_left(hosts.hosts)
    journal = reader.read(tmp_path / "out" / "journal.jsonl")
    addresses = {host.address for host in hosts.hosts}
    assert {host.name for host in journal.hosts} == addresses
    assert all(abs(host.clock_offset_s) <= host.clock_error_s + 0.001 for host in journal.hosts)  # one machine's clock
    assert all(host.hash_mb_per_s > 0 and (host.flushes_per_s or 0) > 0 for host in journal.hosts)
    recordings = journal.recordings
    assert {recording.status for recording in recordings} == {"done"}
    assert all(recording.host == recording.levels["host"] for recording in recordings)
    # Each ran where it was sent: in the directory that this host was given.
    homes = {host.address: str(host.home) for host in hosts.hosts}
    assert all(recording.place.path.startswith(homes[str(recording.host)]) for recording in recordings)
    assert "durability by host" in run.said
    assert "Page:" in run.said


GROWTH = """
name = "growth-over-a-fleet"
engine = "sqlite"
durability = "os"
repetitions = 2
[growth]
sizes = ["4 MB", "6 MB"]
statistics = false
[workload.tpcc]
duration_s = 0.5
think_ms = 5
warehouse_percent = 1
"""


@pytest.mark.long  # make test kills clients, workers, labs and links in test_fleet_moments.py
def test_a_scheduler_that_dies_is_told_and_series_go_on_where_they_were(
    tmp_path: Path, hosts: SshHosts, experiment: Path
) -> None:
    """Series of a growing database stay on their host. One that is interrupted is begun anew at the size that is
    missing."""
    experiment.write_text(GROWTH)
    fleet = tmp_path / "fleet.toml"
    port = free_port(hosts.listen)
    fleet.write_text(f'address = "tcp://{hosts.listen}:{port}"\nworkers = 2\nspread = "compare"\n')
    arguments = ("run", experiment, "--fleet", fleet, "--out", tmp_path / "out")
    with dask(hosts, port, tmp_path) as scheduler:
        run = Command(tmp_path, *arguments)
        run.await_line(r"^\[2/8\]")
        scheduler.kill()
        assert run.ended() == 3, run.said
        assert "the scheduler of the fleet is gone" in run.said
    nothing_at_work(hosts.hosts)
    with dask(hosts, port, tmp_path):
        run = Command(tmp_path, *arguments)
        assert run.ended() == 0, run.said
    each_once(tmp_path / "out", 8)
    recordings = reader.read(tmp_path / "out" / "journal.jsonl").recordings
    assert {recording.status for recording in recordings} == {"done"}
    for host in ("node-1", "node-2"):
        sizes = [
            recording.levels["size"] for recording in recordings if recording.host == recording.levels["host"] == host
        ]
        assert sizes == ["4 MB", "4 MB", "6 MB", "6 MB"]
    told = Command(tmp_path, "growth", tmp_path / "out")
    assert told.ended() == 0, told.said
    assert "node-1" in told.said
    assert "node-2" in told.said
    nothing_left(hosts.hosts)
