"""The page's plots, as Vega-Lite specifications made with Altair. Colours of text and grid come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import altair as alt

from acidtest.analysis.latency import curve_ms
from acidtest.analysis.memory import curve
from acidtest.analysis.survival import Survival
from acidtest.report.numbers import number
from acidtest.report.pivot import Grid, short
from acidtest.report.results import Line, Table

# Okabe and Ito's palette: distinct in every kind of colour vision, on light and on dark.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8E8E2E", "#7F7F7F")
DASHES = ([1, 0], [6, 3], [2, 3], [8, 3, 2, 3])
VERDICTS = {"survived": "#009E73", "lost": "#D55E00", "unknown": "#E69F00"}
Spec = dict[str, Any]


def bars(table: Table, engines: list[str]) -> Spec | None:
    """Median commits a second with intervals, and each repetition as a dot."""
    lines = [line for line in table.lines if line.row.done]
    if not lines:
        return None
    order = [line.label for line in lines]
    rows: list[dict[str, Any]] = [
        {
            "level": line.label,
            "engine": line.levels["engine"],
            "commits a second": line.goodput.median,
            "low": line.goodput.interval.low if line.goodput.interval else None,
            "high": line.goodput.interval.high if line.goodput.interval else None,
            "text": number(line.goodput.median),
            "end": max([*line.row.goodput_per_s(), line.goodput.interval.high if line.goodput.interval else 0]),
        }
        for line in lines
    ]
    dots = [
        {"level": line.label, "engine": line.levels["engine"], "commits a second": value, "repetition": n}
        for line in lines
        for n, value in enumerate(line.row.goodput_per_s(), start=1)
    ]
    y = alt.Y("level:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    colour = _colour(engines)
    base = alt.Chart(alt.InlineData(values=rows))
    bar = base.mark_bar(opacity=0.75, height={"band": 0.62}).encode(
        x=alt.X(
            "commits a second:Q",
            title=f"{table.counted} a second (median; dots are repetitions)",
            scale=alt.Scale(domain=[0, 1.1 * max(row["end"] for row in rows)]),  # room for the figures
        ),
        y=y,
        color=colour,
        tooltip=["level:N", alt.Tooltip("commits a second:Q", format=",.3r")],
    )
    interval = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", y=y).transform_filter("isValid(datum.low)")
    dot = (
        alt.Chart(alt.InlineData(values=dots))
        .mark_circle(size=26, opacity=0.9, stroke="white", strokeWidth=0.5)
        .encode(
            x="commits a second:Q",
            y=y,
            color=colour,
            tooltip=["level:N", "repetition:Q", alt.Tooltip("commits a second:Q", format=",.3r")],
        )
    )
    label = base.mark_text(align="left", dx=6).encode(x="end:Q", y=y, text="text:N", opacity=alt.value(0.85))
    return spec(alt.layer(bar, interval, dot, label), height=max(60, 30 * len(lines)))


def percentiles(table: Table, engines: list[str]) -> Spec | None:
    """Latency by percentile, as far as the number of transactions bears it; both axes logarithmic."""
    rows: list[dict[str, Any]] = [
        {**_who(line), "nines": 1 / (1 - part), "latency (ms)": ms}
        for line in table.lines
        for part, ms in curve_ms(line.latency)
    ]
    if not rows:
        return None
    # 1 / (1 - part): 2 is the median, 10 the 90th, 100 the 99th percentile.
    words = "{2:'p50', 10:'p90', 100:'p99', 1000:'p99.9', 10000:'p99.99', 100000:'p99.999', 1000000:'p99.9999'}"
    last = max(row["nines"] for row in rows)
    ticks = [2] + [10**n for n in range(1, 8) if 10**n <= last * 1.05]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="monotone")
        .encode(
            x=alt.X(
                "nines:Q",
                scale=alt.Scale(type="log"),
                title="percentile of transactions",
                axis=alt.Axis(values=ticks, labelExpr=f"({words})[datum.value]"),
            ),
            y=alt.Y("latency (ms):Q", scale=alt.Scale(type="log"), title="latency, ms"),
            color=_colour(engines),
            strokeDash=_dash(table),
            detail="label:N",
            tooltip=["label:N", alt.Tooltip("latency (ms):Q", format=".3r")],
        )
    )
    return spec(chart, height=260)


def series(table: Table, engines: list[str]) -> Spec | None:
    """Commits a second over time: the median of the repetitions in each second; warm-up is negative."""
    rows = []
    for line in table.lines:
        seconds: dict[float, list[float]] = {}
        for result in line.row.results():
            for second in result.series:
                if second.length_s > 0.2:
                    seconds.setdefault(second.at_s, []).append(second.committed / second.length_s)
        if len(seconds) > 1:
            rows += [{**_who(line), "second": at, "rate": median(rates)} for at, rates in seconds.items()]
    if not rows:
        return None
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("second:Q", title="seconds from the start of the measurement (negative: warm-up)"),
            y=alt.Y("rate:Q", title=f"{table.counted} a second", scale=alt.Scale(zero=True)),
            color=_colour(engines),
            strokeDash=_dash(table),
            detail="label:N",
            tooltip=["label:N", "second:Q", alt.Tooltip("rate:Q", format=",.3r")],
        )
    )
    return spec(chart, height=240)


def residency(table: Table) -> Spec | None:
    """How much of the database the file cache held over time, a line a repetition."""
    return _memory(table, "resident", alt.Y("value:Q", title="of the database in the file cache",
                                            scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")))  # fmt: skip


def refaults(table: Table) -> Spec | None:
    """Pages a second that were pushed out of memory and had to be read again, a line a repetition."""
    return _memory(table, "refaults_per_s", alt.Y("value:Q", title="pages read again a second"))


def _memory(table: Table, field: str, y: alt.Y) -> Spec | None:
    rows = [
        {"row": line.label, "repetition": recording.repetition, "second": point.at_s, "value": getattr(point, field)}
        for line in table.lines
        for recording in line.row.done
        if recording.memory
        for point in curve(recording.memory)
        if getattr(point, field) is not None
    ]
    if not rows:
        return None
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(opacity=0.8)
        .encode(
            x=alt.X("second:Q", title="seconds from the start of the measurement (negative: before it)"),
            y=y,
            color=alt.Color(
                "row:N",
                scale=alt.Scale(range=list(COLOURS)),
                legend=alt.Legend(title=None, orient="top", columns=3, labelLimit=260),
            ),
            detail="repetition:N",
            tooltip=["row:N", "repetition:N", "second:Q", alt.Tooltip("value:Q", format=".3r")],
        )
    )
    return spec(chart, height=200)


def load(table: Table) -> Spec | None:
    """Rows a second over the time of each load, as far as it took more than a second."""
    rows = [
        {"load": label, "second": second.at_s, "rate": second.rows / second.length_s}
        for label, loaded in table.loads
        if len(loaded.series) > 1
        for second in loaded.series
        if second.length_s > 0.2
    ]
    if not rows:
        return None
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("second:Q", title="seconds from the start of the load"),
            y=alt.Y("rate:Q", title="rows a second", scale=alt.Scale(zero=True)),
            color=alt.Color(
                "load:N",
                scale=alt.Scale(range=list(COLOURS)),
                legend=alt.Legend(title=None, orient="top", columns=3, labelLimit=260),
            ),
            tooltip=["load:N", "second:Q", alt.Tooltip("rate:Q", format=",.3r")],
        )
    )
    return spec(chart, height=200)


def survival(
    named: Sequence[tuple[str, Survival]], engines: list[str], title: str = "commits/s before the cut"
) -> Spec | None:
    """How fast each combination was, and what became of it; each of its speeds as a tick. The fastest first."""
    placed = sorted((one for one in named if one[1].commits_per_s), key=lambda one: -(one[1].commits_per_s or 0))
    if not placed:
        return None
    # The axis is logarithmic.
    cuts = [(name, verdict, rate) for name, row in placed for verdict, rate in row.speeds if rate > 0]
    least, most = min(rate for *_, rate in cuts), max(rate for *_, rate in cuts)
    ticks = [{"combination": name, "verdict": verdict, "speed": rate} for name, verdict, rate in cuts]
    rows = [
        {
            "combination": name,
            "engine": row.levels["engine"],
            "verdict": row.verdict,
            "speed": row.commits_per_s,
            "survived": f"{row.survived} of {row.cuts}",
            "end": max(rate for _, rate in row.speeds),
        }
        for name, row in placed
    ]
    room = max(2.0, (most / least) ** 0.35)  # for the words at the right
    x = alt.X(
        "speed:Q",
        title=title,
        scale=alt.Scale(type="log", domain=[least / 1.3, most * room], nice=False),
        axis=alt.Axis(
            format=",~r", values=[n * 10.0**tens for tens in range(-3, 7) for n in (1, 3)], labelOverlap=True
        ),
    )
    y = alt.Y("combination:N", sort=[name for name, _ in placed], title=None, axis=alt.Axis(labelLimit=230))
    verdicts = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    colour = alt.Color("verdict:N", scale=verdicts, legend=alt.Legend(title=None, orient="top"))
    grey = alt.Legend(title=None, orient="bottom", columns=3, symbolFillColor="#7F7F7F", symbolStrokeColor="#7F7F7F")
    shape = alt.Shape("engine:N", scale=alt.Scale(domain=engines), legend=grey)
    speed = alt.Tooltip("speed:Q", format=",.3r")
    tooltip = ["combination:N", "verdict:N", "survived:N", speed]
    chart = alt.Chart(alt.InlineData(values=rows))
    tick = alt.Chart(alt.InlineData(values=ticks)).mark_tick(thickness=2, size=11, opacity=1)
    tick = tick.encode(x=x, y=y, color=colour, tooltip=["combination:N", "verdict:N", speed])
    encoded = {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": tooltip}
    known = chart.mark_point(filled=True, size=130, opacity=1).encode(**encoded)
    unknown = chart.mark_point(filled=False, size=130, opacity=1, strokeWidth=2).encode(**encoded)
    label = chart.mark_text(align="left", dx=12).encode(x="end:Q", y=y, text="survived:N")
    layers = (
        tick,
        known.transform_filter("datum.verdict != 'unknown'"),
        unknown.transform_filter("datum.verdict == 'unknown'"),
        label,
    )
    return spec(alt.layer(*layers), height=max(80, 26 * len(placed)))


def grid(grid: Grid, relative: bool, unit: str) -> Spec:
    """A table of two factors as dots with their intervals: down one factor, in colours the other."""
    rows = [row for row in _in_grid(grid, relative) if row["value"] is not None]
    title = "base = 100" if relative else f"{unit} a second"
    y = alt.Y("down:N", sort=list(grid.rows), title=None, axis=alt.Axis(labelLimit=260))
    offset = alt.YOffset("across:N", sort=list(grid.columns))
    colour = alt.Color(
        "across:N",
        scale=alt.Scale(domain=list(grid.columns), range=[COLOURS[n % len(COLOURS)] for n in range(len(grid.columns))]),
        legend=alt.Legend(title=short(grid.across), orient="top", columns=4),
    )
    chart = alt.Chart(alt.InlineData(values=rows))
    values = [row[bound] for row in rows for bound in ("value", "low", "high") if row[bound]]
    wide = bool(values) and max(values) > 20 * min(values)
    x = alt.X("value:Q", title=f"{title} (median, 95 %)", scale=alt.Scale(type="log" if wide else "linear", zero=False))
    tooltip = ["down:N", "across:N", alt.Tooltip("value:Q", format=",.3r")]
    dot = chart.mark_circle(size=70, opacity=1).encode(x=x, y=y, yOffset=offset, color=colour, tooltip=tooltip)
    interval = (
        chart.mark_rule(strokeWidth=2)
        .encode(x="low:Q", x2="high:Q", y=y, yOffset=offset, color=colour)
        .transform_filter("isValid(datum.low)")
    )
    layers = [interval, dot]
    if relative:
        base = alt.Chart(alt.InlineData(values=[{"base": 100}]))
        layers.insert(0, base.mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x="base:Q"))
    height = max(80, len(grid.rows) * (12 * len(grid.columns) + 12))
    return spec(alt.layer(*layers), height=height)


def heat(grid: Grid, relative: bool, unit: str) -> Spec:
    """The same as a heat map; with a base, blue is above it and orange below."""
    rows = [row for row in _in_grid(grid, relative) if row["value"] is not None]
    far = max((abs(math.log(row["value"] / 100)) for row in rows if row["value"] > 0), default=0.0)
    # Even steps of the ratio, as far to one side as to the other; noise of a percent is not to shine.
    reach = math.exp(max(far, math.log(1.2)))
    scale = (
        alt.Scale(type="log", scheme="blueorange", reverse=True, domain=[100 / reach, 100 * reach])
        if relative
        else alt.Scale(scheme="blues")
    )
    x = alt.X(
        "across:N", sort=list(grid.columns), title=short(grid.across), axis=alt.Axis(labelAngle=0, labelLimit=180)
    )
    y = alt.Y("down:N", sort=list(grid.rows), title=None, axis=alt.Axis(labelLimit=260))
    title = "base = 100" if relative else f"{unit}/s"
    chart = alt.Chart(alt.InlineData(values=rows))
    field = chart.mark_rect().encode(
        x=x, y=y, color=alt.Color("value:Q", scale=scale, legend=None), opacity=alt.value(0.35),
        tooltip=["down:N", "across:N", alt.Tooltip("value:Q", format=",.3r", title=title)],
    )  # fmt: skip
    return spec(
        alt.layer(field, chart.mark_text().encode(x=x, y=y, text="text:N")), height=max(60, 34 * len(grid.rows))
    )


def _in_grid(grid: Grid, relative: bool) -> list[dict[str, Any]]:
    rows = []
    for (row, column), line in grid.cells.items():
        summary, scale = (line.relative, 100.0) if relative else (line.goodput, 1.0)
        bounds = summary.interval if summary and not (relative and line.is_base) else None
        value = None if summary is None or summary.median is None else scale * summary.median
        rows.append(
            {
                "down": row,
                "across": column,
                "value": value,
                "low": scale * bounds.low if bounds else None,
                "high": scale * bounds.high if bounds else None,
                "text": number(value),
            }
        )
    return rows


def _who(line: Line) -> dict[str, str]:
    return {
        "label": line.label,
        "engine": line.levels["engine"],
        "durability": line.levels["durability"],
    }


def _colour(engines: list[str]) -> alt.Color:
    scale = alt.Scale(domain=engines, range=[COLOURS[n % len(COLOURS)] for n in range(len(engines))])
    return alt.Color("engine:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _dash(table: Table) -> alt.StrokeDash:
    levels = list(dict.fromkeys(line.levels["durability"] for line in table.lines))
    # The strongest level is drawn solid.
    scale = alt.Scale(domain=levels, range=[DASHES[n % len(DASHES)] for n in reversed(range(len(levels)))])
    return alt.StrokeDash("durability:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def spec(chart: Any, *, height: int) -> Spec:
    """A plot as wide as its place on the page."""
    font = "system-ui, sans-serif"
    drawn: Spec = (
        chart.properties(width="container", height=height)
        .configure(background="transparent", font=font)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", domain=False, ticks=False)
        .configure_legend(labelFontSize=12, symbolStrokeWidth=2)
        .to_dict()
    )
    return drawn
