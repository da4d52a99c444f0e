"""Latency against offered load, up to where the server is full: a panel a combination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from acidtest.analysis.search.recorded import Search
from acidtest.limits import milliseconds
from acidtest.report import vega
from acidtest.report.charts import PANELS_MAX
from acidtest.report.looks import BLUE, GREEN, GREY, ORANGE, PINK, RED, UNDASHED, VIOLET, Key, Keys
from acidtest.report.search import Line, SearchResults, rate
from acidtest.report.vega import Chart, Panel, Row, Spec, layer, plot, quantity
from acidtest.words import counted

FIGURES = (ORANGE, PINK, VIOLET, RED)
MEDIAN, HELD, KNEE, MOST = (BLUE, GREEN, GREY, GREY)
KNEE_DASH, MOST_DASH, LIMIT_DASH = (2, 3), (7, 3), (4, 3)
HEIGHT = 300
TIMES = 300  # the limit, above which nothing is drawn: what a full server takes says nothing of latency


def load(found: SearchResults) -> Chart | None:
    lines = [line for line in found.lines if line.search.rates]
    if not lines:
        return None
    if len(lines) > PANELS_MAX:
        return Chart((), notes=(f"No plots of {counted(len(lines), 'search', 'searches')}: at most {PANELS_MAX}.",))
    panels = tuple(Panel(line.label if len(lines) > 1 else "", _panel(line, found)) for line in lines)
    clauses = lines[0].search.asked.limit.clauses
    figures = [Key("median", MEDIAN, "circle", UNDASHED)]
    figures += [Key(clause.figure, FIGURES[n % len(FIGURES)], "circle", UNDASHED) for n, clause in enumerate(clauses)]
    marked = [Key("highest rate that holds", HELD, None, UNDASHED)] if any(line.rate_per_s for line in lines) else []
    marked += [Key("knee", KNEE, None, KNEE_DASH)] if any(line.search.knee() for line in lines) else []
    if any(line.search.most_per_s() for line in lines):
        marked.append(Key("most that was served", MOST, None, MOST_DASH))
    marked.append(Key("the limit", FIGURES[0], None, LIMIT_DASH))
    return Chart(panels, (Keys("latency", tuple(figures)), Keys("", tuple(marked))), _notes(lines))


def _notes(lines: Sequence[Line]) -> tuple[str, ...]:
    without = sum(
        1
        for line in lines
        for one in line.search.taken
        if any(map(math.isinf, one.run.values_ms)) and one.run.rate_per_s
    )
    return (f"{counted(without, 'figure')} without an end not drawn.",) if without else ()


def _panel(line: Line, found: SearchResults) -> Spec:
    search = line.search
    points = _points(search)
    most_rate = max(row["offered"] for row in points)
    scale = {"domain": [0, most_rate * 1.04], "nice": False}
    axis = {"format": ",~r", "tickCount": vega.FEW}
    x = quantity("offered", "offered, transactions a second", scale=scale, axis=axis)
    clauses = search.asked.limit.clauses
    limits: list[Row] = [
        {"at": clause.limit_ms, "colour": FIGURES[n % len(FIGURES)], "said": f"limit: {clause}"}
        for n, clause in enumerate(clauses)
    ]
    y = vega.logarithmic(
        "ms", "latency, ms (logarithmic)", [*(row["ms"] for row in points), *(limit["at"] for limit in limits)]
    )
    tip = vega.tooltip("figure", "said", offered=",.4~r", ms=",.3r")
    colour = vega.COLOUR
    lines = _medians(points)
    flat = layer("rule", limits, {"y": {**y, "field": "at"}, "color": colour, "tooltip": vega.tooltip("said")},
                 strokeDash=list(LIMIT_DASH), strokeWidth=1.5)  # fmt: skip
    upright = [
        layer("rule", [row], {"x": {**x, "field": "offered"}, "color": colour, "tooltip": vega.tooltip("said")},
              strokeDash=list(dash), strokeWidth=width, opacity=0.9)
        for row, dash, width in _marks(line)
    ]  # fmt: skip
    each = {"detail": [{"field": "figure", "type": "nominal"}], "tooltip": tip}
    drawn = [
        *upright,
        flat,
        layer("line", lines, {"x": x, "y": y, "color": colour, **each}, interpolate="linear"),
        layer("point", points, {"x": x, "y": y, "stroke": colour, "fill": vega.FILL, "tooltip": tip}, size=34,
              opacity=1, strokeWidth=1.5),
    ]  # fmt: skip
    return plot(drawn, height=HEIGHT)


def _points(search: Search) -> list[Row]:
    """Each run's median and limited figures; a run that does not hold is hollow."""
    clauses = search.asked.limit.clauses
    top_ms = max(clause.limit_ms for clause in clauses) * TIMES
    rows: list[Row] = []
    for one in search.taken:
        if one.step.rate_per_s is None:
            continue
        figures = [("median", one.run.p50_ms, MEDIAN)]
        figures += [
            (clause.figure, value, FIGURES[n % len(FIGURES)])
            for n, (clause, value) in enumerate(zip(clauses, one.run.values_ms, strict=True))
        ]
        text = "holds" if one.run.holds else "does not hold"
        rows += [
            {"offered": one.step.rate_per_s, "ms": max(value, 1e-3), "figure": name, "said": text, "colour": colour,
             "fill": colour if one.run.holds else "transparent"}
            for name, value, colour in figures
            if math.isfinite(value) and value <= top_ms
        ]  # fmt: skip
    return rows


def _medians(points: Sequence[Row]) -> list[Row]:
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in points:
        groups.setdefault((row["figure"], row["offered"]), []).append(row)
    return [{**rows[0], "ms": median(row["ms"] for row in rows)} for _, rows in sorted(groups.items())]


def _marks(line: Line) -> list[tuple[Row, tuple[int, ...], float]]:
    search = line.search
    marks: list[tuple[Row, tuple[int, ...], float]] = []
    if knee := search.knee():
        text = f"knee: {rate(knee.rate_per_s)} a second"
        marks.append(({"offered": knee.rate_per_s, "colour": KNEE, "said": text}, KNEE_DASH, 1.8))
    if most := search.most_per_s():
        marks.append(({"offered": most, "colour": MOST, "said": f"most served: {rate(most)} a second"}, MOST_DASH, 1.5))
    if line.rate_per_s:
        text = f"holds {search.asked.limit}: {rate(line.rate_per_s)} a second"
        marks.append(({"offered": line.rate_per_s, "colour": HELD, "said": text}, UNDASHED, 2.2))
    return marks


def limits_said(found: SearchResults) -> str:
    """Each limit with its time, for the caption."""
    clauses = found.lines[0].search.asked.limit.clauses if found.lines else ()
    return "; ".join(f"{clause.figure} below {milliseconds(clause.limit_ms)}" for clause in clauses)
