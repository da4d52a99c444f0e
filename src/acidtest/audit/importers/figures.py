"""Tables of results: figures whose unit stands in the heading or beside them.

What a table calls "throughput" without a unit is nobody's figure here: ``left_over`` says so.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from typing import Any

from acidtest.audit.bench import Published, Unit
from acidtest.audit.importers import known
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.tables import CELL_MAX, PROSE, Row, Table, of_file
from acidtest.audit.importers.trees import load_json
from acidtest.formats import linear

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
    (1000.0, re.compile(r"(?<=[\w ])[(\[](?:in )?s[)\]]|\bsec(?:ond)?s?\b|(?<=\w) s$|^s$")),
)  # fmt: skip
PERCENTILE = re.compile(
    r"\bp\(?(\d{2}(?:\.\d{1,3})?)\)?(?!\w)|\bpercentile (\d{2}(?:\.\d{1,3})?)\b|\b(\d{2}(?:\.\d{1,3})?)th\b"
    r"|\b(\d{2}(?:\.\d{1,3})?) ?%?[- ]?(?:ile|percentile|pct|percent)\b|(?:^|\s)(9\d(?:\.\d{1,3})?) ?%"
)
STATISTICS = (
    ("p50", re.compile(r"\bmedian\b|\bmed\b")),
    ("mean", re.compile(r"\bavg\b|\baverage\b|\bmean\b")),
    ("max", re.compile(r"\bmax(?:imum)?\b|\bslowest\b|\blongest\b")),
    ("min", re.compile(r"\bmin(?:imum)?\b|\bfastest\b|\bshortest\b")),
    ("deviation", re.compile(r"\berr(?:or)?$|\bst(?:d|andard)?[ .-]?(?:err(?:or)?|dev(?:iation)?)?\b|\bσ|\bjitter\b")),
)
LATENCY = re.compile(r"\blat(?:ency|encies)?\b|\bresp(?:onse)?(?: times?)?\b|\bround ?trip\b|_duration\b")
WORK = re.compile(r"\b(?:time|duration|elapsed|took|total|runtime|insert|query|load|import)\b")
# The time of one of many, which is a latency's mean.
PER_CALL = re.compile(
    r"(?:/ ?|\b(?:per|each|a) )(?:ops?|calls?|quer(?:y|ies)|requests?|req|iter(?:ation)?s?|txn?|transactions?|"
    rf"{COUNTED})\b"
)
WAITS = re.compile(r"\b(?:timeout|interval|delay|sleep|period|ttl|think)\b")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# A heading of what is counted beside the figures, by the whole of it or by a word in it.
COUNTS = (
    ("runs", linear.compile(r"n|(?:(?:number|no\.?) of )?(?:runs|rounds|samples|repetitions|repeats|trials)")),
    ("repetition", linear.compile(r"#|(?:run|rep|repetition|iteration|trial|attempt|pass)(?: ?(?:no\.?|#|id))?")),
    ("clients", linear.compile(
        r".*\b(?:threads?|clients?|terminals?|conn(?:ection)?s?|vus?|(?:virtual |v)?users?|concurrency|sessions?|"
        r"workers?)\b.*|并发数?|线程数?")),
    ("scale", linear.compile(r".*\b(?:scal(?:e|ing)(?: factor)?|warehouses?|sf)\b.*")),
    ("tried", linear.compile(
        r"total|sent|attempts|attempted|issued|requests|(?:total|sent|all) \w+s|(?:发送|总)请求数?")),
    ("succeeded", linear.compile(
        r"successful|succeeded|success(?:es)?|ok|(?:successful|succeeded) \w+s|成功(?:请求)?数?")),
    ("failed", linear.compile(
        r".*\b(?:errors?|fail(?:ed|ures?)|aborts?|aborted|rollbacks?)\b.*|失败(?:请求)?数?|错误数?")),
)  # fmt: skip
SHARES = (
    ("failed share", re.compile(r"(?:errors?|fail(?:ed|ures?)?)[ -]?(?:rate|ratio|share|percent(?:age)?|%|\(%\))")),
    ("success share", re.compile(r"success[ -]?(?:rate|ratio|share|percent(?:age)?|%|\(%\))")),
)
RELATIVE = re.compile(
    r"%|\bchange\b|\bdiff|\bdelta\b|Δ|\bratio\b|speed-?up|improvement|\bgain\b|\bvs\b|relative|\brank\b|×|overhead|winner"
)
LIMIT = re.compile(r"\b(?:target|goal|limit|threshold|slo|sla|expected|budget|required)\b")
DROPPED = re.compile(
    r"\b(?:throughput|rate|latenc(?:y|ies)|lat|response|times?|duration|(?:higher|lower) is better|percentile|per|in)\b"
    r"|[()\[\],:/#]|↑|↓"
)
AMOUNT = re.compile(
    r"([-+]?\d[\d.,'_\u00a0\u202f\u2009 ]{0,40}(?:e[-+]?\d{1,3})?) ?(?:(k|K|M)(?![A-Za-z]))?(.*)", re.DOTALL
)
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
READS, WRITES = re.compile(r"\bread|\bselect"), re.compile(r"\bwrite|\binsert|\bupdate")
SHARE = re.compile(r"\d ?(?:%|x|×)")
FIGURES = frozenset(
    ("nopm", "tpm", "transactions", "queries", "iops", "requests", "operations", "bytes", "latency", "took")
)
TURNED_ROWS_MAX = 100  # of a table whose rows may be what others have as columns
FAILED_LEAST = 0.01  # of what was sent, from which on a run is another than those of which nothing failed
ONE_BY_ONE_MAX = 300  # rows, above which a table records runs and does not publish them
JSON_BYTES_MAX = 8 << 20
JSON_OBJECTS_MAX = 50_000
SAMPLE = 50  # cells that show what a column holds
# The headings of tools' own tables, whose columns are not read one by one: go-tpc's, Google Benchmark's.
OWN = ({"PREFIX", "OPERATION"}, {"BENCHMARK", "TIME", "CPU", "ITERATIONS"})
NO_UNIT = ("%", "x", "×", "-", "–", "/", ":")  # a share, a factor, a range, a date
REPORTS = (b"Performance in TOTAL", b"BenchmarkSQL Run")  # pages that importers of their own read
PER_SECOND = re.compile(
    r"((?:[kmgt]i?)?b|ops|reqs?|requests|rows|txn?s?|queries|transactions)_s(?:ec)?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Role:
    """What the figures of one column are. ``kind`` is one of FIGURES, of COUNTS, of SHARES, or "seconds"."""

    kind: str
    statistic: str = ""
    factor: float = 1.0  # to a second's, to milliseconds, to bytes
    whose: str = ""  # what the heading says besides
    written: str = ""  # the unit as it stands there


@dataclass(frozen=True)
class Amount:
    value: float
    rest: str  # what stands behind it


Held = tuple[int, Role, Amount]  # a figure of a row: its column and what it is


def _in_prose(file: File) -> Sequence[Published] | None:
    return _read(file) if PROSE.fullmatch(file.base) and not any(report in file.head for report in REPORTS) else None


def _alone(file: File) -> Sequence[Published] | None:
    if PROSE.fullmatch(file.base):
        return None
    return _of_json(file) if file.head.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"[") else _read(file)


def _read(file: File) -> Sequence[Published] | None:
    of_others = (table for table in of_file(file) if not any({*map(str.upper, table.head)} >= own for own in OWN))
    return [published for table in of_others for published in of_table(table, file)] or None


def _of_json(file: File) -> Sequence[Published] | None:
    """Of objects whose keys say what their figures are: each is a row of a table."""
    low = file.text[: 1 << 20].lower().replace("_", " ")
    if file.size > JSON_BYTES_MAX or not any(pattern.search(low) for _, pattern in (*RATES, *TIMES)):
        return None
    try:
        document = load_json(file.text)
    except Broken:
        return None  # of no known tool, and so nobody's to understand
    published: list[Published] = []
    at, line = 0, 1
    for path, of in _objects(document):
        head = tuple(str(key)[:CELL_MAX] for key in of)
        if (found := file.text.find(f'"{head[0]}"', at)) >= 0:
            line += file.text.count("\n", at, found)
            at = found
        cells = tuple(f"{value:.12g}" if isinstance(value, float) else str(value)[:CELL_MAX] for value in of.values())
        published += of_table(Table(line, line, ("", *head), (Row(line, (path, *cells)),)), file)
        if len(published) > ONE_BY_ONE_MAX * 10:
            break
    return (_together(published) if len(published) > ONE_BY_ONE_MAX else published) or None


def _objects(document: object) -> Iterator[tuple[str, dict[str, int | float | str]]]:
    """Every object with figures, with the keys above it, in the text's order; without recursion, for it may be deep."""
    waiting: list[tuple[str, object]] = [("", document)]
    for _ in range(JSON_OBJECTS_MAX):
        if not waiting:
            return
        path, one = waiting.pop()
        if isinstance(one, list):
            waiting += [(path, value) for value in reversed(one)]
        elif isinstance(one, dict):
            plain = {
                key: value
                for key, value in one.items()
                if isinstance(value, int | float | str) and not isinstance(value, bool)
            }
            if any(not isinstance(value, str) for value in plain.values()):
                yield path, plain
            waiting += [(f"{path} {key}".strip()[-CELL_MAX:], value) for key, value in reversed(one.items())]


