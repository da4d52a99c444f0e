"""What becomes of each published sentence, given what was found: it falls, is doubtful, was not examined, or stands.

A finding concerns every sentence about what it is about, unless the sentence is of other engines, rests on other
results, or the finding is of one sentence alone. That a sentence stands means that nothing was found against it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acidtest.audit.bench import Bench, EngineName, Published, Where
from acidtest.audit.declared import is_of
from acidtest.audit.texts import COMPARES, PROSE
from acidtest.families import PRODUCTS
from acidtest.finding import SEVERITIES, Finding
from acidtest.formats import linear
from acidtest.words import counted

Verdict = Literal["falls", "doubtful", "not examined", "stands"]
VERDICTS: tuple[Verdict, ...] = ("falls", "doubtful", "not examined", "stands")  # the worst first
# Rules whose findings are of the sentence or the table that they quote, and of no other.
OF_ONE = frozenset(
    ("base-missing", "tpc-words", "figure-not-in-results", "figures-repeated", "declared-not-in-results")
)
OF_RUNS = frozenset(("first-run-differs",))  # the others of that name are of sides
# Engines whose files nobody reads here: what is found of others does not concern them.
OTHERS = frozenset(
    ("oracle", "mongo", "mongodb", "redis", "valkey", "cassandra", "scylla", "scylladb", "cockroach", "cockroachdb",
     "tidb", "yugabyte", "yugabytedb", "duckdb", "tarantool", "clickhouse", "couchbase", "elasticsearch")
)  # fmt: skip
APART_MAX = 3  # lines between the rows of one table
UNKNOWN = "unknown-results"
LATENCY = linear.Pattern(
    r"\b(?:latenc(?:y|ies)|response times?|percentiles?|p9\d|p50|\d ?ms|milliseconds?|microseconds?)\b|µs",
    linear.IGNORECASE,
)
RATE = linear.Pattern(
    r"\b(?:throughput|performance|tps|qps|tpmc?|nopm|iops|rps|(?:per|a|/) ?s(?:ec(?:ond)?)?|faster|slower|"
    r"outperform\w*|transactions)\b",
    linear.IGNORECASE,
)


@dataclass(frozen=True)
class Said:
    """Something that was published: by its declaration, or by a sentence of the kit's texts."""

    text: str
    where: Where
    results: tuple[str, ...] = ()  # files and folders that it rests on; none where nobody says
    engines: frozenset[EngineName] = frozenset()  # that it is about; none where it names none
    compares: bool = True  # whether one is held against another, or a figure stands alone
    last: int | None = None  # the last line of a table; None of a sentence, which is quoted

    def is_at(self, file: str, line: int | None) -> bool:
        """Whether it stands there."""
        if file != self.where.file or None in (line, self.where.line):
            return (file, line) == (self.where.file, self.where.line)
        return (self.where.line or 0) <= (line or 0) <= (self.last or self.where.line or 0)


@dataclass(frozen=True)
class Group:
    """Sentences of which the same is to be said."""

    verdict: Verdict
    sentences: tuple[Said, ...]
    findings: tuple[Finding, ...]  # that concern them, the worst first


def published(bench: Bench) -> list[Said]:
    """What is declared, else the sentences and the tables that somebody wrote; each text once."""
    if bench.declared and bench.declared.published:
        said = [
            Said(
                one.text,
                one.where,
                one.results,
                _named(one.text, bench) | _of_sides((r.name for r in one.rates), bench),
            )
            for one in bench.declared.published
        ]
    else:
        said = [Said(one.text, one.where, (), _named(one.text, bench)) for one in bench.sentences]
    # A figure beside the name of one of several engines is there to be compared.
    many = len(bench.sides) > 1
    said = [replace(one, compares=bool(COMPARES.search(one.text)) or (many and bool(one.engines))) for one in said]
    if not (bench.declared and bench.declared.published):
        said += _tables(bench)
    return list({one.text: one for one in reversed(said)}.values())[::-1]


