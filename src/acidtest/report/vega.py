"""Parts of Vega-Lite specifications, as plain dictionaries. The page's script adds what all of them share."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from acidtest.report.looks import Keys

Spec = dict[str, Any]
Row = dict[str, Any]

LABEL_WIDTH = 26  # characters of a line of a label, so that half of a narrow page is left for the marks
LINE_PX = 14
TITLE_WIDTH = 34
BREAK, PART = "\n", "\x1f"  # within the name of a place on an axis
TICKS = 7
MARKS = 12  # of a line, by whose shape it is told from others
# Of the axes: labels never touch, and a narrow plot has fewer of them.
AXIS: Spec = {"labelOverlap": "greedy", "labelSeparation": 8}
FEW: Spec = {"expr": "ceil(width / 90)"}  # ticks of an axis of figures, by its length
CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "domain": False, "ticks": False},
    "rule": {"color": "currentColor"},
    "text": {"color": "currentColor"},
}


@dataclass(frozen=True)
class Panel:
    """One plot of a chart; ``title`` is empty where the chart has no other."""

    title: str
    spec: Spec


@dataclass(frozen=True)
class Chart:
    """What stands in one figure: its legend, its plots side by side, and what is not drawn and why."""

    panels: tuple[Panel, ...]
    legend: tuple[Keys, ...] = ()
    notes: tuple[str, ...] = ()


def plot(layers: Sequence[Spec], *, height: float, **more: Any) -> Spec:
    """A plot as wide as its place on the page, of those ``layers`` that have data."""
    drawn = [layer for layer in layers if layer["data"]["values"]]
    return {"width": "container", "height": height, "layer": drawn, **more}


def layer(mark: str, rows: Sequence[Row], encoding: Spec, **properties: Any) -> Spec:
    """One mark for each of ``rows``."""
    return {"data": {"values": list(rows)}, "mark": {"type": mark, **properties}, "encoding": encoding}


@dataclass(frozen=True)
class Curve:
    """One line of a plot. What is the same of all its points stands once, under ``about``."""

    about: Row  # with a look's fields
    points: Sequence[tuple[float, float]]
    marks: Collection[int] | None = None  # positions of the points that have a mark; None: evenly spread ones

    def row(self, x: str, y: str) -> Row:
        many = len(self.points)
        marks = range(0, many, math.ceil(many / MARKS) or 1) if self.marks is None else self.marks
        return self.about | {
            x: [float(f"{at:.6g}") for at, _ in self.points],
            y: [float(f"{value:.5g}") for _, value in self.points],
            "marked": [n in marks for n in range(many)],
        }


def curves(drawn: Sequence[Curve], x: Spec, y: Spec, *, height: float) -> Spec:
    """A plot of lines that have marks, each on its own; their tooltips have the name under ``row``."""
    fields = str(x["field"]), str(y["field"])
    detail = [{"field": "line", "type": "nominal"}]
    channels = {"x": x, "y": y, "tooltip": tooltip("row", **{fields[0]: "~r", fields[1]: ",.3r"})}
    return {
        "width": "container",
        "height": height,
        "data": {"values": [curve.row(*fields) | {"line": n} for n, curve in enumerate(drawn)]},
        "transform": [{"flatten": [*fields, "marked"]}],
        "layer": [
            {"mark": {"type": "line", "interpolate": "monotone"}, "encoding": {**channels, **LINE, "detail": detail}},
            {"mark": {"type": "point", "size": 32, "opacity": 1, "strokeWidth": 1.5},
             "encoding": {**channels, **POINT}, "transform": [{"filter": "datum.marked"}]},
        ],
    }  # fmt: skip


def quantity(field: str, title: str, **more: Any) -> Spec:
    """A channel of figures; ``axis`` and ``scale`` among ``more`` are merged with ours."""
    axis = {**AXIS, **more.pop("axis", {})}
    return {"field": field, "type": "quantitative", "title": lines(title, TITLE_WIDTH), "axis": axis, **more}


def seconds(title: str, field: str = "second") -> Spec:
    return quantity(field, title, axis={"tickCount": FEW}, scale={"nice": False})


def logarithmic(field: str, title: str, values: Sequence[float], *, room: float = 1.25) -> Spec:
    """A logarithmic channel that reaches from the least of ``values`` to the most, ``room`` times beyond both."""
    low, high = min(values) / room, max(values) * room
    scale = {"type": "log", "domain": [low, high], "nice": False}
    return quantity(field, title, scale=scale, axis={"values": ticks(low, high), "format": ",~r"})


def ticks(low: float, high: float) -> list[float]:
    """Round figures between ``low`` and ``high``, both above 0, for a logarithmic axis: at least three."""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        within = [value for ten in tens for n in digits if low <= (value := n * 10.0**ten) <= high]
        if len(within) >= 3:
            return within[:: math.ceil(len(within) / TICKS)]
    step = _round_step((high - low) / TICKS)
    return [round(n * step, 12) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _round_step(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    ten = 10.0 ** math.floor(math.log10(step))
    return next(n * ten for n in (1, 2, 2.5, 5, 10) if n * ten >= step * (1 - 1e-9))


def lines(text: str, width: int = LABEL_WIDTH) -> list[str]:
    """``text`` in lines of at most ``width`` characters; nothing is cut."""
    return wrap(text, width, break_on_hyphens=False) or [text]


def places(names: Sequence[str], beside: Sequence[str] = ()) -> tuple[list[str], Spec, Spec, float]:
    """A nominal axis of ``names``, which may be long: the value of each, its two axes, and the height of a step.

    The second axis, at the right, has the text ``beside`` each: there it is not taken for a place on the scale.
    """
    wrapped = [lines(name) for name in names]
    values = [PART.join((str(n), BREAK.join(of), *beside[n : n + 1])) for n, of in enumerate(wrapped)]
    name = r"split(split(datum.value, '\x1f')[1], '\n')"
    most = max(map(len, wrapped), default=1)
    # Vega puts the first of several lines where the middle belongs.
    up = [{"test": f"length({name}) == {n}", "value": -LINE_PX * (n - 1) / 2} for n in range(2, most + 1)]
    left = {
        "labelExpr": name,
        "labelLimit": 0,
        "labelLineHeight": LINE_PX,
        "labelOffset": {"condition": up, "value": 0},
    }
    right = {"labelExpr": r"split(datum.value, '\x1f')[2]", "orient": "right", "labelLimit": 0}
    return values, left, right, max(LINE_PX * most + 8, 24)


def place(values: Sequence[str], axis: Spec | None, field: str = "place") -> Spec:
    """The channel of such an axis."""
    return {"field": field, "type": "nominal", "sort": list(values), "title": None, "axis": axis}


def as_is(field: str) -> Spec:
    """A channel whose values in the data are themselves what is drawn: a colour, a shape, a dash."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}


COLOUR, SHAPE, DASH, FILL = as_is("colour"), as_is("shape"), as_is("dash"), as_is("fill")
LINE: Spec = {"color": COLOUR, "strokeDash": DASH}
POINT: Spec = {"stroke": COLOUR, "fill": FILL, "shape": SHAPE}


def tooltip(*fields: str, **formats: str) -> list[Spec]:
    """Names as they are, figures by their format."""
    return [{"field": name, "type": "nominal"} for name in fields] + [
        {"field": name, "type": "quantitative", "format": form, "title": name.replace("_", " ")}
        for name, form in formats.items()
    ]
