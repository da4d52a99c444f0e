"""Plots of databases that grow: sizes, load speed, speed against size, places side by side, and what the device did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from acidtest.analysis.growth import Pair, load_curve, size_text
from acidtest.report.charts import COLOURS, DASHES, Spec, spec
from acidtest.report.growth import Concluded, Growth
from acidtest.report.growth_tables import KINDS

KIND_COLOURS = dict(zip(KINDS, ("#0072B2", "#E69F00", "#CC79A7"), strict=True))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPANS = ((86_400, "days"), (3600, "hours"), (60, "minutes"))
SPAN = 100  # times below the smallest rate measured: further down an axis of rates does not go
CURVE = 60  # steps of a curve that is drawn
NEAR = 1.03  # landmarks nearer to each other have one line


Row = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """A vertical line: landmarks of one or several series at the same size."""

    letter: str
    bytes: float
    words: str


def marks(growth: Growth) -> list[Mark]:
    """Every landmark once, by size; one that only some series have names them."""
    landmarks: dict[tuple[float, str], list[str]] = {}
    for one in growth.series:
        for landmark in one.landmarks:
            landmarks.setdefault((landmark.bytes, landmark.name), []).append(one.name)
    grouped: list[tuple[float, list[str]]] = []
    for (bytes_, name), names in sorted(landmarks.items()):
        everywhere = len(names) == len(growth.series)
        words = f"{name}, {size_text(bytes_)}" + ("" if everywhere else f" ({'; '.join(names)})")
        if grouped and bytes_ <= grouped[-1][0] * NEAR:
            grouped[-1][1].append(words)
        else:
            grouped.append((bytes_, [words]))
    return [Mark(LETTERS[n % len(LETTERS)], bytes_, "; ".join(words)) for n, (bytes_, words) in enumerate(grouped)]


def plots(growth: Growth) -> dict[str, Spec]:
    """Every plot that the series bear, by its name."""
    drawn = {
        "sizes": _sizes(growth),
        "load": _load(growth),
        "load-time": _load_time(growth),
        "speed": _speed(growth, logarithmic=False),
        "speed-log": _speed(growth, logarithmic=True),
        "ratio": _ratio(growth.pairs),
        **{f"device-{n}": _device(one) for n, one in enumerate(growth.series)},
    }
    return {name: one for name, one in drawn.items() if one is not None}


class _Who:
    """How lines are told apart: colour is the engine, dash and shape the rest; of one engine, colour is the rest."""

    def __init__(self, series: Sequence[Concluded]) -> None:
        self._engines = list(dict.fromkeys(one.levels["engine"] for one in series))
        self._rest = list(dict.fromkeys(map(self._other, series)))

    def _other(self, one: Concluded) -> str:
        engine = one.levels["engine"]
        return ", ".join(part for part in one.name.split(", ") if part != engine)

    def row(self, one: Concluded) -> dict[str, str]:
        return {"series": one.name, "engine": one.levels["engine"], "rest": self._other(one)}

    def encoding(self) -> dict[str, Any]:
        """Of marks that have a colour and, where two things vary, a dash."""
        one_engine = len(self._engines) == 1
        field, names = ("rest", self._rest) if one_engine and len(self._rest) > 1 else ("engine", self._engines)
        colours = alt.Scale(domain=names, range=[COLOURS[n % len(COLOURS)] for n in range(len(names))])
        channels: dict[str, Any] = {
            "color": alt.Color(f"{field}:N", scale=colours, legend=_legend()),
            "detail": "series:N",
        }
        if not one_engine and len(self._rest) > 1:
            dashes = alt.Scale(domain=self._rest, range=[DASHES[n % len(DASHES)] for n in range(len(self._rest))])
            # As strokes: a legend of circles would not show what the dashes stand for.
            strokes = alt.Legend(
                title=None, orient="bottom", symbolType="stroke", symbolSize=500, symbolStrokeColor="#7F7F7F"
            )
            channels["strokeDash"] = alt.StrokeDash("rest:N", scale=dashes, legend=strokes)
        return channels


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="top", columns=3, labelLimit=220, symbolOpacity=1)


def _unit_of(bytes_: float) -> tuple[float, str]:
    """The unit in which ``bytes_`` has few digits, and its name."""
    return next(((unit, name) for unit, name in ((1e12, "TB"), (1e9, "GB")) if bytes_ >= unit), (1e6, "MB"))


def _unit(growth: Growth) -> tuple[float, str]:
    return _unit_of(max((at.bytes or 0 for one in growth.series for at in one.sizes), default=0))


def _x(unit: tuple[float, str], rows: Sequence[Row], logarithmic: bool, room: float = 1.0) -> alt.X:
    least, most = min(row["size"] for row in rows), max(row["size"] for row in rows)
    axis = alt.Axis(format=",~r", tickCount=6, labelOverlap=True, grid=not logarithmic)
    if not logarithmic:
        return alt.X("size:Q", title=f"database, {unit[1]}", axis=axis, scale=alt.Scale(domain=[0, most * 1.03]))
    ticks = [n * 10.0**tens for tens in range(-3, 7) for n in (1, 2, 5)]
    within = [tick for tick in ticks if least / 1.3 <= tick <= most * 1.3 * room]
    axis = alt.Axis(format=",~r", values=within, labelOverlap=True)
    scale = alt.Scale(type="log", domain=[least / 1.15, most * 1.15 * room], nice=False)
    return alt.X("size:Q", title=f"database, {unit[1]} (logarithmic)", axis=axis, scale=scale)


def _lined(rows: Sequence[Row], **encoding: Any) -> list[Any]:
    """Lines, and a dot at each figure; the dots have no dash, which would hide it from the legend."""
    base = alt.Chart(alt.InlineData(values=rows))
    dot = {name: one for name, one in encoding.items() if name not in ("strokeDash", "detail")}
    return [base.mark_line().encode(**encoding), base.mark_circle(size=44, opacity=1).encode(**dot)]


def _sizes(growth: Growth) -> Spec | None:
    """The text's first figure: how large each database became."""
    unit, who = _unit(growth), _Who(growth.series)
    rows: list[Row] = [
        {**who.row(one), "asked": at.asked, "size": at.bytes / unit[0], "said": size_text(at.bytes)}
        for one in growth.series
        for at in one.sizes
        if at.bytes
    ]
    if not rows:
        return None
    asked = list(dict.fromkeys(row["asked"] for row in rows))
    chart = alt.Chart(alt.InlineData(values=rows))
    many = len(growth.series)
    encoding = who.encoding()
    encoding.pop("detail")
    encoding.pop("strokeDash", None)
    bar = chart.mark_bar(opacity=0.75).encode(
        x=alt.X("size:Q", title=f"database, {unit[1]}", axis=alt.Axis(tickCount=5, labelOverlap=True)),
        y=alt.Y("asked:N", sort=asked, title=None, axis=alt.Axis(labelLimit=140)),
        yOffset=alt.YOffset("series:N", sort=[one.name for one in growth.series]),
        tooltip=["series:N", "asked:N", "said:N"],
        **encoding,
    )
    return spec(bar, height=max(100, len(asked) * max(22, 8 * many + 8)))


