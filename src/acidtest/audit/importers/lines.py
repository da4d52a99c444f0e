"""Lines that programs of one's own print: a label, a figure, its unit ("SelectOne: 81,274 rec/s", "Elapsed: 3.1 s").

Only what no other importer knows is looked at, and only units that are plain: rates, and how long a fixed work took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from acidtest.audit.bench import Published
from acidtest.audit.importers.figures import engine_of, statistic_of, unit_role, value_of
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.tables import CELL_MAX, FENCE, PROSE
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINE_MAX = 400
RESULTS_MAX = 2_000
HEADINGS = 2  # of those above a list that its figures are named by; the first is the text's own
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
    r"\b(elapsed(?: time)?|total (?:test )?(?:time|duration)|duration|time taken|run ?time|completed(?: in| after)?"
    r"|took|finished in)\b"
    r"[^\w\n]{0,12}(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ms|s|secs?|seconds?|min|minutes?|us|µs)\b",
    re.IGNORECASE,
)
ISO = re.compile(
    r"\b((?:total )?(?:test )?(?:duration|time))[^\w\n]{0,6}PT(?:(\d{1,4})M)?(\d{1,9}(?:\.\d{1,9})?)S\b", re.IGNORECASE
)
TELLS = frozenset(("took", "finished in", "completed in", "completed after"))
OF_DATA = linear.compile(
    r"\b(?:insert|select|updat|delet|quer|rows?\b|record|read|writ|load|import|bench|transaction|scan|join|workload|operation)",
    linear.I,
)
TIMES_S = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "m": 60.0, "s": 1.0}
RATE = re.compile(rf"\b(\w{{1,30}}) rate\s{{0,5}}[:=]\s{{0,9}}{AMOUNT} ?/ ?s(?:ec)?\b", re.IGNORECASE)
WALL = re.compile(  # of sql-bench
    r"(?:Time for (\S{1,80}) \(\d{1,12}\)|(Total) time): {1,9}(\d{1,9}(?:\.\d{1,9})?) wallclock secs"
)
GO = re.compile(r"\s{0,20}([Bb]enchmark\S{1,150})\s+(\d{1,12})\s+(\d{1,15}(?:\.\d{1,6})?) ns/op")  # of "go test -bench"
STATED = re.compile(
    r"[\s*#>|-]{0,20}([A-Za-z][\w .()%]{0,40}?|\d{2}(?:\.\d{1,3})?(?:th|%)[\w ]{0,20})\s{0,9}[:=]\s{0,9}"
    r"(\d[\d,]{0,15}(?:\.\d{1,12})?) ?(ns|us|µs|ms|s|sec|secs|seconds)\b[\s,.]{0,9}"
)
MS = {"n": 1e-6, "u": 1e-3, "µ": 1e-3, "m": 1.0, "s": 1000.0}
# An item of a list, and what such a one begins with.
ITEM = linear.compile(r"(\s{0,20})(?:[-*+•]|\d{1,3}[.)]) {1,4}(\S.*)")
LABELLED = linear.compile(
    r"(\*\*[^*]{1,80}\*\*|__[^_]{1,80}__|`[^`]{1,60}`|[A-Za-z][\w .()/+-]{0,60}?)(?::\s|\s{0,3}[-–—=→]\s|:?\*\*:?\s)"
)
SPACED = re.compile(rf"((?:^|[`*(:=~≈>–—-]) ?)(\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}}){{1,3}})(?= ?{UNIT})", re.IGNORECASE)
SPLIT = linear.compile(r"\d[ \x{a0}\x{202f}]$")
RANGE = linear.compile(r"\d[kKM]?(?: ?[-–—~] ?| to )$")
REPEATED = linear.compile(r"[{\[(]((?:\d[\d.]{0,14}, ?){2,60}\d[\d.]{0,14})[)\]}]")
COMPARES = linear.compile(
    r"\b(?:faster|slower|than|vs\.?|versus|up to|at most|at least|about|capped|provisioned|limit)\b", linear.I
)
WITH_LATENCY = linear.compile(r"(\d[\d.,]{0,15}) ?(ns|us|µs|ms|s|sec|seconds)\b")
DRAWN = "┌├└│─┃║╔╚╠═┬┴┤╟• "
NEAR = 40  # lines between a rate and the latencies that are of it
PART = linear.compile(r"\(\d{1,3} ?%\)|^\s*\[?\d{1,3} ?%")  # of a run that goes on
FIGURE = linear.compile(r"\||\d[\d.,]{0,20} ?(?:ms|s|sec|µs|us)\b")
LABEL_END = re.compile(r"[\s:=|,;>(\[\-]{1,20}$")
# Of the tools that importers of their own read.
KNOWN = re.compile(
    r"transaction type:|SQL statistics:|\[OVERALL\]|TEST RESULT|IOPS=|iops=|http_reqs|Measured tpm|TpmC|ioping|"
    r"\[Summary\]|\[Current\]|latency average|tps = |thds:|Throughput \(requests|fio-\d|sysbench \d|"
    r"seconds to run all queries|Timing (?:cached|buffered)|bytes .{0,40}copied|ops/sec +\d+\.\d+ usecs/op|"
    r"summary [=+]|current ops/sec|Virtual Users configured"
)
SETS = re.compile(
    r"(?:^|[\s\"'`=])--?[A-Za-z]|[{}$]|\b(?:target|wanted|limit|max|expected|goal|threshold)\b", re.IGNORECASE
)


def _in_prose(file: File) -> Sequence[Published] | None:
    if not PROSE.fullmatch(file.base) or file.base.endswith((".html", ".htm")) or file.size > BYTES_MAX:
        return None
    found: list[Published] = []
    begun: int | None = None
    heading = over = ""
    above: dict[int, str] = {}  # the headings, by their level
    for at, line in enumerate(file.lines):
        if begun is None and line.startswith("#"):
            heading, over = line.strip("# ")[:80], ""
            level = len(line) - len(line.lstrip("#"))
            above = {of: text for of, text in above.items() if of < level} | {level: heading}
        if FENCE.match(line):
            if begun is not None:
                block = file.lines[begun:at]
                if not any(KNOWN.search(one[:LINE_MAX]) for one in block):
                    found += _of(file, block, begun, heading)
            begun = at + 1 if begun is None else None
        elif begun is None and (item := ITEM.fullmatch(line[:LINE_MAX])) is not None:
            figures = list(_of_item(file, at + 1, item[2]))
            if not figures or not item[1]:
                over = "" if figures else _bare(item[2])
            found += [_placed(one, (*list(above.values())[1:][-HEADINGS:], over)) for one in figures]
    return found[:RESULTS_MAX] or None


def _placed(one: Published, above: Sequence[str]) -> Published:
    """With what it stands under in its name, which tells it from another of the same label."""
    name = ": ".join(dict.fromkeys(part for part in (*map(_bare, above), one.name) if part))
    return replace(one, name=name[-CELL_MAX:], engine=engine_of(one.name))


def _of_item(file: File, at: int, text: str) -> Iterator[Published]:
    """The rates of one item of a list that begins with what they are of: "**new**: 5,120 TPS {5100, 5110, 5120}".
    A latency that stands behind a rate is of it, and so are figures in braces: its repetitions."""
    labelled = LABELLED.match(text)
    if labelled is None or COMPARES.search(text):
        return
    rest = SPACED.sub(lambda match: f"{match[1]}{re.sub(r'[^0-9]', '', match[2])}", text[labelled.end() :])
    rates = list(BEHIND.finditer(rest))
    for n, match in enumerate(rates):
        if SPLIT.search(rest[: match.start()]) or RANGE.search(rest[: match.start()]):
            continue  # "57 QPS" of "11 057 QPS", and the end of "100 to 200 tps"
        of, value = unit_role(match[2]), value_of(match[1].rstrip("kM "))
        if of is None or of.kind not in (*COUNTED, "nopm", "tpm") or value is None:
            continue
        value *= of.factor * (1000.0 if match[1].rstrip()[-1] == "k" else 1e6 if match[1].rstrip()[-1] == "M" else 1.0)
        behind = rest[match.end() : rates[n + 1].start() if n + 1 < len(rates) else None]
        repeated = REPEATED.search(behind)
        one = Published(
            file.at(at), "", _bare(labelled[1]), written=match[0].strip(), told=True,
            runs=len(repeated[1].split(",")) if repeated else None, latency_ms=_stated(behind),
        )  # fmt: skip
        if of.kind == "nopm":
            yield replace(one, nopm=value)
        elif of.kind == "tpm":
            yield replace(one, tpm=value, rate=value / 60)
        else:
            yield replace(one, rate=value, unit=of.kind)  # type: ignore[arg-type]


def _stated(text: str) -> dict[str, float]:
    """The latency that stands behind a rate: "with 5.2 ms at the 99th percentile"."""
    match = WITH_LATENCY.search(text)
    if match is None or (value := value_of(match[1])) is None or not (name := statistic_of(text.lower())):
        return {}
    return {name: value * MS[match[2][0].lower()]} if name not in ("min", "deviation") and value > 0 else {}


def _bare(text: str) -> str:
    return " ".join(text.replace("*", " ").replace("_", " ").replace("`", " ").split()).strip(" :–-")[:80]


def _alone(file: File) -> Sequence[Published] | None:
    if PROSE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head[:4096] or SOURCE.fullmatch(file.base):
        return None
    if not any(pattern.search(one[:LINE_MAX]) for one in file.first_lines for pattern in (BEHIND, BEFORE, *OTHERS)):
        return None
    return _of(file, file.lines, 0, file.base)[:RESULTS_MAX] or None


OTHERS = (TOOK, ISO, RATE, WALL, GO)
SOURCE = re.compile(
    r".*\.(?:py|js|mjs|ts|tsx|go|java|kt|scala|c|h|cc|cpp|hpp|cs|rs|rb|php|pl|lua|r|jl|swift|sql|tcl|awk|bat|cmd|"
    r"ps1|sh|bash|ya?ml|json|xml|toml|ini|conf|cnf|cfg|env|properties|svg|css|scss|sass|less|ipynb|lock|sum|j2|tpl|tf|mk)|dockerfile.*|makefile.*|\.\w.*"
)


def _of(file: File, lines: Sequence[str], before: int, heading: str) -> list[Published]:
    found: list[Published] = []
    latencies: list[tuple[int, dict[str, float]]] = []
    for at, drawn in enumerate(lines, start=before + 1):
        line = drawn.lstrip(DRAWN) if drawn[:LINE_MAX].lstrip()[:1] in DRAWN[:-1] else drawn
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
        yield Published(
            file.at(at), "", match[1] or match[2], took_s=float(match[3]), written=f"{match[3]} wallclock secs"
        )
        return
    if SETS.search(line) or PART.search(line):
        return
    if match := RATE.search(line):
        of_words, amount = unit_role(f"{match[1]}/s"), value_of(match[2].rstrip("kM "))
        if of_words is not None and of_words.kind in COUNTED and amount is not None:
            yield Published(
                file.at(at), "", _label(line[: match.start()]), rate=amount, unit=of_words.kind, written=match[0],  # type: ignore[arg-type]
            )  # fmt: skip
            return
    for match in (*BEHIND.finditer(line), *BEFORE.finditer(line)):
        digits, unit = (match[1], match[2]) if match.re is BEHIND else (match[2], match[1])
        of, value = unit_role(unit), value_of(digits.rstrip("kM "))
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
    match = TOOK.search(line)
    if match and match[1].lower() in TELLS and not OF_DATA.search(line[: match.start()]):
        match = None  # what took that long is no work on data: a start, a connection
    if match:
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
