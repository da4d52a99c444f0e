"""Whether durability seems to be what a kit compares: what names and tables announce is shown, as long as the study
declares nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.bench import Bench, Side
from acidtest.finding import listed
from acidtest.formats import linear

# What decides about a commit or a page, as settings and people call it.
KNOB = (
    r"fsync|synchronous(?:[_ -]?commit)?|sync[_ -]?commit|flush[_ -]?log\w*|trx[_ -]?commit|sync[_ -]?binlog|"
    r"double[_ -]?write|full[_ -]?page[_ -]?writes|fpw|durab\w*|forced[_ -]?writes|barriers?|write[_ -]?concern|"
    r"appendfsync|wal[_ -]?mode|journal[_ -]?mode"
)
HEAD = linear.compile(rf"[\w ]{{0,20}}\b(?:{KNOB})\b[\w ]{{0,30}}", linear.I)
LEVELS = linear.compile(
    r"on|off|[0-3]|full|normal|extra|local|remote_\w+|yes|no|true|false|always|everysec|none", linear.I
)
# In names of configurations and folders.
NAMED = re.compile(
    r"sync|flush|commit|trx|durab|(?<![a-z])(?:un)?safe|double_?write|fpw|relaxed|barrier|"
    r"(?:^|[/_.-])(?:on|off|[012])(?:[/_.-]|$)",
    re.IGNORECASE,
)


def meant(bench: Bench, sides: Sequence[Side]) -> str:
    """By what a difference between sides of one engine seems to be meant; "" by nothing, or where it is declared what
    varies."""
    if (bench.declared and bench.declared.varies is not None) or len({(one.engine, one.version) for one in sides}) > 1:
        return ""
    if len(sides) > 1 and all(NAMED.search(side.name) for side in sides):
        return f"the sides are named {listed(side.name for side in sides)}"
    for row in bench.rows:
        for at, head in enumerate(row.head[: len(row.cells)]):
            if HEAD.fullmatch(head.strip("*_` ")) and LEVELS.fullmatch(row.cells[at].strip("*_` ")):
                return "a table has a column of its levels"
    return ""
