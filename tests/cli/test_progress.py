"""What a log is told of a load of the user's own that takes its time."""

from __future__ import annotations

import io

from rich.console import Console

import factory
from acidtest import conductor
from acidtest.cli.progress import LOAD_SHOWN_EVERY_S, Lines
from acidtest.cli.search import _Progress, _SearchLines
from acidtest.experiment import parse
from acidtest.journal.protocol import Progress

TEXT = """
name = "t"
engine = "sqlite"
durability = "drive"
[workload.commits]
count = 5
"""


def test_a_statement_that_takes_its_time_is_told_now_and_then() -> None:
    (cell, *_) = conductor.plan_of(parse(TEXT, "t.toml")).cells
    output = io.StringIO()
    lines = Lines(Console(file=output))

    def at(seconds: float, place: str | None, rows: int = 0) -> None:
        lines.progress(
            cell, Progress(phase="load", fraction=None, elapsed_s=seconds, done=rows, rate_per_s=0.0, at=place)
        )

    long = LOAD_SHOWN_EVERY_S
    at(1, "shop/schema.sql:3")
    at(long, "shop/load.sql:1")
    at(1.9 * long, "shop/load.sql:1")
    assert output.getvalue() == ""
    at(2 * long, "shop/load.sql:1", rows=1_000)
    at(2.9 * long, "shop/load.sql:1")
    assert output.getvalue() == f"{cell.combination}: still at shop/load.sql:1, 1,000 rows so far\n"
    at(3 * long, None)
    at(3.1 * long, "shop/load.sql:1")
    at(3.9 * long, "shop/load.sql:1")
    at(4.2 * long, "shop/load.sql:1")
    assert output.getvalue().endswith(f"\n{cell.combination}: still at shop/load.sql:1\n")


def test_the_time_that_a_search_has_left_is_told_as_the_guess_that_it_is() -> None:
    planned = conductor.plan_of(
        parse(f'{TEXT.replace("count", "duration_s")}[search]\nlimit = "p99 < 10 ms"\n', "t.toml")
    )
    output = io.StringIO()
    lines = _SearchLines(Console(file=output, width=200), planned, _Progress(planned))
    for left_s in (660.0, 0.0):
        lines.cell_ended(planned.cells[0], factory.recording(status="failed", reason="planted", result=None), left_s)
    first, last = output.getvalue().splitlines()
    assert first.endswith("about 11 min 00 s left, if it takes as many runs as most")
    assert last.endswith("; no run left")
