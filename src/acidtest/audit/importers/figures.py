"""Tables of results that somebody wrote: figures whose unit stands in the heading, beside them or above the table.

What a table calls "throughput" without a unit is nobody's figure here: ``left_over`` says so.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from acidtest.audit.bench import EngineName, Published, Unit
from acidtest.audit.compared import OTHERS
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.numbers import load
from acidtest.audit.importers.tables import CELL_MAX, PROSE, Row, Table, of_file
from acidtest.families import PRODUCTS

SECOND = r"(?: ?(?:per|a|/) ?s(?:ec(?:ond)?s?)?\b)"
COUNTED = (
    "operations?|rows?|inserts?|updates?|deletes?|selects?|reads?|writes?|rec(?:ord)?s?|events?|messages?|"
    "doc(?:ument)?s?|keys?"
)
MINUTE = r"(?: ?(?:per|a|/) ?min(?:ute)?s?\b)"
# Of a heading or of what stands behind a figure: which kind of rate it is, and how many of the unit it counts.
RATES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nopm", re.compile(rf"\btpm[- ]?c\b|\bn(?:ew ?)?o(?:tp|p)m\b|\bnew[- ]orders?(?: transactions)?{MINUTE}")),
    ("tpm", re.compile(rf"\btpm(?:total)?\b|\b(?:transactions?|txns?|tx|trx){MINUTE}")),
    ("transactions", re.compile(rf"\bk?tps\b|\b(?:transactions?|txns?|tx|trx|commits?){SECOND}")),
    ("queries", re.compile(rf"\bk?qps\b|\b(?:queries|query|statements){SECOND}")),
    ("iops", re.compile(rf"\bk?iops\b|\bios?{SECOND}")),
    ("requests", re.compile(rf"\bk?rps\b|\bk?req(?:uests?|s)?{SECOND}")),
    ("operations", re.compile(rf"\bk?ops?{SECOND}|\bk?ops/s\b|\b[km]ops\b|\b(?:{COUNTED}){SECOND}")),
    ("bytes", re.compile(rf"\b([kmgt]?)(i?)b(?:ytes)?(?:{SECOND}| s\b)|\b([kmg])(i?)bps\b")),
)  # fmt: skip
TIMES: tuple[tuple[float, re.Pattern[str]], ...] = (  # in milliseconds
    (1.0, re.compile(r"\bm(?:illi)?s(?:ec(?:ond)?s?)?\b|\bmillis\b")),
    (0.001, re.compile(r"(?:\b|(?<=\d))[µμu]s(?:ec)?s?\b|\bmicro(?:second)?s\b")),
    (1e-6, re.compile(r"\bns\b|\bnanoseconds?\b")),
    (60_000.0, re.compile(r"\bmin(?:ute)?s\b")),
    (
        1000.0,
        re.compile(
            r"(?:(?<=\s)|(?<=time)|(?<=duration)|(?<=elapsed)|(?<=takes)|(?<=latency))[(\[](?:in )?s[)\]]"
            r"|\bsec(?:ond)?s?\b|(?<=\w) s$|^s$"
        ),
    ),
)
PERCENTILE = re.compile(
    r"\bp\(?(\d{2}(?:\.\d{1,3})?)\)?(?!\w)"
    r"|\b(\d{2}(?:\.\d{1,3})?) ?(?:th|%)?[- ]?(?:ile|percentile|pct|percent)\b"
    r"|\bpercentile (\d{2}(?:\.\d{1,3})?)\b|\b(\d{2}(?:\.\d{1,3})?)th\b|(?:^|\s)(9\d(?:\.\d{1,3})?) ?%"
)
STATISTICS = (
    ("p50", re.compile(r"\bmedian\b|\bmed\b")),
    ("mean", re.compile(r"\bavg\b|\baverage\b|\bmean\b")),
    ("max", re.compile(r"\bmax(?:imum)?\b|\bslowest\b|\blongest\b")),
    ("min", re.compile(r"\bmin(?:imum)?\b|\bfastest\b|\bshortest\b")),
    (
        "deviation",
        re.compile(
            r"^(?:std ?)?err(?:or)?(?: \S{1,8})?$|\bst(?:d|andard)[ .-]?err(?:or)?\b|\bmargin\b|"
            r"\bst(?:d|andard)?[ .-]?dev(?:iation)?\b|\bstddev\b|\bstd\b|\bσ|\bjitter\b"
        ),
    ),
)
LATENCY = re.compile(
    r"\blatenc(?:y|ies)\b|\blat\b|\bresponse(?: times?)?\b|\bresp\b|\brt\b|\bround ?trip\b|_duration\b"
)
WORK = re.compile(
    r"\btime\b|\bduration\b|\belapsed\b|\btook\b|\btotal\b|\bruntime\b|\binsert\b|\bquery\b|\bload\b|\bimport\b"
)
# The time of one of many, which is a latency's mean.
PER_CALL = re.compile(
    r"(?:/ ?|\bper |\beach |\ba )(?:ops?|operations?|calls?|quer(?:y|ies)|requests?|req|statements?|rows?|inserts?|"
    r"iterations?|iter|transactions?|txn?|messages?|lookups?|reads?|writes?)\b"
)
WAITS = re.compile(r"\btimeout\b|\binterval\b|\bdelay\b|\bsleep\b|\bperiod\b|\bttl\b|\bthink\b")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
CLIENTS = re.compile(
    r"\b(?:threads?|clients?|terminals?|conn(?:ection)?s?|vus?|(?:virtual |v)?users?|concurrency|sessions?|workers?)\b"
)
SCALE = re.compile(r"\bscal(?:e|ing)(?: factor)?\b|\bwarehouses?\b|\bsf\b")
FAILED = re.compile(r"\berrors?\b|\bfail(?:ed|ures?)\b|\baborts?\b|\baborted\b|\brollbacks?\b")
# The same as a share of all, of those that failed and of those that did not; and how many were sent.
SHARE_OF = r"[ _-]?(?:rate|ratio|share|percent(?:age)?|%|\(%\)|율|률|率)"
FAILED_SHARE = re.compile(rf"(?:errors?|fail(?:ed|ures?)?|에러|오류|실패|错误|失败|エラー|失敗){SHARE_OF}")
SUCCESS_SHARE = re.compile(rf"(?:success|성공|成功){SHARE_OF}")
DONE = r"requests|operations|ops|writes|reads|queries|transactions|txns?|attempts|inserts|calls"
TRIED = re.compile(
    rf"total|sent|attempts|attempted|issued|requests|(?:total|sent|all) (?:{DONE})"
    r"|发送请求数?|请求总数|总请求数?"
)
SUCCEEDED = re.compile(
    rf"successful|succeeded|success(?:es)?|ok|successes|(?:successful|succeeded) (?:{DONE})|成功(?:请求)?数?"
)
REPETITION = re.compile(r"#|(?:run|rep|repetition|iteration|trial|attempt|pass)(?: ?(?:no\.?|number|index|#|id))?")
RUNS = re.compile(r"n|(?:(?:number|no\.?) of )?(?:runs|rounds|samples|repetitions|repeats|trials)")
RELATIVE = re.compile(
    r"%|\bchange\b|\bdiff|\bdelta\b|Δ|\bratio\b|speed-?up|improvement|\bgain\b|\bvs\b|relative|\brank\b|×|overhead|winner"
)
LIMIT = re.compile(r"\btarget\b|\bgoal\b|\blimit\b|\bthreshold\b|\bslo\b|\bsla\b|\bexpected\b|\bbudget\b|\brequired\b")
DROPPED = re.compile(
    r"\bthroughput\b|\brate\b|\blatenc(?:y|ies)\b|\blat\b|\bresponse\b|\btimes?\b|\bduration\b|\bhigher is better\b|"
    r"\blower is better\b|\bpercentile\b|\bper\b|\bin\b|[()\[\],:/#]|↑|↓"
)
AMOUNT = re.compile(
    r"([-+]?\d[\d.,'_\u00a0\u202f\u2009 ]{0,40}(?:e[-+]?\d{1,3})?) ?(?:(k|K|M)(?![A-Za-z]))?(.*)", re.DOTALL
)
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
COUNT = re.compile(r"\d")
CORNER = re.compile(r"[/\\|]|, ")
READS, WRITES = re.compile(r"\bread|\bselect"), re.compile(r"\bwrite|\binsert|\bupdate")
SHARE = re.compile(r"\d ?(?:%|x|×)")
TURNED_ROWS_MAX = 100  # of a table whose rows may be what others have as columns
FAILED_LEAST = 0.01  # of what was sent, from which on a run is another than those of which nothing failed
ONE_BY_ONE_MAX = 300  # rows, above which a table records runs and does not publish them
JSON_BYTES_MAX = 8 << 20
JSON_OBJECTS_MAX = 50_000
RUNS_MAX = 30  # a longer list is the course of one run
AMOUNTS_MAX = 20_000  # cells of which the figure is remembered: each is asked for several times
AXIS_LEAST = 4  # rows of equal steps, of which the first column is time itself
SAMPLE = 50  # cells that show what a column holds
TOOLS = (
    "pgbench", "sysbench", "hammerdb", "benchmarksql", "benchbase", "oltpbench", "go-tpc", "tpcc-mysql", "mysqlslap",
    "go-ycsb", "ycsb", "k6", "jmeter", "fio", "oltp-emul", "hdparm", "crystaldiskmark", "ioping", "memtier",
)  # fmt: skip
TOOL = re.compile(rf"(?<![\w-])(?:{'|'.join(TOOLS)})(?![\w-])", re.IGNORECASE)
# The headings of tools' own tables, which importers of their own read: go-tpc's, Google Benchmark's.
OWN = ({"PREFIX", "OPERATION"}, {"BENCHMARK", "TIME", "CPU", "ITERATIONS"})
AROUND_A_FIGURE = "*_`~≈ "
NO_UNIT = ("%", "x", "×", "-", "–", "/", ":")  # a share, a factor, a range, a date
REPORTS = (b"Performance in TOTAL", b"BenchmarkSQL Run")  # pages that importers of their own read
PER_SECOND = re.compile(
    r"((?:[kmgt]i?)?b|ops|reqs?|requests|rows|txn?s?|queries|transactions)_s(?:ec)?$", re.IGNORECASE
)
MARKS = str.maketrans("_", " ")


@dataclass(frozen=True)
class Role:
    """What the figures of one column (or row) are."""

    # A kind of rate, "latency", "took", "clients", "scale", "failed", "repetition", "runs", "seconds", "tried",
    # "succeeded", "failed share", "success share".
    kind: str
    statistic: str = ""
    factor: float = 1.0  # to a second's, to milliseconds, to bytes
    whose: str = ""  # what the heading says besides
    written: str = ""  # the unit as it stands there


@dataclass(frozen=True)
class Amount:
    value: float
    rest: str  # what stands behind it


def _in_prose(file: File) -> Sequence[Published] | None:
    return _read(file) if PROSE.fullmatch(file.base) and not any(one in file.head for one in REPORTS) else None


def _alone(file: File) -> Sequence[Published] | None:
    if PROSE.fullmatch(file.base):
        return None
    begins = file.head.removeprefix(BOM_UTF8).lstrip()[:1]
    return _of_json(file) if begins in (b"{", b"[") else _read(file)


def _of_json(file: File) -> Sequence[Published] | None:
    """Of objects whose keys say what their figures are: each is a row of a table."""
    said = file.text[: 1 << 20].lower().replace("_", " ")
    if file.size > JSON_BYTES_MAX or not any(pattern.search(said) for _, pattern in RATES + TIMES):
        return None
    try:
        document = load(file)
    except Broken:
        return None  # of no known tool, and so nobody's to understand
    published: list[Published] = []
    at, line = 0, 1
    for path, of in _objects(document):
        head = tuple(str(key)[:CELL_MAX] for key in of)
        found = file.text.find(f'"{head[0]}"', at)
        if found >= 0:
            line += file.text.count("\n", at, found)
            at = found
        cells = tuple(f"{value:.12g}" if isinstance(value, float) else str(value)[:CELL_MAX] for value in of.values())
        of_one = of_table(Table(line, line, "", ("", *head), (Row(line, (path, *cells)),)), file)
        published += [one for one in of_one if one.rate or one.latency_ms or one.nopm or one.bytes_per_s or one.took_s]
        if len(published) > ONE_BY_ONE_MAX * 10:
            return _together(published)
    return (_together(published) if len(published) > ONE_BY_ONE_MAX else published) or None


def _objects(document: object) -> Iterator[tuple[str, dict[str, int | float | str]]]:
    """Every object with figures, with the keys above it, in the text's order; without recursion, for it may be deep."""
    waiting: list[tuple[str, object]] = [("", document)]
    for _ in range(JSON_OBJECTS_MAX):
        if not waiting:
            return
        path, one = waiting.pop()
        if isinstance(one, dict):
            plain = {
                key: value
                for key, value in one.items()
                if isinstance(value, int | float | str) and not isinstance(value, bool)
            }
            if any(not isinstance(value, str) for value in plain.values()):
                runs = [len(value) for key, value in one.items() if _lists_runs(str(key), value)]
                yield path, {**plain, "runs": runs[0]} if runs and "runs" not in plain else plain
            inner = [
                (f"{path} {key}".strip()[-CELL_MAX:], value)
                for key, value in one.items()
                if isinstance(value, dict | list)
            ]
            waiting += reversed(inner)
        elif isinstance(one, list):
            waiting += [(path, value) for value in reversed(one) if isinstance(value, dict | list)]


