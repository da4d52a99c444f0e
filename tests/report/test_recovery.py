"""Recovery piece by piece, in the terminal, on the page and for programs."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

import factory
from acidtest.analysis.recovery import recovered
from acidtest.journal.models import Journal, RecoveryTimes
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import as_json, print_survival


def times(**changes: Any) -> RecoveryTimes:
    fields: dict[str, Any] = {
        "mount_s": 0.5, "clean_mount_s": 0.2, "start_s": 3.0, "clean_start_s": 1.0, "first_commit_s": 0.25,
        "full_speed_s": 4.0, "watched_s": 7.0, "limit_s": 60.0, "before": "steady", "before_per_s": [100.0] * 8,
        "after_per_s": [10.0] * 4 + [100.0] * 3, "why": "",
    }  # fmt: skip
    return RecoveryTimes(**(fields | changes))


SLOW = times(full_speed_s=None, watched_s=60.0, why="not as fast as before within 60 s")
UNSTEADY = times(
    full_speed_s=None, watched_s=0.0, before="drifts", after_per_s=[], why="the rate before the cut was not steady"
)


def journal(of: dict[str, list[RecoveryTimes | None]]) -> Journal:
    recordings = []
    for log, recoveries in of.items():
        levels = {"workload": "numbered", "engine": "postgresql-15", "durability": "drive", "log": log}
        for repetition, recovery in enumerate(recoveries, start=1):
            cut = factory.cut(recovery=recovery)
            recordings.append(factory.recording(levels, repetition, cut=cut).model_copy(update={"result": None}))
    return factory.journal(recordings)


def shown(made: Journal) -> str:
    out = io.StringIO()
    print_survival(made, Console(file=out, width=200))
    return out.getvalue()


def test_pieces_follow_from_what_was_timed() -> None:
    (one,) = recovered(journal({"small": [times()]}).recordings)
    assert (one.replay_s.median, one.redo_s.median) == (pytest.approx(0.3), 2.0)
    assert one.total_s == 0.5 + 3.0 + 0.25 + 4.0
    (slow,) = recovered(journal({"small": [SLOW]}).recordings)
    assert slow.total_s is None
    assert times(mount_s=0.1).replay_s == 0  # a mount that was quicker than a clean one replayed nothing that shows
    assert times(clean_start_s=None).redo_s is None


@pytest.mark.parametrize(
    ("of", "full", "text"),
    [
        ([times()] * 5, 4.0, "4.00"),
        ([times(), times(full_speed_s=8.0), SLOW], 8.0, "8.00 (2 of 3)"),
        ([times(), SLOW, SLOW], None, "not in 60 s (1 of 3)"),
        ([SLOW] * 2, None, "not in 60 s"),
        ([UNSTEADY] * 2, None, "cannot tell"),
        ([UNSTEADY, times()], 4.0, "4.00"),
    ],
)
def test_full_speed_is_told_with_those_that_did_not_come_to_it(
    of: list[RecoveryTimes | None], full: float | None, text: str
) -> None:
    made = journal({"small": of})
    (one,) = recovered(made.recordings)
    assert one.full_speed_s == full
    line = next(line for line in shown(made).splitlines() if text in line)
    assert "0.500" in line and "2.00" in line


def test_every_output_has_the_pieces_and_says_what_is_missing(tmp_path: Any) -> None:
    made = journal({"small": [times()], "large": [times(start_s=12.0), UNSTEADY]})
    terminal = " ".join(shown(made).split())
    assert "Missing: the rate before the cut was not steady." in terminal
    write_survival_page(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "until it was as fast as before: large 12.2 s, small 7.75 s." in " ".join(page.split())
    assert 'id="recovery"' in page and "of it redo" in page
    assert "Missing: the rate before the cut was not steady." in page
    rows = as_json(made)["recoveries"]
    assert [row["levels"]["log"] for row in rows] == ["small", "large"]
    assert rows[0]["redo_s"]["median"] == 2.0
    assert (rows[1]["told"], rows[1]["back"], rows[1]["full_speed_s"]) == (1, 1, 4.0)


def test_without_timed_recoveries_nothing_is_said_of_them(tmp_path: Any) -> None:
    made = journal({"small": [None]})
    assert "piece by piece" not in shown(made)
    write_survival_page(made, tmp_path / "page.html")
    assert 'id="recovery"' not in (tmp_path / "page.html").read_text()
    assert as_json(made)["recoveries"] == []
