"""Price and worth of replicas: what is announced, what is summed up, and what is shown."""

from __future__ import annotations

from typing import Any

import pytest

import factory
from acidtest.analysis.expected_loss import of_failure
from acidtest.analysis.failures import worths
from acidtest.journal.models import Journal, Replicated
from acidtest.report.failure_tables import outcome_text, replication, replication_json
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import print_survival
from terminals import printed


def replicated(mode: str = "synchronous", **changes: Any) -> Replicated:
    fields = {
        "mode": mode,
        "means": f"means {mode}",
        "waits_for": "drive",
        "seen": "in force",
        "gave_up": "",
        "looked_on": "replica",
    }
    return Replicated.model_validate(fields | changes)


@pytest.mark.parametrize(
    ("failure", "replication", "commits", "damage"),
    [
        ("lost-disk", None, True, True),  # nothing is left
        ("lost-disk", replicated("asynchronous", waits_for="nothing"), True, False),
        ("lost-disk", replicated("semi-synchronous", waits_for="arrival"), False, False),
        ("both-powers", replicated("semi-synchronous", waits_for="arrival"), True, False),
        ("lost-link", replicated("semi-synchronous", waits_for="arrival", gave_up="OFF"), True, False),
        ("lost-link", replicated("semi-synchronous", waits_for="arrival"), False, False),
        ("lost-disk", replicated(), False, False),
        ("lost-link", replicated(), False, False),
    ],
)
def test_what_a_mode_announces(failure: str, replication: Replicated | None, commits: bool, damage: bool) -> None:
    announced = of_failure(failure, replication)
    assert announced is not None
    assert (announced.covers(damage=False), announced.covers(damage=True)) == (commits, damage)


@pytest.mark.parametrize(
    ("failure", "replication"),
    [
        ("cut", None),
        ("cut", replicated("asynchronous", waits_for="nothing", looked_on="primary")),
        ("both-powers", replicated()),
        ("both-powers", replicated("galera", waits_for="arrival", chosen_by="replica 9, primary 7")),
    ],
)
def test_level_and_drive_speak_where_the_power_failed_of_who_is_looked_at(
    failure: str, replication: Replicated | None
) -> None:
    assert of_failure(failure, replication) is None


def journal() -> Journal:
    recordings = []
    for mode, failure, made in (
        ("none", "cut", [factory.cut(commit_ms=1.0), factory.cut(commit_ms=3.0)]),
        ("asynchronous", "lost-disk", [factory.cut("lost", lost=4, lost_ms=2.5), factory.cut(commit_ms=1.5)]),
        ("asynchronous", "lost-link", [factory.cut("lost", lost=900, lost_ms=2040.0, commit_ms=99.0)]),
        ("synchronous", "lost-disk", [factory.cut(commit_ms=5.0), factory.cut(commit_ms=5.0)]),
    ):
        waits_for = "nothing" if mode == "asynchronous" else "drive"
        of = None if mode == "none" else replicated(mode, waits_for=waits_for)
        levels = {
            "workload": "numbered",
            "engine": "postgresql-18",
            "durability": "drive",
            "mode": mode,
            "fails": failure,
        }
        for repetition, one in enumerate(made, start=1):
            cut = one.model_copy(update={"failure": failure, "replication": of})
            recordings.append(factory.recording(levels, repetition, cut=cut).model_copy(update={"result": None}))
    return factory.journal(recordings)


def test_a_mode_has_one_price_and_an_outcome_for_each_failure() -> None:
    none, asynchronous, synchronous = worths(journal().recordings)
    assert (none.commit_ms, asynchronous.commit_ms, synchronous.commit_ms) == (2.0, 1.5, 5.0)
    assert list(asynchronous.outcomes) == ["lost-disk", "lost-link"]
    lost_disk = asynchronous.outcomes["lost-disk"]
    assert (lost_disk.cuts, lost_disk.survived, lost_disk.lost, lost_disk.unannounced) == (2, 1, 1, 0)
    assert (lost_disk.lost_commits, lost_disk.lost_ms_worst) == ((4, 0), 2.5)
    assert synchronous.outcomes["lost-disk"].survived == 2
    assert "fails" not in synchronous.levels
    assert replication(journal()).heads[0] == "replication"  # the mode says it all
    assert worths([recording for recording in journal().recordings if recording.levels["mode"] == "none"]) == []


def test_where_either_of_two_goes_on_both_are_told() -> None:
    recordings = []
    for repetition, server in enumerate(("replica", "primary"), start=1):
        of = replicated("galera", waits_for="arrival", chosen_by="positions", looked_on=server)
        cut = factory.cut(commit_ms=1.0).model_copy(update={"failure": "both-powers", "replication": of})
        recordings.append(factory.recording({"engine": "mariadb-11.8"}, repetition, cut=cut))
    (row,) = worths(recordings)
    assert row.outcomes["both-powers"].looked_on == "primary or replica"


def test_the_table_has_prices_and_what_survives(tmp_path: Any) -> None:
    _, asynchronous, synchronous = worths(journal().recordings)
    assert outcome_text(asynchronous.outcomes["lost-disk"]) == "1 of 2 (4, 2.50 ms)"
    assert outcome_text(asynchronous.outcomes["lost-link"]) == "0 of 1 (900, 2.04 s)"
    assert outcome_text(synchronous.outcomes["lost-disk"]) == "2 of 2"
    assert outcome_text(None) == "–"
    text = printed(print_survival, journal())
    lines = [line.split("  ") for line in text.splitlines() if line.startswith("asynchronous ")]
    assert [cell.strip() for cell in lines[-1] if cell.strip()] == [
        "asynchronous", "1.50", "–", "1 of 2 (4, 2.50 ms)", "0 of 1 (900, 2.04 s)"
    ]  # fmt: skip
    assert "asynchronous: means asynchronous." in text
    assert "database files, replicas" not in text  # they were tried
    write_survival_page(journal(), tmp_path / "report.html")
    assert '<td class="n">1 of 2 (4, 2.50 ms)</td>' in (tmp_path / "report.html").read_text()
    (_, told, _) = replication_json(journal())
    assert told["failures"]["lost-link"]["lost_ms"] == (2040.0,)
