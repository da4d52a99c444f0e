"""The plots of a run and of power cuts. Colours of text and grid come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from acidtest.analysis import sizes
from acidtest.analysis.latency import curve_ms, values_needed
from acidtest.analysis.memory import curve
from acidtest.analysis.summary import Summary
from acidtest.analysis.survival import Survival
from acidtest.journal.models import Recording
from acidtest.report import vega
from acidtest.report.line import Line, Load
from acidtest.report.looks import GREEN, ORANGE, RED, Key, Keys, Look, Looks
from acidtest.report.numbers import number
from acidtest.report.pivot import Grid
from acidtest.report.results import Table
from acidtest.report.table import short
from acidtest.report.vega import COLOUR, POINT, Chart, Curve, Panel, Row, Spec, layer, plot, quantity
from acidtest.words import counted, first_of

VERDICTS = {"survived": Look(GREEN, "circle"), "lost": Look(RED, "diamond"), "unknown": Look(ORANGE, "square")}
BARS_MAX = 60
PANELS_MAX = 24
POINTS_MIN = 5  # of a curve over time: with fewer it would show the ends of its lines, and no course
LATENCY_SHARE_MIN = 0.9  # the percentile to which a curve of latencies reaches at least
NAMED_MAX = 6
Points = list[tuple[float, float]]
SPAN = 20  # times between the least and the most, above which an axis is logarithmic


def bars(table: Table, looks: Looks) -> Chart | None:
    """Median commits a second with intervals, and each repetition as a dot."""
    lines = [line for line in table.lines if line.row.done]
    if not lines:
        return None
    if len(lines) > BARS_MAX:
        rows_all = counted(len(lines), "row")
        return Chart((), notes=(f"No bars of {rows_all}: at most {BARS_MAX} are drawn, the table has all.",))
    at, left, right, step = vega.places([line.label for line in lines], [number(line.goodput.median) for line in lines])
    rows = [
        _who(line, looks) | {"place": value, "rate": line.goodput.median, **bounds(line.goodput)}
        for value, line in zip(at, lines, strict=True)
    ]
    dots = [
        _who(line, looks) | {"place": value, "rate": rate, "repetition": n}
        for value, line in zip(at, lines, strict=True)
        for n, rate in enumerate(line.row.goodput_per_s, start=1)
    ]
    y, tip = vega.place(at, left), vega.tooltip("row", rate=",.3r")
    most = max(row[of] for row in (*rows, *dots) for of in ("rate", "high") if of in row)
    x = quantity("rate", f"{table.counted} a second", scale={"domain": [0, 1.03 * most or 1], "nice": False},
                 axis={"tickCount": vega.FEW})  # fmt: skip
    aside, bare = vega.place(at, right), vega.place(at, None)
    layers = [
        layer("bar", rows, {"x": x, "y": y, "color": COLOUR, "tooltip": tip}, height=15),
        layer("rule", bounded(rows), {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": bare}, strokeWidth=2),
        layer("circle", dots, {"x": x, "y": aside, "color": COLOUR, "tooltip": tip}, size=26, opacity=0.9,
              stroke="white", strokeWidth=0.5),
    ]  # fmt: skip
    drawn = plot(layers, height=step * len(lines), resolve={"axis": {"y": "independent"}})
    return Chart((Panel("", drawn),), _legend(looks, lines, table.lines, dashes=False))


def percentiles(table: Table, looks: Looks) -> Chart | None:
    """Latency by percentile, as far as the number of transactions bears it; both axes logarithmic."""
    needed = values_needed(LATENCY_SHARE_MIN)
    lines, short = _parted(table, lambda line: line.row.latency.count >= needed)
    few = not_drawn("Without a curve", short, f"fewer than {counted(needed, 'transaction')}")
    # 1 / (1 - part): 2 is the median, 10 the 90th, 100 the 99th percentile.
    words = "{2:'p50', 10:'p90', 100:'p99', 1000:'p99.9', 10000:'p99.99', 100000:'p99.999', 1000000:'p99.9999'}"
    curves = {id(line): [(1 / (1 - part), ms) for part, ms in curve_ms(line.row.latency)] for line in lines}
    last = max((points[-1][0] for points in curves.values()), default=2.0)
    marks = [2.0, *(10.0**n for n in range(1, 8) if 10**n <= last * 1.05)]
    scale = {"type": "log", "domain": [2, last * 1.05], "nice": False}
    axis = {"values": marks, "labelExpr": f"({words})[datum.value]"}
    x = quantity("nines", "percentile of transactions", scale=scale, axis=axis)

    def drawn(line: Line | Load) -> list[Curve]:
        points = curves[id(line)]
        nearest = [
            min(points, key=lambda point: abs(math.log(point[0] / mark)))
            for mark in marks
            if mark <= points[-1][0] * 1.05
        ]
        marked = {points.index(point) for point in nearest}
        return [Curve(_who(line, looks), points, marked)]

    return _curves(lines, table.lines, looks, drawn, x=x, y=("ms", "latency, ms"), log=True, height=260, notes=few)


def series(table: Table, looks: Looks) -> Chart | None:
    """Commits a second over time: the median of the repetitions in each second; warm-up is negative."""
    found: dict[int, list[tuple[float, float]]] = {}
    for line in table.lines:
        at: dict[float, list[float]] = {}
        for result in line.row.results:
            for second in result.series:
                if second.length_s > 0.2:
                    at.setdefault(second.at_s, []).append(second.committed / second.length_s)
        found[id(line)] = sorted((second, median(rates)) for second, rates in at.items())
    lines, short = _parted(table, lambda line: sum(second >= 0 for second, _ in found[id(line)]) >= POINTS_MIN)
    few = not_drawn("Without a curve", short, f"measured for fewer than {POINTS_MIN} seconds")

    def drawn(line: Line | Load) -> list[Curve]:
        return [Curve(_who(line, looks), found[id(line)])]

    x = vega.seconds("seconds from the start of the measurement (negative: warm-up)")
    y = ("rate", f"{table.counted} a second")
    return _curves(lines, table.lines, looks, drawn, x=x, y=y, height=240, notes=few)


def residency(table: Table, looks: Looks) -> Chart | None:
    """How much of the database the file cache held over time, a line a repetition."""
    return _memory(table, looks, "resident", "of the database in the file cache", [0, 1], "%")


def refaults(table: Table, looks: Looks) -> Chart | None:
    """Pages a second that were pushed out of memory and had to be read again, a line a repetition."""
    return _memory(table, looks, "refaults_per_s", "pages read again a second", None, ",~r")


def database_size(table: Table, looks: Looks) -> Chart | None:
    """Tables and indexes of the databases that grew while they were measured, a line a repetition."""

    def points(line: Line, one: Recording) -> Points:
        if one.sizes is None or line.sizes is None or not line.sizes.database_grew:
            return []
        return [(of.at_s, of.database_bytes / 1e6) for of in one.sizes.samples]

    return _repetitions(table, looks, points, "database, MB", None, ",~r")


def log_size(table: Table, looks: Looks) -> Chart | None:
    """The engine's log, where that of some row grew while it was measured, a line a repetition."""
    if not any(line.sizes and line.sizes.log_grew for line in table.lines):
        return None

    def points(line: Line, one: Recording) -> Points:
        return [(at_s, size / 1e6) for at_s, size in sizes.log_curve(one.sizes)] if one.sizes else []

    return _repetitions(table, looks, points, "log, MB", None, ",~r")


