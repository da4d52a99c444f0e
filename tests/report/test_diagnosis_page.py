"""The page of a diagnosis, and what of its recordings is judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

import factory
from acidtest.analysis.summary import Interval, Summary
from acidtest.errors import BadInput
from acidtest.journal import diagnosis as recordings
from acidtest.journal.diagnosis import (
    Audited,
    Cells,
    Database,
    Diagnosis,
    FoundSetting,
    Inside,
    Logged,
    Next,
    NotLooked,
)
from acidtest.journal.models import Journal
from acidtest.journal.probe import Layer
from acidtest.report.diagnosis import LOG, report, where
from acidtest.report.diagnosis_page import drawn, write_page
from pages import opened, turned, unreadable

LONG = "a_word_" * 40
HOSTILE = "</script><b>bold</b>\x1b[2J"


def study() -> Journal:
    return factory.study(["sqlite"], ["commits"], repetitions=5)


def made(journal: Journal) -> Diagnosis:
    first = journal.recordings[0]
    finding = {"rule": "no-barriers", "severity": "invalid", "text": HOSTILE, "remedy": LONG, "source": "a manual"}
    return Diagnosis(
        acidtest_version="0.1.0",
        started_at="2026-01-01T00:00:00.000+00:00",
        ended_at="2026-01-01T00:05:00.000+00:00",
        minutes=5,
        machine=first.machine,
        doubts=[],
        place=first.place,
        place_bytes=10**12,
        layers=[Layer(kind="file system", name="ext4", about=LONG)],
        database=Database(where=f"/data/{LONG}.fdb", family="firebird", version="5.0", bytes=10**9, facts={"page_size": 8192}),
        audited=Audited(
            directory=f"/etc/{LONG}",
            engine="firebird",
            version="",
            settings=[
                FoundSetting(name=LONG, value=HOSTILE, at="firebird.conf:1", why_not="acidtest has no such setting"),
                FoundSetting(name="ServerMode", value="Super", at="firebird.conf:2", ours='server_mode = "Super"'),
            ],
            findings=[finding],
            log=[Logged(kind="deadlock", text=HOSTILE, count=3, at="firebird.log:7")],
            read=2,
            not_read=[f"{LONG}: is of an unknown kind"],
            unchecked=[],
        ),
        inside=Inside(findings=["The oldest transaction is 2,000,000 behind."], looked_at="pages"),
        cells=Cells(
            engine="sqlite", version="3", same_version=None, said="A scratch database.", levels={"found": "drive"},
            settings={"found": {"forced_writes": True}}, experiment="name = 'x'",
        ),
        not_looked=[NotLooked(what="a part", why=HOSTILE)],
        next=Next(question="durability", asks="What?", why="Because.", command=f"acidtest init {LONG}", text=LONG),
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    journal, file = study(), tmp_path_factory.mktemp("page") / "diagnosis.html"
    write_page(report(made(journal), None, journal), file)
    page, trouble = opened(browser, file, plots=False)
    yield page
    page.context.close()
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_can_be_read(page: Page, width: int, scheme: str) -> None:
    turned(page, width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert unreadable(page) == []


def test_it_says_all_parts(page: Page) -> None:
    words = page.locator("body").inner_text()
    assert page.locator("article.bottleneck h3").count() == 8  # seven bottlenecks, and a finding
    assert page.locator("main b").count() == 0
    for said in ("<b>bold</b>", "deadlock, 3 times", "The oldest transaction", "forced_writes = true", "ServerMode"):
        assert said in words
    assert "What was not looked at" in words
    assert "your own statements" in words


def test_a_severe_finding_makes_it_severe_and_it_is_kept_as_it_was(tmp_path: Path) -> None:
    journal = study()
    one = made(journal)
    assert report(one, None, journal).severe
    recordings.write(tmp_path, one)
    assert recordings.read(tmp_path / recordings.NAME) == one
    (tmp_path / "other.json").write_text('{"kind": "probe"}')
    with pytest.raises(BadInput, match="not a diagnosis"):
        recordings.read(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("inside", "forced_writes", "risk", "said"),
    [
        ({}, True, "", []),
        ({}, False, "", ["The database's header: Forced Writes are off: "]),
        ({}, True, "a crash may lose commits", ["With the settings that were found a crash may lose commits."]),
        ({"forced-writes-off": "Forced writes are off."}, False, "a crash may lose", ["Forced writes are off."]),
        ({"in-limbo": "One is in limbo."}, False, "", ["The database's header: Forced Writes", "One is in limbo."]),
    ],
)
def test_what_is_severe_is_the_first_line_and_told_once(
    inside: dict[str, str], forced_writes: bool, risk: str, said: list[str]
) -> None:
    journal = study()
    one = made(journal)
    assert one.inside and one.database and one.cells
    one.inside.severe, one.cells.risk = inside, risk
    one.database.facts["forced_writes"] = forced_writes
    severe = report(one, None, journal).answer.severe
    assert [line.startswith(begins) for line, begins in zip(severe, said, strict=True)] == [True] * len(said)
    headline = report(one, None, journal).answer.headline
    assert headline.startswith(f"Severe: {severe[0]}" if severe else ("Likely", "No", "Nothing", "Too"))


def test_what_is_called_severe_ends_the_command_with_its_exit_code() -> None:
    journal = study()
    one = made(journal)
    assert one.inside and one.database and one.audited
    one.audited.findings = []
    one.database.facts["forced_writes"] = True
    assert not report(one, None, journal).severe
    one.inside.severe = {"transaction-stays-open": "One stays open."}
    found = report(one, None, journal)
    assert found.answer.headline.startswith("Severe: ") and found.severe


def test_what_is_about_safety_alone_is_no_reason_for_slowness() -> None:
    journal = study()
    one = made(journal)
    assert one.inside
    off, old = "Forced writes are off.", one.inside.findings[0]
    one.inside.findings, one.inside.safety = [off, old], [off]
    found = report(one, None, journal)
    inside = next(each for each in found.answer.bottlenecks if each.name == "the database inside")
    assert inside.figures == (old,)
    assert f"safety: {off}" in where(found)
    one.inside.severe = {"forced-writes-off": off}
    assert not any(line.startswith("safety: ") for line in where(report(one, None, journal))), "it stands at the top"
    one.inside.severe = {}
    one.inside.findings = [off]
    inside = next(each for each in report(one, None, journal).answer.bottlenecks if each.name == "the database inside")
    assert inside.standing == "unlikely"


def test_a_log_that_was_not_there_is_not_clean() -> None:
    journal = study()
    one = made(journal)
    assert one.audited is not None
    one.audited.log = []
    looked = report(one, None, journal)
    one.not_looked.append(NotLooked(what=LOG, why="no log was found"))
    missed = report(one, None, journal)
    standings = [
        next(b.standing for b in of.answer.bottlenecks if b.name == "the engine's log") for of in (looked, missed)
    ]
    assert standings == ["unlikely", "not looked at"]


ratios = st.builds(
    lambda low, more, most: Summary(5, low * more, Interval(low, low * more * most), None),
    st.floats(1e-6, 1e6),
    st.floats(1, 100),
    st.floats(1, 100),
) | st.just(Summary(0, None, None, "no repetition was done"))


@settings(max_examples=100, deadline=None)
@given(st.lists(ratios, max_size=5))
def test_every_ratio_lies_on_the_axis(some: list[Summary]) -> None:
    for summary, picture in zip(some, drawn(some), strict=True):
        assert (picture is None) == (summary.median is None)
        if picture:
            assert 0 <= picture.low <= picture.middle <= picture.high <= 100
            assert 0 < picture.one < 100
