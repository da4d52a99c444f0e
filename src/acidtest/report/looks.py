"""How levels look: one factor has colours and shapes, another dashes, and each combination of the others a panel.

A level looks the same on every chart of every page: engines and durability levels have their looks by name, the levels
of other factors by their order in the experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from acidtest.journal.models import NOT_APPLICABLE, SIZE
from acidtest.report.table import short

# Each has a contrast of at least 3 to 1 with the page, light and dark, and stays apart from the others without red or
# green (OKLab distances in the model of Machado et al. 2009).
BLUE, ORANGE, GREEN = "#0072B2", "#C87000", "#00966E"
PINK, RED, VIOLET, PERIWINKLE, OLIVE = "#C978A7", "#C81000", "#8C1BFE", "#6C8BF4", "#646552"
COLOURS = (BLUE, ORANGE, GREEN, PINK, RED, VIOLET, PERIWINKLE, OLIVE)
GREY = "#7F7F7F"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
# The same shapes for a legend, as SVG paths around the origin, in a square of 12; a bar is a square without a line.
OUTLINES = {
    "circle": "M-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0Z",
    "square": "M-3.6,-3.6h7.2v7.2h-7.2Z",
    "triangle-up": "M0,-4.6L4.8,3.8H-4.8Z",
    "diamond": "M0,-5L4.4,0L0,5L-4.4,0Z",
    "cross": "M-1.6,-4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2Z",
    "triangle-down": "M0,4.6L4.8,-3.8H-4.8Z",
    "bar": "M-5,-5h10v10h-10Z",
}
DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (14, 5))
UNDASHED = DASHES[0]
FAINT = (1, 4)  # of a factor that does not apply

ENGINE, DURABILITY = "engine", "durability"
LINES_MAX = 12  # of two factors in one panel; above it the second has panels too
LOOKS_MAX = len(COLOURS) * len(SHAPES)


@dataclass(frozen=True)
class Look:
    """Of a line with its points, or of a point or bar alone."""

    colour: str
    shape: str = SHAPES[0]  # a symbol of Vega's
    dash: tuple[int, ...] = UNDASHED  # lengths drawn and left out in turn, in pixels

    @property
    def fields(self) -> dict[str, Any]:
        """As a chart's data have it. The points of a dashed line are hollow."""
        solid = self.dash == UNDASHED
        return {"colour": self.colour, "shape": self.shape, "dash": list(self.dash),
                "fill": self.colour if solid else "transparent"}  # fmt: skip


DURABILITIES = {
    "drive": Look(GREEN, SHAPES[0], DASHES[0]),
    "os": Look(ORANGE, SHAPES[1], DASHES[1]),
    "none": Look(RED, SHAPES[3], DASHES[2]),
}
# The shape is the product's; the newest versions, which are compared most, have the colours that differ most.
ENGINES = {
    "sqlite": Look(BLUE, "circle"),
    "firebird-5.0": Look(ORANGE, "square"),
    "firebird-4.0": Look(RED, "square"),
    "firebird-3.0": Look(OLIVE, "square"),
    "firebird-4.0-server": Look(PINK, "square"),
    "firebird-3.0-server": Look(PERIWINKLE, "square"),
    "firebird-3.0-server-i386": Look(BLUE, "square"),
    "postgresql-18": Look(PERIWINKLE, "triangle-up"),
    "postgresql-17": Look(GREEN, "triangle-up"),
    "postgresql-16": Look(VIOLET, "triangle-up"),
    "postgresql-15": Look(PINK, "triangle-up"),
    "postgresql-14": Look(OLIVE, "triangle-up"),
    "postgresql-13": Look(RED, "triangle-up"),
    "postgresql-12": Look(BLUE, "triangle-up"),
    "mariadb-11.8": Look(GREEN, "diamond"),
    "mariadb-11.4": Look(VIOLET, "diamond"),
    "mariadb-10.11": Look(PINK, "diamond"),
    "mariadb-10.2": Look(OLIVE, "diamond"),
    "mysql-9.7": Look(RED, "cross"),
    "mysql-8.0": Look(OLIVE, "cross"),
    "mysql-5.7": Look(VIOLET, "cross"),
    "mysql-5.5": Look(PINK, "cross"),
}
FIXED: Mapping[str, Mapping[str, Look]] = {ENGINE: ENGINES, DURABILITY: DURABILITIES}

T = TypeVar("T")


@dataclass(frozen=True)
class Key:
    label: str
    colour: str | None  # None: the text's
    shape: str | None
    dash: tuple[int, ...] | None  # None: without a line
    hollow: bool = False


@dataclass(frozen=True)
class Keys:
    title: str
    keys: tuple[Key, ...]


def by_order(names: Sequence[str], known: Mapping[str, Look] | None = None) -> dict[str, Look]:
    """A look for each of ``names``: its own where it is ``known``, else the next that nobody has.

    ``LOOKS_MAX`` are different; after these they repeat.
    """
    known = known or {}
    taken = {(known[name].colour, known[name].shape) for name in names if name in known}
    free = [look for look in _ordered() if (look.colour, look.shape) not in taken] or _ordered()
    looks: dict[str, Look] = {}
    for name in names:
        looks[name] = known[name] if name in known else free[(len(looks.keys() - known.keys())) % len(free)]
    return looks