def _memory(table: Table, looks: Looks, field: str, title: str, domain: list[float] | None, form: str) -> Chart | None:
    def points(line: Line, one: Recording) -> Points:
        seen = curve(one.memory) if one.memory else []
        return [(of.at_s, value) for of in seen if (value := getattr(of, field)) is not None]

    return _repetitions(table, looks, points, title, domain, form)


def _repetitions(
    table: Table,
    looks: Looks,
    points: Callable[[Line, Recording], Points],
    title: str,
    domain: list[float] | None,
    form: str,
) -> Chart | None:
    """A curve over time for each repetition that has ``points``."""
    curves: dict[int, list[Curve]] = {}
    for line in table.lines:
        for recording in line.row.done:
            if known := points(line, recording):
                curves.setdefault(id(line), []).append(Curve(_who(line, looks), known))
    long = {of: [one for one in drawn if len(one.points) >= POINTS_MIN] for of, drawn in curves.items()}
    lines, short = _parted(table, lambda line: bool(long.get(id(line))), among=lambda line: id(line) in curves)
    few = not_drawn("Without a curve", short, f"fewer than {POINTS_MIN} samples")
    x = vega.seconds("seconds from the start of the measurement (negative: before it)")
    return _curves(lines, table.lines, looks, lambda line: long[id(line)], x=x, y=("value", title), height=200,
                   domain=domain, axis={"format": form}, notes=few)  # fmt: skip


