"""What is demanded of a server by URL: what it can never show is refused, what it does not have is refused once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acidtest import conductor, experiment, plan
from acidtest.conductor import foreign
from acidtest.engine import Engine, catalogue
from acidtest.engine.foreign import OF_SESSIONS, Address, ForeignServer
from acidtest.errors import BadInput
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
            one.name: one for one in instance.settings_in_force([Settings(event="settings", terminal=None, values=[])])
        }
        # A server that says nothing does not have it, unless it is acidtest's own session that has it.
        assert name in OF_SESSIONS or found[name].is_wrong, name
    assert sorted(refused) == ["connection", "port"]


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
    found = {one.name: one for one in instance.settings_in_force([answered("postgresql")])}
    assert (found["max_wal_size_mb"].in_force, found["max_wal_size_mb"].agrees) == ("1048576", True)


def answered(family: str, **other: str) -> Settings:
    values = [Setting(name=name, value=value) for name, value in {**ANSWERS[family], **other}.items()]
    return Settings(event="settings", terminal=None, values=values)


def test_a_binary_log_must_be_flushed_at_level_drive() -> None:
    instance = server("mysql").adopt(Path(), {}, "drive")

    def wrong(**other: str) -> list[str]:
        return [one.name for one in instance.settings_in_force([answered("mysql", **other)]) if one.is_wrong]

    assert wrong() == []
    assert wrong(log_bin="ON") == ["sync_binlog"]
    assert wrong(log_bin="ON", sync_binlog="1") == []


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
        if any(one.name == "" for one in job.inspect):
            yield answered({"postgres": "postgresql"}.get(job.target.engine, job.target.engine))

    monkeypatch.setattr(foreign, "converse", converse)
    return jobs


@pytest.mark.parametrize(
    ("family", "setting", "levels", "expected"),
    [
        ("postgresql", "postgresql.work_mem_mb", [4, 64],
         ["t.toml: fsync = false is demanded of mine by durability os, which has true",
          "t.toml: postgresql.work_mem_mb = 64 is demanded of mine, which has 4"]),
        ("postgresql", "postgresql.io_method", ["sync"],
         ["t.toml: fsync = false is demanded of mine by durability os, which has true",
          "t.toml: postgresql.io_method = sync is demanded of mine, which has no such setting"]),
        ("mysql", "mysql.isolation", ["read_committed"],
         ["t.toml: innodb_flush_log_at_trx_commit = 2 is demanded of mine by durability os, which has 1"]),
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
    assert [one.message for one in caught.value.problems] == expected
    assert caught.value.problems[0].remedy == "ask for durability drive, or set it so on the server"
    assert all("set it so on the server" in one.remedy for one in caught.value.problems)
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
