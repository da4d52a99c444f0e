"""The page: one file that holds everything it needs, and works offline."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
from jinja2.bccache import Bucket
from markupsafe import Markup

from acidtest.analysis.effects import conclusion
from acidtest.analysis.growth.answer import size_text
from acidtest.files import fsync_path, state_directory
from acidtest.journal.models import Journal, PlaceFacts, Recording, SettingInForce
from acidtest.report import (
    calls,
    charts,
    commit_cost,
    engine_work,
    growth_charts,
    growth_tables,
    hosts,
    omission_table,
    pivot,
    replays,
    risks,
    run_tables,
    shapes,
    statements,
    statistics_tables,
    verdicts,
)
from acidtest.report.looks import OUTLINES, Looks
from acidtest.report.numbers import interval, number, percent
from acidtest.report.pictures import Picture
from acidtest.report.results import Results, not_run
from acidtest.report.survival_table import page_tables
from acidtest.report.table import on_page, page_rows, page_section, short
from acidtest.report.vega import CONFIG, Chart
from acidtest.words import counted, harmless

# How the sentence begins that names the rows of a verdict that decides nothing.
UNDECIDED = {
    "no difference shown": "No difference from the base is shown for",
    "cannot tell": "These runs cannot tell from the base:",
}


def write_page(results: Results, path: Path, pictures: list[Picture] | None = None) -> None:
    """Write the page to ``path``, whole or not at all; its charts are added to ``pictures``."""
    missing = not_run(results)
    cuts = page_tables(results.cuts) if results.cuts else {}
    fill("page.html.j2", results.journal, path, plots(results), _answers(results), settings=_settings(results),
         bad=results.bad, missing=missing, place_notes=results.notes_of, results=results, calls=calls,
         commit_cost=commit_cost.table(results.commit_costs), engine_work=engine_work, hosts=hosts,
         risks=risks, shapes=shapes, replays=replays, growth_tables=growth_tables, pivot=pivot,
         omissions=omission_table.table(results.omissions), run_tables=run_tables, statements=statements,
         statistics_tables=statistics_tables, verdicts_of=verdicts,
         landmarks=growth_charts.marks, tints=charts.tints, pictures=pictures, **cuts)  # fmt: skip


def fill(
    template: str,
    journal: Journal,
    path: Path,
    plots: Mapping[str, Chart],
    answers: list[str],
    *,
    settings: list[tuple[str, list[SettingInForce]]],
    bad: Sequence[Recording],
    missing: str,
    place_notes: Callable[[PlaceFacts], Sequence[int]] = lambda place: (),
    pictures: list[Picture] | None = None,
    **findings: Any,
) -> None:
    """Write a page around ``findings``, whole or not at all. Charts go where the template has their names; with what it
    says of them they are added to ``pictures``.

    ``place_notes`` are the numbers of the findings that concern a place.
    """
    header, recordings = journal.header, journal.recordings
    page = templates().get_template(template)
    captions: dict[str, tuple[str, str]] = {}
    html = page.render(
        title=header.title,
        header=header,
        plots=plots,
        plots_json=_script(
            {name: [panel.spec for panel in plot.panels] for name, plot in plots.items() if plot.panels}
        ),
        plots_config=_script(CONFIG),
        library=_library(),
        storage=_storage([r for r in recordings if r.status != "failed"], place_notes),
        machines=_distinct([r.machine.model_dump() for r in recordings]),
        engines=_distinct([r.engine.model_dump() for r in recordings if r.engine]),
        durabilities=_durabilities(recordings),
        settings=settings,
        bad=bad,
        missing=missing,
        damaged=journal.damaged,
        experiment=json.dumps(header.experiment, indent=2, ensure_ascii=False),
        answers=answers,
        captions=captions,
        **findings,
    )
    if pictures is not None:
        pictures += [Picture(name, plots[name], *said) for name, said in captions.items()]
    write_whole(html, path)


@cache
def templates() -> jinja2.Environment:
    """Where pages come from; what is shown of other people is escaped. A template is compiled once."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("acidtest.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, bytecode_cache=_Compiled(), extensions=["jinja2.ext.do"],
    )  # fmt: skip
    environment.filters |= {"number": number, "percent": percent, "interval": interval, "short": short}
    environment.filters |= {"size": size_text, "counted": counted, "name": _name, "harmless": harmless}
    environment.filters |= {"table": on_page, "rows": page_rows, "section": page_section}
    environment.globals |= {"outline": OUTLINES.__getitem__}
    return environment


class _Compiled(jinja2.BytecodeCache):
    """Keeps compiled templates for the pages to come: to compile one takes longer than to fill it."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            bucket.bytecode_from_string(_kept(f"template-{bucket.key}").read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        _keep(_kept(f"template-{bucket.key}"), bucket.bytecode_to_string())


def write_whole(html: str, path: Path) -> None:
    """Write a page whole or not at all. Raises OSError."""
    unfinished = path.with_name(f"acidtest-{path.name}.unfinished")
    try:
        unfinished.write_text(html, encoding="utf-8", errors="backslashreplace")  # a directory may have any name
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _name(text: str) -> Markup:
    """A name in a table: it stays on one line up to a width, and has several beyond."""
    return Markup('<span class="name">{}</span>').format(text)


def _script(value: Any) -> str:
    """As JSON inside a script: "</script>" in a level's name must not end it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def plots(results: Results) -> dict[str, Chart]:
    looks = Looks(results.journal.header.factors)
    plots: dict[str, Chart | None] = {"commit-cost": commit_cost.picture(results.commit_costs)}
    for position, table in enumerate(results.tables):
        if table.growth:
            drawn = growth_charts.plots(table.growth, looks)
            plots |= {f"growth-{name}-{position}": one for name, one in drawn.items()}
        else:
            plots[f"bars-{position}"] = charts.bars(table, looks)
        for kind, draw in (
            ("percentiles", charts.percentiles), ("series", charts.series), ("load", charts.load),
            ("residency", charts.residency), ("refaults", charts.refaults),
            ("database-size", charts.database_size), ("log-size", charts.log_size),
        ):  # fmt: skip
            plots[f"{kind}-{position}"] = draw(table, looks)
        for number_, grid in enumerate(table.grids):
            plots[f"grid-{position}-{number_}"] = charts.grid(grid, bool(results.base), table.counted, looks)
    return {name: plot for name, plot in plots.items() if plot is not None}


@cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, from the package: nothing is fetched.

    Bundling takes seconds, so the script is kept for the pages to come.
    """
    kept = _kept(f"vega-{version('vl-convert-python')}.js")
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    script = bundle.replace("</script", "<\\/script")
    _keep(kept, script.encode())
    return script


def _kept(name: str) -> Path:
    return state_directory() / "page" / name


def _keep(path: Path, content: bytes) -> None:
    """Write a file of the state directory whole, or not at all where acidtest may not write there."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_bytes(content)
            fsync_path(fresh)
            fresh.rename(path)
        finally:
            fresh.unlink(missing_ok=True)


def _distinct(descriptions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(description, sort_keys=True): description for description in descriptions}.values())


def _storage(recordings: list[Recording], notes_of: Callable[[PlaceFacts], Sequence[int]]) -> dict[str, Any]:
    """What all places share, and a row for each of those that differ, of the facts in which they do; each with the
    numbers of the findings that concern it."""
    notes = {json.dumps(r.place.alike(), sort_keys=True): notes_of(r.place) for r in recordings}
    described = [json.loads(place) for place in notes]
    names = {name: None for place in described for name in place}
    places = [
        {name: place.get(name, "") for name in names} for place in described
    ]  # of an image the device tells nothing
    shared = {name: places[0][name] for name in names if len({json.dumps(place[name]) for place in places}) == 1}
    columns = [name for name in names if name not in shared]
    nothing = {"", "unknown", 0} if shared.get("kind") == "server" else {""}  # of the user's own, all is unknown
    return {
        "shared": {name: value for name, value in shared.items() if value not in nothing},
        "columns": columns,
        "rows": [
            {"cells": [place[name] for name in columns], "notes": of}
            for place, of in zip(places, notes.values(), strict=True)
            if columns
        ],
        "notes": [] if columns else [n for of in notes.values() for n in of],
    }


def _durabilities(recordings: list[Recording]) -> list[tuple[str, str, str]]:
    durabilities = {(r.engine.id if r.engine else "", r.durability, r.durability_means): None for r in recordings}
    return sorted(durabilities)


def _settings(results: Results) -> list[tuple[str, list[SettingInForce]]]:
    """For each engine and durability level, the settings of one recording; repetitions agree or are invalid."""
    by_label: dict[str, list[SettingInForce]] = {}
    for table in results.tables:
        for line in table.lines:
            recordings = [*line.row.done, *line.row.invalid]
            if recordings and recordings[0].settings:
                name = f"{table.workload}: {line.label}" if len(results.tables) > 1 else line.label
                by_label[name] = recordings[0].settings
    return list(by_label.items())


def _answers(results: Results) -> list[str]:
    """What the tables say, in plain words; nothing that they do not."""
    answers = omission_table.answers(results.omissions)
    several = len(results.tables) > 1
    for table in results.tables:
        if table.growth:
            answers += table.growth.answers
            continue
        if table.grids:
            answers += [
                f"{table.workload}: {sentence}" if several else sentence for sentence in conclusion(table.effects)
            ]
        measured = [line for line in table.lines if line.row.done]
        if said := run_tables.operations_took(measured):
            answers += said
            continue
        scans = table.counted == "reads"  # to which durability is nothing
        durable = [line for line in measured if scans or line.levels["durability"] == "drive"]
        if not durable:
            continue
        best = max(durable, key=lambda line: line.goodput.median or 0)
        slowest = min(durable, key=lambda line: line.goodput.median or 0)
        what = "reads" if scans else "durable commits"
        rates = [number(line.goodput.median) for line in (slowest, best)]
        if best is slowest:
            answers.append(f"{table.workload}: {rates[1]} {what} a second ({best.label}).")
        else:
            answers.append(
                f"{table.workload}: from {rates[0]} ({slowest.label}) to {rates[1]} ({best.label}) {what} a second."
            )
        decided = [line for line in measured if line.verdict in ("faster", "slower")]
        if table.grids and results.base:
            counts = Counter(line.verdict for line in measured if line.verdict)
            answers.append(
                f"Rows against the base: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}."
            )
            answers += verdicts.explained(line.against_base for line in measured)
            continue
        if decided:
            shown = "; ".join(f"{line.label} {line.verdict} ({percent(line.relative)})" for line in decided)
            answers.append(f"Against the base (= 100): {shown}.")
        for verdict, sentence in UNDECIDED.items():
            if labels := [line.label for line in measured if line.verdict == verdict]:
                answers.append(f"{sentence} {'; '.join(labels)}.")
        answers += verdicts.explained(line.against_base for line in measured)
    return answers
