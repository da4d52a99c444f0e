"""What is unusual inside a database: each question with a database that it speaks of and one that it passes over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import factory
from acidtest.analysis import database
from acidtest.analysis.database import StatisticsAt, StatisticsBySize, Unusual
from acidtest.analysis.samples import Row
from acidtest.journal.models import DatabaseStatistics, Transactions
from insides import database_size, index, statistics, table

Question = Callable[[DatabaseStatistics], list[Unusual]]


def counters(oldest: int, next_: int, history: int | None = None) -> DatabaseStatistics:
    return statistics(transactions=Transactions(oldest=oldest, oldest_active=oldest, next=next_, history=history))


CASES: list[tuple[Question, DatabaseStatistics, DatabaseStatistics]] = [
    (database.low_fill, statistics(table(fill_percent=49.0)), statistics(table(fill_percent=50.0))),
    (database.low_fill, statistics(index(fill_percent=39.0)), statistics(index(fill_percent=40.0))),
    (
        database.low_fill,
        statistics(table(fill_percent=9.0, bytes=100 * 8192)),
        statistics(table(fill_percent=9.0, bytes=99 * 8192)),
    ),
    (database.hollow, statistics(table(real_fill_percent=55.0)), statistics(table(real_fill_percent=56.0))),
    (database.hollow, statistics(table(real_fill_percent=5.0)), statistics(table(real_fill_percent=None))),
    (database.long_chains, statistics(table(versions_max=50)), statistics(table(versions_max=49))),
    (database.long_chains, statistics(table(versions=20_000)), statistics(table(versions=19_999))),
    (
        database.long_chains,
        statistics(table(records=10, versions=1000)),
        statistics(table(records=10, versions=999)),
    ),
    (database.long_chains, statistics(table(versions=99_999)), statistics(table(versions=None, versions_max=None))),
    (database.stuck, counters(1, 20_002), counters(1, 20_001)),
    (database.stuck, counters(1, 20_002), statistics(transactions=None)),
    (database.stuck, counters(1, 2, history=100_001), counters(1, 99_999_999, history=100_000)),
    (database.repeated, statistics(index(unique=1000)), statistics(index(unique=1001))),
    (database.repeated, statistics(index(unique=1000)), statistics(index(unique=None))),
    (
        database.repeated,
        statistics(index(keys=10_000, unique=1, duplicates_max=9999)),
        statistics(index(keys=9999, unique=1)),
    ),
]


@pytest.mark.parametrize(("question", "unusual", "usual"), CASES)
def test_what_is_unusual_is_told_and_what_is_not_is_passed_over(
    question: Question, unusual: DatabaseStatistics, usual: DatabaseStatistics
) -> None:
    (found,) = question(unusual)
    assert found.where and found.text
    assert question(usual) == []


@pytest.mark.parametrize("question", dict.fromkeys(case[0] for case in CASES))
def test_a_sound_or_empty_database_has_nothing_unusual(question: Question) -> None:
    nothing = dict.fromkeys(("records", "record_bytes", "versions", "fill_percent", "real_fill_percent"))
    assert question(statistics()) == []
    assert question(statistics(table(bytes=0, data_pages=0, **nothing), index(keys=0, unique=0, depth=None))) == []


def test_the_figures_stand_in_the_text_and_the_worst_first() -> None:
    told = statistics(
        table("small", fill_percent=30.0, bytes=10_000_000), table("large", fill_percent=40.0, bytes=900_000_000)
    )
    assert [(unusual.where, unusual.text) for unusual in database.low_fill(told)] == [
        ("table large", "its pages are 40 % full (900.0 MB)"),
        ("table small", "its pages are 30 % full (10.0 MB)"),
    ]
    (most,) = database.repeated(statistics(index("customer_last", keys=630_000, unique=1000, duplicates_max=1098)))
    assert (most.where, most.text) == (
        "index customer_last of t", "630,000 keys have 1,000 different values, one of them 1,099 times",
    )  # fmt: skip


def test_an_index_that_gets_deeper_is_told_with_the_sizes_between_which_it_does() -> None:
    depths = {"1 GB": (2, 3), "2 GB": (2, 3), "4 GB": (3, 3), "8 GB": (3, 4)}
    sizes = [
        StatisticsAt(size, statistics(index("a", depth=a), index("b", depth=b))) for size, (a, b) in depths.items()
    ]
    assert [(unusual.where, unusual.text) for unusual in database.deeper(StatisticsBySize("sqlite", tuple(sizes)))] == [
        ("index a of t", "depth 2 at 2 GB, 3 at 4 GB"),
        ("index b of t", "depth 3 at 4 GB, 4 at 8 GB"),
    ]
    assert database.deeper(StatisticsBySize("sqlite", tuple(sizes[:2]))) == []
    other = StatisticsAt("?", statistics(index("a", depth=None), index("new")))
    shrunk = StatisticsBySize("sqlite", (sizes[2], sizes[0], other))
    assert database.deeper(shrunk) == []


def test_rows_of_several_sizes_are_one_database_each_combination_of_the_others() -> None:
    def row(engine: str, size: str, inside: DatabaseStatistics | None) -> Row:
        levels = {"workload": "tpcc", "engine": engine, "durability": "drive", "size": size}
        first = factory.recording(levels, 1, database_size=None)
        return Row(levels, [first, factory.recording(levels, 2, database_size=database_size(inside))], [], [])

    small, large = statistics(bytes=1), statistics(bytes=2)
    rows = [row("a", "1 GB", small), row("a", "2 GB", None), row("a", "4 GB", large), row("b", "1 GB", large)]
    found = database.by_size(rows)
    assert [(size.name, [(at.size, at.statistics.bytes) for at in size.sizes]) for size in found] == [
        ("tpcc, a, drive", [("1 GB", 1), ("4 GB", 2)]),
        ("tpcc, b, drive", [("1 GB", 2)]),
    ]
