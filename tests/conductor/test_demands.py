"""What is demanded of a server by URL: what it can never show is refused, what it does not have is refused once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest import conductor, experiment, plan
from acidtest.conductor import foreign
from acidtest.engine import Engine, catalogue
from acidtest.engine.foreign import MARK, OF_SESSIONS, OF_URLS, Address, ForeignServer
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment.models import Wire
from acidtest.journal.protocol import Event, Job, Setting, Settings
from acidtest.place import Ledger

FAMILIES = sorted(catalogue.SERVERS)
ANSWERS = {
    "postgresql": {
        "fsync": "on", "synchronous_commit": "on", "work_mem": "4096 kB", "shared_buffers": "131072 8kB",
        "transaction_isolation": "read committed", "max_wal_size": "1048576 MB",
    },
    "mysql": {
        "innodb_flush_log_at_trx_commit": "1", "sort_buffer_size": "2097152", "log_bin": "OFF", "sync_binlog": "0",
        "transaction_isolation": "READ-COMMITTED",
    },
    "firebird": {
        "engine_version": "4.0.7", "mon$forced_writes": "1", "mon$page_buffers": "2048", "mon$page_size": "8192",
        "mon$isolation_mode": "4", "mon$lock_timeout": "-1", "ServerMode": "Super", "DeadlockTimeout": "10",
        "wire_crypt": "TRUE", "wire_compression": "FALSE",
    },
}  # fmt: skip


def server(family: str) -> ForeignServer:
    return catalogue.server("mine", family, Address("db", 1, "me", None, "test", None))


def another(engine: Engine, name: str) -> Any:
    """A value that the setting takes."""
    spec = engine.setting_specs()[name]
    return spec.allowed[0] if spec.allowed else spec.minimum


@pytest.mark.parametrize("family", FAMILIES)
def test_every_setting_is_read_back_or_refused(family: str) -> None:
    engine = server(family)
    refused = []
    for name in engine.setting_specs():
        value = another(engine, name)
        try:
            engine.check_settings({name: value})
        except BadInput as error:
            assert f"mine: {family}.{name}" in error.message
            assert error.remedy == f"leave {name} out"
            refused.append(name)
            continue
        instance = engine.adopt(Path(), {name: value}, "drive")
        found = {
            setting_in_force.name: setting_in_force
            for setting_in_force in instance.settings_in_force([Settings(event="settings", terminal=None, values=[])])
        }
        # A server that says nothing does not have it, unless it is acidtest's own session that has it.
        assert name in OF_SESSIONS or found[name].is_wrong, name
    assert sorted(refused) == sorted(set(OF_URLS) & set(engine.setting_specs()))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_setting_of_no_table_is_refused(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = server(family)
    name = next(iter(engine.setting_specs()))
    monkeypatch.setattr(type(engine), "demandable", type(engine).demandable - {name})
    with pytest.raises(BadInput, match=f"mine: {family}.{name}: a server by URL does not tell it") as caught:
        engine.check_settings({name: another(engine, name)})
    assert caught.value.remedy == f"leave {name} out"


@pytest.mark.parametrize(
    ("family", "level", "settings"),
    [
        ("postgresql", "drive", {"fsync": False}),
        ("postgresql", "os", {"synchronous_commit": "off"}),
        ("mysql", "drive", {"innodb_flush_log_at_trx_commit": 2}),
        ("mysql", "drive", {"sync_binlog": 0}),
        ("mysql", "drive", {"innodb_flush_method": "nosync"}),
        ("firebird", "drive", {"forced_writes": False}),
        ("firebird", "os", {"forced_writes": True}),
    ],
)
def test_a_setting_against_the_level_is_refused(family: str, level: str, settings: Mapping[str, Any]) -> None:
    engine = server(family)
    engine.check_settings(settings)
    with pytest.raises(BadInput, match=f"mine: {next(iter(settings))} = .* contradicts durability {level}"):
        engine.durability(level, settings)


def test_what_any_version_takes_is_taken_of_a_server() -> None:
    engine = server("mysql")
    for settings in (
        {"innodb_flush_method": "O_DIRECT_NO_FSYNC"},
        {"innodb_doublewrite": "fast"},
        {"innodb_log_file_mb": 100_000},
    ):
        engine.check_settings(settings)


def test_large_sizes_are_read_back_to_the_last_digit() -> None:
    instance = server("postgresql").adopt(Path(), {"max_wal_size_mb": 1 << 20}, "drive")
    found = {
        setting_in_force.name: setting_in_force
        for setting_in_force in instance.settings_in_force([answered("postgresql")])
    }
    assert (found["max_wal_size_mb"].in_force, found["max_wal_size_mb"].agrees) == ("1048576", True)


def answered(family: str, **other: str) -> Settings:
    values = [Setting(name=name, value=value) for name, value in {**ANSWERS[family], **other}.items()]
    return Settings(event="settings", terminal=None, values=values)


def test_a_binary_log_must_be_flushed_at_level_drive() -> None:
    instance = server("mysql").adopt(Path(), {}, "drive")

    def wrong(**other: str) -> list[str]:
        return [
            setting_in_force.name
            for setting_in_force in instance.settings_in_force([answered("mysql", **other)])
            if setting_in_force.is_wrong
        ]

    assert wrong() == []
    assert wrong(log_bin="ON") == ["sync_binlog"]
    assert wrong(log_bin="ON", sync_binlog="1") == []


@pytest.mark.parametrize(
    ("tables", "routines", "why"),
    [
        (None, None, None),
        (f"a,{MARK}", "p", None),
        ("a,b", "p", "other tables (a, b): name one that is empty"),
        (None, "p", "other routines (procedure p): name one that is empty"),
    ],
)
def test_routines_without_our_mark_are_somebody_elses(
    tables: str | None, routines: str | None, why: str | None
) -> None:
    held = {f"{kind} {name}": kind for kind, names in (("table", tables), ("procedure", routines)) if names
            for name in names.split(",")}  # fmt: skip
    said = server("mysql").adopt(Path(), {}, "drive").refusal(held)
    assert said == (why and f"the database holds {why}")


# ------------------------------------------------------------------------------------------------ Firebird


def on_firebird(
    settings: Mapping[str, Any] | None = None, wire: Wire | None = None, **other: str | None
) -> dict[str, Any]:
    """Each setting as a server of these answers has it, by its name; one that answers nothing is not among them."""
    address = Address("db", 1, "me", None, "test", None, wire=wire)
    instance = catalogue.server("mine", "firebird", address).adopt(Path(), settings or {}, "drive")
    values = [Setting(name=name, value=value) for name, value in {**ANSWERS["firebird"], **other}.items()]
    answers = [Settings(event="settings", terminal=None, values=values)]
    return {
        setting_in_force.name: (setting_in_force.in_force, setting_in_force.agrees)
        for setting_in_force in instance.settings_in_force(answers)
    }


def test_what_a_firebird_does_not_tell_is_refused_with_the_reason() -> None:
    assert on_firebird()["server_mode"] == ("Super", True)
    asked = {"deadlock_timeout_s": 10, "server_mode": "Classic"}
    said = on_firebird(asked, ServerMode=None, DeadlockTimeout=None, engine_version="3.0.14")
    for name in asked:
        assert said[name] == ("no answer: Firebird 3.0.14 cannot be asked for it", False)
    said = on_firebird(asked, ServerMode=None, DeadlockTimeout=None)
    assert said["deadlock_timeout_s"] == ("no answer: this user may not read it (RDB$CONFIG)", False)
    assert "server_mode" not in on_firebird(ServerMode=None)
    # What sessions show does not tell the two apart.
    shown = {"ServerMode": None, "shown_mode": "Classic or SuperClassic"}
    assert on_firebird(asked, **shown)["server_mode"] == ("Classic or SuperClassic", None)
    assert on_firebird({"server_mode": "Super"}, **shown)["server_mode"] == ("Classic or SuperClassic", False)


@pytest.mark.parametrize(("mode", "isolation"), [("1", "snapshot"), ("2", "read_committed"), ("4", "read_committed")])
def test_isolation_is_read_back_whatever_read_committed_means_there(mode: str, isolation: str) -> None:
    assert on_firebird({"isolation": isolation}, **{"mon$isolation_mode": mode})["isolation"] == (isolation, True)


def test_a_wire_that_cannot_be_read_back_is_not_verifiable() -> None:
    demanded = Wire(crypt="Required", compression=True)
    old = {"wire_crypt": None, "wire_compression": None}
    assert on_firebird(wire=demanded)["wire_crypt"] == ("true", True)
    assert on_firebird(wire=demanded)["wire_compression"] == ("false", False)
    assert on_firebird(wire=demanded, **old)["wire_crypt"] == (None, None)
    assert on_firebird(wire=demanded, **old)["wire_compression"] == (None, None)
    assert on_firebird(wire=Wire(crypt="Disabled", compression=False))["wire_crypt"] == ("true", False)
    as_it_comes = Wire(crypt="Enabled", compression=False)
    assert on_firebird(wire=as_it_comes)["wire_crypt"] == ("true", True)
    assert "wire_crypt" not in on_firebird(wire=as_it_comes, **old)


OURS = {f"table {MARK.upper()}": "table", "table COMMITS": "table", "sequence S": "sequence", "procedure P": "procedure",
        "trigger T": "trigger"}  # fmt: skip


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ({}, None),
        ({"mon$read_only": "0", "mon$sql_dialect": "3"}, None),
        (OURS, None),
        ({"table A": "table", "procedure P": "procedure"}, "other tables (A): name one that is empty"),
        ({"domain D": "domain"}, "other objects (domain D): name one that is empty"),
        ({**OURS, "view V": "view"}, "other objects (view V): name one that is empty"),
        ({"trigger of the database T": "trigger of the database"}, "other objects (trigger of the database T)"),
        ({"mon$read_only": "1"}, "read-only"),
        ({"mon$sql_dialect": "1"}, "dialect 1"),
    ],
)
def test_a_firebird_database_that_is_somebody_elses_is_left_alone(held: Mapping[str, str], why: str | None) -> None:
    instance = server("firebird").adopt(Path(), {}, "drive")
    said = instance.unusable(held) or instance.refusal(held)
    assert said is None if why is None else why in (said or "")


def test_only_what_is_ours_is_taken_out_of_a_firebird_database_and_the_mark_goes_last() -> None:
    instance = server("firebird").adopt(Path(), {}, "drive")
    mark = f"create table {MARK.upper()} (id integer)"
    assert instance.clearing({}, for_good=False) == [mark]
    assert instance.clearing({}, for_good=True) == []
    drops = ['drop trigger "T"', 'drop procedure "P"', 'drop table "COMMITS"', 'drop sequence "S"']
    assert instance.clearing(OURS, for_good=False) == drops
    assert instance.clearing(OURS, for_good=True) == [*drops, f'drop table "{MARK.upper()}"']
    quoted = {**OURS, 'table a "b"': "table"}
    assert 'drop table "a ""b"""' in instance.clearing(quoted, for_good=True)


