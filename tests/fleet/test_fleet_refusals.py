"""What hosts cannot give is told in one line each, with the host's name and what to do, before anything is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from fleet_at_hand import Hands
from fleet_commands import EXPERIMENT, Command, free_port

import acidtest
from acidtest.errors import AcidtestError
from acidtest.files import find_rig
from acidtest.fleet import cluster, tasks
from acidtest.fleet.spec import read
from blocks import loop_over, mounted_in_memory
from hosts import SshHosts
from support import command

Refused = Callable[..., list[str]]


@pytest.fixture
def refused(
    tmp_path: Path, hands: Hands, experiment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refused:
    """The lines of a run that is refused: it has made nothing, here or on any host."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(more: str = "", **tables: str) -> list[str]:
        fleet = hands.fleet(tmp_path / "fleet.toml", more, **tables)
        assert command("run", experiment, "--fleet", fleet, "--out", tmp_path / "out") in (2, 4)
        text = "".join(capsys.readouterr())
        assert not (tmp_path / "out").exists() or not (tmp_path / "out" / "journal.jsonl").read_text().count("\n") > 1
        assert not [one for machine in hands.machines for one in machine.left()]
        return text.splitlines()

    return run


def about(host: str, lines: list[str]) -> str:
    """What is told about one host."""
    return "\n".join(
        f"{line}\n{after}" for line, after in zip(lines, [*lines[1:], ""], strict=True) if f" {host}: " in f" {line}"
    )


@pytest.mark.parametrize("name", ["127.0.0.1", "no-such-host.invalid"])
def test_a_host_that_is_not_there(tmp_path: Path, name: str) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(f'ssh = ["{name}"]\nlisten = "127.0.0.1"\n[ssh_options]\nport = {free_port("127.0.0.1")}\n')
    with pytest.raises(AcidtestError) as error, cluster.opened(read(file), file):
        pass
    assert f"{file}: {name}" in error.value.message
    assert "same command" in error.value.remedy


def test_a_worker_that_does_not_say_that_it_has_started_is_not_waited_for_without_end(
    tmp_path: Path, hosts: SshHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "START_S", 3.0)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    file = hosts.fleet(tmp_path / "fleet.toml")
    # Of all hosts: one that works may be slower than that, too.
    file.write_text(file.read_text().replace(sys.executable, str(python)))
    with pytest.raises(AcidtestError) as error, cluster.opened(read(file), file):
        pass
    assert ": its worker did not say within 3 s that it has started" in error.value.message