def _lists_runs(key: str, value: object) -> bool:
    """Whether a list is of the rates of several runs, as "tps_list": [612.4, 598.1, 605.0]."""
    if not isinstance(value, list) or not 1 < len(value) <= RUNS_MAX:
        return False
    low = key.lower().replace("_", " ")
    return all(isinstance(one, int | float) for one in value) and any(pattern.search(low) for _, pattern in RATES)


def _read(file: File) -> Sequence[Published] | None:
    of_others = [table for table in of_file(file) if not any({*map(str.upper, table.head)} >= own for own in OWN)]
    published = [one for table in of_others for one in of_table(table, file)]
    if not published:
        return None
    tool = _tool(file, published)
    return [replace(one, tool=tool.get(one.where.line or 0, "")) for one in published]


def of_table(table: Table, file: File) -> list[Published]:
    """The results of one table; none where no unit says what its figures are."""
    wide = max([len(table.head), *(len(row.cells) for row in table.rows)])
    rows = [Row(row.line, (*row.cells, *[""] * (wide - len(row.cells)))) for row in table.rows]
    head = (*table.head, *[""] * (wide - len(table.head)))
    columns = [role(head[n], [row.cells[n] for row in rows]) for n in range(wide)]
    if _is_axis([row.cells[0] for row in rows], columns):
        columns[0] = None
    if wide and CORNER.search(head[0]) and not _numbers([row.cells[0] for row in rows]):
        columns[0] = None  # it names the rows, and may name what all figures are
    labels = _labels(rows) if len(rows) <= TURNED_ROWS_MAX else []
    lines = [role(label, list(row.cells[1:])) for label, row in zip(labels, rows, strict=False)]
    by_column, by_line = _strength(columns, head), _strength(lines, labels)
    if by_line > by_column:
        turned_head = ("", *labels)
        turned = [
            Row(0, (head[n], *(row.cells[n] for row in rows)))
            for n in range(1, wide)
            if not RELATIVE.search(head[n].lower())
        ]
        places = [0, *(row.line for row in rows)]
        return list(_of_rows(table, turned_head, turned, [None, *lines], file, places))
    relative = [RELATIVE.search(name.lower()) is not None for name in head]
    if not by_column and not any(one and one.kind in FIGURES for one in columns):
        above = role(table.caption.replace("\n", " "), [], caption=True)
        if above is None or above.kind not in FIGURES:
            above = _of_corner(head[0], [row.cells[0] for row in rows])
        if above is None or above.kind not in FIGURES:
            return []
        columns = [
            one or (replace(above, whose=head[n]) if n and _mostly_amounts(rows, n) and not relative[n] else None)
            for n, one in enumerate(columns)
        ]
    published = list(_of_rows(table, head, rows, columns, file, None))
    return _together(published) if len(rows) > ONE_BY_ONE_MAX else published


