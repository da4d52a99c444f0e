"""How figures are shown: without a unit, in two ways of writing, percentiles that tell nothing, runs that broke off."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from acidtest.audit.bench import Bench, Published, TableRow
from acidtest.audit.importers.figures import value_of
from acidtest.audit.result_text import Seen, and_more, called, gathered, over_results, rate
from acidtest.finding import Found, rule

FLAT = 1.02  # times the mean or median, up to which the 99th percentile is that
FINE = re.compile(r"\d{2,}\.\d+ ?[a-zµ/%]*|\d\.\d{2,} ?[a-zµ/%]*")  # what two runs seldom have in common
FIGURES_LEAST = 5  # different ones of a row
DIGITS = re.compile(r"\d+")
AMOUNT = re.compile(r"\d[\d,]*(?:\.\d+)?")  # without a unit
OFF_SHARE = 0.005  # of a ratio, by which it may be off in as many units of its last digit
RATIO = re.compile(r"[-+−]?\d{1,5}(?:\.\d{1,3})? ?[%x×]")
RATIOS: tuple[Callable[[float], float], ...] = (  # of the later figure to the one before it, as tables tell them
    lambda of: of, lambda of: 1 / of, lambda of: of - 1, lambda of: 1 / of - 1,
)  # fmt: skip
OF_ALL = re.compile(r"mean|average|avg|total|overall|median", re.IGNORECASE)  # whose ratio may be that of ratios
LAST_DIGITS = 2.0  # that a ratio may be off by, as its figures are rounded too
RIGHT_FOR_WRONG = 3  # rows of a table
ENDED = " that ends before its "


@over_results(
    "percentiles-flat",
    among=lambda bench: bench.others,
    severity="note",
    says="The 99th percentile is the mean: it is of few values or of means, or all requests waited for one thing.",
    remedy="Take percentiles from all latencies of the run, and say how many these are.",
    disproved_by="a record of each latency from which the same percentiles follow",
    source='B. Schwartz, "Why Percentiles Don\'t Work the Way You Think" (2016)',
)
def percentiles_flat(one: Published) -> Seen | None:
    middle = one.latency_ms.get("mean") or one.latency_ms.get("p50")
    high = one.latency_ms.get("p99")
    if not middle or not high or not middle <= high <= FLAT * middle:
        return None
    names = ("mean", "p50", "p95", "p99")
    text = ", ".join(f"{name} {one.latency_ms[name]:,.6g} ms" for name in names if name in one.latency_ms)
    return Seen(one, f"{called(one)}: {text}", (one.where.says(text),))


@rule(
    "unfinished-run",
    severity="note",
    says="The output of a run ends before its result: it was broken off, or failed.",
    remedy="Say why, and repeat the run; what only finished runs show is a choice.",
    disproved_by="the rest of the output",
    source="G. Heiser, Systems Benchmarking Crimes: selective data sets",
)
def unfinished_run(bench: Bench) -> Iterator[Found]:
    if said := [one for one in bench.broken if ENDED in one.text]:
        more = and_more(len(said) - 1, "file", after=" like it")
        yield Found(f"{said[0].file} {said[0].text}{more}.", tuple(said))


@rule(
    "figures-repeated",
    severity="invalid",
    says="Two runs have all figures in common, to the last digit: one of them is the other's, shown again.",
    remedy="Find the run whose result is missing, make it again, and let each run write a file of its own.",
    disproved_by="the output of both runs, from which the same figures follow",
    source="R. Jain, The Art of Computer Systems Performance Analysis, chapter 13: each measurement is random",
)
def figures_repeated(bench: Bench) -> Iterator[Found]:
    alike: dict[tuple[object, ...], list[TableRow]] = defaultdict(list)
    tables: dict[tuple[str, int], dict[Sequence[str], TableRow]] = defaultdict(dict)
    results = {other.where for other in bench.others if other.told and (other.rate or other.latency_ms)}
    for row in bench.rows:
        tables[row.where.file, row.table][_kind(row)] = row
        if row.where in results and len(set(filter(FINE.fullmatch, row.cells[1:]))) >= FIGURES_LEAST:
            alike[row.head, row.cells[1:]].append(row)
    again = [
        [one, other]
        for first, *others in alike.values()
        for one, other in pairwise([first, *others])
        if _is_again(one, other, *(tables[row.where.file, row.table] for row in (one, other)))
    ]
    if again:
        of = again[0]
        text = f"{of[0].where.file} has {' | '.join(of[0].cells)} again as {' | '.join(of[1].cells)}"
        evidence = (row.where.says(" | ".join(row.cells)) for of in again for row in of)
        yield Found(f"{text}{and_more(len(again) - 1, 'row', before='the like in ')}.", tuple(evidence))
    yield from gathered(_copies(bench), "guessed")


def plain(cell: str) -> float | None:
    return value_of(cell) if AMOUNT.fullmatch(cell) else None


def _off(cell: str, ratio: float) -> float:
    """By how many units of its last digit a ratio is off, whatever its sign; of one told in few digits by a share."""
    digits = cell.strip("-+−%x× ")
    unit = 10.0 ** -len(digits.partition(".")[2])
    told = float(digits)
    ratio = abs(100 * ratio if "%" in cell else ratio)
    return abs(told - ratio) / max(unit, OFF_SHARE * ratio)


def _kind(row: TableRow) -> Sequence[str]:
    """The cells that say what a row is of: those before its first figure."""
    return tuple(takewhile(lambda cell: not FINE.fullmatch(cell), row.cells))


def _is_again(
    one: TableRow, other: TableRow, of_one: Mapping[Sequence[str], TableRow], of_other: Mapping[Sequence[str], TableRow]
) -> bool:
    """Whether two rows are said to be of different runs: by their names in one table, or in tables of which most rows
    of one name differ."""
    if of_one is of_other:
        return _kind(one) != _kind(other)
    both = of_one.keys() & of_other.keys()
    return _kind(one) == _kind(other) and sum(of_one[n].cells != of_other[n].cells for n in both) > len(both) / 2


def _copies(bench: Bench) -> Iterator[Seen]:
    """Outputs in files that are numbered as different runs."""
    runs: dict[tuple[object, ...], dict[str, Published]] = defaultdict(dict)
    for one in bench.measured:
        if one.rate and one.measured_s and len(one.latency_ms) > 1:
            figures = (one.name, one.rate, one.measured_s, *one.latency_ms.values(), one.series)
            runs[DIGITS.sub("#", one.where.file), *figures].setdefault(one.where.file, one)
    for of in runs.values():
        one, *others = of.values()
        for other in others:
            text = f"{other.where.file} is {one.where.file} again: {rate(one)} in {one.measured_s:g} s"
            yield Seen(one, text, (one.where.says(rate(one)), other.where.says(rate(other))))


@rule(
    "arithmetic",
    severity="doubtful",
    says="A ratio in a table does not follow from the figures beside it, as those of its other rows do.",
    remedy="Compute ratios from the figures that are shown, by a program.",
    disproved_by="figures from which the ratio follows",
    source="G. Fleming, J. Wallace: How not to lie with statistics (CACM 1986)",
)
def arithmetic(bench: Bench) -> Iterator[Found]:
    of_table: dict[tuple[str, int, int], list[tuple[TableRow, str, float]]] = defaultdict(list)
    for row in bench.rows:
        for at, cell in enumerate(row.cells):
            figures = [value for cell in row.cells[1:at] if (value := plain(cell)) is not None]
            ratio = RATIO.fullmatch(cell.strip("* "))
            if ratio and len(figures) > 1 and min(figures[-2:]) > 0 and not OF_ALL.search(row.cells[0]):
                of_table[row.where.file, row.table, at].append((row, ratio[0], figures[-1] / figures[-2]))
    wrong = []
    for of in of_table.values():
        # What the column is of the two figures before it: how far each row is from it, in units of its last digit.
        off = min(([_off(cell, how(ratio)) for _, cell, ratio in of] for how in RATIOS), key=lambda all_: sum(
            one > LAST_DIGITS for one in all_))  # fmt: skip
        some = [one for one, far in zip(of, off, strict=True) if far > LAST_DIGITS]
        if len(of) > len(some) * RIGHT_FOR_WRONG:
            wrong += some
    if wrong:
        row, cell, times = wrong[0]
        more = and_more(len(wrong) - 1, "row", before="the like in ")
        text = (
            f"{row.where.file}: “{' | '.join(row.cells)}”: one figure is {times:.3g}-fold the other, not {cell}{more}."
        )
        yield Found(text, tuple(one.where.says(" | ".join(one.cells)) for one, _, _ in wrong))
