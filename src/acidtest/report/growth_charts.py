"""Plots of databases that grow: sizes, load speed, speed against size, places side by side, and what the device did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.analysis.growth.answer import size_text
from acidtest.analysis.growth.compared import Pair
from acidtest.analysis.growth.recorded import load_curve
from acidtest.report import vega
from acidtest.report.charts import PANELS_MAX, POINTS_MIN, bounded, bounds, not_drawn
from acidtest.report.growth import Concluded, Growth
from acidtest.report.growth_tables import KINDS
from acidtest.report.looks import BLUE, LINES_MAX, ORANGE, PINK, UNDASHED, Key, Keys, Looks, by_order
from acidtest.report.vega import COLOUR, LINE, POINT, Chart, Curve, Panel, Row, Spec, layer, plot, quantity
from acidtest.words import counted

KIND_COLOURS = dict(zip(KINDS, (BLUE, ORANGE, PINK), strict=True))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPANS = ((86_400, "days"), (3600, "hours"), (60, "minutes"))
SPAN = 100  # times below the smallest rate measured: further down an axis of rates does not go
CURVE = 60  # steps of a curve that is drawn
NEAR = 1.03  # landmarks nearer to each other have one line


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
        for landmark in one.series.landmarks:
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


def plots(growth: Growth, looks: Looks) -> dict[str, Chart]:
    """Every chart that the series bear, by its name."""
    if (panels := len(_panels(growth, looks, dashes=False))) > PANELS_MAX:
        series = counted(len(growth.series), "series", "series")
        return {"speed": Chart((), notes=(f"No plots of {series}: they would need {panels:,}.",))}
    drawn = {
        "sizes": _sizes(growth, looks),
        "load": _load(growth, looks),
        "load-time": _load_time(growth, looks),
        "speed": _speed(growth, looks, logarithmic=False),
        "speed-log": _speed(growth, looks, logarithmic=True),
        "ratio": _ratio(growth.pairs),
        **{f"device-{n}": _device(one) for n, one in enumerate(growth.series)},
    }
    return {name: one for name, one in drawn.items() if one is not None}


def _who(one: Concluded, looks: Looks) -> Row:
    return looks.of(one.levels).fields | {"row": one.name}


def _panels(growth: Growth, looks: Looks, *, dashes: bool = True) -> list[tuple[str, list[Concluded]]]:
    return looks.panels(growth.series, lambda one: one.levels, dashes=dashes)


def _legend(growth: Growth, looks: Looks, *, dashes: bool = True) -> tuple[Keys, ...]:
    levels = [one.levels for one in growth.series]
    return looks.legend(levels, levels, dashes=dashes)


def _of(series: Sequence[Concluded], rows: Sequence[Row]) -> list[Row]:
    names = {concluded.name for concluded in series}
    return [row for row in rows if row["row"] in names]


def _unit_of(bytes_: float) -> tuple[float, str]:
    return next(((unit, name) for unit, name in ((1e12, "TB"), (1e9, "GB")) if bytes_ >= unit), (1e6, "MB"))


def _unit(growth: Growth) -> tuple[float, str]:
    return _unit_of(max((at.bytes or 0 for one in growth.series for at in one.sizes), default=0))


def _x(unit: tuple[float, str], rows: Sequence[Row], logarithmic: bool) -> Spec:
    sizes = [row["size"] for row in rows]
    if logarithmic:
        return vega.logarithmic("size", f"database, {unit[1]} (logarithmic)", sizes, room=1.15)
    scale = {"domain": [0, max(sizes) * 1.03], "nice": False}
    return quantity("size", f"database, {unit[1]}", scale=scale, axis={"format": ",~r", "tickCount": vega.FEW})


def _from_nothing(field: str, title: str, rows: Sequence[Row]) -> Spec:
    """The same axis for all panels of a chart."""
    most = max(row[of] for row in rows for of in (field, "high") if row.get(of) is not None)
    return quantity(field, title, scale={"domain": [0, 1.05 * most or 1], "nice": False})


def _lined(rows: Sequence[Row], x: Spec, y: Spec) -> list[Spec]:
    tip = vega.tooltip("row", "asked", **{str(y["field"]): ",.3r"})
    each = {"detail": [{"field": "row", "type": "nominal"}], "tooltip": tip}
    return [
        layer("line", rows, {"x": x, "y": y, **LINE, **each}),
        layer("point", rows, {"x": x, "y": y, **POINT, "tooltip": tip}, size=44, opacity=1, strokeWidth=1.5),
    ]


def _intervals(rows: Sequence[Row], x: Spec, y: Spec, **properties: object) -> Spec:
    channels = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": COLOUR}
    return layer("rule", bounded(rows), channels, **properties)


def _sizes(growth: Growth, looks: Looks) -> Chart | None:
    """The text's first figure: how large each database became."""
    unit = _unit(growth)
    rows: list[Row] = [
        _who(one, looks) | {"asked": at.asked, "size": at.bytes / unit[0], "said": size_text(at.bytes)}
        for one in growth.series
        for at in one.sizes
        if at.bytes
    ]
    if not rows:
        return None
    asked = list(dict.fromkeys(row["asked"] for row in rows))
    at, left, _, _ = vega.places(asked)
    where = dict(zip(asked, at, strict=True))
    x = _from_nothing("size", f"database, {unit[1]}", rows) | {"axis": {**vega.AXIS, "tickCount": vega.FEW}}
    panels = []
    for title, of in _panels(growth, looks, dashes=False):
        mine = [row | {"place": where[row["asked"]]} for row in _of(of, rows)]
        offset = {"field": "row", "type": "nominal", "sort": [one.name for one in of]}
        channels = {"x": x, "y": vega.place(at, left), "yOffset": offset, "color": COLOUR,
                    "tooltip": vega.tooltip("row", "asked", "said")}  # fmt: skip
        height = max(100, len(asked) * max(22, 8 * len(of) + 8))
        panels.append(Panel(title, plot([layer("bar", mine, channels)], height=height)))
    return Chart(tuple(panels), _legend(growth, looks, dashes=False))


