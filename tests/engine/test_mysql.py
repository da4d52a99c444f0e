"""MySQL's and MariaDB's own: servers that die, ports, accounts, logs, archives. Levels: test_levels; flushes: test_observer."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance, archives, catalogue, install
from acidtest.engine.mysql import engine as module
from acidtest.engine.mysql.instance import MysqlInstance, MysqlTarget, worth_reading
from acidtest.engine.mysql.versions import SETTINGS, VERSIONS, specs_of
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.protocol import LoadPhase
from acidtest.place import Ledger
from rig_jobs import ask, talk
from support import MYSQLS

Adopt = Callable[..., Instance]


@pytest.fixture(scope="module", params=MYSQLS)
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.id)
def test_every_variable_that_a_version_lacks_is_one_that_we_know(version: module.Version) -> None:
    specs = specs_of(version)
    assert not version.lacks & set(specs)
    assert set(specs) - set(SETTINGS) == {"isolation", "connection", "port", "tls"} - version.lacks
    assert len({"innodb_log_file_mb", "innodb_redo_log_capacity_mb"} & set(specs)) == 1


@pytest.mark.parametrize(
    ("engine_id", "settings", "megabytes"),
    [
        ("mysql-9.7", {}, 100),
        ("mysql-9.7", {"innodb_redo_log_capacity_mb": 2048}, 2048),
        ("mysql-8.0", {"innodb_log_file_mb": 1024}, 2048),
        ("mariadb-11.4", {"innodb_log_file_mb": 1024}, 1024),
    ],
)
def test_a_large_log_takes_room(engine_id: str, settings: dict, megabytes: int) -> None:
    assert catalogue.describe(engine_id).log_bytes(settings) == megabytes << 20


@pytest.mark.parametrize(
    "engine", [version.id for version in VERSIONS if version.initializes and version.id in MYSQLS], indirect=True
)
def test_what_initializes_itself_leaves_no_account_but_locked_ones(
    adopt: Adopt, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = adopt()
    introduce: Callable[[Instance], str] = MysqlInstance._introduction
    grant = "grant select on mysql.* to 'acidtest'@'%';\n"
    monkeypatch.setattr(MysqlInstance, "_introduction", lambda self: introduce(self) + grant)
    instance.start(ledger)
    first, *others = ask(instance, ledger, "select user, account_locked from mysql.user order by user")
    assert first == ["acidtest", "N"]
    assert {locked for _, locked in others} == {"Y"}


def test_only_our_user_gets_in(adopt: Adopt, ledger: Ledger) -> None:
    instance = adopt()
    instance.start(ledger)
    assert not (instance.directory / "user.sql").exists()
    for stranger in ({"user": "root", "password": None}, {"user": "", "password": None}, {"password": "wrong"}):
        # MySQL 8.0 and later do not tell whether there is such an account: they ask for a proof in any of their ways.
        with pytest.raises(CellFailed, match=r"Access denied|the server asks for sha256_password"):
            talk(instance, ledger, LoadPhase(), target=instance.target().model_copy(update=stranger))


@pytest.mark.parametrize("engine", ["mysql-9.7"], indirect=True)
def test_sessions_over_tcp_are_let_in_once_the_server_has_seen_the_password_on_its_socket(
    adopt: Adopt, ledger: Ledger
) -> None:
    instance = adopt(connection="tcp")
    instance.start(ledger)
    target = instance.target()
    assert isinstance(target, MysqlTarget)
    assert target.socket is not None
    nowhere = target.model_copy(update={"socket": None})
    with pytest.raises(CellFailed, match="only with TLS or over its Unix socket"):
        talk(instance, ledger, target=nowhere)
    talk(instance, ledger)
    talk(instance, ledger, target=nowhere)  # it is known by now
    with pytest.raises(CellFailed, match="Access denied") as caught:
        talk(instance, ledger, target=target.model_copy(update={"password": "wrong"}))
    assert "wrong" not in caught.value.message


def test_without_a_database_there_is_nothing_to_adopt(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CellFailed, match="there is no database to start from"):
        engine.adopt(tmp_path / "nothing", {}, "os")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("2026-11-21 10:33:01 0 [Note] InnoDB: Using io_uring", False),
        ("2026-11-21 10:33:01 0 [Warning] Could not increase number of max_open_files to more than 20000", False),
        ("2026-11-21 10:33:40 4 [Warning] Aborted connection 4 to db: 'unconnected' user: 'unauthenticated'", False),
        ("2026-11-21 10:33:01 0 [Warning] InnoDB: Retry attempts for writing partial data failed.", True),
        ("2026-11-21 10:33:01 0 [ERROR] mariadbd: Table './x' is marked as crashed", True),
        ("261121 10:48:29 InnoDB: Unrecognized value fdatasync for innodb_flush_method", True),
        ("InnoDB: Error: log file ./ib_logfile0 is of different size", True),
        ("10:33:42 UTC - mysqld got signal 11 ;", True),
        ("InnoDB: Setting log file ./ib_logfile0 size to 5 MB", False),
        ("2026-11-23T06:18:14.657983Z 0 [Warning] 'NO_AUTO_CREATE_USER' sql mode was not set.", False),
        ("2026-11-23T06:18:14.992087Z 0 [Warning] InnoDB: New log files created, LSN=2593519", False),
        ("2026-11-23T06:18:15.158223Z 0 [Warning] 'user' entry 'a@b' ignored in --skip-name-resolve mode.", False),
        ("2026-11-23T06:18:59.548Z 0 [System] [MY-010931] [Server] mysqld: ready for connections.", False),
        ("2026-11-23T06:18:59.548Z 0 [Warning] [MY-010284] [Server] RSA public key file not found: x.", False),
        ("2026-11-23T06:18:59.548Z 0 [Warning] [MY-010139] [Server] Changed limits: max_open_files: 20000", False),
        ("2026-11-23T06:18:59.548Z 0 [Warning] [MY-013865] [InnoDB] Redo log writer is waiting for a new file.", True),
        ("2026-11-23T06:18:59.548Z 1 [ERROR] [MY-012592] [InnoDB] Operating system error number 2.", True),
        ("2026-11-23T06:18:59.548Z 0 [Warning] [MY-010068] [Server] CA certificate ca.pem is self signed.", True),
    ],
)
def test_a_log_shows_what_a_reader_should_see(line: str, kept: bool) -> None:
    assert worth_reading(f"\n{line}\n") == ([line] if kept else [])


def test_an_archive_that_is_none_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bring(group: str, artifact: str, version: str, target_file: Path) -> None:
        with zipfile.ZipFile(target_file, "w") as jar:
            jar.writestr("5-5-9/Linux-x86_64/mysqld", "no program")

    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    monkeypatch.setattr(archives, "maven", bring)
    with pytest.raises(MachineLacks, match=r"mysql-5\.5: its archive is not what it was"):
        catalogue.describe("mysql-5.5").install(print)
    assert not install.home("mysql-5.5").exists()
    assert list((tmp_path / "engines").iterdir()) == []


def test_the_systems_server_is_taken_where_it_is_that_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mariadbd"
    program.write_text(
        "#!/bin/sh\necho 'mariadbd  Ver 11.4.7-MariaDB-deb13 for debian-linux-gnu on x86_64 (Debian 13)'\n"
    )
    program.chmod(0o755)
    for version in VERSIONS:
        for script in version.scripts:
            (tmp_path / script).touch()
    monkeypatch.setattr(module, "SYSTEM_PROGRAM", program)
    monkeypatch.setattr(module, "SYSTEM_SHARES", (tmp_path,))
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    found = {version.id: module.Mysql(version).installation() for version in VERSIONS}
    assert [id for id, files in found.items() if files] == ["mariadb-11.4"]  # noqa: A001
    assert found["mariadb-11.4"] is not None
    assert found["mariadb-11.4"].release == "11.4.7"
