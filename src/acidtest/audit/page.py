"""The page of an audit: what becomes of each published sentence, why, and what to run instead. One file, no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from acidtest import __version__
from acidtest.audit.bench import Bench
from acidtest.audit.shown import Instead, blocks, each, heading, in_short, place, sureness
from acidtest.audit.standing import VERDICTS, Verdict, groups
from acidtest.finding import SEVERITIES, Finding, Unchecked
from acidtest.report.page import templates, write_whole
from acidtest.words import harmless

SHOWN_MAX = 5  # findings of one rule, and sentences of a group, that are not folded away
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
    held, rest = groups(bench, findings)
    names: dict[int, str] = {}

    def ids(finding: Finding) -> str:
        return names.setdefault(id(finding), f"finding-{len(names) + 1:d}")

    shown: dict[tuple[str, str, str], list[Finding]] = {}
    told = []
    for group in held:
        of_group = blocks(group.findings)
        above = [shown[key] for of in of_group if (key := _key(of)) in shown]
        own = [of for of in of_group if _key(of) not in shown]
        shown |= {_key(of): of for of in own}
        told.append(
            {"verdict": group.verdict, "sentences": group.sentences, "above": above, "blocks": own, "of": group}
        )
    sentences = Counter(dict.fromkeys(VERDICTS, 0))
    for group in held:
        sentences[group.verdict] += len(group.sentences)
    unread = [*each(bench.broken), *in_short(bench.passed)]
    unread += [(name, "is of an unknown kind") for name in bench.unread]
    page = templates().get_template("audit.html.j2")
    html = page.render(
        title=harmless((bench.declared and bench.declared.title) or f"Audit of {root.resolve().name}"),
        standings=[(verdict, sentences[verdict]) for verdict in VERDICTS if sentences[verdict]],
        severities=[(s, sum(one.severity == s and not one.waiver for one in findings)) for s in SEVERITIES],
        sides=bench.sides,
        groups=told,
        rest=blocks(rest),
        waived=[one for one in findings if one.waiver],
        instead=instead,
        unread=unread,
        unchecked=unchecked,
        files=len(bench.read),
        version=__version__,
        heading=lambda group: heading(group["of"]),
        become=_become,
        sureness=sureness,
        place=place,
        ids=ids,
        shown_max=SHOWN_MAX,
        evidence_max=6,
        all_max=ALL_MAX,
    )
    write_whole(html, path)


def _become(verdict: Verdict, number: int) -> str:
    """The rest of "3 sentences …"."""
    one = {"falls": "falls", "doubtful": "is doubtful", "not examined": "could not be examined", "stands": "stands"}
    many = {"falls": "fall", "doubtful": "are doubtful", "not examined": "could not be examined", "stands": "stand"}
    return (one if number == 1 else many)[verdict]


def _key(of: Sequence[Finding]) -> tuple[str, str, str]:
    return of[0].rule.name, of[0].severity, of[0].certainty
