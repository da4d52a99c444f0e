"""How sure a finding is, how severe it may therefore be, and what would disprove it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from acidtest.audit import findings_output, judge, sarif
from acidtest.audit import rules as all_rules
from acidtest.audit.bench import Bench, Configuration, Published, Setting, Side, Where
from acidtest.finding import LOWERED, Evidence, Finding, Found, rule
from tables import rows


@rule(
    "a-rule",
    severity="invalid",
    says="Something is wrong.",
    remedy="Mend it.",
    disproved_by="a longer look",
    source="a manual",
)
def a_rule(bench: Bench) -> Iterator[Found]:
    yield Found("One is not the other.", (Evidence("one", "a.conf", 1), Evidence("the other", "b.conf", 2)))


ONE, OTHER = Evidence("off", "a.conf", 1), Evidence("on", "b.conf", 2)


@rows(
    ((ONE, OTHER), "certain", "invalid"),
    ((ONE, ONE), "certain", "doubtful"),
    ((ONE,), "certain", "doubtful"),
    ((), "certain", "doubtful"),
    ((ONE, OTHER), "quoted in a text", "doubtful"),
    ((ONE, OTHER), "guessed", "doubtful"),
)
def test_invalid_takes_two_facts_that_are_certain(
    evidence: tuple[Evidence, ...], certainty: str, severity: str
) -> None:
    found = Finding(a_rule, "One is not the other.", evidence).weighed(certainty)  # type: ignore[arg-type]
    assert (found.severity, found.certainty, bool(found.lowered)) == (severity, certainty, severity == "doubtful")


def test_other_severities_stay_as_they_are() -> None:
    note = Finding(replace(a_rule, severity="note"), "A reader should know.", (ONE,))
    assert (note.weighed("guessed").severity, note.weighed("guessed").lowered) == ("note", "")


FSYNC = (
    Side("a", "postgresql", "16", configurations=(Configuration(
        Where("a.conf"), "postgresql", "postgresql.conf", (Setting("fsync", "off", Where("a.conf", 4)),)),)),
    Side("b", "postgresql", "17", configurations=(Configuration(
        Where("b.conf"), "postgresql", "postgresql.conf", (Setting("fsync", "on", Where("b.conf", 7)),)),)),
)  # fmt: skip


SAME_VERSION = [replace(side, version="17") for side in FSYNC]
TOLD = replace(
    FSYNC[0], configurations=tuple(replace(configuration, prose=True) for configuration in FSYNC[0].configurations)
)
CEILED = Published(Where("run.txt", 9), "sysbench", "run", latency_ms={"p99": 9.0}, ceiling_ms=9.0)


@rows(
    (Bench(FSYNC), "durability-differs", "invalid", "certain"),
    (Bench(SAME_VERSION), "durability-differs", "doubtful", "guessed"),  # the setting may be what is compared
    (Bench((TOLD, FSYNC[1])), "durability-differs", "doubtful", "quoted in a text"),
    (Bench([], published=[CEILED]), "percentile-at-ceiling", "invalid", "certain"),  # two facts of one figure
    (Bench([], published=[replace(CEILED, told=True)]), "percentile-at-ceiling", "doubtful", "quoted in a text"),
)
def test_how_certain_a_finding_is(bench: Bench, name: str, severity: str, certainty: str) -> None:
    (found,) = (finding for finding in judge.of_bench(bench) if finding.rule.name == name)
    assert (found.severity, found.certainty) == (severity, certainty)


def test_a_rule_knows_better(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = replace(a_rule, find=lambda bench: (replace(one, certainty="certain") for one in a_rule.find(bench)))
    monkeypatch.setattr(judge, "over", lambda subject: (sure,))
    (found,) = judge.of_bench(Bench([], published=[Published(Where("a.conf", 1), "", "a", told=True)]))
    assert found.severe


def test_each_rule_over_a_benchmark_says_what_would_disprove_it() -> None:
    lacking = [one.name for one in all_rules.over(Bench) if not one.disproved_by or one.disproved_by.endswith(".")]
    assert not lacking, 'give disproved_by="…", which completes "It would be disproved by …"; docs/ADDING-A-RULE.md'


def test_it_is_shown() -> None:
    found = [Finding(a_rule, "One is not the other.", (ONE, OTHER)).weighed("guessed")]
    bench = Bench([], read=[("a.conf", "configuration")])
    (told,) = findings_output.as_json(bench, found, [])["findings"]
    assert (told["certainty"], told["severity"], told["lowered"]) == ("guessed", "doubtful", LOWERED["guessed"])
    assert told["disproved_by"] == "a longer look"
    (result,) = sarif.as_sarif(bench, found, [])["runs"][0]["results"]
    assert result["properties"] == {"certainty": "guessed", "disprovedBy": "a longer look"}
    output = io.StringIO()
    findings_output.print_findings(bench, found, [], Console(file=output, width=200))
    assert f"Doubtful, not invalid: {LOWERED['guessed']}. It would be disproved by a longer look." in output.getvalue()
