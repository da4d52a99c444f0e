"""What every engine must do, and does on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance
from acidtest.engine.base import DURABILITY_LEVELS
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import (
    Checked,
    CheckPhase,
    ClosedLoop,
    Count,
    Event,
    Job,
    LoadPhase,
    Result,
    RunPhase,
    Settings,
)
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.commits import CommitsWorkload

# By family: settings that must reach the engine,
ASKED: dict[str, dict[str, Scalar]] = {
    "sqlite": {
        "page_size": 8192, "journal_mode": "delete", "cache_size_kb": 4321, "mmap_size_mb": 16,
        "wal_autocheckpoint_pages": 77, "busy_timeout_ms": 1234, "locking_mode": "exclusive",
    },
    "firebird": {
        "page_size": 16384, "page_buffers": 333, "lock_timeout_s": 7, "isolation": "snapshot", "server_mode": "Classic",
    },
    "postgresql": {
        "shared_buffers_mb": 64, "work_mem_mb": 5, "wal_buffers_mb": 3, "max_wal_size_mb": 333, "checkpoint_timeout_s": 77,
        "data_checksums": True, "wal_sync_method": "open_datasync", "full_page_writes": False, "wal_level": "minimal",
        "wal_compression": "pglz", "commit_delay_us": 9, "isolation": "serializable", "autovacuum": False, "jit": True,
        "max_connections": 33, "connection": "tcp", "pipeline": True,
    },
    "mysql": {
        "innodb_buffer_pool_mb": 64, "sort_buffer_mb": 3, "innodb_log_file_mb": 16, "innodb_flush_method": "O_DSYNC",
        "innodb_doublewrite": False, "log_bin": True, "sync_binlog": 1, "innodb_io_capacity": 300,
        "isolation": "repeatable_read", "innodb_lock_wait_timeout_s": 7, "connection": "tcp",
    },
}  # fmt: skip
# those of newer versions of the family, by the setting that tells them,
ASKED_OF_NEWER: dict[str, dict[str, Scalar]] = {
    "read_consistency": {
        "isolation": "read_committed", "read_consistency": False, "use_file_system_cache": False,
        "server_mode": "SuperClassic", "deadlock_timeout_s": 3, "temp_cache_limit_mb": 9,
    },
    "innodb_page_size": {"innodb_page_size": 8192, "innodb_flush_neighbors": 0},
    "innodb_log_file_buffering": {"innodb_log_file_buffering": True},
}  # fmt: skip
# an answer that a lying engine would give at level drive, and a setting that contradicts that level.
LIE = {
    "sqlite": ("synchronous", "0"),
    "firebird": ("mon$forced_writes", "0"),
    "postgresql": ("fsync", "off"),
    "mysql": ("innodb_flush_log_at_trx_commit", "0"),
}
CONTRADICTION: dict[str, dict[str, Scalar]] = {
    "sqlite": {"synchronous": "off"},
    "firebird": {"forced_writes": False},
    "postgresql": {"fsync": False},
    "mysql": {"innodb_flush_log_at_trx_commit": 0},
}

Make = Callable[..., Instance]
LOAD = [LoadPhase()]
RUN = [
    CheckPhase(),
    RunPhase(terminals=2, pacing=ClosedLoop(think_ms=0), warmup_s=0, extent=Count(transactions=20), retries=10),
    CheckPhase(),
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[Path]]]:
    """The files of a template, loaded and sealed; those without settings serve all tests of an engine."""
    found: dict[str, list[Path]] = {}
    ledger = Ledger()

    def files(engine: Engine, settings: dict[str, Scalar]) -> list[Path]:
        about = f"{engine.id} {settings}"
        if about not in found:
            base = tmp_path_factory.mktemp("templates")
            (base / "made").mkdir()
            instance = engine.create(base / "made", settings)
            try:
                instance.start(ledger)
                talk(instance, LOAD, ledger, inspect=False)
                instance.seal()
                names = [path.name for path in instance.database_files()]
            finally:
                instance.release()
            (base / "made").rename(base / "elsewhere")  # a copy must not need what it was copied from
            found[about] = [base / "elsewhere" / name for name in names]
        return found[about]

    yield files
    ledger.close()


@pytest.fixture
def make(engine: Engine, templates: Callable[..., list[Path]], tmp_path: Path, ledger: Ledger) -> Iterator[Make]:
    """A started instance over a copy of a template."""
    instances = []

    def made(durability: str, settings: dict[str, Scalar] | None = None) -> Instance:
        copy = tmp_path / f"copy-{durability}"
        copy.mkdir()
        for path in templates(engine, settings or {}):
            copy_tree(path, copy / path.name)
        instance = engine.adopt(copy, settings or {}, durability)
        instances.append(instance)
        instance.start(ledger)
        return instance

    yield made
    for instance in instances:
        instance.release()


def talk(instance: Instance, phases: list, ledger: Ledger, *, inspect: bool = True) -> list[Event]:
    inspections = instance.inspections() if inspect else []
    workload = CommitsWorkload(row_bytes=100)
    job = Job(seed=1, target=instance.target(), workload=workload, inspect=inspections, phases=phases)
    return list(converse(job, ledger, instance.environment()))


def in_force(instance: Instance, events: list[Event]) -> dict[str, str | None]:
    found = instance.settings_in_force([e for e in events if isinstance(e, Settings)])
    assert all(setting.agrees for setting in found), [s for s in found if not s.agrees]
    return {setting.name: setting.in_force for setting in found}


@pytest.mark.parametrize("level", DURABILITY_LEVELS)
def test_a_copy_of_a_sealed_template_runs_at_its_level_with_everything_in_force(
    engine: Engine, make: Make, ledger: Ledger, level: str
) -> None:
    if level not in engine.durability_levels():
        with pytest.raises(BadInput, match=f"{engine.id}: has no durability level {level}"):
            engine.durability(level, {})
        return
    instance = make(level)
    events = talk(instance, RUN, ledger)
    assert all(c.holds for e in events if isinstance(e, Checked) for c in e.conditions)
    assert [e.counts.committed for e in events if isinstance(e, Result)] == [20]
    assert in_force(instance, events)
    assert instance.log() == ""
    assert instance.died() is None
    instance.release()
    assert engine.durability(level, {}).means


def test_settings_reach_the_engine(engine: Engine, make: Make, ledger: Ledger) -> None:
    asked = dict(ASKED[engine.family])
    for name, newer in ASKED_OF_NEWER.items():
        asked |= newer if name in engine.setting_specs() else {}
    instance = make("drive", asked)
    # One terminal: an exclusive lock admits no second.
    phases = [RunPhase(terminals=1, pacing=ClosedLoop(think_ms=0), warmup_s=0, extent=Count(transactions=3), retries=1)]
    if engine.family == "sqlite":
        asked.pop("locking_mode")
        instance = engine.adopt(instance.directory, asked, "drive")
    found = in_force(instance, talk(instance, phases, ledger))
    assert set(asked) <= set(found)
    first = next(iter(asked))
    assert found[first] == str(asked[first])


def test_an_answer_that_differs_from_what_was_asked_does_not_agree(engine: Engine, make: Make, ledger: Ledger) -> None:
    instance = make("drive")
    answers = [e for e in talk(instance, RUN, ledger) if isinstance(e, Settings)]
    name, value = LIE[engine.family]
    values = [v.model_copy(update={"value": value}) if v.name == name else v for v in answers[0].values]
    assert values != answers[0].values
    lied = [answers[0].model_copy(update={"values": values})]
    assert [s.name for s in instance.settings_in_force(lied) if not s.agrees]
    one_terminal = [answers[0], lied[0].model_copy(update={"terminal": 1})]
    wrong = [s.in_force for s in instance.settings_in_force(one_terminal) if not s.agrees]
    assert wrong
    assert all(value.endswith("on terminal 1") for value in wrong)


def test_settings_that_the_engine_does_not_have_are_refused_by_name(engine: Engine) -> None:
    name = next(iter(engine.setting_specs()))
    with pytest.raises(BadInput, match=f'setting "{name}x" is not known .did you mean "{name}"'):
        engine.check_settings({f"{name}x": 4096})
    name, spec = next((name, spec) for name, spec in engine.setting_specs().items() if spec.allowed)
    with pytest.raises(BadInput, match=f"{name}: found 5000, must be one of "):
        engine.check_settings({name: 5000})
    engine.check_settings({name: spec.allowed[0]})
    for name, spec in engine.setting_specs().items():
        if spec.allowed is None:
            assert spec.minimum is not None
            with pytest.raises(BadInput, match=f"must be a whole number from {spec.minimum} to"):
                engine.check_settings({name: spec.minimum - 1})
            engine.check_settings({name: spec.minimum})


def test_a_setting_that_contradicts_the_level_is_refused(engine: Engine) -> None:
    with pytest.raises(BadInput, match="contradicts durability drive"):
        engine.durability("drive", CONTRADICTION[engine.family])


def test_facts_come_from_the_installed_files(engine: Engine) -> None:
    facts = engine.facts()
    assert facts.id == engine.id
    assert facts.architecture == "x86-64"
