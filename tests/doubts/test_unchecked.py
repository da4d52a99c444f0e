"""What a run and power cuts did not check: true of what was there, and not said of what was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from acidtest.analysis import samples
from acidtest.cli import app
from acidtest.doubts.unchecked import may_still_lose, of_cuts, of_run
from acidtest.finding import Unchecked, in_words, listed
from acidtest.journal.models import Recording, States, Verdict
from factory import cut, journal, memory, priced, recording, result
from tables import rows


def test_an_audit_of_ours_says_what_the_run_and_its_cuts_do_not_show(tmp_path: Path) -> None:
    run, cuts = priced()
    for name, held in (("journal.jsonl", run), ("cuts.jsonl", cuts)):
        lines = (held.header, *held.recordings)
        (tmp_path / name).write_text("".join(f"{line.model_dump_json(by_alias=True)}\n" for line in lines))
    answer = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path), "--json"]).output)
    what = [one["what"] for one in answer["not_checked"]]
    assert "whether commits survive a power cut" not in what
    assert "other moments" in what
    (tmp_path / "cuts.jsonl").unlink()
    answer = json.loads(CliRunner().invoke(app, ["audit", str(tmp_path), "--json"]).output)
    assert answer["not_checked"][0] == {"what": "whether commits survive a power cut", "why": "none was made here"}


def ran(terminals: int = 1, **changes: Any) -> list[Recording]:
    """One row of two repetitions on a drive, with one terminal."""
    levels = {"workload": "commits", "engine": "sqlite", "durability": "drive"}
    found = result(100.0, terminals=terminals)
    return [recording(levels, n, found=found, **changes) for n in (1, 2)]


def was_cut(*verdicts: Verdict, workload: str = "numbered", **changes: Any) -> list[Recording]:
    levels = {"workload": workload, "engine": "sqlite", "durability": "drive"}
    made = [recording(levels, n, cut=cut(verdict, **changes)) for n, verdict in enumerate(verdicts, start=1)]
    return [one.model_copy(update={"result": None}) for one in made]


SIMULATED = ran()[0].place.model_copy(update={"disk": "no timing"})
OTHERS = [one.model_copy(update={"levels": one.levels | {"engine": "firebird-5.0"}}) for one in ran()]
SCANS = [one.model_copy(update={"workload": one.workload | {"kind": "scan"}}) for one in ran()]
UNCHECKED = [ran()[0], ran()[1].model_copy(update={"checks_after": None})]


# Runs, cuts beside them, what is said not to be checked and how that begins, and words of which nothing is said.
@rows(
    (ran(), [], {
        "whether commits survive a power cut": "none was made here",
        "whether /dev/nvme0n1 keeps what it reports as flushed": "no rate shows that",
        "clients in each other's way": "there was one terminal",
        "reads from the drive": "",
        "what shows later, as checkpoints do": "no run was longer than ",
    }, ["consistency conditions"]),
    (ran(), was_cut("survived"), {}, ["power cut"]),
    (ran(), was_cut("survived", fate=None), {"whether commits survive a power cut": "no commit was looked for after the cuts"}, []),
    (ran(terminals=4), [], {}, ["clients in each other's way"]),
    (ran(database_bytes=20 * 1024**3), [], {}, ["reads from the drive"]),
    (ran(memory=memory(limit_mib=2)), [], {}, ["reads from the drive"]),
    (ran(place=SIMULATED), [], {}, ["reports as flushed"]),
    (ran(durability="os"), [], {}, ["reports as flushed"]),
    ([*ran(), *OTHERS], was_cut("survived"), {"whether commits of firebird-5.0 at level drive survive a power cut": "none was made there"}, []),
    (UNCHECKED, [], {"consistency conditions": "they were not checked in 1 of 2 cells"}, []),
    (SCANS, [], {}, ["power cut", "flushed", "clients"]),
)  # fmt: skip
def test_what_rates_do_not_show(
    recordings: list[Recording], cuts: list[Recording], said: dict[str, str], unsaid: list[str]
) -> None:
    held = journal(recordings)
    told = {one.what: one.why for one in of_run(samples.rows(held.header, held.recordings), cuts)}
    assert [what for what, why in said.items() if not told[what].startswith(why)] == []
    assert [what for what in told if any(words in what for words in unsaid)] == []


@rows((1, 0.95), (3, 0.6316), (20, 0.1391), (59, 0.0495), (299, 0.00997))
def test_how_much_so_many_cuts_leave_open(cuts: int, share: float) -> None:
    """One minus the twentieth's root: 59 cuts for one moment in twenty, as tables of that interval have it."""
    assert may_still_lose(cuts) == pytest.approx(share, abs=1e-4)