def _of_corner(text: str, labels: Sequence[str]) -> Role | None:
    """What the figures of a table are whose first heading names rows, columns and them: "store / clients / TPS"."""
    parts = CORNER.split(text)
    return role(parts[-1], [], caption=True) if len(parts) > 1 and not _numbers(labels) else None


SHARES = frozenset(("failed share", "success share"))


def _is_axis(cells: Sequence[str], columns: Sequence[Role | None]) -> bool:
    """Whether the first column is when something was measured, and not how long it took: it grows by equal steps."""
    if not columns or columns[0] is None or columns[0].kind not in ("took", "seconds"):
        return False
    if not any(one is not None and one.kind in FIGURES for one in columns[1:]):
        return False
    values = [amount.value for cell in cells if (amount := _amount(cell)) is not None]
    steps = {round(later - one, 3) for one, later in pairwise(values)}
    return len(values) >= AXIS_LEAST and len(steps) == 1 and steps.pop() > 0


FIGURES = frozenset(
    ("nopm", "tpm", "transactions", "queries", "iops", "requests", "operations", "bytes", "latency", "took")
)


def role(text: str, cells: Sequence[str], caption: bool = False) -> Role | None:
    """What a heading says of the figures under it, or what stands behind those; None of what is no measure."""
    found = _role(text, cells, caption)
    parted = CAMEL.sub(" ", text)  # "InsertQps"
    return found if found is not None or parted == text else _role(parted, cells, caption)


