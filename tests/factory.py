"""Synthetic recordings that look like real ones: histograms bucketed as the rig buckets, series, settings, doubts."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from acidtest.journal.models import (
    NOT_APPLICABLE,
    Cut,
    DatabaseSize,
    DatabaseStatistics,
    DeviceWork,
    EngineCounter,
    EngineCounts,
    EngineFacts,
    EngineFigure,
    EngineSamples,
    Fate,
    Header,
    IndexStatistics,
    Journal,
    LoadSample,
    Machine,
    Memory,
    MemorySample,
    Notice,
    PlaceFacts,
    Recording,
    SettingInForce,
    Sizes,
    SizeSample,
    StorageFailure,
    TableStatistics,
    Transactions,
    Verdict,
    Warning,
)
from acidtest.journal.probe import DURABLE, Layer, ProbeRecording, ProbeSample
from acidtest.journal.protocol import (
    ArrivalCounts,
    CallCount,
    Checked,
    ClassCount,
    Condition,
    Counts,
    Cpu,
    Duration,
    ErrorSample,
    Histogram,
    Kind,
    Loaded,
    LoadSecond,
    ObservedCalls,
    ObservedFile,
    ObservedLine,
    PerCommit,
    Probed,
    ProbeStep,
    RunResult,
    Sample,
    Second,
    Spread,
    StorageCount,
    TypicalCommit,
)

RATES = {"sqlite": 900.0, "firebird-3.0": 520.0, "firebird-4.0": 610.0, "firebird-5.0": 640.0}
GAIN = {"none": 40.0, "os": 14.0, "drive": 1.0}
MEANS = {
    "none": "synchronous = OFF: lost when the operating system crashes",
    "os": "synchronous = NORMAL: handed to the operating system at commit",
    "drive": "synchronous = FULL: flushed to the drive at every commit",
}


def histogram(values_ns: Any) -> Histogram:
    """An HDR histogram with three significant figures: 2,048 sub-buckets, the highest equivalent value reported."""
    values = np.asarray(values_ns, dtype=np.int64)
    shift = np.maximum(np.frexp(values.astype(float))[1] - 11, 0)  # of the bits of a value beyond eleven
    highest, counts = np.unique((((values >> shift) + 1) << shift) - 1, return_counts=True)
    return Histogram(
        count=len(values),
        min_ns=int(values.min()) if len(values) else 0,
        max_ns=int(values.max()) if len(values) else 0,
        mean_ns=float(values.mean()) if len(values) else 0.0,
        buckets=list(zip(highest.tolist(), counts.tolist(), strict=True)),
    )


def series(rates: list[float], warmup_s: int = 2) -> list[Second]:
    found = []
    for position, rate in enumerate([*([rates[0] * 0.6] * warmup_s), *rates]):
        p50 = int(1e9 / max(rate, 1))
        found.append(
            Second(
                at_s=float(position - warmup_s), length_s=1.0, committed=int(rate), conflicts=0, errors=0,
                latency_ns_p50=p50, latency_ns_p99=p50 * 3, latency_ns_max=p50 * 20,
            )
        )  # fmt: skip
    return found


def counts(
    *, committed: int = 1000, conflicts: int = 0, retries: int = 0, given_up: int = 0, errors: int = 0, **classes: int
) -> Counts:
    return Counts(
        committed=committed, rolled_back=0, conflicts=conflicts, retries=retries, given_up=given_up, errors=errors,
        classes=[ClassCount.model_validate({"class": name, "count": count}) for name, count in classes.items()],
    )  # fmt: skip


def error(message: str) -> ErrorSample:
    return ErrorSample.model_validate({"class": "other", "message": message})


def kind(name: str, values_ms: list[float], limit_ms: float | None = None, **changes: int) -> Kind:
    """One kind of transaction, each value a commit."""
    none = {"rolled_back": 0, "conflicts": 0, "given_up": 0, "errors": 0}
    latency = histogram([int(value * 1e6) for value in values_ms])
    return Kind(name=name, committed=len(values_ms), latency=latency, limit_ms=limit_ms, **(none | changes))


def loaded(rows: int = 500_000, seconds: float = 4.5, sessions: int = 2) -> Loaded:
    """A load at an even rate, 100 bytes a row."""
    rate = rows / seconds
    steps = [min(1.0, seconds - at) for at in range(int(seconds) + 1) if seconds > at]
    series = [
        LoadSecond(at_s=at, length_s=length, rows=int(rate * length), bytes=int(rate * length * 100))
        for at, length in enumerate(steps)
    ]
    return Loaded(rows=rows, bytes=rows * 100, seconds=seconds, sessions=sessions, series=series)


def result(
    rate: float = 800.0, *, seconds: int = 12, count: int | None = None, terminals: int = 1, seed: int = 0,
    rates: list[float] | None = None, **changes: Any,
) -> RunResult:  # fmt: skip
    """One run of about ``rate`` commits a second; ``changes`` replace fields of the result."""
    rng = np.random.default_rng(seed)
    measured_s = count / rate if count else float(seconds)
    committed = count or int(rate * seconds)
    values = rng.lognormal(np.log(1e9 * terminals / rate), 0.25, min(committed, 20_000))
    stalls = rng.random(len(values)) < 0.003
    values[stalls] *= rng.uniform(5, 30, int(stalls.sum()))
    held = histogram(np.maximum(values, 1))
    steady = [rate * float(rng.normal(1, 0.02)) for _ in range(int(measured_s))]
    fields: dict[str, Any] = {
        "terminals": terminals,
        "warmup_s": 2.0,
        "measured_s": measured_s,
        "counts": counts(committed=committed),
        "arrivals": None,
        "throughput_per_s": rate,
        "goodput_per_s": rate,
        "latency": held,
        "service": held,
        "series": series(rates or steady) if (rates or steady) else [],
        "cpu": Cpu(
            process_user_s=measured_s * 0.2, process_system_s=measured_s * 0.1, sampled_transactions=100,
            generator_us_per_transaction=1.2, session_us_per_transaction=180.0, clock_read_ns=210.0,
        ),
        "error_samples": [],
    }  # fmt: skip
    return RunResult(**(fields | changes))


def recording(
    levels: dict[str, str] | None = None, repetition: int = 1, *, found: RunResult | None = None, **changes: Any
) -> Recording:
    """One recording that is ``done``; ``changes`` replace its fields."""
    levels = levels or {"workload": "commits", "engine": "sqlite", "durability": "drive"}
    engine, durability = levels.get("engine", "sqlite"), levels.get("durability", "drive")
    family = engine.partition("-")[0]
    version = {"sqlite": "3.50.4", "firebird-3.0": "3.0.13", "firebird-4.0": "4.0.6"}.get(engine, "5.0.4.1812")
    if family == "firebird":
        settings = [
            ("page_size", "8192", "MON$DATABASE"),
            ("forced_writes", str(durability == "drive").lower(), "MON$DATABASE"),
        ]
        noted = ("sweep_interval", "20000", "MON$DATABASE")
    else:
        asked = {"none": "off", "os": "normal", "drive": "full"}[durability]
        settings = [("journal_mode", "wal", "PRAGMA"), ("synchronous", asked, "PRAGMA")]
        noted = ("page_size", "4096", "PRAGMA")
    checked = Checked(
        conditions=[Condition(name="rows_match_acknowledged", holds=True, detail="500 rows, 500 acknowledged")],
        seconds=0.01,
    )
    fields: dict[str, Any] = {
        "cell": f"{'/'.join(levels.values())}#{repetition}",
        "levels": levels,
        "repetition": repetition,
        "order": repetition,
        "seed": 7,
        "status": "done",
        "reason": None,
        "started_at": "2026-03-02T10:00:00.000+00:00",
        "ended_at": "2026-03-02T10:00:15.000+00:00",
        "acidtest_version": "0.1.0",
        "workload": {"name": levels.get("workload", "commits"), "kind": levels.get("workload", "commits"), "terminals": 1,
                     "warmup_s": 2.0, "duration_s": 12.0, "count": None, "think_ms": 0.0, "rate_per_s": None, "retries": 10},
        "durability": durability,
        "durability_means": MEANS[durability] if family == "sqlite" else f"forced writes {durability == 'drive'}",
        "engine": EngineFacts(id=engine, version=version, architecture="x86-64", source="PyPI", mode="embedded"),
        "settings": [
            *(SettingInForce(name=n, asked=v, in_force=v, agrees=True, source=s) for n, v, s in settings),
            SettingInForce(name=noted[0], asked=None, in_force=noted[1], agrees=True, source=noted[2]),
        ],
        "machine": Machine(cpu_model="Example CPU 3000", cpu_count=8, memory_bytes=16 * 1024**3, kernel="Linux 6.12.1",
                           os="Debian GNU/Linux 12 (bookworm)", virtualization="none"),
        "place": PlaceFacts(kind="directory", path="/data/acidtest", filesystem="ext4", mount_point="/data",
                            mount_options="rw,relatime", device="/dev/nvme0n1", device_model="Example SSD 1TB",
                            rotational="no", write_cache="write back", fua="yes", scheduler="none", read_ahead_kb="128",
                            free_bytes=500 * 1024**3),
        "database_bytes": 2_000_000,
        "checks_before": checked,
        "checks_after": checked,
        "result": found or result(seed=repetition),
        "warnings": [],
    }  # fmt: skip
    return Recording(**(fields | changes))


def memory(
    limit_mib: int | None = 64, *, database_mib: int = 200, seconds: int = 12, swap: int = 0, **changes: Any
) -> Memory:
    """A cold start one second before the measurement, then pages read until the limit, or the database, is full."""
    most = min(database_mib, 0.75 * limit_mib) if limit_mib else database_mib
    samples = []
    for step in range(4 * (seconds + 1) + 1):
        at_s = step / 4 - 1
        resident = int(min(most, step * 10)) * 1024**2
        beyond = max(0, step - 8) * 100 if limit_mib and most < database_mib else 0
        of_group: dict[str, int | None] = {
            "usage_bytes": resident + 8 * 1024**2, "file_bytes": resident, "engine_bytes": 8 * 1024**2,
            "swap_bytes": swap, "refaults_file": beyond, "refaults_engine": 0, "major_faults": 3,
        }  # fmt: skip
        samples.append(
            MemorySample(
                at_s=at_s, stalled_some_us=1000 * step, stalled_full_us=0, database_bytes=database_mib * 1024**2,
                resident_bytes=resident, dirty_bytes=0, read_calls=100 * step, storage_read_bytes=819_200 * step,
                io_stalled_some_us=2000 * step, io_stalled_full_us=0, machine_available_bytes=(900 - step) * 1024**2,
                machine_swapped_out_pages=3 * step, machine_memory_stalled_us=500 * step, machine_io_stalled_us=0,
                **(of_group if limit_mib else dict.fromkeys(of_group)),
            )
        )  # fmt: skip
    fields: dict[str, Any] = {
        "limit_bytes": limit_mib * 1024**2 if limit_mib else None,
        "limit_source": "cgroup v2" if limit_mib else None,
        "swap": "memory.swap.max 0" if limit_mib else None,
        "peak_bytes": limit_mib * 1024**2 if limit_mib else None,
        "killed": 0,
        "start": "cold",
        "resident_bytes_at_start": 0,
        "residency_source": "cachestat",
        "pressure_source": "control group" if limit_mib else "machine",
        "access": "as-engine",
        "hinted_descriptors": 0,
        "cache_bytes": 16 * 1024**2,
        "samples": samples,
    }
    return Memory(**(fields | changes))


def sizes(*log_mb: float | None, database_mb: Sequence[float] = (), limit_mb: float | None = 4) -> Sizes:
    """Of a log that was so large, second by second, and of a database; of 2 MB where nothing else is given."""
    samples = [
        SizeSample(at_s=second, database_bytes=int(1e6 * of), log_bytes=None if log is None else int(1e6 * log))
        for second, (log, of) in enumerate(zip(log_mb, database_mb or [2.0] * len(log_mb), strict=True))
    ]
    limit = None if limit_mb is None else int(1e6 * limit_mb)
    return Sizes(log="" if None in log_mb else "a.db-wal", log_limit_bytes=limit, samples=samples)


def grown_logs() -> Journal:
    """One row whose log is reused, one whose log grows, and one of a larger database that has none."""
    held = {
        "reused": sizes(4, 4, 4, 4, 4, 4, database_mb=[20, 20, 20, 20, 20, 20.1]),
        "held": sizes(10, 30, 50, 70, 90, 110, database_mb=[20] * 6),
        "none": sizes(*[None] * 6, database_mb=[40, 50, 60, 70, 80, 90]),
    }
    levels = {"workload": "tpcb", "engine": "sqlite", "durability": "os"}
    return journal([recording({**levels, "reader": one}, n, sizes=of) for one, of in held.items() for n in (1, 2)])


def limited() -> Journal:
    """One engine with a database larger than its memory limit, and with one that fits."""
    recordings = []
    for limit_mib in (64, 1024):
        levels = {"workload": "tpcb", "engine": "sqlite", "durability": "os", "place.memory_mb": str(limit_mib)}
        for repetition in range(1, 6):
            run = result(200.0 * limit_mib**0.5 + repetition)
            held = memory(limit_mib)
            recordings.append(
                recording(levels, repetition, found=run, memory=held, database_bytes=200 * 1024**2)
            )  # fmt: skip
    return journal(recordings)


def cut(verdict: Verdict = "survived", *, acknowledged: int = 50, lost: int = 0, **changes: Any) -> Cut:
    """A cut a tenth of a second after the load began."""
    fate = Fate(
        acknowledged=acknowledged, present=acknowledged - lost, lost=lost, loaded_lost=0, unacknowledged=1, torn=0,
        order_broken=False, examples=[],
    )  # fmt: skip
    reasons = {
        "survived": [],
        "lost": ["transaction 3 of terminal 0 was acknowledged and is not there"],
        "unknown": ["the engine's own check could not run"],
    }
    fields: dict[str, Any] = {
        "verdict": verdict, "reasons": reasons[verdict], "failure": "cut", "after_failed_flush": None,
        "failed_flush_said": "", "acknowledged_after_failed_flush": None, "drive": "honest", "at_s": 0.1,
        "kept_bytes": 0, "lost_bytes": 4096, "torn_writes": 0, "fate": fate, "integrity": None,
        "filesystem_check": "clean", "filesystem_said": "", "filesystem_repaired": False,
        "filesystem_recovery_s": 0.015, "engine_recovery_s": 0.02, "cycle_s": 0.5,
    }  # fmt: skip
    return Cut(**(fields | changes))


def storage(outcome: str, served: str, *by: str, why: str = "") -> StorageFailure:
    """What eight bits that rotted came to."""
    notices = [Notice(by=one, said=f"{one} says so") for one in by]  # type: ignore[arg-type]
    return StorageFailure(
        fault="(rot 8)", aimed_at="a block of a.db", struck=int(not why), read_back=None, after=None,
        acknowledged_after=None, notices=notices, served=served, outcome=outcome, why=why,
    )  # fmt: skip


def observed(
    *, writes: int = 3, flushes: int = 2, commits: int = 100, engine_file: str = "acidtest.db-wal"
) -> ObservedCalls:
    """One terminal of an embedded engine: every commit as the other."""

    def each(value: int) -> Spread:
        return Spread(min=value, median=value, max=value, mean=float(value))

    calls = [
        CallCount(call="pwrite64", how="", count=commits * writes, errors=0, bytes=4096 * commits * writes, total_us=900.0,
                  max_us=9.0),
        CallCount(call="fdatasync", how="", count=commits * flushes, errors=0, bytes=0, total_us=8000.0 * commits, max_us=9e3),
    ]  # fmt: skip
    lines = [
        ObservedLine(at_us=20.0, lasted_us=3.0, layer="call", who="t:1", own=True, what="pwrite64", how="", path=engine_file,
                     offset=4096, bytes=4096, error=None),
        ObservedLine(at_us=90.0, lasted_us=None, layer="device", who="disk", own=False, what="flush", how="", path=None,
                     offset=None, bytes=None, error=None),
    ]  # fmt: skip
    return ObservedCalls(
        means="kernel", tied_by="thread", seconds=1.0, calls=commits * (writes + flushes), dropped=0, commits=commits,
        files=[ObservedFile(path=engine_file, flags=["O_RDWR|O_CREAT"], calls=[call for call in calls if call.count])],
        storage=[StorageCount(layer="block", what="flush", count=commits, bytes=0, total_us=7000.0 * commits)],
        per_commit=PerCommit(commits=commits, alike=commits, writes=each(writes), bytes=each(4096 * writes),
                             flushes=each(flushes), flush_us=each(8000 if flushes else 0), whole_us=each(8100)),
        typical=TypicalCommit(begin_ns=1, lasted_us=8100.0, commit_at_us=10.0, terminal=0, alike=commits, lines=lines,
                              left_out=0),
    )  # fmt: skip


def engine_counts(
    committed: int = 1000,
    *,
    not_counted: str | None = None,
    uncertain: int = 4,
    **counted: tuple[int | None, int | None],
) -> EngineCounts:
    """What an engine counted: by name the terminals' sessions and the whole database."""
    counters = [
        EngineCounter(
            name=name, unit="records" if name.startswith("record") else "pages", sessions=ours, database=whole
        )
        for name, (ours, whole) in counted.items()
    ]
    return EngineCounts(
        source="MON$IO_STATS, MON$RECORD_STATS", not_counted=not_counted, from_s=-0.1, first_reading_s=0.01,
        last_reading_s=0.02, committed=0 if not_counted else committed, uncertain=0 if not_counted else uncertain,
        counters=[] if not_counted else counters,
    )  # fmt: skip


