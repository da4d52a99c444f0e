"""Rates that a sentence tells of something that a table of the same text has rows of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean, median

from acidtest.audit.bench import Bench, Sentence, TableRow
from acidtest.audit.changes import HIGHER, figure, tables
from acidtest.audit.finding import Evidence, Found
from acidtest.formats import linear
from acidtest.words import counted

OFF = 0.005  # of a figure, that rounding explains
LEAST = 2  # figures that are in no row
DIGITS_LEAST = 4  # that a figure is written with: a rounder one stands for many
LABEL = linear.Pattern(r"v?\d{1,4}(?:\.\d{1,4}){1,3}", linear.IGNORECASE)  # a version: it is nobody else's name
SPOKEN = linear.Pattern(
    r"\b(insert|select|update|delete|read|write|quer|scan)\w{0,4}\b[^\d(]{0,20}?(\d[\d,]{0,15}(?:\.\d{1,4})?) ?"
    r"(?:ops?|rows|queries|transactions|inserts|selects|updates|reads|writes|tps|qps)\b",
    linear.IGNORECASE,
)


def found(bench: Bench) -> Iterator[Found]:
    """One finding for each file."""
    rows = _by_label(bench)
    for file in dict.fromkeys(one.where.file for one in bench.sentences):
        missing = [
            (said, of, values, text)
            for said in bench.sentences
            if said.where.file == file
            for of, values, text in _missing(said, rows.get(file, {}))
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