@lru_cache(maxsize=4096)  # a log has the same unit in each of its lines
def unit_role(text: str) -> Role | None:
    """What stands behind a figure of a line says of it."""
    return role(text, [], caption=True)


def _role(text: str, cells: Sequence[str], caption: bool) -> Role | None:
    said = PER_SECOND.sub(r"\1/s", text).translate(MARKS)
    low = said.lower()
    units = _unit_of(cells)
    if (of_share := _share_of(low)) and not caption:
        return Role(of_share)
    scale = SCALE.search(low)
    if not caption and scale is None and (RELATIVE.search(low) and not PERCENTILE.search(low)):
        return None
    if LIMIT.search(low):
        return None
    for source in (low, units):
        for kind, pattern in RATES:
            if match := pattern.search(source):
                factor = _bytes(match) if kind == "bytes" else 1000.0 if match[0].startswith("k") else 1.0
                written = text if source is low and not caption else match[0]
                return Role(kind, statistic_of(low), factor, _whose(said, low, match[0]), written)
    statistic = statistic_of(low)
    time = next(
        ((factor, match) for source in (low, units) for factor, pattern in TIMES if (match := pattern.search(source))),
        None,
    )
    if time is not None:
        factor, match = time
        if statistic or LATENCY.search(low) or PER_CALL.search(low):
            return Role("latency", statistic or "mean", factor, _whose(said, low, match[0]), match[0])
        if re.search(r"\bduration\b", low) and factor >= 1000 and not caption and not units:
            return Role("seconds", factor=factor / 1000)
        if WORK.search(low) or units or caption or (factor <= 1 and not WAITS.search(low)):
            return Role("took", "", factor / 1000, _whose(said, low, match[0]), match[0])
        return None
    if caption or not cells or not _numbers(cells):
        return None
    if RUNS.fullmatch(low.strip()):
        return Role("runs")
    if REPETITION.fullmatch(low.strip()):
        return Role("repetition")
    counted = COUNT.search(low) is not None  # "64 clients": the figures below are of something else
    if CLIENTS.search(low) and not counted:
        return Role("clients")
    if scale and not counted:
        return Role("scale")
    if TRIED.fullmatch(low.strip()):
        return Role("tried")
    if SUCCEEDED.fullmatch(low.strip()):
        return Role("succeeded")
    return Role("failed") if FAILED.search(low) else None


