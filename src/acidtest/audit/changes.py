"""What a table says of its own figures: the columns of a change, and the two figures that each change is of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, TableRow
from acidtest.finding import Evidence
from acidtest.formats import linear

CHANGE = linear.Pattern(
    r"[~≈]?\s?([-+−–]?)\s?(\d{1,7}(?:[.,]\d{1,4})?)\s?(%|x|×|倍)(?: (?:faster|slower|more|less|higher|lower))?"
)
FIGURE = linear.Pattern(
    r"[~≈]?\s?(\d[\d,']{0,20}(?:\.\d{1,9})?)"
    r"(?:\s?([kKM])(?: ?(?i:[a-z]{1,4}ps|ops/s(?:ec)?|[a-z]{2,12}/s(?:ec)?))?|\s?([a-zA-Zμµ/%]{0,12}))"
)
GROUPED = linear.Pattern(r"\d{1,3}(?:[,']\d{3})+(?:\.\d{1,9})?")
AGREE_LEAST = 2  # rows of a column that must follow from its figures, before one that does not is wrong
AGREE_SHARE = 0.6
POINTS = 1.0  # per cent: figures are cut off as well as rounded
SHARE = 0.03  # of a change of several hundred per cent
HIGHER = linear.Pattern(
    r"throughput|\btps\b|\bqps\b|\brps\b|\biops\b|\bnopm\b|\btpm|/s(?:ec)?\b|per second|\bops\b|score", re.I
)
LOWER = linear.Pattern(r"latenc|\bms\b|\btime\b|duration|elapsed|\bns\b|[μµ]s\b|seconds|\bp9\d|response", re.I)


@dataclass(frozen=True)
class Cell:
    """A figure of a table, and where it stands there."""

    row: TableRow
    at: int
    value: float

    def says(self) -> Evidence:
        return self.row.where.says(f"{self.row.cells[0]}: {self.row.cells[self.at]} {self.row.head[self.at]}".strip())


@dataclass(frozen=True)
class Change:
    """A cell that tells how two figures of its row differ."""

    row: TableRow
    at: int  # its column
    first: int  # the columns of the two figures
    second: int
    told: float  # a factor is told as one: 1.2
    factor: bool
    step: float  # of its last digit
    figures: tuple[float, float]

    @property
    def cell(self) -> str:
        return self.row.cells[self.at]

    @property
    def label(self) -> str:
        return self.row.cells[0]

    @property
    def rise(self) -> float:
        """How much more the second figure is than the first, as a share."""
        return self.figures[1] / self.figures[0] - 1

    @property
    def follows(self) -> bool:
        """Whether it may be the change of its figures, whichever of them it is told of."""
        return any(self.near(one(*self.figures)) for one in _forms(self.factor))

    def near(self, value: float) -> bool:
        off = abs(abs(self.told) - abs(value))
        if self.factor:
            return off <= max(self.step, SHARE * abs(value) if self.step >= 1 else 0.0, 0.6 * self.step)
        return off <= max(POINTS, self.step, SHARE * abs(value))

    @property
    def gains(self) -> bool | None:
        """Whether the second is the better one; None where nothing says which way is better."""
        text = f"{self.row.head[self.first]} {self.row.head[self.second]} {self.row.caption} {self.row.under}"
        higher, lower = HIGHER.search(text) is not None, LOWER.search(text) is not None
        if higher == lower or not self.rise:
            return None
        return (self.rise > 0) is higher


Form = Callable[[float, float], float]
PERCENT: tuple[Form, ...] = (lambda one, other: 100 * (other / one - 1), lambda one, other: 100 * (one / other - 1))
FACTOR: tuple[Form, ...] = (lambda one, other: other / one, lambda one, other: one / other)


def _forms(factor: bool) -> tuple[Form, ...]:
    return FACTOR if factor else PERCENT


def figure(cell: str) -> float | None:
    """The figure that a cell is; None of a share, a range or a text."""
    match = FIGURE.fullmatch(cell.strip())
    if match is None or match[3] in ("%", "x") or ("," in match[1] and not GROUPED.fullmatch(match[1])):
        return None
    return float(re.sub(r"[,']", "", match[1])) * {"k": 1e3, "K": 1e3, "M": 1e6}.get(match[2] or "", 1.0)


def _told(cell: str) -> tuple[float, bool, float] | None:
    match = CHANGE.fullmatch(cell.strip())
    if match is None:
        return None
    digits = match[2].replace(",", ".")
    sign = -1 if match[1] in ("-", "−", "–") and match[1] else 1
    return sign * float(digits), match[3] != "%", 10.0 ** -len(digits.partition(".")[2])


def tables(bench: Bench) -> list[list[TableRow]]:
    """The rows of each table."""
    by_table: dict[tuple[str, int], list[TableRow]] = defaultdict(list)
    for row in bench.rows:
        by_table[row.where.file, row.table].append(row)
    return list(by_table.values())


def columns(table: Sequence[TableRow]) -> Iterator[list[Change]]:
    """The changes of each column that tells changes of the two figures before it: most of them follow."""
    wide = min(len(row.cells) for row in table)
    figured = [n for n in range(wide) if 2 * sum(figure(row.cells[n]) is not None for row in table) > len(table)]
    for at in range(2, wide):
        before = [n for n in figured if n < at][-2:]
        if len(before) < 2 or before[1] != at - 1:
            continue
        found = [one for row in table if (one := _change(row, at, *before))]
        agree = sum(one.follows for one in found)
        if agree >= AGREE_LEAST and agree >= AGREE_SHARE * len(found):
            yield found


def _change(row: TableRow, at: int, first: int, second: int) -> Change | None:
    told, one, other = _told(row.cells[at]), figure(row.cells[first]), figure(row.cells[second])
    if told is None or not one or not other:
        return None
    return Change(row, at, first, second, *told, (one, other))