def engine_samples(values: Mapping[str, Sequence[int | None]], *, not_sampled: str | None = None) -> EngineSamples:
    """Where an engine stood at each whole second: what rises by a name that begins with "written", the others stand."""
    figures = [EngineFigure(name=name, says=name, rises=name.startswith("written"), unit="") for name in values]
    samples = [
        Sample(at_s=float(at), took_s=0.001, values=list(row))
        for at, row in enumerate(zip(*values.values(), strict=True))
    ]
    return EngineSamples(source="its views", not_sampled=not_sampled, figures=figures, samples=samples)


def priced() -> tuple[Journal, Journal]:
    """A run of which some rows were watched, and the power cuts of the same levels; one level was not cut."""
    runs, cuts = [], []
    for durability, rate, calls in (("none", 3000.0, observed(writes=1, flushes=0)), ("drive", 60.0, observed())):
        for name, watch in (("commits", None), ("calls", calls)):
            levels = {"workload": name, "engine": "sqlite", "durability": durability}
            for repetition in range(1, 6):
                one = recording(levels, repetition, found=result(rate + repetition - (5 if watch else 0), count=500))
                given = one.workload | {
                    "kind": "commits",
                    "count": 500,
                    "duration_s": None,
                    "observe": watch is not None,
                }
                runs.append(one.model_copy(update={"workload": given, "calls": watch}))
    for repetition in (1, 2, 3):
        levels = {"workload": "numbered", "engine": "sqlite", "durability": "drive"}
        cuts.append(recording(levels, repetition, cut=cut()).model_copy(update={"result": None}))
    return journal(runs), journal(cuts)


