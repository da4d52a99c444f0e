"""Power cuts in table, JSON and page: unknown is never survived, speed stands beside survival, cuts can be made again."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from typer.testing import CliRunner

from acidtest.analysis.files_left import compare, in_words
from acidtest.analysis.survival import survivals
from acidtest.cli import app
from acidtest.journal.models import Cut, Journal, Promise, Recording, States, Verdict
from acidtest.report.charts import VERDICTS
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import as_json, page_tables, print_survival
from factory import cut, cut_off, journal, recording, stored
from pages import NARROW, WIDE, opened, turned, unreadable
from terminals import printed

CHECKS = {"engine-starts": "survived", "acknowledged-commits-are-there": "lost", "conditions-hold": "lost"}
CHECKERS = "checkers that answered lost: acknowledged-commits-are-there, conditions-hold"


def flushes() -> Journal:
    """An engine that stopped after two failed flushes and went on after one."""
    levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive"}
    after = ("stopped", "went on", "stopped")
    return journal(
        [
            recording(levels, n, cut=cut(failure="failed-flush", after_failed_flush=one))
            for n, one in enumerate(after, start=1)
        ]
    )


def asked(held: Journal, *command: str, cells: int) -> Journal:
    header = held.header.model_copy(update={"asked": list(command), "cells": cells})
    return held.model_copy(update={"header": header})


def shown(held: Journal) -> str:
    return printed(print_survival, held)


def flat(out: str) -> str:
    """Without the ends of lines, for paragraphs that a terminal breaks anywhere."""
    return " ".join(out.split())


def test_the_speed_is_the_median_of_the_cuts_that_have_one() -> None:
    by_levels = {tuple(row.levels.values())[1:]: row for row in survivals(cut_off().recordings)}
    assert by_levels["sqlite", "drive"].commits_per_s == pytest.approx(200)
    assert [verdict for verdict, _ in by_levels["sqlite", "os"].speeds] == ["lost", "survived", "lost"]
    assert by_levels["firebird-5.0", "os"].commits_per_s is None
    assert by_levels["firebird-5.0", "drive"].verdict == "unknown"


def test_a_loss_that_cannot_be_counted_is_not_nought() -> None:
    held = journal([recording(cut=cut("lost", fate=None)), recording(repetition=2, cut=cut("lost", lost=3))])
    (row,) = as_json(held)["combinations"]
    assert row["commits_lost_worst"] is None
    assert "uncounted" in shown(held)


@pytest.mark.parametrize(("damage", "said"), [(["torn"], "6,076; 1 of 3 damaged"), ([], "6,076; 1 of 3 uncounted")])
def test_a_loss_that_was_counted_is_told_beside_one_that_was_not(damage: list[str], said: str) -> None:
    cuts = [cut("lost", fate=None, damage=damage), cut("lost", acknowledged=9_000, lost=6_076), cut()]
    held = journal([recording(repetition=n, cut=cut) for n, cut in enumerate(cuts, start=1)])
    assert said in shown(held)
    (row,) = as_json(held)["combinations"]
    assert row["commits_lost_worst"] is None


@pytest.mark.parametrize(
    ("cuts", "told"),
    [
        ([cut("lost", lost=50, damage=[])] * 2, True),
        ([cut("lost", lost=50, damage=[]), cut("lost", lost=49, damage=[])], False),
        ([cut("lost", lost=50, damage=[]), cut()], False),
        ([cut("lost", lost=50, damage=["a later commit is there than one that is missing"])], False),
        ([cut("lost", lost=50, damage=[]), cut("lost", fate=None)], False),
        ([cut("survived", acknowledged=0)], False),
    ],
)
def test_cuts_before_which_nothing_reached_the_disk_say_that_they_cannot_show_damage(
    cuts: list[Cut], told: bool
) -> None:
    held = journal([recording(repetition=n, cut=cut) for n, cut in enumerate(cuts, start=1)])
    text = "every acknowledged commit was lost, and what is left is whole"
    assert (text in shown(held)) == told
    assert any(text in note for note in page_tables(held)["verdicts"].conclusions) == told


def test_crash_states_have_no_speed() -> None:
    states = States(
        looked_at=9, survived=8, lost=1, unknown=0, per_s=2.0, writes=5, flushes=2, shortest="acidtest-states/a.json"
    )
    (row,) = survivals([recording(cut=cut("lost", states=states))])
    assert row.commits_per_s is None


def of_states(survived: int = 60, lost: int = 0, **changes: Any) -> Recording:
    states = States(
        looked_at=survived + lost, survived=survived, lost=lost, unknown=0, per_s=2.0, writes=5, flushes=2, drawn=50,
        shortest=None, exercised={"database": (2, 5), "log": (3, 3)}, damaged=0,
    )  # fmt: skip
    verdict = "lost" if lost else "survived"
    checks = {"acknowledged-commits-are-there": verdict, "file-system-check": "unknown"}
    made = cut(verdict, failure="crash-states", states=states, fate=None, checks=checks, damage=[], **changes)
    return recording({"workload": "numbered", "engine": "sqlite", "durability": "drive"}, cut=made)


def test_crash_states_are_counted_as_states_and_say_what_they_would_have_shown() -> None:
    out = shown(journal([of_states()]))
    assert " survived  60 of 60 states " in out
    assert (
        "No loss was found. 50 crash states drawn at random would have shown, at 95 %, a loss in 5.8 % of such states of "
        "the same load; a rarer one may be there." in out
    )
    assert (
        "the loss of pending blocks, of each kind at each flush: database at 3 of 5 (no crash state lacks any there)"
        in flat(out)
    )
    assert "the file system's own check of crash states (it is not run on them)" in flat(out)
    assert "could not run after" not in out
    assert "45 of 60 states" in shown(journal([of_states(45, 15)]))


def early(**changes: Any) -> Recording:
    """Of 60 states 59 come before the first acknowledged commit, and the other has lost them all."""
    made = of_states(59, 1)
    assert made.cut is not None
    assert made.cut.states is not None
    states = made.cut.states.model_copy(update={"survived_undemanded": 59, "lost_all": 1, **changes})
    return made.model_copy(update={"cut": made.cut.model_copy(update={"states": states})})


@pytest.mark.parametrize(
    ("changes", "told"),
    [({}, True), ({"damaged": 1, "lost_all": 0}, False), ({"survived_undemanded": 58}, False),
     ({"lost_all": None, "survived_undemanded": None}, False)],
)  # fmt: skip
def test_crash_states_before_which_nothing_reached_the_disk_say_so_and_how_more_shows(
    changes: dict[str, Any], told: bool
) -> None:
    out = shown(journal([early(**changes)]))
    assert ("such states do not show whether the database can be damaged" in out) == told
    assert ("(count = 600 with rate_per_s = 10, which takes 60 s)" in out) == told
    assert "duration_s" not in out


def test_cuts_that_came_too_early_are_told_that_moments_are_drawn_from_the_whole_load() -> None:
    out = shown(journal([recording(cut=cut("lost", lost=50, damage=[]))]))
    assert "(duration_s = 60 in place of count)" in out
    assert "moments are drawn from the whole load" in out


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (([], ["torn"]), "Of these 1 is damaged; from the others commits alone are missing."),
        (([], []), "None is damaged: commits alone are missing."),
        ((["torn"], ["torn"]), "2 are damaged."),
        (([], None), "as permitted by the level or the drive.\n"),
    ],
)
def test_the_last_line_says_how_many_of_the_losses_are_damage(damage: tuple[list[str] | None, ...], said: str) -> None:
    cuts = [cut("lost", lost=1, damage=one, drive="lie-about-flush") for one in damage]
    held = journal([recording(repetition=n, cut=one) for n, one in enumerate(cuts, start=1)])
    assert said in shown(held).partition("acknowledged commits were lost or damaged")[2]
    (row,) = as_json(held)["combinations"]
    assert row["damaged"] == (None if None in damage else sum(map(bool, damage)))


def test_a_damaged_crash_state_is_kept_and_told_beside_one_that_only_lost() -> None:
    out = shown(journal([early(survived_undemanded=0, lost=20, damaged=12, shortest_damaged="out/b.json")]))
    assert "the shortest of 12 damaged states, to look at again:\n  acidtest powercut --replay out/b.json" in out
    assert "Of these 12 are damaged" in out
    assert "look at again" not in shown(journal([early()]))


def test_one_bound_says_how_rare_a_loss_may_be() -> None:
    out = shown(journal([recording(repetition=n, cut=cut()) for n in range(1, 16)]))
    assert "15 cuts of it would have shown, at 95 %, one that happens in 18 % of cuts" in out
    assert "up to 18 % of them may still lose some, at 95 %" in flat(out)
    assert "power 0.8" not in out


def test_a_check_of_the_file_system_that_could_not_run_says_why() -> None:
    missed = cut(checks={"file-system-check": "unknown"}, filesystem_check="unknown", filesystem_said="no such program")
    out = shown(journal([recording(cut=missed), recording(repetition=2, cut=cut())]))
    assert "the file system's own check (it could not run after 1 of 2 cuts: no such program)" in flat(out)


def test_the_worst_cut_is_the_one_that_lost_most_and_the_kept_one_is_told_beside_it() -> None:
    few = cut("lost", lost=3, lost_ms=40.0, state="out/acidtest-states/a.json", damage=[])
    many = cut("lost", lost=30, lost_ms=31234.4, damage=[])
    levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive"}
    held = journal([recording(levels, cut=few), recording(levels, 2, cut=many)])
    (row,) = survivals(held.recordings)
    assert (row.witness, row.kept) == (held.recordings[1], held.recordings[0])
    assert (row.lost_commits_worst, row.lost_ms_worst) == (30, 31234.4)
    out = shown(held)
    assert f"lost: {held.recordings[1].cell}" in out
    assert "acidtest powercut --replay out/acidtest-states/a.json" in out
    assert "31,234" in out
    assert "oldest loss ms: for how long the oldest of the missing commits had been acknowledged before the cut." in out
    assert as_json(held)["combinations"][0]["lost_ms_worst"] == 31234.4
    alone = shown(journal([recording(levels, cut=few)]))
    assert alone.count("--replay") == 1


def test_reasons_that_are_not_shown_are_no_items() -> None:
    reasons = [f'item "{n}" was acknowledged and is not there' for n in range(5)]
    assert "  and 3 more reasons\n" in shown(journal([recording(cut=cut("lost", lost=691, reasons=reasons))]))


def test_a_program_that_lost_is_told_where_to_say_that_it_may() -> None:
    lost = recording(cut=cut("lost", lost=3, damage=[])).model_copy(
        update={"durability": "fast", "promise": Promise(may_lose="", may_break=False)}
    )
    hint = "if less is promised at level fast, say so: may_lose under [program.durability.fast]"
    assert hint in shown(journal([lost]))
    announced = lost.model_copy(update={"promise": Promise(may_lose="the last second", may_break=False)})
    assert hint not in shown(journal([announced]))


def of_program(
    verdict: Verdict = "survived", filesystem: str = "ext4", repetition: int = 1, **changes: Any
) -> Recording:
    reasons = {"lost": ['item "7" was acknowledged and is not there'], "unknown": ["program.check ended with code 7"]}
    made = cut(verdict, lost=int(verdict == "lost"), reasons=reasons.get(verdict, []), **changes)
    levels = {"workload": "items", "engine": "till", "durability": "drive", "place.filesystem": filesystem}
    recorded = recording(levels, repetition, cut=made)
    update = {
        "promise": Promise(may_lose="", may_break=False),
        "workload": {"name": "items", "kind": "program"},
        "place": recorded.place.model_copy(update={"filesystem": filesystem}),
    }
    return recorded.model_copy(update=update)


@pytest.mark.parametrize("verdict", ["survived", "lost", "unknown"])
def test_a_program_acknowledges_items_and_is_no_engine(verdict: Verdict, tmp_path: Path) -> None:
    checks: dict[str, Verdict] = {"engine-starts": verdict, "acknowledged-commits-are-there": verdict}
    held = journal([of_program(verdict, checks=checks, damage=[])], title="Till", program={"name": "till"})
    assert not re.findall("engine|commit|transaction|database", printed(print_survival, held))
    write_survival_page(held, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    shown = re.sub(
        "<style>.*?</style>|<script.*?</script>|<pre.*?</pre>", "", page.partition("<main")[2], flags=re.DOTALL
    )
    assert not re.findall(r".{30}(?:transaction|terminals|the engine).{20}", shown)
    lost = verdict == "lost"
    assert (
        "checkers that answered lost: program-starts, acknowledged-items-are-there" in printed(print_survival, held)
    ) == lost


@pytest.mark.parametrize(
    ("cuts", "shown"),
    [
        ([of_program()], True),
        ([of_program("lost", damage=[])], False),
        ([of_program(), of_program("unknown", repetition=2)], False),
        ([of_program(filesystem="ext2")], False),
        ([of_program("lost", damage=[]), of_program(filesystem="ext2")], False),
        ([recording(cut=cut())], False),
    ],
)
def test_where_a_program_survived_on_ext4_a_mistake_that_it_hides_is_named(cuts: list[Recording], shown: bool) -> None:
    hint = "a missing fsync of its directory does not show"
    assert (hint in printed(print_survival, journal(cuts))) == shown
    assert any(hint in note for note in page_tables(journal(cuts))["verdicts"].conclusions) == shown


def test_the_controls_that_held_are_counted() -> None:
    noticed: dict[str, Verdict] = {
        "check-notices-an-empty-disk": "survived",
        "check-notices-a-planted-loss": "survived",
    }
    missed: dict[str, Verdict] = noticed | {"check-notices-a-planted-loss": "unknown"}
    cuts = [of_program(checks=noticed), of_program("unknown", repetition=2, checks=missed)]
    line = (
        "Controls that held: program.check noticed the loss of every item (1 of 1 combination); program.check noticed a "
        "planted loss (1 of 2 cuts)."
    )
    assert line in printed(print_survival, journal(cuts))
    assert line in page_tables(journal(cuts))["verdicts"].conclusions
    assert as_json(journal(cuts))["controls"]["check-notices-a-planted-loss"] == {"held": 1, "of": 2}
    assert "Controls" not in printed(print_survival, journal([of_program()]))  # journals of older versions do not tell


def test_the_files_that_a_lost_state_has_and_lacks_are_named(tmp_path: Path) -> None:
    files = compare({"items": 12}, {"items": 40, "new": 5}, "every write")
    held = journal([of_program("lost", files=files, damage=[])])
    write_survival_page(held, tmp_path / "report.html")
    for line in in_words(files):
        assert line in printed(print_survival, held)
        assert line in (tmp_path / "report.html").read_text()
    assert as_json(held)["cuts"][0]["cut"]["files"]["missing"] == {"new": 5}


def test_a_loss_whose_items_came_in_bursts_says_that_its_figures_say_little() -> None:
    checks = {"acknowledged-commits-are-there": "lost", "acknowledgements-come-one-by-one": "unknown"}
    note = "several items came in one write: how many were lost, how old they were and the items a second say little"
    assert note in shown(journal([recording(cut=cut("lost", lost=9, checks=checks))]))
    sound = checks | {"acknowledgements-come-one-by-one": "survived"}
    assert note not in shown(journal([recording(cut=cut("lost", lost=9, checks=sound))]))


def test_what_the_engine_did_after_a_failed_flush_is_told() -> None:
    assert "2 stopped, 1 went on" in shown(flushes())
    assert "after failed flush" not in shown(cut_off())
    (row,) = as_json(flushes())["combinations"]
    assert row["after_failed_flush"] == {"stopped": 2, "went on": 1}


def test_the_checkers_that_answered_the_verdict_are_named() -> None:
    held = journal([recording(cut=cut("lost", lost=1, checks=CHECKS))])
    assert CHECKERS in shown(held)
    assert as_json(held)["cuts"][0]["cut"]["checks"] == CHECKS
    # Journals of older versions do not have them.
    assert "checkers" not in shown(journal([recording(cut=cut("lost", lost=1))]))


def test_the_page_tells_of_failed_flushes_and_of_checkers(browser: Browser, tmp_path: Path) -> None:
    held = journal([*flushes().recordings, recording(repetition=4, cut=cut("lost", lost=1, checks=CHECKS))])
    write_survival_page(held, tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html")
    assert "2 stopped, 1 went on" in page.locator(".cuts tbody").inner_text()
    assert CHECKERS in page.locator(".witnesses tbody").inner_text()
    assert trouble == []
    page.context.close()


def test_speed_and_survival_are_one_picture(browser: Browser, tmp_path: Path) -> None:
    held = asked(cut_off(), "cuts.toml", "--quick", cells=12)
    write_survival_page(held, tmp_path / "report.html")
    page, trouble = opened(browser, tmp_path / "report.html", *NARROW)
    for screen in (NARROW, WIDE):
        turned(page, *screen)
        assert unreadable(page) == []
        _survival_is_drawn(page)
    assert trouble == []

    rows = [" ".join(row.split()) for row in page.locator(".cuts tbody tr").all_inner_texts()]
    assert rows == [
        "sqlite os lost, as announced 3 1 2 0 7 60 200 15 20",
        "sqlite drive survived 3 3 0 0 0 60 200 15 20",
        "firebird-5.0 drive unknown 3 2 0 1 0 60 200 15 20",
        "firebird-5.0 os unknown 1 0 0 1 – – – – –",
    ]
    text = page.locator("main").inner_text()
    assert "Not in the picture, as no speed is known: firebird-5.0, os (unknown)" in text
    assert "transaction 3 of terminal 0 was acknowledged and is not there" in text
    assert "the server does not start: <no space>" in text
    assert "acidtest powercut cuts.toml --quick --only numbered/sqlite/os --seed 7 --cuts 3 --out /data-again" in text
    missing = "2 of 12 cuts that were asked for (acidtest powercut cuts.toml --quick) have not been made yet."
    assert missing in page.locator("header").inner_text()
    assert "1 of 4 combinations survived every cut" in page.locator(".answer").inner_text()
    page.context.close()


def _survival_is_drawn(page: Page) -> None:
    drawn = page.locator("#survival svg .mark-symbol.role-mark path")
    assert drawn.count() == 3
    colours = Counter((one.get_attribute("fill"), one.get_attribute("stroke")) for one in drawn.all())
    colour = {verdict: look.colour for verdict, look in VERDICTS.items()}
    assert colours[colour["survived"], colour["survived"]] == colours[colour["lost"], colour["lost"]] == 1
    assert colours["transparent", colour["unknown"]] == 1
    assert len({one.get_attribute("d") for one in drawn.all()}) == 3
    ticks = Counter(one.get_attribute("fill") for one in page.locator("#survival svg .mark-rect.role-mark path").all())
    assert ticks == {colour["survived"]: 6, colour["lost"]: 2, colour["unknown"]: 1}
    labels = page.locator("#survival svg .role-axis-label text").all_text_contents()
    assert sorted(label for label in labels if " of " in label) == ["1 of 3", "2 of 3", "3 of 3"]


def test_a_cut_without_any_speed_still_has_a_page(tmp_path: Path) -> None:
    lone: Recording = recording(cut=cut("unknown", fate=None))
    write_survival_page(journal([lone]), tmp_path / "report.html")
    assert 'id="survival"' not in (tmp_path / "report.html").read_text()


def test_report_writes_the_page(tmp_path: Path) -> None:
    stored(cut_off(), tmp_path / "cuts.jsonl")
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 0
    assert f"Page: {tmp_path / 'report.html'}" in result.stdout
    (tmp_path / "report.html").unlink()
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--json"])
    assert [row["verdict"] for row in json.loads(result.stdout)["combinations"]] == [
        "lost", "survived", "unknown", "unknown",
    ]  # fmt: skip
    assert (tmp_path / "report.html").exists()
