"""What hosts cannot give is told in one line each, with the host's name and what to do, before anything is made."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fleet_commands import EXPERIMENT, Command

import acidtest
from acidtest.files import find_rig
from blocks import loop_over
from hosts import SshHost, SshHosts


def refused(tmp_path: Path, hosts: SshHosts, experiment: Path, *edits: tuple[str, str], more: str = "") -> list[str]:
    """The lines of a run that is refused: it has made nothing, here or on any host."""
    fleet = hosts.fleet(tmp_path / "fleet.toml", more)
    text = fleet.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after, 1)
    fleet.write_text(text)
    run = Command(tmp_path, "run", experiment, "--fleet", fleet, "--out", tmp_path / "out")
    assert run.ended() in (2, 3, 4), run.said
    assert "Traceback" not in run.said
    assert not (tmp_path / "out").exists() or not (tmp_path / "out" / "journal.jsonl").read_text().count("\n") > 1
    assert not [one for host in hosts.hosts for one in host.left()]
    return run.said.splitlines()


def about(host: SshHost | str, lines: list[str]) -> str:
    """What is told about one host."""
    name = host if isinstance(host, str) else host.address
    return "\n".join(
        f"{line}\n{after}" for line, after in zip(lines, [*lines[1:], ""], strict=True) if f" {name}: " in f" {line}"
    )


def python_of(host: SshHost, hosts: SshHosts, tmp_path: Path, lines: str) -> tuple[str, str]:
    """The edit of a fleet's file by which this host's Python is started by a script with these lines before."""
    script = tmp_path / f"python-{host.address}"
    tables = hosts.fleet(tmp_path / "as-it-was.toml").read_text()
    table = tables[tables.index(f'[hosts."{host.address}"]') :]
    line = next(line for line in table.splitlines() if line.startswith("python = "))
    script.write_text(f'#!/bin/sh\n{lines}\nexec {line.split(chr(34))[1]} "$@"\n')
    script.chmod(0o755)
    home = f'home = "{host.home}"\nlisten = "{host.address}"\n'
    return f"{home}{line}", f'{home}python = "{script}"'


def test_hosts_that_are_not_there(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    nobody = hosts.hosts[0].address.rpartition(".")[0] + ".1"  # ours, where no sshd listens
    for name in (nobody, "no-such-host.invalid"):
        said = "\n".join(refused(tmp_path, hosts, experiment, *[(hosts.hosts[0].address, name)] * 2))
        assert name in said
        assert "same command" in said


def test_other_versions_of_acidtest_or_none(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    first, second = hosts.hosts
    python = subprocess.run(
        [os.environ.get("PYTHON", "python3"), "-c", "import sys, sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    assert python
    older = tmp_path / "older"
    shutil.copytree(Path(acidtest.__file__).parent, older / "acidtest", ignore=shutil.ignore_patterns("__pycache__"))
    text = (older / "acidtest" / "__init__.py").read_text()
    (older / "acidtest" / "__init__.py").write_text(text.replace(acidtest.__version__, "0.0.9"))
    hidden = tmp_path / "hidden"
    (hidden / "acidtest").mkdir(parents=True)
    (hidden / "acidtest" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'acidtest'\")\n")
    said = refused(
        tmp_path, hosts, experiment,
        python_of(first, hosts, tmp_path, f"export PYTHONPATH={hidden}"),
        python_of(second, hosts, tmp_path, f"export PYTHONPATH={older}"),
    )  # fmt: skip
    assert "acidtest is missing" in about(first, said)
    assert f"has acidtest 0.0.9, and this is {acidtest.__version__}" in about(second, said)


def test_another_rig_and_a_clock_a_minute_ahead(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    first, second = hosts.hosts
    rig = tmp_path / "another-rig"
    shutil.copy(find_rig(), rig)
    with rig.open("ab") as file:
        file.write(b"\0")
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text("import time\nits = time.time\ntime.time = lambda: its() + 60\n")
    said = refused(
        tmp_path, hosts, experiment,
        python_of(first, hosts, tmp_path, f"export ACIDTEST_RIG={rig}"),
        python_of(second, hosts, tmp_path, f"export PYTHONPATH={ahead}:$PYTHONPATH"),
    )  # fmt: skip
    assert "its rig is another build" in about(first, said)
    assert "its clock differs from this machine's by +" in about(second, said)
    assert "NTP" in about(second, said)


def test_no_root_no_engine_no_device(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    """``unshare --user`` takes root away and leaves what may be read."""
    first, second = hosts.hosts
    bare = tmp_path / "without-engines"
    bare.mkdir()
    experiment.write_text(
        EXPERIMENT.replace('"sqlite"', '"firebird-5.0"').replace("commits", "tpcb")
        + '[place]\nkind = "device"\ndevice = "/dev/sdzz"\nfilesystem = "ext4"\n'
    )
    said = refused(
        tmp_path, hosts, experiment,
        python_of(second, hosts, tmp_path, 'test -n "$ACIDTEST_UNROOTED" || '
                  'ACIDTEST_UNROOTED=1 exec unshare --user "$0" "$@"'),
        (f'home = "{first.home}"', f'home = "{bare}"'),
    )  # fmt: skip
    assert "firebird-5.0 is not installed" in about(first, said)
    assert "acidtest engines install firebird-5.0" in about(first, said)
    assert "/dev/sdzz: cannot be read: No such file or directory" in about(first, said)
    assert "root" not in about(first, said)
    assert "root" in about(second, said)
    assert not list(bare.glob("fleet/*"))


def test_no_space(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    host = hosts.hosts[0]
    small = tmp_path / "small"
    small.mkdir()
    host.enter("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small)
    home = f'home = "{host.home}"\n'
    said = refused(tmp_path, hosts, experiment, (home, f'{home}directory = "{small}"\n'))
    assert f"{small}: needs about" in about(host, said)
    assert "MB free" in about(host, said)
    assert not about(hosts.hosts[1], said)
    assert host.enter("ls", "-A", small) == ""


@contextmanager
def seen_as(host: SshHost, path: Path, of: Path) -> Iterator[None]:
    """On ``host`` the file ``path`` is another one."""
    host.enter("mount", "--bind", of, path)
    try:
        yield
    finally:
        host.enter("umount", path)


LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0")


def test_a_pool_whose_engines_and_devices_differ(tmp_path: Path, hosts: SshHosts, experiment: Path) -> None:
    first, second = hosts.hosts
    library, other, device = tmp_path / "libsqlite3.so", tmp_path / "other.so", tmp_path / "device"
    library.write_bytes(LIBRARY.read_bytes())
    other.write_bytes(LIBRARY.read_bytes() + b"\0")
    device.touch()
    experiment.write_text(
        EXPERIMENT.replace('"sqlite"', '"mine"')
        + f'[engines.mine]\nfamily = "sqlite"\npath = "{library}"\n'
        + f'[place]\nkind = "device"\ndevice = "{device}"\nfilesystem = "ext4"\n'
    )
    named = [(home := f'home = "{host.home}"\n', f'{home}use_devices = ["{device}"]\n') for host in hosts.hosts]
    with ExitStack() as held:
        for host, size_mb in ((first, 400), (second, 600)):
            image = tmp_path / f"{size_mb}.img"
            with image.open("wb") as file:
                file.truncate(size_mb << 20)
            held.enter_context(seen_as(host, device, Path(held.enter_context(loop_over(image)))))
        held.enter_context(seen_as(second, library, other))
        said = refused(tmp_path, hosts, experiment, *named, more='spread = "pool"')
    # Which host is the first one, by whose kind the others are measured, follows from their addresses.
    for words in (f"{device} is ", "another build of mine"):
        assert len([line for line in said if words in line and all(one.address in line for one in hosts.hosts)]) == 1


@pytest.mark.parametrize("holds", ["", "ext4"])
def test_a_device_is_named_by_host(tmp_path: Path, hosts: SshHosts, experiment: Path, holds: str) -> None:
    """And what is on it is not overwritten unasked; the remedy is a line of the fleet's file."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(400 << 20)
    with loop_over(image) as device:
        experiment.write_text(EXPERIMENT + f'[place]\nkind = "device"\ndevice = "{device}"\nfilesystem = "ext4"\n')
        edits = []
        if holds:
            subprocess.run(["mkfs.ext4", "-q", device], check=True, capture_output=True)
            edits = [(home := f'home = "{host.home}"\n', f'{home}use_devices = ["{device}"]\n') for host in hosts.hosts]
        said = refused(tmp_path, hosts, experiment, *edits)
    key = "erase" if holds else "use_devices"
    for host in hosts.hosts:
        assert f'write {key} = ["{device}"] below [hosts."{host.address}"]' in about(host, said)


def test_a_held_out_size_is_foretold_on_one_machine(tmp_path: Path, hosts: SshHosts) -> None:
    grows = tmp_path / "grows.toml"
    grows.write_text(
        'name = "g"\nrepetitions = 1\nengine = "sqlite"\ndurability = "os"\n[growth]\nsizes = ["10 MB"]\n'
        'held_out = ["20 MB"]\n[workload.tpcc]\nduration_s = 1\n'
    )
    said = " ".join(refused(tmp_path, hosts, grows))
    assert "growth.held_out: a held-out size is foretold on the machine that measures the others" in said
    assert "run without --fleet" in said
