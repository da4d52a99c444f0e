"""Which losses of a power cut were announced: by engine, level and settings, by the drive, and by what is lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from acidtest.analysis.expected_loss import announced_by, gives_up, is_unannounced, losses
from acidtest.analysis.survival import survivals
from acidtest.engine import catalogue
from acidtest.families import FAMILIES
from acidtest.journal.models import Cut, Fate, Recording, SettingInForce, States
from acidtest.workload import WORKLOADS, counts_commits
from factory import cut, recording

PAGE = (Path(__file__).parents[2] / "docs" / "POWER-CUTS.md").read_text(encoding="utf-8")
GONE, BROKEN = cut("lost", lost=3, damage=[]), cut("lost", lost=3, damage=["the engine does not start: x"])
SETTINGS = {"sqlite": {"journal_mode": "wal"}, "postgresql": {"fsync": "false", "full_page_writes": "true"}}


def cut_of(
    engine: str, durability: str, what: Cut, *, place: dict[str, str] | None = None, **settings: str
) -> Recording:
    levels = {"workload": "numbered", "engine": engine, "durability": durability}
    one = recording(levels, cut=what)
    assert one.engine is not None
    in_force = SETTINGS.get(engine.partition("-")[0], {}) | settings
    return one.model_copy(
        update={
            "engine": one.engine.model_copy(update={"source": "here"}),
            "settings": [SettingInForce(name=n, asked=None, in_force=v, agrees=True, source="x") for n, v in in_force.items()],
            "place": one.place.model_copy(update={"kind": "disk", "disk": "none, write cache 32 MiB"} | (place or {})),
        }
    )  # fmt: skip


def documented() -> list[tuple[str, str, dict[str, str], bool, bool]]:
    """The table of docs/POWER-CUTS.md: family, level, settings, and whether missing commits and damage are announced."""
    rows = []
    for line in PAGE.splitlines():
        if found := re.fullmatch(r"\| `([a-z]+)`(.*?) \| (.*?) \| (yes|no) \| (yes|no) \| .* \|", line):
            settings = dict(re.findall(r"`(\w+) = \"?(\w+)\"?`", found[2]))
            rows += [
                (found[1], level, settings, found[4] == "yes", found[5] == "yes")
                for level in re.findall(r"`(\w+)`", found[3])
            ]
    return rows


@pytest.mark.parametrize(("family", "level", "settings", "commits", "damage"), documented())
def test_what_is_announced_is_as_documented(
    family: str, level: str, settings: dict[str, str], commits: bool, damage: bool
) -> None:
    by = announced_by(FAMILIES[family].risk(level, settings), level, "", "cut")
    assert (by.covers(damage=False), by.covers(damage=True)) == (commits, damage)
    assert by.reason.startswith(f"level {level}: ") == (commits or damage)


def test_every_level_of_every_family_is_documented() -> None:
    levels = {
        (engine.family, level) for engine in catalogue.all_engines().values() for level in engine.durability_levels()
    }
    assert {(family, level) for family, level, *_ in documented()} == levels
    for engine in catalogue.all_engines().values():
        if "drive" in engine.durability_levels():  # without settings of the user's it announces nothing
            assert announced_by(FAMILIES[engine.family].risk("drive", {}), "drive", "", "cut").reason == ""


@pytest.mark.parametrize(
    ("engine", "durability", "settings", "gone", "broken"),
    [
        ("sqlite", "none", {}, False, False),
        ("sqlite", "os", {}, False, True),
        ("sqlite", "drive", {}, True, True),
        ("firebird-5.0", "os", {}, False, False),
        ("firebird-5.0", "drive", {}, True, True),
        ("postgresql-17", "none", {}, False, False),
        ("postgresql-17", "none", {"fsync": "true"}, False, True),
        ("postgresql-17", "os", {}, False, False),
        ("postgresql-17", "drive", {"fsync": "true"}, True, True),
        ("postgresql-17", "drive", {"fsync": "true", "full_page_writes": "false"}, True, False),
        ("mariadb-11.4", "none", {}, False, True),
        ("mariadb-11.4", "os", {}, False, True),
        ("mariadb-11.4", "drive", {}, True, True),
        ("mysql-5.5", "drive", {"innodb_doublewrite": "false"}, True, False),
        ("an-engine-of-tomorrow", "os", {}, True, True),
    ],
)  # fmt: skip
def test_missing_commits_and_damage_are_told_apart(
    engine: str, durability: str, settings: dict[str, str], gone: bool, broken: bool
) -> None:
    assert is_unannounced(cut_of(engine, durability, GONE, **settings)) == gone
    assert is_unannounced(cut_of(engine, durability, BROKEN, **settings)) == broken
    for whole in (cut(), cut("unknown")):
        assert not is_unannounced(cut_of(engine, durability, whole, **settings))
        assert losses(cut_of(engine, durability, whole, **settings)) == (0, 0)


@pytest.mark.parametrize(
    ("drive", "place", "reason"),
    [
        ("honest", {}, ""),
        ("cut keeps torn", {}, ""),  # what a drive may do with what was not flushed
        ("reorder, cut keeps reordered", {}, ""),
        ("tear every 3rd", {}, ""),
        ("drop on flush 1", {}, ""),  # it says so
        ("lie-about-flush", {}, "the drive, which lies about flushes"),
        ("tear, lie-about-flush every 2nd, cut keeps torn", {}, "the drive, which lies about flushes"),
        ("ignore-write-through", {}, "the drive, which ignores write-through"),
        ("controller with a dead battery", {}, "the drive's controller, whose battery is dead"),
        ("battery-backed controller", {}, ""),
        ("lie-about-flush", {"disk": "none, write cache off"}, ""),  # there is nothing to flush
        ("(lie once)", {}, "the drive, which lies about flushes"),
        ("(lose (nth 3))", {"disk": "none, write cache off"}, "the drive, which loses writes"),
        ("(misdirect 64K (nth 3))", {}, "the drive, which writes to other places"),
        ("(rot 1 (and reads once))", {}, "the drive, whose bits rot"),
        ("(fail EIO (and flushes once))", {}, ""),
        ("honest", {"write_cache": "write through"}, "the kernel, which sends the drive no flush"),
        ("honest", {"write_cache": "write through", "disk": "none, write cache off"}, ""),
        ("honest", {"mount_options": "rw,barrier=0"}, "the file system, which sends the drive no flush (barrier=0)"),
        ("honest", {"mount_options": "rw,nobarrier"}, "the file system, which sends the drive no flush (nobarrier)"),
    ],
)
def test_a_drive_announces_what_it_does_with_flushes(drive: str, place: dict[str, str], reason: str) -> None:
    for what in (GONE, BROKEN):
        one = cut_of("sqlite", "drive", what.model_copy(update={"drive": drive}), place=place)
        assert is_unannounced(one) == (reason == "")
    facts = one.place
    found = gives_up(
        drive,
        write_cache=facts.write_cache,
        mount_options=facts.mount_options,
        has_cache="write cache off" not in facts.disk,
        failure="cut",
    )
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("failure", "level", "drive", "announced"),
    [
        ("kill", "os", "honest", False),
        ("kill", "none", "honest", True),
        ("kill", "drive", "lie-about-flush", False),  # the drive keeps its power
        ("kernel-crash", "os", "honest", True),
        ("kernel-crash", "drive", "lie-about-flush", False),
        ("kernel-crash", "drive", "(lose once)", True),
    ],
)
def test_the_end_of_the_engine_or_the_kernel_takes_what_is_announced_for_it(
    failure: str, level: str, drive: str, announced: bool
) -> None:
    one = cut_of("mysql-8.0", level, GONE.model_copy(update={"failure": failure, "drive": drive}))
    assert is_unannounced(one) is not announced


def fate(**changes: Any) -> Fate:
    kept = {
        "acknowledged": 9,
        "present": 6,
        "lost": 3,
        "loaded_lost": 0,
        "unacknowledged": 0,
        "torn": 0,
        "order_broken": False,
    }
    return Fate(**{**kept, "examples": [], **changes})


@pytest.mark.parametrize(
    ("changes", "unannounced"),
    [
        ({}, False),
        (
            {
                "checks": {
                    "acknowledged-commits-are-there": "lost",
                    "conditions-hold": "lost",
                    "engine-starts": "survived",
                }
            },
            False,
        ),
        ({"checks": {"engine-check-holds": "lost"}}, True),
        ({"checks": {"transactions-are-whole": "lost"}}, True),
        ({"fate": fate(order_broken=True)}, True),
        ({"fate": fate(loaded_lost=1)}, True),
        ({"fate": fate(torn=1)}, True),
        ({"fate": None}, True),
        ({"fate": fate(lost=0)}, True),
    ],
)
def test_older_journals_are_judged_by_what_they_hold(changes: dict[str, Any], unannounced: bool) -> None:
    assert is_unannounced(cut_of("sqlite", "os", cut("lost", **({"fate": fate()} | changes)))) == unannounced


@pytest.mark.parametrize(
    ("durability", "damaged", "found"),
    [("none", 2, (5, 0)), ("os", 2, (3, 2)), ("drive", 2, (0, 5)), ("os", 0, (5, 0)), ("os", None, (5, 0))],
)
def test_of_crash_states_each_that_lost_is_a_loss(durability: str, damaged: int | None, found: tuple[int, int]) -> None:
    states = States(
        looked_at=9, survived=4, lost=5, unknown=0, damaged=damaged, per_s=2.0, writes=5, flushes=2, shortest=None
    )
    one = cut_of("sqlite", durability, cut("lost", lost=3, damage=["x"] if damaged else [], states=states))
    assert losses(one) == found
    (row,) = survivals([one])
    assert (row.losses_announced, row.losses_unannounced) == found
    assert row.said == ("lost" if found[1] else "lost, as announced")


def test_the_worst_of_a_combination_is_one_that_was_not_announced() -> None:
    many, broken = cut("lost", lost=40, damage=[]), cut("lost", lost=1, damage=["the database is broken"])
    cuts = [cut_of("sqlite", "os", what) for what in (many, broken, many, cut())]
    (row,) = survivals(cut.model_copy(update={"repetition": n, "cell": f"c#{n}"}) for n, cut in enumerate(cuts, 1))
    assert (row.lost, row.losses_announced, row.losses_unannounced, row.said) == (3, 2, 1, "lost")
    assert row.witness is not None
    assert row.witness.repetition == 2


def test_conditions_that_only_count_commits_are_known() -> None:
    """That there are fewer rows than acknowledged commits is what missing commits look like, and no damage."""
    for spec in WORKLOADS:
        for name, words in spec.CONDITIONS.items():
            assert counts_commits(name) == ("acknowledged" in words), name
