"""The page: one file that holds everything it needs, and works offline."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from acidtest.analysis.effects import conclusion
from acidtest.analysis.growth import size_text
from acidtest.analysis.summary import median
from acidtest.files import fsync_path, state_directory
from acidtest.journal.models import Journal, Recording, SettingInForce
from acidtest.report import calls, charts, commit_cost, growth_charts, growth_scale, growth_tables, statistics_tables
from acidtest.report.numbers import interval, mib, number, percent, share
from acidtest.report.pivot import short
from acidtest.report.results import COUNTED, Results, name_of
from acidtest.report.survival_table import ms, page_tables


def write_page(results: Results, path: Path) -> None:
    """Write the page to ``path``, whole or not at all."""
    missing = f"{results.missing} of {results.journal.header.cells} cells have not run yet." if results.missing else ""
    cuts = page_tables(results.cuts) if results.cuts else {}
    fill("page.html.j2", results.journal, path, _plots(results), _answers(results), settings=_settings(results),
         bad=results.bad, missing=missing, results=results, commit_cost=commit_cost, calls=calls,
         growth_tables=growth_tables, growth_scale=growth_scale, statistics_tables=statistics_tables,
         landmarks=growth_charts.marks, **cuts)  # fmt: skip


def fill(
    template: str,
    journal: Journal,
    path: Path,
    plots: dict[str, Any],
    answers: list[str],
    *,
    settings: list[tuple[str, list[SettingInForce]]],
    bad: Sequence[Recording],
    missing: str,
    **findings: Any,
) -> None:
    """Write a page around ``findings``, whole or not at all. Plots go where the template has their names as ids."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("acidtest.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": number, "percent": percent, "interval": interval, "median": median}
    environment.filters |= {"mib": mib, "share": share, "short": short, "ms": ms, "size": size_text}
    environment.globals |= {"name_of": name_of, "counted": COUNTED}
    header, recordings = journal.header, journal.recordings
    html = environment.get_template(template).render(
        title=str(header.experiment.get("title") or header.experiment["name"]),
        header=header,
        plots=plots,
        # "</script>" inside a level's name must not end the script.
        plots_json=json.dumps(plots).replace("<", "\\u003c"),
        library=_library(),
        storage=_storage([r for r in recordings if r.status != "failed"]),
        machines=_distinct([r.machine.model_dump() for r in recordings]),
        engines=_engines(recordings),
        durabilities=_durabilities(recordings),
        settings=settings,
        bad=bad,
        missing=missing,
        experiment=json.dumps(header.experiment, indent=2, ensure_ascii=False),
        answers=answers,
        **findings,
    )
    unfinished = path.with_name(f"acidtest-{path.name}.unfinished")
    unfinished.write_text(html)
    unfinished.replace(path)


def _plots(results: Results) -> dict[str, Any]:
    engines = list(results.journal.header.factors["engine"])
    plots: dict[str, Any] = {}
    if spec := commit_cost.picture(results.commit_costs, engines):
        plots["commit-cost"] = spec
    for position, table in enumerate(results.tables):
        if table.growth:
            plots |= {f"growth-{name}-{position}": one for name, one in growth_charts.plots(table.growth).items()}
        for kind, draw in (("bars", charts.bars), ("percentiles", charts.percentiles), ("series", charts.series)):
            if not (table.growth and kind == "bars") and (spec := draw(table, engines)):
                plots[f"{kind}-{position}"] = spec
        for number_, grid in enumerate(table.grids):
            plots[f"grid-{position}-{number_}"] = charts.grid(grid, bool(results.base), table.counted)
            plots[f"heat-{position}-{number_}"] = charts.heat(grid, bool(results.base), table.counted)
        for kind, draw_all in (
            ("load", charts.load), ("residency", charts.residency), ("refaults", charts.refaults)
        ):  # fmt: skip
            if spec := draw_all(table):
                plots[f"{kind}-{position}"] = spec
    return plots


@cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, from the package: nothing is fetched.

    Bundling takes seconds, so the script is kept for the pages to come, where acidtest may write there.
    """
    kept = state_directory() / "page" / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    script = bundle.replace("</script", "<\\/script")
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_text(script, encoding="utf-8")
            fsync_path(fresh)
            fresh.rename(kept)
        finally:
            fresh.unlink(missing_ok=True)
    return script


def _distinct(descriptions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(one, sort_keys=True): one for one in descriptions}.values())


def _storage(recordings: list[Recording]) -> dict[str, Any]:
    """What all places share, and a row for each of those that differ, of the facts in which they do."""
    places = _distinct([r.place.alike() for r in recordings])
    shared = (
        {name: value for name, value in places[0].items() if all(p[name] == value for p in places)} if places else {}
    )
    columns = [name for name in (places[0] if places else {}) if name not in shared]
    nothing = {"", "unknown", 0} if shared.get("kind") == "server" else {""}  # of the user's own, all is unknown
    return {
        "shared": {name: value for name, value in shared.items() if value not in nothing},
        "columns": columns,
        "rows": [[place[name] for name in columns] for place in places] if columns else [],
    }


def _engines(recordings: list[Recording]) -> list[dict[str, Any]]:
    return _distinct([r.engine.model_dump() for r in recordings if r.engine])


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
    answers = []
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
        verdicts = [line for line in measured if line.verdict in ("faster", "slower")]
        unclear = [line for line in measured if line.verdict in ("no difference shown", "too few repetitions")]
        if table.grids and results.base:
            counts = Counter(line.verdict for line in measured if line.verdict)
            answers.append(
                f"Rows against the base: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}."
            )
            continue
        if verdicts:
            shown = "; ".join(f"{line.label} {line.verdict} ({percent(line.relative)})" for line in verdicts)
            answers.append(f"Against the base (= 100): {shown}.")
        if unclear:
            answers.append(f"No difference from the base is shown for {'; '.join(line.label for line in unclear)}.")
    return answers