def _tables(bench: Bench) -> Iterator[Said]:
    """The tables of figures in texts, each as one thing that was published."""
    tables: list[list[Published]] = []
    told = [one for one in bench.published if one.told and one.where.line and PROSE.fullmatch(_base(one.where.file))]
    for one in sorted(told, key=lambda one: (one.where.file, one.where.line or 0)):
        last = tables[-1][-1].where if tables else None
        if last and last.file == one.where.file and (one.where.line or 0) - (last.line or 0) <= APART_MAX:
            tables[-1].append(one)
        else:
            tables.append([one])
    for rows in tables:
        first, end = rows[0].where, rows[-1].where.line or 0
        text = f"The table of {counted(len(rows), 'result')} in {first.file}, lines {first.line:,} to {end:,}"
        engines = frozenset(one.engine for one in rows if one.engine)
        yield Said(text, first, (), engines, compares=len(rows) > 1, last=end)


def _base(file: str) -> str:
    return file.rpartition("/")[2].lower()


def groups(bench: Bench, findings: Sequence[Finding]) -> tuple[list[Group], list[Finding]]:
    """What was published, in groups, the worst first; and the findings that concern nothing of it."""
    weighty = [one for one in findings if one.severity != "note" and not one.waiver]
    by_file = _engines_by_file(bench)
    of = {id(one): frozenset[EngineName]().union(*(by_file[place.file] for place in one.evidence)) for one in weighty}
    results = {one.where.file for one in bench.published}
    together: dict[tuple[Verdict, frozenset[str]], tuple[list[Said], dict[int, Finding]]] = {}
    for said in published(bench):
        about = [one for one in weighty if _concerns(one, of[id(one)], said, results)]
        key = _verdict(about, said, bench), frozenset(one.rule.name for one in about)
        sentences, concerning = together.setdefault(key, ([], {}))
        sentences.append(said)
        concerning |= {id(one): one for one in about}
    held = [
        Group(verdict, tuple(sentences), tuple(one for one in weighty if id(one) in concerning))
        for (verdict, _), (sentences, concerning) in together.items()
    ]
    held.sort(key=lambda group: (VERDICTS.index(group.verdict), -len(group.sentences)))
    spoken = {id(one) for group in held for one in group.findings}
    return held, [one for one in findings if id(one) not in spoken]


def _verdict(findings: Sequence[Finding], said: Said, bench: Bench) -> Verdict:
    worst = min((SEVERITIES.index(one.severity) for one in findings), default=None)
    if worst is not None:
        return "falls" if SEVERITIES[worst] == "invalid" else "doubtful"
    measured = [one for one in bench.published if not one.told and not one.planned]
    rests = [one for one in measured if not said.results or is_of(one.where.file, said.results)]
    return "stands" if rests else "not examined"


def _concerns(finding: Finding, engines: frozenset[EngineName], said: Said, results: set[str]) -> bool:
    places = {(one.file, one.line) for one in finding.evidence}
    if any(said.is_at(file, line) for file, line in places):
        return True
    if finding.rule.name in OF_ONE:
        return False
    of_results = [file for file, _ in places if file in results]
    if said.results and (of_results or finding.rule.name == UNKNOWN):
        if not any(is_of(file, said.results) for file, _ in places):
            return False
    elif finding.rule.name == UNKNOWN:
        return False
    if engines and said.engines and not engines & said.engines:
        return False
    if finding.rule.name.endswith("-differs") and finding.rule.name not in OF_RUNS and not said.compares:
        return False
    latency, rate = LATENCY.search(said.text), RATE.search(said.text)
    if finding.about == "latency":
        return bool(latency)
    return not (finding.about == "goodput_per_s" and latency and not rate)


def _named(text: str, bench: Bench) -> frozenset[EngineName]:
    """The engines that a text names, and those of the sides whose names it has."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    products = {one.name for one in PRODUCTS.values() if words & {one.name, one.title.lower(), *one.words}}
    products |= words & OTHERS
    return frozenset(products) | _of_sides((side.name for side in bench.sides if side.name in text), bench)


def _of_sides(names: Iterable[str], bench: Bench) -> frozenset[EngineName]:
    wanted = set(names)
    return frozenset(side.engine for side in bench.sides if side.name in wanted and side.engine)


def _engines_by_file(bench: Bench) -> defaultdict[str, set[EngineName]]:
    """The engines of the sides and results of each file."""
    by_file: defaultdict[str, set[EngineName]] = defaultdict(set)
    for side in bench.sides:
        for of_kind in (side.binaries, side.configurations, side.databases, side.log):
            for part in of_kind:
                if side.engine:
                    by_file[part.where.file].add(side.engine)
    for one in bench.published:
        if one.engine:
            by_file[one.where.file].add(one.engine)
    return by_file
