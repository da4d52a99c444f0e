"""Findings of an audit: in the terminal, and as JSON. All words of other people are shown by ``harmless``."""

from __future__ import annotations

import json as json_
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.audit import claims, disclosed
from acidtest.audit.bench import Bench
from acidtest.finding import SEVERITIES, Evidence, Finding, Rule, Severity, Unchecked
from acidtest.report.table import print_unchecked
from acidtest.words import counted, first_of, harmless

STYLES: dict[Severity, str] = {"invalid": "bold red", "doubtful": "yellow", "note": "cyan"}
VERDICT_STYLES: dict[claims.Verdict, str] = {"does not follow": "red", "cannot tell": "yellow", "follows": "green"}
EVIDENCE_MAX = 6
EVIDENCE_EACH = 2  # of several findings of one rule
FINDINGS_MAX = 10  # of one rule
LISTED_MAX = 20  # lines of files that were not read
DIRECTORIES_MAX = 3


@dataclass(frozen=True)
class Instead:
    """An experiment that would answer fairly what the kit asks, on the reader's machine."""

    asks: str  # the question
    why: str  # why this one
    command: str  # which writes it
    text: str = ""  # the experiment; "" where it was not made


def print_findings(
    bench: Bench,
    findings: Sequence[Finding],
    unchecked: Sequence[Unchecked],
    console: Console,
    instead: Instead | None = None,
) -> None:
    """What becomes of each claim, and all findings; then what was disclosed, what could not be read, what was not
    checked, and what to run instead."""
    for answer in claims.answers(bench, findings):
        console.print(
            Text.assemble((answer.verdict, f"bold {VERDICT_STYLES[answer.verdict]}"), f"  {harmless(answer.text)}")
        )
        at = f" Published: {answer.claim.published}." if answer.claim.published else ""
        _indented(console, f"{answer.why}.{at}", style="dim")
        console.print()
    for of in blocks(findings):
        _block(console, of, by=0)
    for finding in findings:
        if finding.waiver:
            _dim(console, f"set aside: {finding.rule.name}: {finding.waiver}")
    for what, pairs in (("could not be read", each(bench.broken)), ("not read", in_short(bench.passed))):
        for which, why in pairs[:LISTED_MAX]:
            _dim(console, f"{what}: {which}: {why}")
        if len(pairs) > LISTED_MAX:
            _dim(console, f"{what}: {len(pairs) - LISTED_MAX:,} more (--json has all)")
    if items := disclosed_of(bench):
        text = "; ".join(f"{item.what} ({item.how(bench)})" for item in items)
        console.print(Text("Disclosed: ", style="bold").append(f"{harmless(text)}.", style="not bold dim"))
    if bench.unread:
        _dim(console, f"not read, of an unknown kind: {first_of(bench.unread, 8)}")
    print_unchecked(unchecked, console)
    if instead:
        console.print(Text("Instead: ", style="bold").append(f"{instead.asks} {instead.why}", style="not bold"))
        console.print(Text(f"  {instead.command}"), soft_wrap=True)
    console.print(summary(bench, findings))


def each(files: Sequence[Evidence]) -> list[tuple[str, str]]:
    """Which files could not be read, and why."""
    return [(place(file), file.text) for file in files]


def in_short(passed: Sequence[Evidence]) -> list[tuple[str, str]]:
    """Which files were not read, and why. Those that have one reason are counted together, by directory."""
    by_reason: dict[str, list[Evidence]] = {}
    for evidence in passed:
        by_reason.setdefault(evidence.text.partition(": ")[0], []).append(evidence)
    pairs = []
    for reason, of in by_reason.items():
        if len(of) == 1:
            pairs += each(of)
            continue
        where = Counter(one.file.rpartition("/")[0] or "the top directory" for one in of).most_common()
        lines = [f"{many:,} in {directory}" for directory, many in where[:DIRECTORIES_MAX]]
        if rest := sum(many for _, many in where[DIRECTORIES_MAX:]):
            lines.append(f"{rest:,} elsewhere")
        pairs.append((counted(len(of), "file"), f"{reason} ({', '.join(lines)})"))
    return pairs


