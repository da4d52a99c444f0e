"""What a commit costs and what it is worth: speed, calls and survival put together from two journals."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from acidtest.analysis.calls import of_commits
from acidtest.analysis.commit_cost import commit_costs
from acidtest.analysis.samples import rows
from acidtest.analysis.survival import survivals
from acidtest.cli import app
from acidtest.errors import BadInput
from acidtest.journal.writer import JournalWriter
from acidtest.plan import Plan
from acidtest.report import commit_cost
from acidtest.report.charts import VERDICTS
from acidtest.report.page import write_page
from acidtest.report.results import results
from acidtest.report.terminal import print_results
from factory import journal, observed, priced, recording, result, stored
from pages import NARROW, WIDE, opened, turned, unreadable
from terminals import printed, words


def test_speed_is_of_the_row_that_nobody_watched() -> None:
    run, cuts = priced()
    weak, strong = commit_costs(rows(run.header, run.recordings), survivals(cuts.recordings))
    assert [cost.row.workload for cost in (weak, strong)] == ["commits", "commits"]
    assert strong.levels == {"engine": "sqlite", "durability": "drive"}
    assert strong.seconds == pytest.approx(500 / 63)
    assert strong.calls is not None
    assert (strong.calls.writes, strong.calls.flushes, dict(strong.calls.by_kind)) == (3, 2, {"fdatasync": 2})
    assert strong.survival is not None
    assert (strong.survival.verdict, weak.survival) == ("survived", None)


def test_a_row_that_was_only_watched_has_its_own_speed() -> None:
    run, _ = priced()
    watched = [recording for recording in run.recordings if recording.calls]
    assert [cost.row.workload for cost in commit_costs(rows(run.header, watched), [])] == ["calls", "calls"]


def test_speeds_alone_have_no_price() -> None:
    run, _ = priced()
    assert commit_costs(rows(run.header, [recording for recording in run.recordings if not recording.calls]), []) == []


def test_calls_that_cannot_be_told_apart_are_averages() -> None:
    shared = observed(commits=50).model_copy(update={"per_commit": None, "tied_by": "shared_time", "dropped": 4})
    found = of_commits([("sqlite", shared), ("sqlite", observed(commits=50))])
    assert found is not None
    assert (found.average, found.writes, found.flushes, found.dropped, found.commits) == (True, 3, 2, 4, 100)
    assert of_commits([("sqlite", observed(commits=0))]) is None


def test_the_terminal_shows_all_three_in_one_table() -> None:
    run, cuts = priced()
    lines = [words(line) for line in printed(print_results, results(run, cuts=cuts)).splitlines()]
    head = lines.index("What a commit costs, and what it is worth")
    assert lines[head + 1 : head + 4] == [
        "durability s per 500 commits commits/s writes flushes ms in flushes survived worst loss power cuts",
        "none 0.167 3,000 1.00 0 0 not cut –",
        "drive 7.94 63.0 3.00 2.00 8.00 3 of 3 0 survived",
    ]


def test_rates_of_runs_that_were_watched_are_told_to_be_slower() -> None:
    run, _ = priced()
    watched = [one for one in run.recordings if one.calls]
    for recordings, told in ((run.recordings, False), (watched, True)):
        table = commit_cost.table(commit_costs(rows(run.header, recordings), []))
        assert ("slower than others" in table.explained) == ("slower than others" in table.page_explained) == told


def test_trace_ends_with_its_combinations_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'name = "two"\nengine = "sqlite"\nrepetitions = 1\n[workload.commits]\ncount = 20\n'
        '[factors]\ndurability = ["none", "drive"]\n'
    )

    def ran(planned: Plan, *_: object, **__: object) -> Mock:
        recordings = []
        for cell in planned.cells:
            one = recording(dict(cell.levels), found=result(60.0, count=20), calls=observed(commits=20), cell=cell.id)
            given = one.workload | {"kind": "commits", "count": 20, "duration_s": None, "observe": True}
            recordings.append(one.model_copy(update={"workload": given}))
        return Mock(journal=journal(recordings))

    monkeypatch.setattr("acidtest.conductor.run.run", ran)
    done = CliRunner().invoke(app, ["trace", str(file)], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    lines = [words(line) for line in done.stdout.partition("What a commit costs")[2].splitlines()]
    assert lines[1] == "durability s per 20 commits commits/s writes flushes ms in flushes"
    assert [line.split()[0] for line in lines[2:4]] == ["none", "drive"]
    assert "the page" not in done.stdout


def test_the_page_shows_all_three_and_each_call(browser: Browser, tmp_path: Path) -> None:
    run, cuts = priced()
    write_page(results(run, cuts=cuts), tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html", *NARROW)
    assert unreadable(page) == []
    shown = [" ".join(row.split()) for row in page.locator(".commit-cost tbody tr").all_inner_texts()]
    assert shown == ["none 0.167 3,000 1.00 0 0 not cut – –", "drive 7.94 63.0 3.00 2.00 8.00 3 of 3 0 survived"]
    assert page.locator(".cuts tbody tr").count() == 1
    calls = [" ".join(row.split()) for row in page.locator(".calls tbody tr").all_inner_texts()]
    assert calls == ["none 500 1.00 4,100 0 none 0 0", "drive 500 3.00 12,300 2.00 2.00 fdatasync 8,000 0"]
    page.locator("details", has_text="drive: its files").locator("summary").click()
    opened_ = page.locator("details[open]", has_text="line by line")
    assert "acidtest.db-wal log O_RDWR|O_CREAT 3.00 12,300 2.00 fdatasync 4,000 0" in " ".join(
        opened_.locator(".files tbody").inner_text().split()
    )
    assert opened_.locator(".commit tbody tr").count() == 2
    assert opened_.locator(".commit tbody tr:has(.soft)").inner_text().split() == ["90.0", "disk", "disk:", "flush"]
    assert "1.00 flush of 7,000 µs" in opened_.inner_text()
    for screen in (NARROW, WIDE):
        turned(page, *screen)
        drawn = page.locator("#commit-cost svg .mark-symbol.role-mark path")
        assert [one.get_attribute("fill") for one in drawn.all()] == [VERDICTS["survived"].colour]
        assert page.locator("#commit-cost svg .mark-rect.role-mark path").count() == 5
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert unreadable(page) == []
    assert trouble == []
    page.context.close()


def test_report_puts_two_journals_together(tmp_path: Path) -> None:
    run, cuts = priced()
    stored(run, tmp_path / "journal.jsonl")
    stored(cuts, tmp_path / "cuts.jsonl")
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    assert [
        (cost["verdict"], cost["flushes_per_commit"], cost["cuts"])
        for cost in json.loads(result.stdout)["commit_costs"]
    ] == [
        (None, 0, 0),
        ("survived", 2, 3),
    ]
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "What a commit costs, and what it is worth" in shown.stdout
    assert 'class="cuts"' in (tmp_path / "report.html").read_text()


def test_cuts_of_another_experiment_do_not_stand_beside_a_run(tmp_path: Path) -> None:
    stored(journal([recording()]), tmp_path / "journal.jsonl")
    with JournalWriter(tmp_path, journal([recording()], repetitions=9).header, "cuts.jsonl"):
        pass
    (tmp_path / "cuts.jsonl").unlink()
    with pytest.raises(BadInput, match="is of another experiment"):
        JournalWriter(tmp_path, journal([recording()], name="other").header, "cuts.jsonl")
