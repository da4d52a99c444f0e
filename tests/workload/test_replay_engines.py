"""Logs that engines have written, replayed on engines: the database afterwards is the one that the log's own run left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recording
from acidtest.engine import Engine, catalogue
from acidtest.journal.protocol import Replayed
from acidtest.place import Ledger
from recording import replay, replayed, row, shop
from support import times

pytestmark = pytest.mark.slow

ENGINES = ("postgresql-17", "mariadb-11.8", "firebird-5.0")
PACES: tuple[dict[str, Any], ...] = ({}, {"speed": 0.5}, {"pace": "closed"})
Find = Callable[[str], Engine]


@pytest.fixture
def find(engines_installed: None) -> Find:
    return catalogue.find


@pytest.mark.parametrize(
    "name", [*ENGINES, *(pytest.param(name, marks=pytest.mark.long) for name in ("mysql-8.0", "firebird-3.0"))]
)
def test_a_replay_leaves_the_database_that_the_recorded_run_left(
    name: str, find: Find, ledger: Ledger, tmp_path: Path
) -> None:
    engine = find(name)
    # One terminal: in a closed loop nothing keeps the order between several.
    logs, left = recording.recorded(engine, tmp_path, ledger, shop(terminals=1, count=40))
    assert logs
    # Every format at its times; the other paces once, for they do not depend on it.
    others = PACES[1:] if name == ENGINES[0] else PACES[1 : times(1, len(PACES))]
    for number, (log, keys) in enumerate([(log, PACES[0]) for log in logs] + [(logs[-1], keys) for keys in others]):
        workload = replay([log], **keys)
        facts = workload.facts()
        again = replayed(engine, tmp_path / f"again-{number}", ledger, workload)
        assert again.content == left.content
        assert all(condition.holds for checked in again.checks for condition in checked.conditions)
        result, seen = again.result, again.replayed
        assert result is not None
        assert seen is not None
        assert (result.counts.committed, result.counts.errors, result.counts.conflicts) == (facts.transactions, 0, 0)
        assert (result.arrivals is None) == ("pace" in keys)
        if result.arrivals:
            assert result.arrivals.scheduled == facts.transactions
            assert result.measured_s >= facts.length_s / keys.get("speed", 1) - 1
        assert (seen.sessions, seen.sessions_refused) == (facts.sessions, 0)
        assert seen.statements == facts.statements
        assert seen.latency.count == seen.service.count == facts.statements
        assert seen.logged.count == facts.tell_time
        assert (seen.errors_new, seen.errors_missing, seen.rows_differ, seen.left_out) == (0, 0, 0, 0)
        assert seen.rows_compared == facts.tell_rows
        assert (facts.tell_rows > 0) == (log.name in ("slow.log", "trace.txt"))


def test_several_sessions_are_replayed_at_the_same_time(find: Find, ledger: Ledger, tmp_path: Path) -> None:
    engine = find("postgresql-17")
    logs, left = recording.recorded(engine, tmp_path, ledger, shop(terminals=4, count=60))
    workload = replay(logs[:1])
    assert workload.terminals >= 4
    # The sums of the shop do not depend on the order in which its sessions bought.
    assert replayed(engine, tmp_path / "again", ledger, workload).content == left.content


def run(engine: Engine, log: Path, text: str, directory: Path, ledger: Ledger) -> tuple[recording.Ran, Replayed]:
    log.write_text(text, encoding="utf-8")
    ran = replayed(engine, directory, ledger, replay([log]))
    assert ran.replayed is not None
    return ran, ran.replayed


def test_what_comes_to_something_else_than_in_the_log_is_counted(find: Find, ledger: Ledger, tmp_path: Path) -> None:
    country = "insert into country values (%d, 'x')"
    text = (
        row(f"statement: {country % 900}")
        # Twice the same: the log has no error.
        + row(f"statement: {country % 900}")
        # The log has an error, and nothing is wrong with it now.
        + row(f"statement: {country % 901}") + row("duplicate key", severity="ERROR", statement=country % 901)
        # Both have one.
        + row("statement: selec 1") + row("syntax error", severity="ERROR", statement="selec 1")
        # A transaction that fails now: what is behind the error is left out, and what was before is taken back.
        + row("statement: begin") + row(f"statement: {country % 902}") + row(f"statement: {country % 902}")
        + row(f"statement: {country % 903}") + row("statement: commit")
        # One that failed then, too: its commit is a rollback.
        + row("statement: begin") + row(f"statement: {country % 904}") + row(f"statement: {country % 904}")
        + row("duplicate key", severity="ERROR", statement=country % 904) + row("statement: commit")
        + row("execute <unnamed>: insert into country values ($1, $2)", detail="Parameters: $1 = '905', $2 = 'ü''\n'")
    )  # fmt: skip
    engine = find("postgresql-17")
    ran, seen = run(engine, tmp_path / "a.csv", text, tmp_path / "again", ledger)
    assert (seen.errors_new, seen.errors_missing, seen.errors_alike, seen.left_out) == (2, 1, 2, 2)
    assert ran.result is not None
    counts = ran.result.counts
    assert (counts.committed, counts.rolled_back, counts.errors) == (3, 2, 2)
    assert [(difference.place, difference.logged) for difference in seen.differences] == [
        ("a.csv:2", "no error"), ("a.csv:3", "an error"), ("a.csv:9", "no error"),
    ]  # fmt: skip
    assert "duplicate key" in seen.differences[0].replayed


def test_rows_that_differ_are_counted(find: Find, ledger: Ledger, tmp_path: Path) -> None:
    engine = find("mariadb-11.8")
    logs, _ = recording.recorded(engine, tmp_path, ledger, shop(terminals=1, count=8))
    slow = next(log for log in logs if log.name == "slow.log")
    lines = slow.read_text(encoding="utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith("select price from product"))
    figures = max(n for n in range(at) if lines[n].startswith("# Query_time"))
    lines[figures] = lines[figures].replace("Rows_sent: 1 ", "Rows_sent: 7 ")
    _, seen = run(engine, tmp_path / "b.log", "\n".join(lines), tmp_path / "again", ledger)
    assert (seen.rows_differ, seen.errors_new) == (1, 0)
    assert [(difference.logged, difference.replayed) for difference in seen.differences] == [("7 rows", "1 row")]
    assert seen.differences[0].statement.startswith("select price from product")


def test_a_session_is_opened_when_it_was_and_no_longer_kept(find: Find, ledger: Ledger, tmp_path: Path) -> None:
    """Forty sessions one after another are more than this server lets in at once beside ours."""
    text = "".join(
        row("statement: select 1", session=f"6b04.{number}", at=f"00:{number:02d}.000").replace(
            "22:00:00 UTC,3/1", f"22:00:{number:02d} UTC,3/1"
        )
        for number in range(40)
    )
    engine = find("postgresql-17")
    log = tmp_path / "a.csv"
    log.write_text(text, encoding="utf-8")
    workload = replay([log], speed=50)
    assert workload.terminals == 1
    ran = replayed(engine, tmp_path / "again", ledger, workload)
    assert ran.replayed is not None
    assert (ran.replayed.sessions, ran.replayed.sessions_refused, ran.replayed.statements) == (40, 0, 40)
    assert ran.result is not None
    assert ran.result.connections is not None
    assert ran.result.connections.opened == 40
