"""How levels look: the same wherever they are drawn, never two rows of a plot alike, and seen on a light and a dark page."""

from __future__ import annotations

import itertools
import math
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.engine import catalogue
from acidtest.journal.models import NOT_APPLICABLE
from acidtest.report.looks import COLOURS, DURABILITIES, ENGINES, GREY, LOOKS_MAX, OUTLINES, SHAPES, Looks, by_order
from acidtest.report.vega import lines, ticks

# Machado, Oliveira and Fernandes 2009: how linear RGB is seen without red's or green's cones.
SIGHTS = {
    "normal": np.eye(3),
    "without red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "without green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
# Ottosson 2020: linear RGB to OKLab, in which distances are as large as differences look.
TO_CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
TO_OKLAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    least, most = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (most + 0.05) / (least + 0.05)


def test_every_colour_is_seen_on_both_pages() -> None:
    style = (files("acidtest.report") / "templates" / "style.css").read_text(encoding="utf-8")
    backs = re.findall(r"--back: (#[0-9a-f]+);", style)
    pages = ["#" + "".join(2 * digit for digit in back[1:]) if len(back) == 4 else back for back in backs]
    assert len(pages) == 2
    assert [(colour, page) for colour in (*COLOURS, GREY) for page in pages if contrast(colour, page) < 3] == []


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_stay_apart_without_red_or_green(sight: str) -> None:
    seen = {colour: TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(SIGHTS[sight] @ linear(colour), 0, 1)) for colour in COLOURS}
    apart = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in itertools.combinations(COLOURS, 2)}
    assert min(apart.values()) > 0.09


def test_no_two_engines_look_alike_also_those_of_the_user() -> None:
    engines = [*catalogue.known(), "mine", "theirs"]
    looks = [Looks({"engine": engines}).of_level("engine", name) for name in engines]
    assert len({(look.colour, look.shape) for look in looks}) == len(engines)
    assert set(SHAPES) == set(OUTLINES) - {"bar"}


@given(st.permutations(list(ENGINES)), st.permutations(list(DURABILITIES)), st.integers(2, 6), st.integers(2, 3))
def test_engines_and_durability_look_the_same_on_every_page(
    engines: list[str], levels: list[str], many: int, some: int
) -> None:
    looks = Looks({"workload": ["tpcb"], "engine": engines[:many], "durability": levels[:some], "scale": ["1", "2"]})
    for engine in engines[:many]:
        shown = looks.of({"engine": engine, "durability": "drive", "scale": "1"})
        assert (shown.colour, shown.shape) == (ENGINES[engine].colour, ENGINES[engine].shape)
    for level in levels[:some]:
        assert looks.of_level("durability", level) == DURABILITIES[level]


def test_other_levels_look_the_same_whatever_else_varies() -> None:
    sizes = [str(n) for n in range(5)]
    alone = Looks({"page_size": sizes})
    beside = Looks({"engine": ["sqlite", "firebird-5.0"], "page_size": sizes, "durability": ["os", "drive"]})
    for size in sizes:
        assert alone.of_level("page_size", size) == beside.of_level("page_size", size)


factors = st.dictionaries(
    st.sampled_from(["engine", "durability", "place.filesystem", "page_size", "terminals", "size"]),
    st.sampled_from([1, 2, 3, 5, 9]),
    min_size=1,
    max_size=5,
).filter(lambda counts: math.prod(counts.values()) <= 150)
known = {"engine": [*ENGINES, "mine"], "durability": ["none", "os", "drive"]}


@given(factors, st.randoms(use_true_random=False))
def test_no_two_rows_of_a_plot_look_alike(counts: dict[str, int], random) -> None:
    levels = {
        f: random.sample(known[f], min(many, len(known[f]))) if f in known else [f"level {n}" for n in range(many)]
        for f, many in counts.items()
    }
    rows = [dict(zip(levels, one, strict=True)) for one in itertools.product(*levels.values())]
    # An engine does not have every factor; rows that become equal are one.
    for row in rows:
        if "page_size" in row and row.get("engine") == levels.get("engine", [""])[0]:
            row["page_size"] = NOT_APPLICABLE
    rows = [dict(one) for one in dict.fromkeys(tuple(row.items()) for row in rows)]
    looks = Looks(levels)
    panels = looks.panels(rows, lambda row: row)
    assert all(any(row in of for _, of in panels) for row in rows)
    for title, of in panels:
        drawn = [looks.of(row) for row in of]
        assert len(set(drawn)) == len(of), title
    assert len({title for title, _ in panels}) == len(panels)
    # Marks without a dash have the more panels.
    for title, of in looks.panels(rows, lambda row: row, dashes=False):
        assert len({(look.colour, look.shape) for look in map(looks.of, of)}) == len(of), title


def test_a_row_without_a_panels_factor_stands_in_all_of_its_panels() -> None:
    levels = {"engine": ["sqlite", "mine"], "place.scheduler": ["none", "bfq"], "place.mount": ["a", "b"]}
    rows = [
        {"engine": "sqlite", "place.scheduler": "none", "place.mount": NOT_APPLICABLE},
        *({"engine": "mine", "place.scheduler": "none", "place.mount": one} for one in ("a", "b")),
    ]
    panels = Looks(levels).panels(rows, lambda row: row)
    assert [(title, [row["engine"] for row in of]) for title, of in panels] == [
        ("mount a", ["sqlite", "mine"]), ("mount b", ["sqlite", "mine"]),
    ]  # fmt: skip


def test_a_legend_names_the_levels_that_are_drawn() -> None:
    levels = {"engine": ["sqlite", "firebird-5.0"], "durability": ["os", "drive"]}
    rows = [{"engine": one, "durability": other} for one in levels["engine"] for other in levels["durability"]]
    looks = Looks(levels)
    engines, durabilities = looks.legend(rows, rows)
    assert [key.label for key in engines.keys] == ["sqlite", "firebird-5.0"]
    assert [(key.label, key.colour, key.dash) for key in durabilities.keys] == [
        ("os", None, (7, 3)), ("drive", None, (1, 0)),
    ]  # fmt: skip
    # Of which row a lone line is, must be said too.
    engines, durabilities = looks.legend(rows[1:2], rows)
    assert ([key.label for key in engines.keys], [key.label for key in durabilities.keys]) == (["sqlite"], ["drive"])
    assert [group.title for group in looks.legend(rows, rows, dashes=False)] == ["engine"]


def test_looks_repeat_only_after_all_of_them() -> None:
    names = [str(n) for n in range(LOOKS_MAX)]
    assert len({(look.colour, look.shape) for look in by_order(names).values()}) == LOOKS_MAX


@given(st.floats(-6, 9), st.floats(0.05, 9))
def test_a_logarithmic_axis_has_round_figures_within_it(low: float, decades: float) -> None:
    least, most = 10**low, 10 ** (low + decades)
    found = ticks(least, most)
    assert 3 <= len(found) <= 9
    assert all(least <= tick <= most * (1 + 1e-9) for tick in found)
    assert found == sorted(set(found))
    assert all(len(f"{tick:.6e}".partition("e")[0].replace(".", "").rstrip("0")) <= 5 for tick in found)


@given(st.text("abc -,\n", min_size=1, max_size=40))
def test_labels_are_wrapped_and_never_cut(name: str) -> None:
    wrapped = lines(name, 10)
    assert "".join("".join(wrapped).split()) == "".join(name.split())
    assert all(len(line) <= 10 for line in wrapped) or not name.strip()
    assert math.ceil(len("".join(wrapped)) / 10) <= len(wrapped) or not name.strip()
