"""What an audit, a run and power cuts did not check: true of what was there, and not said of what was."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from acidtest.audit import findings_output, importers, judge
from acidtest.audit import unchecked as kit
from acidtest.audit.bench import Bench
from acidtest.audit.rules import over
from acidtest.cli import app
from acidtest.finding import Unchecked
from tables import rows

KITS = Path(__file__).parents[1] / "kits"
# What is silent where a benchmark has nothing of a kind; other rules find something elsewhere too.
SILENT = {
    "word sizes, processors and debug builds":
        "debug-build system-differs windows-cache-unlimited word-size",
    "how old the builds are": "old-build",
    "settings and defaults":
        "autovacuum-off binary-log-differs "
        "read-consistency-differs setting-differs settings-all-default",
    "whether commits wait for the drive": "durability-differs durability-given-up",
    "page sizes and page buffers": "buffers-classic buffers-in-header buffers-super page-size-differs",
    "deadlocks, restarts, crashes and checkpoints":
        "checkpoints-frequent corruption-in-log crash-in-log deadlocks-in-log errors-in-log "
        "flush-behind flush-stalls recovery-in-log restarts-in-log restarts-not-repeatable",
    "work that is repeated or waits in procedures":
        "restarts-not-repeatable routine-not-repeatable work-in-one-call",
    "what the study claims": "claim-does-not-follow",
    "rates, latencies and repetitions":
        "closed-loop-stall faster-than-it-turns first-run-differs flush-as-memory "
        "flush-bounds-commits fsync-does-not-flush generator-threads "
        "many-failed no-steady-state no-warm-up "
        "percentile-at-ceiling rate-not-kept service-time-under-rate state-inherited",
    "latencies": "closed-loop-stall percentile-at-ceiling",
    "warm-up and steady state": "closed-loop-stall no-steady-state",
    "what differs between sides":
        "binary-log-differs durability-differs read-consistency-differs server-mode-differs "
        "setting-differs system-differs",
}  # fmt: skip
FACTS: dict[str, Any] = {
    **dict.fromkeys(("binaries", "configurations", "databases", "log", "mounts"), ()),
    "version": "",
}
PARTS = ("routines", "published")


def without(bench: Bench, need: kit.Need) -> Bench:
    """The same benchmark without what ``need`` is about."""

    def of_sides(**facts: Any) -> Bench:
        return replace(bench, sides=[replace(side, **facts) for side in bench.sides])

    def of_results(**figures: Any) -> Bench:
        return replace(bench, published=[replace(one, **figures) for one in bench.published])

    tried = [
        *(of_sides(**{name: nothing}) for name, nothing in FACTS.items()),
        of_sides(configurations=(), databases=(), mounts=()),
        *(replace(bench, **{name: ()}) for name in PARTS),
        replace(bench, sides=bench.sides[:1]),
        replace(bench, declared=None),
        of_results(latency_ms={}),
        of_results(series=()),
    ]
    return next(one for one in tried if not need.there(one))


@pytest.fixture(scope="module")
def benches() -> list[Bench]:
    return [importers.read(path) for path in sorted(KITS.iterdir()) if path.is_dir() and path.name != "fixtures"]


@rows(*kit.NEEDS)
def test_rules_are_silent_where_what_they_need_is_not_there(need: kit.Need, benches: list[Bench]) -> None:
    for bench in benches:
        bare = without(bench, need)
        assert {finding.rule.name for finding in judge.of_bench(bare)} & set(SILENT[need.about].split()) == set()
        if need.given(bare):
            assert Unchecked(need.about, need.nothing) in kit.unchecked(bare)


def test_the_rules_that_are_silent_are_rules() -> None:
    names = {rule.name for rule in over(Bench)}
    assert SILENT.keys() == {need.about for need in kit.NEEDS}
    assert set(" ".join(SILENT.values()).split()) <= names


def test_what_is_there_is_not_said_to_be_missing() -> None:
    assert [one.what for one in kit.unchecked(importers.read(KITS / "unfair-firebird"))] == [
        "what the study claims",
        "rates, latencies and repetitions",
    ]
    only_results = kit.unchecked(importers.read(KITS / "unfair-results"))
    assert Unchecked("warm-up and steady state", "no result has its rate over time") in only_results
    assert "latencies" not in [result.what for result in only_results]
    assert "rates, latencies and repetitions" not in [result.what for result in only_results]


def test_results_without_latencies() -> None:
    bench = importers.read(KITS / "unfair-results")
    bare = replace(bench, published=[replace(one, latency_ms={}) for one in bench.published])
    assert Unchecked("latencies", "no result has any") in kit.unchecked(bare)


def test_an_audit_says_it_in_the_terminal_as_json_and_in_sarif(tmp_path: Path) -> None:
    sarif = tmp_path / "found.sarif"
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "my.cnf").write_text("[mysqld]\ninnodb_flush_log_at_trx_commit = 1\n")
    (tmp_path / "kit" / "what.xyz").write_bytes(b"\x00\x01")
    findings_output = CliRunner().invoke(app, ["audit", str(tmp_path / "kit"), "--sarif", str(sarif)])
    assert (
        "Not checked: word sizes, processors and debug builds (no program or library); "
        in findings_output.output.replace("\n", " ")
    )
    answer = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path / "kit"), "--json"]).output)
    assert {"what": "rates, latencies and repetitions", "why": "no result of a tool"} in answer["not_checked"]
    (run,) = json.loads(sarif.read_text())["runs"]
    (invocation,) = run["invocations"]
    said = [
        toolexecutionnotification["message"]["text"]
        for toolexecutionnotification in invocation["toolExecutionNotifications"]
    ]
    assert "what.xyz was not read: it is of an unknown kind" in said
    assert "Not checked: rates, latencies and repetitions (no result of a tool)" in said
    assert {
        toolexecutionnotification["level"] for toolexecutionnotification in invocation["toolExecutionNotifications"]
    } == {"note"}


def test_files_that_are_passed_over_for_one_reason_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importers, "SEARCHED_BYTES", 8)
    (tmp_path / "pg_wal").mkdir()
    for name in ("pg_wal/1", "pg_wal/2", "heap"):
        (tmp_path / name).write_bytes(b"\0" * 9)
    output = io.StringIO()
    findings_output.print_findings(importers.read(tmp_path), [], [], Console(file=output, width=200))
    assert (
        "not read: 3 files: too large for a file of an unknown kind (2 in pg_wal, 1 in the top directory)"
        in output.getvalue()
    )
