"""Asks every rule over a benchmark."""

from __future__ import annotations

from acidtest.audit import declared
from acidtest.audit.bench import Bench
from acidtest.audit.rules import over
from acidtest.finding import Finding


def of_bench(bench: Bench) -> list[Finding]:
    """What the rules over a whole benchmark find, each as severe as it is certain."""
    quoted = _quoted(bench)
    findings = [
        Finding(rule, found.text, found.evidence, disproved=found.disproved_by, noted=found.noted).weighed(
            found.certainty
            or ("quoted in a text" if any((one.file, one.line) in quoted for one in found.evidence) else "certain")
        )
        for rule in over(Bench)
        for found in rule.find(bench)
    ]
    return [finding for finding in findings if not declared.on_purpose(finding, bench.declared)]


def _quoted(bench: Bench) -> set[tuple[str, int | None]]:
    """The places of blocks and tables that somebody wrote into a text, unless a tool's output was known there."""
    written = [configuration for side in bench.sides for configuration in side.configurations if configuration.prose]
    places = {setting.where for side in written for setting in (*side.settings, *side.comments)}
    places |= {one.where for one in bench.published if one.told}
    read = [configuration for side in bench.sides for configuration in side.configurations if not configuration.prose]
    known = {setting.where for side in read for setting in (*side.settings, *side.comments)}
    known |= {one.where for one in bench.published if not one.told}
    return {(place.file, place.line) for place in places - known}