def test_workers_over_ssh_say_that_they_have_started_however_quiet_dask_is_here(
    tmp_path: Path, hosts: SshHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet on this machine has workers that say nothing, and leaves the environment as it was."""
    monkeypatch.delenv("DASK_LOGGING__DISTRIBUTED", raising=False)
    local = tmp_path / "local.toml"
    local.write_text("local = 1\n")
    with cluster.opened(read(local), local) as fleet:
        assert len(fleet.hosts()) == 1
    assert "DASK_LOGGING__DISTRIBUTED" not in os.environ
    quiet = {"DASK_LOGGING__DISTRIBUTED": "critical"}
    command = Command(tmp_path, "clean", "--fleet", hosts.fleet(tmp_path / "fleet.toml"), **quiet)
    assert command.process.wait(100) == 0, command.said


def test_other_versions_of_acidtest_or_none(hands: Hands, refused: Refused) -> None:
    first, second = hands.machines
    first.seen.append(partial(mock.patch.dict, sys.modules, {"acidtest": None, "acidtest.fleet": None}))
    second.seen.append(partial(mock.patch.object, acidtest, "__version__", "0.0.9"))
    told = refused()
    assert "acidtest is missing" in about("one", told)
    assert f"has acidtest 0.0.9, and this is {acidtest.__version__}" in about("two", told)


def test_another_rig_and_a_clock_a_minute_ahead(tmp_path: Path, hands: Hands, refused: Refused) -> None:
    first, second = hands.machines
    rig = tmp_path / "another-rig"
    shutil.copy(find_rig(), rig)
    with rig.open("ab") as file:
        file.write(b"\0")
    first.seen.append(partial(mock.patch.dict, os.environ, {"ACIDTEST_RIG": str(rig)}))
    second.seen.append(partial(mock.patch.object, tasks, "time", mock.Mock(time=lambda: time.time() + 60)))
    told = refused()
    assert "its rig is another build" in about("one", told)
    assert "its clock differs from this machine's by +" in about("two", told)
    assert "NTP" in about("two", told)


def test_no_root_no_engine_no_device(hands: Hands, experiment: Path, refused: Refused) -> None:
    first, second = hands.machines
    (first.home / "engines").unlink()
    second.is_root = False
    experiment.write_text(
        EXPERIMENT.replace('"sqlite"', '"firebird-5.0"').replace("commits", "tpcb")
        + '[place]\nkind = "device"\ndevice = "/dev/sdzz"\nfilesystem = "ext4"\n'
    )
    told = refused()
    assert "firebird-5.0 is not installed" in about("one", told)
    assert "acidtest engines install firebird-5.0" in about("one", told)
    assert "/dev/sdzz: cannot be read: No such file or directory" in about("one", told)
    assert "root" not in about("one", told)
    assert "root" in about("two", told)


def test_no_space(tmp_path: Path, refused: Refused) -> None:
    with mounted_in_memory(tmp_path / "small", size_mb=4) as small:
        told = refused(one=f'directory = "{small}"')
        assert not list(small.iterdir())
    assert f"{tmp_path}/small: needs about" in about("one", told)
    assert "MB free" in about("one", told)
    assert not about("two", told)


LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0")


def test_a_pool_whose_engines_and_devices_differ(
    tmp_path: Path, hands: Hands, experiment: Path, refused: Refused
) -> None:
    library, other, device = tmp_path / "libsqlite3.so", tmp_path / "other.so", tmp_path / "device"
    library.write_bytes(LIBRARY.read_bytes())
    other.write_bytes(LIBRARY.read_bytes() + b"\0")
    device.touch()
    experiment.write_text(
        EXPERIMENT.replace('"sqlite"', '"mine"')
        + f'[engines.mine]\nfamily = "sqlite"\npath = "{library}"\n'
        + f'[place]\nkind = "device"\ndevice = "{device}"\nfilesystem = "ext4"\n'
    )
    use = f'use_devices = ["{device}"]'
    with ExitStack() as held:
        for machine, size_mb in zip(hands.machines, (400, 600), strict=True):
            machine.files[device] = held.enter_context(loop_over(tmp_path / f"{size_mb}.img", size_mb))
        hands.machines[1].files[library] = other
        told = refused('spread = "pool"', one=use, two=use)
    for words in (f"two: {device} is ", "two: has another build of mine"):
        assert len([line for line in told if words in line and "one" in line]) == 1


@pytest.mark.parametrize("holds", ["", "ext4"])
def test_a_device_is_named_by_host(tmp_path: Path, experiment: Path, refused: Refused, holds: str) -> None:
    """And what is on it is not overwritten unasked; the remedy is a line of the fleet's file."""
    with loop_over(tmp_path / "image", 400) as device, loop_over(tmp_path / "other", 400) as other:
        experiment.write_text(EXPERIMENT + f'[place]\nkind = "device"\ndevice = "{device}"\nfilesystem = "ext4"\n')
        use = f'use_devices = ["{other}"]'
        if holds:
            subprocess.run(["mkfs.ext4", "-q", device], check=True, capture_output=True)
            use = f'use_devices = ["{device}"]'
        told = refused(one=use, two=use)
    key = "erase" if holds else "use_devices"
    for host in ("one", "two"):
        assert f'write {key} = ["{device}"] below [hosts."{host}"]' in about(host, told)


def test_a_held_out_size_is_foretold_on_one_machine(experiment: Path, refused: Refused) -> None:
    experiment.write_text(
        'name = "g"\nrepetitions = 1\nengine = "sqlite"\ndurability = "os"\n[growth]\nsizes = ["10 MB"]\n'
        'held_out = ["20 MB"]\n[workload.tpcc]\nduration_s = 1\n'
    )
    text = " ".join(refused())
    assert "growth.held_out: a held-out size is predicted on the machine that measures the others" in text
    assert "run without --fleet" in text
