"""Links that are cut for longer than Dask and acidtest wait, hosts that lose their power, and what clean finds there."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from fleet_commands import EXPERIMENT, Command, each_once, nothing_at_work, nothing_left

from hosts import SshHosts

# After which Dask takes a connection for lost, 30 s by default; the workers are told by the client.
IMPATIENT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "2s"}


def begun(tmp_path: Path, hosts: SshHosts, experiment: Path, patience_s: int) -> Command:
    fleet = hosts.fleet(tmp_path / "fleet.toml", f"patience_s = {patience_s}")
    return Command(tmp_path, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out", **IMPATIENT)


@pytest.mark.long  # make test has a kill (test_fleet_runs.py) and a node without power (test_fleet_slurm.py)
def test_a_host_without_power_is_cleaned_and_a_link_comes_back_after_dask_has_given_it_up(
    tmp_path: Path, hosts: SshHosts, experiment: Path
) -> None:
    """The worker behind that link is started anew, and the run goes on without being asked."""
    host = hosts.hosts[0]
    experiment.write_text(EXPERIMENT + '[place]\nkind = "loop"\nfilesystem = "ext4"\n')
    run = begun(tmp_path, hosts, experiment, 5)
    run.await_line(r"^\[1/12\]")
    while True:  # until it is caught with a file system of a cell mounted
        host.signal(signal.SIGSTOP)
        if str(host.home) in host.enter("cat", "/proc/self/mountinfo"):
            break
        host.signal(signal.SIGCONT)
        assert run.process.poll() is None, run.said
    run.process.kill()
    host.power_off()
    run.ended()
    assert any("ledger" in one for one in host.left())
    clean = Command(tmp_path, "clean", "--fleet", tmp_path / "fleet.toml")
    assert clean.ended() == 0, clean.said
    assert f"{host.address}: nothing was left behind" not in clean.said
    nothing_at_work([host])
    assert not list(host.home.glob("ledger/*.jsonl"))
    assert str(host.home) not in host.enter("cat", "/proc/self/mountinfo")
    loops = subprocess.run(["losetup", "--list", "--output", "BACK-FILE"], check=True, capture_output=True, text=True)
    assert str(host.home) not in loops.stdout
    again = begun(tmp_path, hosts, experiment, 600)
    again.await_line(r"^12 cells, ")
    host.cut_link()
    again.await_line(rf"^{host.address}: is gone; waiting up to 600 s for it to come back")
    host.mend_link()
    assert again.ended() == 0, again.said
    assert again.said.count(f"{host.address}: is gone") == 1
    each_once(tmp_path / "out")
    nothing_left(hosts.hosts)


@pytest.mark.long
def test_a_link_that_is_cut_for_longer_than_patience(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    """The other host runs what is its own; the same command runs the rest when the link is there again."""
    cut, other = hosts.hosts
    run = begun(tmp_path, hosts, experiment, 5)
    run.await_line(r"^\[4/12\]")
    cut.cut_link()
    assert run.ended() == 3, run.said
    assert f"{cut.address}: was gone for 5 s" in run.said
    assert "run the same command again: it goes on" in run.said
    assert "Traceback" not in run.said
    nothing_left([other])
    cut.mend_link()
    run = begun(tmp_path, hosts, experiment, 5)
    assert run.ended() == 0, run.said
    each_once(tmp_path / "out")
    nothing_left(hosts.hosts)