def _share_of(low: str) -> str:
    return "failed share" if FAILED_SHARE.search(low) else "success share" if SUCCESS_SHARE.search(low) else ""


def _together(published: Sequence[Published]) -> list[Published]:
    """Of a record of many runs one result for each kind of run, the mean of all, and each of which much failed."""
    alike: dict[tuple[object, ...], list[Published]] = {}
    failed = [one for one in published if (one.failed_share or 0) >= FAILED_LEAST]
    for one in (
        published if len(failed) > ONE_BY_ONE_MAX else (of for of in published if (of.failed_share or 0) < FAILED_LEAST)
    ):
        alike.setdefault((one.name, one.terminals, one.unit, one.scale, tuple(one.latency_ms)), []).append(one)
    return [*map(_mean, alike.values()), *(failed if len(failed) <= ONE_BY_ONE_MAX else ())]


def _mean(of: Sequence[Published]) -> Published:
    def mean(name: str) -> float | None:
        values = [value for one in of if (value := getattr(one, name)) is not None]
        return fmean(values) if values else None

    latency = {name: fmean(one.latency_ms[name] for one in of) for name in of[0].latency_ms}
    shared = {
        name: value for name, value in of[0].parameters.items() if all(one.parameters.get(name) == value for one in of)
    }
    return replace(
        of[0], rate=mean("rate"), tpm=mean("tpm"), nopm=mean("nopm"), bytes_per_s=mean("bytes_per_s"),
        took_s=mean("took_s"), failed_share=mean("failed_share"), tried=None, latency_ms=latency,
        runs=len(of), repetition=None, parameters=shared,
    )  # fmt: skip


