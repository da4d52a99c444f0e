"""Recordings into rows: what enters a number, in which order, and what a row is read against."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import factory
from acidtest.analysis.pairs import base_of, by_workload
from acidtest.analysis.samples import Row, rows, varying

RUN = factory.result(rate=50.0)


def levels(engine: str, durability: str = "drive", workload: str = "commits", **more: str) -> dict[str, str]:
    return {"workload": workload, "engine": engine, "durability": durability, **more}


def row(engine: str, durability: str = "drive", workload: str = "commits", **more: str) -> Row:
    held = levels(engine, durability, workload, **more)
    return Row(held, done=[factory.recording(held, found=RUN)], invalid=[], failed=[])


@settings(max_examples=20)
@given(st.permutations([(n, s) for n, s in enumerate(["done", "done", "invalid", "failed", "done", "lost"], start=1)]))
def test_only_done_cells_with_a_result_enter_numbers(cells: list[tuple[int, str]]) -> None:
    found = []
    for repetition, status in cells:
        run = RUN.model_copy(update={"goodput_per_s": float(repetition), "measured_s": 10.0 * repetition})
        if status == "lost":
            found.append(factory.recording(levels("sqlite"), repetition, result=None))
        elif status == "done":
            found.append(factory.recording(levels("sqlite"), repetition, found=run))
        else:
            found.append(factory.failed(levels("sqlite"), repetition, "why", status).model_copy(update={"result": run}))
    (only,) = rows(factory.journal(found).header, found)
    assert only.goodput_per_s == [1, 2, 5]
    assert only.seconds == [10, 20, 50]
    assert [r.repetition for r in only.invalid] == [3]
    assert [r.repetition for r in only.failed] == [4, 6]


def test_a_row_without_a_done_cell_is_kept() -> None:
    found = [factory.failed(levels("sqlite"), 1, "no space left")]
    (only,) = rows(factory.journal(found).header, found)
    assert (only.goodput_per_s, only.first.reason, only.engine) == ([], "no space left", "sqlite")


def test_first_prefers_a_run_that_counts() -> None:
    found = [factory.failed(levels("sqlite"), 1, "why"), factory.recording(levels("sqlite"), 2, found=RUN)]
    (only,) = rows(factory.journal(found).header, found)
    assert only.first.repetition == 2


def test_rows_stand_in_the_experiments_order_of_levels() -> None:
    ran = [
        factory.recording(levels(engine, durability), found=RUN)
        for engine in ("firebird-5.0", "sqlite", "firebird-3.0")
        for durability in ("os", "drive")
    ]
    header = factory.journal(ran).header.model_copy(
        update={
            "factors": {
                "workload": ["commits"],
                "engine": ["sqlite", "firebird-5.0", "firebird-3.0"],
                "durability": ["drive", "os"],
            }
        }
    )
    assert [found.key[1:] for found in rows(header, ran)] == [
        ("sqlite", "drive"),
        ("sqlite", "os"),
        ("firebird-5.0", "drive"),
        ("firebird-5.0", "os"),
        ("firebird-3.0", "drive"),
        ("firebird-3.0", "os"),
    ]


def test_by_count_follows_the_workload() -> None:
    study = factory.study(engines=["sqlite"], repetitions=1)
    assert {found.workload: found.by_count for found in rows(study.header, study.recordings)} == {
        "commits": True,
        "tpcb": False,
    }


def test_varying_leaves_out_the_workload_and_single_levels() -> None:
    table = [row("sqlite", workload="tpcb"), row("sqlite", "os"), row("sqlite", "os")]
    assert varying(table) == ["durability"]
    assert varying(table[1:]) == []
    assert varying([]) == []


def test_workloads_share_no_table() -> None:
    one, two, three = row("sqlite", workload="tpcb"), row("sqlite"), row("firebird-5.0", workload="tpcb")
    assert by_workload([one, two, three]) == {"tpcb": [one, three], "commits": [two]}


SQLITE = {d: row("sqlite", d) for d in ("os", "drive")}
FIREBIRD = {d: row("firebird-5.0", d) for d in ("os", "drive")}
TPCB = row("firebird-5.0", workload="tpcb")
AMONG = [*SQLITE.values(), *FIREBIRD.values(), TPCB]


@pytest.mark.parametrize(
    ("of", "base", "expected"),
    [
        (FIREBIRD["os"], {}, None),
        (FIREBIRD["os"], {"engine": "sqlite"}, SQLITE["os"]),
        (FIREBIRD["os"], {"durability": "drive"}, FIREBIRD["drive"]),
        (FIREBIRD["os"], {"engine": "sqlite", "durability": "drive"}, SQLITE["drive"]),
        (SQLITE["drive"], {"engine": "sqlite", "durability": "drive"}, SQLITE["drive"]),
        (FIREBIRD["os"], {"engine": "sqlite", "durability": "none"}, None),
        (FIREBIRD["os"], {"engine": "sqlite", "scale": "9"}, SQLITE["os"]),
        (TPCB, {"engine": "sqlite"}, None),
        (TPCB, {"workload": "commits", "engine": "sqlite"}, None),
    ],
    ids=[
        "no base named",
        "own level where the base names none",
        "own engine where the base names none",
        "all named",
        "the base itself",
        "not run",
        "a factor the row does not have",
        "not in this workload",
        "never another workload",
    ],
)
def test_base_of(of: Row, base: dict[str, str], expected: Row | None) -> None:
    assert base_of(of, AMONG, base) is expected


def test_a_factor_that_the_bases_engine_lacks_does_not_part_it_from_the_row() -> None:
    small, large = (row("firebird-5.0", page_buffers=size) for size in ("100", "200"))
    sqlite = row("sqlite", page_buffers="–")
    assert base_of(large, [small, large, sqlite], {"engine": "sqlite"}) is sqlite
    assert base_of(large, [small, large, sqlite], {"engine": "sqlite", "page_buffers": "100"}) is None
    assert base_of(sqlite, [small, large, sqlite], {"engine": "firebird-5.0"}) is None


def test_a_base_with_the_rows_own_level_comes_before_one_without() -> None:
    mine, without, same = (
        row("firebird-5.0", page_buffers="100"),
        row("firebird-3.0", page_buffers="–"),
        row("firebird-3.0", page_buffers="100"),
    )
    assert base_of(mine, [mine, without, same], {"engine": "firebird-3.0"}) is same