def blocks(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one rule that are equally sure stand together, the worst first; those set aside are left out."""
    together: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        if not finding.waiver:
            together.setdefault((finding.rule.name, finding.severity, finding.certainty), []).append(finding)
    return list(together.values())


def _block(console: Console, of: Sequence[Finding], *, by: int) -> None:
    """Findings of one rule: each sentence with its evidence, then what all of them share."""
    first = of[0]
    times = f" ({len(of):,})" if len(of) > 1 else ""
    title = Text.assemble((first.severity, STYLES[first.severity]), "  ", (first.rule.name, "bold"), times)
    console.print(Text(" " * by) + title)
    most = EVIDENCE_MAX if len(of) == 1 else EVIDENCE_EACH
    for finding in of[:FINDINGS_MAX]:
        _indented(console, finding.text, by=by + 2)
        for evidence in finding.evidence[:most]:
            text = f"{place(evidence)}: {evidence.text}" if evidence.file else evidence.text
            _indented(console, text, by=by + 4, style="dim")
        if len(finding.evidence) > most:
            _indented(console, f"and {len(finding.evidence) - most:,} more (--json has all)", by=by + 4, style="dim")
    if len(of) > FINDINGS_MAX:
        _indented(console, f"and {len(of) - FINDINGS_MAX:,} more of this rule (--json has all)", by=by + 2, style="dim")
    if first.rule.remedy:
        _indented(console, first.rule.remedy, by=by + 2, first="→ ")
    _indented(console, sureness(first), by=by + 2, style="dim")
    _indented(console, f"Source: {first.rule.source}", by=by + 2, style="dim")
    console.print()


def sureness(finding: Finding) -> str:
    """How sure it is, and what would show that it is false, in whole sentences."""
    sure = {
        "certain": "Certain: it rests on what is quoted.",
        "quoted in a text": "Quoted in a text: it need not show what ran.",
        "guessed": "Guessed: it is what usually holds.",
    }[finding.certainty]
    if finding.lowered:
        sure = f"Doubtful, not {finding.rule.severity}: {finding.lowered}."
    return sure + (f" It would be disproved by {finding.disproved_by}." if finding.disproved_by else "")


def summary(bench: Bench, findings: Sequence[Finding]) -> str:
    """One line: how many of each severity, over how many files."""
    counts = [
        f"{sum(1 for f in findings if f.severity == severity and not f.waiver):,} {severity}" for severity in SEVERITIES
    ]
    sides = f"{counted(len(bench.sides), 'side')}, " if bench.sides else ""
    return f"{', '.join(counts)}; {sides}{counted(len(bench.read), 'file')} read"


def place(evidence: Evidence) -> str:
    return evidence.file if evidence.line is None else f"{evidence.file}:{evidence.line}"


def as_json(
    bench: Bench, findings: Sequence[Finding], unchecked: Sequence[Unchecked], instead: Instead | None = None
) -> dict[str, Any]:
    return {
        "findings": [finding.as_json() for finding in findings],
        "claims": [answer.as_json() for answer in claims.answers(bench, findings)],
        "disclosed": [{"what": item.what, "how": item.how(bench)} for item in disclosed_of(bench)],
        "instead": {"asks": instead.asks, "why": instead.why, "command": instead.command} if instead else None,
        "sides": [{"name": side.name, "engine": side.engine, "version": side.version} for side in bench.sides],
        "read": _read(bench),
        "not_read": [*bench.unread, *(evidence.file for evidence in bench.passed)],
        "why_not_read": [vars(evidence) for evidence in bench.passed],
        "broken": [vars(one) for one in bench.broken],
        "not_checked": [one.as_json() for one in unchecked],
    }


def disclosed_of(bench: Bench) -> list[disclosed.Item]:
    """Nothing of a run of ours, whose recordings have all of it."""
    return [] if bench.read and all(kind == "journal" for _, kind in bench.read) else disclosed.table(bench)


def _read(bench: Bench) -> list[dict[str, Any]]:
    """The files that were read, as what, and how many results and settings each of them gave."""
    results = Counter(one.where.file for one in bench.published)
    configurations = [configuration for side in bench.sides for configuration in side.configurations]
    settings = Counter(
        setting.where.file
        for configuration in configurations
        for setting in (*configuration.settings, *configuration.comments)
    )
    return [
        {"file": file, "as": kind, "results": results[file], "settings": settings[file]} for file, kind in bench.read
    ]


def print_rules(rules: Sequence[Rule[Any]], console: Console, *, json: bool) -> None:
    """Every rule, for people or for programs."""
    if json:
        names = ("name", "severity", "says", "remedy", "disproved_by", "source")
        console.print_json(json_.dumps({"rules": [{n: getattr(rule, n) for n in names} for rule in rules]}))
        return
    for rule in rules:
        console.print(Text.assemble((rule.severity, STYLES[rule.severity]), "  ", (rule.name, "bold")))
        _indented(console, rule.says)
        if rule.remedy:
            _indented(console, rule.remedy, first="→ ")
        _indented(console, f"Source: {rule.source}", style="dim")
        console.print()


def _dim(console: Console, text: str) -> None:
    console.print(Text(harmless(text), style="dim"))


def _indented(console: Console, text: str, *, by: int = 2, first: str = "", style: str = "") -> None:
    """``text`` in lines of the console's width; ``first`` stands before the first, as much room before the others."""
    width = by + len(first)
    for number, line in enumerate(Text(harmless(text), style=style).wrap(console, max(console.width - width, 20))):
        line.rstrip()
        console.print(Text(f"{'' if number else first}".rjust(width)) + line)
