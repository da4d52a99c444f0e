"""The private Firebird server: its mode as it really runs, its port, its password, and what is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path

import pytest

from acidtest.engine import catalogue, debian
from acidtest.engine.firebird.server import ENGINES, FirebirdServer, ServerInstance, check_that_it_runs
from acidtest.engine.firebird.versions import VERSIONS
from acidtest.engine.server import port_for
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import CheckPhase, Event, LoadPhase, Progress
from acidtest.place import Ledger
from rig_jobs import endless, in_force, talk, talking

Make = Callable[..., ServerInstance]
MODES = {"Super": "SuperServer", "SuperClassic": "SuperClassic", "Classic": "Classic"}
LOAD = LoadPhase()


@pytest.fixture
def make(engines_installed: None, tmp_path: Path, ledger: Ledger) -> Iterator[Make]:
    """A server over a new database."""
    made = []

    def make(settings: dict[str, Scalar] | None = None, release: str = "3.0") -> ServerInstance:
        directory = tmp_path / f"instance-{len(made)}"
        directory.mkdir()
        instance = catalogue.find(f"firebird-{release}-server").create(directory, settings or {})
        assert isinstance(instance, ServerInstance)
        made.append(instance)
        return instance

    yield make
    for instance in made:
        instance.release()


def begun(instance: ServerInstance, ledger: Ledger) -> Generator[Event]:
    """A load, and terminals that do not end, with the settings that sessions answer."""
    return talking(instance, ledger, LOAD, endless(3), inspect=instance.inspections())


def settings_of(instance: ServerInstance, ledger: Ledger) -> dict[str, SettingInForce]:
    return in_force(instance, talk(instance, ledger, LOAD, inspect=instance.inspections()))


def runs(event: Event) -> bool:
    return isinstance(event, Progress) and event.phase == "run"


def processes(instance: ServerInstance) -> list[int]:
    """Servers with the instance's root in their environment, those that Classic forks included."""
    root = f"FIREBIRD={instance.directory / 'server'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if root in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


@pytest.mark.covering
@pytest.mark.parametrize("release", ENGINES)
@pytest.mark.parametrize("mode", MODES)
def test_the_mode_is_read_from_the_sessions_and_nothing_is_left_of_them(
    make: Make, ledger: Ledger, mode: str, release: str
) -> None:
    instance = make({"server_mode": mode}, release)
    instance.start(ledger)
    with closing(begun(instance, ledger)) as events:
        found = in_force(instance, takewhile(lambda event: not runs(event), events))
        source = "RDB$CONFIG" if VERSIONS[release].has_config_table else "MON$ATTACHMENTS"
        assert (found["server_mode"].in_force, found["server_mode"].source) == (mode, source)
        assert all(s.agrees for s in found.values())
        assert len(processes(instance)) == (4 if mode == "Classic" else 1)
        instance.release()
        assert processes(instance) == []
    assert catalogue.find(f"firebird-{release}-server").mode({"server_mode": mode}) == MODES[mode]


def test_a_mode_that_is_not_the_one_asked_for_does_not_agree(make: Make, ledger: Ledger) -> None:
    instance = make({"server_mode": "Classic"})
    conf = instance.directory / "root" / "firebird.conf"
    conf.write_text(conf.read_text().replace("ServerMode = Classic", "ServerMode = SuperClassic"))
    instance.start(ledger)
    wrong = [setting for setting in settings_of(instance, ledger).values() if not setting.agrees]
    assert [(s.name, s.asked, s.in_force) for s in wrong] == [("server_mode", "Classic", "SuperClassic")]


def test_a_port_is_used_when_free_and_refused_when_taken(make: Make, ledger: Ledger) -> None:
    port = port_for("", None)
    instance = make({"port": port})
    instance.start(ledger)
    found = settings_of(instance, ledger)["port"]
    assert (found.asked, found.in_force, found.agrees) == (str(port), str(port), True)
    other = make({"port": port})
    with pytest.raises(CellFailed, match=rf"firebird-3.0-server: port {port} of 127\.0\.0\.1 is taken"):
        other.start(ledger)


