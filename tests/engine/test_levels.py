"""Durability levels: docs/DURABILITY.md says word for word what they mean, and a setting that contradicts one is refused
with the level that it means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acidtest.engine import catalogue
from acidtest.engine.base import DURABILITY_LEVELS, without
from acidtest.errors import BadInput

PAGE = (Path(__file__).parents[2] / "docs" / "DURABILITY.md").read_text()
ROWS = [[part.strip() for part in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
METHOD = "innodb_flush_method"
AT_COMMIT = "innodb_flush_log_at_trx_commit"


@pytest.mark.parametrize("engine_id", catalogue.known())
@pytest.mark.parametrize("level", DURABILITY_LEVELS)
def test_the_table_is_the_code(engine_id: str, level: str) -> None:
    engine = catalogue.describe(engine_id)
    told = [row[2] for row in ROWS if f"`{engine_id}`" in row[0].split(", ") and row[1] == f"`{level}`"]
    if level in engine.durability_levels():
        assert engine.durability(level, {}).means in told
    else:
        assert told == []
        with pytest.raises(BadInput):
            engine.durability(level, {})


@pytest.mark.parametrize(
    ("engine_id", "level", "settings", "words"),
    [
        ("sqlite", "drive", {"journal_mode": "delete"}, None),
        ("postgresql-15", "none", {"fsync": False}, None),
        ("postgresql-15", "drive", {"full_page_writes": False}, None),
        ("mysql-5.5", "drive", {"log_bin": True}, None),
        ("mysql-5.5", "drive", {"innodb_doublewrite": False}, None),
        ("mariadb-10.11", "drive", {METHOD: "O_DIRECT_NO_FSYNC"}, None),
        ("mariadb-11.4", "drive", {"innodb_doublewrite": "fast"}, None),
        ("mariadb-10.11", "drive", {METHOD: "O_DSYNC"}, "the log is written through to the drive at each commit"),
        ("mysql-9.7", "drive", {"innodb_doublewrite": "DETECT_ONLY"}, "where the drive can tear a page"),
    ],
)
def test_the_page_names_a_levels_other_ways_as_they_are(
    engine_id: str, level: str, settings: dict, words: str | None
) -> None:
    """Those with words are not on it."""
    means = catalogue.describe(engine_id).durability(level, settings).means
    assert means in PAGE if words is None else words in means


def test_a_page_that_is_seen_to_be_torn_and_recovered_is_no_risk() -> None:
    assert (
        "tear"
        not in catalogue.describe("mysql-9.7").durability("drive", {"innodb_doublewrite": "DETECT_AND_RECOVER"}).means
    )


@pytest.mark.parametrize(("mode", "level"), [("delete", "os"), ("memory", "drive"), ("off", "drive")])
def test_levels_that_the_page_calls_refused_are(mode: str, level: str) -> None:
    with pytest.raises(BadInput, match=f"no durability level {level}"):
        catalogue.describe("sqlite").durability(level, {"journal_mode": mode})


@pytest.mark.parametrize(
    ("engine_id", "level", "settings", "why", "meant"),
    [
        ("sqlite", "drive", {"synchronous": "normal"}, "", "os"),
        ("sqlite", "os", {"synchronous": "off"}, "", "none"),
        ("sqlite", "none", {"synchronous": "full"}, "", "drive"),
        ("sqlite", "drive", {"synchronous": "normal", "journal_mode": "delete"}, "", ""),  # with this journal no level's
        ("firebird-5.0", "os", {"forced_writes": True}, "", "drive"),
        ("firebird-5.0", "drive", {"forced_writes": False}, "", "os"),
        ("postgresql-15", "drive", {"synchronous_commit": "off"}, "", "none"),
        ("postgresql-15", "os", {"synchronous_commit": "off"}, "", "none"),
        ("postgresql-15", "none", {"synchronous_commit": "on"}, "", "os or drive"),
        ("postgresql-15", "drive", {"fsync": False}, "", "os"),
        ("postgresql-15", "os", {"fsync": True}, "", "drive"),
        ("mysql-5.5", "drive", {AT_COMMIT: 2}, "which means 1", "os"),
        ("mariadb-10.11", "os", {AT_COMMIT: 1}, "which means 2", "drive"),
        ("mariadb-10.11", "drive", {METHOD: "nosync"}, "neither commits nor checkpoints wait for a flush", "os"),
        ("mysql-9.7", "drive", {METHOD: "nosync"}, "neither commits nor checkpoints wait for a flush", "os"),
        ("mariadb-10.2", "drive", {METHOD: "littlesync"}, "promises no flush of data files", "os"),
        ("mysql-5.5", "os", {METHOD: "O_DSYNC"}, "which is level drive", "drive"),
        ("mysql-8.0", "os", {METHOD: "O_DSYNC"}, "which is level drive", "drive"),
        ("mariadb-11.4", "os", {"innodb_log_file_write_through": True}, "which is level drive", "drive"),
        ("mariadb-10.11", "os", {"innodb_log_file_buffering": False}, "goes through the OS file cache", "none or drive"),
        ("mariadb-10.11", "drive", {"sync_binlog": 0, "log_bin": True}, "belongs to the commit", "none or os"),
        ("mysql-5.5", "drive", {"sync_binlog": 100, "log_bin": True}, "belongs to the commit", "none or os"),
        ("mariadb-10.11", "os", {"sync_binlog": 1, "log_bin": True}, "it flushes at each commit", "drive"),
        ("mariadb-11.4", "drive", {"innodb_doublewrite": "fast", "innodb_data_file_buffering": True}, "checkpoints do not wait", "os"),
    ],
)  # fmt: skip
def test_what_contradicts_a_level_is_refused_with_the_level_that_it_means(
    engine_id: str, level: str, settings: dict, why: str, meant: str
) -> None:
    name, value = next(iter(settings.items()))
    shown = re.escape(f'"{value}"' if isinstance(value, str) else str(value).lower())
    with pytest.raises(
        BadInput, match=f"{engine_id}: {name} = {shown} contradicts durability {level}.*{why}"
    ) as refused:
        catalogue.describe(engine_id).durability(level, settings)
    assert refused.value.remedy == f"leave {name} out" + (f", or ask for durability {meant}" if meant else "")


@pytest.mark.parametrize("engine_id", catalogue.known())
def test_each_level_that_a_remedy_names_takes_the_setting(engine_id: str) -> None:
    engine = catalogue.describe(engine_id)
    named = 0
    for spec in (spec for spec in engine.setting_specs().values() if spec.by_level):
        for value in spec.allowed or ():
            for level in engine.durability_levels():
                try:
                    engine.durability(level, {spec.name: value})
                except BadInput as error:
                    for other in re.findall(r"\b(none|os|drive)\b", error.remedy):
                        named += 1
                        assert other != level
                        assert engine.durability(other, {spec.name: value}).level == other
    assert named > 0


def test_without_a_level_there_is_one_remedy() -> None:
    assert without("fsync", []) == "leave fsync out"


def test_settings_without_effect_are_refused() -> None:
    engine = catalogue.describe("mariadb-10.11")
    with pytest.raises(BadInput, match="sync_binlog = 1 has no effect without a binary log"):
        engine.durability("drive", {"sync_binlog": 1})
    with pytest.raises(BadInput, match='port = 5000 contradicts connection = "socket"'):
        engine.check_settings({"port": 5000, "connection": "socket"})
