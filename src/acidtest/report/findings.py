"""Findings of an audit: in the terminal, and as JSON. All words of other people are shown by ``harmless``."""

from __future__ import annotations

import json as json_
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.audit.bench import Bench
from acidtest.audit.finding import SEVERITIES, Evidence, Finding, Rule, Severity
from acidtest.audit.unchecked import Unchecked
from acidtest.report.unchecked import print_unchecked
from acidtest.words import counted, harmless

STYLES: dict[Severity, str] = {"invalid": "bold red", "doubtful": "yellow", "note": "cyan"}
EVIDENCE_MAX = 6
LISTED_MAX = 20  # files that were not read, one a line


def print_findings(bench: Bench, findings: Sequence[Finding], unchecked: Sequence[Unchecked], console: Console) -> None:
    """The findings by severity, then what could not be read and what was not checked."""
    not_waived = [finding for finding in findings if not finding.waiver]
    for severity, of in groupby(not_waived, key=lambda finding: finding.severity):
        for finding in of:
            console.print(Text.assemble((severity, STYLES[severity]), "  ", (finding.rule.name, "bold")))
            _indented(console, finding.text)
            for one in finding.evidence[:EVIDENCE_MAX]:
                _indented(console, f"{place(one)}: {one.text}" if one.file else one.text, by=4, style="dim")
            if len(finding.evidence) > EVIDENCE_MAX:
                _indented(
                    console, f"and {len(finding.evidence) - EVIDENCE_MAX:,} more (--json has all)", by=4, style="dim"
                )
            _indented(console, finding.rule.remedy, first="→ ")
            _indented(console, sureness(finding), style="dim")
            _indented(console, f"Source: {finding.rule.source}", style="dim")
            console.print()
    for finding in findings:
        if finding.waiver:
            _dim(console, f"set aside: {finding.rule.name}: {finding.waiver}")
    for what, files in (("could not be read", bench.broken), ("not read", bench.passed)):
        for one in files[:LISTED_MAX]:
            _dim(console, f"{what}: {place(one)}: {one.text}")
        if len(files) > LISTED_MAX:
            _dim(console, f"{what}: {len(files) - LISTED_MAX:,} more (--json has all)")
    if bench.unread:
        names = ", ".join(bench.unread[:8]) + (f" and {len(bench.unread) - 8:,} more" if len(bench.unread) > 8 else "")
        _dim(console, f"not read, of an unknown kind: {names}")
    print_unchecked(unchecked, console)
    console.print(summary(bench, findings))


def sureness(finding: Finding) -> str:
    """How sure it is, and what would show that it is false, in whole sentences."""
    sure = {
        "certain": "Certain: it rests on what is quoted.",
        "read from prose": "Read from prose: the words may mean something else.",
        "guessed": "Guessed: it is what usually holds.",
    }[finding.certainty]
    if finding.lowered:
        sure = f"Not {finding.rule.severity}, for {finding.lowered}."
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


def as_json(bench: Bench, findings: Sequence[Finding], unchecked: Sequence[Unchecked]) -> dict[str, Any]:
    return {
        "findings": [finding.as_json() for finding in findings],
        "sides": [{"name": side.name, "engine": side.engine, "version": side.version} for side in bench.sides],
        "read": _read(bench),
        "not_read": [*bench.unread, *(one.file for one in bench.passed)],
        "why_not_read": [vars(one) for one in bench.passed],
        "broken": [vars(one) for one in bench.broken],
        "not_checked": [one.as_json() for one in unchecked],
    }


def _read(bench: Bench) -> list[dict[str, Any]]:
    """The files that were read, as what, and how many results and settings each of them gave."""
    results = Counter(one.where.file for one in bench.published)
    configurations = [one for side in bench.sides for one in side.configurations]
    settings = Counter(setting.where.file for one in configurations for setting in (*one.settings, *one.comments))
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
