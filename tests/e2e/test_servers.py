"""Servers through the command: private ones, one that dies, one that is the user's own."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import conductor, plan
from acidtest import experiment as experiment_
from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance, catalogue
from acidtest.engine.mysql.target import MysqlTarget
from acidtest.engine.postgres.target import PostgresTarget
from acidtest.journal.protocol import Inspection, Job, Progress, Settings
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.commits import CommitsWorkload
from support import journal_lines

SERVERS = ("postgresql-15", "mariadb-10.11", "mysql-5.5", "firebird-3.0-server")
FOREIGN = ("postgresql-15", "mariadb-10.11")


def test_every_engine_runs_tpcc_and_all_conditions_hold(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    engines = json.dumps([*SERVERS, "sqlite", "firebird-5.0"])
    file.write_text(
        f'name = "t"\nrepetitions = 1\ndurability = "os"\n[factors]\nengine = {engines}\n'
        "[workload.tpcc]\nwarehouse_percent = 10\nterminals = 3\nduration_s = 2\n"
    )
    ran = acidtest("run", file, "--out", tmp_path / "out", timeout=800)
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    recordings = journal_lines(tmp_path / "out")
    assert {r["engine"]["id"] for r in recordings} == {*SERVERS, "sqlite", "firebird-5.0"}
    for recording in recordings:
        assert recording["status"] == "done", recording["reason"]
        for checks in (recording["checks_before"], recording["checks_after"]):
            assert len([c for c in checks["conditions"] if c["name"].startswith("condition_")]) == 12
        assert recording["load"]["rows"] > 49_000
        kinds = {kind["name"]: kind for kind in recording["result"]["kinds"]}
        assert kinds["new_order"]["committed"] > 0
    assert "new-order" in ran.stdout


@pytest.mark.parametrize(
    ("engine", "pid_file"), [("postgresql-15", "data/postmaster.pid"), ("mariadb-10.11", "server.pid")]
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

    conductor.run(plan.make(experiment_.read(file)), file, out, Mock(progress=kill_once))
    ran = acidtest("run", file, "--out", out)
    assert ran.returncode == 1, (ran.stdout, ran.stderr)
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


def test_an_engine_that_is_not_here_says_how_it_is_installed(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        'name = "t"\nrepetitions = 1\nengine = "postgresql-12"\ndurability = "os"\n[workload.commits]\ncount = 5\n'
    )
    ran = acidtest("run", file, "--out", tmp_path / "out", environment={"ACIDTEST_HOME": str(tmp_path / "home")})
    assert ran.returncode == 4
    assert "acidtest engines install postgresql-12" in ran.stderr


# ------------------------------------------------------------------------------------------------ by URL


class Own:
    """A server that plays the user's own, with one database and its user."""

    def __init__(self, instance: Instance, ledger: Ledger) -> None:
        self.instance = instance
        self.ledger = ledger
        target = instance.target()
        assert isinstance(target, PostgresTarget | MysqlTarget)
        self.target = target
        self.family = "postgresql" if isinstance(target, PostgresTarget) else "mysql"

    def url(self, password: str | None = None) -> str:
        at = self.target
        return f"{self.family}://{at.user}:{password or at.password}@{at.host}:{at.port}/{at.database}"

    def ask(self, question: str, *statements: str) -> str | None:
        """Carry out ``statements`` and answer ``question``."""
        target = self.target.model_copy(update={"setup": list(statements)})
        inspect = [Inspection(name="answer", sql=question)]
        job = Job(seed=1, target=target, workload=CommitsWorkload(row_bytes=1), inspect=inspect, phases=[])
        events = converse(job, self.ledger, self.instance.environment())
        return next(event.values[0].value for event in events if isinstance(event, Settings))

    def tables(self) -> str | None:
        hidden = "('pg_catalog', 'information_schema')"
        which = f"table_schema not in {hidden}" if self.family == "postgresql" else "table_schema = database()"
        return self.ask(f"select count(*) from information_schema.tables where {which}")


@pytest.fixture(params=FOREIGN)
def own(
    request: pytest.FixtureRequest, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> Iterator[Own]:
    engine = catalogue.find(request.param)
    directory = tmp_path / "own"
    directory.mkdir()
    for path in sealed(engine):
        copy_tree(path, directory / path.name)
    instance = engine.adopt(directory, {"connection": "tcp"}, "drive")
    instance.start(ledger)
    yield Own(instance, ledger)
    instance.release()


def experiment(tmp_path: Path, url: str, *, durability: str = "drive", schema: str = "") -> Path:
    file = tmp_path / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = 2\nengine = "mine"\ndurability = "{durability}"\n[workload.commits]\ncount = 20\n'
        f'[servers.mine]\nurl = "{url}"\n{schema}'
    )
    return file