def _ordered() -> list[Look]:
    many = len(COLOURS)
    return [Look(COLOURS[n % many], SHAPES[(n % many + n // many) % len(SHAPES)]) for n in range(many * len(SHAPES))]


class Looks:
    """Of the levels of one experiment."""

    def __init__(self, factors: Mapping[str, Sequence[str]]) -> None:
        """``factors`` as a journal's header has them, with all levels in their order."""
        held = {factor: [level for level in levels if level != NOT_APPLICABLE] for factor, levels in factors.items()}
        self._of = {factor: _of_factor(factor, levels) for factor, levels in held.items()}
        varied = {f: len(levels) for f, levels in held.items() if len(levels) > 1 and f not in ("workload", SIZE)}
        coloured = _coloured(varied)
        dashed = _dashed(varied, coloured)
        self.coloured, self.dashed = coloured or "", dashed or ""  # "": none
        apart = [f for f in varied if f not in (coloured, dashed)]
        self.panelled = (*apart, SIZE) if len(held.get(SIZE, ())) > 1 else tuple(apart)

    def of_level(self, factor: str, level: str) -> Look:
        return self._of.get(factor, {}).get(level, Look(GREY, SHAPES[0], FAINT))

    def of(self, levels: Mapping[str, str]) -> Look:
        """Of a row. Rows of one panel that differ have different looks; a factor that a row lacks shows nothing."""
        plain = Look(COLOURS[0])
        look = self.of_level(self.coloured, levels[self.coloured]) if self.coloured in levels else plain
        dashed = self.of_level(self.dashed, levels[self.dashed]) if self.dashed in levels else plain
        return Look(look.colour, look.shape, dashed.dash)

    def panels(
        self, rows: Sequence[T], levels: Callable[[T], Mapping[str, str]], *, dashes: bool = True
    ) -> list[tuple[str, list[T]]]:
        """The rows of each panel, with its title; one without a title where they have room in one.

        A row to which a panel's factor does not apply stands in all of its panels. Where marks have no ``dashes``, the
        factor that these distinguish has panels too.
        """
        factors = [*self.panelled]
        if self.dashed and not dashes and self.dashed != self.coloured:
            factors.insert(0, self.dashed)
        apart = [f for f in factors if len({levels(row).get(f) for row in rows}) > 1]
        held: dict[tuple[str, ...], list[int]] = {}
        for n, row in enumerate(rows):
            held.setdefault(tuple(levels(row).get(f, NOT_APPLICABLE) for f in apart), []).append(n)
        bare = [place for place in held if NOT_APPLICABLE in place]
        shared = {place for place in bare if any(covers(other, place) for other in held)}
        panels = []
        for place in held:
            if place not in shared:
                of = [n for at in (place, *(one for one in shared if _within(one, place))) for n in held[at]]
                panels.append((_title(apart, place), [rows[n] for n in sorted(of)]))
        return panels

    def legend(
        self, drawn: Iterable[Mapping[str, str]], among: Iterable[Mapping[str, str]], *, dashes: bool = True
    ) -> tuple[Keys, ...]:
        """What the looks of ``drawn`` rows stand for, of the factors that vary ``among`` those that might be drawn.

        Marks with ``dashes`` are lines with points, those without are bars.
        """
        drawn, among = list(drawn), list(among)
        keyed: list[Keys] = []
        for factor in dict.fromkeys((self.coloured, self.dashed if dashes else self.coloured)):
            if len({levels.get(factor) for levels in among}) < 2:
                continue
            present = {levels[factor] for levels in drawn if factor in levels}
            names = [name for name in (*self._of[factor], NOT_APPLICABLE) if name in present]
            keyed.append(Keys(short(factor), tuple(self._key(factor, name, dashes) for name in names)))
        return tuple(keyed)

    def _key(self, factor: str, level: str, dashes: bool) -> Key:
        look = self.of_level(factor, level)
        label = f"{level} (does not apply)" if level == NOT_APPLICABLE else level
        dash = look.dash if factor == self.dashed else UNDASHED
        if factor != self.coloured:
            return Key(label, None, None, dash)
        return Key(label, look.colour, look.shape, dash) if dashes else Key(label, look.colour, "bar", None)


def _of_factor(factor: str, levels: Sequence[str]) -> dict[str, Look]:
    known = FIXED.get(factor, {})
    looks = by_order(levels, known)
    # A dash of its own by order, too, as far as there are any.
    return {
        level: look
        if factor == DURABILITY and level in known
        else Look(look.colour, look.shape, DASHES[n % len(DASHES)])
        for n, (level, look) in enumerate(looks.items())
    }


def _coloured(varied: Mapping[str, int]) -> str | None:
    """Engines where they vary; else the factor with the most levels, durability only where it is alone."""
    able = [f for f, levels in varied.items() if levels <= LOOKS_MAX]
    return ENGINE if ENGINE in able else max(able, key=lambda f: (f != DURABILITY, varied[f]), default=None)


def _dashed(varied: Mapping[str, int], coloured: str | None) -> str | None:
    """Durability before all others, if there is room for its lines; alone it has colours and dashes."""
    if coloured == DURABILITY:
        return DURABILITY
    rest = sorted((f for f in varied if f != coloured), key=lambda f: f != DURABILITY)
    lines = varied[coloured] if coloured else 1
    return next((f for f in rest if varied[f] <= len(DASHES) and varied[f] * lines <= LINES_MAX), None)


def _title(factors: Sequence[str], place: tuple[str, ...]) -> str:
    named = zip(factors, place, strict=True)
    return ", ".join(f"{short(factor)} {level}" for factor, level in named if level != NOT_APPLICABLE)


def _within(row: tuple[str, ...], place: tuple[str, ...]) -> bool:
    return all(level in (at, NOT_APPLICABLE) for level, at in zip(row, place, strict=True))


def covers(other: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether ``place`` is ``other`` but for factors that do not apply."""
    return other != place and _within(place, other)