def _load(growth: Growth, looks: Looks) -> Chart | None:
    unit = _unit(growth)
    rows: list[Row] = [
        _who(one, looks) | {"asked": at.asked, "size": at.bytes / unit[0], "rate": at.load_mb_per_s}
        for one in growth.series
        for at in one.sizes
        if at.bytes and at.load_mb_per_s is not None
    ]
    if not rows:
        return None
    x, y = _x(unit, rows, logarithmic=False), _from_nothing("rate", "load speed, MB/s", rows)
    panels = [Panel(title, plot(_lined(_of(of, rows), x, y), height=220)) for title, of in _panels(growth, looks)]
    return Chart(tuple(panels), _legend(growth, looks))


def _load_time(growth: Growth, looks: Looks) -> Chart | None:
    curves = {one.name: load_curve(one.sizes) for one in growth.series}
    long = {name: [points for points in of if len(points) >= POINTS_MIN] for name, of in curves.items()}
    drawn = [points for of in long.values() for points in of]
    short = [f"{len(of) - len(long[name]):,} of {name}" for name, of in curves.items() if len(of) > len(long[name])]
    notes = not_drawn("Loads without a curve", short, f"fewer than {POINTS_MIN} samples")
    if not drawn:
        return Chart((), notes=notes) if notes else None
    last_s = max(points[-1].at_s for points in drawn)
    unit_s, unit = next(((s, name) for s, name in SPANS if last_s > 3 * s), (1, "seconds"))
    x = quantity("at", f"{unit} of loading", axis={"tickCount": vega.FEW},
                 scale={"domain": [0, last_s / unit_s], "nice": False})  # fmt: skip
    y = _from_nothing("rate", "load speed, MB/s", [{"rate": point.mb_per_s} for points in drawn for point in points])
    panels = [
        Panel(
            title,
            vega.curves(
                [
                    Curve(
                        _who(one, looks),
                        [(point.at_s / unit_s, point.mb_per_s) for point in points],
                        {0, len(points) // 2, len(points) - 1},
                    )
                    for one in of
                    for points in long[one.name]
                ],
                x, y, height=220,
            ),
        )
        for title, of in _panels(growth, looks)
    ]  # fmt: skip
    return Chart(tuple(panels), _legend(growth, looks), notes)


def _speed(growth: Growth, looks: Looks, *, logarithmic: bool) -> Chart | None:
    """Median with interval, and each repetition as a dot; landmarks as lines with a letter."""
    unit = _unit(growth)
    rows: list[Row] = []
    dots: list[Row] = []
    for one in growth.series:
        for at in one.measured:
            placed = _who(one, looks) | {"asked": at.asked, "size": (at.bytes or 0) / unit[0]}
            rows.append(placed | {"rate": at.rate.median} | bounds(at.rate))
            dots += [{**placed, "rate": rate} for rate in at.row.goodput_per_s]
    on_one_place = len({row["size"] for row in rows}) < 2  # a logarithmic axis takes two
    if not rows or (logarithmic and (on_one_place or min(row["rate"] for row in (*rows, *dots)) <= 0)):
        return None
    floor = min(row["rate"] for row in dots) / SPAN
    curves, expected = _expected(growth, looks, unit[0], floor) if logarithmic else ([], [])
    x = _x(unit, [*rows, *expected], logarithmic)
    reached = [*(row["rate"] for row in dots), *(row[end] for row in expected for end in ("low", "high"))]
    if logarithmic:
        y = vega.logarithmic("rate", "commits a second (logarithmic)", reached)
    else:
        y = _from_nothing("rate", "commits a second", [*rows, *dots])
    panels = []
    for title, of in _panels(growth, looks):
        layers = [
            *_landmarks(growth, unit, x),
            _intervals(_of(of, rows), x, y, strokeWidth=2),
            layer("circle", _of(of, dots), {"x": x, "y": y, "color": COLOUR}, size=14, opacity=0.7),
            *_lined(_of(of, rows), x, y),
            *_foreseen(_of(of, curves), _of(of, expected), x, y),
        ]
        panels.append(Panel(title, plot(layers, height=300)))
    return Chart(tuple(panels), _legend(growth, looks))


def _expected(growth: Growth, looks: Looks, unit: float, floor: float) -> tuple[list[Row], list[Row]]:
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
            _who(one, looks)
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
        curves += [_who(one, looks) | {"size": step / unit, "rate": rate} for step, rate in drawn]
    return curves, expected


def _foreseen(curves: Sequence[Row], expected: Sequence[Row], x: Spec, y: Spec) -> list[Spec]:
    """Thin dotted curves, and hollow points with their intervals."""
    tip = vega.tooltip("row", size=",.3r", rate=",.3r", low=",.3r", high=",.3r")
    each = {"color": COLOUR, "detail": [{"field": "row", "type": "nominal"}]}
    point = {"x": x, "y": y, "stroke": COLOUR, "shape": vega.SHAPE, "tooltip": tip}
    return [
        layer("line", curves, {"x": x, "y": y, **each}, strokeWidth=1, strokeDash=[1, 3]),
        _intervals(expected, x, y, strokeWidth=1.5, strokeDash=[2, 2]),
        layer("point", expected, point, size=110, filled=False, fill="transparent", opacity=1),
    ]


def _landmarks(growth: Growth, unit: tuple[float, str], x: Spec) -> list[Spec]:
    """Those within the axis. Neighbours' letters stand at different heights, or they would cover each other."""
    low, high = x["scale"]["domain"]
    placed: list[Row] = [
        {"size": mark.bytes / unit[0], "letter": mark.letter, "words": mark.words, "height": 6 + 13 * (n % 3)}
        for n, mark in enumerate(mark for mark in marks(growth) if low <= mark.bytes / unit[0] <= high)
    ]
    tip = vega.tooltip("words")
    height = {"field": "height", "type": "quantitative", "scale": None}
    return [
        layer("rule", placed, {"x": x, "tooltip": tip}, strokeDash=[4, 3], opacity=0.55, strokeWidth=1.2),
        layer("text", placed, {"x": x, "y": height, "text": {"field": "letter"}, "tooltip": tip},
              align="left", dx=4, fontWeight="bold"),
    ]  # fmt: skip


def _ratio(pairs: Sequence[Pair]) -> Chart | None:
    """One series' rate over another's, size by size; both axes logarithmic."""
    unit = _unit_of(max((at.bytes for pair in pairs for at in pair.at), default=0))
    looks = by_order([pair.name for pair in pairs])
    rows: list[Row] = [
        looks[pair.name].fields
        | {"row": pair.name, "asked": at.asked, "size": at.bytes / unit[0], "ratio": at.ratio.median}
        | bounds(at.ratio)
        for pair in pairs
        for at in pair.at
        if at.ratio.median
    ]
    if not rows:
        return None
    y = vega.logarithmic("ratio", "times as fast", [1.0, *(row["ratio"] for row in rows)], room=1.2)
    x = _x(unit, rows, logarithmic=True)
    even = layer(
        "rule", [{"even": 1}], {"y": {"field": "even", "type": "quantitative"}}, strokeDash=[4, 3], opacity=0.6
    )
    panels = []
    for title, names in _together(pairs):
        mine = [row for row in rows if row["row"] in names]
        if mine:
            layers = [even, _intervals(mine, x, y, strokeWidth=2), *_lined(mine, x, y)]
            panels.append(Panel(title, plot(layers, height=240)))
    keys = tuple(Key(name, look.colour, look.shape, UNDASHED) for name, look in looks.items())
    return Chart(tuple(panels), (Keys("", keys),))


def _together(pairs: Sequence[Pair]) -> list[tuple[str, set[str]]]:
    """All in one panel, or where they are many those of each factor."""
    if len(pairs) <= LINES_MAX:
        return [("", {pair.name for pair in pairs})]
    by_factor: dict[str, set[str]] = {}
    for pair in pairs:
        by_factor.setdefault(pair.factor, set()).add(pair.name)
    return list(by_factor.items())


def _device(one: Concluded) -> Chart | None:
    """Where the time of the device's requests went, a bar a size."""
    rows: list[Row] = [
        {"size": at.asked, "kind": kind, "order": n, "part": waits.share, "colour": KIND_COLOURS[kind]}
        for at in one.sizes
        for n, kind in enumerate(KINDS)
        if (waits := getattr(at.device, kind, None)) and waits.share is not None
    ]
    if not rows:
        return None
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    at_, left, _, step = vega.places(sizes)
    where = dict(zip(sizes, at_, strict=True))
    for row in rows:
        row["place"] = where[row["size"]]
    x = quantity("part", "of the time of all requests", axis={"format": "%", "tickCount": vega.FEW}, stack="zero",
                 scale={"domain": [0, 1]})  # fmt: skip
    order = {"field": "order", "type": "quantitative"}
    tip = vega.tooltip("size", "kind", part=".0%")
    channels = {"x": x, "y": vega.place(at_, left), "color": COLOUR, "order": order, "tooltip": tip}
    drawn = plot([layer("bar", rows, channels, height={"band": 0.78})], height=max(60, step * len(sizes)))
    present = {row["kind"] for row in rows}
    keys = tuple(Key(kind, colour, "bar", None) for kind, colour in KIND_COLOURS.items() if kind in present)
    return Chart((Panel("", drawn),), (Keys("", keys),))
