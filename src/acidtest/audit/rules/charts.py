"""Charts that show a difference larger than it is."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Statement
from acidtest.finding import Found, rule

OF_BARS = 0.1  # of the axis may be cut off below bars, whose length is what is seen
OF_LINES = 0.5


@rule(
    "axis-not-from-zero",
    severity="doubtful",
    over=Bench,
    says="An axis of values begins above zero: what is a few percent higher looks several times as high.",
    remedy="Begin at zero, at the least for bars, or mark the axis as cut.",
    disproved_by="a chart in the published text whose axis begins at zero",
    source="E. Tufte, The Visual Display of Quantitative Information: the lie factor; "
    "G. Heiser, Systems Benchmarking Crimes",
)
def axis_not_from_zero(bench: Bench) -> Iterator[Found]:
    cut = [one for one in bench.texts if one.kind == "axis" and (one.value or 0) > _allowed(one)]
    if cut:
        first, *others = cut
        more = f", and {len(others):,} more" if others else ""
        yield Found(
            f"The axis of a chart does not begin at zero: {first.text}{more}.",
            tuple(one.where.says(one.text) for one in cut),
        )


def _allowed(one: Statement) -> float:
    return OF_BARS if one.text.startswith("bars") else OF_LINES
