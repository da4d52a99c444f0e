"""``acidtest powercut``: the exit code tells losses that were announced from others, the last line says both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import factory
from acidtest import powercut
from acidtest.cli import app
from acidtest.conductor.conduct import RunOutcome
from acidtest.journal.models import Cut, Journal, Recording
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.replay import Replayed

TEXT = """
name = "t"
repetitions = 1
engine = "sqlite"
durability = "{durability}"
[workload.{workload}]
count = 5
[place]
kind = "disk"
filesystem = "ext4"
"""
GONE = factory.cut("lost", lost=3, damage=[])
BROKEN = factory.cut("lost", lost=3, damage=["the engine does not start: no such page"])


def recorded(what: Cut | None, durability: str, workload: str = "numbered", **changes: Any) -> Recording:
    levels = {"workload": workload, "engine": "sqlite", "durability": durability}
    one = factory.recording(levels, cut=what)
    place = one.place.model_copy(update={"kind": "disk", "disk": "none, write cache 32 MiB"})
    return one.model_copy(update={"place": place, **changes})


def ran(
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    *recordings: Recording,
    json_: bool = False,
    workload: str = "numbered",
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command whose cuts have left these recordings."""
    held = [
        recording.model_copy(update={"cell": f"c#{n}", "repetition": n}) for n, recording in enumerate(recordings, 1)
    ]
    journal: Journal = factory.journal(held)
    monkeypatch.setattr(powercut, "cut_power", lambda *arguments, **options: RunOutcome(journal, len(held)))
    file = directory / "t.toml"
    file.write_text(TEXT.format(durability="os", workload=workload))
    (directory / "out").mkdir()
    command = ["powercut", str(file), "--out", str(directory / "out"), *(["--json"] if json_ else [])]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("recordings", "code", "tally"),
    [
        ([recorded(factory.cut(), "drive")], 0, "No loss was found."),
        ([recorded(GONE, "os"), recorded(BROKEN, "none")], 0, "In 2 of 2 cuts acknowledged commits were lost or damaged, as permitted by the level or the drive."),
        ([recorded(GONE, "os")], 0, "In 1 of 1 cut acknowledged commits were lost or damaged, as permitted by the level or the drive."),
        ([recorded(GONE.model_copy(update={"drive": "lie-about-flush"}), "drive")], 0, "In 1 of 1 cut acknowledged commits were lost or damaged, as permitted by the level or the drive"),
        ([recorded(GONE, "drive")], 1, "In 1 of 1 cut acknowledged commits were lost or damaged, although nothing permits that."),
        ([recorded(GONE, "os"), recorded(BROKEN, "os"), recorded(factory.cut("unknown"), "os")], 1,
         "In 1 of 3 cuts acknowledged commits were lost or damaged, although nothing permits that; in 1 more, as "
         "permitted by the level or the drive. Of these 1 is damaged; from the others commits alone are missing. 1 cut is "
         "unknown."),
        ([recorded(factory.cut("unknown"), "os")], 3, "Nothing is known of a loss: no cut has a verdict."),
        ([recorded(factory.cut("unknown"), "os"), recorded(factory.cut(), "drive")], 3,
         "Of 1 of 2 cuts it is not known whether anything was lost; the others show no loss."),
        ([recorded(factory.cut("unknown"), "os"), recorded(factory.cut(), "os")], 3,
         "Of 1 of 2 cuts it is not known whether anything was lost; the others show no loss."),
        ([recorded(GONE, "os"), recorded(None, "os", status="invalid", reason="x")], 1, "In 1 of 2 cuts acknowledged commits were lost or damaged, as permitted by the level"),
        ([recorded(GONE, "drive"), recorded(None, "os", status="failed", reason="x")], 3, "In 1 of 2 cuts acknowledged commits were lost or damaged, although nothing permits that."),
    ],
)  # fmt: skip
def test_only_what_nobody_announced_is_code_1(
    recordings: list[Recording], code: int, tally: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, out, _ = ran(monkeypatch, tmp_path, *recordings)
    assert found == code
    assert tally in out
    assert code != 3 or "No loss was found" not in out  # one verdict: what is not known is no survival
    assert tally.partition(".")[0] in (tmp_path / "out" / "report.html").read_text()


def test_programs_are_told_both_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = [recorded(GONE, "os"), recorded(GONE, "os"), recorded(BROKEN, "os"), recorded(factory.cut(), "os")]
    code, out, _ = ran(monkeypatch, tmp_path, *cuts, json_=True)
    answer = json.loads(out)
    assert code == 1
    assert answer["losses"] == {"announced": 2, "unannounced": 1}
    (row,) = answer["combinations"]
    assert [row[name] for name in ("lost", "losses_announced", "losses_unannounced")] == [3, 2, 1]
    assert [cut["unannounced"] for cut in answer["cuts"]] == [False, False, True, False]
    assert [bool(cut["announced_by"]) for cut in answer["cuts"]] == [True, True, False, False]


def test_the_table_tells_what_was_announced_and_shows_the_other_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = ran(monkeypatch, tmp_path, recorded(GONE, "none"), recorded(BROKEN, "os"))
    rows = {words[0]: " ".join(words[1:]) for line in out.splitlines() if (words := line.split())}
    assert rows["none"].startswith("lost, as announced 0 of 1 0 ")
    assert rows["os"].startswith("lost 0 of 1 1 ")
    assert out.index("lost: c#2") < out.index("lost, as announced: c#1")
    assert "  announced by level none: an OS crash or power cut may lose commits and break the database" in out


@pytest.mark.parametrize("workload", ["commits", "tpcb"])
def test_a_workload_that_does_not_number_its_commits_is_told_what_to_write(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = recorded(factory.cut("lost", fate=None, damage=[]), "os", workload)
    _, out, _ = ran(monkeypatch, tmp_path, lost, workload=workload)
    note = (
        f"uncounted: workload {workload} does not number transactions, so that only conditions are checked, and no commit is looked "
        "for: that they held does not say that nothing was lost. [workload.numbered] has its commits counted."
    )
    assert out.count(note) == 2  # before the first cut, and beneath the table that says "uncounted"
    assert "uncounted" in out.partition("verdict")[2]
    assert note in (tmp_path / "out" / "report.html").read_text()


def test_where_no_commit_was_looked_for_a_cut_is_not_called_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = recorded(factory.cut(fate=None), "os", "tpcb")
    code, out, _ = ran(monkeypatch, tmp_path, held, held, workload="tpcb")
    assert code == 0
    (row,) = [line.split() for line in out.splitlines() if line.startswith("sqlite")]
    assert row[:5] == ["sqlite", "os", "conditions", "held", "–"]
    assert out.rstrip().splitlines()[-3] == "No commit was looked for; the conditions held after each cut."
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Of 1 no commit was looked for, and the conditions held." in page
    assert '<td class="n">2</td><td class="n">–</td>' in page  # of 2 cuts none is said to have survived
    (tmp_path / "json").mkdir()
    _, told, _ = ran(monkeypatch, tmp_path / "json", held, held, workload="tpcb", json_=True)
    (combination,) = json.loads(told)["combinations"]
    found = [combination[name] for name in ("verdict", "survived", "conditions_held", "commits_lost_worst")]
    assert found == ["unknown", 0, 2, None]


def test_a_cut_of_which_nothing_is_known_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, said = ran(monkeypatch, tmp_path, recorded(factory.cut("unknown"), "os"), recorded(factory.cut(), "os"))
    assert (code, said) == (3, "Of some cuts it is not known what survived: see above.\n")


def test_of_numbered_transactions_nothing_is_uncounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, out, _ = ran(monkeypatch, tmp_path, recorded(GONE, "os"))
    assert "uncounted" not in out


@pytest.mark.parametrize(("announced", "code"), [("level os: it may", 0), ("", 1)])
def test_a_state_that_is_looked_at_again_has_the_same_codes(
    announced: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgement = Judgement("lost", ["gone"], {"acknowledged-commits-are-there": "lost"})
    monkeypatch.setattr(powercut, "replay", lambda file: Replayed("c#1", [], judgement, None, announced))
    done = CliRunner().invoke(app, ["powercut", "--replay", "x.json"])
    assert done.exit_code == code
    assert ("announced by level os: it may" in done.stdout) == bool(announced)