def _load(growth: Growth) -> Spec | None:
    unit, who = _unit(growth), _Who(growth.series)
    rows: list[Row] = [
        {**who.row(one), "asked": at.asked, "size": at.bytes / unit[0], "rate": at.load_mb_per_s}
        for one in growth.series
        for at in one.sizes
        if at.bytes and at.load_mb_per_s is not None
    ]
    if not rows:
        return None
    lined = _lined(
        rows,
        x=_x(unit, rows, logarithmic=False),
        y=alt.Y("rate:Q", title="load speed, MB/s", scale=alt.Scale(zero=True)),
        tooltip=["series:N", "asked:N", alt.Tooltip("rate:Q", format=",.3r", title="MB/s")],
        **who.encoding(),
    )
    return spec(alt.layer(*lined), height=220)


def _load_time(growth: Growth) -> Spec | None:
    who = _Who(growth.series)
    curves = [(one, load) for one in growth.series for load in load_curve(one.sizes)]
    if not curves:
        return None
    last_s = max(points[-1].at_s for _, points in curves)
    unit_s, unit = next(((s, name) for s, name in SPANS if last_s > 3 * s), (1, "seconds"))
    rows: list[Row] = [
        {**who.row(one), "load": n, "at": point.at_s / unit_s, "rate": point.mb_per_s, "held": size_text(point.bytes)}
        for n, (one, points) in enumerate(curves)
        for point in points
    ]
    encoding = who.encoding() | {"detail": "load:N"}
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=1.6)
        .encode(
            x=alt.X("at:Q", title=f"{unit} of loading", axis=alt.Axis(tickCount=8, labelOverlap=True)),
            y=alt.Y("rate:Q", title="load speed, MB/s", scale=alt.Scale(zero=True)),
            tooltip=["series:N", "held:N", alt.Tooltip("rate:Q", format=",.3r", title="MB/s")],
            **encoding,
        )
    )
    return spec(chart, height=220)