def test_it_listens_on_the_loopback_address_only_and_refuses_a_wrong_password(make: Make, ledger: Ledger) -> None:
    instance = make()
    instance.start(ledger)
    target = instance.target()
    assert target.remote
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", target.remote.port), timeout=60)
    wrong = target.model_copy(update={"remote": target.remote.model_copy(update={"password": "masterkey"})})
    with pytest.raises(CellFailed, match="does not let SYSDBA in: there is no such user, or the password is wrong"):
        talk(instance, ledger, CheckPhase(), target=wrong)


def test_an_orderly_end_under_sessions_is_routine_and_a_kill_is_told(make: Make, ledger: Ledger) -> None:
    instance = make()
    instance.start(ledger)
    with closing(begun(instance, ledger)) as events:
        next(filter(runs, events))
        instance.seal()
    assert instance.log_findings() == []
    other = make()
    other.start(ledger)
    assert other.died() is None
    (server,) = processes(other)
    os.kill(server, signal.SIGKILL)
    os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
    assert str(other.died()).startswith("it was killed by signal 9")


def test_a_server_that_is_deaf_to_the_signal_is_killed_only_when_its_database_is_closed(
    make: Make, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.engine.server.HEED_S", 0.5)
    monkeypatch.setattr("acidtest.engine.server.STOP_S", 0.5)
    instance = make()
    instance.start(ledger)
    talk(instance, ledger, LOAD)
    os.kill(processes(instance)[0], signal.SIGSTOP)
    instance.seal()
    assert processes(instance) == []
    busy = make()
    busy.start(ledger)
    with closing(begun(busy, ledger)) as events:
        next(filter(runs, events))
        os.kill(processes(busy)[0], signal.SIGSTOP)
        with pytest.raises(CellFailed, match="did not stop within"):
            busy.seal()
    assert processes(busy) == []


def test_one_that_is_not_here_says_how_it_is_brought(tmp_path: Path) -> None:
    with pytest.raises(MachineLacks, match=r"firebird-3\.0-server is not installed") as lacking:
        FirebirdServer(VERSIONS["3.0"], tmp_path / "none").ready()
    assert lacking.value.remedy == "acidtest engines install firebird-3.0-server"


@pytest.mark.long
def test_one_that_an_older_acidtest_installed_is_brought_again(
    engines_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = catalogue.find("firebird-4.0-server")
    assert isinstance(installed, FirebirdServer)
    here = FirebirdServer(VERSIONS["4.0"], tmp_path / "engines" / "firebird-4.0-server")
    shutil.copytree(installed.home, here.home, symlinks=True)
    manifest = here.folder / debian.MANIFEST
    content = json.loads(manifest.read_text())
    packages = [package for package in content["packages"] if package[0] != "libib-util"]
    manifest.write_text(json.dumps({**content, "asked": [], "packages": packages}))
    with pytest.raises(MachineLacks, match=r"an older acidtest installed it without libib-util") as lacking:
        here.ready()
    assert lacking.value.remedy == "acidtest engines install firebird-4.0-server"
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    here.install(print)
    here.ready()


def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    libraries = tmp_path / "usr" / "lib" / "arm-linux-gnueabihf"
    libraries.mkdir(parents=True)
    header = b"\x7fELF\x01\x01\x01" + bytes(9)  # 32 bits, little-endian; then an executable for ARM of no segments
    content = header + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0, 0, 0, 0, 52, 32, 0, 0, 0, 0)
    for name in ("ld-linux-armhf.so.3", "firebird"):
        (libraries / name).write_bytes(content)
        (libraries / name).chmod(0o755)
    with pytest.raises(MachineLacks, match="firebird-x: this machine does not run programs for arm: Exec format error"):
        check_that_it_runs("firebird-x", tmp_path, libraries / "firebird")


def test_one_that_is_not_whole_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    damaged = FirebirdServer(VERSIONS["4.0"], tmp_path / "home")
    with pytest.raises(MachineLacks, match=r"firebird-4\.0-server is damaged") as lacking:
        damaged.ready()
    assert "acidtest engines remove firebird-4.0-server" in lacking.value.remedy or "package" in lacking.value.remedy
