"""What failures show beside verdicts: who notices, and how long recovery takes; in every output."""

from __future__ import annotations

from typing import Any

import pytest

import factory
from acidtest.analysis.recovery import recovered
from acidtest.analysis.survival import survivals
from acidtest.doubts import judge
from acidtest.journal.models import Cut, Journal, RecoveryTimes, StorageFailure
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import as_json, print_survival
from terminals import printed, words


def journal(of: dict[str, list[Cut]]) -> Journal:
    """The cuts at each level of a setting."""
    levels = {"workload": "numbered", "engine": "postgresql-15", "durability": "drive"}
    return factory.journal(
        [
            factory.recording({**levels, "setting": level}, repetition, cut=cut).model_copy(update={"result": None})
            for level, cuts in of.items()
            for repetition, cut in enumerate(cuts, start=1)
        ]
    )


def shown(made: Journal) -> str:
    return printed(print_survival, made, width=200)


DID_NOT_STRIKE = "the fault did not strike: no request came after it"
SPOILED = {
    "on": [factory.storage("noticed", "refused", "session", "log"), factory.storage("by check", "right", "check")],
    "off": [factory.storage("silent", "wrong"), factory.storage("unknown", "right", why=DID_NOT_STRIKE)],
}


def rotten(one: StorageFailure) -> Cut:
    verdict = {"unnoticed": "survived", "unknown": "unknown"}.get(one.outcome, "lost")
    return factory.cut(verdict, failure="rot", storage=one, lost=int(verdict == "lost"))  # type: ignore[arg-type]


def spoiled() -> Journal:
    return journal({checksums: [rotten(trial) for trial in trials] for checksums, trials in SPOILED.items()})


def test_every_output_says_who_notices(tmp_path: Any) -> None:
    made = spoiled()
    terminal = shown(made)
    table = terminal[terminal.index("Who notices") :].splitlines()
    on, off = (next(line.split() for line in table if line.startswith(name + " ")) for name in ("on", "off"))
    assert on[1:8] == ["2", "2", "1", "1", "–", "–", "–"]
    assert off[1:8] == ["2", "1", "–", "–", "1", "–", "1"]
    assert "session 1, log 1, check 1" in terminal
    assert f"Unknown: {DID_NOT_STRIKE}." in terminal
    write_survival_page(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'id="noticing"' in page and "session 1, log 1, check 1" in page and DID_NOT_STRIKE in page
    first, second = as_json(made)["storage_failures"]
    assert (first["outcomes"]["noticed"], first["outcomes"]["by check"], first["by"]["log"]) == (1, 1, 1)
    assert (second["outcomes"]["silent"], second["struck"], second["whys"]) == (1, 1, [DID_NOT_STRIKE])
    assert [combination["lost_silently"] for combination in as_json(made)["combinations"]] == [0, 1]


def test_the_auditor_tells_of_wrong_data_that_nobody_noticed() -> None:
    on, off = survivals(spoiled().recordings)
    found = {one.rule.name: one for one in judge.of(off)}
    assert "served-wrong-silently" in found
    assert "in 1 of 2 trials in which bits of a block of the database had turned" in found["served-wrong-silently"].text
    assert "served-wrong-silently" not in {one.rule.name for one in judge.of(on)}


def test_what_a_drive_has_spoiled_is_announced_by_it() -> None:
    for row in survivals(spoiled().recordings):
        assert row.losses_unannounced == 0


def test_where_power_failed_nothing_is_said_of_it(tmp_path: Any) -> None:
    made = factory.cut_off()
    assert "Who notices" not in shown(made)
    write_survival_page(made, tmp_path / "page.html")
    assert 'id="noticing"' not in (tmp_path / "page.html").read_text()
    assert as_json(made)["storage_failures"] == []


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


def timed(of: dict[str, list[RecoveryTimes | None]]) -> Journal:
    return journal({log: [factory.cut(recovery=recovery) for recovery in recoveries] for log, recoveries in of.items()})


def test_pieces_follow_from_what_was_timed() -> None:
    (one,) = recovered(timed({"small": [times()]}).recordings)
    assert (one.replay_s.median, one.redo_s.median) == (pytest.approx(0.3), 2.0)
    assert one.total_s == 0.5 + 3.0 + 0.25 + 4.0
    (slow,) = recovered(timed({"small": [SLOW]}).recordings)
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
    made = timed({"small": of})
    (one,) = recovered(made.recordings)
    assert one.full_speed_s == full
    line = next(line for line in shown(made).splitlines() if text in line)
    assert "0.500" in line and "2.00" in line


def test_every_output_has_the_pieces_and_says_what_is_missing(tmp_path: Any) -> None:
    made = timed({"small": [times()], "large": [times(start_s=12.0), UNSTEADY]})
    terminal = words(shown(made))
    assert "Missing: the rate before the cut was not steady." in terminal
    write_survival_page(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "until it was as fast as before: large 12.2 s, small 7.75 s." in words(page)
    assert 'id="recovery"' in page and "of it redo" in page
    assert "Missing: the rate before the cut was not steady." in page
    rows = as_json(made)["recoveries"]
    assert [row["levels"]["setting"] for row in rows] == ["small", "large"]
    assert rows[0]["redo_s"]["median"] == 2.0
    assert (rows[1]["told"], rows[1]["back"], rows[1]["full_speed_s"]) == (1, 1, 4.0)


def test_without_timed_recoveries_nothing_is_said_of_them(tmp_path: Any) -> None:
    made = timed({"small": [None]})
    assert "piece by piece" not in shown(made)
    write_survival_page(made, tmp_path / "page.html")
    assert 'id="recovery"' not in (tmp_path / "page.html").read_text()
    assert as_json(made)["recoveries"] == []
