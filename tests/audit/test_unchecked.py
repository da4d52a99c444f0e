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

from acidtest.analysis.samples import rows
from acidtest.audit import importers, judge
from acidtest.audit.bench import Bench
from acidtest.audit.rules import over
from acidtest.audit.unchecked import Unchecked, in_words, kit, listed
from acidtest.audit.unchecked import cuts as of_cuts
from acidtest.audit.unchecked import run as of_run
from acidtest.cli import app
from acidtest.journal.models import Recording, States, Verdict
from acidtest.report import findings as shown
from factory import cut, journal, memory, priced, recording, result

KITS = Path(__file__).parents[1] / "kits"
# What is silent where a benchmark has nothing of a kind; other rules find something elsewhere too.
SILENT: dict[str, set[str]] = {
    "word sizes, processors and debug builds": {
        "architecture-differs",
        "cache-limit-32-bit",
        "cache-limit-not-allowed",
        "debug-build",
        "random-access-flag",
        "system-differs",
        "windows-cache-unlimited",
        "word-size",
    },
    "how old the builds are": {"old-build"},
    "settings and defaults": {
        "autovacuum-off",
        "binary-log-differs",
        "cache-limit-32-bit",
        "cache-limit-not-allowed",
        "no-checkpoint",
        "read-consistency-differs",
        "setting-differs",
        "settings-all-default",
        "windows-cache-unlimited",
    },
    "whether commits wait for the drive": {"durability-differs", "durability-given-up"},
    "page sizes and page buffers": {"buffers-classic", "buffers-in-header", "buffers-super", "page-size-differs"},
    "deadlocks, restarts, crashes and checkpoints": {
        "checkpoints-forced",
        "checkpoints-frequent",
        "corruption-in-log",
        "crash-in-log",
        "deadlocks-in-log",
        "errors-in-log",
        "flush-behind",
        "flush-stalls",
        "recovery-in-log",
        "restarts-in-log",
        "restarts-not-repeatable",
    },
    "work that is repeated or waits in procedures": {
        "hot-row",
        "restarts-not-repeatable",
        "routine-not-repeatable",
        "work-in-one-call",
    },
    "what is claimed of the drive, the file system and the repetitions": {
        "base-missing",
        "best-of",
        "drive-undisclosed",
        "faster-than-it-turns",
        "file-system-undisclosed",
        "iops-above-provisioned",
        "no-interval",
        "tpc-words",
    },
    "rates, latencies and repetitions": {
        "below-scale",
        "benchbase-goodput",
        "closed-loop-stall",
        "drive-undisclosed",
        "faster-than-it-turns",
        "file-system-undisclosed",
        "first-run-differs",
        "flush-as-memory",
        "flush-bounds-commits",
        "fsync-does-not-flush",
        "generator-threads",
        "goodput-above-throughput",
        "iops-above-provisioned",
        "late-ones-skipped",
        "many-failed",
        "new-order-share",
        "new-order-share-low",
        "no-checkpoint",
        "no-interval",
        "no-steady-state",
        "no-warm-up",
        "percentile-at-ceiling",
        "percentiles-disordered",
        "rate-not-kept",
        "service-time-under-rate",
        "state-inherited",
        "warm-up-inside",
    },
    "latencies": {"closed-loop-stall", "percentile-at-ceiling", "percentiles-disordered"},
    "warm-up and steady state": {"closed-loop-stall", "no-steady-state", "warm-up-inside"},
    "what differs between sides": {
        "architecture-differs",
        "binary-log-differs",
        "durability-differs",
        "read-consistency-differs",
        "server-mode-differs",
        "setting-differs",
        "system-differs",
    },
}
FACTS: dict[str, Any] = {
    **dict.fromkeys(("binaries", "configurations", "databases", "log", "mounts"), ()),
    "version": "",
}
PARTS = ("routines", "texts", "claims", "published")


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
        of_results(latency_ms={}),
        of_results(series=()),
    ]
    return next(one for one in tried if not need.there(one))


@pytest.fixture(scope="module")
def benches() -> list[Bench]:
    return [importers.read(one) for one in sorted(KITS.iterdir()) if one.is_dir() and one.name != "fixtures"]


@pytest.mark.parametrize("need", kit.NEEDS, ids=[need.about for need in kit.NEEDS])
def test_rules_are_silent_where_what_they_need_is_not_there(need: kit.Need, benches: list[Bench]) -> None:
    for bench in benches:
        bare = without(bench, need)
        assert {finding.rule.name for finding in judge.of_bench(bare)} & SILENT[need.about] == set()
        if need.given(bare):
            assert Unchecked(need.about, need.nothing) in kit.unchecked(bare)


def test_the_rules_that_are_silent_are_rules() -> None:
    names = {rule.name for rule in over(Bench)}
    assert SILENT.keys() == {need.about for need in kit.NEEDS}
    assert frozenset().union(*SILENT.values()) <= names


