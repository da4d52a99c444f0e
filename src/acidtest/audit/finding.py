"""What an audit says, and the rules that say it.

A rule is a function from what it looks at to what it found, with the name, severity, remedy and source that all of its
findings share. It looks at one of two things: a ``Row`` of our own recordings (one combination of levels with all its
repetitions), or a ``Bench``, a whole benchmark, ours or somebody else's. See docs/ADDING-A-RULE.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

Severity = Literal["invalid", "doubtful", "note"]
SEVERITIES: tuple[Severity, ...] = ("invalid", "doubtful", "note")  # the worst first


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen, and where."""

    text: str  # with its figure
    file: str = ""  # below what is audited; "" for what stands in no single file
    line: int | None = None  # from 1


@dataclass(frozen=True)
class Found:
    """What a rule yields: one sentence with the figures, and what it rests on."""

    text: str
    evidence: tuple[Evidence, ...] = ()


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One rule. Calling it asks it."""

    name: str  # stable, kebab-case
    severity: Severity
    says: str  # what its findings have in common, in one sentence
    remedy: str
    source: str  # where it is from: a study, a manual, a paper, a clause
    about: str  # the number of ours that it concerns: "goodput_per_s", "latency", "place", "settings"
    over: type[Subject]
    find: Callable[[Subject], Iterator[Found]]

    def __call__(self, subject: Subject) -> Iterator[Finding]:
        for one in self.find(subject):
            yield Finding(self, one.text, one.evidence)


@dataclass(frozen=True)
class Finding:
    """One rule that speaks."""

    rule: Rule[Any]
    text: str
    evidence: tuple[Evidence, ...] = ()
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
        return self.rule.severity

    def as_json(self) -> dict[str, Any]:
        """As ``acidtest audit --json`` prints it."""
        return {
            "rule": self.rule.name,
            "severity": self.severity,
            "about": self.about,
            "text": self.text,
            "evidence": [vars(one) for one in self.evidence],
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
    first, texts = alike[0], list(dict.fromkeys(one.text for one in alike))
    if len(texts) == 1:
        return first
    figures = zip(*(_FIGURE.findall(text) for text in texts), strict=True)
    spans = iter([_span(sorted(set(of), key=lambda figure: float(figure.replace(",", "")))) for of in figures])
    evidence = dict.fromkeys([*map(Evidence, texts), *(said for one in alike for said in one.evidence)])
    return replace(first, text=_FIGURE.sub(lambda _: next(spans), first.text), evidence=tuple(evidence))


def _span(figures: Sequence[str]) -> str:
    return figures[0] if len(figures) == 1 else f"{figures[0]} to {figures[-1]}"


def rule(
    name: str,
    *,
    severity: Severity,
    over: type[Subject],
    says: str,
    remedy: str,
    source: str,
    about: str = "goodput_per_s",
) -> Callable[[Callable[[Subject], Iterator[Found]]], Rule[Subject]]:
    """Make the decorated function a rule."""

    def made(find: Callable[[Subject], Iterator[Found]]) -> Rule[Subject]:
        return Rule(name, severity, says, remedy, source, about, over, find)

    return made