def of_table(table: Table, file: File) -> list[Published]:
    """The results of one table; none where no unit says what its figures are."""
    wide = max(len(table.head), *(len(row.cells) for row in table.rows))
    rows = [Row(row.line, (*row.cells, *[""] * (wide - len(row.cells)))) for row in table.rows]
    head = (*table.head, *[""] * (wide - len(table.head)))
    roles = [role(head[n], [row.cells[n] for row in rows]) for n in range(wide)]
    places: list[int] = []
    measures = [role(row.cells[0], row.cells[1:]) for row in rows[:TURNED_ROWS_MAX]]
    if _measuring(measures) > _measuring(roles) and len(measures) == len(rows):  # a row a measure, a column a side
        sides = [n for n in range(1, wide) if not RELATIVE.search(head[n].lower())]
        places = [0, *(row.line for row in rows)]
        turned = [Row(0, (head[n], *(row.cells[n] for row in rows))) for n in sides]
        head, roles, rows = ("", *(row.cells[0] for row in rows)), [None, *measures], turned
    elif roles[0] and roles[0].kind in ("took", "seconds") and _measuring(roles[1:]):
        roles[0] = None  # when something was measured, and not how long it took
    published = list(_of_rows(head, rows, roles, file, places))
    return _together(published) if len(rows) > ONE_BY_ONE_MAX else published