# ------------------------------------------------------------------------------------------------ before the first cell


TEXT = """
name = "t"
repetitions = 3
[factors]
engine = ["sqlite", "mine"]
durability = ["os", "drive"]
"{setting}" = {levels}
terminals = [1, 2, 3]
[servers.mine]
url = "{family}://me@db/test"
[workload.commits]
count = 1
"""


@pytest.fixture
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that a server is given which answers as ``ANSWERS`` has it, and holds nothing."""
    jobs: list[Job] = []

    def converse(job: Job, ledger: object, environment: object) -> Iterator[Event]:
        jobs.append(job)
        # Of a server that holds nothing: settings alone are answered.
        if any(one.name == "" and "information_schema" not in one.sql for one in job.inspect):
            yield answered({"postgres": "postgresql"}.get(job.target.engine, job.target.engine))

    monkeypatch.setattr(foreign, "converse", converse)
    return jobs


@pytest.mark.parametrize(
    ("family", "setting", "levels", "expected"),
    [
        ("postgresql", "postgresql.work_mem_mb", [4, 64],
         ['t.toml: level os needs fsync = false; server "mine" has true',
          't.toml: postgresql.work_mem_mb = 64 is asked for; server "mine" has 4']),
        ("postgresql", "postgresql.io_method", ["sync"],
         ['t.toml: level os needs fsync = false; server "mine" has true',
          't.toml: postgresql.io_method = sync is asked for; server "mine" has no such setting']),
        ("mysql", "mysql.isolation", ["read_committed"],
         ['t.toml: level os needs innodb_flush_log_at_trx_commit = 2; server "mine" has 1']),
        ("firebird", "firebird.deadlock_timeout_s", [10, 3],
         ['t.toml: level os needs forced_writes = false; server "mine" has true',
          't.toml: firebird.deadlock_timeout_s = 3 is asked for; server "mine" has 10']),
    ],
)  # fmt: skip
def test_what_a_server_does_not_have_is_said_once(
    family: str,
    setting: str,
    levels: list[Any],
    expected: list[str],
    asked: list[Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    runtime = (
        tmp_path / "engines" / "firebird-5.0" / "firebird" / "embedded" / "runtime"
    )  # by which Firebirds are asked
    (runtime / "plugins").mkdir(parents=True)
    (runtime / "libfbclient.so.2").touch()
    made = conductor.plan_of(
        experiment.parse(TEXT.format(family=family, setting=setting, levels=json.dumps(levels)), "t.toml")
    )
    conductor.verify(made, Path("t.toml"))
    cells = [cell for cell in made.combinations() if cell.engine == "mine"]
    assert len(cells) == 2 * len(levels) * 3
    ledger = Ledger()
    try:
        with pytest.raises(BadInput) as caught:
            foreign.admit(server(family), cells, Path("t.toml"), ledger)
    finally:
        ledger.close()
    assert [problem.message for problem in caught.value.problems] == expected
    assert caught.value.problems[0].remedy == "ask for durability drive, or set it so on the server"
    assert all("set it so on the server" in problem.remedy for problem in caught.value.problems)
    assert len(asked) == 2  # what it holds, and what is in force: not once for each cell


def test_a_server_that_has_everything_is_admitted(
    asked: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    text = TEXT.format(family="postgresql", setting="postgresql.isolation", levels='["read_committed"]').replace(
        '"os", ', ""
    )
    made: plan.Plan = conductor.plan_of(experiment.parse(text, "t.toml"))
    ledger = Ledger()
    try:
        foreign.admit(
            server("postgresql"), [cell for cell in made.cells if cell.engine == "mine"], Path("t.toml"), ledger
        )
    finally:
        ledger.close()
    assert len(asked) == 2


@pytest.mark.parametrize("of", ["unusable", "refusal"])
def test_nothing_is_cleared_where_something_else_lies(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an earlier look found nothing: it may have come since."""
    monkeypatch.setattr(foreign, "_held", Mock())
    monkeypatch.setattr(foreign, "_answers", asked := Mock())
    instance = Mock(**{"unusable.return_value": "", "refusal.return_value": "", f"{of}.return_value": "holds table a"})
    with pytest.raises(CellFailed, match="holds table a"):
        foreign.clear(instance, Mock(), for_good=False)
    asked.assert_not_called()
