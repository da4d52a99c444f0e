"""Risk beside rate, and what was not checked: in the terminal at every width, on the pages, and for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acidtest.analysis.risks import LevelRisk
from acidtest.analysis.survival import survivals
from acidtest.journal.models import Recording, Verdict
from acidtest.report.page import write_page
from acidtest.report.results import Results, results
from acidtest.report.risks import cuts_text, fault_lines, sentence
from acidtest.report.risks import table as risks_table
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import as_json, print_survival
from acidtest.report.table import print_table
from acidtest.report.terminal import print_results
from acidtest.risk import NO_RISK, Risk
from factory import cut, cut_off, priced, recording
from terminals import printed, words

WIDTHS = [80, 140]


def was_cut(drive: str, *verdicts: Verdict, lost: int = 0) -> list[Recording]:
    levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive", "drive": drive}
    return [recording(levels, n, cut=cut(verdict, lost=lost)) for n, verdict in enumerate(verdicts, start=1)]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_risk_of_each_level_stands_beneath_the_rates(studied: Results, width: int) -> None:
    text = printed(print_results, studied, width=width)
    assert max(map(len, text.splitlines())) <= width
    lines = text[text.index("What may be lost at a power cut or an OS crash (killed: when only the engine is)") :]
    assert text.index("What may be lost") > text.index("p99 ms")
    said = words(lines.partition("Base (= 100)")[0])
    assert "none sqlite commits, and the database may break; killed: nothing" in said
    assert "the commits since the last checkpoint, no damage; killed: nothing" in said
    assert "firebird-4.0, firebird-5.0, at every level: a known fault can hide committed rows after a crash" in said


@pytest.mark.parametrize("width", WIDTHS)
def test_no_figure_gives_way_to_the_risk(studied: Results, width: int) -> None:
    """The lines of the tables are the same with and without it."""
    with_it, without = (
        printed(print_results, one, width=width)
        for one in (studied, replace(studied, risks=(), unchecked=(), faults={}))
    )
    assert set(without.splitlines()) - set(with_it.splitlines()) == set()


def test_power_cuts_stand_with_their_level() -> None:
    run, cuts = priced()
    text = words(printed(print_results, results(run, cuts=cuts), width=80))
    assert "drive sqlite nothing, if the drive keeps what it reports as flushed. Power cuts: 3 of 3 survived." in text


@pytest.mark.parametrize(
    ("cuts", "said"),
    [
        (was_cut("honest", "survived", "survived"), "Power cuts: 2 of 2 survived."),
        (was_cut("honest", "survived", "lost", lost=1_234), "Power cuts: 1 of 2 survived, at worst 1,234 lost."),
        (was_cut("honest", "survived", "unknown"), "Power cuts: 1 of 2 survived, 1 unknown."),
        ([*was_cut("honest", "survived"), *was_cut("lying", "lost", lost=7)],
         "Power cuts: honest 1 of 1 survived; lying 0 of 1 survived, at worst 7 lost."),
        ([*was_cut("honest", "survived"), *was_cut("tearing", "survived")], "Power cuts: 2 of 2 survived."),
    ],
)  # fmt: skip
def test_what_power_cuts_found_in_a_few_words(cuts: list[Recording], said: str) -> None:
    assert cuts_text(survivals(cuts)) == said


def test_many_engines_that_may_lose_the_same_are_all() -> None:
    engines = tuple(f"postgresql-{n}" for n in range(12, 19))
    risks = [LevelRisk("os", ("sqlite",), Risk("some"), ()), LevelRisk("os", engines, Risk("more"), ()),
             LevelRisk("drive", ("sqlite", *engines), NO_RISK, ())]  # fmt: skip
    text = printed(lambda console: print_table(risks_table(risks), console), width=140)
    assert "drive  all" in text
    assert "postgresql-18" in text  # at os it is not all
    assert printed(lambda console: print_table(risks_table([]), console), width=80) == ""


def test_many_names_leave_room_for_the_words_beside_them() -> None:
    names = ("firebird-3.0-server", "firebird-4.0-server", "firebird-5.0-server", "postgresql-17")
    text = printed(
        lambda console: print_table(risks_table([LevelRisk("os", names, Risk("words"), ())]), console), width=80
    )
    assert {line.index("words") for line in text.splitlines() if "words" in line} == {len("os") + 2 + 80 // 4 + 2}


def test_what_is_not_known_is_said_to_be() -> None:
    assert sentence(LevelRisk("os", ("mine",), None, ())) == "not known here"
    assert fault_lines({"it forgets": ("a", "b")}) == ["a, b, at every level: it forgets."]


def test_programs_get_the_risk_its_cuts_and_what_was_not_checked(studied: Results) -> None:
    run, cuts = priced()
    answer = json.loads(json.dumps(results(run, cuts=cuts).as_json()))
    weak, strong = answer["risks"]
    assert (weak["durability"], weak["engines"], weak["power_cuts"]) == ("none", ["sqlite"], None)
    assert weak["may"] == {
        "lost": "commits",
        "lost_when_killed": None,
        "may_break": True,
        "may_break_when_killed": False,
    }
    assert strong["power_cuts"] == {"made": 3, "survived": 3, "lost": 0, "unknown": 0}
    assert strong["may"]["lost"] is None
    assert {"what": "clients in each other's way", "why": "there was one terminal"} in answer["not_checked"]
    assert [fault["engines"] for fault in studied.as_json()["known_faults"]] == [["firebird-4.0", "firebird-5.0"]]
    assert as_json(cuts)["not_checked"][0]["what"] == "other moments"


@pytest.mark.parametrize("width", WIDTHS)
def test_what_was_not_checked_stands_beneath_a_run_and_beneath_power_cuts(studied: Results, width: int) -> None:
    run = printed(print_results, studied, width=width)
    cuts = printed(print_survival, cut_off(), width=width)
    for text in (run, cuts):
        (paragraph,) = [one for one in text.split("\n\n") if "Not checked: " in one]
        assert max(map(len, paragraph.splitlines())) <= width
    assert "Not checked: whether commits survive a power cut (none was made here); " in words(run)
    assert "Not checked: other moments (after 3 cuts without a loss up to 63 %" in words(cuts)


def test_the_pages_have_both(tmp_path: Path) -> None:
    run, cuts = priced()
    write_page(results(run, cuts=cuts), tmp_path / "run.html")
    page = words((tmp_path / "run.html").read_text(encoding="utf-8").partition("</main>")[0])
    assert (
        '<th scope="row"><span class="name">none</span></th><td>sqlite</td>'
        "<td>commits, and the database may break; killed: nothing</td>" in page
    )
    assert "Power cuts: 3 of 3 survived." in page
    assert "What was not checked" in page
    assert "<li>clients in each other&#39;s way (there was one terminal)</li>" in page
    assert "Not checked: other moments (after 3 cuts" in page
    write_survival_page(cut_off(), tmp_path / "cuts.html")
    assert "Not checked: other moments (after 3 cuts" in words((tmp_path / "cuts.html").read_text(encoding="utf-8"))
