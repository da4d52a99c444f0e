"""Rates that a sentence tells of something that a table of the same text has rows of."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean, median

from acidtest.audit.bench import Bench, Sentence, TableRow
from acidtest.audit.changes import HIGHER, figure, tables
from acidtest.finding import Evidence, Found
from acidtest.formats import linear
from acidtest.words import counted

ROUNDED = 0.005  # of a rate that another one may be, rounded
OFF = 0.005  # of a figure, that rounding explains
LEAST = 2  # figures that are in no row
DIGITS_LEAST = 4  # that a figure is written with: a rounder one stands for many
LABEL = linear.Pattern(r"v?\d{1,4}(?:\.\d{1,4}){1,3}", linear.IGNORECASE)  # a version: it is nobody else's name
SPOKEN = linear.Pattern(
    r"\b(insert|select|update|delete|read|write|quer|scan)\w{0,4}\b[^\d(]{0,20}?(\d[\d,]{0,15}(?:\.\d{1,4})?) ?"
    r"(?:ops?|rows|queries|transactions|inserts|selects|updates|reads|writes|tps|qps)\b",
    linear.IGNORECASE,
)


# A rate as a sentence tells it, with the digits that it is written with.
RATE = linear.Pattern(
    r"(?:^|[\s(~≈:=])(\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,3})?|\d{1,9}(?:\.\d{1,4})?)\s?([kKM])? ?"
    r"(?:tps|qps|rps|ops/s(?:ec)?|(?:transactions|queries|operations|inserts|reads|writes|commits|requests|rows)"
    r"(?: per |/)s(?:ec(?:ond)?)?)\b",
    linear.IGNORECASE,
)
WORD = linear.Pattern(r"[A-Za-z]{2,30}|\d+(?:\.\d+)*")
WRITTEN_LEAST = 3  # digits of such a rate
SUMMED = linear.Pattern(
    r"\b(?:average|avg|mean|median|total|sum|combined|together|overall|both|aggregate\w?|target|goal|limit|expect\w{0,3}|"
    r"previous\w{0,2}|earlier|old|before|was|were|other|another|example|provision\w{0,2}|up to|over|more than|about|"
    r"roughly|around|approx\w{0,7})\b|[~≈?]",
    linear.IGNORECASE,
)
NEAR = 0.03  # of the figures of a row, that a sentence may be off


def found(bench: Bench) -> Iterator[Found]:
    """One finding for each file, of figures that a version has; then of rates that nothing in the kit has."""
    yield from _of_versions(bench)
    yield from _outside(bench)


def _outside(bench: Bench) -> Iterator[Found]:
    """Rates of a sentence that names a row, which lie outside of all that the row has, and that are nowhere else."""
    of_file: dict[str, list[list[TableRow]]] = defaultdict(list)
    for table in tables(bench):
        of_file[table[0].where.file].append(table)
    told = [(said, match) for said in bench.sentences if said.where.file in of_file for match in _told(said)]
    if not told:
        return
    known = _known(bench)
    off: dict[str, list[tuple[Sentence, str, list[Evidence]]]] = defaultdict(list)
    for said, (value, text) in told:
        if _is_known(value, known):
            continue
        rows = _rows(said, of_file[said.where.file])
        values = [one for one, _ in rows]
        if values and not (1 - NEAR) * min(values) <= value <= (1 + NEAR) * max(values):
            off[said.where.file].append((said, text, [evidence for _, evidence in rows]))
    for missing in off.values():
        said, text, rows_ = missing[0]
        more = f", and {counted(len(missing) - 1, 'more figure')} like it" if len(missing) > 1 else ""
        evidence = (of for one, _, held in missing for of in (one.where.says(one.text), *held))
        yield Found(
            f"The text has “{text}”, and its table “{rows_[0].text}”; the first is in no file of the kit{more}.",
            tuple(dict.fromkeys(evidence)),
            certainty="read from prose",
        )


def _told(said: Sentence) -> Iterator[tuple[float, str]]:
    matches = list(RATE.finditer(said.text))
    if len(matches) != 1 or SUMMED.search(said.text):
        return
    digits = matches[0][1].replace(",", "")
    if len(digits.replace(".", "").strip("0")) >= WRITTEN_LEAST:
        yield float(digits) * {"k": 1e3, "m": 1e6}.get((matches[0][2] or "").lower(), 1.0), matches[0][0].strip(" (:=")


def _rows(said: Sentence, near: list[list[TableRow]]) -> list[tuple[float, Evidence]]:
    """The rates of the only row that the sentence names by all of its words, in tables of its text."""
    words = {word.lower() for word in WORD.findall(said.text)}
    found: list[tuple[float, Evidence]] = []
    for table in near:
        rows = [row for row in table if (of := _label(row)) and of <= words]
        if len(rows) != 1:
            continue
        row = rows[0]
        for n, head in enumerate(row.head):
            value = figure(row.cells[n]) if 0 < n < len(row.cells) else None
            if value and HIGHER.search(f"{head} {row.cells[n]}"):
                found.append((value, row.where.says(f"{row.cells[0]}: {row.cells[n]} {head}")))
    return found


def _label(row: TableRow) -> set[str]:
    words = {word.lower() for word in WORD.findall(row.cells[0])}
    return words if any(word[0].isalpha() for word in words) else set()


def _known(bench: Bench) -> list[float]:
    """Every figure of the kit, in order."""
    values = [value for row in bench.rows for cell in row.cells if (value := figure(cell))]
    for one in bench.published:
        values += [value for value in (one.rate, one.attempts, one.tpm, one.nopm, *one.series) if value]
    return sorted(values)


def _is_known(value: float, ranked: list[float]) -> bool:
    at = bisect(ranked, value)
    return any(abs(value - one) <= ROUNDED * one for one in ranked[max(0, at - 1) : at + 1])


def _of_versions(bench: Bench) -> Iterator[Found]:
    rows = _by_label(bench)
    sentences: dict[str, list[Sentence]] = defaultdict(list)
    for one in bench.sentences:
        sentences[one.where.file].append(one)
    for file, of_file in sentences.items():
        missing = [
            (said, of, values, text) for said in of_file for of, values, text in _missing(said, rows.get(file, {}))
        ]
        if len(missing) >= LEAST:
            _, label, values, text = missing[0]
            spread = f"{min(one for one, _ in values):,.10g} to {max(one for one, _ in values):,.10g}"
            yield Found(
                f"{label}: the text has {text}, and no row of it has: these have {spread}; and "
                f"{counted(len(missing) - 1, 'more figure')} like it.",
                (
                    *(one.where.says(one.text) for one, *_ in missing),
                    *dict.fromkeys(evidence for _, _, of, _ in missing for _, evidence in of),
                ),
            )


Rows = Mapping[str, list[TableRow]]


def _by_label(bench: Bench) -> Mapping[str, dict[str, list[TableRow]]]:
    """Of each file the rows of each version."""
    of_file: dict[str, dict[str, list[TableRow]]] = defaultdict(lambda: defaultdict(list))
    for table in tables(bench):
        for row in table:
            if LABEL.fullmatch(row.cells[0]):
                of_file[row.where.file][row.cells[0].lower().removeprefix("v")].append(row)
    return of_file


def _missing(said: Sentence, rows: Rows) -> Iterator[tuple[str, list[tuple[float, Evidence]], str]]:
    """The figures of the sentence that are in no row of the only version that it, or else its heading, names."""
    for text in (said.text, said.under):
        versions = {one.lower().removeprefix("v") for one in LABEL.findall(text)} & set(rows)
        if versions:
            break
    if len(versions) != 1:
        return
    label = versions.pop()
    for match in SPOKEN.finditer(said.text):
        told = float(match[2].replace(",", ""))
        values = [
            (value, row.where.says(f"{row.cells[0]}: {row.cells[n]} {head}"))
            for row in rows[label]
            for n, head in enumerate(row.head)
            if n < len(row.cells) and match[1].lower() in head.lower() and HIGHER.search(head)
            if (value := figure(row.cells[n]))
        ]
        known = [value for value, _ in values]
        if not known or len(match[2].replace(",", "").replace(".", "").rstrip("0")) < DIGITS_LEAST:
            continue
        if all(abs(told - one) > OFF * told for one in (*known, fmean(known), median(known), sum(known))):
            yield label, values, match[0]
