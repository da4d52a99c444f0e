"""Charts of a report as files: one picture with its legend, of SVG for readers in light and dark, or of PNG."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import vl_convert

from acidtest.report.looks import Key, Keys
from acidtest.report.vega import CONFIG, FEW, PART, Chart, Spec

WIDTH = 620
CHARACTER_PX, ROW_PX = 7.0, 20
TICKS = 5
PADDING = {"left": 40, "right": 24, "top": 12, "bottom": 12}  # who looks may have wider letters than were measured
MADE_OF = re.compile(r"<!-- specification ([0-9a-f]{64}) -->")
# A picture in a document has no style of the page's: it brings the colours of its text, and the ground they need.
STYLE = (
    "<style>svg{color:#1f2328;background:#ffffff}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>"
)
AXIS = {"labelColor": "currentColor", "titleColor": "currentColor", "gridColor": "currentColor", "gridOpacity": 0.15}
CAPTION_CHARACTERS = 90  # of a line
PNG_SCALE = 2.0


@dataclass(frozen=True)
class Picture:
    """A chart of a page, with what the page says of it."""

    name: str  # of the file
    chart: Chart
    title: str
    caption: str

    def specification(self, base: str) -> Spec:
        """The picture with its title and caption in it."""
        said = [line for text in (self.caption, *self.chart.notes) for line in wrap(text, CAPTION_CHARACTERS)]
        name = self.title.removesuffix(self.caption).rstrip(": ") or self.title
        title = {"text": wrap(name, CAPTION_CHARACTERS), "subtitle": said, "anchor": "start"}
        colours = {"color": "currentColor", "subtitleColor": "currentColor"}
        return {**specification(self.chart, base), "title": {**title, **colours}}


def write_svg(pictures: Sequence[Picture], directory: Path, base: str) -> list[Path]:
    """One file a chart. Raises OSError."""
    return [
        _write(directory / f"{picture.name}.svg", svg(picture.specification(base)).encode()) for picture in pictures
    ]


def write_png(pictures: Sequence[Picture], directory: Path, base: str) -> list[Path]:
    """One file a chart, black on white. Raises OSError."""
    return [_write(directory / f"{picture.name}.png", _png(picture.specification(base))) for picture in pictures]


def _png(spec: Spec) -> bytes:
    white = {**spec, "config": {**spec["config"], "background": "white"}}
    return bytes(vl_convert.svg_to_png(_drawn(white), scale=PNG_SCALE))


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def specification(chart: Chart, base: str = "base") -> Spec:
    """The whole picture: its legend above its plots. What is read against the base has its name."""
    plots = [
        {**panel.spec, "width": WIDTH - 220, **({"title": panel.title} if panel.title else {})}
        for panel in chart.panels
    ]
    legend = [_legend(keys) for keys in chart.legend if keys.keys]
    config = {**CONFIG, "axis": {**CONFIG["axis"], **AXIS}, "title": {"color": "currentColor", "fontWeight": "normal"}}
    spec = {"vconcat": [*legend, *plots], "padding": PADDING, "config": config}
    return dict(_replaced(spec, {"base = 100": f"{base} = 100"}))


def _replaced(part: Any, words: Mapping[str, str]) -> Any:
    """With other words, and as many ticks as a picture's width bears: of several plots none has the name that a page's
    own expression asks for."""
    if part == FEW:
        return TICKS
    if isinstance(part, dict):
        return {name: _replaced(of, words) for name, of in part.items()}
    if isinstance(part, list):
        return [_replaced(of, words) for of in part]
    return words.get(part, part) if isinstance(part, str) else part


def svg(spec: Spec) -> str:
    """Draw it. Its text ends with the specification's hash, for fonts differ from machine to machine."""
    head, _, rest = _drawn(spec).partition(">")
    return f"{head}>{STYLE}{rest}\n<!-- specification {fingerprint(spec)} -->\n"


def _drawn(spec: Spec) -> str:
    return str(vl_convert.vegalite_to_svg(spec)).replace(PART, ", ")  # no character of an SVG, in labels for readers


def fingerprint(spec: Spec) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def made_of(path: Path) -> str:
    """The hash of the specification that a picture was made of; "" where it has none."""
    found = MADE_OF.search(path.read_text(encoding="utf-8"))
    return found[1] if found else ""


def _legend(keys: Keys) -> Spec:
    """One row of marks, each with its label."""
    rows: list[dict[str, Any]] = []
    x, y = (CHARACTER_PX * len(keys.title) + 16 if keys.title else 0.0), 0
    for key in keys.keys:
        width = CHARACTER_PX * len(key.label) + 36
        if x + width > WIDTH and x:
            x, y = 0.0, y + ROW_PX
        rows.append({"x": x + 8, "at": x + 20, "y": y + ROW_PX / 2, "label": key.label, **_look(key)})
        x += width
    place = {"y": {"field": "y", "type": "quantitative", "scale": None, "axis": None}}
    mark = {"x": {"field": "x", "type": "quantitative", "scale": None, "axis": None}, **place}
    look = {
        channel: {"field": field, "type": "nominal", "scale": None, "legend": None}
        for channel, field in (("stroke", "colour"), ("fill", "fill"), ("shape", "shape"))
    }
    text = {"x": {**mark["x"], "field": "at"}, **place, "text": {"field": "label", "type": "nominal"}}
    layers = [
        {"data": {"values": rows}, "mark": {"type": "point", "size": 60, "opacity": 1}, "encoding": {**mark, **look}},
        {"data": {"values": rows}, "mark": {"type": "text", "align": "left", "baseline": "middle"}, "encoding": text},
    ]
    if keys.title:
        title = [{"at": 0, "y": ROW_PX / 2, "label": keys.title}]
        layers.append(
            {"data": {"values": title}, "mark": {"type": "text", "align": "left", "baseline": "middle", "opacity": 0.7},
             "encoding": text}
        )  # fmt: skip
    return {"width": WIDTH if y else x, "height": y + ROW_PX, "layer": layers}


def _look(key: Key) -> dict[str, str]:
    colour = key.colour or "currentColor"
    shape = {"bar": "square", None: "stroke"}.get(key.shape, key.shape or "stroke")
    return {"colour": colour, "fill": "transparent" if key.hollow else colour, "shape": shape}
