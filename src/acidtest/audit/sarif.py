"""Findings of an audit as SARIF 2.1.0 for CI systems and viewers: the OASIS standard, and its JSON schema.

Names of files are URIs, escaped, relative to what was audited; messages are ``harmless``, for viewers show them as they
are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from acidtest import __version__
from acidtest.audit.bench import Bench
from acidtest.finding import Evidence, Finding, Rule, Severity, Unchecked
from acidtest.words import harmless

LEVELS: dict[Severity, str] = {"invalid": "error", "doubtful": "warning", "note": "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(bench: Bench, findings: Sequence[Finding], unchecked: Sequence[Unchecked]) -> dict[str, Any]:
    """A waived finding is suppressed with its reason.

    What was not read and what was not checked is no result: it stands among the tool's notifications (clause 3.20.21).
    """
    rules = {finding.rule.name: finding.rule for finding in findings}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "acidtest", "version": __version__,
                                    "rules": [_rule(rule) for rule in rules.values()]}},
                "results": [_result(finding) for finding in findings],
                "invocations": [{"executionSuccessful": True,
                                 "toolExecutionNotifications": list(_notifications(bench, unchecked))}],
            }
        ],
    }  # fmt: skip


def uri(name: str) -> str:
    """The name of a file below what was audited as a relative reference (RFC 3986, section 4.2).

    >>> uri("50 % faster/results#1.csv")
    '50%20%25%20faster/results%231.csv'
    """
    escaped = quote(os.fsencode(name), safe="/~@!$&'()*+,;=")  # a ":" in the first part would end a scheme
    return f"./{escaped}" if escaped.startswith("/") else escaped


def _notifications(bench: Bench, unchecked: Sequence[Unchecked]) -> Iterator[dict[str, Any]]:
    for one in bench.broken:
        yield _notification(f"could not be read: {one.text}", one)
    for evidence in bench.passed:
        yield _notification(f"was not read: {evidence.text}", evidence)
    for name in bench.unread:
        yield _notification("was not read: it is of an unknown kind", Evidence("", name))
    for of in unchecked:
        yield {"level": "note", "message": {"text": harmless(f"Not checked: {of}")}}


def _notification(text: str, of: Evidence) -> dict[str, Any]:
    return {"level": "note", "message": {"text": harmless(f"{of.file} {text}")}, "locations": [_location(of)]}


def _location(one: Evidence) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": uri(one.file)}}
    if one.line:
        where["region"] = {"startLine": one.line}
    return {"physicalLocation": where} | ({"message": {"text": harmless(one.text)}} if one.text else {})


def _rule(rule: Rule[Any]) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.says},
        "help": {"text": f"{rule.remedy} Source: {rule.source}"},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule.name,
        "level": LEVELS[finding.severity],
        "message": {"text": harmless(f"{finding.text} {finding.rule.remedy}")},
        "locations": [_location(one) for one in finding.evidence if one.file],
    }
    result["properties"] = {"certainty": finding.certainty, "disprovedBy": finding.disproved_by}
    if finding.waiver:
        result["suppressions"] = [{"kind": "external", "justification": harmless(finding.waiver)}]
    return result
