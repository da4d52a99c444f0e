"""What a kit's texts tell, held against the results that lie beside them."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from acidtest.audit import changes, spoken
from acidtest.audit.bench import Bench, Published, TableRow, Where
from acidtest.audit.changes import figure
from acidtest.audit.said import and_more, called, rate
from acidtest.audit.told import Told, figures, pool, tables, words
from acidtest.finding import Found, rule
from acidtest.formats import linear
from acidtest.words import counted

OFF = 0.02  # of a figure whose run is known: less may be a question of what was counted
TABLE_LEAST = 3  # figures, of which none is found
DIGITS_LEAST = 4  # of a figure that two runs do not share by chance
SAME_LEAST = 3  # such figures in one row
PARTS_LEAST = 3  # of those that are no whole numbers
ROW_SAME_LEAST = 4  # of a table whose figures are not known
EXAMPLE_OFF = 0.002  # of a figure, by which it may be rounded
# The heading of results that are shown as one might have them.
EXAMPLE = linear.Pattern(
    r"\b(?:examples?|samples?|expected|typical|hypothetical|illustrative|exemplos?|ejemplos?|exemples?|beispiel\w{0,8}|"
    r"esempi\w?|esperad[oa]s?|пример\w{0,2}|erwartete\w?)\b|пример|ожидаем|示例|例子|範例|예시|예상",
    linear.IGNORECASE,
)
OF_RESULTS = linear.Pattern(
    r"result|output|report|run\b|resultado|salida|sa[ií]da|ergebnis|ausgabe|résultat|sortie|risultat|результат|вывод|结果|"
    r"結果|결과|출력",
    linear.IGNORECASE,
)
RATES = frozenset(("transactions", "queries", "operations", "requests", "reads"))
LABEL_MAX = 60
MEAN = r"(?:average|averaged|avg\.?|mean|geomean|평균|平均|средн\w{1,4}|moyenne?|promedio|media|mittel(?:wert)?|Ø)"
P9X = r"p\.?(?:9\d(?:\.\d{1,3})?)(?:th)?|9\d(?:\.\d{1,3})?(?:th)? ?(?:percentile|%ile|pct)"
# "P95 mean", "average p99 (ms)"; not "mean / p95", which are two.
MEAN_OF_PERCENTILES = linear.Pattern(
    rf"(?:{MEAN}[ _](?:of )?(?:the )?(?:{P9X})|(?:{P9X})[ _(]{{1,2}}{MEAN}\)?)"
    r"(?: latency| response time)?(?:[ _]?[(\[]?m?s[)\]]?)?",
    linear.IGNORECASE,
)
AVERAGE = linear.Pattern(r"average|averaged|\bavg\b|\bmean\b|평균|平均")
LETTERS_LEAST = 3  # of a label that is none of a level, as "500" or "c8"
BRACKETS = str.maketrans("()[]:*_", "       ")
SUMMARY = frozenset(
    (
        "best",
        "max",
        "maximum",
        "min",
        "minimum",
        "winner",
        "total",
        "mean",
        "average",
        "median",
        "peak",
        "overall",
        "sum",
    )
)


@rule(
    "figure-not-in-results",
    severity="doubtful",
    over=Bench,
    says="A published figure is in no result of the kit: it is of another run, or of none.",
    remedy="Publish the results that the figures are from, and let a script write the table.",
    disproved_by="the output of the run that the figure is from",
    source="ACM, Artifact Review and Badging: results are reproduced from the artifacts; "
    "R. Jain, The Art of Computer Systems Performance Analysis, chapter 2",
)
def figure_not_in_results(bench: Bench) -> Iterator[Found]:
    yield from spoken.found(bench)
    yield from _examples(bench)
    measured = [one for one in bench.measured if one.rate or one.nopm]
    held = pool(measured)
    if not any(held.values()):
        return
    kinds, named = _by_kind(measured), _by_word(measured)
    contradicted: dict[str, list[tuple[Told, Published]]] = defaultdict(list)
    unknown: dict[str, list[tuple[Told, Sequence[Published]]]] = defaultdict(list)
    for table in tables(bench):
        told = [figure for one in table if one.unit in RATES for figure in figures(one)]
        strange = [one for one in told if not one.among(held.get(one.kind, ()))]
        off = [(one, of) for one in strange if (of := _same_run(one, measured, named)) and _ratio(one, of) > 1 + OFF]
        file = table[0].where.file
        contradicted[file] += off
        near = _about(table, kinds) if strange else []
        if near and not off and len(told) >= TABLE_LEAST and len(strange) == len(told):
            unknown[file] += [(one, near) for one in told]
    for pairs in filter(None, contradicted.values()):
        yield _contradicted(pairs)
    for found in filter(None, unknown.values()):
        yield _unknown(found)


def _examples(bench: Bench) -> Iterator[Found]:
    """Tables of figures that a text shows as an example of results, none of which is in the results of the kit."""
    held = sorted(
        value
        for one in bench.measured
        for value in (one.rate, one.attempts, one.tpm, one.nopm, *one.latency_ms.values(), *one.series)
        if value
    )
    for table in changes.tables(bench) if len(bench.measured) >= TABLE_LEAST else ():
        if not (EXAMPLE.search(table[0].under) and OF_RESULTS.search(table[0].under)):
            continue
        told = [
            (row, value)
            for row in table
            for cell in row.cells[1:]
            if (value := figure(cell)) and len(cell.replace(".", "").replace(",", "").strip("0*~ ")) >= DIGITS_LEAST
        ]
        if len(told) >= TABLE_LEAST and not any(_among(value, held) for _, value in told):
            text = (
                f"None of {counted(len(told), 'figure')} that the text shows as an example of results is in the "
                f"results of the kit, such as {told[0][1]:,.10g}."
            )
            evidence = dict.fromkeys(row.where.says(" | ".join(row.cells)) for row, _ in told)
            results = (one.where.says(rate(one)) for one in bench.measured[:TABLE_LEAST])
            yield Found(text, (*evidence, *results), "read from prose", noted=True)


def _among(value: float, ranked: Sequence[float]) -> bool:
    at = bisect(ranked, value)
    return any(abs(value - one) <= EXAMPLE_OFF * one for one in ranked[max(0, at - 1) : at + 1])


def _contradicted(pairs: Sequence[tuple[Told, Published]]) -> Found:
    (worst, of), *others = sorted(pairs, key=lambda one: -_ratio(*one))
    more = and_more(len(others), "figure", after=" like it")
    text = f"{called(worst.of)}: the text has {rate(worst.of)}, the result {rate(of)}{more}."
    evidence = ((told.of.where.says(rate(told.of)), of.where.says(rate(of))) for told, of in [(worst, of), *others])
    return Found(text, tuple(dict.fromkeys(said for pair in evidence for said in pair)))


def _unknown(found: Sequence[tuple[Told, Sequence[Published]]]) -> Found:
    first, near = found[0]
    text = (
        f"None of {counted(len(found), 'figure')} of the table is in the results beside it, such as {rate(first.of)}."
    )
    evidence = [told.of.where.says(rate(told.of)) for told, _ in found]
    return Found(text, (*dict.fromkeys(evidence), *(one.where.says(rate(one)) for one in near[:TABLE_LEAST])))


def _by_word(measured: Sequence[Published]) -> Mapping[str, set[int]]:
    """The positions of results that a word names, in their file, script or name."""
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, one in enumerate(measured):
        places[one.where.file, one.script, one.name].append(at)
    named: dict[str, set[int]] = defaultdict(set)
    for parts, at_all in places.items():
        for word in words(" ".join(parts)):
            named[word].update(at_all)
    return named


def _same_run(told: Told, measured: Sequence[Published], named: Mapping[str, set[int]]) -> Published | None:
    """The result of the run that the figure names by all of its words, if there is only one."""
    label = words(f"{told.of.name} {' '.join(told.of.parameters.values())}")
    if len(label) < 2:
        return None
    rarest, *others = sorted((named.get(word, set()) for word in label), key=len)
    found = [
        one
        for one in (measured[at] for at in rarest.intersection(*others))
        if told.of.terminals in (None, one.terminals)
        and getattr(one, told.kind)
        and (told.kind != "rate" or one.unit in RATES)
    ]
    return found[0] if len(found) == 1 else None


def _ratio(told: Told, of: Published) -> float:
    value = getattr(of, told.kind)
    return float(max(told.value / value, value / told.value))


Kind = tuple[str, str | None, int | None]  # tool, engine and clients; None: any


def _by_kind(measured: Sequence[Published]) -> Mapping[Kind, list[Published]]:
    kinds: dict[Kind, list[Published]] = defaultdict(list)
    for one in measured:
        for engine in {one.engine, None}:
            for clients in {one.terminals, None}:
                kinds[one.tool, engine, clients].append(one)
    return kinds


def _about(table: Sequence[Published], kinds: Mapping[Kind, list[Published]]) -> list[Published]:
    """The results that the table must be of: of its tool, engine and clients, and enough of them for half its rows."""
    near = [found for one in table if (found := kinds.get((one.tool, one.engine, one.terminals)))]
    found = list({id(one): one for results in near for one in results}.values())
    return found if 2 * len(near) >= len(table) and 2 * len(found) >= len(table) else []


@rule(
    "figures-contradict",
    severity="doubtful",
    over=Bench,
    says="Two tables tell the same figures, and of one quantity another figure.",
    remedy="Let both tables come from one place.",
    disproved_by="two measurements that the two tables are of",
    source="R. Jain, The Art of Computer Systems Performance Analysis, chapter 10",
)
def figures_contradict(bench: Bench) -> Iterator[Found]:
    by_head: dict[tuple[str, ...], list[dict[frozenset[str], TableRow]]] = defaultdict(list)
    for table in changes.tables(bench):
        labelled = {
            of: row
            for row in table
            if (of := _quantity(row.cells[0])) and sum(map(str.isalpha, row.cells[0])) >= LETTERS_LEAST
        }
        for earlier in by_head[table[0].head[1:]]:
            same = [label for label in labelled if label in earlier and _is_own(labelled[label], earlier[label])]
            other = [label for label in labelled if label in earlier and _differ(labelled[label], earlier[label])]
            if same and other and len(other) <= len(same):
                one, again = earlier[other[0]], labelled[other[0]]
                values = (" | ".join(row.cells[1:]) for row in (one, again))
                rows = [row for at in (*other, *same) for row in (earlier[at], labelled[at])]
                text = (
                    f"{one.cells[0]}: {next(values)} on line {one.where.line:,}, {next(values)} on line "
                    f"{again.where.line:,}."
                )
                evidence = (row.where.says(" | ".join(row.cells)) for row in rows)
                yield Found(text, tuple(evidence), certainty="read from prose")
        if labelled:
            by_head[table[0].head[1:]].append(labelled)


def _quantity(label: str) -> frozenset[str]:
    """What a first cell calls its row, whichever word it has for a mean."""
    return frozenset(AVERAGE.sub("mean", label.lower()).translate(BRACKETS).split())


def _is_own(one: TableRow, other: TableRow) -> bool:
    """Whether both tell the same figures, and such as two measurements do not share by chance."""
    figures = [cell.strip("* ") for cell in one.cells[1:] if figure(cell.strip("* ").partition(" ")[0])]
    long = [cell for cell in figures if len(cell.partition(" ")[0].replace(".", "").replace(",", "").strip("0")) >= 2]
    return one.cells[1:] == other.cells[1:] and len(set(long)) > 1


def _differ(one: TableRow, other: TableRow) -> bool:
    values = [[figure(cell.strip("* %").partition(" ")[0]) for cell in row.cells[1:]] for row in (one, other)]
    return any(a is not None and b is not None and abs(a - b) > OFF * max(a, b) for a, b in zip(*values, strict=False))


@rule(
    "tpm-against-nopm",
    severity="doubtful",
    over=Bench,
    says="Transactions a minute are set against new orders a minute, which are less than half of them.",
    remedy="Compare NOPM with NOPM: what counts as a transaction differs from engine to engine.",
    disproved_by="both figures in one unit, from the tool's output",
    source="HammerDB's manual, Understanding the TPROC-C workload: only NOPM can be compared between databases",
)
def tpm_against_nopm(bench: Bench) -> Iterator[Found]:
    for table in tables(bench):
        orders = [one for one in table if one.nopm and not one.tpm]
        others = [one for one in table if one.tpm and not one.nopm]
        if orders and others and not {_subject(one) for one in orders} & {_subject(one) for one in others}:
            text = f"{called(orders[0])} has {rate(orders[0])} where {called(others[0])} has {rate(others[0])}."
            yield Found(text, tuple(one.where.says(rate(one)) for one in (*orders, *others)))
    yield from _in_another_unit(bench)
    yield from _called_both(bench)
    for said in bench.texts:
        if said.kind == "tpm-against-nopm":
            yield Found(f"The text says: “{said.text}”.", (said.where.says(said.text),))


def _subject(one: Published) -> frozenset[str]:
    """What a row is of, without its unit."""
    return words(one.name) - {"tpm", "nopm", "tpmc", "per", "minute", "new", "orders", "transactions"}


def _called_both(bench: Bench) -> Iterator[Found]:
    """Figures that one table of a text calls new orders a minute, and another transactions a minute."""
    orders: dict[tuple[str, float], Published] = {}
    both: dict[str, list[tuple[Published, Published]]] = defaultdict(list)
    told = [one for one in bench.others if one.told]
    for one in told:
        if one.nopm and not one.tpm:
            orders.setdefault((one.where.file, one.nopm), one)
    for one in told:
        if one.tpm and not one.nopm and (same := orders.get((one.where.file, one.tpm))):
            both[one.where.file].append((same, one))
    for file, pairs in both.items():
        if len(pairs) >= SAME_LEAST:
            first, second = pairs[0]
            text = (
                f"{counted(len(pairs), 'figure')} of {file}, such as {rate(first)}, are {rate(second)} elsewhere in it."
            )
            evidence = dict.fromkeys(one.where.says(rate(one)) for pair in pairs for one in pair)
            # One of the names is wrong; what is compared may be in one unit all the same.
            yield Found(text, tuple(evidence), noted=True)


def _in_another_unit(bench: Bench) -> Iterator[Found]:
    """A column of which some figures are a log's NOPM and others a log's TPM."""
    logs = [one for one in bench.measured if one.nopm and one.tpm]
    for table in tables(bench):
        orders: list[tuple[Published, Published]] = []
        others: list[tuple[Published, Published]] = []
        for one in table:
            for told in figures(one):
                of = [log for log in logs if told.is_(log.nopm or 0)]
                to = [log for log in logs if told.is_(log.tpm or 0)]
                if bool(of) != bool(to) and not (one.nopm and one.tpm):
                    (orders if of else others).append((one, (of or to)[0]))
        columns = {bool(one.nopm) for one, _ in (*orders, *others)}
        if orders and others and len(columns) == 1:
            first, second = orders[0][0], others[0][0]
            text = (
                f"{called(first)}: {rate(first)} are the new orders a minute of its log; "
                f"{called(second)}: {rate(second)} are all transactions a minute."
            )
            evidence = (
                said
                for one, log in (orders[0], others[0])
                for said in (one.where.says(rate(one)), log.where.says(f"{log.nopm:,.0f} NOPM from {log.tpm:,.0f} TPM"))
            )
            yield Found(text, tuple(evidence))


@rule(
    "figures-repeated",
    severity="invalid",
    over=Bench,
    says="Two runs have the same figures to the last digit: one was never measured, or is not what it is called.",
    remedy="Look for the output that was read twice, and measure again what is missing.",
    disproved_by="the outputs of both runs, with these figures in each",
    source="By definition: rates and latencies of two runs do not agree in every digit",
)
def figures_repeated(bench: Bench) -> Iterator[Found]:
    for file, of in _by_file(tables(bench)).items():
        twice: list[tuple[list[Published], list[Published]]] = []
        seen: dict[tuple[float, ...], tuple[int, list[Published]]] = {}
        shared = _shared(of)
        for number, rows in enumerate(of):
            for row in rows.values():
                figured = _fingerprint(row)
                if len(figured) < SAME_LEAST or words(row[0].name) & SUMMARY:
                    continue
                before = seen.setdefault(figured, (number, row))
                if before[1] is row or _sums_up(before[1], row):
                    continue
                if before[0] == number or (before[0], number) not in shared:
                    twice.append((before[1], row))
        if twice:
            first, again = twice[0]
            more = and_more(len(twice) - 1, "row")
            text = (
                f"{_row(again)} of {file} has the {counted(len(_fingerprint(again)), 'figure')} of {_row(first)}, "
                f"such as {rate(again[0])}{more}."
            )
            evidence = [row[0].where.says(f"{_row(row)}: {rate(row[0])}") for pair in twice for row in reversed(pair)]
            yield Found(text, tuple(dict.fromkeys(evidence)))
    yield from _rows_repeated(bench)


def _sums_up(one: Sequence[Published], other: Sequence[Published]) -> bool:
    """Whether one row may be the sum of a single part that the other is: "run-1" of "run-1-1"."""
    first, second = (set(of[0].name.lower().split()) for of in (one, other))
    return first != second and any(
        longer != shorter and longer.startswith(shorter) for a, b in ((first, second), (second, first))
        for shorter in a for longer in b if len(shorter) > 1
    )  # fmt: skip


def _rows_repeated(bench: Bench) -> Iterator[Found]:
    """The same of tables of rates in which other columns have no unit: rows that agree in every figure but the first,
    which tells the clients."""
    rated: dict[Where, list[Published]] = defaultdict(list)
    for one in bench.others:
        if one.told and (one.rate or one.nopm):
            rated[one.where].append(one)
    of_file: dict[str, list[list[TableRow]]] = defaultdict(list)
    for table in changes.tables(bench):
        known = [len(_fingerprint(rated[row.where])) for row in table if row.where in rated]
        if known and max(known) < SAME_LEAST:
            of_file[table[0].where.file].append(table)
    for file, of in of_file.items():
        prints = [[_digits(row) for row in table] for table in of]
        seen: dict[tuple[str, ...], tuple[int, TableRow]] = {}
        twice: list[tuple[TableRow, TableRow]] = []
        for number, table in enumerate(of):
            for figured, row in zip(prints[number], table, strict=True):
                if len(figured) < ROW_SAME_LEAST or words(row.cells[0]) & SUMMARY:
                    continue
                before, first = seen.setdefault(figured, (number, row))
                same = set(prints[before]) & set(prints[number])
                again = before != number and 2 * len(same) >= min(len(prints[before]), len(prints[number]))
                if first is not row and first.head == row.head and not again:
                    twice.append((first, row))
        if twice:
            first, row = twice[0]
            more = and_more(len(twice) - 1, "row")
            text = (
                f"{_line(row)} of {file} has the {counted(len(_digits(row)), 'figure')} of {_line(first)}, such as "
                f"{_digits(row)[0]}{more}."
            )
            evidence = [one.where.says(" ".join(one.cells)) for pair in twice for one in reversed(pair)]
            yield Found(text, tuple(dict.fromkeys(evidence)))


def _line(row: TableRow) -> str:
    of = f" under {row.under}" if row.under else ""
    return f"line {row.where.line:,} ({row.head[0]} {row.cells[0]}{of})"


def _digits(row: TableRow) -> tuple[str, ...]:
    """Its figures with many digits, if some are no whole numbers, as those of an open loop are; not the first cell,
    which says what the row is of."""
    cells = [cell.strip("*s ") for cell in row.cells[1:]]
    known = {cell: value for cell in cells if (value := figure(cell))}
    long = [one for one in known if len(one.replace(".", "").replace(",", "").strip("0")) >= DIGITS_LEAST]
    return tuple(long) if sum(not known[one].is_integer() for one in long) >= PARTS_LEAST else ()


Rows = dict[int, list[Published]]


def _row(row: Sequence[Published]) -> str:
    name = row[0].name
    clients = f" with {counted(row[0].terminals, 'client')}" if row[0].terminals else ""
    return f"line {row[0].where.line:,} ({name}{clients})" if name else f"line {row[0].where.line:,}"


def _by_file(of: Sequence[Sequence[Published]]) -> Mapping[str, list[Rows]]:
    """Of each file its tables, and of each table the results by line."""
    files: dict[str, list[Rows]] = defaultdict(list)
    for table in of:
        rows: Rows = defaultdict(list)
        for one in table:
            rows[one.where.line or 0].append(one)
        files[table[0].where.file].append(rows)
    return files


def _fingerprint(row: Sequence[Published]) -> tuple[float, ...]:
    """Its figures, of those with many digits: a round one may be shared."""
    figured = [
        value for one in row for value in (one.tpm or one.rate, one.nopm, one.took_s, *one.latency_ms.values()) if value
    ]
    return tuple(value for value in figured if len(f"{value:.9g}".replace(".", "").strip("0")) >= DIGITS_LEAST)


def _shared(of: Sequence[Rows]) -> set[tuple[int, int]]:
    """Tables that tell the same again: half or more of the rows of the smaller one are in both."""
    prints = [{_fingerprint(row) for row in rows.values()} for rows in of]
    return {
        (one, other)
        for one in range(len(of))
        for other in range(one + 1, len(of))
        if 2 * len(prints[one] & prints[other]) >= min(len(prints[one]), len(prints[other]))
    }


@rule(
    "average-of-percentiles",
    severity="doubtful",
    over=Bench,
    says="Percentiles were averaged: the mean of several percentiles is the percentile of nothing.",
    remedy="Merge the histograms of the runs and take the percentile from them, or show each.",
    disproved_by="the script that makes the figure, taking it from all latencies together",
    source='G. Tene, "How NOT to Measure Latency" (2013); '
    'B. Schwartz, "Why Percentiles Don\'t Work the Way You Think" (2016)',
    about="latency",
)
def average_of_percentiles(bench: Bench) -> Iterator[Found]:
    said = bench.said("percentiles-averaged")
    if said:
        yield Found(f"The text says: “{said[0].text}”.", tuple(one.where.says(one.text) for one in said))
    yield from _labelled(bench)
    groups: dict[tuple[object, ...], list[Published]] = defaultdict(list)
    for one in bench.measured:
        if one.latency_ms:
            groups[one.tool, one.where.file.rpartition("/")[0], one.script, one.terminals].append(one)
    found: list[tuple[Published, str, list[Published]]] = []
    chances = 0.0
    for told in (one for one in bench.others if one.told):
        for name, value in told.latency_ms.items():
            if not name.startswith("p") or name == "p50":
                continue
            for of in groups.values():
                held = [one.latency_ms.get(name) for one in of]
                chances += _chance(held)
                if _is_mean(value, held):
                    found.append((told, name, of))
    # Some may be so by chance: the more figures are held against the more groups, the more of them.
    if len(found) > max(1.0, CHANCES * chances):
        told, name, of = found[0]
        text = (
            f"{called(told)}: {name} {told.latency_ms[name]:,.4g} ms is the mean of those of {counted(len(of), 'run')}."
        )
        evidence = [one.where.says(f"{name} {one.latency_ms[name]:,.4g} ms") for one in (told, *of)]
        yield Found(text, tuple(evidence))


def _labelled(bench: Bench) -> Iterator[Found]:
    """Headings and first cells that call a figure the mean of percentiles."""
    of_file: dict[str, dict[str, TableRow]] = defaultdict(dict)
    for row in bench.rows:
        for label in (*row.head, *row.cells[:1]):
            if len(label) <= LABEL_MAX and MEAN_OF_PERCENTILES.fullmatch(label.strip()):
                of_file[row.where.file].setdefault(label.strip(), row)
    for labels in of_file.values():
        first, row = next(iter(labels.items()))
        more = and_more(len(labels) - 1, "label")
        evidence = tuple(one.where.says(f"{label}: {' | '.join(one.cells)}") for label, one in labels.items())
        yield Found(f"A table of {row.where.file} has “{first}”{more}.", evidence, certainty="read from prose")


def _is_mean(value: float, of: Sequence[float | None]) -> bool:
    known = [one for one in of if one]
    if len(known) < 2 or len(known) != len(of):
        return False
    near = ROUNDED_MS * value
    return abs(fmean(known) - value) <= near and all(abs(one - value) > 5 * near for one in known)


def _chance(of: Sequence[float | None]) -> float:
    """How likely a figure among those of a group is near to its mean without being one."""
    known = [one for one in of if one]
    if len(known) < 2 or len(known) != len(of) or max(known) <= min(known):
        return 0.0
    return min(1.0, 2 * ROUNDED_MS * fmean(known) / (max(known) - min(known)))


CHANCES = 3.0  # times as many as are expected by chance
ROUNDED_MS = 0.005