def test_what_is_there_is_not_said_to_be_missing() -> None:
    assert [one.what for one in kit.unchecked(importers.read(KITS / "unfair-firebird"))] == [
        "rates, latencies and repetitions"
    ]
    only_results = kit.unchecked(importers.read(KITS / "unfair-results"))
    assert Unchecked("warm-up and steady state", "no result has its rate over time") in only_results
    assert "latencies" not in [one.what for one in only_results]
    assert "rates, latencies and repetitions" not in [one.what for one in only_results]


def test_results_without_latencies() -> None:
    bench = importers.read(KITS / "unfair-results")
    bare = replace(bench, published=[replace(one, latency_ms={}) for one in bench.published])
    assert Unchecked("latencies", "no result has any") in kit.unchecked(bare)


def test_an_audit_says_it_in_the_terminal_as_json_and_in_sarif(tmp_path: Path) -> None:
    sarif = tmp_path / "found.sarif"
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "my.cnf").write_text("[mysqld]\ninnodb_flush_log_at_trx_commit = 1\n")
    (tmp_path / "kit" / "what.xyz").write_bytes(b"\x00\x01")
    shown = CliRunner().invoke(app, ["audit", str(tmp_path / "kit"), "--sarif", str(sarif)])
    assert "Not checked: word sizes, processors and debug builds (no program or library); " in shown.output.replace(
        "\n", " "
    )
    told = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path / "kit"), "--json"]).output)
    assert {"what": "rates, latencies and repetitions", "why": "no result of a tool"} in told["not_checked"]
    (run,) = json.loads(sarif.read_text())["runs"]
    (invocation,) = run["invocations"]
    said = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert "what.xyz was not read: it is of an unknown kind" in said
    assert "Not checked: rates, latencies and repetitions (no result of a tool)" in said
    assert {one["level"] for one in invocation["toolExecutionNotifications"]} == {"note"}


def test_an_audit_of_ours_says_what_the_run_and_its_cuts_do_not_show(tmp_path: Path) -> None:
    run, cuts = priced()
    for name, held in (("journal.jsonl", run), ("cuts.jsonl", cuts)):
        lines = (held.header, *held.recordings)
        (tmp_path / name).write_text("".join(f"{one.model_dump_json(by_alias=True)}\n" for one in lines))
    told = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path), "--json"]).output)
    what = [one["what"] for one in told["not_checked"]]
    assert "whether commits survive a power cut" not in what
    assert "other moments" in what
    (tmp_path / "cuts.jsonl").unlink()
    told = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path), "--json"]).output)
    assert told["not_checked"][0] == {"what": "whether commits survive a power cut", "why": "none was made here"}


# ------------------------------------------------------------------------------------------------------------ runs


def ran(terminals: int = 1, **changes: Any) -> list[Recording]:
    """One row of two repetitions on a drive, with one terminal."""
    levels = {"workload": "commits", "engine": "sqlite", "durability": "drive"}
    found = result(100.0, terminals=terminals)
    return [recording(levels, n, found=found, **changes) for n in (1, 2)]


def of(recordings: list[Recording], cuts: list[Recording] | None = None) -> dict[str, str]:
    held = journal(recordings)
    return {one.what: one.why for one in of_run.unchecked(rows(held.header, held.recordings), cuts or [])}


def was_cut(*verdicts: Verdict, workload: str = "numbered", **changes: Any) -> list[Recording]:
    levels = {"workload": workload, "engine": "sqlite", "durability": "drive"}
    made = [recording(levels, n, cut=cut(verdict, **changes)) for n, verdict in enumerate(verdicts, start=1)]
    return [one.model_copy(update={"result": None}) for one in made]


def test_a_run_of_ours_says_what_its_rates_do_not_show() -> None:
    told = of(ran())
    assert told["whether commits survive a power cut"] == "none was made here"
    assert told["whether /dev/nvme0n1 keeps what it reports as flushed"] == "no rate shows that"
    assert told["clients in each other's way"] == "there was one terminal"
    assert told["reads from the drive"].endswith(" of memory")
    assert told["what shows later, as checkpoints do"].startswith("no run was longer than ")
    assert "consistency conditions" not in told


def test_what_a_run_did_is_not_said_to_be_missing() -> None:
    assert not any("power cut" in what for what in of(ran(), was_cut("survived")))
    assert "clients in each other's way" not in of(ran(terminals=4))
    assert "reads from the drive" not in of(ran(database_bytes=20 * 1024**3))
    assert "reads from the drive" not in of(ran(memory=memory(limit_mib=2)))
    simulated = ran()[0].place.model_copy(update={"disk": "no timing"})
    assert not any("reports as flushed" in what for what in of(ran(place=simulated)))
    assert not any("reports as flushed" in what for what in of(ran(durability="os")))


def test_levels_that_were_not_cut_are_named() -> None:
    others = [one.model_copy(update={"levels": one.levels | {"engine": "firebird-5.0"}}) for one in ran()]
    told = of([*ran(), *others], was_cut("survived"))
    assert told["whether commits of firebird-5.0 at level drive survive a power cut"] == "none was made there"