def _measuring(roles: Sequence[Role | None]) -> int:
    """How many of them are figures by what they are called themselves."""
    return sum(role is not None and role.kind in FIGURES and bool(role.statistic or role.written) for role in roles)


def role(text: str, cells: Sequence[str]) -> Role | None:
    """What a heading says of the figures under it, or what stands behind those; None of what is no measure."""
    found = _role(text, cells)
    parted = CAMEL.sub(" ", text)  # "InsertQps"
    return found if found is not None or parted == text else _role(parted, cells)


def rate_of(low: str) -> tuple[str, float, str] | None:
    """The kind of rate that a text names, how many its unit counts, and how it is written."""
    for kind, pattern in RATES:
        if match := pattern.search(low):
            factor = _bytes(match) if kind == "bytes" else 1000.0 if match[0].startswith("k") else 1.0
            return kind, factor, match[0]
    return None


def _role(text: str, cells: Sequence[str]) -> Role | None:
    said = PER_SECOND.sub(r"\1/s", text).replace("_", " ")
    low = said.lower()
    units = _unit_of(cells)
    if of_share := next((kind for kind, pattern in SHARES if pattern.search(low)), None):
        return Role(of_share)
    if LIMIT.search(low) or (RELATIVE.search(low) and not PERCENTILE.search(low) and "scal" not in low):
        return None
    statistic = statistic_of(low)
    for source in (low, units):
        if rate := rate_of(source):
            return Role(rate[0], statistic, rate[1], _whose(said, low, rate[2]), text if source is low else "")
    for source in (low, units):
        for factor, pattern in TIMES:
            if match := pattern.search(source):
                written = match[0] if source is low else ""
                if statistic or LATENCY.search(low) or PER_CALL.search(low):
                    return Role("latency", statistic or "mean", factor, _whose(said, low, match[0]), written)
                if re.search(r"\bduration\b", low) and factor >= 1000 and not units:
                    return Role("seconds", factor=factor / 1000)
                if WORK.search(low) or units or (factor <= 1 and not WAITS.search(low)):
                    return Role("took", "", factor / 1000, _whose(said, low, match[0]), written)
                return None
    filled = [cell for cell in cells[:SAMPLE] if cell]
    if sum(_amount(cell) is not None for cell in filled) * 2 <= len(filled):
        return None
    for kind, counts in COUNTS:
        if counts.fullmatch(low.strip()):
            # "64 clients": the figures below are of something else.
            return None if kind in ("clients", "scale") and re.search(r"\d", low) else Role(kind)
    return None


