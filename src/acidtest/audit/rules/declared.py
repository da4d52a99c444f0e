"""What a study declares of itself, held against the kit and against itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from acidtest.audit.bench import Bench, Declared, DeclaredResult, DeclaredSide, Published, Setting, TableRow
from acidtest.audit.changes import tables
from acidtest.audit.compared import OTHERS, PRODUCTS_BY_WORD
from acidtest.audit.declared import is_of
from acidtest.audit.said import and_more
from acidtest.families import PRODUCTS
from acidtest.finding import Found, rule
from acidtest.words import counted

BY_WORD = {  # facts of a machine that may differ when a study varies something
    "processor": ("processor", "cores"),
    "memory": ("memory_gb",),
    "drive": ("drive",),
    "file_system": ("file_system",),
    "system": ("system",),
    "architecture": ("processor", "cores", "instance"),
}
RATES = {"transactions": "tps", "queries": "qps", "requests": "rps", "operations": "ops"}
CALLED = {"memory_gb": "memory", "file_system": "file system"}
ROUNDED = 0.01  # of a figure that was published
# What a table of machines is called, and what it is not if these are what is compared.
DESCRIBES = re.compile(
    r"hardware|environment|machine|\bhost|server spec|specification|\bspecs?\b|infrastructure|instance|test ?bed|"
    r"set-?up|testumgebung|硬件|环境|環境|환경|оборудован",
    re.IGNORECASE,
)
VARIED = re.compile(
    r"\bcost|pric|pricing|recommend|requirement|minimum|scal(?:e|ing) (?:up|test)|result", re.IGNORECASE
)
FACT = re.compile(
    r"\b(?:cpu|processor|v?cpus|cores?|ram|memory|instance|machine|disk|drive|storage|ssd|iops|volume)\b", re.IGNORECASE
)
MEASURED = re.compile(
    r"us(?:age|ed)|utili[sz]ation|consum|peak|footprint|limit|shared|work_?mem|buffer|cache|avg|average|throughput|engine|"
    r"size on|growth|%",
    re.IGNORECASE,
)
TELLS = re.compile(r"\d|[a-z]{4}")


@rule(
    "machine-differs",
    severity="invalid",
    over=Bench,
    says="The sides ran on different machines, and the machine is not what is compared.",
    remedy='Measure all sides on one machine, or declare it: varies = ["machine"].',
    disproved_by="a record of the runs that names one machine",
    source="TPC-C, clause 8.3: what was measured on is disclosed; G. Heiser, Systems Benchmarking Crimes",
    about="place",
)
def machine_differs(bench: Bench) -> Iterator[Found]:
    if bench.declared is None:
        yield from _tabled(bench)
        return
    free = {fact for word in bench.declared.names for fact in BY_WORD.get(word, ())}
    for one, other in combinations(bench.declared.sides, 2):
        pairs = [pair for pair in _facts(bench.declared, one, other) if pair[0].name not in free]
        if pairs:
            told = "; ".join(f"{_called(a)} for {one.name} and {b.value} for {other.name}" for a, b in pairs)
            yield Found(f"{told}.", tuple(fact.says() for pair in pairs for fact in pair))


def _tabled(bench: Bench) -> Iterator[Found]:
    """Tables that describe the machine of each engine, with a column or a row for each, in which these differ."""
    for table in tables(bench):
        first = table[0]
        said = f"{first.under} {first.caption} {first.head[0]}"
        if not DESCRIBES.search(said) or VARIED.search(said):
            continue
        engines = {n: of for n, head in enumerate(first.head) if n and (of := products_in(head))}
        found: list[tuple[str, TableRow, tuple[int, ...]]] = []
        if len(set(engines.values())) > 1:
            for row in table:
                if FACT.search(row.cells[0]) and not MEASURED.search(row.cells[0]):
                    at = tuple(n for n in engines if n < len(row.cells))
                    if _unlike([row.cells[n] for n in at]):
                        found.append((row.cells[0], row, at))
        if found:
            label, row, at = found[0]
            text = " and ".join(f"{row.cells[n]} for {first.head[n]}" for n in at)
            more = and_more(len(found) - 1, "fact")
            evidence = (one.where.says(" | ".join(one.cells)) for _, one, _ in found)
            yield Found(f"{label}: {text}{more}.", tuple(evidence), certainty="read from prose")
            continue
        rows = [(row, of) for row in table if (of := products_in(row.cells[0]))]
        if len({of for _, of in rows}) < 2:
            continue
        for n, head in enumerate(first.head):
            cells = [row.cells[n] for row, _ in rows if n < len(row.cells)]
            if n and FACT.search(head) and not MEASURED.search(head) and _unlike(cells):
                told = " and ".join(f"{row.cells[n]} for {row.cells[0]}" for row, _ in rows[:2])
                evidence = (row.where.says(" | ".join(row.cells)) for row, _ in rows)
                yield Found(f"{head}: {told}.", tuple(evidence), certainty="read from prose")
                break


def _unlike(cells: Sequence[str]) -> bool:
    """Whether each tells a fact, and not all the same; one that holds another says the same with more words."""
    known = ["".join(cell.lower().split()) for cell in cells]
    if len(known) < 2 or any(not TELLS.search(one) for one in known):
        return False
    numbers = [re.findall(r"\d+(?:\.\d+)?", one) for one in known]
    same = len({tuple(of) for of in numbers}) == 1 and bool(numbers[0])
    return (
        not same
        and not any(one in other for one, other in pairwise(sorted(set(known), key=len)))
        and len(set(known)) > 1
    )


def products_in(text: str) -> str:
    """The only product that a heading names; "" where it names none, or several."""
    words = re.findall(r"[a-z]+", text.lower())
    named = {
        PRODUCTS_BY_WORD.get(word, word) for word in words if word in OTHERS | set(PRODUCTS) | set(PRODUCTS_BY_WORD)
    }
    return named.pop() if len(named) == 1 else ""


def _called(fact: Setting) -> str:
    return f"{CALLED.get(fact.name, fact.name)} is {fact.value}{' GB' if fact.name == 'memory_gb' else ''}"


def _facts(declared: Declared, one: DeclaredSide, other: DeclaredSide) -> Iterator[tuple[Setting, Setting]]:
    """Facts that are told of the machines of both and differ."""
    mine, theirs = declared.machine(one), declared.machine(other)
    for fact in mine.facts if mine and theirs else ():
        of_other = theirs.get(fact.name) if theirs else None
        if of_other and of_other.value.lower() != fact.value.lower():
            yield fact, of_other


@rule(
    "declared-otherwise",
    severity="invalid",
    over=Bench,
    says="A program or a dump of the kit is of another version than the study declares for its side.",
    remedy="Declare what was measured, or bring the files of what was measured.",
    disproved_by="a log or a version query of the measured server with the version that is declared",
    source="By definition: one of the two is wrong",
    about="settings",
)
def declared_otherwise(bench: Bench) -> Iterator[Found]:
    by_name = {side.name: side for side in bench.sides}
    for one in bench.declared.sides if bench.declared else ():
        side = by_name.get(one.name)
        if side is None or not one.version:
            continue
        seen = [(binary.where, binary.version) for binary in side.binaries if binary.engine == one.engine]
        seen += [(conf.where, conf.version) for conf in side.configurations if conf.engine == one.engine]
        others = [(where, version) for where, version in seen if version and not _same(one.version, version)]
        if others and len(others) == sum(bool(version) for _, version in seen):
            where, version = others[0]
            text = f"{one.name} is declared to be {one.version}, and {where.file} is of {version}."
            yield Found(text, (one.where.says(f"{one.name}: {one.version}"), where.says(version)))


def _same(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


@rule(
    "declared-not-in-results",
    severity="invalid",
    over=Bench,
    says="A figure is published that the results it rests on do not have.",
    remedy="Publish the median of the runs, or bring the results that the figure is from.",
    disproved_by="the results of the run that the figure is from",
    source="By definition: a figure is of the results that are named with it",
)
def declared_not_in_results(bench: Bench) -> Iterator[Found]:
    for said in bench.declared.published if bench.declared else ():
        for rate in said.rates:
            of_side = _results(bench, said, rate.name)
            figures = [(one, figure) for one in of_side for figure in _figures(one, said.unit)]
            values = [figure for _, figure in figures]
            wanted = float(rate.value)
            if values and not _is_of(wanted, values):
                span = f"{min(values):,.1f}" + (f" to {max(values):,.1f}" if max(values) > min(values) else "")
                unit = f" {said.unit}" if said.unit else ""
                text = (
                    f"{wanted:,.1f}{unit} is published for {rate.name}; {counted(len(of_side), 'result')} of it "
                    f"{'has' if len(of_side) == 1 else 'have'} {span}."
                )
                evidence = [one.where.says(f"{figure:,.1f}{unit}") for one, figure in figures]
                yield Found(text, (rate.where.says(f"{rate.name} = {wanted:,.1f}"), *evidence))


def _results(bench: Bench, said: DeclaredResult, side: str) -> list[Published]:
    """The results that a figure of one side rests on: those that are named, in the files of the side if any are."""
    named = [one for one in bench.published if not said.results or is_of(one.where.file, said.results)]
    files = next((one.files for one in bench.declared.sides if one.name == side), ()) if bench.declared else ()
    of_side = [one for one in named if files and is_of(one.where.file, files)]
    own = [one for one in bench.declared.sides if one.name == side and one.engine] if bench.declared else []
    if not of_side and own:
        of_side = [one for one in named if one.engine == own[0].engine]
    return of_side or [one for one in named if one.engine is None]


def _figures(one: Published, unit: str) -> list[float]:
    """What of a result may be meant by a figure of this unit; without one, any rate of it."""
    rates = [("tpm", one.tpm), ("nopm", one.nopm), (RATES.get(one.unit, ""), one.rate)]
    return [rate for name, rate in rates if rate and (not unit or not name or name == unit)]


def _is_of(wanted: float, values: list[float]) -> bool:
    """Whether it is one of them or their mean, as somebody rounds; or anything within their span, as a median is."""
    return min(values) * (1 - ROUNDED) <= wanted <= max(values) * (1 + ROUNDED)
