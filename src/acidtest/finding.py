"""Findings, and the rules that yield them.

A rule is a function from what it looks at to what it found, with the name, severity, remedy and source that all of its
findings share. Rules of ``doubts`` look at our own recordings: a row, a place, power cuts. Rules of ``audit`` look at a
``Bench``, a whole benchmark. See docs/ADDING-A-RULE.md.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar

from acidtest.errors import BadInput, Problems, not_among

Severity = Literal["invalid", "doubtful", "note"]
SEVERITIES: tuple[Severity, ...] = ("invalid", "doubtful", "note")  # the worst first
# How sure the reading is: a figure or setting that stands there, a table or block of a text that need not be of what
# ran, or something that usually holds where the rest is as it is.
Certainty = Literal["certain", "quoted in a text", "guessed"]
LOWERED: dict[Certainty, str] = {  # why what is not certain is less severe than its rule
    "quoted in a text": "it stands in a text, which need not show what ran",
    "guessed": "what is quoted does not prove it; it is guessed from what usually holds",
}
FAIR = "M. Raasveldt et al.: Fair benchmarking considered difficult (DBTest 2018)"
FACTS_MIN = 2  # that contradict a claim, before a finding may say that it is false


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen, and where."""

    text: str  # with its figure
    file: str = ""  # below what is audited; "" for what stands in no single file
    line: int | None = None  # from 1