def _together(published: Sequence[Published]) -> list[Published]:
    """Of a record of many runs one result for each kind of run, the mean of all, and each of which much failed."""
    failed = [one for one in published if (one.failed_share or 0) >= FAILED_LEAST]
    failed = failed if len(failed) <= ONE_BY_ONE_MAX else []
    alike: dict[tuple[object, ...], list[Published]] = {}
    for one in published:
        if one not in failed:
            alike.setdefault((one.name, one.terminals, one.unit, one.scale, tuple(one.latency_ms)), []).append(one)
    return [*map(_mean, alike.values()), *failed]


def _mean(of: Sequence[Published]) -> Published:
    means: dict[str, Any] = {}
    for name in ("rate", "tpm", "nopm", "bytes_per_s", "took_s", "failed_share"):
        values = [value for published in of if (value := getattr(published, name)) is not None]
        means[name] = fmean(values) if values else None
    means["latency_ms"] = {name: fmean(published.latency_ms[name] for published in of) for name in of[0].latency_ms}
    shared = {
        name: value
        for name, value in of[0].parameters.items()
        if all(published.parameters.get(name) == value for published in of)
    }
    return replace(of[0], **means, tried=None, runs=len(of), repetition=None, parameters=shared)


def _of_rows(
    head: Sequence[str], rows: Sequence[Row], roles: Sequence[Role | None], file: File, places: Sequence[int]
) -> Iterator[Published]:
    """The results of each row; ``places`` are the lines of the columns, where each is a line of the file."""
    for row in rows:
        label: list[str] = []
        given: dict[str, str] = {}
        common: dict[str, float] = {}
        groups: dict[str, list[Held]] = {}
        for n, (of, cell) in enumerate(zip(roles, row.cells, strict=True)):
            amount = _amount(cell)
            if of is None and cell:
                share = SHARE.search(cell) is not None
                if not share and not (amount and not amount.rest) and not RELATIVE.search(head[n].lower()):
                    label.append(cell)
                if head[n] and not share:
                    given[head[n]] = cell
            elif of is not None and of.kind in ("failed share", "success share"):
                match = re.fullmatch(r"(\d{1,3}(?:[.,]\d{1,4})?) ?(%?)", cell.strip("*_~ "))
                if match and (match[2] or "%" in head[n]):
                    common.setdefault(of.kind, float(match[1].replace(",", ".")) / 100)
            elif of is not None and amount is not None:
                if of.kind in FIGURES:
                    groups.setdefault(of.whose, []).append((n, of, amount))
                else:
                    common.setdefault(of.kind, amount.value * of.factor)
        for whose, held in groups.items():
            for of_one in _apart(held):
                at = places[of_one[0][0]] if places else row.line
                name = ": ".join(part for part in (" ".join(label[:3]), whose) if part)
                one = Published(
                    file.at(at), "", name[:CELL_MAX] or file.base, told=True, parameters=dict(given),
                    engine=known.product(f"{name} {given}"), **_counted(common),
                )  # fmt: skip
                yield _measured(one, of_one, row, f"{name} {' '.join(head[n] for n, _, _ in of_one)}".lower())


def _apart(held: Sequence[Held]) -> Iterator[list[Held]]:
    """One list for each result: a second figure of the same kind is another one's."""
    results: list[dict[tuple[str, str], Held]] = []
    for one in held:
        key = (one[1].kind, one[1].statistic)
        place = next((result for result in results if key not in result), None)
        if place is None:
            results.append(place := {})
        place[key] = one
    return (list(result.values()) for result in results)


def _counted(common: dict[str, float]) -> dict[str, Any]:
    """What stands in a row beside its figures, by the names of ``Published``."""
    whole = {name: int(value) for name, value in common.items() if 0 < value < 1e15}
    tried, succeeded, errors = common.get("tried"), common.get("succeeded", 0.0), whole.get("failed")
    if tried and "succeeded" in common and errors is None and succeeded <= tried:
        errors = int(tried - succeeded)
    share = common.get("failed share", 1 - common["success share"] if "success share" in common else None)
    if share is None and tried and errors is not None and errors + succeeded <= tried:
        share = errors / tried
    return {
        "terminals": whole.get("clients"), "scale": common.get("scale"), "measured_s": common.get("seconds"),
        "repetition": whole.get("repetition"), "runs": whole.get("runs"), "tried": whole.get("tried"),
        "errors": errors, "failed_share": share if share is not None and 0 <= share <= 1 else None,
    }  # fmt: skip


