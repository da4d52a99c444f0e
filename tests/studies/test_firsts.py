"""The page of what no text asks: tables of the reports themselves, and sentences of their figures."""

from __future__ import annotations

from typing import Any

from studies.pages import Kept, Making
from studies.study import Experiment, read

import factory
from acidtest.journal.models import (
    Explored,
    FailingState,
    Journal,
    Recording,
    RecoveryOutcome,
    RecoveryTimes,
    States,
    SteadyWait,
    Verdict,
)

DRIVE = {"durability": "drive", "place.filesystem": "ext4"}


def cut(levels: dict[str, str], **changes: Any) -> Recording:
    made = factory.cut(**changes)
    return factory.recording({"workload": "numbered", **levels, **DRIVE}, cut=made).model_copy(update={"result": None})


def recovery() -> Journal:
    times = RecoveryTimes(
        mount_s=0.5, clean_mount_s=0.2, start_s=3.0, clean_start_s=1.0, first_commit_s=0.25, full_speed_s=4.0,
        watched_s=7.0, limit_s=20.0, before="steady", before_per_s=[100.0] * 8, after_per_s=[], why="",
    )  # fmt: skip
    logs = ("small", "large")
    return factory.journal([cut({"engine": "postgresql-15", "log": log}, recovery=times) for log in logs])


def states(lost: int) -> Journal:
    found = States(
        looked_at=1000, survived=1000 - lost, lost=lost, unknown=0, per_s=50.0, writes=500, flushes=100, shortest="",
        images=900, outcomes=2, drawn=600, legal_log10=9.5, damaged=0,
    )  # fmt: skip
    verdict: Any = "lost" if lost else "survived"
    return factory.journal([cut({"engine": one}, verdict=verdict, states=found) for one in ("sqlite", "firebird-5.0")])


def loops() -> Journal:
    cells = []
    for name, ms, asked in (("open", 100.0, {"rate_per_s": 300.0}), ("closed", 5.0, {"think_ms": 100.0})):
        histogram = factory.histogram([1e6] * 900 + [ms * 1e6] * 100)
        found = factory.result().model_copy(
            update={"latency": histogram, "service": factory.histogram([1e6] * 1000), "goodput_per_s": 300.0,
                    "arrivals": factory.open_loop(0, 0).arrivals if name == "open" else None}
        )  # fmt: skip
        workload = {"name": name, "kind": "commits", "terminals": 32, **asked}
        levels = {"workload": name, "engine": "sqlite", **DRIVE}
        cells.append(factory.recording(levels, found=found, workload=workload))
    return factory.journal(cells)


def starts() -> Journal:
    cells = []
    for engine in ("postgresql-15", "mariadb-10.11"):
        for name in ("3 s", "until steady, 120 s at most"):
            wait = SteadyWait(
                earliest_s=3.0, limit_s=120.0, window_s=12, windows=6, waited_s=28.0, reached=True, state="steady",
                change=0.0, per_s=[],
            )  # fmt: skip
            levels = {"workload": "tpcb", "engine": engine, "warm_up": name, **DRIVE}
            made = factory.recording(levels)
            cells.append(made.model_copy(update={"steady_wait": wait}) if name != "3 s" else made)
    return factory.journal(cells)


def looked_at(cells: Journal) -> list[Explored]:
    """In each two states that lost: one that its engine's check knows of, and one whose engine does not start."""
    checks: dict[str, Verdict] = {"engine-starts": "survived", "engine-check-holds": "lost"}
    found: dict[str, Any] = {"verdict": "lost", "unannounced": True, "damaged": True, "found": ""}
    outcomes = [
        RecoveryOutcome(**found, checks={"acknowledged-commits-are-there": "lost", **checks}),
        RecoveryOutcome(**found, checks={"engine-starts": "lost", "engine-check-holds": "unknown"}),
    ]
    worst = FailingState(start=0, to=4, without=[], torn=[(3, [0])], of="the last one torn", outcome=0, reasons=[])
    return [
        Explored(
            cell=recording.cell,
            load="0" * 64,
            ended_at=recording.ended_at,
            took_s=1.0,
            outcomes=outcomes,
            worst=worst,
            states=[("0" * 32, 0, 0, False), ("1" * 32, 1, 1, True)],
        )
        for recording in cells.recordings
    ]


def making(**journals: Journal) -> Making:
    held = read("firsts")
    kept = {
        name: Kept(
            name,
            experiment,
            {experiment.commands[0]: journals[name]} if name in journals else {},
            looked_at(journals[name]) if name == "crash-states" and name in journals else (),
        )
        for name, experiment in held.study.experiments.items()
    }
    return Making(held, kept)


ALL = {"recovery": recovery(), "steady": starts(), "open-loop": loops(), "crash-states": states(0)}


def test_with_all_recordings_the_page_begins_with_figures_and_has_each_table() -> None:
    page = making(**ALL).page()
    assert "answers 3.00 s after its start, 2.00 s of which are its redo." in page.text
    assert "5.00 ms as the 99th percentile of SQLite's commits, and the users of the same load wait 100 ms" in " ".join(
        page.text.split()
    )
    assert "Of 2,000 states that power cuts could have left, 0 left a database that is damaged." in " ".join(
        page.text.split()
    )
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.text.splitlines()]
    assert ["large", *(f"{one} (1 run)" for one in ("0.500", "0.300", "3.00", "2.00", "0.250")), "4.00", "100"] in cells
    assert ["sqlite", "survived", "1,000", "900", "10^10", "0", "2", "up to 0.50 %"] in cells
    assert any(row[:1] == ["postgresql-15"] and "28.0 (1 of 1 steady)" in row for row in cells)
    assert [said for _, said, _ in page.rows] == [
        "a larger log makes the start of PostgreSQL 15 1.0 times as long: all are at full speed again within the time "
        "watched",
        "measured when it is steady, PostgreSQL 15 commits 1.0 times as much, and MariaDB 10.11 1.0 times",
        "measured: at the 99th percentile users wait 20.0 times as long as the closed loop tells (sqlite)",
        "none of 2,000 states lost anything",
    ]


def test_states_that_lost_are_told_with_their_engine_and_bound_nothing() -> None:
    page = making(**{**ALL, "crash-states": states(2)}).page()
    assert page.rows[3][1] == (
        "states of sqlite on ext4 (2), firebird-5.0 on ext4 (2) leave the database damaged; acknowledged commits are "
        "missing in 2 of those that can be read"
    )
    assert "| sqlite | 2 | 1 | 1 | 1 | 0 |" in page.text
    assert "In each of 2 batches with a loss the shortest such state: the last one torn in 2." in page.text
    assert "up to" not in page.text.partition("## States")[2].partition("## What")[0]


def test_what_is_not_measured_is_said_and_leaves_the_other_tables() -> None:
    page = making(recovery=recovery()).page()
    assert "Not all of them have recordings" in page.text
    assert page.rows[0][1].startswith("a larger log makes")
    assert all(said.startswith("not measured yet") for _, said, _ in page.rows[1:])


def test_so_many_cuts_are_asked_for_of_power_cuts_alone() -> None:
    one = Experiment(file="a.toml", commands=["run", "powercut"], quick=True, cuts=5)
    assert one.command("powercut") == ["acidtest", "powercut", "a.toml", "--quick", "--cuts", "5", "--out", "DIR"]
    assert "--cuts" not in one.command("run")
