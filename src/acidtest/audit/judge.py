"""Asks every rule, and sets aside what somebody waives with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acidtest.analysis.database import StatisticsBySize
from acidtest.analysis.hosts import Hosts
from acidtest.analysis.samples import Row
from acidtest.analysis.survival import Survival
from acidtest.audit import declared
from acidtest.audit.bench import Bench
from acidtest.audit.finding import SEVERITIES, Evidence, Finding, Rule
from acidtest.audit.rules import over, rules
from acidtest.errors import BadInput, Problems, not_among
from acidtest.journal.models import PlaceFacts, Warning


def of_row(row: Row) -> list[Finding]:
    """What is doubtful about the numbers of a row, the worst first; nothing when no repetition is done.

    Last what the recordings themselves say: words of the engine's log, work that fell to the client.
    """
    if not row.done:
        return []
    warnings = {warning.text: warning for recording in row.done for warning in recording.warnings}
    return [*(finding for rule in over(Row) for finding in rule(row)), *map(_noted, warnings.values())]


def of_place(place: PlaceFacts) -> list[Finding]:
    """What is doubtful about the storage."""
    return [finding for rule in over(PlaceFacts) for finding in rule(place)]


def of_statistics(by_size: StatisticsBySize) -> list[Finding]:
    """What changes inside a database that grows."""
    return [finding for rule in over(StatisticsBySize) for finding in rule(by_size)]


def of_hosts(hosts: Hosts) -> list[Finding]:
    """What is doubtful about the machines of a fleet."""
    return [finding for rule in over(Hosts) for finding in rule(hosts)]


def of_cuts(survival: Survival) -> list[Finding]:
    """What is doubtful about the power cuts of a combination."""
    return [finding for rule in over(Survival) for finding in rule(survival)]


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


def waived(findings: Iterable[Finding], waivers: Mapping[str, str]) -> list[Finding]:
    """The findings, the worst first, those under a waiver last and with its reason."""
    return in_order(replace(finding, waiver=waivers.get(finding.rule.name, "")) for finding in findings)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, those set aside last."""
    return sorted(findings, key=lambda f: (bool(f.waiver), SEVERITIES.index(f.severity), f.rule.name))


def check_waivers(waivers: Mapping[str, str], where: str) -> None:
    """Raises BadInput for a waiver of a rule that there is not, or that gives no reason; ``where`` begins it."""
    problems = Problems()
    names = [rule.name for rule in rules()]
    for name, reason in waivers.items():
        if name not in names:
            problems.add(BadInput(not_among(f"{where}: rule", name, names), "acidtest audit --rules lists them"))
        elif not reason.strip():
            problems.add(BadInput(f"{where}: {name}: gives no reason", "say why its findings do not count here"))
    problems.check()
