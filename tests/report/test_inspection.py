"""``acidtest inspect`` in terminals of several widths, and as JSON."""

from __future__ import annotations

import json

import pytest

from acidtest.analysis.health import signs
from acidtest.journal.inspected import Inspected, Reading, ReadPass
from acidtest.journal.models import DatabaseStatistics, IndexStatistics, TableStatistics, Transactions
from acidtest.report.inspection import as_json, print_inspection
from terminals import printed

TABLE = TableStatistics(
    name="a_table_with_a_rather_long_name", records=1_234_567, record_bytes=61.27, versions=1_000_000, version_bytes=9.5,
    versions_max=81, data_pages=9_000, slots=9_100, bytes=73_728_000, index_bytes=20_000_000, fill_percent=71.5,
    real_fill_percent=33.3,
)  # fmt: skip
INDEX = IndexStatistics(
    name="by_[red]name\x1b[2J", table="a_table_with_a_rather_long_name", depth=4, keys=1_234_567, key_bytes=5.96,
    duplicates=1_000_000, duplicates_max=1_999, unique=234_567, bytes=20_000_000, fill_percent=67,
)  # fmt: skip
STATISTICS = DatabaseStatistics(
    source="its pages", page_bytes=8192, bytes=100_000_000, took_s=1.5, tables=[TABLE] * 25, indexes=[INDEX],
    transactions=Transactions(oldest=100, oldest_active=200, next=90_000),
)  # fmt: skip
PASSES = [
    ReadPass(bytes=10**9, seconds=2, cached_bytes_before=0, storage_bytes=10**9),
    ReadPass(bytes=10**9, seconds=0.2, cached_bytes_before=10**9, storage_bytes=0),
]
WHOLE = Inspected(
    acidtest_version="0", taken_at="2026-01-01T00:00:00+00:00", where="/data/x.fdb", family="firebird",
    version="Firebird 5.0 (on-disk structure 13.1)",
    facts={
        "file_bytes": 10**9, "page_bytes": 8192, "pages": 120_000, "free_pages": 60_000, "forced_writes": False,
        "oldest_transaction": 100, "oldest_active": 200, "next_transaction": 90_000, "sweep_interval": 20_000,
    },
    statistics=STATISTICS,
    reading=Reading(how="the file", names=("cold", "warm"), all_bytes=10**9, passes=PASSES, is_cut=False),
)  # fmt: skip


def shown(inspected: Inspected, width: int) -> str:
    return printed(print_inspection, inspected, width=width)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_fits_the_terminal_and_leaves_nothing_out_in_silence(width: int) -> None:
    told = shown(WHOLE, width)
    unbroken = [f"   {sign.do}" for sign in signs(WHOLE)]
    assert set(unbroken) <= set(told.splitlines())
    for line in told.splitlines():
        assert len(line) <= width or line.startswith("/data") or line in unbroken, line
    assert "Forced writes are off" in told and "transaction-" not in told
    assert "The 20 largest of 25 tables; --json has all." in told
    (cold, warm) = (line.split() for line in told.splitlines() if line.startswith(("cold ", "warm ")))
    assert (cold[1], warm[1]) == ("500", "5,000")
    assert "Gaps: next − OIT = 89,900, next − OAT = 89,800." in " ".join(told.split())
    assert ("record bytes" in told.split("A wider terminal")[0]) == (width == 140)


def test_what_else_is_unusual_is_named() -> None:
    deeper = INDEX.model_copy(update={"keys": 50_000, "unique": 10})
    others = [deeper.model_copy(update={"name": f"also_{n}", "keys": 40_000}) for n in range(5)]
    for more, said in (
        (0, "times."), (1, "Another is like it: index also_0"), (5, "5 others are like it: index also_0"),
    ):  # fmt: skip
        inspected = WHOLE.model_copy(
            update={"statistics": STATISTICS.model_copy(update={"indexes": [deeper, *others[:more]]})}
        )
        (sign,) = (sign for sign in signs(inspected) if sign.name == "index-duplicates")
        assert said in sign.says or not more
        assert ("and 2 more" in sign.says) == (more == 5)
        assert ("like it" in sign.says) == bool(more)


def test_names_of_other_people_are_neither_markup_nor_control_codes() -> None:
    told = shown(WHOLE, 140)
    assert "by_[red]name" in told and "\x1b" not in told


def test_json_has_the_figures_and_what_is_unusual() -> None:
    answer = json.loads(json.dumps(as_json(WHOLE)))
    assert len(answer["statistics"]["tables"]) == 25
    assert {one["name"] for one in answer["unusual"]} >= {"forced-writes-off", "transaction-stays-open", "index-deep"}
    assert set(answer["unusual"][0]) == {"name", "severity", "says", "threshold", "do", "source", "evidence"}
    assert (
        Inspected.model_validate({key: value for key, value in answer.items() if key != "unusual"}).facts == WHOLE.facts
    )


def test_what_was_not_read_or_came_from_elsewhere_is_told() -> None:
    assert "not read whole to time that: it was not asked for" in shown(
        WHOLE.model_copy(update={"reading": None, "reading_said": "it was not asked for"}), 100
    )
    passes = [PASSES[0].model_copy(update={"storage_bytes": 0}), PASSES[1]]
    elsewhere = WHOLE.model_copy(
        update={"reading": WHOLE.reading and WHOLE.reading.model_copy(update={"passes": passes})}
    )
    assert "Less than half of the cold reading came from this machine's storage" in " ".join(
        shown(elsewhere, 100).split()
    )


def test_a_server_that_tells_no_sizes_of_indexes_has_none_shown() -> None:
    unsized = STATISTICS.model_copy(update={"indexes": [INDEX.model_copy(update={"bytes": 0})]})
    server = WHOLE.model_copy(update={"family": "mysql", "statistics": unsized})
    assert as_json(server)["statistics"]["indexes"][0]["bytes"] is None
    heads = [line for line in shown(server, 140).splitlines() if line.startswith("index ")]
    assert heads and "MB" not in heads[0]
