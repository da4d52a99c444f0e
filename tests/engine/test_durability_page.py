"""docs/DURABILITY.md says what the code does, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.engine import catalogue
from acidtest.engine.base import DURABILITY_LEVELS
from acidtest.errors import BadInput

PAGE = (Path(__file__).parents[2] / "docs" / "DURABILITY.md").read_text()
ROWS = [[part.strip() for part in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


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
    ("engine_id", "level", "settings"),
    [
        ("sqlite", "drive", {"journal_mode": "delete"}),
        ("postgresql-15", "none", {"fsync": False}),
        ("postgresql-15", "drive", {"full_page_writes": False}),
        ("mysql-5.5", "drive", {"log_bin": True}),
        ("mysql-5.5", "drive", {"innodb_doublewrite": False}),
        ("mariadb-10.11", "drive", {"innodb_flush_method": "O_DIRECT_NO_FSYNC"}),
        ("mariadb-11.4", "drive", {"innodb_doublewrite": "fast"}),
    ],
)
def test_the_table_names_a_levels_other_ways_as_they_are(engine_id: str, level: str, settings: dict) -> None:
    assert catalogue.describe(engine_id).durability(level, settings).means in PAGE


@pytest.mark.parametrize(("mode", "level"), [("delete", "os"), ("memory", "drive"), ("off", "drive")])
def test_levels_that_the_page_calls_refused_are(mode: str, level: str) -> None:
    with pytest.raises(BadInput, match=f"no durability level {level}"):
        catalogue.describe("sqlite").durability(level, {"journal_mode": mode})