def _measured(one: Published, held: Sequence[Held], row: Row, words: str) -> Published:
    latency: dict[str, float] = {}
    for n, of, amount in held:
        value = amount.value * (_own_factor(amount.rest, of) or of.factor)
        cell = row.cells[n]
        written = one.written or (cell if of.written.lower() in cell.lower() else f"{cell} {of.written}")
        if of.kind == "latency":
            if of.statistic not in ("min", "deviation") and value > 0:
                latency.setdefault(of.statistic, value)
        elif of.kind == "took":
            one = replace(one, took_s=value, written=written)
        elif of.kind == "bytes":
            one = replace(one, bytes_per_s=value, unit=_unit("iops", words), written=written)
        elif of.kind == "nopm":
            one = replace(one, nopm=value, written=written)
        elif of.kind == "tpm":
            one = replace(one, tpm=value, rate=one.rate or value / 60, written=written)
        elif one.rate is None or (of.kind == "transactions" and one.unit != "transactions"):
            one = replace(one, rate=value, unit=_unit(of.kind, words), written=written)
    n, of, _ = held[0]
    return replace(one, latency_ms=latency, written=one.written or f"{row.cells[n]} {of.written}".strip())


def _own_factor(rest: str, of: Role) -> float | None:
    """Of a time that has another unit than its heading."""
    if of.kind not in ("latency", "took") or not rest:
        return None
    factor = next((factor for factor, pattern in TIMES if pattern.match(rest.lower())), None)
    return factor if factor is None or of.kind == "latency" else factor / 1000


def _unit(kind: str, words: str) -> Unit:
    if kind != "iops":
        return kind  # type: ignore[return-value]
    reads, writes = READS.search(words), WRITES.search(words)
    return "operations" if bool(reads) == bool(writes) else "reads" if reads else "writes"


# ------------------------------------------------------------------------------------------------- words and figures


def statistic_of(low: str) -> str:
    if match := PERCENTILE.search(low):
        return f"p{next(filter(None, match.groups()))}"
    return next((name for name, pattern in STATISTICS if pattern.search(low)), "")


def _whose(said: str, low: str, unit: str) -> str:
    at = low.find(unit)
    rest = said[:at] + " " + said[at + len(unit) :] if at >= 0 else said
    for dropped in (PERCENTILE, *(statistic for _, statistic in STATISTICS), DROPPED):
        rest = re.sub(dropped.pattern, " ", rest, flags=re.IGNORECASE)
    return " ".join(rest.split()).strip(" -=.·")


def _bytes(match: re.Match[str]) -> float:
    prefix, binary = (match[1] or match[3] or "").lower(), match[2] or match[4]
    base: float = 1024 if binary else 1000
    return float(base ** " kmgt".index(prefix)) if prefix else 1.0


def _unit_of(cells: Sequence[str]) -> str:
    """What stands behind most of the figures."""
    rests = [amount.rest.lower() for cell in cells[:SAMPLE] if (amount := _amount(cell)) is not None and amount.rest]
    return max(set(rests), key=rests.count) if rests else ""


@lru_cache(20_000)  # each is asked for several times
def _amount(cell: str) -> Amount | None:
    """The figure that a cell is, with thousands set apart in any usual way; None of a limit, a share or a text."""
    match = AMOUNT.fullmatch(cell.strip("*_`~ "))
    if match is None:
        return None
    value, rest = value_of(match[1]), match[3].strip()
    if value is None or value < 0 or (rest.startswith(NO_UNIT) and not rest.startswith("/s")):
        return None
    rest = re.split(r"±|\+/-|\(|\[|@", rest)[0].strip()
    low = rest.lower()
    is_unit = low == "/s" or rate_of(low) or any(pattern.match(low) for _, pattern in TIMES)
    if rest and (len(rest) > 20 or re.search(r"\d", rest) or not is_unit):
        return None
    return Amount(value * {"k": 1e3, "K": 1e3, "M": 1e6}.get(match[2] or "", 1.0), rest)


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


IN_PROSE = Importer("table of results", _in_prose, beside=True)
ALONE = Importer("table of results", _alone, last=True)