def _speed(growth: Growth, *, logarithmic: bool) -> Spec | None:
    """Median with interval, and each repetition as a dot; landmarks as lines with a letter."""
    unit, who = _unit(growth), _Who(growth.series)
    rows: list[Row] = []
    dots: list[Row] = []
    for one in growth.series:
        for at in one.measured:
            placed = {**who.row(one), "asked": at.asked, "size": (at.bytes or 0) / unit[0]}
            bounds = at.rate.interval
            rows.append(
                placed
                | {
                    "rate": at.rate.median,
                    "low": bounds.low if bounds else None,
                    "high": bounds.high if bounds else None,
                }
            )
            dots += [{**placed, "rate": rate} for rate in at.row.goodput_per_s()]
    on_one_place = len({row["size"] for row in rows}) < 2  # a logarithmic axis takes two
    if not rows or (logarithmic and (on_one_place or min(row["rate"] for row in (*rows, *dots)) <= 0)):
        return None
    floor = min(row["rate"] for row in dots) / SPAN
    curves, expected = _expected(growth, who, unit[0], floor) if logarithmic else ([], [])
    x = _x(unit, [*rows, *expected], logarithmic)
    reached = [*(row["rate"] for row in dots), *(row[end] for row in expected for end in ("low", "high"))]
    least, most = min(reached), max(reached)
    if logarithmic:
        ticks = [n * 10.0**tens for tens in range(-3, 7) for n in (1, 2, 5)]
        scale = alt.Scale(type="log", domain=[least / 1.25, most * 1.25], nice=False)
        axis = alt.Axis(format=",~r", values=[t for t in ticks if least / 1.25 <= t <= most * 1.25], labelOverlap=True)
        y = alt.Y("rate:Q", title="commits a second (logarithmic)", scale=scale, axis=axis)
    else:
        y = alt.Y("rate:Q", title="commits a second", scale=alt.Scale(zero=True))
    encoding = who.encoding()
    tooltip = ["series:N", "asked:N", alt.Tooltip("rate:Q", format=",.3r", title="commits/s")]
    base = alt.Chart(alt.InlineData(values=rows))
    plain = {name: one for name, one in encoding.items() if name != "strokeDash"}
    bounds_ = (
        base.mark_rule(strokeWidth=2)
        .encode(x=x, y="low:Q", y2="high:Q", **plain)
        .transform_filter("isValid(datum.low)")
    )
    dot = alt.Chart(alt.InlineData(values=dots)).mark_circle(size=14, opacity=0.7).encode(x=x, y=y, **plain)
    layers = [*_landmarks(growth, unit, x), *([bounds_] if any(row["low"] for row in rows) else []), dot]
    lined = _lined(rows, x=x, y=y, tooltip=tooltip, **encoding)
    return spec(alt.layer(*layers, *lined, *_foreseen(curves, expected, x, y, plain)), height=300)


def _expected(growth: Growth, who: _Who, unit: float, floor: float) -> tuple[list[Row], list[Row]]:
    """The curve of each series up to the largest size that was asked for, and what is expected at those sizes.

    Both end at ``floor``, for a rate near nothing would make the axis endless.
    """
    curves: list[Row] = []
    expected: list[Row] = []
    for one in growth.series:
        ahead = [at for at in one.predictions if at.rate and at.interval and at.rate >= floor]
        if not one.answer or not ahead:
            continue
        expected += [
            who.row(one)
            | {
                "size": at.bytes / unit,
                "rate": at.rate,
                "low": max(at.interval.low, floor),
                "high": at.interval.high,
            }
            for at in ahead
            if at.interval
        ]
        answer, furthest = one.answer, max(ahead, key=lambda at: at.bytes)
        model = next(of for of in answer.models if of.name == furthest.model)
        first = answer.sizes[0].bytes
        steps = [first * (furthest.bytes / first) ** (n / CURVE) for n in range(CURVE + 1)]
        drawn = [(step, rate) for step in steps if (rate := answer.by(model, step)) >= floor]
        curves += [who.row(one) | {"size": step / unit, "rate": rate} for step, rate in drawn]
    return curves, expected


def _foreseen(
    curves: Sequence[Row], expected: Sequence[Row], x: alt.X, y: alt.Y, encoding: dict[str, Any]
) -> list[Any]:
    """Thin curves, and hollow points with their intervals."""
    if not expected:
        return []
    curve = alt.Chart(alt.InlineData(values=curves)).mark_line(strokeWidth=1, strokeDash=[1, 3])
    base = alt.Chart(alt.InlineData(values=expected))
    tooltip = ["series:N", *(alt.Tooltip(f"{name}:Q", format=",.3r") for name in ("size", "rate", "low", "high"))]
    return [
        curve.encode(x=x, y=y, **encoding),
        base.mark_rule(strokeWidth=1.5, strokeDash=[2, 2]).encode(x=x, y="low:Q", y2="high:Q", **encoding),
        base.mark_point(size=60, filled=False, opacity=1).encode(x=x, y=y, tooltip=tooltip, **encoding),
    ]


