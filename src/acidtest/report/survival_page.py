"""The page of a journal of power cuts: speed and survival on one picture, the verdicts, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acidtest.analysis.pairs import levels_text
from acidtest.analysis.recovery import recovered
from acidtest.analysis.survival import Survival, survivals
from acidtest.journal.models import Journal, Recording, SettingInForce
from acidtest.report import charts
from acidtest.report.numbers import number
from acidtest.report.page import fill
from acidtest.report.pictures import Picture
from acidtest.report.survival_table import not_run, noun, page_tables, varied_of
from acidtest.words import counted


def write_survival_page(journal: Journal, path: Path, pictures: list[Picture] | None = None) -> None:
    """Write the page to ``path``, whole or not at all; its charts are added to ``pictures``."""
    rows = survivals(journal.recordings)
    varied = varied_of(journal.header)
    named = [(levels_text(row.levels, varied), row) for row in rows]
    picture = charts.survival(named, f"{noun(journal.recordings)}/s before the cut")
    fill(
        "survival.html.j2",
        journal,
        path,
        {"survival": picture} if picture else {},
        _answers(named, noun(journal.recordings)) + _recoveries(journal.recordings, varied),
        settings=_settings(journal.recordings, varied),
        bad=[recording for recording in journal.recordings if recording.status != "done"],
        missing=not_run(journal),
        unplaced=[f"{name} ({row.said})" for name, row in named if not row.commits_per_s],
        pictures=pictures,
        **page_tables(journal),
    )


def _settings(recordings: Sequence[Recording], varied: Sequence[str]) -> list[tuple[str, list[SettingInForce]]]:
    settings: dict[str, list[SettingInForce]] = {}
    for recording in recordings:
        if recording.settings:
            settings.setdefault(levels_text(recording.levels, varied), recording.settings)
    return list(settings.items())


def _recoveries(recordings: Sequence[Recording], varied: Sequence[str]) -> list[str]:
    """How long each took from the mount to full speed, the slowest first; nothing where none came to it."""
    found = [(row.total_s, levels_text(row.levels, varied)) for row in recovered(recordings) if row.total_s is not None]
    if not found:
        return []
    each = ", ".join(f"{name} {number(total_s)} s" for total_s, name in sorted(found, reverse=True))
    return [f"From the mount of what a cut had left until it was as fast as before: {each}."]


def _answers(named: Sequence[tuple[str, Survival]], said: str) -> list[str]:
    of = {verdict: [one for one in named if one[1].verdict == verdict] for verdict in ("survived", "lost", "unknown")}
    answers = [
        f"{len(of['survived']):,} of {counted(len(named), 'combination')} survived every cut, {len(of['lost']):,} lost "
        "something."
    ]
    held = [one for one in of["unknown"] if one[1].said == "conditions held"]
    if held:
        answers.append(f"Of {len(held):,} no commit was looked for, and the conditions held.")
    if unknown := len(of["unknown"]) - len(held):
        answers.append(
            f"{counted(unknown, 'is', 'are')} unknown: some check could not run, or the trial was not sound."
        )
    if fast := [(row.commits_per_s, name) for name, row in of["survived"] if row.commits_per_s]:
        speed, name = max(fast)
        answers.append(f"The fastest that survived: {name}, {number(speed)} {said} a second while cutting.")
    return answers
