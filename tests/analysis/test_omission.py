"""The same load open and closed: which rows are a pair, and what the closed one leaves out."""

from __future__ import annotations

from typing import Any

import pytest

import factory
from acidtest.analysis.omission import omissions
from acidtest.analysis.samples import rows
from acidtest.journal.models import Journal, Recording
from acidtest.report.page import write_page
from acidtest.report.results import results as compute
from acidtest.report.terminal import print_results
from terminals import printed, words

# One stall of a second: a hundred arrivals wait half of it on average, and a closed loop of one terminal counts it once.
SERVICES_MS = [1.0] * 1089 + [1000.0]
RESPONSES_MS = [1.0] * 990 + [10.0 * number for number in range(1, 101)]


def cell(name: str, engine: str = "sqlite", repetition: int = 1, rate: float = 99.0, **workload: Any) -> Recording:
    is_open = "rate_per_s" in workload
    latency = RESPONSES_MS if is_open else SERVICES_MS
    histograms = {
        "latency": factory.histogram([1e6 * ms for ms in latency]),
        "service": factory.histogram([1e6 * ms for ms in SERVICES_MS]),
    }
    arrivals = factory.open_loop(0, 0).arrivals if is_open else None
    found = factory.result().model_copy(update={**histograms, "goodput_per_s": rate, "arrivals": arrivals})
    levels = {"workload": name, "engine": engine, "durability": "drive"}
    asked = {"name": name, "kind": "commits", "terminals": 8, "think_ms": 0.0, **workload}
    return factory.recording(levels, repetition, found=found, workload=asked)


def made(*cells: Recording) -> Journal:
    return factory.journal(list(cells))


def found(journal: Journal) -> list[Any]:
    return omissions(rows(journal.header, journal.recordings))


OPEN, CLOSED = {"rate_per_s": 100.0}, {"think_ms": 80.0}


def test_a_stall_that_the_closed_loop_hides_shows() -> None:
    (one,) = found(made(cell("open", **OPEN), cell("closed", **CLOSED)))
    assert one.asked_per_s == 100.0
    assert one.response[1].value_ms == pytest.approx(890, rel=0.02)
    assert one.service[1].value_ms == one.closed_loop[1].value_ms == pytest.approx(1.0, rel=0.01)
    assert one.hidden(0.99) == pytest.approx(890, rel=0.03)
    assert one.response[2].value_ms is None  # so few transactions bear no p99.9
    assert one.hidden(0.999) is None
    assert one.is_same_load


def test_rows_that_differ_in_more_than_their_pace_are_no_pair() -> None:
    journal = made(
        cell("open", **OPEN),
        cell("closed", engine="firebird-5.0", **CLOSED),
        cell("other", row_bytes=7, **CLOSED),
    )
    assert found(journal) == []


def test_each_engine_has_a_pair_of_its_own() -> None:
    pairs = made(
        *(cell(n, e, **k) for e in ("sqlite", "firebird-5.0") for n, k in (("open", OPEN), ("closed", CLOSED)))
    )
    assert [one.levels["engine"] for one in found(pairs)] == ["sqlite", "firebird-5.0"]


def test_two_loads_are_told_as_two_loads(tmp_path: Any) -> None:
    journal = made(cell("open", rate=99.0, **OPEN), cell("closed", rate=300.0, **CLOSED))
    results = compute(journal)
    shown = words(printed(print_results, results))
    assert "What the closed loop leaves out" in shown
    assert "the closed loop came to 300 a second and the open one to 99.0: these are two loads." in shown
    write_page(results, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'id="omission"' in page and "these are two loads" in page
    (told,) = results.as_json()["omissions"]
    assert (told["open"], told["closed"], told["same_load"]) == ("open", "closed", False)
    assert told["response_ms"]["p99"] > 800
    assert told["closed_ms"]["p99"] < 2


def test_the_page_begins_with_what_is_hidden(tmp_path: Any) -> None:
    write_page(compute(made(cell("open", **OPEN), cell("closed", **CLOSED))), tmp_path / "page.html")
    page = " ".join((tmp_path / "page.html").read_text().split())
    assert "sqlite: 900 ms, of which a closed loop shows 1.00 ms." in page


def test_without_a_pair_nothing_is_said(tmp_path: Any) -> None:
    results = compute(made(cell("open", **OPEN)))
    assert results.omissions == ()
    write_page(results, tmp_path / "page.html")
    assert 'id="omission"' not in (tmp_path / "page.html").read_text()
