"""The one reader of what load generators print, line by line. Each tool is a table, an ``Output``.

A table names the lines that count. Each ``Row`` is a pattern, the names of what its groups hold, and what such a line
does to the run that is being read. Names are those of ``Published``'s fields, latencies ("mean", "p99"), parameters
(with a ":" before those that a field is called too), or, with a "_" before them, what only ``derived`` computes with.
"X of" is the unit of X, "* of" that of the line. A figure may have the decimal mark of any locale: C programs that call
setlocale print a comma.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

from acidtest.audit.amounts import number
from acidtest.audit.bench import Published, Statement
from acidtest.audit.importers import commands
from acidtest.audit.importers.file import Broken, File
from acidtest.audit.importers.tables import PROSE
from acidtest.formats import linear

N = r"(\d{1,18}(?:[.,]\d{1,20})?)"
RUNS_MAX = 10_000
SERIES_MAX = 1_000_000  # intervals
LINE_MAX = 8_000
MS = {"ns": 1e-6, "nsec": 1e-6, "us": 1e-3, "usec": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "msec": 1.0, "s": 1e3,
      "m": 6e4, "min": 6e4, "hour": 3.6e6}  # fmt: skip
POWER = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ki": 2.0**10, "Ki": 2.0**10, "Mi": 2.0**20,
         "Gi": 2.0**30, "Ti": 2.0**40}  # fmt: skip
LATENCY = linear.compile(r"mean|max|p\d{1,2}(?:\.\d{1,3})?")
TYPES = {field.name: str(field.type) for field in fields(Published)}
RESULTS = frozenset(("rate", "nopm", "tpm", "bytes_per_s", "took_s"))


@dataclass(frozen=True)
class Row:
    does: Literal[
        "value",  # is of the run at hand
        "head",  # begins a run, where the one at hand has ended, has a result, or holds the same already
        "title",  # the same, and is where the run is said to stand
        "result",  # begins a run where the one at hand holds the same already; where it stands, if no title says so
        "part",  # begins a run as a result does, and is not where it stands
        "interval",  # "at" and "rate": a point of the run's course; "failed" or "failed/s" what failed in it
        "ahead",  # is of every run from here on
        "once",  # is of the next run
        "end",
    ]
    text: str  # the pattern, from the first character that is no blank on
    names: tuple[str, ...] = ()
    binary: bool = False  # whether a kilobyte has 1,024 bytes there
    first: bool = False  # whether the first such line of a run holds, and not the last
    each: str = ""  # a pattern of percentile and value, looked for all through the line; in the run's "_unit"

    @cached_property
    def pattern(self) -> linear.Pattern[str]:
        return linear.compile(rf"\s*(?:{self.text})")

    @cached_property
    def percentiles(self) -> linear.Pattern[str]:
        return linear.compile(self.each)


@dataclass
class Run:
    begun: int
    line: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    series: list[tuple[float, float]] = field(default_factory=list)
    failed: float = 0.0  # in the intervals
    ended: bool = False

    @property
    def has_result(self) -> bool:
        return not RESULTS.isdisjoint(self.values)

    def get(self, name: str) -> float | None:
        value = self.values.get(name)
        return amount(value) if isinstance(value, str) else value

    @property
    def interval_s(self) -> float:
        ends = [at for at, _ in self.series]
        return (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 and ends[-1] > ends[0] else 1.0

    def hold(self, row: Row, line: str, groups: Sequence[str | None]) -> None:
        if row.each:
            scale = MS[self.values.get("_unit", "ms")]
            self.values |= {f"p{amount(name):g}": amount(of, scale) for name, of in row.percentiles.findall(line)}
            return
        held = dict(zip(row.names, groups, strict=False))
        if row.names and row.names[0].startswith("="):  # the line names what it holds
            held = {f"{row.names[0][1:]}{groups[0]}": groups[1]}
        for name, text in held.items():
            if text is None or not name or name.endswith(" of") or (row.first and name in self.values):
                continue
            if name[-1] in "+@":  # is added to what is held
                mark = name[-1].replace("+", ", ")
                self.values[name[:-1]] = mark.join(filter(None, (self.values.get(name[:-1]), text.strip())))
            else:
                unit = held.get(f"{name} of")
                binary = "i" if row.binary and unit and name == "bytes_per_s" else ""
                self.values[name] = _value(name, text.strip(), unit and f"{unit}{binary}", held.get("* of"))

    def point(self, row: Row, groups: Sequence[str | None]) -> None:
        held = dict(zip(row.names, groups, strict=False))
        at = amount(held.pop("at") or "")
        last = self.series[-1][0] if self.series else 0.0
        if (rate := held.pop("rate", None)) is not None:
            self.series.append((at, amount(rate)))
        self.failed += amount(held.pop("failed", None) or "0")
        self.failed += amount(held.pop("failed/s", None) or "0") * max(at - last, 0.0)
        for name, text in held.items():
            if text is not None and name.endswith("^"):  # the highest of all intervals
                self.values[name[:-1]] = max(amount(text), self.values.get(name[:-1], 0.0))
            elif text is not None:
                self.values[name] = text


def amount(text: str, factor: float = 1.0) -> float:
    value = float(text.replace(",", "."))
    return value * factor if factor >= 1 else value / round(1 / factor)  # which a thousandth does not round


def _value(name: str, text: str, unit: str | None, of_line: str | None) -> Any:
    if LATENCY.fullmatch(name):
        return amount(text, MS[unit] if unit in MS else POWER[unit or ""] * MS[of_line or "ms"])
    if name in ("measured_s", "warmup_s", "took_s"):
        return amount(text, MS[unit or of_line or "s"] / 1000)
    of_type = TYPES.get(name, "")
    return amount(text, POWER[unit or ""]) if unit is not None or "float" in of_type or "int" in of_type else text


@dataclass(frozen=True)
class Output:
    """What one tool prints. ``known`` is what one of its first lines begins with."""

    tool: str
    known: str
    rows: tuple[Row, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # fields of every result
    # The results of a run, each by what else is known of its fields; "asked" is what a command line asked for.
    derived: Callable[[File, Run], Iterable[Mapping[str, Any]]] = lambda file, run: ({},)
    broken: str = ""  # what a file without any result is
    may_measure_else: bool = False  # so that only a file with intervals is broken
    tpc_word: str = ""  # how the tool calls its new orders a minute
    results: frozenset[str] = RESULTS  # one of which a result has

    @cached_property
    def _known(self) -> linear.Pattern[str]:
        return linear.compile(rf"^[ \t]*(?:{self.known})", linear.M)

    @cached_property
    def _any(self) -> linear.Pattern[str]:
        """Of all rows, so that most lines of a long log are asked about once."""
        return linear.compile("|".join(rf"\s*(?:{row.text})" for row in self.rows))

    @cached_property
    def _intervals_first(self) -> Sequence[Row]:
        return sorted(self.rows, key=lambda row: row.does != "interval")

    def read(self, file: File) -> Sequence[Published | Statement] | None:
        if (begins := self._known.search(file.first_text)) is None:
            return None
        runs = self._runs(file)
        published = [one for run in runs for one in self.published(file, run)]
        whole = [of for of in published if not of.series or any(getattr(of, name) is not None for name in RESULTS)]
        whole = whole or published
        is_else = self.may_measure_else and not any(run.series for run in runs)
        if not (whole or is_else) and self.broken and not PROSE.fullmatch(file.base):  # a text quotes parts of it
            first = file.first_text.count("\n", 0, begins.start()) + 1
            raise Broken(f"is {self.broken}", runs[-1].line or runs[-1].begun if runs else first)
        words = (Statement(of.where, "tpc-word", f"{self.tpc_word}: {of.nopm:,.1f}", of.nopm)
                 for of in whole if self.tpc_word and of.nopm)  # fmt: skip
        return [*whole, *words] if whole or self.broken else None

    def _runs(self, file: File) -> list[Run]:
        runs: list[Run] = []
        ahead, once = Run(0), Run(0)
        for at, line in enumerate(file.stream(), start=1):
            if self._any.match(line[:LINE_MAX]) is None:
                continue
            for row in self._intervals_first:
                if (match := row.pattern.match(line[:LINE_MAX])) is None:
                    continue
                groups = match.groups()
                if row.does in ("ahead", "once"):
                    (ahead if row.does == "ahead" else once).hold(row, line, groups)
                    continue
                run = runs[-1] if runs else None
                if row.does not in ("value", "end") and (run is None or _begins(row, run, groups)):
                    if len(runs) == RUNS_MAX:
                        file.left_out(f"holds more runs than are read of one file; the first {RUNS_MAX:,} count", at)
                        return runs
                    run = Run(at, values=ahead.values | once.values)
                    runs.append(run)
                    once.values.clear()
                if run is None or run.ended:
                    continue
                if row.does == "interval":  # of which most lines of a long log are, and nothing else
                    run.point(row, groups)
                    break
                run.hold(row, line, groups)
                if row.does in ("title", "result"):
                    run.line = run.line or at
                run.ended = row.does == "end"
        return runs

    def published(self, file: File, run: Run) -> Iterable[Published]:
        series = tuple(rate for _, rate in run.series)
        for of_run in self.derived(file, run):
            values = {name: value for name, value in (run.values | dict(of_run)).items() if name[:1] not in ("", "_")}
            asked = values.pop("asked", {})
            latency = {name: values.pop(name) for name in list(values) if LATENCY.fullmatch(name)}
            told = {name.lstrip(":"): values.pop(name) for name in list(values) if name not in TYPES}
            if values.get("tpm") and "rate" not in values:
                values["rate"] = values["tpm"] / 60
            known = {name for name, value in (latency | values).items() if value is not None}
            if not run.series and self.results.isdisjoint(known):
                continue
            if not values.get("errors") and run.failed >= 1:
                values["errors"] = run.failed  # the summary counts none, or has no line for them
            whole = {name: int(value) for name, value in values.items() if value is not None and "int" in TYPES[name]}
            name = values.pop("name", "") or file.base
            yield commands.filled(
                Published(
                    file.at(run.line or run.begun), values.pop("tool", self.tool), name,
                    latency_ms={name: value for name, value in latency.items() if value},
                    parameters=told,
                    **({"series": series, "interval_s": run.interval_s, **self.fixed, **values} | whole),
                ),
                asked,
            )  # fmt: skip


def _begins(row: Row, run: Run, groups: Sequence[str | None]) -> bool:
    if run.ended:
        return True
    if row.does == "interval":
        at = amount(dict(zip(row.names, groups, strict=False))["at"] or "")
        return run.has_result or bool(run.series and at <= run.series[-1][0])
    held = any(text is not None and name in run.values for name, text in zip(row.names, groups, strict=False))
    return held or (run.has_result and row.does not in ("result", "part"))


def cells(file: File, separator: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    """The lines after the head of a table, by the names of its columns in lower case. Raises Broken."""
    reader = csv.reader((line.replace("\0", "") for line in file.stream()), delimiter=separator)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        yield from ((reader.line_num, dict(zip(names, row, strict=False))) for row in reader if row)
    except csv.Error as error:
        raise Broken(f"is no table: {error}", reader.line_num) from None


def sampled(of: Mapping[str, str], at: int, *names: str) -> list[float]:
    """The figures of one such line. Raises Broken."""
    values = [value for name in names if (value := number(of.get(name, ""))) is not None]
    if len(values) < len(names):
        raise Broken(f"holds a line without {' and '.join(names)}", at)
    return values


def line_of(file: File, word: str, otherwise: int = 1) -> int:
    at = file.text.find(word)
    return file.text.count("\n", 0, at) + 1 if at >= 0 else otherwise


def numbers(pairs: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Those values that are figures, by their names."""
    return {name.strip(): value for name, held in pairs if (value := number(held)) is not None}