def _of_rows(
    table: Table,
    head: Sequence[str],
    rows: Sequence[Row],
    roles: Sequence[Role | None],
    file: File,
    places: Sequence[int] | None,
) -> Iterator[Published]:
    for row in rows:
        label = [cell for n, cell in enumerate(row.cells) if roles[n] is None and cell and _is_label(cell, head[n])][:3]
        given = {
            head[n]: row.cells[n]
            for n, of in enumerate(roles)
            if of is None
            and head[n]
            and row.cells[n]
            and (not SHARE.search(row.cells[n]) or FAILED.search(head[n].lower()))
        }
        common: dict[str, float] = {}
        groups: dict[str, list[tuple[int, Role, Amount]]] = {}
        for n, of in enumerate(roles):
            if of is not None and of.kind in SHARES:
                share = _share(row.cells[n], head[n])
                if share is not None:
                    common.setdefault(of.kind, share)
                continue
            amount = _amount(row.cells[n]) if of is not None else None
            if of is None or amount is None:
                continue
            if of.kind in FIGURES:
                groups.setdefault(of.whose, []).append((n, of, amount))
            else:
                common.setdefault(of.kind, amount.value * of.factor)
        for whose, held in groups.items():
            for of_one in _apart(held):
                at = places[of_one[0][0]] if places is not None else row.line
                name = ": ".join(part for part in (" ".join(label), whose) if part)
                yield _published(file, at, name, of_one, row, head, common, given, table)


def _apart(held: Sequence[tuple[int, Role, Amount]]) -> list[list[tuple[int, Role, Amount]]]:
    """One list for each result: a second figure of the same kind is another one's."""
    results: list[list[tuple[int, Role, Amount]]] = []
    seen: list[set[tuple[str, str]]] = []
    for one in held:
        key = (one[1].kind, one[1].statistic)
        place = next((n for n, kinds in enumerate(seen) if key not in kinds), None)
        if place is None:
            results.append([])
            seen.append(set())
            place = len(results) - 1
        results[place].append(one)
        seen[place].add(key)
    return results


def _published(
    file: File,
    at: int,
    name: str,
    held: Sequence[tuple[int, Role, Amount]],
    row: Row,
    head: Sequence[str],
    common: dict[str, float],
    given: dict[str, str],
    table: Table,
) -> Published:
    one = Published(file.at(at), "", name[:CELL_MAX] or file.base, told=True, parameters=dict(given))
    latency: dict[str, float] = {}
    words = f"{name} {' '.join(head[n] for n, _, _ in held)}".lower()
    for n, of, amount in held:
        value = amount.value * (_own_factor(amount.rest, of) or of.factor)
        written = f"{row.cells[n]} {of.written}" if of.written.lower() not in row.cells[n].lower() else row.cells[n]
        if of.kind == "latency":
            if of.statistic not in ("min", "deviation"):
                latency.setdefault(of.statistic, value)
        elif of.kind == "took":
            one = replace(one, took_s=value, written=one.written or written)
        elif of.kind == "bytes":
            one = replace(
                one,
                bytes_per_s=value,
                unit=_unit("iops", words, table.caption.lower()),
                written=one.written or written,
            )
        elif of.kind == "nopm":
            one = replace(one, nopm=value, written=written)
        elif of.kind == "tpm":
            one = replace(one, tpm=value, rate=one.rate or value / 60, written=one.written or written)
        elif one.rate is None or of.kind == "transactions":
            one = replace(one, rate=value, unit=_unit(of.kind, words, table.caption.lower()), written=written)
    errors, failed_share = _failures(common)
    return replace(
        one,
        latency_ms={statistic: value for statistic, value in latency.items() if value > 0},
        written=one.written or next((f"{row.cells[n]} {of.written}".strip() for n, of, _ in held), ""),
        terminals=_whole(common, "clients"),
        scale=common.get("scale"),
        measured_s=common.get("seconds"),
        repetition=_whole(common, "repetition"),
        runs=_whole(common, "runs"),
        errors=errors,
        tried=_whole(common, "tried"),
        failed_share=failed_share,
        engine=engine_of(f"{name} {given}") or (None if _of_another(name) else engine_of(table.caption)),
    )


