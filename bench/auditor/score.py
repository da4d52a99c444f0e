"""What the auditor said of a benchmark, beside what an expert says of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acidtest.finding import SEVERITIES, Severity
from bench.auditor.cases import Case, Demand, file_of, is_at

PROSE = "text"  # as which a file was read that nothing but its words was taken of
UNKNOWN = "unknown-results"  # the rule that says which figures nobody parsed


@dataclass(frozen=True)
class Said:
    """One finding, as ``acidtest audit --json`` prints it."""

    rule: str
    severity: Severity
    text: str
    files: tuple[str, ...]

    def is_of(self, rules: Sequence[str], where: list[str]) -> bool:
        return self.rule in rules and (not where or any(is_at(file, where) for file in self.files))


@dataclass(frozen=True)
class Score:
    """Of one benchmark."""

    met: tuple[Demand, ...] = ()
    missed: tuple[Demand, ...] = ()
    false: tuple[Said, ...] = ()  # findings that are invalid or doubtful, and that nobody demands or accepts
    severer: tuple[Said, ...] = ()  # findings that are demanded or accepted, but less severe
    understood: tuple[str, ...] = ()  # files that the expert names, of which the auditor took results or settings
    told: tuple[str, ...] = ()  # those of which it says that it did not
    silent: tuple[str, ...] = ()  # those of which it says nothing

    def false_of(self, severity: Severity) -> list[Said]:
        return [one for one in self.false if one.severity == severity]


@dataclass(frozen=True)
class Answer:
    """What the auditor answered: its exit code, and what it printed if that was JSON."""

    exit_code: int
    printed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> list[Said]:
        return [
            Said(one["rule"], one["severity"], one["text"], tuple(e["file"] for e in one["evidence"]))
            for one in self.printed.get("findings", ())
            if not one["waived"]
        ]

    @property
    def nothing_read(self) -> bool:
        return self.exit_code == 2


def score(case: Case, answer: Answer) -> Score:
    """A demand is met by a finding of its rule, at one of its places. A rule that the case demands is never false."""
    findings = answer.findings
    met = [demand for demand in case.demand if any(said.is_of(demand.rules, demand.where) for said in findings)]
    false: list[Said] = []
    severer: list[Said] = []
    for said in findings:
        worst = _allowed(case, said)
        if said.severity == "note" or (worst is not None and _rank(said.severity) >= _rank(worst)):
            continue
        refused = any(said.is_of([one.rule], one.where) for one in case.not_)
        if said.rule == UNKNOWN and not refused:
            continue  # it accuses nobody; whether it is right is counted by files
        (false if refused or worst is None else severer).append(said)
    named = dict.fromkeys([*case.facts.results, *map(_file, case.facts.settings), *case.facts.not_understandable])
    understood, told = _understood(answer), _told(answer)
    known = [one for one in named if any(is_at(file, [one]) for file in understood)]
    admitted = [one for one in named if one not in known]
    if not answer.nothing_read:
        admitted = [one for one in admitted if any(is_at(file, [one]) for file in told)]
    return Score(
        met=tuple(met),
        missed=tuple(demand for demand in case.demand if demand not in met),
        false=tuple(false),
        severer=tuple(severer),
        understood=tuple(known),
        told=tuple(admitted),
        silent=tuple(one for one in named if one not in known and one not in admitted),
    )


def _rank(severity: Severity) -> int:
    return SEVERITIES.index(severity)


def _allowed(case: Case, said: Said) -> Severity | None:
    """The worst severity at which somebody demands or accepts it; None where nobody does."""
    allowed = [demand.severity for demand in case.demand if said.rule in demand.rules]
    allowed += [one.severity for one in case.accept if said.is_of([one.rule], one.where)]
    return min(allowed, key=_rank, default=None)


def _file(setting: str) -> str:
    """The file of "conf/my.cnf:3 innodb_doublewrite = 0"."""
    return file_of(setting.split(" ", 1)[0])


def _understood(answer: Answer) -> list[str]:
    read = answer.printed.get("read", ())
    return [one["file"] for one in read if one.get("results") or one.get("settings") or one["as"] != PROSE]


def _told(answer: Answer) -> list[str]:
    printed = answer.printed
    lines = [*printed.get("not_read", ()), *(one["file"] for one in printed.get("broken", ()))]
    lines += [one["file"] for one in printed.get("not_understood", ())]
    return lines + [file for said in answer.findings if said.rule == UNKNOWN for file in said.files]
