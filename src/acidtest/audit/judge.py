"""Asks every rule over a benchmark."""

from __future__ import annotations

from acidtest.audit import declared
from acidtest.audit.bench import Bench
from acidtest.audit.rules import over
from acidtest.finding import Evidence, Finding


def of_bench(bench: Bench) -> list[Finding]:
    """What the rules over a whole benchmark find, each as severe as it is certain."""
    prose = _prose(bench)
    findings = [
        Finding(rule, found.text, found.evidence, disproved=found.disproved_by, noted=found.noted).weighed(
            found.certainty or ("read from prose" if any(_place(one) in prose for one in found.evidence) else "certain")
        )
        for rule in over(Bench)
        for found in rule.find(bench)
    ]
    return [one for one in findings if not declared.on_purpose(one, bench.declared)]


def _prose(bench: Bench) -> set[tuple[str, int | None]]:
    """The places of which only the words were read: sentences, and what somebody wrote into a text.

    Words are looked for in every file: a place that was read as what it is, such as a line of a configuration, is none.
    """
    said = [*(one.where for one in bench.texts), *(one.where for one in bench.claims)]
    said += [one.where for one in bench.published if one.told]
    told = [one for side in bench.sides for one in side.configurations if one.prose]
    said += [setting.where for one in told for setting in (*one.settings, *one.comments)]
    machines = bench.declared.machines if bench.declared else ()
    meant = {fact.where for machine in machines for fact in machine.facts}  # for this reader
    configured = [one for side in bench.sides for one in side.configurations if not one.prose]
    meant |= {setting.where for one in configured for setting in (*one.settings, *one.comments)}
    meant |= {one.where for one in bench.published if not one.told}
    return {(one.file, one.line) for one in said if one not in meant}


def _place(evidence: Evidence) -> tuple[str, int | None]:
    return evidence.file, evidence.line
