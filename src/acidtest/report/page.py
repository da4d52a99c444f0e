"""The page: one file that holds everything it needs, and works offline."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from acidtest.analysis.effects import conclusion
from acidtest.analysis.summary import median
from acidtest.journal.models import Recording, SettingInForce
from acidtest.report import charts
from acidtest.report.pivot import short
from acidtest.report.results import COUNTED, Results, interval, mib, name_of, number, percent, share


def write_page(results: Results, path: Path) -> None:
    """Write the page to ``path``, whole or not at all."""
    unfinished = path.with_name(f"acidtest-{path.name}.unfinished")
    unfinished.write_text(_render(results))
    unfinished.replace(path)


def _render(results: Results) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("acidtest.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": number, "percent": percent, "interval": interval, "median": median}
    environment.filters |= {"mib": mib, "share": share, "short": short}
    environment.globals |= {"name_of": name_of, "counted": COUNTED}
    engines = list(results.journal.header.factors["engine"])
    plots: dict[str, Any] = {}
    for position, table in enumerate(results.tables):
        for kind, draw in (("bars", charts.bars), ("percentiles", charts.percentiles), ("series", charts.series)):
            if spec := draw(table, engines):
                plots[f"{kind}-{position}"] = spec
        for number_, grid in enumerate(table.grids):
            plots[f"grid-{position}-{number_}"] = charts.grid(grid, bool(results.base), table.counted)
            plots[f"heat-{position}-{number_}"] = charts.heat(grid, bool(results.base), table.counted)
        for kind, draw_all in (
            ("load", charts.load), ("residency", charts.residency), ("refaults", charts.refaults)
        ):  # fmt: skip
            if spec := draw_all(table):
                plots[f"{kind}-{position}"] = spec
    recordings = results.journal.recordings
    return environment.get_template("page.html.j2").render(
        results=results,
        plots=plots,
        # "</script>" inside a level's name must not end the script.
        plots_json=json.dumps(plots).replace("<", "\\u003c"),
        library=_library(),
        storage=_storage([r for r in recordings if r.status != "failed"]),
        machines=_distinct([r.machine.model_dump() for r in recordings]),
        engines=_engines(recordings),
        durabilities=_durabilities(recordings),
        settings=_settings(results),
        experiment=json.dumps(results.journal.header.experiment, indent=2, ensure_ascii=False),
        answers=_answers(results),
    )


@cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, from the package: nothing is fetched."""
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script")


def _distinct(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(one, sort_keys=True): one for one in found}.values())


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
    found = {(r.engine.id if r.engine else "", r.durability, r.durability_means): None for r in recordings}
    return sorted(found)


def _settings(results: Results) -> list[tuple[str, list[SettingInForce]]]:
    """For each engine and durability level, the settings of one recording; repetitions agree or are invalid."""
    found: dict[str, list[SettingInForce]] = {}
    for table in results.tables:
        for line in table.lines:
            recordings = [*line.row.done, *line.row.invalid]
            if recordings and recordings[0].settings:
                name = f"{table.workload}: {line.label}" if len(results.tables) > 1 else line.label
                found[name] = recordings[0].settings
    return list(found.items())


def _answers(results: Results) -> list[str]:
    """What the tables say, in plain words; nothing that they do not."""
    said = []
    several = len(results.tables) > 1
    for table in results.tables:
        if table.grids:
            said += [f"{table.workload}: {sentence}" if several else sentence for sentence in conclusion(table.effects)]
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
            said.append(f"{table.workload}: {rates[1]} {what} a second ({best.label}).")
        else:
            said.append(
                f"{table.workload}: from {rates[0]} ({slowest.label}) to {rates[1]} ({best.label}) {what} a second."
            )
        verdicts = [line for line in measured if line.verdict in ("faster", "slower")]
        unclear = [line for line in measured if line.verdict in ("no difference shown", "too few repetitions")]
        if table.grids and results.base:
            counts = Counter(line.verdict for line in measured if line.verdict)
            said.append(f"Rows against the base: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}.")
            continue
        if verdicts:
            shown = "; ".join(f"{line.label} {line.verdict} ({percent(line.relative)})" for line in verdicts)
            said.append(f"Against the base (= 100): {shown}.")
        if unclear:
            said.append(f"No difference from the base is shown for {'; '.join(line.label for line in unclear)}.")
    return said