def cut_off() -> Journal:
    """Cuts of two engines: one lost at a level and survived at another, one that nobody knows, one never made."""
    verdicts: dict[tuple[str, str], tuple[Verdict, ...]] = {
        ("sqlite", "os"): ("lost", "survived", "lost"),
        ("sqlite", "drive"): ("survived", "survived", "survived"),
        ("firebird-5.0", "drive"): ("survived", "unknown", "survived"),
    }
    recordings = []
    for (engine, durability), found in verdicts.items():
        levels = {"workload": "numbered", "engine": engine, "durability": durability}
        for repetition, verdict in enumerate(found, start=1):
            made = cut(verdict, acknowledged=10 * repetition, lost=7 if verdict == "lost" else 0)
            recordings.append(recording(levels, repetition, cut=made).model_copy(update={"result": None}))
    levels = {"workload": "numbered", "engine": "firebird-5.0", "durability": "os"}
    return journal([*recordings, failed(levels, 1, "the server does not start: <no space>")])


def failed(levels: dict[str, str], repetition: int, reason: str, status: str = "failed") -> Recording:
    return recording(
        levels, repetition, status=status, reason=reason, **({"result": None} if status == "failed" else {})
    )


def journal(recordings: list[Recording], base: dict[str, str] | None = None, **experiment: Any) -> Journal:
    """A journal around ``recordings``, its factors read from them."""
    factors: dict[str, list[str]] = {}
    for one in recordings:
        for factor, level in one.levels.items():
            names = factors.setdefault(factor, [])
            if level not in names:
                names.append(level)
    header = Header(
        acidtest_version="0.1.0",
        created_at="2026-03-02T09:59:00+00:00",
        experiment={"name": "synthetic", "title": "Commit cost on one drive", "seed": 1, **experiment},
        digest="0" * 64,
        factors=factors,
        base=base or {},
        cells=len(recordings),
    )
    return Journal(path="/data/journal.jsonl", header=header, recordings=recordings, torn_bytes=0)