def load(table: Table, looks: Looks) -> Chart | None:
    """Rows a second over the time of each load, as far as it took some seconds."""
    points = {
        id(load): [(at.at_s, at.rows / at.length_s) for at in load.loaded.series if at.length_s > 0.2]
        for load in table.loads
    }
    lasted = [load for load in table.loads if len(points[id(load)]) >= POINTS_MIN]
    short = [load.label for load in table.loads if len(points[id(load)]) < POINTS_MIN]
    few = not_drawn("Without a curve", short, f"loaded in fewer than {POINTS_MIN} seconds")

    def drawn(one: Line | Load) -> list[Curve]:
        return [Curve(_who(one, looks), points[id(one)])]

    x = vega.seconds("seconds from the start of the load")
    return _curves(lasted, table.loads, looks, drawn, x=x, y=("rate", "rows a second"), height=200, notes=few)


def survival(named: Sequence[tuple[str, Survival]], title: str = "commits/s before the cut") -> Chart | None:
    """How fast each combination was, and what became of it; each of its speeds as a tick. The fastest first."""
    placed = sorted((one for one in named if one[1].commits_per_s), key=lambda one: -(one[1].commits_per_s or 0))
    if not placed:
        return None
    beside = [row.survived_of for _, row in placed]
    at, left, right, step = vega.places([name for name, _ in placed], beside)
    rows = [
        VERDICTS[row.verdict].fields
        | {"row": name, "verdict": row.verdict, "speed": row.commits_per_s, "survived": text, "place": value}
        for value, text, (name, row) in zip(at, beside, placed, strict=True)
    ]
    for row in rows:  # what is not known is hollow
        row["fill"] = "transparent" if row["verdict"] == "unknown" else row["colour"]
    cuts = [
        {"colour": VERDICTS[verdict].colour, "row": name, "verdict": verdict, "speed": rate, "place": value}
        for value, (name, row) in zip(at, placed, strict=True)
        for verdict, rate in row.speeds
        if rate > 0
    ]
    x = vega.logarithmic("speed", title, [row["speed"] for row in (*rows, *cuts)])
    speed = vega.tooltip("row", "verdict", speed=",.3r")
    whole = [*speed, *vega.tooltip("survived")]
    layers = [
        layer("tick", cuts, {"x": x, "y": vega.place(at, left), "color": COLOUR, "tooltip": speed},
              thickness=2, size=11, opacity=1),
        layer("point", rows, {"x": x, "y": vega.place(at, right), **POINT, "tooltip": whole},
              size=110, opacity=1, strokeWidth=2),
    ]  # fmt: skip
    drawn = plot(layers, height=step * len(placed), resolve={"axis": {"y": "independent"}})
    found = {row.verdict for _, row in placed} | {verdict for _, row in placed for verdict, _ in row.speeds}
    keys = [
        Key(verdict, look.colour, look.shape, None, hollow=verdict == "unknown")
        for verdict, look in VERDICTS.items()
        if verdict in found
    ]
    return Chart((Panel("", drawn),), (Keys("verdict", tuple(keys)),))


