"""The page of a diagnosis, to be handed over to somebody else: one file, no script."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from pathlib import Path

from acidtest import __version__
from acidtest.analysis.diagnosis import STANDINGS
from acidtest.analysis.summary import Summary
from acidtest.finding import SEVERITIES
from acidtest.report.diagnosis import Report, not_understood, settings_told, where, written
from acidtest.report.page import templates, write_whole

FINDINGS_MAX, SETTINGS_MAX = 60, 300


@dataclass(frozen=True)
class Drawn:
    """A ratio with its interval on a logarithmic axis, in percent of the width; None where it has no figure."""

    low: float
    middle: float
    high: float
    one: float  # where both are the same


def drawn(ratios: list[Summary]) -> list[Drawn | None]:
    """All on one axis, which holds the one and all intervals."""
    held = [ratio for ratio in ratios if ratio.median and ratio.median > 0]
    values = [1.0]
    for ratio in held:
        values += [ratio.median or 1.0, *([ratio.interval.low, ratio.interval.high] if ratio.interval else [])]
    least, most = min(value for value in values if value > 0), max(values)
    least, most = least / 1.2, most * 1.2

    def at(value: float) -> float:
        return 100 * (log(max(value, least)) - log(least)) / (log(most) - log(least))

    return [
        Drawn(
            at(ratio.interval.low if ratio.interval else ratio.median),
            at(ratio.median),
            at(ratio.interval.high if ratio.interval else ratio.median),
            at(1.0),
        )
        if ratio.median and ratio.median > 0
        else None
        for ratio in ratios
    ]


def write_page(results: Report, path: Path) -> None:
    """Write the page to ``path``, whole or not at all. Raises OSError."""
    held, answer = results.diagnosis, results.answer
    findings = (
        sorted(held.audited.findings, key=lambda finding: SEVERITIES.index(finding["severity"])) if held.audited else []
    )
    page = templates().get_template("diagnosis.html.j2")
    html = page.render(
        title=f"Diagnosis of {results.subject}",
        answer=answer,
        standings=[(standing, len(answer.of(standing))) for standing in STANDINGS if answer.of(standing)],
        shown=results.shown,
        compared=list(zip(answer.compared, drawn([one.ratio for one in answer.compared]), strict=True)),
        share=answer.flush_share,
        bad=results.bad,
        cells=held.cells,
        where=where(results),
        audited=held.audited,
        settings=held.audited.settings[:SETTINGS_MAX] if held.audited else [],
        settings_told=settings_told,
        written=written,
        findings=findings[:FINDINGS_MAX],
        more_findings=max(0, len(findings) - FINDINGS_MAX),
        not_understood=not_understood(held.audited.not_read, 40) if held.audited else [],
        not_looked=results.not_looked,
        next=held.next,
        made=held.ended_at,
        minutes=held.minutes,
        version=__version__,
    )
    write_whole(html, path)
