"""A setting that contradicts its level is refused with the level that it means, by name."""

from __future__ import annotations

import re

import pytest

from acidtest.engine import catalogue
from acidtest.engine.base import without
from acidtest.errors import BadInput


@pytest.mark.parametrize(
    ("engine_id", "level", "settings", "remedy"),
    [
        ("sqlite", "drive", {"synchronous": "normal"}, "leave synchronous out, or ask for durability os"),
        ("sqlite", "os", {"synchronous": "off"}, "leave synchronous out, or ask for durability none"),
        ("sqlite", "none", {"synchronous": "full"}, "leave synchronous out, or ask for durability drive"),
        # With a rollback journal it is no level's.
        ("sqlite", "drive", {"synchronous": "normal", "journal_mode": "delete"}, "leave synchronous out"),
        ("firebird-5.0", "os", {"forced_writes": True}, "leave forced_writes out, or ask for durability drive"),
        ("firebird-5.0", "drive", {"forced_writes": False}, "leave forced_writes out, or ask for durability os"),
        ("postgresql-15", "drive", {"synchronous_commit": "off"}, "leave synchronous_commit out, or ask for durability none"),
        ("postgresql-15", "none", {"synchronous_commit": "on"}, "leave synchronous_commit out, or ask for durability os or drive"),
        ("postgresql-15", "os", {"fsync": True}, "leave fsync out, or ask for durability drive"),
        ("mysql-5.5", "drive", {"innodb_flush_log_at_trx_commit": 2},
         "leave innodb_flush_log_at_trx_commit out, or ask for durability os"),
        ("mariadb-10.11", "drive", {"log_bin": True, "sync_binlog": 0}, "leave sync_binlog out, or ask for durability none or os"),
    ],
)  # fmt: skip
def test_the_remedy_names_the_levels(engine_id: str, level: str, settings: dict, remedy: str) -> None:
    with pytest.raises(BadInput, match=f"contradicts durability {level}") as refused:
        catalogue.describe(engine_id).durability(level, settings)
    assert refused.value.remedy == remedy


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
