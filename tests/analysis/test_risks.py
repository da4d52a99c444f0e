"""Which risks stand beside the rates of a run: by level and engine, by settings in force, with its power cuts."""

from __future__ import annotations

from typing import Any

from acidtest.analysis.risks import LevelRisk, known_faults, level_risks, risk_of
from acidtest.analysis.samples import rows
from acidtest.journal.models import Recording, SettingInForce
from factory import cut, journal, recording, result, study


def row(engine: str, durability: str, *, kind: str = "commits", source: str = "", **levels: str) -> list[Recording]:
    """Two repetitions of one row; levels by the names of settings are also in force."""
    names = {"workload": kind, "engine": engine, "durability": durability, **levels}
    made = []
    for repetition in (1, 2):
        one = recording(names, repetition, found=result(100.0))
        assert one.engine is not None
        changes: dict[str, Any] = {
            "workload": one.workload | {"kind": kind},
            "durability": durability,
            "engine": one.engine.model_copy(update={"id": engine, "source": source}),
            "settings": [
                SettingInForce(name=name, asked=level, in_force=level, agrees=True, source="")
                for name, level in levels.items()
            ],
        }
        made.append(one.model_copy(update=changes))
    return made


def found(*recordings: list[Recording], cuts: list[Recording] | None = None) -> list[tuple[str, tuple[str, ...], str]]:
    risks = _risks(*recordings, cuts=cuts)
    return [(risk.level, risk.engines, risk.risk.lost if risk.risk else "?") for risk in risks]


def _risks(*recordings: list[Recording], cuts: list[Recording] | None = None) -> list[LevelRisk]:
    held = journal([one for group in recordings for one in group])
    return level_risks(rows(held.header, held.recordings), cuts or [])


def test_engines_that_may_lose_the_same_are_together_and_the_weakest_level_is_first() -> None:
    assert found(row("sqlite", "drive"), row("firebird-5.0", "drive"), row("sqlite", "os"), row("firebird-5.0", "os")) == [
        ("os", ("sqlite",), "the commits since the last checkpoint"),
        ("os", ("firebird-5.0",), "commits"),
        ("drive", ("sqlite", "firebird-5.0"), ""),
    ]  # fmt: skip


def test_one_level_that_loses_nothing_needs_no_words() -> None:
    assert found(row("sqlite", "drive"), row("firebird-5.0", "drive")) == []
    assert found(row("sqlite", "os")) != []


def test_reads_have_no_risk() -> None:
    assert found(row("sqlite", "os", kind="scan")) == []


def test_an_engine_that_is_not_known_is_said_to_be() -> None:
    assert found(row("mine", "drive")) == [("drive", ("mine",), "?")]


def test_a_server_by_url_is_of_the_family_of_its_scheme() -> None:
    assert found(row("sqlite-like", "os", source="mysql://me@db:3306/test")) == [
        ("os", ("sqlite-like",), "about the last second of commits")
    ]


def test_the_settings_in_force_decide_and_name_the_rows() -> None:
    fast, safe = (row("mysql-5.5", "drive", innodb_doublewrite=value) for value in ("false", "true"))
    held = journal([*fast, *safe])
    risks = level_risks(rows(held.header, held.recordings))
    assert [(risk.engines, risk.risk and risk.risk.breaks) for risk in risks] == [
        (("mysql-5.5 (innodb_doublewrite false)",), "where the drive can tear a page"),
        (("mysql-5.5 (innodb_doublewrite true)",), ""),
    ]
    assert risk_of(fast[0]) != risk_of(safe[0])


def test_power_cuts_stand_with_the_engine_and_level_that_was_cut() -> None:
    levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive"}
    cuts = [recording(levels, n, cut=cut("lost", lost=3)) for n in (1, 2)]
    held = journal([*row("sqlite", "drive"), *row("firebird-5.0", "drive"), *row("sqlite", "os")])
    risks = level_risks(rows(held.header, held.recordings), cuts)
    was_cut = {(risk.level, risk.engines): [(c.cuts, c.lost) for c in risk.cuts] for risk in risks}
    assert was_cut == {("os", ("sqlite",)): [], ("drive", ("sqlite",)): [(2, 2)], ("drive", ("firebird-5.0",)): []}


def test_known_faults_are_of_engines_that_ran() -> None:
    run = study()
    ((words, engines),) = known_faults(rows(run.header, run.recordings)).items()
    assert "ENGINES.md" in words
    assert engines == ("firebird-4.0", "firebird-5.0")
    sqlite = journal(row("sqlite", "os"))
    assert known_faults(rows(sqlite.header, sqlite.recordings)) == {}


def test_the_mount_options_in_force_are_part_of_the_risk() -> None:
    usual = row("firebird-5.0", "os", storage="ext4")
    flushed = [
        one.model_copy(
            update={"place": one.place.model_copy(update={"filesystem": "ext4", "mount_options": "rw,sync"})}
        )
        for one in row("firebird-5.0", "os", storage="ext4 sync")
    ]
    risks = [(risk.engines, risk.risk.lost if risk.risk else "?") for risk in _risks(usual, flushed)]
    assert risks == [
        (("firebird-5.0 (storage ext4)",), "commits"),
        (("firebird-5.0 (storage ext4 sync)",), ""),
    ]
