"""Whether what is compared was measured often enough to tell a difference from chance."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median_low

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.audit.bench import Bench, Published, Step, TableRow
from acidtest.audit.repeated import DRIVE_TOOLS, REPEATED, repetitions, uneven
from acidtest.audit.result_text import rate
from acidtest.audit.rules.rates import loads
from acidtest.finding import Evidence, Found, listed, rule
from acidtest.formats import linear
from acidtest.words import counted

UNBOUNDED = "± ∞"  # as benchstat tells that there are too few runs for an interval
DRIVES_COMPARED = 4  # results of tests of drives: fewer may describe the one that was used
FIGURES_LEAST = 2  # of which one is compared with the other
PLACES_OF_A_FILE = 4  # that are quoted of one file
COUNTING = linear.compile(r"date|time|\brun|\brep|\biter|\bid\b|#|seed|\bno\b", linear.I)  # of a row, not its kind
# The heading of one of several columns, each with one run.
RUN_HEAD = linear.compile(
    r"(?:run|test|trial|round|attempt|try|pass|iteration|rep(?:etition)?|measurement)?"
    r"[ _#-]{0,3}(\d{1,2})(?:st|nd|rd|th|\.)?(?: (?:run|test|trial|round|attempt|try|pass|"
    r"iteration))?(?: ?[(\[].*)?",
    linear.I,
)
# The name of a file or folder that is one of several runs.
RUN_NAME = re.compile(
    r"(?:^|[^a-z])(?:run|rep(?:etition)?|round|iter(?:ation)?|trial|try|attempt|pass|r|"
    r"take)[-_ #.]?0{0,2}(\d{1,2})(?!\d)",
    re.IGNORECASE,
)
NUMERIC_ROWS, NUMERIC_SHARE = 3, 0.7  # of a table of figures
FEW_ROWS, FEW_CELLS = 2, 4  # of one whose words tell that it is of a measurement
MEASURED = linear.compile(
    r"\b(?:tps|qps|rps|iops|ops|nopm|tpm|throughput|latenc\w{1,3}|response|time|duration|seconds?|sec|m?s|µs|us|ns|p9\d|"
    r"inserts?|selects?|updates?|deletes?|reads?|writes?|quer(?:y|ies)|faster|speed\w{0,3})\b|/s\b",
    linear.I,
)
AMOUNT = re.compile(r"[*_`~≈ ]{0,4}[-+]?\d[\d.,' ]{0,20}[kKM%]?[*_` ]{0,4}")
CELL = re.compile(r"[*_`~≈ ]{0,4}[-+]?\d")


@rule(
    "few-repetitions",
    severity="doubtful",
    says="Rates are compared that were measured too few times to tell a difference from chance.",
    remedy=f"Repeat every run at least {REPETITIONS_FOR_INTERVAL} times and give an interval.",
    disproved_by="further runs of the same that are not in the kit",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (ISMM 2013)",
)
def few_repetitions(bench: Bench) -> Iterator[Found]:
    drives_only = bool(bench.measured) and all(one.tool in DRIVE_TOOLS for one in bench.measured)
    kinds = repetitions(bench, DRIVE_TOOLS if drives_only else (), timed=True)
    measured = [of for of in kinds.values() if of and not loads(of[0])]
    if drives_only and len(measured) < DRIVES_COMPARED:
        measured = []
    groups = measured or _told_apart(bench)
    said = [one for one in bench.said("repeated") if one.value]
    # What was measured counts as often as it is there, unless more is declared: a script may have been another run's.
    declared = bench.declared.where.file if bench.declared else ""
    stated = max((one.value or 0 for one in said if not measured or one.where.file == declared), default=0)
    unbounded = any(UNBOUNDED in of[0].written for of in groups)
    usual = median_low(max(len(of), *(one.runs or 1 for one in of)) for of in groups) if groups else 0
    usual = 0 if unbounded else usual
    most = max(stated, usual, _columns(bench.rows), _numbered(bench), _rows_numbered(bench))
    if most >= REPEATED:
        if of_sides := uneven(bench) if stated < REPEATED else []:
            least, *others = (f"{counted(len(of), 'run')} of {name}" for name, of in of_sides)
            one_or_more = "is" if len(of_sides[0][1]) == 1 else "are"
            yield Found(
                f"{least} {one_or_more} compared with {listed(others)}.",
                tuple(one.where.says(rate(one)) for _, of in of_sides for one in of),
            )
        return
    figures = [] if len(groups) >= FIGURES_LEAST else _figures(bench)
    if max(len(groups), len(figures)) < FIGURES_LEAST:
        return
    times = "once" if most <= 1 else f"at most {counted(most, 'time', spec=',g')}"
    times = "too few times for an interval, as the tool says" if unbounded else times
    ranked = sorted((of[0] for of in groups), key=lambda one: one.where.file)
    of_its_kind = {id(of[0]): len(of) for of in groups}
    evidence = [one.where.says(f"{rate(one)}, {of_its_kind[id(one)]:,} of its kind") for one in ranked]
    evidence += [one.where.says(one.text) for one in said if (one.value or 0) < REPEATED]
    evidence += [plan.where.says(f"{plan.tool} is asked for here") for plan in bench.plans]
    evidence += [step.where.says(step.text) for step in _started(bench)]
    evidence += figures or _figures(bench)
    number = max(len(groups), len(figures))
    sampled = bench.said("sampled")
    rated = any(of[0].rate for of in groups)
    if (measured and not figures and (rated or not sampled)) or said:
        kind = "rate" if figures or all(of[0].rate for of in groups) else "figure"
        text = f"{counted(number, kind)} are compared, each measured {times}."
        yield Found(text, tuple(dict.fromkeys(evidence)))
        return
    # How often what stands in a text was measured is for its author to declare.
    told = not measured and not bench.harnesses
    if sampled:
        text = f"{counted(number, 'figure')} are compared, and nothing says that more than one run was made of any."
        evidence = [*evidence, *(one.where.says(one.text) for one in sampled)]
    else:
        text = f"{counted(number, 'figure')} are compared, and no file shows that any was repeated."
    # Of figures that nobody parsed it is not known what they are: several may be repetitions.
    yield Found(
        text, tuple(dict.fromkeys(evidence)), "guessed" if figures else None, noted=bool(figures or sampled or told)
    )


def _started(bench: Bench) -> Iterator[Step]:
    """Where scripts start what is measured: of each the first place."""
    for harnesse in bench.harnesses:
        yield from [step for step in harnesse.steps if step.kind == "run"][:1]


def _told_apart(bench: Bench) -> list[list[Published]]:
    """The figures of each table, each with those that stand under the same name and differ in nothing that is told."""
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for number, table in enumerate(tables(bench)):
        for one in table:
            if one.rate or one.took_s or one.nopm or one.latency_ms:
                told = tuple(value for name, value in sorted(one.parameters.items()) if not COUNTING.search(name))
                what = (one.name, one.terminals, one.unit, one.scale, one.measured_s, tuple(one.latency_ms), told)
                groups[number, *what].append(one)
    return [list({one.where.line: one for one in of}.values()) for of in groups.values()]


def _columns(rows: Sequence[TableRow]) -> int:
    """How many columns of runs most rows of a table fill that has such columns; 0 where no table has."""
    filled: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows:
        columns = _run_columns(row.head)
        if columns:
            count = sum(1 for at in columns if at < len(row.cells) and CELL.match(row.cells[at]))
            filled[row.where.file, row.table].append(count)
    return max((median_low(counts) for counts in filled.values()), default=0)


def _run_columns(head: Sequence[str]) -> list[int]:
    """Those that are numbered from 1 on."""
    numbers = [(at, int(match[1])) for at, cell in enumerate(head) if (match := RUN_HEAD.fullmatch(cell.strip("*_` ")))]
    counts = [number for _, number in numbers]
    return [at for at, _ in numbers] if len(counts) > 1 and counts == list(range(1, len(counts) + 1)) else []


def _numbered(bench: Bench) -> int:
    """How many runs the names of results count, as run1 to run3; 0 where they count none."""
    counts: dict[str, set[int]] = defaultdict(set)
    for file in {one.where.file for one in bench.measured}:
        for match in RUN_NAME.finditer(file):
            counts[file[: match.start(1)]].add(int(match[1]))
    return max((len(of) for of in counts.values() if min(of) < 2 and max(of) - min(of) == len(of) - 1), default=0)


def _rows_numbered(bench: Bench) -> int:
    """How many runs the rows of most tables count in a column of their own; 0 where none does."""
    counts = []
    for table in tables(bench):
        numbers = {one.repetition for one in table if one.repetition is not None}
        if numbers and min(numbers) < 2 and max(numbers) - min(numbers) == len(numbers) - 1:
            counts.append(len(numbers))
    return median_low(counts) if counts else 0


def _figures(bench: Bench) -> list[Evidence]:
    """Where figures of a measurement stand, whether anybody parsed them or not: of each file the first."""
    found = [
        other.where.says(rate(other)) for other in bench.others if not other.planned and (other.rate or other.nopm)
    ]
    found += bench.not_understood
    found += _numeric(bench.rows)
    of_file: dict[str, dict[int | None, Evidence]] = defaultdict(dict)
    for one in found:
        if len(of_file[one.file]) < PLACES_OF_A_FILE:
            of_file[one.file].setdefault(one.line, one)
    return [one for of in of_file.values() for one in of.values()]


def _numeric(rows: Sequence[TableRow]) -> Iterator[Evidence]:
    """Rows of tables of which nearly all cells but the first are figures, in tables of several such rows."""
    of_table: dict[tuple[str, int], list[TableRow]] = defaultdict(list)
    figures: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        cells = [cell for cell in row.cells[1:] if cell.strip()]
        if cells and sum(1 for cell in cells if AMOUNT.fullmatch(cell.strip())) > NUMERIC_SHARE * len(cells):
            of_table[row.where.file, row.table].append(row)
            figures[row.where.file, row.table] += len(cells)
    for at, of in of_table.items():
        text = " ".join((*of[0].head, of[0].under, *(row.cells[0] for row in of)))
        few = len(of) >= FEW_ROWS and figures[at] >= FEW_CELLS and MEASURED.search(text)
        if len(of) >= NUMERIC_ROWS or few:
            yield from (row.where.says(" | ".join(row.cells)[:120]) for row in of)


def tables(bench: Bench) -> list[list[Published]]:
    """The results of each table of a text: of one file, on lines that follow each other."""
    told = sorted(
        (other for other in bench.others if other.told), key=lambda one: (one.where.file, one.where.line or 0)
    )
    found: list[list[Published]] = []
    for one in told:
        last = found[-1][-1].where if found else None
        if last and last.file == one.where.file and (one.where.line or 0) - (last.line or 0) <= 1:
            found[-1].append(one)
        else:
            found.append([one])
    return found