def grid(grid: Grid, relative: bool, unit: str, looks: Looks) -> Chart:
    """A table of two factors as dots with their intervals: down one factor, in colours and shapes the other."""
    at, left, _, step = vega.places(grid.rows)
    where = dict(zip(grid.rows, at, strict=True))
    rows = [
        looks.of_level(grid.across, row["across"]).fields | row | {"place": where[row["down"]]}
        for row in _in_grid(grid, relative)
        if row["value"] is not None
    ]
    for row in rows:
        row["fill"] = row["colour"]
    y, offset = vega.place(at, left), {"field": "across", "type": "nominal", "sort": list(grid.columns)}
    values = [row[bound] for row in rows for bound in ("value", "low", "high") if row[bound] is not None]
    title = "base = 100" if relative else f"{unit} a second"
    wide = bool(values) and max(values) > SPAN * min(values) > 0
    even = [100.0] if relative else []
    x = (
        vega.logarithmic("value", title, [*values, *even])
        if wide
        else quantity("value", title, scale={"zero": False}, axis={"tickCount": vega.FEW})
    )
    tip = vega.tooltip("down", "across", value=",.3r")
    encoded = {"y": y, "yOffset": offset}
    layers = [
        layer("rule", [{"base": one} for one in even], {"x": {"field": "base", "type": "quantitative"}},
              strokeDash=[4, 3], opacity=0.6),
        layer("rule", bounded(rows), {**encoded, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": COLOUR},
              strokeWidth=2),
        layer("point", rows, {**encoded, "x": x, **POINT, "tooltip": tip}, size=60, opacity=1),
    ]  # fmt: skip
    drawn = plot(layers, height=max(80, len(grid.rows) * max(step, 12 * len(grid.columns) + 12)))
    keys = []
    for level in grid.columns:
        look = looks.of_level(grid.across, level)
        keys.append(Key(level, look.colour, look.shape, None))
    return Chart((Panel("", drawn),), (Keys(short(grid.across), tuple(keys)),))


def tints(grid: Grid, relative: bool) -> Mapping[tuple[str, str], str]:
    """A background for each place of the table, in CSS: with a base blue above it and orange below, by even steps of
    the ratio, as far to one side as to the other; without one the bluer the higher."""
    values = {(row["down"], row["across"]): row["value"] for row in _in_grid(grid, relative) if row["value"]}
    if not values:
        return {}
    if relative:
        # Noise of a percent is not to shine.
        reach = max(*(abs(math.log(value / 100)) for value in values.values()), math.log(1.2))
        parts = {at: math.log(value / 100) / reach for at, value in values.items()}
    else:
        least, most = min(values.values()), max(values.values())
        parts = {at: (value - least) / ((most - least) or 1) for at, value in values.items()}
    return {at: _tint(part) for at, part in parts.items()}


def _tint(part: float) -> str:
    """-1 to 1 as a colour over that of the page, faint enough for the text."""
    blue, orange = "0 114 178", "200 112 0"
    return f"rgb({blue if part >= 0 else orange} / {abs(part) * 0.32:.2f})"


def _in_grid(grid: Grid, relative: bool) -> list[Row]:
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
            }
        )
    return rows


def _curves(
    drawn: Sequence[Line | Load],
    among: Sequence[Line | Load],
    looks: Looks,
    curves: Callable[[Line | Load], list[Curve]],
    *,
    x: Spec,
    y: tuple[str, str],
    height: int,
    log: bool = False,
    domain: list[float] | None = None,
    axis: Spec | None = None,
    notes: tuple[str, ...] = (),
) -> Chart | None:
    """Lines with marks for each of those ``drawn``, in as many panels as tell them apart, all with the same axes."""
    if not drawn:
        return Chart((), notes=notes) if notes else None
    panels = looks.panels(drawn, lambda one: one.levels)
    if len(panels) > PANELS_MAX:
        rows = counted(len(drawn), "row")
        return Chart((), notes=(f"No curves of {rows}: they would need {counted(len(panels), 'plot')}.", *notes))
    found = {id(one): curves(one) for one in drawn}
    field, title = y
    values = [value for of in found.values() for one in of for _, value in one.points]
    if log and min(values) > 0:
        vertical = vega.logarithmic(field, title, values, room=1.1)
    else:
        vertical = quantity(field, title, scale={"domain": domain or [0, 1.05 * max(values) or 1], "nice": False},
                            axis=axis or {})  # fmt: skip
    plots = [
        Panel(name, vega.curves([one for line in of for one in found[id(line)]], x, vertical, height=height))
        for name, of in panels
    ]
    return Chart(tuple(plots), _legend(looks, drawn, among), notes)


def _parted(
    table: Table, borne: Callable[[Line], bool], *, among: Callable[[Line], bool] = lambda line: bool(line.row.done)
) -> tuple[list[Line], list[str]]:
    """The measured lines of which a curve is ``borne``, and the names of the others."""
    lines = [line for line in table.lines if among(line)]
    return [line for line in lines if borne(line)], [line.label for line in lines if not borne(line)]


def _who(line: Line | Load, looks: Looks) -> Row:
    return looks.of(line.levels).fields | {"row": line.label}


def bounds(summary: Summary) -> Row:
    """The ends of its interval; nothing where it has none."""
    return {"low": summary.interval.low, "high": summary.interval.high} if summary.interval else {}


def bounded(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("low") is not None]


def _legend(
    looks: Looks, drawn: Sequence[Line | Load], among: Sequence[Line | Load], *, dashes: bool = True
) -> tuple[Keys, ...]:
    return looks.legend([one.levels for one in drawn], [one.levels for one in among], dashes=dashes)


def not_drawn(what: str, names: Sequence[str], why: str) -> tuple[str, ...]:
    if not names:
        return ()
    return (f"{what}: {first_of(names, NAMED_MAX, '; ')} ({why}).",)
