"""The page of a journal of searches: the answer, latency against load, every rate, and what was found."""

from __future__ import annotations

from pathlib import Path

from acidtest.analysis.search import Search
from acidtest.journal.models import SettingInForce
from acidtest.report import search_chart
from acidtest.report.page import fill
from acidtest.report.pictures import Picture
from acidtest.report.search import SearchResults, answers, rate_lines, sentences
from acidtest.report.search_terminal import columns, rate_columns


def write_search_page(found: SearchResults, path: Path, pictures: list[Picture] | None = None) -> None:
    """Write the page to ``path``, whole or not at all; its charts are added to ``pictures``."""
    drawn = search_chart.load(found)
    fill(
        "search.html.j2",
        found.journal,
        path,
        {"load": drawn} if drawn else {},
        answers(found),
        settings=_settings(found),
        bad=[line.search.broken for line in found.lines if line.search.broken],
        missing=found.missing,
        found=found,
        columns=columns(found),
        rate_columns=rate_columns,
        rate_lines=rate_lines,
        sentences=sentences,
        pictures=pictures,
        limits_said=search_chart.limits_said(found),
    )


def _settings(found: SearchResults) -> list[tuple[str, list[SettingInForce]]]:
    def first(search: Search) -> list[SettingInForce]:
        return next((one.settings for one in search.recordings if one.settings), [])

    return [(line.label, settings) for line in found.lines if (settings := first(line.search))]