@dataclass(frozen=True)
class Found:
    """What a rule yields: one sentence with the figures, and what it rests on."""

    text: str = ""  # "": what the rule says
    evidence: tuple[Evidence, ...] = ()
    certainty: Certainty | None = None  # None: as sure as the places are that it quotes
    disproved_by: str = ""  # after "It would be disproved by"; "": as the rule says
    noted: bool = False  # whether it is a note only, however severe its rule is: what may matter, and need not


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One rule. Calling it asks it."""

    name: str  # stable, kebab-case
    severity: Severity
    says: str  # what its findings have in common, in one sentence
    remedy: str
    source: str  # where it is from: a study, a manual, a paper, a clause
    about: str  # of a row of ours, the number that it concerns: "goodput_per_s", "latency", "place", "settings"
    over: type[Subject]
    find: Callable[[Subject], Iterator[Found]]
    disproved_by: str = ""  # what would show that a finding of it is false, after "It would be disproved by"

    def __call__(self, subject: Subject) -> Iterator[Finding]:
        for one in self.find(subject):
            certainty = one.certainty or "certain"
            yield Finding(self, one.text or self.says, one.evidence, certainty, one.disproved_by, noted=one.noted)


@dataclass(frozen=True)
class Finding:
    """One rule that speaks."""

    rule: Rule[Any]
    text: str
    evidence: tuple[Evidence, ...] = ()
    certainty: Certainty = "certain"
    disproved: str = ""  # by what; "": as the rule says
    lowered: str = ""  # why it is less severe than its rule
    noted: bool = False  # as of Found
    waiver: str = ""  # the reason for which it does not count

    @property
    def about(self) -> str:
        return self.rule.about

    @property
    def advice(self) -> str:
        """What was found and what to do, to stand beside the number that it concerns."""
        remedy = f"Set aside: {self.waiver.rstrip('.')}." if self.waiver else self.rule.remedy
        return f"{self.text} {remedy}".rstrip()

    @property
    def severe(self) -> bool:
        """Whether it says that a benchmark must not be believed, and nobody has set it aside."""
        return self.severity == "invalid" and not self.waiver

    @property
    def severity(self) -> Severity:
        if self.noted:
            return "note"
        return "doubtful" if self.lowered and self.rule.severity == "invalid" else self.rule.severity

    @property
    def disproved_by(self) -> str:
        """What would show that it is false, after "It would be disproved by"; "" where nobody says."""
        return self.disproved or self.rule.disproved_by

    def weighed(self, certainty: Certainty) -> Finding:
        """It is ``invalid`` only if two facts that are quoted contradict the claim, whatever else is true."""
        lowered = ""
        if certainty != "certain":
            lowered = LOWERED[certainty]
        elif len(set(self.evidence)) < FACTS_MIN:
            lowered = "it rests on one fact alone"
        return replace(self, certainty=certainty, lowered=lowered if self.rule.severity == "invalid" else "")

    def as_json(self) -> dict[str, Any]:
        """As ``acidtest audit --json`` prints it."""
        return {
            "rule": self.rule.name,
            "severity": self.severity,
            "certainty": self.certainty,
            "lowered": self.lowered or None,
            "text": self.text,
            "evidence": [vars(one) for one in self.evidence],
            "disproved_by": self.disproved_by,
            "remedy": self.rule.remedy,
            "source": self.rule.source,
            "waived": self.waiver or None,
        }


# A figure that stands alone, with its commas: no part of a name, a version or a file.
_FIGURE = re.compile(r"(?<![\w./:-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:-]|[.,]\d)")


def wording(finding: Finding) -> tuple[str, str]:
    """The same of two findings that differ in nothing but figures."""
    return finding.rule.name, _FIGURE.sub("0", finding.text)


def together(alike: Sequence[Finding]) -> Finding:
    """One finding for several of a kind: "21 to 69%". What each of them said is evidence."""
    first, texts = alike[0], list(dict.fromkeys(finding.text for finding in alike))
    if len(texts) == 1:
        return first
    figures = zip(*(_FIGURE.findall(text) for text in texts), strict=True)
    spans = iter([_span(sorted(set(of), key=lambda figure: float(figure.replace(",", "")))) for of in figures])
    evidence = dict.fromkeys([*map(Evidence, texts), *(said for finding in alike for said in finding.evidence)])
    return replace(first, text=_FIGURE.sub(lambda _: next(spans), first.text), evidence=tuple(evidence))


def _span(figures: Sequence[str]) -> str:
    return figures[0] if len(figures) == 1 else f"{figures[0]} to {figures[-1]}"


def rule(
    name: str,
    *,
    severity: Severity,
    says: str,
    remedy: str,
    source: str,
    about: str = "goodput_per_s",
    disproved_by: str = "",
) -> Callable[[Callable[[Subject], Iterator[Found]]], Rule[Subject]]:
    """Make the decorated function a rule, over what it takes."""

    def made(find: Callable[[Subject], Iterator[Found]]) -> Rule[Subject]:
        subject = next(iter(inspect.get_annotations(find, eval_str=True).values()))
        return Rule(name, severity, says, remedy, source, about, subject, find, disproved_by)

    return made


def rules_of(*packages: ModuleType) -> tuple[Rule[Any], ...]:
    """Every ``Rule`` at the top of a module of these packages, the most severe first, then by name."""
    by_name: dict[tuple[str, type], Rule[Any]] = {}  # rows of ours and benchmarks may share a name
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for var in vars(importlib.import_module(module.name)).values():
                if isinstance(var, Rule):
                    assert by_name.setdefault((var.name, var.over), var) is var, f"two rules are called {var.name}"
    return tuple(sorted(by_name.values(), key=lambda one: (SEVERITIES.index(one.severity), one.name)))


def waived(findings: Iterable[Finding], waivers: Mapping[str, str]) -> list[Finding]:
    """The findings, the worst first, those under a waiver last and with its reason."""
    return in_order(replace(finding, waiver=waivers.get(finding.rule.name, "")) for finding in findings)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, those set aside last."""
    return sorted(findings, key=lambda f: (bool(f.waiver), SEVERITIES.index(f.severity), f.rule.name))


def check_waivers(waivers: Mapping[str, str], where: str, rules: Iterable[Rule[Any]]) -> None:
    """Raises BadInput for a waiver of a rule that there is not, or that gives no reason; ``where`` begins it."""
    problems = Problems()
    names = [rule.name for rule in rules]
    for name, reason in waivers.items():
        if name not in names:
            problems.add(BadInput(not_among(f"{where}: rule", name, names), "acidtest audit --rules lists them"))
        elif not reason.strip():
            problems.add(BadInput(f"{where}: {name}: gives no reason", "say why its findings do not count here"))
    problems.check()


@dataclass(frozen=True)
class Unchecked:
    """One thing that nothing here shows: what an audit, a run or a power cut did not check."""

    what: str  # "latencies", "whether commits survive a power cut"
    why: str  # "no result has any", "none was made here"

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}

    def __str__(self) -> str:
        return f"{self.what} ({self.why})"


def in_words(all_of: Iterable[Unchecked]) -> str:
    """All of it behind a heading of a word or two; "" where there is nothing."""
    return "; ".join(map(str, all_of))


def listed(names: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
