"""The machines of a load from several, as they are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import factory
from acidtest.analysis import generators
from acidtest.analysis.samples import Row
from acidtest.journal.models import Generator, HostSample, Journal, ServerHost
from acidtest.report.page import write_page
from acidtest.report.results import results
from acidtest.report.terminal import print_results
from terminals import printed

FOUND = factory.result(rate=100.0, seconds=60)


def generator(host: str, **changes: Any) -> Generator:
    cpu = FOUND.cpu.model_copy(update={"process_user_s": 20.0, "process_system_s": 10.0})
    fields = {
        "host": host, "terminals": 8, "threads": 1, "committed": 3000, "ended": 3000, "measured_s": 60.0, "cpu": cpu,
        "cpu_count": 4, "service_mean_ns": 8e6, "lateness_ms_p99": 0.2, "lateness_ms_max": 0.9,
        "stood_still_ms_max": 3.0, "began_late_ms": 0.4, "clock_offset_s": 0.01, "clock_error_s": 0.002,
    }  # fmt: skip
    return Generator(**(fields | changes))


def server() -> ServerHost:
    sample = HostSample(
        at_s=1.0,
        busy=0.5,
        io_wait=0.1,
        available_bytes=4 * 10**9,
        pressure_cpu=0.1,
        pressure_io=0.2,
        pressure_memory=None,
    )
    busier = sample.model_copy(update={"at_s": 2.0, "busy": 0.7, "available_bytes": 3 * 10**9})
    return ServerHost(host="db9", cpu_count=8, samples=[sample, busier])


def journal(*of: Generator, repetitions: int = 5) -> Journal:
    made = [
        factory.recording(repetition=n, found=FOUND, generators=list(of), server_host=server())
        for n in range(1, repetitions + 1)
    ]
    return factory.journal(made)


def shown(held: Journal, width: int) -> str:
    return printed(print_results, results(held), width=width)


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_shows_each_machine_and_names_the_slowest(width: int) -> None:
    said = shown(journal(generator("db1"), generator("db2", stood_still_ms_max=2500.0)), width)
    assert "Machines of the load" in said
    assert all(len(line) <= width for line in said.splitlines())
    words = " ".join(said.split())
    assert "the slowest of the machines was db2, which stood still for up to 2,500 ms" in words
    assert "the server's machine db9 had its processors busy 60% of the time (at most 70% of a second)" in words
    assert "3.0 GB of memory available" in words
    assert "generator on db2 stood still" in words
    row = next(line for line in said.splitlines() if "db1" in line)
    assert "50" in row  # commits a second, and busy half of the time
    assert "50%" in row


def test_the_page_and_programs_have_the_same(tmp_path: Path) -> None:
    held = journal(generator("db1"), generator("db2"))
    write_page(results(held), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Machines of the load" in page
    assert '<table class="generators">' in page
    (row,) = json.loads(json.dumps(results(held).as_json()))["rows"]
    assert [generator["host"] for generator in row["generators"]] == ["db1", "db2"]
    assert row["server_host"]["available_bytes_min"] == 3 * 10**9


def test_a_load_from_one_machine_shows_none_of_it(tmp_path: Path) -> None:
    held = factory.journal([factory.recording()])
    assert "Machines of the load" not in shown(held, 140)
    write_page(results(held), tmp_path / "page.html")
    assert "Machines of the load" not in (tmp_path / "page.html").read_text()
    (row,) = results(held).as_json()["rows"]
    assert row["generators"] is None
    assert row["server_host"] is None
    assert not any(key in held.recordings[0].model_dump() for key in ("generators", "server_host"))


@pytest.mark.parametrize(
    ("changes", "slow"),
    [
        ({"stood_still_ms_max": 1300.0}, "b"),
        ({"lateness_ms_max": 5.0}, "b"),
        ({"committed": 2999}, "b"),
        ({"committed": 3001}, "a"),
        ({"lateness_ms_p99": None, "lateness_ms_max": None, "committed": 10}, "b"),
    ],
)
def test_the_slowest_of_them(changes: dict[str, Any], slow: str) -> None:
    recordings = [factory.recording(generators=[generator("a"), generator("b", **changes)])]
    found = generators.slowest(generators.of_row(Row({}, recordings, [], [])))
    assert found is not None
    assert found.host == slow
