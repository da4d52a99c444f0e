"""What is called unusual in a database that was inspected, and from which figure on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from acidtest.analysis import health
from acidtest.analysis.health import signs
from acidtest.journal.inspected import Inspected
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, Scalar, TableStatistics


def inspected(family: str, facts: dict[str, Scalar] | None = None, **more: Any) -> Inspected:
    return Inspected(
        acidtest_version="0",
        taken_at="2026-01-01T00:00:00+00:00",
        where="x",
        family=family,
        version="",
        facts=facts or {},
        statistics=more.pop("statistics", None),
        **more,
    )


def statistics(tables: list[dict[str, Any]], indexes: list[dict[str, Any]]) -> DatabaseStatistics:
    table = dict.fromkeys(TableStatistics.model_fields) | {"name": "t", "bytes": 0, "index_bytes": 0}
    index = dict.fromkeys(IndexStatistics.model_fields) | {"name": "i", "table": "t", "bytes": 0}
    return DatabaseStatistics(
        source="",
        page_bytes=8192,
        bytes=0,
        took_s=0,
        tables=[TableStatistics.model_validate(table | one) for one in tables],
        indexes=[IndexStatistics.model_validate(index | one) for one in indexes],
    )


FIREBIRD: dict[str, Scalar] = {
    "oldest_transaction": 100,
    "oldest_active": 100,
    "next_transaction": 100,
    "sweep_interval": 20_000,
}


@pytest.mark.parametrize(
    ("family", "at", "beyond", "name", "severe"),
    [
        ("firebird", {"next_transaction": 20_100}, {"next_transaction": 20_101}, "transaction-stays-open", True),
        (
            "firebird",
            {"oldest_active": 20_100, "next_transaction": 20_100},
            {"oldest_active": 20_101, "next_transaction": 20_101, "oldest_state": "in_limbo"},
            "oldest-transaction-stuck",
            True,
        ),
        ("firebird", {"in_limbo": 0}, {"in_limbo": 1}, "in-limbo", True),
        ("firebird", {"forced_writes": True}, {"forced_writes": False}, "forced-writes-off", True),
        (
            "firebird",
            {"page_buffers": 256, "page_bytes": 4096, "pages": 100_000},
            {"page_buffers": 255, "page_bytes": 4096, "pages": 100_000},
            "cache-small",
            False,
        ),
        (
            "firebird",
            {"page_buffers": 200, "page_bytes": 4096, "pages": 2_000},
            {"page_buffers": 200, "page_bytes": 4096, "pages": 2_001},
            "cache-small",
            False,
        ),
        (
            "postgresql",
            {"shared_buffers": 16_384, "page_bytes": 8192, "pages": 1_000_000},
            {"shared_buffers": 16_383, "page_bytes": 8192, "pages": 1_000_000},
            "cache-small",
            False,
        ),
        ("firebird", {"backup_locked": False}, {"backup_locked": True}, "backup-lock", False),
        ("firebird", {"fragments": 999}, {"fragments": 1_000}, "records-fragmented", False),
        (
            "firebird",
            {"sweep_interval": 0, "next_transaction": 20_100, "oldest_active": 20_100},
            {"sweep_interval": 0, "next_transaction": 20_101, "oldest_active": 20_100},
            "no-automatic-sweep",
            False,
        ),
        ("firebird", {"next_transaction": 2**47 - 1}, {"next_transaction": 2**47 + 1}, "transaction-numbers-end", True),
        (
            "postgresql",
            {"transaction_age": 200, "autovacuum_freeze_max_age": 200},
            {"transaction_age": 201, "autovacuum_freeze_max_age": 200},
            "wraparound",
            False,
        ),
        (
            "postgresql",
            {"multixact_age": 0, "autovacuum_multixact_freeze_max_age": 400_000_000},
            {"multixact_age": 1_600_000_000, "autovacuum_multixact_freeze_max_age": 400_000_000},
            "wraparound",
            True,
        ),
        ("postgresql", {"held_age": 20_000}, {"held_age": 20_001, "held_by": "session 7, idle"}, "horizon-held", True),
        (
            "postgresql",
            {"idle_in_transaction": 1, "idle_in_transaction_s": 300},
            {"idle_in_transaction": 1, "idle_in_transaction_s": 301},
            "idle-in-transaction",
            False,
        ),
        ("postgresql", {"inactive_slots": 0}, {"inactive_slots": 1}, "slot-inactive", False),
        ("postgresql", {"fsync": "on"}, {"fsync": "off"}, "fsync-off", True),
        ("postgresql", {"checksum_failures": 0}, {"checksum_failures": 1}, "checksum-failures", True),
        (
            "postgresql",
            {"buffer_hits": 18_000_009, "buffer_reads": 2_000_001},
            {"buffer_hits": 17_000_000, "buffer_reads": 2_000_001},
            "cache-misses",
            False,
        ),
        ("mysql", {"history_list": 100_000}, {"history_list": 100_001}, "history-long", True),
        ("mysql", {"oldest_transaction_s": 3_600}, {"oldest_transaction_s": 3_601}, "transaction-stays-open", True),
        ("mysql", {"innodb_doublewrite": "ON"}, {"innodb_doublewrite": "OFF"}, "doublewrite-off", True),
        (
            "mysql",
            {"innodb_flush_log_at_trx_commit": 1},
            {"innodb_flush_log_at_trx_commit": 2},
            "commits-not-flushed",
            False,
        ),
        (
            "sqlite",
            {"page_bytes": 4096, "wal_bytes": 4_000 * 4096},
            {"page_bytes": 4096, "wal_bytes": 4_000 * 4096 + 1},
            "wal-long",
            False,
        ),
        (
            "sqlite",
            {"leaves_followed": 100, "leaves_apart": 50},
            {"leaves_followed": 100, "leaves_apart": 51},
            "leaves-scattered",
            False,
        ),
        (
            "sqlite",
            {"pages": 1_000, "free_pages": 249, "page_bytes": 4096},
            {"pages": 1_000, "free_pages": 250, "page_bytes": 4096},
            "free-pages",
            False,
        ),
    ],
)  # fmt: skip
def test_a_figure_is_unusual_beyond_its_threshold(
    family: str, at: dict[str, Scalar], beyond: dict[str, Scalar], name: str, severe: bool
) -> None:
    others = FIREBIRD if family == "firebird" else {}
    assert name not in {sign.name for sign in signs(inspected(family, others | at))}
    found = [sign for sign in signs(inspected(family, others | beyond)) if sign.name == name]
    assert [sign.severity == "severe" for sign in found] == [severe]


@pytest.mark.parametrize(
    ("state", "said"), [("rolled_back", "only a sweep"), ("in_limbo", "prepared"), (None, "behind")]
)
def test_what_became_of_the_oldest_transaction_decides_what_to_do(state: str | None, said: str) -> None:
    facts = FIREBIRD | {"oldest_active": 50_000, "next_transaction": 50_000, "oldest_state": state}
    (sign,) = signs(inspected("firebird", facts))
    assert said in sign.says and "gfix" in sign.do


@pytest.mark.parametrize("gap", ["oldest_transaction", "oldest_active"])
@pytest.mark.parametrize("is_held", [True, False, None])
def test_nobody_is_told_to_end_a_program_that_has_no_file_open(gap: str, is_held: bool | None) -> None:
    facts = dict.fromkeys(FIREBIRD, 50_000) | {"sweep_interval": 20_000, gap: 100, "oldest_state": "active"}
    if gap == "oldest_active":
        facts["oldest_transaction"] = 100
    (sign,) = signs(inspected("firebird", facts, is_held=is_held))
    assert ("end its program" in sign.do) == (is_held is not False)
    assert ("If it is a copy, look first in the server that it comes from" in sign.do) == (is_held is False)
    assert "select * from mon$transactions" in sign.do and "gfix -sweep" in sign.do


@pytest.mark.parametrize("is_held", [True, False])
def test_all_that_a_transaction_leaves_behind_has_one_remedy(is_held: bool) -> None:
    facts = FIREBIRD | {"next_transaction": 50_000, "oldest_state": "active"}
    stuck = FIREBIRD | {"oldest_active": 50_000, "next_transaction": 50_000, "oldest_state": "active"}
    table = {"versions": 5_000, "versions_max": 900, "records": 10, "fill_percent": 90, "real_fill_percent": 10}
    hollow = statistics([table | {"bytes": 9_000_000}], [])
    found = [
        *signs(inspected("firebird", facts, is_held=is_held, statistics=hollow)),
        *signs(inspected("firebird", stuck, is_held=is_held)),
    ]
    assert [sign.name for sign in found] == [
        "transaction-stays-open", "versions-many", "pages-hollow", "oldest-transaction-stuck",
    ]  # fmt: skip
    assert len({sign.do for sign in found}) == 1


def test_what_puts_data_at_risk_comes_before_what_costs_time() -> None:
    facts = FIREBIRD | {"next_transaction": 50_000, "forced_writes": False}
    found = [sign.name for sign in signs(inspected("firebird", facts))]
    assert found == ["forced-writes-off", "transaction-stays-open"]


def test_how_many_buffers_are_advised_goes_by_the_database_and_the_mode() -> None:
    facts = FIREBIRD | {"page_buffers": 75, "page_bytes": 8192, "pages": 2_230}
    (sign,) = signs(inspected("firebird", facts))
    assert "up to as many buffers as the database has pages, 2,230" in sign.do
    assert "Classic and SuperClassic have one for each connection: 256 to 2,048" in sign.do


def test_a_deep_index_and_one_that_tells_few_rows_apart_are_told_with_their_figures() -> None:
    index = {"depth": 4, "keys": 50_000, "unique": 3, "duplicates": 49_997, "duplicates_max": 40_000}
    found = signs(inspected("firebird", FIREBIRD, statistics=statistics([], [index])))
    assert [sign.name for sign in found] == ["index-deep", "index-duplicates"]
    assert "i of t has 4, with 50,000 keys on pages of 8,192 bytes" in found[0].says
    assert not signs(inspected("postgresql", {}, statistics=statistics([], [index | {"unique": 49_000}])))


def test_severe_things_come_first_and_each_has_all_that_it_takes() -> None:
    facts = FIREBIRD | {"fragments": 5_000, "in_limbo": 2, "pages": 1_000, "free_pages": 900, "page_bytes": 8192}
    found = signs(inspected("firebird", facts, damaged="page 7 is empty, where a data page should be"))
    assert [sign.severity for sign in found] == ["severe", "severe", "note", "note"]
    for sign in found:
        assert sign.says.endswith(".") and sign.do.endswith(".") and sign.threshold and sign.source


def test_what_is_listed_is_told_by_its_first_with_the_others_as_evidence() -> None:
    (sign,) = signs(inspected("mysql", listed={"without_primary_key": ["a: about 5 rows", "b: about 4 rows"]}))
    assert "a: about 5 rows. Another is like it: b." in sign.says
    assert len(sign.evidence) == 2


@pytest.mark.parametrize("family", ["firebird", "sqlite", "postgresql", "mysql"])
def test_of_a_database_that_tells_nothing_nothing_is_unusual(family: str) -> None:
    assert signs(inspected(family)) == []


def test_each_name_stands_in_the_document() -> None:
    document = (Path(__file__).parents[2] / "docs" / "INSPECT.md").read_text(encoding="utf-8")
    source = "".join(file.read_text(encoding="utf-8") for file in Path(health.__file__).parent.glob("*.py"))
    names = set(re.findall(r'^ +"([a-z]+(?:-[a-z]+)+)",$', source, re.MULTILINE)) | {"damaged", "wraparound"}
    assert len(names) > 25
    assert [name for name in names if f"`{name}`" not in document] == []