def _own_factor(rest: str, of: Role) -> float | None:
    """Of a time that has another unit than its heading."""
    if of.kind not in ("latency", "took") or not rest:
        return None
    factor = next((factor for factor, pattern in TIMES if pattern.match(rest.lower())), None)
    return factor if factor is None or of.kind == "latency" else factor / 1000


def _failures(common: dict[str, float]) -> tuple[int | None, float | None]:
    """How many failed, and what share of all these are."""
    tried, succeeded, errors = common.get("tried"), common.get("succeeded"), _whole(common, "failed")
    if tried and succeeded is not None and errors is None and succeeded <= tried:
        errors = int(tried - succeeded)
    if "failed share" in common or "success share" in common:
        share = common.get("failed share", 1 - common.get("success share", 1.0))
    elif tried and errors is not None and errors <= tried and tried >= (succeeded or 0) + errors:
        share = errors / tried
    else:
        return errors, None
    return errors, share if 0 <= share <= 1 else None


def _share(cell: str, head: str) -> float | None:
    """A share in per cent, as the cell or its heading says."""
    match = re.fullmatch(r"[*_~ ]*(\d{1,3}(?:[.,]\d{1,4})?) ?(%?)[*_ ]*", cell)
    if match is None or not (match[2] or "%" in head):
        return None
    return float(match[1].replace(",", ".")) / 100


def _unit(kind: str, words: str, above: str) -> Unit:
    if kind == "iops":
        for text in (words, above):
            reads, writes = READS.search(text), WRITES.search(text)
            if reads or writes:
                return "operations" if reads and writes else "reads" if reads else "writes"
        return "operations"
    return kind  # type: ignore[return-value]


def _whole(common: dict[str, float], name: str) -> int | None:
    value = common.get(name)
    return int(value) if value is not None and 0 < value < 1e15 else None


def _of_another(name: str) -> bool:
    """Whether a row names a product that is no engine of ours: what stands above the table is not about it alone."""
    return any(word in OTHERS for word in re.findall(r"[a-z]+", name.lower()))


def engine_of(text: str) -> EngineName | None:
    """The only product that is named there."""
    low = text.lower()
    named = {
        one.name
        for one in PRODUCTS.values()
        if any(re.search(rf"(?<![a-z]){word}(?![a-z])", low) for word in (one.name, *one.words))
    }
    return named.pop() if len(named) == 1 else None


# ------------------------------------------------------------------------------------------------- words and figures


def _labels(rows: Sequence[Row]) -> list[str]:
    """What the first cells say, behind the row that stands alone over several."""
    labels, over = [], ""
    for row in rows:
        if row.cells[0] and not any(row.cells[1:]):
            over = row.cells[0]
        labels.append(f"{over} {row.cells[0]}".strip() if over != row.cells[0] else row.cells[0])
    return labels


def _strength(roles: Sequence[Role | None], texts: Sequence[str]) -> int:
    """How many of them say themselves what their figures are."""
    return sum(
        one is not None and one.kind in FIGURES and (bool(one.statistic) or role(text, [], caption=True) is not None)
        for one, text in zip(roles, texts, strict=True)
    )


def statistic_of(low: str) -> str:
    if match := PERCENTILE.search(low):
        return f"p{next(filter(None, match.groups()))}"
    return next((name for name, pattern in STATISTICS if pattern.search(low)), "")