def stored(held: Journal, path: Path) -> None:
    """Write a journal as its file."""
    lines = (one.model_dump_json(by_alias=True) for one in (held.header, *held.recordings))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def rate_of(levels: dict[str, str], repetition: int) -> float:
    """A rate with the noise of a real run: about 3 % between repetitions."""
    name = "/".join(levels.values())
    rng = np.random.default_rng(zlib.crc32(f"{name}#{repetition}".encode()))
    rate = RATES.get(levels["engine"], 700.0) * GAIN[levels["durability"]]
    return rate * (0.4 if levels.get("workload") == "tpcb" else 1.0) * float(rng.normal(1, 0.03))


def study(engines: list[str] | None = None, workloads: list[str] | None = None, repetitions: int = 5) -> Journal:
    """Engines x durability x workloads, with one failed and one invalid cell and most kinds of doubt."""
    engines = engines or ["sqlite", "firebird-4.0", "firebird-5.0"]
    recordings = []
    for workload in workloads or ["commits", "tpcb"]:
        for engine in engines:
            for durability in ("none", "os", "drive"):
                if durability == "none" and engine != "sqlite":
                    continue
                levels = {"workload": workload, "engine": engine, "durability": durability}
                for repetition in range(1, repetitions + 1):
                    recordings.append(_cell(levels, repetition, last=engine == engines[-1]))
    return journal(recordings, {"engine": "sqlite", "durability": "drive"}, question="Which engine pays least?")


