"""Databases that grow, for the page and the terminal: the answer of ``report.growth``, loads, statistics, devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from acidtest.analysis import database
from acidtest.analysis.database import Look, Looks, Unusual
from acidtest.analysis.grown import AtSize, Beside, GrownSeries, RatioAt, beside, series
from acidtest.analysis.growth import Landmark, Prediction, Recorded, recorded, size_text
from acidtest.analysis.samples import Row
from acidtest.journal.models import SIZE, DatabaseStatistics, Header, IndexStatistics, TableStatistics
from acidtest.report import growth
from acidtest.report.numbers import bounds_json, interval, number, share


@dataclass(frozen=True)
class Told:
    """One series with what is concluded from it."""

    series: GrownSeries
    concluded: growth.Told | None  # None where no size has a rate
    incomplete: tuple[str, ...]  # what it does not have, and why

    @property
    def landmarks(self) -> tuple[Landmark, ...]:
        return self.concluded.answer.series.landmarks if self.concluded else ()

    @property
    def predicted(self) -> tuple[Prediction, ...]:
        return self.concluded.predictions if self.concluded else ()

    @property
    def sentences(self) -> list[str]:
        """The answer, as ``acidtest growth`` has it, and what is missing."""
        said = self.concluded.sentences if self.concluded else ["Nothing is told of its growth: no size has a rate."]
        return [*said, *self.incomplete]

    @property
    def name(self) -> str:
        return self.series.name

    @property
    def on_device(self) -> bool:
        """Whether what its block device did is known at some size."""
        return any(at.device for at in self.series.sizes)

    @property
    def looked_into(self) -> list[AtSize]:
        return [at for at in self.series.sizes if at.statistics]

    @property
    def deeper(self) -> list[Unusual]:
        """Indexes that got a level between two sizes."""
        looks = tuple(Look(at.asked, at.statistics) for at in self.series.sizes if at.statistics)
        return database.deeper(Looks(self.name, looks))

    @property
    def without_statistics(self) -> dict[str, list[str]]:
        """Why there are none -> at which sizes."""
        found: dict[str, list[str]] = {}
        for at in self.series.sizes:
            if at.statistics_said:
                found.setdefault(at.statistics_said, []).append(at.asked)
        return found


@dataclass(frozen=True)
class Grows:
    """The series of one workload."""

    workload: str
    told: tuple[Told, ...]
    beside: tuple[Beside, ...]
    scaled: tuple[str, ...]  # in what the scale is reduced; nothing at full size
    fresh: bool  # each size was loaded from nothing

    @property
    def sizes(self) -> list[AtSize]:
        return [at for told in self.told for at in told.series.sizes]


def grows(header: Header, rows: Sequence[Row], predict: Sequence[int] = ()) -> Grows | None:
    """None of rows whose experiment has no growth; ``predict`` are sizes in bytes whose rate is asked for."""
    found = series(header, rows)
    if not found:
        return None
    taken = {_others(one.recordings[0].levels): one for one in recorded([r for row in rows for r in row.done])}
    told = tuple(_told(one, taken.get(_others(one.levels)), predict) for one in found)
    spec = header.experiment["growth"]
    return Grows(found[0].workload, told, tuple(beside(found)), tuple(_scaled(rows)), spec.get("load") == "fresh")


def _others(levels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((factor, level) for factor, level in levels.items() if factor != SIZE)


def _told(one: GrownSeries, taken: Recorded | None, predict: Sequence[int]) -> Told:
    concluded = growth.growth([taken], predict).told[0] if taken else None
    return Told(one, concluded, tuple(_incomplete(one)))


def _incomplete(one: GrownSeries) -> list[str]:
    """What a series does not have, and why."""
    why: dict[str, list[str]] = {}
    for at in one.sizes:
        if not at.row.done:
            why.setdefault("; ".join(at.reasons), []).append(at.asked)
    said = [f"{', '.join(sizes)} {_has(sizes)} no rate: {reason}." for reason, sizes in why.items()]
    if one.never:
        said.append(f"{', '.join(one.never)} {_has(one.never)} not been measured.")
    return said


def _has(sizes: Sequence[str]) -> str:
    return "has" if len(sizes) == 1 else "have"


def _scaled(rows: Sequence[Row]) -> list[str]:
    """By what means the scale is reduced."""
    said: dict[str, None] = {}
    for row in rows:
        memory, machine = row.first.memory, row.first.machine
        if memory and memory.limit_bytes and memory.limit_bytes < machine.memory_bytes:
            said[f"memory is held to {size_text(memory.limit_bytes)} of {size_text(machine.memory_bytes)}"] = None
        percent = row.first.workload.get("warehouse_percent")
        if percent and percent < 100:
            said[f"a warehouse has {percent:g} % of its rows"] = None
    return list(said)


# docs/GROWTH.md has the same points.
SCALE_KEEPS = (
    "The ratios of database to memory and of database to the engine's cache.",
    "The skew of the accesses, the mix of reads and writes, rows and pages of full size.",
)
SCALE_LOSES = (
    "The depth of indexes, which grows with the logarithm of the rows: a thousandth of the rows saves a level or two.",
    "What an engine needs for itself and for each session, which does not shrink: only the rest of the limit caches "
    "anything, and a database outgrows its cache before it reaches the limit.",
    "The drive's own cache, which is as large as ever, and on a virtual machine that of its host.",
    "Fixed costs: checkpoints, log segments, files that are extended by fixed amounts.",
    "Hot rows: few warehouses have few district rows, for which terminals queue, the more the smaller the database.",
    "Rates and sizes in bytes: read slopes in multiples of memory, and take no prediction from one scale to another.",
)


@dataclass(frozen=True)
class Column:
    """One column of a table about growth."""

    head: str
    said: Callable[[Any], str]
    left: bool = False
    drop: int = 0  # as of ``fitted.Column``
    field: str = ""  # of the statistics

    def told_of(self, rows: Sequence[Any]) -> bool:
        return any(self.said(row) != NOTHING for row in rows)


NOTHING = "–"
KINDS = ("reads", "writes", "flushes")  # of a device's requests


def shown(columns: Sequence[Column], rows: Sequence[Any]) -> list[Column]:
    """Those that some row has a figure for, and the name of the series where there are several."""
    several = len({getattr(row, "series", "") for row in rows}) > 1
    return [column for column in columns if column.told_of(rows) and (column.head or several)]


def _count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def _device(name: str, said: Callable[[float | None], str] = number) -> Callable[[AtSize], str]:
    return lambda at: said(getattr(at.device, name)) if at.device else NOTHING


def _requests(kind: str, name: str, said: Callable[[float | None], str] = number) -> Callable[[AtSize], str]:
    def of(at: AtSize) -> str:
        waits = getattr(at.device, kind, None)
        return said(getattr(waits, name)) if waits else NOTHING

    return of


def _per_commit(kind: str) -> Callable[[AtSize], str]:
    def of(at: AtSize) -> str:
        waits, commits = getattr(at.device, kind, None), at.commits
        return number(waits.count / commits) if waits and commits else NOTHING

    return of


def _at(name: str, said: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda row: said(getattr(row, name))


def _size(value: float | None) -> str:
    return NOTHING if value is None else size_text(value)


def _rate(at: AtSize) -> str:
    return number(at.goodput.median) if at.row.done else "no result"


def _grew(at: AtSize) -> str:
    grown = at.loaded
    return NOTHING if grown is None else size_text(grown.bytes - (grown.bytes_before or 0))


SIZES = (
    Column("", lambda at: at.series, left=True),
    Column("size", lambda at: at.asked, left=True),
    Column("warehouses", _at("warehouses", _count), drop=4),
    Column("database", _at("bytes", _size)),
    Column("loaded", _grew, drop=5),
    Column("load s", _at("load_s", number), drop=3),
    Column("load MB/s", _at("load_mb_per_s", number), drop=1),
    Column("runs", lambda at: str(len(at.row.done)), drop=6),
    Column("commits/s", _rate),
    Column("95 %", lambda at: interval(at.goodput), drop=2),
)
IN_TERMINAL = tuple(column for column in SIZES if column.head in ("database", "load s", "load MB/s"))
BESIDE = (
    Column("times as fast", lambda of: of[0].name, left=True),
    Column("size", lambda of: of[1].asked, left=True),
    Column("database", lambda of: size_text(of[1].bytes)),
    Column("ratio", lambda of: number(of[1].ratio.median)),
    Column("95 %", lambda of: interval(of[1].ratio)),
)
DEVICE = (
    Column("", lambda at: at.series, left=True),
    Column("size", lambda at: at.asked, left=True),
    *(Column(kind, _requests(kind, "share", share)) for kind in KINDS),
    *(Column(f"ms a {kind[:-1] if kind != 'flushes' else 'flush'}", _requests(kind, "mean_ms")) for kind in KINDS),
    *(Column(f"{kind} a commit", _per_commit(kind)) for kind in KINDS),
    Column("requests under way", _device("depth")),
    Column("device busy", _device("busy_share", share)),
)


def _length(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.2f}"


def _mb(value: int) -> str:
    return f"{value / 1e6:,.2f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"


def _of(field: str, head: str, said: Callable[[Any], str], left: bool = False) -> Column:
    return Column(head, _at(field, said), left=left, field=field)


TABLES = (
    _of("name", "table", str, left=True),
    _of("records", "records", _count),
    _of("record_bytes", "record bytes", _length),
    _of("versions", "versions", _count),
    _of("version_bytes", "version bytes", _length),
    _of("versions_max", "versions of one", _count),
    _of("data_pages", "data pages", _count),
    _of("slots", "slots", _count),
    _of("bytes", "MB", _mb),
    _of("index_bytes", "indexes MB", _mb),
    _of("fill_percent", "fill %", _percent),
    _of("real_fill_percent", "real fill %", _percent),
)
INDEXES = (
    _of("name", "index", str, left=True),
    _of("table", "table", str, left=True),
    _of("depth", "depth", _count),
    _of("keys", "keys", _count),
    _of("key_bytes", "key bytes", _length),
    _of("duplicates_max", "most of one value", _count),
    _of("duplicates", "duplicates", _count),
    _of("unique", "unique", _count),
    _of("bytes", "MB", _mb),
    _of("fill_percent", "fill %", _percent),
)


@dataclass(frozen=True)
class Looked:
    """The statistics of one size as tables; the largest tables and indexes first."""

    statistics: DatabaseStatistics
    tables: tuple[TableStatistics, ...]
    table_columns: tuple[Column, ...]
    indexes: tuple[IndexStatistics, ...]
    index_columns: tuple[Column, ...]
    unusual: tuple[Unusual, ...]
    estimated: Mapping[str, str]  # field -> how the engine comes by it

    @property
    def read_mb_per_s(self) -> list[tuple[str, float, float]]:
        """How the file cache was, seconds, and MB/s of a read of the whole database."""
        read = self.statistics
        timed = (("cold", read.read_s_cold), ("warm", read.read_s_warm))
        return [(how, s, (read.read_bytes or 0) / s / 1e6) for how, s in timed if s and read.read_bytes]

    def stands_out(self, row: TableStatistics | IndexStatistics) -> bool:
        """Whether something of it is unusual."""
        of = f"index {row.name} of {row.table}" if isinstance(row, IndexStatistics) else f"table {row.name}"
        return any(one.where == of for one in self.unusual)


UNUSUAL = (database.low_fill, database.hollow, database.long_chains, database.stuck, database.repeated)


def looked(statistics: DatabaseStatistics) -> Looked:
    tables = sorted(statistics.tables, key=lambda table: -table.bytes)
    whole = sum(table.bytes + table.index_bytes for table in tables) or 1
    part = Column("total %", lambda table: f"{100 * (table.bytes + table.index_bytes) / whole:.0f}")
    indexes = sorted(statistics.indexes, key=lambda index: -index.bytes)
    estimated = {field.strip(): how.strip() for field, _, how in (one.partition(":") for one in statistics.estimated)}
    return Looked(
        statistics,
        tuple(tables),
        (*shown(TABLES, tables), part),
        tuple(indexes),
        tuple(shown(INDEXES, indexes)),
        tuple(one for ask in UNUSUAL for one in ask(statistics)),
        estimated,
    )


def as_json(found: Grows) -> dict[str, Any]:
    """For programs; docs/GROWTH.md has the keys."""
    return {
        "workload": found.workload,
        "series": [
            {
                "name": told.name,
                "levels": told.series.levels,
                "said": list(told.sentences),
                "answer": growth.Growth((told.concluded,), ()).as_json()["series"][0] if told.concluded else None,
                "sizes": [_size_json(at) for at in told.series.sizes],
                "not_measured": list(told.series.never),
            }
            for told in found.told
        ],
        "beside": [
            {
                "factor": pair.factor,
                "first": pair.first.name,
                "second": pair.second.name,
                "ratios": [
                    {"asked": at.asked, "bytes": at.bytes, "ratio": at.ratio.median, **bounds_json(at.ratio.interval)}
                    for at in pair.at
                ],
                "sizes_apart": list(pair.apart),
            }
            for pair in found.beside
        ],
        "reduced_scale": list(found.scaled),
    }


def _size_json(at: AtSize) -> dict[str, Any]:
    return {
        "asked": at.asked,
        "warehouses": at.warehouses,
        "bytes": at.bytes,
        "load_s": at.load_s,
        "load_mb_per_s": at.load_mb_per_s,
        "rates_per_s": at.row.goodput_per_s(),
        "median_per_s": at.goodput.median,
        **bounds_json(at.goodput.interval),
        "device": asdict(at.device) if at.device else None,
        "statistics": at.statistics.model_dump() if at.statistics else None,
        "statistics_said": at.statistics_said or None,
        "reasons": at.reasons,
    }


def ratios(found: Grows) -> list[tuple[Beside, RatioAt]]:
    """The rows of ``BESIDE``."""
    return [(pair, at) for pair in found.beside for at in pair.at]


def answers(found: Grows) -> list[str]:
    """What the series say, in plain words; each begins with its name where there are several."""
    named = len(found.told) > 1
    return [f"{told.name}: {' '.join(told.sentences)}" if named else " ".join(told.sentences) for told in found.told]
