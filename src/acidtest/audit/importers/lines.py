"""Lines that programs of one's own print: a label, a figure, its unit ("SelectOne: 81,274 rec/s", "Elapsed: 3.1 s").

Only what no other importer knows is looked at, and only units that are plain: rates, and how long a fixed work took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from acidtest.audit.bench import Published
from acidtest.audit.importers.figures import rate_of, statistic_of, value_of
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.left_over import CONFIGURES, SOURCE
from acidtest.audit.importers.tables import PROSE, blocks
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINE_MAX = 400
RESULTS_MAX = 2_000
OFTEN = 10  # lines of one label, above which they tell of one run's course
NEAR = 40  # lines between a rate and the latencies that are of it
UNIT = (
    r"(?:[kKM]?(?:ops?|req(?:uest)?s?|rec(?:ord)?s?|rows?|quer(?:y|ies)|transactions?|txns?|operations?|inserts?|updates?|"
    r"deletes?|selects?|reads?|writes?|messages?|events?|docs?|documents?)(?:/| per )s(?:ec(?:ond)?)?\b|"
    r"[kKM]?(?:tps|tpmc?|nopm|qps|rps|iops)\b)"
)
AMOUNT = r"(?P<number>\d[\d,']{0,20}(?:\.\d{1,12})?) ?(?P<kilo>[kM](?=[ \w]))?"
BEHIND = re.compile(rf"(?<![\w.,']){AMOUNT} ?(?P<unit>{UNIT})", re.IGNORECASE)
BEFORE = re.compile(rf"(?<![\w./])(?P<unit>{UNIT})\)?\s{{0,5}}[:=]\s{{0,9}}{AMOUNT}(?![\w.])", re.IGNORECASE)
TOOK = re.compile(
    r"\b(elapsed(?: time)?|total (?:test )?(?:time|duration)|duration|time taken|run ?time|completed(?: in| after)?"
    r"|took|finished in)\b[^\w\n]{0,12}(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ms|s|secs?|seconds?|min|minutes?|us|µs)\b",
    re.IGNORECASE,
)
LASTED = re.compile(r"[:=] {0,3}(\d{1,6}(?:\.\d{1,9})?) ?s(?:ec(?:ond)?s?)?\s{0,3}[|,;(@]?\s{0,3}$")  # before a rate
TELLS = frozenset(("took", "finished in", "completed in", "completed after"))
OF_DATA = linear.compile(
    r"\b(?:insert|select|updat|delet|quer|rows?\b|record|read|writ|load|import|bench|transaction|scan|join|workload|operation)",
    linear.I,
)
TIMES_S = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "m": 60.0, "s": 1.0}
WALL = linear.compile(  # of sql-bench
    r"(?:Time for (\S{1,80}) \(\d{1,12}\)|(Total) time): {1,9}(\d{1,9}(?:\.\d{1,9})?) wallclock secs"
)
GO = linear.compile(
    r"\s{0,20}([Bb]enchmark\S{1,150})\s+(\d{1,12})\s+(\d{1,15}(?:\.\d{1,6})?) ns/op"
)  # of "go test -bench"
# Of benchstat: a line for each benchmark, a column for each file, and how many runs of it were compared.
STAT = linear.compile(r"^benchstat |\s│\s+sec/op ")
STAT_CELL = linear.compile(r"((\d{1,15}(?:\.\d{1,9})?)([nµm]?) ± \S{1,9})")
STAT_RUNS = linear.compile(r"\(p=\S{1,9} n=(\d{1,9})")
STATED = linear.compile(
    r"[\s*#>|-]{0,20}([A-Za-z][\w .()%]{0,40}?|\d{2}(?:\.\d{1,3})?(?:th|%)[\w ]{0,20})\s{0,9}[:=]\s{0,9}"
    r"(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ns|us|µs|ms|s|sec|secs|seconds)\b[\s,.]{0,9}"
)
MS = {"n": 1e-6, "u": 1e-3, "µ": 1e-3, "m": 1.0, "s": 1000.0}
DRAWN = "┌├└│─┃║╔╚╠═┬┴┤╟•"
PART = linear.compile(r"\(\d{1,3} ?%\)|^\s*\[?\d{1,3} ?%")  # of a run that goes on
FIGURE = linear.compile(r"\||\d[\d.,]{0,20} ?(?:ms|s|sec|µs|us)\b")
LABEL_END = re.compile(r"[\s:=|,;>(\[\-]{1,20}$")
# Of the tools that importers of their own read.
KNOWN = linear.compile(
    r"transaction type:|SQL statistics:|\[OVERALL\]|TEST RESULT|IOPS=|iops=|http_reqs|Measured tpm|TpmC|ioping|"
    r"\[Summary\]|\[Current\]|latency average|tps = |thds:|Throughput \(requests|fio-\d|sysbench \d|"
    r"seconds to run all queries|Timing (?:cached|buffered)|bytes .{0,40}copied|ops/sec +\d+\.\d+ usecs/op|"
    r"summary [=+]|current ops/sec|Virtual Users configured"
)
SETS = linear.compile(
    r"(?:^|[\s\"'`=])--?[A-Za-z]|[{}$]|\b(?:target|wanted|limit|max|expected|goal|threshold)\b", linear.I
)


def _in_prose(file: File) -> Sequence[Published] | None:
    if not PROSE.fullmatch(file.base) or file.base.endswith((".html", ".htm")) or file.size > BYTES_MAX:
        return None
    found: list[Published] = []
    for begin, end in blocks(file.lines):
        block = file.lines[begin:end]
        if not any(KNOWN.search(one[:LINE_MAX]) for one in block):
            found += _of(file, block, begin)
    return found[:RESULTS_MAX] or None


def _alone(file: File) -> Sequence[Published] | None:
    source = any(pattern.fullmatch(file.base) for pattern in (SOURCE, CONFIGURES)) or file.base.endswith(".json")
    if source or PROSE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head[:4096]:
        return None
    heads = (line[:LINE_MAX] for line in file.first_lines)
    if not any(pattern.search(head) for head in heads for pattern in (BEHIND, BEFORE, TOOK, WALL, GO, STAT)):
        return None
    return _of(file, file.lines, 0)[:RESULTS_MAX] or None


def _of(file: File, lines: Sequence[str], before: int) -> list[Published]:
    found: list[Published] = []
    latencies: list[tuple[int, dict[str, float]]] = []
    for at, drawn in enumerate(lines, start=before + 1):
        line = drawn[:LINE_MAX].lstrip(f"{DRAWN} ") if drawn.lstrip()[:1] in DRAWN else drawn[:LINE_MAX]
        found += _figures(file, at, line)
        if (match := STATED.fullmatch(line)) and (value := value_of(match[2])) is not None:
            name = statistic_of(match[1].lower())
            if name and name != "deviation":
                if not latencies or name in latencies[-1][1]:
                    latencies.append((at, {}))
                latencies[-1][1][name] = value * MS[match[3][0].lower()]
    for at, latency in latencies:
        if len(latency) > 1:
            _place(found, at, {name: ms for name, ms in latency.items() if name != "min" and ms > 0}, file)
    found += _compared(file, lines, before)
    by_label: dict[tuple[str, str], list[Published]] = {}
    for published in found:
        by_label.setdefault((published.name, published.unit if published.took_s is None else "took"), []).append(
            published
        )
    return [published for of in by_label.values() for published in _course(of)]


def _compared(file: File, lines: Sequence[str], before: int) -> Iterator[Published]:
    """What benchstat prints of times."""
    files: list[str] = []
    timed = False
    for at, line in enumerate(lines, start=before + 1):
        bare = line.strip()
        if bare[:1] == "│" == bare[-1:]:
            names = [one.strip() for one in bare.split("│")[1:-1]]
            timed = bool(names) and names[0].startswith("sec/op")
            files = files if timed else names
        elif timed and (cells := STAT_CELL.findall(line)) and len(cells) == len(files):
            runs = next(map(int, STAT_RUNS.findall(line)), None)
            for name, (written, number, prefix) in zip(files, cells, strict=True):
                yield Published(
                    file.at(at), "go test", f"{line.split()[0]}: {name}", unit="operations", runs=runs,
                    latency_ms={"mean": float(number) * MS[prefix or "s"]}, written=f"{written} s/op",
                )  # fmt: skip


def _place(found: list[Published], at: int, latency: dict[str, float], file: File) -> None:
    """With the rate that stands before it, or as a result of its own."""
    for n in range(len(found) - 1, -1, -1):
        begins = found[n].where.line or 0
        if begins < at - NEAR or (begins < at and found[n].latency_ms):
            break
        if begins < at and found[n].rate is not None:
            found[n] = replace(found[n], latency_ms=latency)
            return
    found.append(Published(file.at(at), "", file.base, latency_ms=latency))


def _course(of: list[Published]) -> list[Published]:
    rates = [published.rate for published in of if published.rate is not None]
    times = [published.took_s for published in of if published.took_s is not None]
    if len(of) > OFTEN and len(rates) == len(of):
        return [replace(of[0], rate=fmean(rates), series=tuple(rates))]
    if len(of) > OFTEN and len(times) == len(of):
        return [replace(of[0], took_s=fmean(times), runs=len(of))]
    return of


def _figures(file: File, at: int, line: str) -> Iterator[Published]:
    where = file.at(at)
    if match := GO.match(line):
        yield Published(
            where, "go test", match[1], unit="operations", latency_ms={"mean": float(match[3]) / 1e6},
            written=f"{match[3]} ns/op", parameters={"operations": match[2]},
        )  # fmt: skip
    elif match := WALL.search(line):
        seconds = float(match[3])
        yield Published(where, "", match[1] or match[2], took_s=seconds, written=f"{match[3]} wallclock secs")
    elif not SETS.search(line) and not PART.search(line):
        for match in (*BEHIND.finditer(line), *BEFORE.finditer(line)):
            rate, value = rate_of(match["unit"].lower()), value_of(match["number"])
            if rate is None or value is None:
                continue
            kind, value = rate[0], value * rate[1] * {"k": 1e3, "M": 1e6}.get(match["kilo"] or "", 1.0)
            one = Published(where, "", _label(file, line[: match.start()]), written=match[0].strip())
            if lasted := LASTED.search(line[: match.start()]):
                one = replace(one, measured_s=value_of(lasted[1]))
            if kind == "nopm":
                yield replace(one, nopm=value)
            elif kind == "tpm":
                yield replace(one, tpm=value, rate=value / 60)
            else:
                yield replace(one, rate=value, unit="operations" if kind == "iops" else kind)  # type: ignore[arg-type]
        match = TOOK.search(line)
        # What took that long may be no work on data: a start, a connection.
        if match and (match[1].lower() not in TELLS or OF_DATA.search(line[: match.start()])):
            took = value_of(match[2])
            if took is not None:
                took *= TIMES_S.get(match[3].lower(), TIMES_S[match[3][0].lower()])
                yield Published(where, "", _label(file, line[: match.start()]), took_s=took, written=match[0].strip())


def _label(file: File, text: str) -> str:
    """What stands before a figure, without what parts them and without another figure; else the file's name."""
    other = FIGURE.search(text)
    first = text[: other.start()] if other else text
    return LABEL_END.sub("", " ".join(first.split()))[:80] or file.base


IN_PROSE = Importer("lines of results", _in_prose, beside=True)
ALONE = Importer("lines of results", _alone, last=True)