def test_conditions_that_were_not_checked_are_counted() -> None:
    first, second = ran()
    assert of([first, second.model_copy(update={"checks_after": None})])["consistency conditions"] == (
        "they were not checked in 1 of 2 cells"
    )


def test_reads_are_of_no_commits() -> None:
    scans = [one.model_copy(update={"workload": one.workload | {"kind": "scan"}}) for one in ran()]
    assert not any("power cut" in what or "flushed" in what or "clients" in what for what in of(scans))


def test_without_rates_there_is_nothing_to_say() -> None:
    assert of_run.unchecked([]) == []


# ------------------------------------------------------------------------------------------------------ power cuts


@pytest.mark.parametrize(("cuts", "share"), [(1, 0.95), (3, 0.6316), (20, 0.1391), (59, 0.0495), (299, 0.00997)])
def test_how_much_so_many_cuts_leave_open(cuts: int, share: float) -> None:
    """One minus the twentieth's root: 59 cuts for one moment in twenty, as tables of that interval have it."""
    assert of_cuts.may_still_lose(cuts) == pytest.approx(share, abs=1e-4)


def test_power_cuts_say_what_they_do_not_show() -> None:
    told = {one.what: one.why for one in of_cuts.unchecked(was_cut("survived", "survived", "survived"))}
    assert told == {
        "other moments": "after 3 cuts without a loss up to 63 % of them may still lose some, at 95 %",
        "torn writes, writes out of order, a second cut during recovery and flushes that fail": "not asked for",
        "other transactions": "those of numbered were cut, from 1 terminal",
        "a real drive, what lies beside the database files, replicas": "the disk is simulated, ext4 on Linux 6.12.1",
    }


def test_what_was_cut_is_not_said_to_be_missing() -> None:
    ways = [
        *was_cut("survived", drive="honest, cut keeps torn"),
        *was_cut("survived", drive="cut keeps reordered"),
        *was_cut("survived", failure="dropped-flush"),
        *was_cut("survived", failure="cut-in-recovery"),
    ]
    assert "not asked for" not in [one.why for one in of_cuts.unchecked(ways)]


def test_a_combination_that_lost_leaves_no_moments_open() -> None:
    assert "other moments" not in [one.what for one in of_cuts.unchecked(was_cut("survived", "lost"))]


def test_crash_states_are_not_drawn_by_lot_alone() -> None:
    states = States(looked_at=200, survived=200, lost=0, unknown=0, per_s=9.0, writes=5, flushes=5, shortest=None)
    told = {one.what: one.why for one in of_cuts.unchecked(was_cut("survived", failure="crash-states", states=states))}
    assert told["other states of the disk"] == "200 crash states without a loss"
    assert not any("torn" in what or what == "other moments" for what in told)


@pytest.mark.parametrize(("legal_log10", "most"), [(3.0, "1,000"), (41.2, "10^42")])
def test_how_many_of_the_crash_states_were_looked_at_and_what_of_others_is_known(legal_log10: float, most: str) -> None:
    states = States(
        looked_at=200, survived=200, lost=0, unknown=0, per_s=9.0, writes=5, flushes=5, shortest=None,
        images=180, outcomes=4, drawn=59, legal_log10=legal_log10,
    )  # fmt: skip
    told = {one.what: one.why for one in of_cuts.unchecked(was_cut("survived", failure="crash-states", states=states))}
    assert told["other states of the disk"] == (
        f"200 crash states without a loss, 180 of at most {most} that cuts during the load could leave; "
        "of such as are drawn by lot up to 5 % may still lose something, at 95 %"
    )


def test_a_workload_that_does_not_number_its_commits_is_named() -> None:
    told = {one.what: one.why for one in of_cuts.unchecked(was_cut("survived", workload="tpcb"))}
    assert told["which single commits were lost"].startswith("tpcb does not number its commits as numbered does")


def test_a_check_that_could_not_run_is_counted() -> None:
    cuts = [*was_cut("survived", checks={"file-system-check": "unknown"}), *was_cut("survived")]
    told = {one.what: one.why for one in of_cuts.unchecked(cuts)}
    assert told["the file system's own check"] == "it could not run after 1 of 2 cuts"


def test_without_cuts_there_is_nothing_to_say() -> None:
    assert of_cuts.unchecked([]) == []


def test_the_words() -> None:
    assert in_words([Unchecked("a", "b"), Unchecked("c", "d")]) == "a (b); c (d)"
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")


def test_files_that_are_passed_over_for_one_reason_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importers, "SEARCHED_BYTES", 8)
    (tmp_path / "pg_wal").mkdir()
    for name in ("pg_wal/1", "pg_wal/2", "heap"):
        (tmp_path / name).write_bytes(b"\0" * 9)
    output = io.StringIO()
    shown.print_findings(importers.read(tmp_path), [], [], Console(file=output, width=200))
    assert (
        "not read: 3 files: too large for a file of an unknown kind (2 in pg_wal, 1 in the top directory)"
        in output.getvalue()
    )