def _cell(levels: dict[str, str], repetition: int, last: bool) -> Recording:
    if last and levels["workload"] == "commits" and levels["durability"] == "drive" and repetition == 2:
        return failed(levels, 2, f"starting {levels['engine']}: the server answered: no space left on device")
    if [*levels.values(), repetition] == ["tpcb", "sqlite", "os", 4]:
        return failed(levels, 4, "synchronous: asked normal, in force full (PRAGMA)", status="invalid")
    rate = rate_of(levels, repetition)
    seed = zlib.crc32(f"{levels}{repetition}".encode())
    changes: dict[str, Any] = {}
    if levels["workload"] == "commits":
        run = result(rate, count=500, seed=seed)
        base = recording(levels, repetition, found=run).workload
        changes["workload"] = base | {"count": 500, "duration_s": None}
    elif levels["engine"] == "firebird-5.0" and levels["durability"] == "drive":
        drifting = [rate * (1.3 - 0.05 * second) for second in range(12)]
        counted = counts(committed=3000, conflicts=41, retries=40, given_up=1, errors=2, deadlock=41, other=2)
        run = result(rate, seed=seed, rates=drifting, counts=counted, error_samples=[error("lock <timeout>")])
        changes["warnings"] = [Warning(code="engine-log", about="settings", text="The engine wrote to its log: sweep.")]
    else:
        run = result(rate, seed=seed)
    return recording(levels, repetition, found=run, **changes)


