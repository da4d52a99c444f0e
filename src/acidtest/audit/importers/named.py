"""Parameters that a result's file, folder or label is named by: ``oltp_rw_c64_run2.log``, ``threads=16/run3.txt``, a
row "64 clients". They are taken where the result does not say so itself, and only where all names agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acidtest.audit.bench import Published
from acidtest.formats import linear

PARTS_MAX = 4  # of a path, from the end
NAME_MAX = 200
BEFORE = r"(?:^|[^a-zA-Z0-9])"
AFTER = r"(?:[^a-zA-Z0-9.]|\.[^0-9]|$)"
CLIENTS = (
    r"(?:clients?|cli|cl|connections?|conns?|conn|threads?|thrds?|thr|th|vus?|vusers?|users|terminals|terms?|concurrency|"
    r"conc|sessions?)"
)
SCALE = r"(?:scale(?:[-_ ]?factor)?|sc|sf|warehouses?|wh)"
RUN = r"(?:run|rep|repetition|iter|iteration|trial|round|attempt|pass)"
PATTERNS: tuple[tuple[str, linear.Pattern[str]], ...] = (
    ("terminals", linear.compile(rf"{BEFORE}{CLIENTS}[-_ =:]{{0,2}}(\d{{1,5}}){AFTER}", linear.I)),
    ("terminals", linear.compile(rf"{BEFORE}(\d{{1,5}})[-_ ]?{CLIENTS}{AFTER}", linear.I)),
    ("scale", linear.compile(rf"{BEFORE}{SCALE}[-_ =:]{{0,2}}(\d{{1,7}}){AFTER}", linear.I)),
    ("repetition", linear.compile(rf"{BEFORE}{RUN}[-_ =:#]{{0,2}}(\d{{1,4}}){AFTER}", linear.I)),
)
# "s100_c32": letters alone say so where both stand together, as the options of pgbench.
OPTIONS = linear.compile(r"(?:^|[-_/])s(\d{1,6})[-_]c(\d{1,5})(?:[-_./]|$)", linear.I)


def filled(one: Published) -> Published:
    """The result with what its names tell and it does not."""
    known: dict[str, int | float] = {}
    for name, value in _told(one).items():
        if getattr(one, name) is None and not (name == "terminals" and one.threads is not None):
            known[name] = float(value) if name == "scale" else value
    return replace(one, **known) if known else one  # type: ignore[arg-type]


def _told(one: Published) -> dict[str, int]:
    """What the nearest name tells of each: its label, its file, and the folders that hold it."""
    told: dict[str, int] = {}
    for text in _names(one):
        found: dict[str, set[int]] = {}
        for name, pattern in PATTERNS:
            for match in pattern.finditer(text):
                found.setdefault(name, set()).add(int(match[1]))
        if (options := OPTIONS.search(text)) is not None:
            found.setdefault("scale", set()).add(int(options[1]))
            found.setdefault("terminals", set()).add(int(options[2]))
        for name, values in found.items():
            if len(values) == 1 and min(values) > 0:
                told.setdefault(name, values.pop())
    return told


def _names(one: Published) -> Iterator[str]:
    file = one.where.file.rpartition("/")[2]
    if one.name.lower() != file.lower():
        yield one.name[-NAME_MAX:]
    if not (one.told and one.under):
        yield from (part[:NAME_MAX] for part in reversed(one.where.file.split("/")[-PARTS_MAX:]))
