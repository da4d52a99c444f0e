"""The page of an audit: what becomes of each claim, the findings, and what to run instead. One file, no script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acidtest import __version__
from acidtest.audit import claims
from acidtest.audit.bench import Bench
from acidtest.audit.findings_output import Instead, blocks, disclosed_of, each, in_short, place, sureness
from acidtest.finding import SEVERITIES, Finding, Unchecked
from acidtest.report.page import templates, write_whole
from acidtest.words import harmless

SHOWN_MAX = 5  # findings of one rule that are not folded away
ALL_MAX = 200  # of what is


def write_page(
    root: Path,
    bench: Bench,
    findings: Sequence[Finding],
    unchecked: Sequence[Unchecked],
    instead: Instead | None,
    path: Path,
) -> None:
    """Write the page to ``path``, whole or not at all. Raises OSError."""
    names: dict[int, str] = {}

    def ids(finding: Finding) -> str:
        return names.setdefault(id(finding), f"finding-{len(names) + 1:d}")

    answers = claims.answers(bench, findings)
    unread = [*each(bench.broken), *in_short(bench.passed)]
    unread += [(name, "is of an unknown kind") for name in bench.unread]
    page = templates().get_template("audit.html.j2")
    html = page.render(
        title=harmless((bench.declared and bench.declared.title) or f"Audit of {root.resolve().name}"),
        claims=answers,
        severities=[(s, sum(finding.severity == s and not finding.waiver for finding in findings)) for s in SEVERITIES],
        sides=bench.sides,
        found=blocks(findings),
        disclosed=[(item.what, item.how(bench)) for item in disclosed_of(bench)],
        waived=[finding for finding in findings if finding.waiver],
        instead=instead,
        unread=unread,
        unchecked=unchecked,
        files=len(bench.read),
        version=__version__,
        sureness=sureness,
        place=place,
        ids=ids,
        shown_max=SHOWN_MAX,
        evidence_max=6,
        all_max=ALL_MAX,
    )
    write_whole(html, path)