def tpcc() -> Journal:
    """Two engines under a load of several kinds of transactions, one of them too slow on one engine."""
    recordings = []
    for engine, payment_ms in (("sqlite", 20.0), ("firebird-5.0", 6000.0)):
        levels = {"workload": "tpcc", "engine": engine, "durability": "drive"}
        for repetition in range(1, 6):
            kinds = [
                kind("new_order", [12.0 + n % 7 for n in range(450)], 5000.0, rolled_back=5, conflicts=12, given_up=2),
                kind("payment", [payment_ms] * 430, 5000.0),
                kind("delivery", [30.0] * 40, 5000.0),
            ]
            counted = counts(committed=920, conflicts=12, retries=10, given_up=2, update_conflict=9, deadlock=3)
            run = result(900 / 12 + repetition, kinds=kinds, counts=counted, threads=2)
            recordings.append(recording(levels, repetition, found=run, load=loaded()))
    return journal(recordings, {"engine": "sqlite"})


SIZES = ("0.5x memory", "1x memory", "2x memory", "4x memory", "6x memory", "8x memory")
MEMORY_MB = 48
WAREHOUSE_MB = 2.2


def database_statistics(engine: str, warehouses: int) -> DatabaseStatistics:
    """Two tables with their primary keys' indexes; SQLite's tables are their own index and have no fill of records."""
    firebird = engine.startswith("firebird")
    orders = warehouses * 6_000
    deep = 2 if warehouses < 60 else 3
    tables = [
        TableStatistics(
            name=name, records=records, record_bytes=length, versions=records // 100 if firebird else None,
            version_bytes=9.0 if firebird else None, versions_max=3 if firebird else None,
            data_pages=records * 100 // 8192 + 1, bytes=records * 100, index_bytes=records * 12,
            fill_percent=76.0 if firebird else 91.5, real_fill_percent=100 * length / 100,
        )
        for name, records, length in (("order_line", orders, 60.09), ("warehouse", warehouses, 97.9))
    ]  # fmt: skip
    indexes = [
        IndexStatistics(
            name=name, table=table, depth=depth, keys=keys, key_bytes=1.41 if firebird else None,
            duplicates=0 if firebird else None, duplicates_max=0 if firebird else None, unique=keys,
            bytes=keys * 12, fill_percent=61.0,
        )
        for name, table, depth, keys in (
            ("order_line_pk", "order_line", deep, orders),
            ("warehouse_pk", "warehouse", 1, warehouses),
        )
    ]  # fmt: skip
    database = int(warehouses * WAREHOUSE_MB * 1e6)
    return DatabaseStatistics(
        source="gstat -a -r (5.0.4)" if firebird else "dbstat", page_bytes=8192, bytes=database, took_s=1.2,
        read_s_cold=database / 400e6, read_s_warm=database / 2000e6, read_bytes=database, tables=tables,
        indexes=indexes, transactions=Transactions(oldest=120, oldest_active=5000, next=65_000) if firebird else None,
    )  # fmt: skip