STATES = States(looked_at=200, survived=200, lost=0, unknown=0, per_s=9.0, writes=5, flushes=5, shortest=None)
DRAWN = STATES.model_copy(update={"images": 180, "outcomes": 4, "drawn": 59})
OF_STATES = (
    "200 crash states without a loss, 180 of at most {} that cuts during the load could leave; of such as are drawn at "
    "random up to 5 % may still lose something, at 95 %"
)
WAYS = [
    *was_cut("survived", drive="honest, cut keeps torn"),
    *was_cut("survived", drive="cut keeps reordered"),
    *was_cut("survived", failure="dropped-flush"),
    *was_cut("survived", failure="cut-in-recovery"),
]


def explored(states: States) -> list[Recording]:
    return was_cut("survived", failure="crash-states", states=states)


# Cuts, what is said not to be checked and how that begins, and words of which nothing is said.
@rows(
    (was_cut("survived", "survived", "survived"), {
        "other moments": "after 3 cuts without a loss up to 63 % of them may still lose some, at 95 %",
        "torn writes, writes out of order, a second cut during recovery and flushes that fail": "not asked for",
        "what shows later, as checkpoints do": "no load went on for longer than 0.1 s",
        "other transactions": "those of numbered were cut, from 1 terminal",
        "a real drive, what lies beside the database files, replicas": "the disk is simulated, ext4 on Linux 6.12.1",
    }, ["own check", "states"]),
    (WAYS, {}, ["torn writes", "recovery", "flushes"]),
    (was_cut("survived", "lost"), {}, ["other moments"]),
    (explored(STATES), {"other states of the disk": "200 crash states without a loss"}, ["torn", "other moments"]),
    (explored(STATES.model_copy(update={"survived_undemanded": 150})), {"other states of the disk": "200 crash states without a loss, of which 150 came before the first acknowledged commit"}, []),
    (was_cut("survived", at_s=1800.0), {}, ["checkpoints"]),
    (explored(DRAWN.model_copy(update={"legal_log10": 3.0})), {"other states of the disk": OF_STATES.format("1,000")}, []),
    (explored(DRAWN.model_copy(update={"legal_log10": 41.2})), {"other states of the disk": OF_STATES.format("10^42")}, []),
    (was_cut("survived", workload="tpcb"), {"which single commits were lost": "tpcb does not number its commits as numbered does"}, []),
    ([*was_cut("survived", checks={"file-system-check": "unknown"}), *was_cut("survived")], {"the file system's own check": "it could not run after 1 of 2 cuts"}, []),
)  # fmt: skip
def test_what_power_cuts_do_not_show(cuts: list[Recording], said: dict[str, str], unsaid: list[str]) -> None:
    told = {cut.what: cut.why for cut in of_cuts(cuts)}
    assert [what for what, why in said.items() if not told[what].startswith(why)] == []
    assert [what for what in told if any(words in what for words in unsaid)] == []


def test_where_nothing_was_done_there_is_nothing_to_say() -> None:
    assert of_run([]) == of_cuts([]) == []


def test_the_words() -> None:
    assert in_words([Unchecked("a", "b"), Unchecked("c", "d")]) == "a (b); c (d)"
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
