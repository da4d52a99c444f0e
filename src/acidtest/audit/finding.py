"""What an audit says, and the rules that say it.

A rule is a function from what it looks at to what it found, with the name, severity, remedy and source that all of its
findings share. It looks at one of two things: a ``Row`` of our own recordings (one combination of levels with all its
repetitions), or a ``Bench``, a whole benchmark, ours or somebody else's. See docs/ADDING-A-RULE.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