def database_size(engine: str, size: str, before: str | None = None, *, carries: bool = True) -> DatabaseSize:
    """A size that is a multiple of 48 MB of memory; the load slows a little as it goes on, index by index."""
    warehouses, begun = (
        round(float(one.partition("x")[0]) * MEMORY_MB / WAREHOUSE_MB) if one else 0 for one in (size, before)
    )
    bytes_, bytes_before = (int(count * WAREHOUSE_MB * 1e6) for count in (warehouses, begun))
    asked_bytes = int(float(size.partition("x")[0]) * MEMORY_MB * 1e6)
    if not carries:
        return DatabaseSize(asked=size, asked_bytes=asked_bytes, warehouses=warehouses, bytes=bytes_)
    seconds = (bytes_ - bytes_before) / {"sqlite": 24e6, "firebird-5.0": 9e6}.get(engine, 15e6)
    steps = 24
    samples = [
        LoadSample(
            at_s=seconds * step / steps, rows=step * 1000,
            bytes=int(bytes_before + (bytes_ - bytes_before) * (1.25 * step / steps - 0.25 * (step / steps) ** 2)),
        )
        for step in range(1, steps + 1)
    ]  # fmt: skip
    return DatabaseSize(
        asked=size, asked_bytes=asked_bytes, warehouses=warehouses, bytes=bytes_, warehouses_before=begun,
        bytes_before=bytes_before, load_s=seconds, load=samples, statistics=database_statistics(engine, warehouses),
    )  # fmt: skip


def device_work(rate: float, reads_per_commit: float, read_ms: float, seconds: float = 12.0) -> DeviceWork:
    commits = rate * seconds
    reads = int(commits * reads_per_commit)
    return DeviceWork(
        device="loop3", reads=reads, read_bytes=8192 * reads, read_s=reads * read_ms / 1e3, writes=int(2 * commits),
        write_bytes=int(16384 * commits), write_s=commits * 0.6 * read_ms / 1e3, flushes=int(commits),
        flush_s=commits * 0.4 * read_ms / 1e3, busy_s=0.8 * seconds,
    )  # fmt: skip


