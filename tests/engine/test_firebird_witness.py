"""What Firebird 3 does not answer: seen where something shows it, and otherwise not taken for granted."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance, catalogue
from acidtest.engine.firebird.instance import FILE, FirebirdInstance
from acidtest.engine.firebird.versions import CONF
from acidtest.formats import firebird_header, firebird_locks
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import LoadPhase, Progress, Settings
from acidtest.place import Ledger
from acidtest.place.cgroup import Launched
from rig_jobs import endless, in_force, job_of

Found = Callable[..., dict[str, SettingInForce]]


@pytest.fixture(params=["firebird-3.0", "firebird-3.0-server"])
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


@pytest.fixture
def found(engine: Engine, sealed: Callable[[Engine], list[Path]], tmp_path: Path, ledger: Ledger) -> Iterator[Found]:
    """The settings in force of a run with these settings, over a configuration that may be another one."""
    made: list[Instance] = []

    def run(settings: dict[str, Scalar], *, look: bool = True, **written: str) -> dict[str, SettingInForce]:
        directory = tmp_path / f"cell-{len(made)}"
        directory.mkdir()
        for file in sealed(engine):
            shutil.copy(file, directory / file.name)
        instance = engine.adopt(directory, settings, "drive")
        made.append(instance)
        conf = directory / "root" / "firebird.conf"
        lines = [line for line in conf.read_text().splitlines() if line.split(" = ")[0] not in map(CONF.get, written)]
        conf.write_text("\n".join([*lines, *(f"{CONF[name]} = {value}" for name, value in written.items()), ""]))
        launched = Launched(ledger, None)
        instance.start(launched)
        job = job_of(instance, LoadPhase(), endless(2), inspect=instance.inspections())
        answers = []
        with closing(converse(job, launched if engine.embedded else ledger, instance.environment())) as events:
            for event in events:
                if isinstance(event, Settings):
                    answers.append(event)
                elif isinstance(event, Progress) and event.phase == "run":
                    assert not look or instance.witness(launched.pids())
                    break
        return in_force(instance, answers)

    yield run
    for instance in made:
        instance.release()


def test_what_shows_is_read_and_the_rest_is_not_verifiable(found: Found) -> None:
    asked: dict[str, Scalar] = {"deadlock_timeout_s": 7, "temp_cache_limit_mb": 9, "page_buffers": 200}
    settings = found({**asked, "file_system_cache_threshold_pages": 200})
    assert (settings["deadlock_timeout_s"].in_force, settings["deadlock_timeout_s"].agrees) == ("7", True)
    threshold = settings["file_system_cache_threshold_pages"]
    assert (threshold.in_force, threshold.agrees) == ("200", True)
    limit = settings["temp_cache_limit_mb"]
    assert (limit.in_force, limit.agrees, limit.shown) == (None, None, "9 (not verifiable)")
    assert [name for name, setting in settings.items() if not setting.is_verifiable] == ["temp_cache_limit_mb"]
    assert not any(setting.is_wrong for setting in settings.values())
    high = found({**asked, "file_system_cache_threshold_pages": 201})["file_system_cache_threshold_pages"]
    assert (high.in_force, high.agrees) == ("201", True)


def test_a_configuration_that_says_something_else_does_not_agree(found: Found) -> None:
    asked: dict[str, Scalar] = {"deadlock_timeout_s": 7, "file_system_cache_threshold_pages": 100, "page_buffers": 200}
    settings = found(asked, deadlock_timeout_s="8", file_system_cache_threshold_pages="300")
    wrong = {name: setting.in_force for name, setting in settings.items() if setting.is_wrong}
    assert wrong == {
        "deadlock_timeout_s": "8",
        "file_system_cache_threshold_pages": "another: the database file is not open with O_DIRECT at 200 page buffers",
    }


def test_without_a_look_nothing_is_claimed(found: Found) -> None:
    settings = found({"deadlock_timeout_s": 7, "file_system_cache_threshold_pages": 100}, look=False)
    unknown = {name: setting.in_force for name, setting in settings.items() if not setting.is_verifiable}
    assert unknown == {"deadlock_timeout_s": None, "file_system_cache_threshold_pages": None}


def test_a_lock_table_of_another_version_is_none() -> None:
    table = bytearray(4096)
    table[0:8] = bytes([0xFF, 0, 1, 0, 146, 0, 0, 0])
    table[140:144] = len(table).to_bytes(4, "little")
    table[156:160] = (12).to_bytes(4, "little")
    assert firebird_locks.scan_interval_s(bytes(table)) == 12
    for at, value in ((0, 1), (4, 145), (140, 1)):
        other = bytearray(table)
        other[at] = value
        with pytest.raises(firebird_locks.NotALockTable):
            firebird_locks.scan_interval_s(bytes(other))
    with pytest.raises(firebird_locks.NotALockTable, match="cut off"):
        firebird_locks.scan_interval_s(os.urandom(159))


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("flags", [0x02, 0x00])
def test_forced_writes_are_compared_with_the_header_of_the_file(asked: bool, flags: int, tmp_path: Path) -> None:
    page = bytearray(firebird_header.LENGTH)
    page[0] = firebird_header.PAGE_TYPE_HEADER
    struct.pack_into("<HH", page, 16, 8192, firebird_header.ODS_FIREBIRD_FLAG | firebird_header.KNOWN[-1])
    struct.pack_into("<H", page, 42, flags)
    (tmp_path / FILE).write_bytes(page)
    instance = Mock(_settings={"forced_writes": asked}, directory=tmp_path)
    assert FirebirdInstance._header(instance).agrees is (asked is bool(flags))
    (tmp_path / FILE).write_bytes(page[:1])
    assert FirebirdInstance._header(instance).agrees is False
