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
    with pytest.raises(BadInput, match="cannot be removed"):
        catalogue.describe("sqlite").remove(print)
