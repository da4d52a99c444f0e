"""Engines in folders of their own: whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.engine import catalogue, install
from acidtest.errors import BadInput, MachineLacks


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "engines"


def whole(work: Path) -> Path:
    (work / "download").write_text("archive")
    (work / "unpacked").mkdir()
    (work / "unpacked" / "engine").write_text("engine")
    return work / "unpacked"


def test_an_engine_is_made_once_and_removed(home: Path) -> None:
    said: list[str] = []
    install.install("thing", whole, said.append)
    assert (home / "thing" / "engine").read_text() == "engine"
    install.install("thing", lambda work: pytest.fail("it is there"), said.append)
    install.remove("thing", said.append)
    assert list(home.iterdir()) == []
    assert [line.split(" ")[0] for line in said] == ["installed", "thing", "removed"]
    with pytest.raises(BadInput, match="thing is not installed by acidtest"):
        install.remove("thing", said.append)


def test_one_that_an_older_acidtest_made_is_made_again(home: Path) -> None:
    def newer(work: Path) -> Path:
        unpacked = whole(work)
        (unpacked / "library").touch()
        return unpacked

    def has_library(folder: Path) -> bool:
        return (folder / "library").exists()

    install.install("thing", whole, print, is_current=has_library)
    install.install("thing", newer, print, is_current=has_library)
    assert sorted(path.name for path in (home / "thing").iterdir()) == ["engine", "library"]
    assert [path.name for path in home.iterdir()] == ["thing"]
    install.install("thing", lambda work: pytest.fail("it is there"), print, is_current=has_library)


def test_what_was_cut_short_leaves_nothing(home: Path) -> None:
    def cut_short(work: Path) -> Path:
        whole(work)
        raise MachineLacks("the network went away")

    with pytest.raises(MachineLacks, match="the network went away"):
        install.install("thing", cut_short, print)
    assert list(home.iterdir()) == []
    (home / f"{install.UNFINISHED}thing-killed").mkdir()
    install.install("thing", whole, print)
    assert [path.name for path in home.iterdir()] == ["thing"]


def test_a_home_that_cannot_be_written_is_named(home: Path) -> None:
    home.parent.parent.joinpath("home").write_text("a file")
    with pytest.raises(MachineLacks, match=r"could not be installed in .*: Not a directory") as refused:
        install.install("thing", whole, print)
    assert "ACIDTEST_HOME" in refused.value.remedy


def test_an_engine_that_is_not_installed_names_the_way(home: Path) -> None:
    with pytest.raises(MachineLacks, match=r"firebird-4\.0 is not installed") as refused:
        catalogue.find("firebird-4.0")
    assert refused.value.remedy == "acidtest engines install firebird-4.0"
    with pytest.raises(BadInput, match=r"firebird-4.O.*did you mean .firebird-4.0"):
        catalogue.find("firebird-4.O")
    catalogue.describe("sqlite").install(print)
    with pytest.raises(BadInput, match="is not installed by acidtest"):
        catalogue.describe("sqlite").remove(print)


@pytest.mark.parametrize(
    ("id", "left", "missing"),
    [
        ("firebird-5.0", "firebird/embedded/runtime/firebird.msg", "libfbclient.so.2: No such file or directory"),
        ("mysql-5.5", "share/errmsg.sys", "bin/mysqld: No such file or directory"),
        ("postgresql-17", "bin/postgres", "bin/postgres: Exec format error"),
    ],
)
def test_an_engine_of_which_only_a_part_is_left_is_damaged(home: Path, id: str, left: str, missing: str) -> None:  # noqa: A002
    (home / id / left).parent.mkdir(parents=True)
    (home / id / left).touch(mode=0o755)
    remedy = f"acidtest engines remove {id}, then acidtest engines install {id}"
    (offer,) = (offer for offer in catalogue.offers() if offer.id == id)
    assert offer.damage.endswith(missing)
    assert offer.lack() == (f"is damaged: {offer.damage}", remedy)
    with pytest.raises(MachineLacks, match="is damaged") as refused:
        catalogue.find(id)
    assert refused.value.remedy == remedy
    engine = catalogue.describe(id)
    went = "the engine was removed or changed while the run went on"
    assert engine.gone() == f"{went}: {id} is damaged: {offer.damage}: {remedy}"
    install.remove(id, print)
    assert engine.gone() == f"{went}: {id} is not installed: {engine.offer().remedy}"


def test_facts_of_an_engine_that_is_gone_are_those_that_were_read_last(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = catalogue.describe("sqlite")
    facts = engine.last_facts()

    def gone() -> None:
        raise FileNotFoundError(2, "No such file or directory", "/opt/engine")

    monkeypatch.setattr(engine, "facts", gone)
    assert engine.last_facts() == facts
    assert engine.mode({}) == facts.mode
    monkeypatch.setattr(engine, "_facts", None)
    with pytest.raises(FileNotFoundError):
        engine.last_facts()


def test_an_engine_that_cannot_be_removed_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "thing").mkdir(parents=True)

    def read_only(path: Path) -> None:
        raise OSError(30, "Read-only file system", str(path / "lib.so"))

    monkeypatch.setattr("acidtest.engine.install.shutil.rmtree", read_only)
    with pytest.raises(BadInput, match=r"thing: could not be removed: .*thing/lib\.so: Read-only file system"):
        install.remove("thing", print)
