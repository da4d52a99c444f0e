"""Runs over a database that the user has prepared: on a server by URL, or in a file."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.peer import postgres_program

import recording
from acidtest.engine import Engine, catalogue
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import AskPhase
from acidtest.place import Ledger
from recording import CONTENT, SHOP, Ran, shop
from servers import Own, started
from support import journal_lines

SERVERS = ("postgresql-17", pytest.param("mysql-8.0", marks=pytest.mark.long), "mariadb-11.8", "firebird-4.0-server")
OF_DATABASES = ("data", "database.fdb")  # what each family's database consists of
FAILING = (
    ("sh -c 'echo no such dump >&2; exit 3'", "ended with exit code 3: no such dump"),
    ("./not-there --now", "./not-there --now: cannot be run in "),
    ("sh -c 'kill -9 $$'", "was ended by signal 9"),
    ("sleep 600", "has not ended after 0.5 s (statement_limit_s)"),
)
YOURS = "The data is yours: acidtest has not made it"


class Recorded:
    """A log, the database that it began with, and what was there in its end."""

    def __init__(self, engine: Engine, directory: Path, ledger: Ledger) -> None:
        # One terminal: what its log leaves does not depend on times.
        self.logs, self.left = recording.recorded(engine, directory, ledger, shop(terminals=1, count=20))
        self.files = [path for path in (directory / "loaded").iterdir() if path.name in OF_DATABASES]


@pytest.fixture(params=SERVERS)
def prepared(request: pytest.FixtureRequest, tmp_path: Path, ledger: Ledger) -> Iterator[tuple[Own, Recorded]]:
    engine = catalogue.find(request.param)
    log = Recorded(engine, tmp_path / "log", ledger)
    settings: dict[str, Scalar] = {} if engine.family == "firebird" else {"connection": "tcp"}
    with started(engine, log.files, tmp_path / "own", ledger, settings) as own:
        yield own, log


def content(own: Own) -> list[list[list[str | None]]]:
    asked: Ran = recording.drive(shop(), own.instance, own.ledger, [AskPhase(questions=list(CONTENT))])
    return asked.content


def experiment(directory: Path, workload: str, more: str = "", *, engine: str = "mine", repetitions: int = 1) -> Path:
    file = directory / "t.toml"
    file.write_text(
        f'name = "t"\nrepetitions = {repetitions}\nengine = "{engine}"\ndurability = "drive"\n'
        f"[workload.w]\n{workload}\n{more}",
        encoding="utf-8",
    )
    return file


def replay(log: Path, own: Own, directory: Path, keys: str = "", *, repetitions: int = 1) -> Path:
    workload = f'kind = "replay"\npath = "{log}"\nprepared = true\nspeed = 20\n{keys}'
    return experiment(directory, workload, f'[servers.mine]\nurl = "{own.url()}"\n', repetitions=repetitions)


def test_a_log_is_replayed_over_what_the_user_has_prepared_and_nothing_else_is_touched(
    acidtest, prepared: tuple[Own, Recorded], tmp_path: Path
) -> None:
    own, log = prepared
    tables = own.tables()
    file = replay(log.logs[-1], own, tmp_path, f'database = "{SHOP}"')
    planned = acidtest("plan", file, code=0)
    assert YOURS in planned.stdout
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    (first,) = journal_lines(tmp_path / "out")
    assert first["status"] == "done", first["reason"]
    assert (first["load"], first["workload"]["prepared"]) == (None, True)
    assert first["checks_before"]["conditions"] == first["checks_after"]["conditions"] != []
    assert [first["replay"][name] for name in ("errors_new", "errors_missing", "rows_differ", "left_out")] == [0] * 4
    assert any(YOURS in warning["text"] for warning in first["warnings"])
    assert content(own) == log.left.content
    assert own.tables() == tables
    # A second run begins with what the first has left: its purchases are there.
    acidtest("run", file, "--out", tmp_path / "again", code=0)
    (second,) = journal_lines(tmp_path / "again")
    assert second["replay"]["errors_new"] == len(log.left.content[recording.TABLES.index("purchase")]) > 0
    assert own.tables() == tables


@pytest.fixture
def postgres(tmp_path: Path, ledger: Ledger) -> Iterator[tuple[Own, Recorded]]:
    engine = catalogue.find("postgresql-15")
    log = Recorded(engine, tmp_path / "log", ledger)
    with started(engine, log.files, tmp_path / "own", ledger, {"connection": "tcp"}) as own:
        yield own, log


def test_a_command_of_the_users_brings_the_database_back_before_each_run(
    acidtest, postgres: tuple[Own, Recorded], tmp_path: Path
) -> None:
    own, log = postgres
    own.carry_out(*(f"create table kept_{table} as table {table}" for table in recording.TABLES))
    restore = "".join(f"truncate {table}; insert into {table} table kept_{table};\n" for table in recording.TABLES)
    (tmp_path / "restore.sql").write_text(restore)
    # It is run where the experiment lies.
    psql = f"{postgres_program('psql')} -q -v ON_ERROR_STOP=1 -f restore.sql -h {own.host} -p {own.port} "
    psql += f"-U {own.target.user} {own.target.database}"
    file = replay(log.logs[-1], own, tmp_path, f'restore = "{psql}"', repetitions=2)
    ran = acidtest("run", file, "--out", tmp_path / "out", environment={"PGPASSWORD": own.password}, code=0)
    assert own.password not in (tmp_path / "out" / "journal.jsonl").read_text()
    assert "Before each run your command brings it back" in ran.stdout
    recordings = journal_lines(tmp_path / "out")
    assert [recording["status"] for recording in recordings] == ["done", "done"]
    assert [recording["replay"]["errors_new"] for recording in recordings] == [0, 0]
    assert content(own) == log.left.content


def test_a_restore_that_fails_fails_its_cell_in_one_line(
    acidtest, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> None:
    engine = catalogue.find("postgresql-15")
    log = Path(__file__).parents[1] / "logs" / "postgresql.csv"
    with started(engine, sealed(engine), tmp_path / "own", ledger, {"connection": "tcp"}) as own:
        for number, (command, said) in enumerate(FAILING):
            keys = f'restore = "{command}"\nstatement_limit_s = 0.5'
            out = tmp_path / f"out-{number}"
            acidtest("run", replay(log, own, tmp_path, keys), "--out", out, code=3)
            (failed,) = journal_lines(out)
            assert failed["reason"].startswith("restore: ")
            assert said in failed["reason"]
            assert "see whether the server still runs" not in failed["reason"]
            assert failed["result"] is None
            assert own.tables() == "0"


def test_a_server_with_no_table_has_not_been_prepared(
    acidtest, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger
) -> None:
    engine = catalogue.find("mariadb-11.8")
    log = Path(__file__).parents[1] / "logs" / "mariadb-slow.log"
    with started(engine, sealed(engine), tmp_path / "own", ledger, {"connection": "tcp"}) as own:
        ran = acidtest("run", replay(log, own, tmp_path), "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert "servers.mine: the database holds no table, and prepared = true says" in ran.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _in_force(recorded: dict[str, Any], name: str) -> str:
    return next(str(setting["in_force"]) for setting in recorded["settings"] if setting["name"] == name)


def test_a_firebird_file_is_copied_for_each_run_and_stays_as_it_is(acidtest, tmp_path: Path, ledger: Ledger) -> None:
    engine = catalogue.find("firebird-5.0")
    log = Recorded(engine, tmp_path / "log", ledger)
    shutil.copy(log.files[0], tmp_path / "shop.fdb")
    (tmp_path / "shop.fdb").chmod(0o444)
    before = _sum(tmp_path / "shop.fdb")
    workload = f'kind = "replay"\npath = "{log.logs[-1]}"\ndatabase_file = "shop.fdb"\ndatabase = "{SHOP}"\nspeed = 20'
    file = experiment(tmp_path, workload, engine="firebird-5.0", repetitions=2)
    ran = acidtest("run", file, "--out", tmp_path / "out", code=0)
    assert "shop.fdb is yours: acidtest has not made its data. Each run has a copy of it." in ran.stdout
    recordings = journal_lines(tmp_path / "out")
    assert [recording["status"] for recording in recordings] == ["done", "done"]
    for one in recordings:
        seen = one["replay"]
        assert (seen["errors_new"], seen["rows_differ"], seen["left_out"]) == (0, 0, 0)
        assert seen["rows_compared"] > 0
        assert one["workload"]["files"]["shop.fdb"] == before
        assert one["load"] is None
    assert _sum(tmp_path / "shop.fdb") == before
    assert [path.name for path in tmp_path.glob("shop.fdb*")] == ["shop.fdb"]
    # Another engine's series, and another file in its place, are told before anything begins.
    older = acidtest("plan", experiment(tmp_path, workload, engine="firebird-4.0"), code=2)
    assert "whose on-disk structure is 13.1: it opens 13.0" in older.stderr.replace("\n", " ")


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """A SQLite database with pages that are not our default."""
    path = tmp_path / "accounts.db"
    made = sqlite3.connect(path)
    made.executescript("pragma page_size = 8192; create table account (id integer primary key, balance integer);")
    made.executemany("insert into account values (?, 100)", [(number,) for number in range(1, 101)])
    made.commit()
    made.close()
    (tmp_path / "move.sql").write_text(
        "\\set one random(1, 100)\n\\set other random(1, 100)\nbegin;\n"
        "update account set balance = balance - 1 where id = :one;\n\\expect 1\n"
        "update account set balance = balance + 1 where id = :other;\n\\expect 1\ncommit;\n"
    )
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "conditions.sql").write_text(
        "-- No money is lost.\nselect sum(balance) from account having sum(balance) <> 10000;\n"
    )
    return path


SCRIPT = 'kind = "sql"\npath = "move.sql"\ndatabase_file = "accounts.db"\ncount = 50\nterminals = 2'


@pytest.mark.parametrize("mode", ["wal", pytest.param("delete", marks=pytest.mark.long)])
def test_a_script_runs_over_copies_of_a_sqlite_file(acidtest, accounts: Path, tmp_path: Path, mode: str) -> None:
    before = _sum(accounts)
    settings = f'[settings.sqlite]\njournal_mode = "{mode}"\n'
    for number, (keys, checked) in enumerate([("", 0), ('database = "bank"', 1)]):
        file = experiment(tmp_path, f"{SCRIPT}\n{keys}", settings, engine="sqlite", repetitions=2)
        out = tmp_path / f"out-{number}"
        ran = acidtest("run", file, "--out", out, code=0)
        assert ("No condition is checked" in ran.stdout) == (not checked)
        for line in journal_lines(out):
            assert line["status"] == "done", line["reason"]
            assert line["result"]["counts"]["committed"] == 50
            assert len(line["checks_after"]["conditions"]) == checked
            assert _in_force(line, "page_size") == "8192"
    assert _sum(accounts) == before
    assert not list(tmp_path.glob("accounts.db-*"))


def test_a_condition_that_does_not_hold_makes_its_cell_invalid(acidtest, accounts: Path, tmp_path: Path) -> None:
    (tmp_path / "move.sql").write_text("update account set balance = balance + 1 where id = 1;\n")
    file = experiment(tmp_path, f'{SCRIPT}\ndatabase = "bank"', engine="sqlite")
    acidtest("run", file, "--out", tmp_path / "out", code=1)
    (one,) = journal_lines(tmp_path / "out")
    assert one["reason"].startswith('consistency after the run: "No money is lost." does not hold')


def test_a_file_that_is_no_whole_database_is_refused(acidtest, accounts: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, SCRIPT, engine="sqlite")

    def refused(command: str = "plan") -> str:
        more = ("--out", tmp_path / "out") if command == "run" else ()
        ran = acidtest(command, file, *more)
        assert ran.returncode in (2, 3), (ran.stdout, ran.stderr)
        assert "Traceback" not in ran.stderr
        return (ran.stderr if ran.returncode == 2 else ran.stdout).replace("\n", " ")

    with sqlite3.connect(accounts) as open_:
        open_.execute("pragma journal_mode = wal")
        open_.execute("update account set balance = 0")
        open_.commit()
        assert "accounts.db-wal beside it holds commits that are not in the file yet" in refused()
        open_.execute("pragma journal_mode = delete")
        assert "another program has it open" in refused("run")
    open_.close()
    accounts.write_bytes(b"no database" * 100)
    assert "is no database file of SQLite or Firebird" in refused()
    accounts.unlink()
    assert "accounts.db: is missing" in refused()


def test_a_file_that_has_changed_since_the_run_began_is_another_experiment(
    acidtest, accounts: Path, tmp_path: Path
) -> None:
    file = experiment(tmp_path, SCRIPT, engine="sqlite")
    assert acidtest("run", file, "--out", tmp_path / "out").returncode == 0
    changed = sqlite3.connect(accounts)
    changed.execute("update account set balance = 7 where id = 7")
    changed.commit()
    changed.close()
    again = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "accounts.db" in again.stderr


def test_what_is_prepared_is_for_its_own_kind_of_engine(acidtest, accounts: Path, tmp_path: Path) -> None:
    for engine in ("firebird-5.0", "postgresql-17"):
        ran = acidtest("plan", experiment(tmp_path, SCRIPT, engine=engine), code=2)
        assert f"{engine}: cannot open" in ran.stderr.replace("\n", " ")
    script = SCRIPT.replace('database_file = "accounts.db"', "prepared = true")
    ran = acidtest("plan", experiment(tmp_path, script, engine="sqlite"), code=2)
    assert "sqlite: makes its databases itself, and prepared = true is for" in ran.stderr.replace("\n", " ")
    server = '[servers.mine]\nurl = "postgresql://me@127.0.0.1:1/mine"\n'
    ran = acidtest("plan", experiment(tmp_path, SCRIPT, server), code=2)
    assert "mine: is a server by URL, and acidtest puts no file there" in ran.stderr.replace("\n", " ")


def test_json_tells_whose_the_data_is(acidtest, accounts: Path, tmp_path: Path) -> None:
    ran = acidtest("run", experiment(tmp_path, SCRIPT, engine="sqlite"), "--out", tmp_path / "out", "--json", code=0)
    assert "own-data" in json.dumps(json.loads(ran.stdout))