def test_a_server_by_url_is_loaded_measured_and_left_as_it_was(acidtest, tmp_path: Path, own: Own) -> None:
    ran = acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out")
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    recordings = journal_lines(tmp_path / "out")
    assert [r["status"] for r in recordings] == ["done", "done"]
    assert all([w["code"] for w in r["warnings"]] == ["not-verified"] for r in recordings)
    assert all(r["place"]["kind"] == "server" for r in recordings)
    assert "own, which acidtest cannot see" in ran.stdout
    assert own.tables() == "0"
    written = (tmp_path / "out" / "journal.jsonl").read_text() + (tmp_path / "out" / "report.html").read_text()
    assert str(own.target.password) not in written


def test_what_the_server_does_not_have_is_refused_once_before_the_first_cell(
    acidtest, tmp_path: Path, own: Own
) -> None:
    demands = {
        "postgresql": ("fsync = false", ("work_mem_mb", 77, "4"), ("io_method", "sync", None)),
        "mysql": (
            "innodb_flush_log_at_trx_commit = 2",
            ("sort_buffer_mb", 77, "2"),
            ("innodb_data_file_buffering", True, None),
        ),
    }
    of_level, *of_settings = demands[own.family]
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value, _ in of_settings)
    file = experiment(tmp_path, own.url(), durability="os", schema=f"[settings.{own.family}]\n{settings}")
    ran = acidtest("run", file, "--out", tmp_path / "out")
    assert ran.returncode == 2, (ran.stdout, ran.stderr)
    lines = ran.stderr.splitlines()
    asked, has = (
        f"{file}: {of_level} is demanded of mine by durability os, which has",
        "ask for durability drive, or set it so",
    )
    assert [asked in line for line in lines].count(True) == 1
    assert [has in line for line in lines].count(True) == 1
    for name, value, there in of_settings:
        found = f"has {there}" if there else "has no such setting"
        wanted = f"{own.family}.{name} = {str(value).lower()} is demanded of mine, which {found}"
        assert [wanted in line for line in lines].count(True) == 1, lines
    assert lines[-1].strip() == "3 errors"
    assert not (tmp_path / "out").exists()


def test_a_wrong_password_is_refused_before_anything_runs(acidtest, tmp_path: Path, own: Own) -> None:
    ran = acidtest("run", experiment(tmp_path, own.url("wrong")), "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert "servers.mine" in ran.stderr
    assert "password" in ran.stderr
    assert len(ran.stderr.splitlines()) == 2


def test_a_database_that_holds_other_tables_is_refused_and_not_touched(acidtest, tmp_path: Path, own: Own) -> None:
    make = ["create schema precious", "create table precious.t (a int)"] if own.family == "postgresql" else []
    own.ask("select 1", *(make or ["create table precious (a int)"]))
    ran = acidtest("run", experiment(tmp_path, own.url()), "--out", tmp_path / "out")
    assert ran.returncode == 2, (ran.stdout, ran.stderr)
    assert "holds other tables" in ran.stderr
    assert "precious" in ran.stderr
    assert own.tables() == "1"
    if own.family == "postgresql":  # a schema that is named keeps apart what is ours
        ran = acidtest("run", experiment(tmp_path, own.url(), schema='schema = "ours"\n'), "--out", tmp_path / "out")
        assert ran.returncode == 0, (ran.stdout, ran.stderr)
        assert own.tables() == "1"
        ran = acidtest("run", experiment(tmp_path, own.url(), schema='schema = "precious"\n'), "--out", tmp_path / "p")
        assert ran.returncode == 2
        assert "was not made by acidtest" in ran.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle://a@b/c", 'scheme "oracle" is not known'),
        ("postgresql://a@b", "names no database"),
        ("postgresql://b/c", "names no user"),
        ("mysql://a@b:none/c", "is no URL"),
        ("postgresql://a@127.0.0.1:1/c", "127.0.0.1:1"),
    ],
)
def test_a_url_that_leads_nowhere(acidtest, tmp_path: Path, url: str, said: str) -> None:
    ran = acidtest("run", experiment(tmp_path, url), "--out", tmp_path / "out")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 2), ran.stderr
    assert said in ran.stderr
