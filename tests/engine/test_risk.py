"""What each level of each engine may lose: the table in families, the words made of it, and what the levels promise."""

from __future__ import annotations

import re

import pytest

from acidtest.engine import catalogue
from acidtest.engine.compare import spoken
from acidtest.families import FAMILIES
from acidtest.risk import ANYHOW, NO_RISK, Risk

LEVELS_OF_ENGINES = [
    (name, level) for name in catalogue.known() for level in catalogue.describe(name).durability_levels()
]


def risk_of(engine_id: str, level: str, settings: dict) -> Risk:
    engine = catalogue.describe(engine_id)
    return FAMILIES[engine.family].risk(level, {name: spoken(value) for name, value in settings.items()})


@pytest.mark.parametrize(("engine_id", "level"), LEVELS_OF_ENGINES)
def test_a_level_promises_what_its_name_says(engine_id: str, level: str) -> None:
    """docs/DURABILITY.md: an OS crash or a power cut may take commits below drive, and the engine's end at none alone."""
    risk = risk_of(engine_id, level, {})
    assert bool(risk.lost) == (level != "drive")
    assert risk.is_none == (level == "drive")
    if level != "none":
        assert not risk.lost_when_killed
        assert not risk.breaks_when_killed


@pytest.mark.parametrize(("engine_id", "level"), LEVELS_OF_ENGINES)
@pytest.mark.parametrize("options", ["rw,sync", "rw,dirsync", "rw,sync,nobarrier", "rw,relatime"])
def test_a_mount_that_flushes_each_write_takes_what_is_handed_over_out_of_the_risk(
    engine_id: str, level: str, options: str
) -> None:
    family = FAMILIES[catalogue.describe(engine_id).family]
    usual, here = family.risk(level, {}), family.risk_on(level, {}, "ext4", options)
    if options == "rw,sync":
        assert (here.lost, bool(here.breaks)) == (usual.lost_when_killed, usual.breaks_when_killed)
        assert here.lost_when_killed == usual.lost_when_killed
    else:
        assert here == usual
    torn = family.risk_on(level, {"full_page_writes": "false", "innodb_doublewrite": "false"}, "ext4", options)
    assert bool(torn.breaks) == (family.name in ("postgresql", "mysql") or bool(here.breaks))
    assert family.risk_on(level, {}, "nfs", options) == usual


@pytest.mark.parametrize(("engine_id", "level"), LEVELS_OF_ENGINES)
def test_what_an_engine_says_of_a_level_ends_with_its_risk(engine_id: str, level: str) -> None:
    means = catalogue.describe(engine_id).durability(level, {}).means
    sentence = risk_of(engine_id, level, {}).sentence
    assert means.endswith(f": {sentence}") if sentence else "may" not in means


@pytest.mark.parametrize(
    ("engine_id", "level", "settings", "risk"),
    [
        ("sqlite", "none", {"journal_mode": "memory"}, Risk(lost="commits", breaks=ANYHOW, breaks_when_killed=True)),
        ("sqlite", "os", {}, Risk(lost="the commits since the last checkpoint")),
        ("firebird-5.0", "os", {}, Risk(lost="commits", breaks=ANYHOW)),
        ("postgresql-17", "none", {}, Risk("up to 0.6 s of commits", "up to 0.6 s of commits")),
        ("postgresql-17", "none", {"fsync": False}, Risk("commits", "up to 0.6 s of commits", ANYHOW)),
        ("postgresql-17", "drive", {"full_page_writes": False}, Risk(breaks="where a page of 8 kB is torn")),
        ("mysql-5.5", "none", {}, Risk("about the last second of commits", "about the last second of commits")),
        ("mysql-5.5", "os", {}, Risk("about the last second of commits")),
        ("mysql-5.5", "drive", {"innodb_doublewrite": False}, Risk(breaks="where the drive can tear a page")),
        ("mariadb-10.11", "os", {"innodb_flush_method": "nosync"},
         Risk("commits", breaks="since neither commits nor checkpoints wait for a flush")),
        ("mariadb-11.4", "drive", {"innodb_doublewrite": "fast"},
         Risk(breaks="where a finished direct write of a data file is not yet on the drive")),
        ("mariadb-11.4", "drive", {"innodb_doublewrite": "fast", "innodb_data_file_write_through": True}, NO_RISK),
    ],
)  # fmt: skip
def test_settings_change_it(engine_id: str, level: str, settings: dict, risk: Risk) -> None:
    assert risk_of(engine_id, level, settings) == risk
    if sentence := risk.sentence:
        assert catalogue.describe(engine_id).durability(level, settings).means.endswith(f": {sentence}")


def test_how_much_follows_from_the_time_that_a_server_was_given() -> None:
    """As a server by URL is set, which acidtest only reads."""
    postgres, innodb = FAMILIES["postgresql"].risk, FAMILIES["mysql"].risk
    assert postgres("none", {"fsync": "true", "wal_writer_delay": "10000 ms"}).lost == "up to 30 s of commits"
    assert postgres("none", {"fsync": "true", "wal_writer_delay": "?"}).lost == "up to 0.6 s of commits"
    assert innodb("os", {"innodb_flush_log_at_timeout": "10"}).lost == "about the last 10 s of commits"


@pytest.mark.parametrize(
    ("risk", "phrase", "sentence"),
    [
        (NO_RISK, "nothing, if the drive keeps what it reports as flushed", ""),
        (Risk("commits", breaks=ANYHOW), "commits, and the database may break; killed: nothing",
         "an OS crash or power cut may lose commits and break the database"),
        (Risk("a second of commits"), "a second of commits, no damage; killed: nothing",
         "an OS crash or power cut may lose a second of commits, the database stays whole"),
        (Risk("some", "some"), "some, no damage; killed: the same",
         "a crash of the engine or the OS, or a power cut, may lose some, the database stays whole"),
        (Risk("commits", "some", ANYHOW), "commits, and the database may break; killed: some",
         "a crash of the engine may lose some; an OS crash or power cut may lose commits and break the database"),
        (Risk(breaks="where a page is torn"), "no commits, but the database may break where a page is torn; killed: nothing",
         "an OS crash or power cut may break the database where a page is torn"),
        (Risk("commits", breaks=ANYHOW, breaks_when_killed=True),
         "commits, and the database may break; killed: no commits, but the database may break",
         "a crash of the engine may break the database; an OS crash or power cut may lose commits and break the database"),
        (Risk("commits", "commits", ANYHOW, breaks_when_killed=True),
         "commits, and the database may break; killed: commits, and the database may break",
         "a crash of the engine or the OS, or a power cut, may lose commits and break the database"),
    ],
)  # fmt: skip
def test_the_words(risk: Risk, phrase: str, sentence: str) -> None:
    assert (risk.phrase, risk.sentence) == (phrase, sentence)


def test_a_fault_that_is_known_is_one_of_the_page_of_engines() -> None:
    faults = {
        name: family.fault(name) for name in catalogue.known() for family in [FAMILIES[catalogue.describe(name).family]]
    }
    assert {name for name, fault in faults.items() if fault} == {
        name for name in faults if name.startswith("firebird-")
    }
    assert all(re.search(r"\(acidtest help docs/ENGINES\.md\)$", fault) for fault in faults.values() if fault)
