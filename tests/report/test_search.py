"""Searches as reports show them, over simulated servers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from playwright.sync_api import Browser

import factory
from acidtest.analysis.search.recorded import Asked, judge_of, replayed
from acidtest.doubts import judge
from acidtest.journal.models import CLOSED_LOOP, RATE, Journal, Recording
from acidtest.journal.protocol import RunResult
from acidtest.report.search import Relative, answers, results, said_of, sentences
from acidtest.report.search_report import print_searches, write_search_page
from pages import NARROW, WIDE, opened, turned, unreadable
from queues import Kind, Server
from terminals import printed

pytestmark = pytest.mark.slow
SPEC = {"limit": "p99 < 20 ms", "step_percent": 2.0, "unserved_percent": 1.0, "runs_max": 60}


def runs(engine: str, server: Server, asked: Asked, until: int = 1000) -> list[Recording]:
    """A search of that server, as far as so many runs."""
    found: list[Recording] = []
    judge = judge_of(asked)
    while (step := replayed(found, asked, judge).next) is not None and len(found) < until:
        level = CLOSED_LOOP if step.rate_per_s is None else f"{step.rate_per_s:g}"
        levels = {"workload": "commits", "engine": engine, "durability": "drive", RATE: level}
        one = factory.recording(levels, step.number, found=server.run(step.rate_per_s))
        workload = one.workload | {"rate_per_s": step.rate_per_s}
        found.append(one.model_copy(update={"workload": workload, "order": len(found) + 1}))
    return found


def journal(until: int = 1000, repetitions: int = 5, **spec: object) -> Journal:
    """Two engines, of which the second serves a third more."""
    experiment = {"search": SPEC | spec, "repetitions": repetitions}
    asked = Asked.of(experiment)
    servers: list[tuple[str, Kind, float]] = [("sqlite", "M/D/1", 1.0), ("firebird-5.0", "M/D/1", 0.75)]
    recordings = [
        run
        for engine, kind, service_ms in servers
        for run in runs(engine, Server(kind, service_ms, 20.0, 1), asked, until)
    ]
    made = factory.journal(recordings, {"engine": "sqlite"}, **experiment)
    return made.model_copy(update={"header": made.header.model_copy(update={"cells": 2})})


@pytest.fixture(scope="module")
def searched() -> Journal:
    return journal()


def shown(journal: Journal, width: int) -> str:
    return printed(print_searches, results(journal), width=width)


def test_the_rates_that_are_found_are_compared_with_the_base(searched: Journal) -> None:
    base, other = results(searched).lines
    assert base.rate_per_s
    assert other.rate_per_s
    assert base.is_base
    assert other.relative
    assert other.relative.value == pytest.approx(100 * other.rate_per_s / base.rate_per_s)
    assert other.relative.low
    assert other.relative.high
    assert other.relative.low < other.relative.value < other.relative.high
    assert other.verdict == "higher"
    assert base.refuted_per_s
    assert base.refuted_per_s == pytest.approx(base.rate_per_s * 1.02, rel=0.002)


@pytest.mark.parametrize(
    ("bounds", "verdict", "said"),
    [
        (
            (98.0, 102.0),
            "no difference shown",
            "No difference shown: a rate 3.9 % lower would have been noticed with these",
        ),
        ((40.0, 240.0), "cannot tell", "Cannot tell: steps are so wide that even half the rate"),
    ],
)
def test_bounds_that_overlap_name_what_would_have_been_shown(
    searched: Journal, bounds: tuple[float, float], verdict: str, said: str
) -> None:
    whole = results(searched)
    base, other = whole.lines
    alike = replace(other, relative=Relative(100.0, *bounds))
    assert alike.verdict == verdict
    (sentence,) = replace(whole, lines=(base, alike)).undecided
    assert sentence.startswith(said)
    assert whole.undecided == []


def test_arrivals_without_an_answer_have_no_figure(searched: Journal) -> None:
    limit = results(searched).lines[0].search.asked.limit
    run = Mock(rate_per_s=900.0, values_ms=[math.inf], why="unserved")
    assert said_of(run, limit) == "overloaded: arrivals left unanswered"
    assert said_of(Mock(rate_per_s=900.0, values_ms=[8.2], why=None), limit) == "p99 8.2 ms: holds"


def test_the_answer_is_told_in_words(searched: Journal) -> None:
    found = results(searched)
    text = " ".join(sentences(found.lines[0]))
    assert "a second hold p99 < 20 ms in all 5 fresh runs (p99 " in text
    assert "does not hold: p99 was " in text
    assert "The knee lies near " in text
    assert answers(found)[0].startswith("Highest of all: firebird-5.0 with ")


class Moody(Server):
    """Slow at the rates ``between``, so many times."""

    def __init__(self, between: tuple[float, float], times: int) -> None:
        super().__init__("M/D/1", 1.0, 20.0, 1)
        self.between, self.times = between, times

    def run(self, rate_per_s: float | None) -> RunResult:
        slow = rate_per_s is not None and self.between[0] < rate_per_s < self.between[1] and self.times > 0
        self.times -= slow
        ran = Server("M/D/1", 1.0, 20.0, 1).run(rate_per_s)
        return ran.model_copy(update={"latency": factory.histogram([50e6] * 2000)}) if slow else ran


@pytest.mark.parametrize(("times", "said"), [(1, "is set aside"), (9, "The rates are out of order: ")])
def test_a_rate_that_does_not_hold_below_one_that_does_is_said_and_then_no_knee(times: int, said: str) -> None:
    experiment = {"search": SPEC, "repetitions": 5}
    taken = runs("sqlite", Moody((450, 550), times), Asked.of(experiment))
    (line,) = results(factory.journal(taken, **experiment)).lines
    text = " ".join(sentences(line))
    assert said in text
    assert ("The knee lies near" in text) == (times == 1) == (line.search.knee() is not None)


class Busy(Server):
    """Of a machine that begins arrivals late at rates above ``above``."""

    above = 0.0

    def run(self, rate_per_s: float | None) -> RunResult:
        ran = super().run(rate_per_s)
        if rate_per_s is None or rate_per_s < self.above or ran.arrivals is None:
            return ran
        late = factory.histogram([90e6] * ran.arrivals.scheduled)
        arrivals = ran.arrivals.model_copy(update={"lateness": late})
        return ran.model_copy(update={"latency": factory.histogram([95e6] * 2000), "arrivals": arrivals})


def test_a_machine_too_busy_to_offer_the_rates_is_the_answer_and_a_doubt() -> None:
    experiment = {"search": SPEC, "repetitions": 5}
    taken = runs("sqlite", Busy("M/D/1", 1.0, 20.0, 1), Asked.of(experiment))
    held = factory.journal(taken, **experiment)
    found = results(held)
    (line,) = found.lines
    first, *more = sentences(line)
    assert first.startswith("Cannot tell which rate holds p99 < 20 ms: this machine was too busy to offer the rates.")
    assert "In 5 of 5 runs that did not hold" in first
    assert not any("No rate" in one or "too short" in one for one in (first, *more))
    assert line.ends == "cannot tell"
    assert line.search.knee() is None, "those latencies are the machine's"
    (doubt,) = [finding for finding in found.findings if finding.rule.name == "search-generator-late"]
    assert "nothing here shows what the server can do" in doubt.text
    assert [finding["rule"] for finding in found.as_json()["findings"]] == [
        search.rule.name for search in judge.of_searches(held)
    ]


def test_an_older_search_keeps_the_rate_that_it_confirmed_below_a_late_generator() -> None:
    experiment = {"search": SPEC, "repetitions": 2}
    asked = Asked.of(experiment)
    server = Busy("M/D/1", 1.0, 60.0, 1)
    server.above = 200.0
    held = runs("sqlite", server, replace(asked, rules=replace(asked.rules, stops=False)))
    found = replayed(held, asked, judge_of(asked))
    assert found.confirmed
    assert not found.untellable
    assert found.knee() is None, "above it is the generator"


def test_the_most_that_was_served_is_of_all_runs(searched: Journal) -> None:
    for line in results(searched).lines:
        assert line.search.most_per_s() == max(
            one.run.served_per_s for one in line.search.taken if one.step.rate_per_s is not None
        )
    one = results(searched).lines[0].search
    full = [taken for taken in one.taken if taken.run.saturated]
    slow = replace(full[0], run=replace(full[0].run, served_per_s=1.0)) if full else None
    kept = tuple(slow if taken in full and slow else taken for taken in one.taken)
    assert (replace(one, taken=kept).most_per_s() or 0) > 500, "a run that broke down is not the most"


def test_a_search_of_before_keeps_its_answer() -> None:
    """Its runs were decided on without trying a lone refusal again."""
    experiment = {"search": SPEC, "repetitions": 5}
    asked = Asked.of(experiment)
    then = replace(asked, rules=replace(asked.rules, again=False))
    held = runs("sqlite", Moody((450, 550), 1), then)
    assert not any(
        "set aside" in sentence for sentence in sentences(results(factory.journal(held, **experiment)).lines[0])
    )
    assert replayed(held, asked, judge_of(asked)).ended


@pytest.mark.parametrize("width", [80, 140])
def test_a_terminal_shows_it_without_cutting(searched: Journal, width: int) -> None:
    text = shown(searched, width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for word in ("highest/s", "not at", "base=100", "holds, 5 of 5", "over the limit"):
        assert word in text


def test_a_search_that_goes_on_says_so() -> None:
    begun = results(journal(until=4))
    assert [line.ends for line in begun.lines] == ["goes on", "goes on"]
    assert begun.missing == "2 of 2 searches have not ended yet."
    assert "The search has not ended: 4 runs so far." in shown(journal(until=4), 80)


def test_a_run_that_failed_breaks_the_search_off(searched: Journal) -> None:
    bad = [
        recording.model_copy(update={"status": "failed", "reason": "planted", "result": None})
        if recording.order == 3
        else recording
        for recording in searched.recordings
    ]
    lines = results(searched.model_copy(update={"recordings": bad})).lines
    assert [line.ends for line in lines] == ["a run failed", "a run failed"]
    assert "planted" in sentences(lines[0])[0]


def test_fewer_than_five_confirmations_are_called_a_first_look() -> None:
    found = results(journal(repetitions=2))
    assert "in both fresh runs" in sentences(found.lines[0])[0]
    assert "That is a first look" in " ".join(sentences(found.lines[0]))
    assert "too-few-repetitions" in {finding.rule.name for finding in found.findings}


def test_the_audit_judges_the_rates_that_are_claimed_and_not_the_way_there(searched: Journal) -> None:
    names = {search.rule.name for search in judge.of_searches(searched)}
    assert not names & {"too-few-repetitions", "unfinished-arrivals", "not-steady", "wide-spread"}
    severe = [finding.rule.name for finding in judge.findings(searched) if finding.severe]
    assert "unfinished-arrivals" in severe, "as an ordinary run its saturated rates would be severe"


def test_programs_get_every_run(searched: Journal) -> None:
    found = json.loads(json.dumps(results(searched).as_json(), allow_nan=False))
    one = found["searches"][0]
    assert one["limited_by"] == "limit"
    assert len([run for run in one["runs"] if run["phase"] == "confirming" and run["holds"]]) >= 5
    assert one["runs"][0]["offered_per_s"] is None
    assert {run["cell"] for run in one["runs"]} <= {recording.cell for recording in searched.recordings}


def test_the_page_is_readable_on_any_screen(searched: Journal, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_search_page(results(searched), path)
    page, trouble = opened(browser, path, *NARROW)
    for screen in (NARROW, WIDE):
        turned(page, *screen)
        assert unreadable(page) == []
        assert page.locator("#load .plot svg").count() == 2
        assert "The highest rate with p99 < 20 ms" in page.inner_text("main")
    assert trouble == []
    page.context.close()
