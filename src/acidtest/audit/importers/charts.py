"""Specifications of charts whose axis of values begins above zero: Vega and Vega-Lite, gnuplot, matplotlib, Plotly,
Chart.js and ggplot2."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINE_MAX = 2_000
DEPTH_MAX = 40
END_MAX = 1e18  # a longer number in a file is no figure
ENDS = (
    ".gp", ".gnuplot", ".gnu", ".plt", ".plot", ".gpi", ".py", ".ipynb", ".js", ".ts", ".jsx", ".tsx", ".html", ".htm",
    ".r", ".rmd", ".qmd", ".json", ".vg", ".vl", ".sh",
)  # fmt: skip
FIGURE = r"(\d{1,15}(?:\.\d{1,9})?(?:e\d{1,2})?)"
_ = r"[ \t]{0,20}"
PAIR = rf"[\[(]{_}{FIGURE}{_},{_}{FIGURE}"
RANGES = (
    linear.compile(rf"\bset{_} y2?r(?:ange)?{_}\[{_}{FIGURE}{_}(?::|to){_}{FIGURE}?"),  # gnuplot
    linear.compile(  # matplotlib, ggplot2
        rf"\b(?:set_)?ylim\({_}(?:bottom|ymin)?{_}=?{_}[\[(]?{_}{FIGURE}{_}(?:,{_}(?:top|ymax)?{_}=?{_}{FIGURE})?"
    ),
    linear.compile(rf"\bylim{_}={_}c?{PAIR}"),
    linear.compile(rf"\byaxis_range{_}={_}{PAIR}"),  # Plotly
    linear.compile(rf"\bupdate_yaxes\([^)\n]{{0,200}}\brange{_}={_}{PAIR}"),
    linear.compile(rf"\byaxis[\"']?{_}[=:]{_}(?:dict\(|\{{)[^\n}}]{{0,200}}\brange[\"']?{_}[=:]{_}{PAIR}"),
    linear.compile(  # Chart.js
        rf"\by[\"']?{_}:{_}\{{[^\n}}]{{0,200}}\bmin[\"']?{_}:{_}{FIGURE}"
        rf"(?:[^\n}}]{{0,100}}\bmax[\"']?{_}:{_}{FIGURE})?"
    ),
)
NEVER_ZERO = linear.compile(r"\bbeginAtZero[\"']?\s{0,10}:\s{0,10}false\b")
LOGARITHMIC = linear.compile(
    r"set\s{1,9}log(?:scale)?\s{0,9}(?:x?y|$)|yscale\(\s{0,9}[\"']log|semilogy|loglog|scale_y_log10"
    r"|log_y\s{0,9}=\s{0,9}True|type[\"']?\s{0,9}[:=]\s{0,9}[\"']log",
    linear.M,
)
BARS = linear.compile(
    r"\bwith (?:boxes|histograms?)\b|style data histograms?|\.bar\(|\bbarplot\(|kind\s{0,9}=\s{0,9}[\"']bar|px\.bar"
    r"|go\.Bar\b|type[\"']?\s{0,9}:\s{0,9}[\"']bar[\"']|geom_(?:bar|col)\b|\.countplot\("
)
COMMENTED = ("#", "//", "*", "%")


def _read(file: File) -> Sequence[Statement] | None:
    if not file.base.endswith(ENDS) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    if file.base.endswith((".json", ".vg", ".vl")):
        return list(_vega(file)) or None if b"vega" in file.head[:4096] else None
    if LOGARITHMIC.search(file.text):
        return None
    bars = BARS.search(file.text) is not None
    return list(_ranges(file, bars)) or None


def _ranges(file: File, bars: bool) -> Iterator[Statement]:
    of_text = [pattern for pattern in RANGES if pattern.search(file.text)]  # most files have none
    never = bars and NEVER_ZERO.search(file.text) is not None
    for number, line in enumerate(file.lines, start=1) if of_text or never else ():
        bare = line[:LINE_MAX]
        if bare.lstrip().startswith(COMMENTED):
            continue
        for pattern in of_text:
            if match := pattern.search(bare):
                begin, end = float(match[1]), float(match[2]) if match[2] else None
                yield from _axis(file, number, match[0].strip(), begin, end, bars)
                break
        else:
            if never and (match := NEVER_ZERO.search(bare)):
                yield Statement(file.at(number), "axis", f"bars, {match[0].strip()}", 1.0)


def _axis(file: File, line: int, text: str, begin: float, end: float | None, bars: bool) -> Iterator[Statement]:
    """What of the axis is cut off, as a share of its end; 1 where the end is not known."""
    if begin > 0 and (end is None or end > begin):
        yield Statement(file.at(line), "axis", f"{'bars, ' if bars else ''}{text}", begin / end if end else 1.0)


def _vega(file: File) -> Iterator[Statement]:
    try:
        document = json.loads(file.text)
    except (ValueError, RecursionError):
        return
    at = next((n for n, line in enumerate(file.lines, start=1) if '"zero"' in line or '"domain"' in line), 1)
    yield from _encoded(document, file, at, "", 0)


def _encoded(part: Any, file: File, at: int, mark: str, depth: int) -> Iterator[Statement]:
    if depth > DEPTH_MAX:
        return
    if isinstance(part, list):
        for one in part:
            yield from _encoded(one, file, at, mark, depth + 1)
    if not isinstance(part, dict):
        return
    of = part.get("mark", mark)
    mark = str(of.get("type", "")) if isinstance(of, dict) else str(of)
    channel = part["encoding"].get("y") if isinstance(part.get("encoding"), dict) else None
    scale = channel.get("scale") if isinstance(channel, dict) else None
    if isinstance(scale, dict) and scale.get("type") not in ("log", "symlog"):
        domain = scale.get("domain")
        told = domain if isinstance(domain, list) else []
        ends = [float(one) for one in told if isinstance(one, int | float) and abs(one) < END_MAX]
        if len(ends) > 1:
            yield from _axis(file, at, f"domain {ends[0]:g} to {ends[-1]:g}", ends[0], ends[-1], mark == "bar")
        elif scale.get("zero") is False and mark == "bar":
            yield Statement(file.at(at), "axis", 'bars, "zero": false', 1.0)
    for one in part.values():
        yield from _encoded(one, file, at, mark, depth + 1)


IMPORTER = Importer("specification of a chart", _read, beside=True)