def growing(
    engines: tuple[str, ...] = ("sqlite", "firebird-5.0"),
    disks: tuple[str, ...] = (),
    sizes: tuple[str, ...] = SIZES,
    repetitions: int = 5,
    knee: bool = True,
    **workload: Any,
) -> Journal:
    """Series that grow past their memory: what is beyond it has to be read, which takes a disk's time."""
    recordings = []
    for engine, disk in itertools.product(engines, disks or ("",)):
        hit_ms = 1e3 / {"sqlite": 900.0, "firebird-5.0": 640.0}.get(engine, 700.0)
        read_ms = {"rotating": 8.0, "sata-ssd": 0.25}.get(disk, 0.5)
        before = None
        for size in sizes:
            levels = {"workload": "tpcc", "engine": engine, "durability": "os"} | ({"place.disk": disk} if disk else {})
            levels["size"] = size
            for repetition in range(1, repetitions + 1):
                held = database_size(engine, size, before, carries=repetition == 1)
                missed = max(0.0, 1 - MEMORY_MB * 0.75e6 / held.bytes) if knee else 0.1
                noise = float(np.random.default_rng(zlib.crc32(f"{levels}{repetition}".encode())).normal(1, 0.02))
                rate = 1e3 / (hit_ms + 10 * missed * read_ms) * noise
                one = recording(
                    levels,
                    repetition,
                    found=result(rate, seed=repetition),
                    database_size=held,
                    database_bytes=held.bytes,
                    memory=memory(MEMORY_MB, database_mib=held.bytes >> 20, cache_bytes=8 << 20),
                    device=device_work(rate, 10 * missed, read_ms),
                )
                terms = {"kind": "tpcc", "warehouses": held.warehouses, "terminals": 20, **workload}
                recordings.append(one.model_copy(update={"workload": one.workload | terms}))
            before = size
    asked = {"sizes": list(sizes), "load": "incremental", "statistics": True}
    return journal(recordings, growth=asked, title="Does it slow down as it grows?")


def open_loop(late: int, unfinished: int) -> RunResult:
    return result(
        arrivals=ArrivalCounts(scheduled=1000, late=late, unfinished=unfinished, unfinished_wait_ms_max=250.0)
    )


SYSTEMS = ("raw", "ext2", "ext4", "xfs", "btrfs")
OPTIONS = ("defaults", "sync,noatime")
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
FACTORS = {"place.filesystem": SYSTEMS, "place.mount": OPTIONS, "place.scheduler": SCHEDULERS}


def file_systems(repetitions: int, base: dict[str, str], workloads: tuple[str, ...] = ("tpcb",)) -> Journal:
    """The study of file systems: each 100 commits a second above the one before; a raw device has no mount options."""
    recordings = {}
    names = itertools.product(workloads, *FACTORS.values(), range(1, repetitions + 1))
    for order, (workload, system, option, scheduler, repetition) in enumerate(names):
        option_ = NOT_APPLICABLE if system == "raw" else option
        levels = {"workload": workload, "engine": "sqlite", "durability": "drive"}
        levels |= dict(zip(FACTORS, (system, option_, scheduler), strict=True))
        rate = 500 * (1 + 0.2 * SYSTEMS.index(system)) * (0.9 if option_ == "sync,noatime" else 1)
        found = result(rate * (1 + 0.01 * (order * 7 % 5)), seconds=9)
        one = recording(levels, repetition, found=found)
        recordings[one.cell] = one
    made = journal(list(recordings.values()))
    factors = {"workload": list(workloads), "engine": ["sqlite"], "durability": ["drive"]}
    header = made.header.model_copy(
        update={"factors": factors | {f: list(v) for f, v in FACTORS.items()}, "base": base}
    )
    return made.model_copy(update={"header": header})


def probed(*, writes: int, measured_s: float, latency_us: float, step: int = 0) -> Probed:
    return Probed(
        step=step,
        writes=writes,
        measured_s=measured_s,
        writes_per_s=writes / measured_s,
        latency=histogram([int(latency_us * 1000)] * writes),
        flush=histogram([]),
    )


def probe(layers: list[Layer], found: Probed, repetitions: int = 5, virtualization: str = "none") -> ProbeRecording:
    """A probe that measured every durable way of overwriting, each alike."""
    rows = [
        ProbeStep(
            method=method, pattern="overwrite", block_bytes=4096, writers=1, one_file=False, extent=Duration(seconds=1)
        )
        for method in DURABLE
    ]
    return ProbeRecording(
        acidtest_version="0.1.0", started_at="2026-03-02T10:00:00.000+00:00", ended_at="2026-03-02T10:01:00.000+00:00",
        path="/data", layers=layers, seed=1, repetitions=repetitions, rows=rows,
        machine=Machine(cpu_model="Example CPU 3000", cpu_count=8, memory_bytes=16 * 1024**3, kernel="Linux 6.12.1",
                        os="Debian GNU/Linux 12 (bookworm)", virtualization=virtualization),
        samples=[
            ProbeSample(row=row, repetition=n + 1, probed=found) for row in range(len(rows)) for n in range(repetitions)
        ],
    )  # fmt: skip