def _whose(said: str, low: str, unit: str) -> str:
    at = low.find(unit)
    rest = said[:at] + " " + said[at + len(unit) :] if at >= 0 else said
    for pattern in (PERCENTILE, *(pattern for _, pattern in STATISTICS), DROPPED):
        rest = re.sub(pattern.pattern, " ", rest, flags=re.IGNORECASE)
    return " ".join(rest.split()).strip(" -=.·")


def _bytes(match: re.Match[str]) -> float:
    prefix, binary = (match[1] or match[3] or "").lower(), match[2] or match[4]
    base: float = 1024 if binary else 1000
    return float(base ** " kmgt".index(prefix)) if prefix else 1.0


def _unit_of(cells: Sequence[str]) -> str:
    """What stands behind most of the figures."""
    rests = [amount.rest.lower() for cell in cells[:SAMPLE] if (amount := _amount(cell)) is not None and amount.rest]
    return max(set(rests), key=rests.count) if rests else ""


def _numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells[:SAMPLE] if cell]
    return bool(filled) and sum(_amount(cell) is not None for cell in filled) * 2 > len(filled)


def _mostly_amounts(rows: Sequence[Row], n: int) -> bool:
    return _numbers([row.cells[n] for row in rows])


def _is_label(cell: str, head: str) -> bool:
    """Whether a cell tells what its row is of, and is no figure and no share of one."""
    return (
        not SHARE.search(cell)
        and not RELATIVE.search(head.lower())
        and not ((amount := _amount(cell)) and not amount.rest)
    )


@lru_cache(AMOUNTS_MAX)
def _amount(cell: str) -> Amount | None:
    """The figure that a cell is, with thousands set apart in any usual way; None of a limit, a share or a text."""
    bare = cell.rpartition("@")[2].strip().strip(AROUND_A_FIGURE)  # "5000 @ 139.0/s"
    match = AMOUNT.fullmatch(bare)
    if match is None:
        return None
    value = value_of(match[1])
    rest = match[3].strip()
    if value is None or value < 0 or (rest.startswith(NO_UNIT) and not rest.startswith("/s")):
        return None
    rest = re.split(r"±|\+/-|\(|\[|@", rest)[0].strip()
    if rest and (len(rest) > 20 or not _is_unit(rest.lower())):
        return None
    return Amount(value * {"k": 1e3, "K": 1e3, "M": 1e6}.get(match[2] or "", 1.0), rest)


def _is_unit(rest: str) -> bool:
    return not any(one.isdigit() for one in rest) and (
        any(pattern.search(rest) for _, pattern in RATES)
        or any(pattern.match(rest) for _, pattern in TIMES)
        or rest == "/s"
    )


def value_of(digits: str) -> float | None:
    """A figure as people write it: "1,234.5", "1.234,5", "1 234", "1'234"."""
    bare = re.sub(r"[\s'_\u00a0\u202f\u2009]", "", digits)
    comma, point = bare.rfind(","), bare.rfind(".")
    if comma >= 0 and point >= 0:
        bare = bare.replace(",", "") if point > comma else bare.replace(".", "").replace(",", ".")
    elif comma >= 0:
        bare = bare.replace(",", "") if GROUPED.fullmatch(bare.lstrip("+-")) else bare.replace(",", ".")
    elif bare.count(".") > 1:
        bare = bare.replace(".", "")
    try:
        value = float(bare)
    except ValueError:
        return None
    return value if abs(value) < 1e18 else None


def _tool(file: File, published: Sequence[Published]) -> dict[int, str]:
    """For the line of each result the tool that was named last before it, or else the only one that the text names."""
    wanted = {one.where.line or 0 for one in published}
    by_line: dict[int, str] = {}
    named: list[str] = []
    for number, line in enumerate(file.lines, start=1):
        if match := TOOL.search(line[:2000]):
            named.append(match[0].lower())
        if number in wanted:
            by_line[number] = named[-1] if named else ""
    return {line: tool or (named[0] if len(set(named)) == 1 else "") for line, tool in by_line.items()}


IN_PROSE = Importer("table of results", _in_prose, beside=True)
ALONE = Importer("table of results", _alone, last=True)
