"""What a run and power cuts did not check: true of what was there, and not said of what was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acidtest.analysis.samples import rows
from acidtest.cli import app
from acidtest.doubts.unchecked import may_still_lose, of_cuts, of_run
from acidtest.finding import Unchecked, in_words, listed
from acidtest.journal.models import Recording, States, Verdict
from factory import cut, journal, memory, priced, recording, result


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
    return {one.what: one.why for one in of_run(rows(held.header, held.recordings), cuts or [])}


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
    assert of_run([]) == []


# ------------------------------------------------------------------------------------------------------ power cuts


@pytest.mark.parametrize(("cuts", "share"), [(1, 0.95), (3, 0.6316), (20, 0.1391), (59, 0.0495), (299, 0.00997)])
def test_how_much_so_many_cuts_leave_open(cuts: int, share: float) -> None:
    """One minus the twentieth's root: 59 cuts for one moment in twenty, as tables of that interval have it."""
    assert may_still_lose(cuts) == pytest.approx(share, abs=1e-4)


def test_power_cuts_say_what_they_do_not_show() -> None:
    told = {one.what: one.why for one in of_cuts(was_cut("survived", "survived", "survived"))}
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
    assert "not asked for" not in [one.why for one in of_cuts(ways)]


def test_a_combination_that_lost_leaves_no_moments_open() -> None:
    assert "other moments" not in [one.what for one in of_cuts(was_cut("survived", "lost"))]


def test_crash_states_are_not_drawn_by_lot_alone() -> None:
    states = States(looked_at=200, survived=200, lost=0, unknown=0, per_s=9.0, writes=5, flushes=5, shortest=None)
    told = {one.what: one.why for one in of_cuts(was_cut("survived", failure="crash-states", states=states))}
    assert told["other states of the disk"] == "200 crash states without a loss"
    assert not any("torn" in what or what == "other moments" for what in told)


@pytest.mark.parametrize(("legal_log10", "most"), [(3.0, "1,000"), (41.2, "10^42")])
def test_how_many_of_the_crash_states_were_looked_at_and_what_of_others_is_known(legal_log10: float, most: str) -> None:
    states = States(
        looked_at=200, survived=200, lost=0, unknown=0, per_s=9.0, writes=5, flushes=5, shortest=None,
        images=180, outcomes=4, drawn=59, legal_log10=legal_log10,
    )  # fmt: skip
    told = {one.what: one.why for one in of_cuts(was_cut("survived", failure="crash-states", states=states))}
    assert told["other states of the disk"] == (
        f"200 crash states without a loss, 180 of at most {most} that cuts during the load could leave; "
        "of such as are drawn by lot up to 5 % may still lose something, at 95 %"
    )


def test_a_workload_that_does_not_number_its_commits_is_named() -> None:
    told = {one.what: one.why for one in of_cuts(was_cut("survived", workload="tpcb"))}
    assert told["which single commits were lost"].startswith("tpcb does not number its commits as numbered does")


def test_a_check_that_could_not_run_is_counted() -> None:
    cuts = [*was_cut("survived", checks={"file-system-check": "unknown"}), *was_cut("survived")]
    told = {one.what: one.why for one in of_cuts(cuts)}
    assert told["the file system's own check"] == "it could not run after 1 of 2 cuts"


def test_without_cuts_there_is_nothing_to_say() -> None:
    assert of_cuts([]) == []


def test_the_words() -> None:
    assert in_words([Unchecked("a", "b"), Unchecked("c", "d")]) == "a (b); c (d)"
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
