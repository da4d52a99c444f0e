"""Servers through the command: private ones, one that dies, one that is the user's own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import experiment as experiment_
from acidtest import plan
from acidtest.conductor.run import run
from acidtest.engine import Engine, catalogue, tls
from acidtest.engine.firebird.engine import FirebirdTarget
from acidtest.engine.foreign import MARK
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Progress
from acidtest.place import Ledger
from servers import Own, started
from support import journal_lines

OLDER = pytest.param("firebird-3.0-server", marks=pytest.mark.long)
FOREIGN = ("postgresql-15", "mariadb-10.11", "firebird-4.0-server", OLDER)
WITH_TLS = FOREIGN[:2]
WITH_WIRE = FOREIGN[2:]
NONE = "has no such setting"


@pytest.mark.parametrize(
    "engines",
    [
        ("sqlite", "firebird-5.0", "postgresql-15", "mariadb-10.11"),
        pytest.param(("firebird-3.0-server", "mysql-5.5", "mysql-9.7"), marks=pytest.mark.long),
    ],
    ids=["one of a family", "others"],
)
def test_every_engine_runs_tpcc_and_all_conditions_hold(acidtest, tmp_path: Path, engines: tuple[str, ...]) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 1\ndurability = "os"\n[factors]\nengine = {json.dumps(engines)}\n'
        "[workload.tpcc]\nwarehouse_percent = 3\nterminals = 3\ncount = 400\n"  # few deliveries: orders never run out
    )
    ran = acidtest("run", file, "--out", tmp_path / "out", timeout=800, code=0)
    recordings = journal_lines(tmp_path / "out")
    assert {r["engine"]["id"] for r in recordings} == {*engines}
    for recording in recordings:
        assert recording["status"] == "done", recording["reason"]
        for checks in (recording["checks_before"], recording["checks_after"]):
            assert len([c for c in checks["conditions"] if c["name"].startswith("condition_")]) == 12
        assert recording["load"]["rows"] > 14_000
        kinds = {kind["name"]: kind for kind in recording["result"]["kinds"]}
        assert kinds["new_order"]["committed"] > 0
    assert "new-order" in ran.stdout


@pytest.mark.parametrize(
    ("engine", "pid_file"),
    [
        ("postgresql-15", "data/postmaster.pid"),
        pytest.param("mariadb-10.11", "server.pid", marks=pytest.mark.long),
    ],
)
def test_a_server_that_dies_in_mid_run_makes_its_cell_invalid_and_the_next_one_runs(
    acidtest, tmp_path: Path, engine: str, pid_file: str
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 2\nengine = "{engine}"\ndurability = "os"\n[workload.commits]\nduration_s = 4\n'
    )
    out = tmp_path / "out"
    killed: list[plan.Cell] = []

    def kill_once(cell: plan.Cell, event: Progress) -> None:
        """Kill the server of the first cell when the first news come from its run."""
        if event.phase == "run" and not killed:
            killed.append(cell)
            (found,) = out.glob(f"acidtest-*/cell/{pid_file}")
            os.kill(int(found.read_text().split()[0]), signal.SIGKILL)

    run(plan.make(experiment_.read(file)), file, out, Mock(progress=kill_once))
    acidtest("run", file, "--out", out, code=1)
    first, second = journal_lines(out)
    assert first["status"] == "invalid"
    assert first["reason"].startswith("the server died in mid-run: it was killed by signal 9; its log ends: ")
    assert second["status"] == "done"
    assert [p.name for p in out.iterdir() if p.name.startswith("acidtest-")] == []


def test_a_port_that_is_taken_fails_the_cell_by_name(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        file.write_text(
            'name = "t"\nrepetitions = 1\nengine = "postgresql-15"\ndurability = "os"\n[workload.commits]\ncount = 5\n'
            f'[settings.postgresql]\nconnection = "tcp"\nport = {port}\n'
        )
        ran = acidtest("run", file, "--out", tmp_path / "out")
    assert ran.returncode == 3
    (recording,) = journal_lines(tmp_path / "out")
    assert f"port {port} of 127.0.0.1 is taken" in recording["reason"]


# ------------------------------------------------------------------------------------------------ by URL


@pytest.fixture(scope="module", params=FOREIGN)
def own(
    request: pytest.FixtureRequest, sealed: Callable[[Engine], list[Path]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Own]:
    """One server of each engine for all tests; each of them leaves an empty database."""
    engine = catalogue.find(request.param)
    settings: dict[str, Scalar] = {} if engine.family == "firebird" else {"connection": "tcp"}
    ledger = Ledger()
    try:
        with started(engine, sealed(engine), tmp_path_factory.mktemp("server") / "own", ledger, settings) as made:
            yield made
    finally:
        ledger.close()


@pytest.fixture(params=WITH_TLS)
def encrypted(
    request: pytest.FixtureRequest, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> Iterator[Own]:
    settings: dict[str, Scalar] = {"connection": "tcp", "tls": True}
    engine = catalogue.find(request.param)
    with started(engine, sealed(engine), tmp_path / "own", ledger, settings) as made:
        yield made


def experiment(tmp_path: Path, url: str, *, durability: str = "drive", schema: str = "") -> Path:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 2\nengine = "mine"\ndurability = "{durability}"\n[workload.commits]\ncount = 20\n'
        f'[servers.mine]\nurl = "{url}"\n{schema}'
    )
    return file


def test_a_server_by_url_is_loaded_measured_and_left_as_it_was(acidtest, tmp_path: Path, own: Own) -> None:
    ran = acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out", code=0)
    recordings = journal_lines(tmp_path / "out")
    assert [r["status"] for r in recordings] == ["done", "done"]
    assert all([w["code"] for w in r["warnings"]] == ["not-verified"] for r in recordings)
    assert all(r["place"]["kind"] == "server" for r in recordings)
    assert "own, which acidtest cannot see" in " ".join(ran.stdout.split())
    if own.family == "firebird":
        figures = [
            {counter["name"]: counter["sessions"] for counter in recording["engine_counts"]["counters"]}
            for recording in recordings
        ]
        assert [figure["record_inserts"] for figure in figures] == [20, 20]
    assert own.tables() == "0"
    written = (tmp_path / "out" / "journal.jsonl").read_text() + (tmp_path / "out" / "report.html").read_text()
    assert own.password not in written + ran.stdout + ran.stderr


def test_a_server_by_url_is_encrypted_and_verified_or_refused(acidtest, tmp_path: Path, encrypted: Own) -> None:
    mode, verified, ca = {
        "postgresql": ("sslmode", "verify-full", "sslrootcert"), "mysql": ("ssl-mode", "VERIFY_IDENTITY", "ssl-ca"),
    }[encrypted.family]  # fmt: skip
    assert not isinstance(encrypted.target, FirebirdTarget)
    assert encrypted.target.tls is not None
    trusted = encrypted.target.tls.ca
    ran = acidtest(
        "run",
        experiment(tmp_path, f"{encrypted.url()}?{mode}={verified}&{ca}={trusted}"),
        "--out",
        tmp_path / "out",
        code=0,
    )
    recordings = journal_lines(tmp_path / "out")
    assert [r["status"] for r in recordings] == ["done", "done"]
    for recording in recordings:
        settings = {setting["name"]: setting for setting in recording["settings"]}
        assert settings["tls"]["in_force"] == "true"
        assert settings["tls"]["source"].endswith("; the server verified by tls-ca.pem")
        assert settings["tls_cipher"]["in_force"]
    written = "".join(path.read_text() for path in (tmp_path / "out").iterdir() if path.suffix in (".jsonl", ".html"))
    assert encrypted.password not in written
    assert "PRIVATE KEY" not in written

    (tmp_path / "other").mkdir()
    other = tls.make(tmp_path / "other", "127.0.0.1").ca
    file = experiment(tmp_path, f"{encrypted.url()}?{mode}={verified}&{ca}={other}")
    ran = acidtest("run", file, "--out", tmp_path / "not", code=2)
    text = f"servers.mine: TLS: the server's certificate is not signed by a CA of {other}"
    assert text in " ".join(ran.stderr.split()), ran.stderr
    assert len(ran.stderr.splitlines()) == 2
    assert encrypted.password not in ran.stderr


@pytest.mark.parametrize("encrypts", [True, False], ids=["encrypts", "does not"])
@pytest.mark.parametrize("name", WITH_WIRE)
def test_a_firebird_by_url_is_encrypted_and_compressed_or_refused(
    acidtest, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger, name: str, encrypts: bool
) -> None:
    engine = catalogue.find(name)
    with started(engine, sealed(engine), tmp_path / "own", ledger, {"wire_crypt": encrypts}) as own:
        (own.instance.directory / "server" / "databases.conf").write_text(f"bench = {own.target.database}\n")
        word, other = ("Required", "Disabled") if encrypts else ("Disabled", "Required")
        url = own.url(database="bench")
        file = experiment(tmp_path, f"{url}?wireCrypt={word}&wireCompression=true")
        ran = acidtest("run", file, "--out", tmp_path / "out", code=0)
        for recording in journal_lines(tmp_path / "out"):
            settings = {setting["name"]: setting for setting in recording["settings"]}
            for setting, said in (("wire_crypt", str(encrypts).lower()), ("wire_compression", "true")):
                found = settings[setting]
                assert (found["asked"], found["in_force"], found["agrees"]) == (said, said, True)
            plugin = settings.get("wire_crypt_plugin")
            assert bool(plugin) == (encrypts and name == "firebird-4.0-server")  # 3.0 does not tell it
            assert settings["client_version"]["in_force"]
            assert recording["engine"]["source"].endswith("/bench")
        assert own.tables() == "0"
        ran = acidtest("run", experiment(tmp_path, f"{url}?wireCrypt={other}"), "--out", tmp_path / "not")
        said = "one side demands that the wire is encrypted, and the other refuses it (WireCrypt)"
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 2), ran.stderr
        assert f"servers.mine: 127.0.0.1:{own.port}: {said}" in ran.stderr


@pytest.mark.parametrize("own", WITH_WIRE, indirect=True)
def test_a_user_without_rights_sees_what_the_own_sessions_counted(acidtest, tmp_path: Path, own: Own) -> None:
    own.ask("select 1 from rdb$database", "create user ann password 'ann'", "grant create table to user ann")
    url = own.url("ann").replace("SYSDBA", "ann")
    acidtest("run", experiment(tmp_path, url), "--out", tmp_path / "seen", code=0)
    for recording in journal_lines(tmp_path / "seen"):  # everybody sees the own sessions
        counts = recording["engine_counts"]
        assert counts["not_counted"] is None
        (inserts,) = [counter for counter in counts["counters"] if counter["name"] == "record_inserts"]
        # Whether the server's sessions share one cache, and so counters of the database, such a user cannot see.
        assert (inserts["sessions"], inserts["database"]) == (20, None)
    own.carry_out("revoke create table from user ann", "drop user ann")


@pytest.mark.parametrize("own", WITH_WIRE[:1], indirect=True)
def test_a_firebird_that_cannot_be_used_is_refused_in_one_line(acidtest, tmp_path: Path, own: Own) -> None:
    nowhere = own.url().replace(own.host, "no-such-host.invalid")
    notes = tmp_path / "notes.txt"
    notes.write_text("no database\n" * 10_000)
    own.ask("select 1 from rdb$database", "create sequence precious")
    for url, said in (
        (own.url("wrong"), "the server does not let SYSDBA in: there is no such user, or the password is wrong"),
        (own.url().replace(f":{own.password}", ""), "or the password is wrong"),
        (nowhere, f"no-such-host.invalid:{own.port}: no host of this name is known"),
        (own.url().replace(f":{own.port}/", ":1/"), "127.0.0.1:1: no Firebird server answers there"),
        (own.url(database="no_such_alias"), 'the server has no database or alias "no_such_alias"'),
        (own.url(database=f"{tmp_path}/none.fdb"), f'the server has no database or alias "{tmp_path}/none.fdb"'),
        (own.url(database=str(notes)), "is not a valid database"),
        (own.url(), "the database holds other objects (sequence PRECIOUS): name one that is empty"),
    ):
        ran = acidtest("run", experiment(tmp_path, url), "--out", tmp_path / "out", code=2)
        assert said in ran.stderr
        assert len(ran.stderr.splitlines()) <= 2
        assert own.password not in ran.stderr
    assert own.ask("select count(*) from rdb$generators where rdb$system_flag = 0") == "1"
    own.carry_out("drop sequence precious")


def test_a_firebird_by_url_needs_a_client_library(acidtest, tmp_path: Path) -> None:
    file = experiment(tmp_path, "firebird://me@127.0.0.1/test")
    ran = acidtest(
        "run", file, "--out", tmp_path / "out", environment={"ACIDTEST_HOME": str(tmp_path / "home")}, code=4
    )
    assert "acidtest engines install firebird-5.0" in ran.stderr


def test_what_the_server_does_not_have_is_refused_once_before_the_first_cell(
    acidtest, tmp_path: Path, own: Own
) -> None:
    demands = {
        "postgresql": ("fsync = false", ("work_mem_mb", 77, "has 4"), ("io_method", "sync", NONE)),
        "mysql": (
            "innodb_flush_log_at_trx_commit = 2",
            ("sort_buffer_mb", 77, "has 2"),
            ("innodb_data_file_buffering", True, NONE),
        ),
        "firebird": (
            "forced_writes = false",
            ("page_buffers", 777, "has 2048"),
            ("deadlock_timeout_s", 77, "has "),  # 10, or no answer
        ),
    }
    of_level, *of_settings = demands[own.family]
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value, _ in of_settings)
    file = experiment(tmp_path, own.url(), durability="os", schema=f"[settings.{own.family}]\n{settings}")
    ran = acidtest("run", file, "--out", tmp_path / "out", code=2)
    lines = ran.stderr.splitlines()
    asked, has = (
        f'{file}: level os needs {of_level}; server "mine" has',
        "ask for durability drive, or set it so",
    )
    assert [asked in line for line in lines].count(True) == 1
    assert [has in line for line in lines].count(True) == 1
    for name, value, found in of_settings:
        wanted = f'{own.family}.{name} = {str(value).lower()} is asked for; server "mine" {found}'
        assert [wanted in line for line in lines].count(True) == 1, lines
    assert lines[-1].strip() == "3 errors"
    assert not (tmp_path / "out").exists()


def test_a_wrong_password_is_refused_before_anything_runs(acidtest, tmp_path: Path, own: Own) -> None:
    ran = acidtest("run", experiment(tmp_path, own.url("wrong")), "--out", tmp_path / "out", code=2)
    assert "servers.mine" in ran.stderr
    assert "password" in ran.stderr
    assert len(ran.stderr.splitlines()) == 2


def test_a_database_that_holds_other_tables_is_refused_and_not_touched(acidtest, tmp_path: Path, own: Own) -> None:
    make = ["create schema precious", "create table precious.t (a int)"] if own.family == "postgresql" else []
    own.ask(
        f"select 1{' from rdb$database' if own.family == 'firebird' else ''}",
        *(make or ["create table precious (a int)"]),
    )
    ran = acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out", code=2)
    assert "holds other tables" in ran.stderr
    assert "precious" in ran.stderr.lower()
    assert own.tables() == "1"
    if own.family == "postgresql":  # a schema that is named keeps apart what is ours
        acidtest("run", experiment(tmp_path, own.url(), schema='schema = "ours"\n'), "--out", tmp_path / "out", code=0)
        assert own.tables() == "1"
        ran = acidtest(
            "run", experiment(tmp_path, own.url(), schema='schema = "precious"\n'), "--out", tmp_path / "p", code=2
        )
        assert "was not made by acidtest" in ran.stderr
        own.carry_out("drop schema precious cascade")
    else:
        own.carry_out("drop table precious")
    assert own.tables() == "0"


@pytest.mark.parametrize(
    "own",
    ["mysql-5.5", *(pytest.param(engine, marks=pytest.mark.long) for engine in ("mariadb-10.11", "mysql-9.7"))],
    indirect=True,
)
def test_however_many_tables_a_mysql_database_holds_all_are_seen(acidtest, tmp_path: Path, own: Own) -> None:
    names = [
        f"{number:03}_{'a name of some length ' * 3}"[:60].strip() for number in range(60)
    ]  # longer than an answer of MySQL's
    own.ask("select 1", *(f"create table `{name}` (a int)" for name in names))
    ran = acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out", code=2)
    assert "and 55 more" in ran.stderr
    assert own.tables() == "60"
    # With the mark they are what a run that was killed has left; it must not be looked for in vain.
    own.ask(
        "select 1",
        f"create table {MARK} (id integer)",
        "create procedure `left over` () begin end",
        "create function left_too () returns int deterministic return 1",
    )
    acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out", code=0)
    assert own.tables() == "0"
    assert own.ask("select count(*) from information_schema.routines where routine_schema = database()") == "0"


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH_9.2\r\n"], ids=["nothing", "ssh"])
def test_what_is_no_firebird_is_told_in_one_line(
    acidtest, engines_installed: None, tmp_path: Path, says: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as client:
                        client.sendall(says)
                        client.recv(1 << 16)

        threading.Thread(target=answer, daemon=True).start()
        ran = acidtest("run", experiment(tmp_path, f"firebird://a:b@127.0.0.1:{port}/c"), "--out", tmp_path / "out")
        server.shutdown(socket.SHUT_RDWR)
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 2), ran.stderr
    assert f"servers.mine: 127.0.0.1:{port}: what answers there is no Firebird server, or older than" in ran.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle://a@b/c", 'scheme "oracle" is not known'),
        ("postgresql://a@b", "names no database"),
        ("postgresql://b/c", "names no user"),
        ("mysql://a@b:none/c", "is no URL"),
        ("postgresql://a@127.0.0.1:1/c", "127.0.0.1:1"),
        ("firebird://a@b", "names no database"),
        ("firebird://a@127.0.0.1:1/c", "127.0.0.1:1"),
    ],
)
def test_a_url_that_leads_nowhere(acidtest, tmp_path: Path, url: str, said: str) -> None:
    ran = acidtest("run", experiment(tmp_path, url), "--out", tmp_path / "out")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 2), ran.stderr
    assert said in ran.stderr