def picked(of: Mapping[str, Any], names: Mapping[str, str], per: float = 1.0) -> dict[str, float]:
    """Those figures of an object that are there, by other names."""
    return {name: value / per for name, key in names.items() if (value := number(of.get(key))) is not None}


PROPERTY = linear.compile(r"\s*([\w.]{1,60})\s*[=:]\s*(\S.{0,200}?)(?:\s+(?:#|//).*)?\s*")


def properties(lines: Iterable[str]) -> dict[str, str]:
    """What the lines of a file of properties set, by names in lower case."""
    found = (PROPERTY.fullmatch(line[:400]) for line in lines)
    return {match[1].lower(): match[2] for match in found if match}


def asked_by(
    file: File, own: Set[str], least: int, asked: Callable[[Mapping[str, str]], dict[str, str]], one: Published
) -> list[Published] | None:
    """What a run of a file of properties would do, if it sets ``least`` of the tool's ``own``."""
    low = file.head.lower()
    if sum(name.encode() in low for name in own) < least:
        return None
    held = properties(file.first_lines)
    if len(own & held.keys()) < least:
        return None
    first = next(at for at, line in enumerate(file.first_lines, start=1) if PROPERTY.fullmatch(line[:400]))
    return [replace(commands.filled(one, asked(held)), where=file.at(first), name=file.base, planned=True)]
