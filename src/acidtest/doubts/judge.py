"""Asks every rule over our own recordings: of a run, of searches for the highest rate, of power cuts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import PurePath
from typing import Any

from acidtest.analysis import database, hosts, samples
from acidtest.analysis.database import StatisticsBySize
from acidtest.analysis.hosts import Hosts
from acidtest.analysis.samples import Row
from acidtest.analysis.search.recorded import Search, searches, varying
from acidtest.analysis.survival import Survival, survivals
from acidtest.doubts import rules, unchecked
from acidtest.finding import Evidence, Finding, Rule, Unchecked, rules_of
from acidtest.journal.models import NOT_APPLICABLE, Journal, PlaceFacts, Recording, Warning

# What a search judges by itself, by bounds that it states: arrivals that wait at a run's end, and whether a queue grew.
# In an open loop the rate of commits is the schedule's.
JUDGED_BY_SEARCHES = ("unfinished-arrivals", "not-steady")


@cache
def _rules() -> tuple[Rule[Any], ...]:
    return rules_of(rules)


def _over(kind: type) -> list[Rule[Any]]:
    return [rule for rule in _rules() if rule.over is kind]


def of(subject: Survival | Hosts | PlaceFacts | StatisticsBySize | Search) -> list[Finding]:
    """What is doubtful about the cuts of a combination, the machines of a fleet, the storage, a database that grows,
    or a search."""
    return [finding for rule in _over(type(subject)) for finding in rule(subject)]


def of_row(row: Row) -> list[Finding]:
    """What is doubtful about the numbers of a row, the worst first; nothing when no repetition is done.

    Last what the recordings themselves say: words of the engine's log, work that fell to the client.
    """
    if not row.done:
        return []
    warnings = {warning.text: warning for recording in row.done for warning in recording.warnings}
    return [*(finding for rule in _over(Row) for finding in rule(row)), *map(_noted, warnings.values())]


def _noted(warning: Warning) -> Finding:
    rule = Rule(
        name=warning.code,
        severity="note",
        says="What was noted while it was measured.",
        remedy="",
        source="the recording",
        about=warning.about,
        over=Row,
        find=lambda row: iter(()),
    )
    return Finding(rule, warning.text)


def findings(journal: Journal, rows: Sequence[Row] | None = None) -> list[Finding]:
    """Everything doubtful about a journal, or these of its rows, each thing once, with the rows that it concerns."""
    rows = samples.rows(journal.header, journal.recordings) if rows is None else rows
    factors = ["workload", *samples.varying(rows)]
    doubts = [
        replace(one, evidence=(*one.evidence, where(journal, row.first, levels_of(row.levels, factors))))
        for row in rows
        for one in of_row(row)
    ]
    places = {json.dumps(r.place.alike()): r for r in journal.recordings if r.result}
    doubts += [
        replace(one, evidence=(where(journal, recording, recording.place.path),))
        for recording in places.values()
        for one in of(recording.place)
    ]
    doubts += [one for by_size in database.by_size(rows) for one in of(by_size)]
    of_fleet = hosts.hosts(journal, rows)
    return [*_gathered(doubts), *(of(of_fleet) if of_fleet else [])]


def claimed(journal: Journal) -> list[Row]:
    """Of each search the rate that it claims, and the runs that confirm it.

    The other runs are the way there: single ones, many of them at rates that the server cannot serve, as they must be.
    """
    return [row_of(search) for search in searches(journal.header, journal.recordings) if search.confirmed]


def of_searches(journal: Journal) -> list[Finding]:
    """What is doubtful about a journal of searches: how they ended, and the rates that they claim."""
    found = searches(journal.header, journal.recordings)
    factors = varying(found)
    ended = _gathered(
        replace(doubt, evidence=(where(journal, one.first, levels_of(one.levels, ["workload", *factors])),))
        for one in found
        for doubt in of(one)
    )
    return [*without_own(findings(journal, claimed(journal))), *ended]


def without_own(found: Iterable[Finding]) -> list[Finding]:
    """Without what searches judge by themselves."""
    return [finding for finding in found if finding.rule.name not in JUDGED_BY_SEARCHES]


def row_of(search: Search) -> Row:
    """A search as a row of its combination, with the runs that confirm its rate; of none with its first recording."""
    fresh = search.confirmed.taken if search.confirmed else ()
    done = [search.recording(one) for one in fresh if one.step.phase == "confirming"]
    return Row(search.levels, done, [], [] if done else [search.first])


def of_cuts(journal: Journal) -> list[Finding]:
    """What is doubtful about a journal of power cuts."""
    first = {tuple(recording.levels.values()): recording for recording in reversed(journal.recordings)}
    return _gathered(
        replace(
            one, evidence=(where(journal, first[tuple(row.levels.values())], levels_of(row.levels, [*row.levels])),)
        )
        for row in survivals(journal.recordings)
        for one in of(row)
    )


def not_shown(journal: Journal | None, cuts: Journal | None) -> list[Unchecked]:
    """What a run, its power cuts or both do not show."""
    was_cut = cuts.recordings if cuts else []
    rows = samples.rows(journal.header, journal.recordings) if journal else []
    return [*unchecked.of_run(rows, was_cut), *unchecked.of_cuts(was_cut)]


def where(journal: Journal, recording: Recording, text: str) -> Evidence:
    """``text`` at the line of a recording."""
    return Evidence(text, PurePath(journal.path).name, journal.lines.get(recording.cell))


def levels_of(levels: Mapping[str, str], factors: Sequence[str]) -> str:
    return ", ".join(
        dict.fromkeys(levels[factor] for factor in factors if levels.get(factor, NOT_APPLICABLE) != NOT_APPLICABLE)
    )


def _gathered(doubts: Iterable[Finding]) -> list[Finding]:
    """The same words said of several rows are one finding."""
    held: dict[tuple[str, str], tuple[Finding, list[Evidence]]] = {}
    for doubt in doubts:
        held.setdefault((doubt.rule.name, doubt.text), (doubt, []))[1].extend(doubt.evidence)
    return [replace(one, evidence=tuple(evidence)) for one, evidence in held.values()]