def _landmarks(growth: Growth, unit: tuple[float, str], x: alt.X) -> list[Any]:
    """Those within the axis. Neighbours' letters stand at different heights, or they would cover each other."""
    drawn: Any = x.to_dict()
    low, high = drawn["scale"]["domain"]
    placed: list[Row] = [
        {"size": mark.bytes / unit[0], "letter": mark.letter, "words": mark.words, "row": n % 3}
        for n, mark in enumerate(one for one in marks(growth) if low <= one.bytes / unit[0] <= high)
    ]
    if not placed:
        return []
    base = alt.Chart(alt.InlineData(values=placed))
    rule = base.mark_rule(strokeDash=[4, 3], opacity=0.55, strokeWidth=1.2).encode(x=x, tooltip=["words:N"])
    letters = [
        base.mark_text(align="left", dx=4, dy=6 + 13 * row, fontWeight="bold")
        .encode(x=x, y=alt.value(0), text="letter:N", tooltip=["words:N"])
        .transform_filter(f"datum.row == {row}")
        for row in sorted({one["row"] for one in placed})
    ]
    return [rule, *letters]


def _ratio(pairs: Sequence[Pair]) -> Spec | None:
    """One series' rate over another's, size by size; both axes logarithmic."""
    unit = _unit_of(max((at.bytes for pair in pairs for at in pair.at), default=0))
    rows: list[Row] = [
        {
            "pair": pair.name,
            "asked": at.asked,
            "size": at.bytes / unit[0],
            "ratio": at.ratio.median,
            "low": at.ratio.interval.low if at.ratio.interval else None,
            "high": at.ratio.interval.high if at.ratio.interval else None,
        }
        for pair in pairs
        for at in pair.at
        if at.ratio.median
    ]
    if not rows:
        return None
    names = list(dict.fromkeys(row["pair"] for row in rows))
    colour = alt.Color(
        "pair:N",
        scale=alt.Scale(domain=names, range=[COLOURS[n % len(COLOURS)] for n in range(len(names))]),
        legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=340),
    )
    least, most = min(1, *(row["ratio"] for row in rows)), max(1, *(row["ratio"] for row in rows))
    ticks = [t for t in (n * 10.0**tens for tens in range(-4, 5) for n in (1, 2, 5)) if least / 1.2 <= t <= most * 1.2]
    y = alt.Y(
        "ratio:Q", title="times as fast", scale=alt.Scale(type="log", domain=[least / 1.2, most * 1.2], nice=False),
        axis=alt.Axis(format="~r", values=ticks, labelOverlap=True),
    )  # fmt: skip
    x = _x(unit, rows, logarithmic=True)
    base = alt.Chart(alt.InlineData(values=rows))
    tooltip = ["pair:N", "asked:N", alt.Tooltip("ratio:Q", format=".3r", title="times as fast")]
    bounds = (
        base.mark_rule(strokeWidth=2)
        .encode(x=x, y="low:Q", y2="high:Q", color=colour)
        .transform_filter("isValid(datum.low)")
    )
    even = alt.Chart(alt.InlineData(values=[{"even": 1}])).mark_rule(strokeDash=[4, 3], opacity=0.6).encode(y="even:Q")
    layers = [even, *([bounds] if any(row["low"] for row in rows) else [])]
    return spec(alt.layer(*layers, *_lined(rows, x=x, y=y, color=colour, tooltip=tooltip)), height=240)


def _device(one: Concluded) -> Spec | None:
    """Where the time of the device's requests went, a bar a size."""
    rows: list[Row] = [
        {"size": at.asked, "kind": kind, "order": n, "part": waits.share}
        for at in one.sizes
        for n, kind in enumerate(KINDS)
        if (waits := getattr(at.device, kind, None)) and waits.share is not None
    ]
    if not rows:
        return None
    sizes: list[str] = list(dict.fromkeys(row["size"] for row in rows))
    part = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(opacity=0.8, height={"band": 0.78})
        .encode(
            x=alt.X("part:Q", title="of the time of all requests", axis=part, scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("size:N", sort=sizes, title=None, axis=alt.Axis(labelLimit=140)),
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=list(KINDS), range=list(KIND_COLOURS.values())), legend=_legend()
            ),
            order="order:Q",
            tooltip=["size:N", "kind:N", alt.Tooltip("part:Q", format=".0%")],
        )
    )
    return spec(chart, height=max(60, 22 * len(sizes)))
