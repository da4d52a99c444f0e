"""Lines that programs of one's own print: a label, a figure, its unit ("SelectOne: 81,274 rec/s", "Elapsed: 3.1 s").

Only what no other importer knows is looked at, and only units that are plain: rates, and how long a fixed work took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from acidtest.audit.bench import Published
from acidtest.audit.importers.figures import role, statistic_of, value_of
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.tables import FENCE, PROSE
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINE_MAX = 400
RESULTS_MAX = 2_000
COUNTED = ("transactions", "queries", "operations", "requests")
OFTEN = 10  # lines of one label, above which they tell of one run's course
SECOND = r"(?:/| per )s(?:ec(?:ond)?)?"
UNIT = (
    rf"(?:[kKM]?(?:ops?|req(?:uest)?s?|rec(?:ord)?s?|rows?|queries|transactions|txns?|operations|inserts|updates|"
    rf"deletes|selects|reads|writes|messages|events|docs|documents){SECOND}\b|"
    r"[kKM]?(?:tps|tpmc?|nopm|qps|rps|iops)\b)"
)
AMOUNT = r"(\d[\d,']{0,20}(?:\.\d{1,12})?(?: ?[kM](?=[ \w]))?)"
BEHIND = re.compile(rf"(?<![\w.,']){AMOUNT} ?({UNIT})", re.IGNORECASE)
BEFORE = re.compile(rf"(?<![\w./])({UNIT})\)?\s{{0,5}}[:=]\s{{0,9}}{AMOUNT}(?![\w.])", re.IGNORECASE)
TOOK = re.compile(
    r"\b(elapsed(?: time)?|total (?:test )?(?:time|duration)|duration|time taken|run ?time)\b"
    r"[^\w\n]{0,12}(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ms|s|secs?|seconds?|min|minutes?|us|µs)\b",
    re.IGNORECASE,
)
ISO = re.compile(
    r"\b((?:total )?(?:test )?(?:duration|time))[^\w\n]{0,6}PT(?:(\d{1,4})M)?(\d{1,9}(?:\.\d{1,9})?)S\b", re.IGNORECASE
)
TIMES_S = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "m": 60.0, "s": 1.0}
RATE = re.compile(rf"\b(\w{{1,30}}) rate\s{{0,5}}[:=]\s{{0,9}}{AMOUNT} ?/ ?s(?:ec)?\b", re.IGNORECASE)
WALL = re.compile(r"Time for (\S{1,80}) \(\d{1,12}\): {1,9}(\d{1,9}(?:\.\d{1,9})?) wallclock secs")  # of sql-bench
GO = re.compile(r"\s{0,20}([Bb]enchmark\S{1,150})\s+(\d{1,12})\s+(\d{1,15}(?:\.\d{1,6})?) ns/op")  # of "go test -bench"
STATED = re.compile(
    r"[\s*#>|-]{0,20}([A-Za-z][\w .()%]{0,40}?|\d{2}(?:\.\d{1,3})?(?:th|%)[\w ]{0,20})\s{0,9}[:=]\s{0,9}"
    r"(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ns|us|µs|ms|s|sec|secs|seconds)\b[\s,.]{0,9}"
)
MS = {"n": 1e-6, "u": 1e-3, "µ": 1e-3, "m": 1.0, "s": 1000.0}
NEAR = 40  # lines between a rate and the latencies that are of it
FIGURE = linear.compile(r"\||\d[\d.,]{0,20} ?(?:ms|s|sec|µs|us)\b")
LABEL_END = re.compile(r"[\s:=|,;>(\[\-]{1,20}$")
# Of the tools that importers of their own read.
KNOWN = re.compile(
    r"transaction type:|SQL statistics:|\[OVERALL\]|TEST RESULT|IOPS=|iops=|http_reqs|Measured tpm|TpmC|ioping|"
    r"\[Summary\]|\[Current\]|latency average|tps = |thds:|Throughput \(requests|fio-\d|sysbench \d|"
    r"seconds to run all queries|Timing (?:cached|buffered)|bytes .{0,40}copied|ops/sec +\d+\.\d+ usecs/op|"
    r"summary [=+]|current ops/sec|Virtual Users configured"
)
SETS = re.compile(r"--?\w|[{}$]|\b(?:target|wanted|limit|max|expected|goal|threshold)\b", re.IGNORECASE)


def _in_prose(file: File) -> Sequence[Published] | None:
    if not PROSE.fullmatch(file.base) or file.base.endswith((".html", ".htm")) or file.size > BYTES_MAX:
        return None
    found: list[Published] = []
    begun: int | None = None
    heading = ""
    for at, line in enumerate(file.lines):
        if begun is None and line.startswith("#"):
            heading = line.strip("# ")[:80]
        if FENCE.match(line):
            if begun is not None:
                block = file.lines[begun:at]
                if not any(KNOWN.search(one[:LINE_MAX]) for one in block):
                    found += _of(file, block, begun, heading)
            begun = at + 1 if begun is None else None
    return found[:RESULTS_MAX] or None


def _alone(file: File) -> Sequence[Published] | None:
    if PROSE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head[:4096] or SOURCE.fullmatch(file.base):
        return None
    if not any(pattern.search(one[:LINE_MAX]) for one in file.first_lines for pattern in (BEHIND, BEFORE, *OTHERS)):
        return None
    return _of(file, file.lines, 0, file.base)[:RESULTS_MAX] or None


OTHERS = (TOOK, ISO, RATE, WALL, GO)
SOURCE = re.compile(
    r".*\.(?:py|js|mjs|ts|tsx|go|java|kt|scala|c|h|cc|cpp|hpp|cs|rs|rb|php|pl|lua|r|jl|swift|sql|tcl|awk|bat|cmd|"
    r"ps1|sh|bash|ya?ml|json|xml|toml|ini|conf|cnf|cfg|env|properties|svg|css|ipynb|lock|sum|j2|tpl|tf|mk)|dockerfile.*|makefile.*|\.\w.*"
)


def _of(file: File, lines: Sequence[str], before: int, heading: str) -> list[Published]:
    found: list[Published] = []
    latencies: list[tuple[int, dict[str, float]]] = []
    for at, line in enumerate(lines, start=before + 1):
        found += (replace(one, name=one.name or heading) for one in _figures(file, at, line[:LINE_MAX]))
        if stated := _latency(line[:LINE_MAX]):
            if not latencies or stated[0] in latencies[-1][1]:
                latencies.append((at, {}))
            latencies[-1][1][stated[0]] = stated[1]
    for at, latency in latencies:
        if len(latency) > 1:
            _place(found, at, latency, Published(file.at(at), "", heading))
    by_label: dict[tuple[str, str], list[Published]] = {}
    for one in found:
        by_label.setdefault((one.name, one.unit if one.took_s is None else "took"), []).append(one)
    return [one for of in by_label.values() for one in _course(of)]


def _latency(line: str) -> tuple[str, float] | None:
    match = STATED.fullmatch(line)
    if match is None:
        return None
    name, value = statistic_of(match[1].lower()), value_of(match[2])
    if name in ("", "deviation") or value is None:
        return None
    return name, value * MS[match[3][0].lower()]


def _place(found: list[Published], at: int, latency: dict[str, float], alone: Published) -> None:
    """With the rate that stands before it, or as a result of its own."""
    known = {name: value for name, value in latency.items() if name != "min" and value > 0}
    for n in range(len(found) - 1, -1, -1):
        begins = found[n].where.line or 0
        if begins < at - NEAR or (begins < at and found[n].latency_ms):
            break
        if begins < at and found[n].rate is not None:
            found[n] = replace(found[n], latency_ms=known)
            return
    found.append(replace(alone, latency_ms=known))


def _course(of: list[Published]) -> list[Published]:
    rates = [one.rate for one in of if one.rate is not None]
    times = [one.took_s for one in of if one.took_s is not None]
    if len(of) > OFTEN and len(rates) == len(of):
        return [replace(of[0], rate=fmean(rates), series=tuple(rates))]
    if len(of) > OFTEN and len(times) == len(of):
        return [replace(of[0], took_s=fmean(times), runs=len(of))]
    return of


def _figures(file: File, at: int, line: str) -> Iterator[Published]:
    if match := GO.match(line):
        each = float(match[3])
        yield Published(
            file.at(at), "go test", match[1], unit="operations", latency_ms={"mean": each / 1e6} if each else {},
            written=f"{match[3]} ns/op", parameters={"operations": match[2]},
        )  # fmt: skip
        return
    if match := WALL.search(line):
        yield Published(file.at(at), "", match[1], took_s=float(match[2]), written=f"{match[2]} wallclock secs")
        return
    if SETS.search(line):
        return
    if match := RATE.search(line):
        of_words, amount = role(f"{match[1]}/s", [], caption=True), value_of(match[2].rstrip("kM "))
        if of_words is not None and of_words.kind in COUNTED and amount is not None:
            yield Published(
                file.at(at), "", _label(line[: match.start()]), rate=amount, unit=of_words.kind, written=match[0],  # type: ignore[arg-type]
            )  # fmt: skip
            return
    for match in (*BEHIND.finditer(line), *BEFORE.finditer(line)):
        digits, unit = (match[1], match[2]) if match.re is BEHIND else (match[2], match[1])
        of, value = role(unit, [], caption=True), value_of(digits.rstrip("kM "))
        if of is None or of.kind not in (*COUNTED, "nopm", "tpm", "iops") or value is None:
            continue
        value *= of.factor * (1000.0 if digits.rstrip()[-1] == "k" else 1e6 if digits.rstrip()[-1] == "M" else 1.0)
        one = Published(file.at(at), "", _label(line[: match.start()]), written=match[0].strip())
        if of.kind == "nopm":
            yield replace(one, nopm=value)
        elif of.kind == "tpm":
            yield replace(one, tpm=value, rate=value / 60)
        else:
            unit_ = "operations" if of.kind == "iops" else of.kind
            yield replace(one, rate=value, unit=unit_)  # type: ignore[arg-type]
    if match := TOOK.search(line):
        value = value_of(match[2])
        if value is not None:
            factor = TIMES_S.get(match[3].lower(), TIMES_S[match[3][0].lower()])
            yield Published(
                file.at(at), "", _label(line[: match.start()]), took_s=value * factor, written=match[0].strip()
            )
    elif match := ISO.search(line):
        took = 60 * int(match[2] or 0) + float(match[3])
        yield Published(file.at(at), "", _label(line[: match.start()]), took_s=took, written=match[0].strip())


def _label(text: str) -> str:
    """What stands before a figure, without what parts them and without another figure."""
    other = FIGURE.search(text)
    first = text[: other.start()] if other else text
    return LABEL_END.sub("", " ".join(first.split()))[:80]


IN_PROSE = Importer("lines of results", _in_prose, beside=True)
ALONE = Importer("lines of results", _alone, last=True)
