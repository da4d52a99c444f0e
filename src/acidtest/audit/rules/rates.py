"""Rates that cannot be: by the drive, or by what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from acidtest.audit.bench import OURS, Bench, Published, Statement
from acidtest.audit.result_text import (
    COUNTS_ALL,
    OVER_HTTP,
    Seen,
    and_more,
    called,
    failed_share,
    gathered,
    over_results,
    rate,
)
from acidtest.drives import AS_PLAIN, FASTEST_US, TOLERANCE
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

UNFLUSHED = 3.0  # times as fast as a flush of the drive's cache
CLIENTS_A_THREAD_MOST = 50
FAILED_MOST = 0.01
MANY = 0.05  # from which on failures are no part of a rate or of a latency, even where a table shows them
HASTENED = 1.05  # times that answers take longer than all requests do
LOST_MOST = 0.5  # of a load's rows
RELAXED: dict[str, dict[str, tuple[str, ...]]] = {  # settings under which a commit does not wait for the drive
    "postgresql": {"fsync": ("off", "false", "0", "no"), "synchronous_commit": ("off", "false", "0", "no")},
    "mysql": {"innodb_flush_log_at_trx_commit": ("0", "2"), "innodb_flush_method": ("nosync",)},
    "mariadb": {"innodb_flush_log_at_trx_commit": ("0", "2"), "innodb_flush_method": ("nosync",)},
}


def _durable(bench: Bench, one: Published) -> float | None:
    """The rate of those that are claimed to be on the drive before the next of the same terminal: flushes that the tool
    did, or writing transactions on an engine whose settings are in the kit and do not relax it. None of any others."""
    if one.tool == OURS and not one.flushed:
        return one.durable_rate
    return one.rate if one.flushed or _waits(bench, one) else None


def _waits(bench: Bench, one: Published) -> bool:
    if one.unit != "transactions":
        return False
    sides = [side for side in bench.sides if side.configurations and (one.engine is None or side.engine == one.engine)]
    relaxed = any(
        setting.value.lower() in values
        for side in sides
        for name, values in RELAXED.get(side.engine or "", {}).items()
        for setting in side.settings(name)
    )
    return bool(sides) and not relaxed


@rule(
    "faster-than-it-turns",
    severity="invalid",
    says="More durable commits are claimed than the drive that is named turns: something does not flush.",
    remedy="Name the write cache that takes the flushes, or find the layer that drops them (acidtest probe).",
    disproved_by="a write cache that survives a power cut, or the name of another drive on which it was measured",
    source="G. Smith, PostgreSQL 9.0 High Performance (2010): one commit a turn and writer without a cache that keeps",
)
def faster_than_it_turns(bench: Bench) -> Iterator[Found]:
    named = _named_turns(bench)
    yield from gathered(seen for one in bench.published if (seen := _outruns(bench, one, one.turns or named)))


def _outruns(bench: Bench, one: Published, turns: Statement | None) -> Seen | None:
    durable = _durable(bench, one)
    if turns is None or not durable or not one.terminals:
        return None
    per_s = (turns.value or 0) / 60
    if durable <= one.terminals * per_s * TOLERANCE:
        return None
    text = (
        f"{called(one)}: {durable:,.0f} durable {one.unit} a second from {counted(one.terminals, 'writer')} "
        f"on a drive that turns {per_s:,.0f} times a second"
    )
    shown = rate(one) if durable == one.rate else f"{durable:,.1f} durable {one.unit} a second"
    return Seen(one, text, (one.where.says(shown), turns.where.says(turns.text)), durable / one.terminals)


def _named_turns(bench: Bench) -> Statement | None:
    """Of the fastest rotating drive that is declared; None where a write cache is, or another drive."""
    turns = bench.said("turns")
    if bench.said("write-cache") or (bench.declared and len(turns) < len(bench.declared.machines)):
        return None
    return max(turns, key=lambda turn: turn.value or 0, default=None)


@rule(
    "flush-as-memory",
    severity="invalid",
    says="A flush takes no longer than a write into memory: the storage does not flush.",
    remedy="Find the layer that drops the flushes (acidtest probe), and call no figure from here durable.",
    disproved_by="power cuts on the same storage that lose nothing",
    source="The fastest drive of its time needs 9 microseconds to read 4 KiB (AnandTech on the Optane P4800X, 2017)",
)
def flush_as_memory(bench: Bench) -> Iterator[Found]:
    plain: dict[str, float] = {}
    for one in bench.published:
        if one.tool == "pg_test_fsync" and one.unit == "writes" and one.rate:
            plain[one.where.file] = 1e6 / one.rate
    yield from gathered(seen for one in bench.published if (seen := _as_memory(one, plain)))


def _as_memory(one: Published, plain: Mapping[str, float]) -> Seen | None:
    flushed = one.rate if one.flushed else one.durable_rate
    if not flushed or not one.terminals:
        return None
    each_us = 1e6 * one.terminals / flushed
    floor = plain.get(one.where.file) if one.tool == "pg_test_fsync" and "fsync, close" not in one.name else None
    if each_us < FASTEST_US:
        text = f"{called(one)}: {each_us:.2g} microseconds for one that is flushed"
    elif floor is not None and each_us <= AS_PLAIN * floor and "open_" not in one.name:
        text = f"{called(one)}: {each_us:.3g} microseconds, a plain write {floor:.3g}"
    else:
        return None
    shown = rate(one) if flushed == one.rate else f"{flushed:,.0f} flushed a second"
    waits = f"{counted(one.terminals, 'client')}, each of which waits for the drive"
    evidence = (one.where.says(shown), one.where.says(waits))
    if floor is not None:
        evidence = (one.where.says(f"{each_us:.3g} microseconds"), one.where.says(f"a plain write: {floor:.3g}"))
    return Seen(one, text, evidence, flushed)


@rule(
    "flush-bounds-commits",
    severity="note",
    says="The system calls show how long a flush takes: it bounds what one session can commit.",
    remedy="Hold each commit rate against it, and state with how many sessions it was reached.",
    disproved_by="a trace of the measured time with shorter flushes",
    source="strace(1), -T; fsync(2)",
)
def flush_bounds_commits(bench: Bench) -> Iterator[Found]:
    for one in bench.published:
        half = one.latency_ms.get("p50")
        if one.tool == "strace" and half:
            calls = counted(int(one.parameters["calls"]), "call")
            most = f"a session commits at most {1000 / half:,.0f} times a second"
            text = f"A call of {one.name} lasts {half:,.3g} ms (median of {calls}): {most}."
            yield Found(text, (one.where.says(f"{one.name}: median {half:,.3g} ms, {calls}"),))


@rule(
    "fsync-does-not-flush",
    severity="doubtful",
    says="On this system only fsync_writethrough reaches the medium; every other method leaves the data in the drive's "
    "cache, so that its rate is of no durable commit.",
    remedy="Set wal_sync_method to fsync_writethrough, and compare with its rate.",
    disproved_by="power cuts on the same storage that lose nothing under the faster method",
    source="fsync(2) of macOS: F_FULLFSYNC; PostgreSQL's manual, wal_sync_method",
)
def fsync_does_not_flush(bench: Bench) -> Iterator[Found]:
    of_file: dict[str, dict[str, Published]] = defaultdict(dict)
    for one in bench.published:
        if one.tool == "pg_test_fsync" and one.rate:
            of_file[one.where.file].setdefault(one.name.partition(" ")[0], one)
    for methods in of_file.values():
        through, plain = methods.get("fsync_writethrough"), methods.get("fsync")
        if through and plain and (plain.rate or 0) > UNFLUSHED * (through.rate or 0):
            text = f"fsync returns {plain.rate:,.0f} times a second, and fsync_writethrough {through.rate:,.0f}."
            yield Found(text, (plain.where.says(f"fsync: {plain.rate:,.0f} a second"),
                               through.where.says(f"fsync_writethrough: {through.rate:,.0f} a second")))  # fmt: skip


@rule(
    "generator-threads",
    severity="note",
    says="The load generator's threads do not fit its clients: where many clients share one thread, its own queue may "
    "be what is measured; threads without a client of their own are never started.",
    remedy="Give pgbench about as many threads (-j) as the generator has cores, and no more than it has clients.",
    disproved_by="processor time of the generator's threads far below that of a core each",
    source="PostgreSQL's manual of pgbench: -j, and Good Practices",
)
def generator_threads(bench: Bench) -> Iterator[Found]:
    crowded = [seen for one in bench.published if (seen := _crowded(one))]
    for at, seen in enumerate(crowded):
        if seen.of.tool == "pgbench" and seen.of.threads == 1:
            crowded[at] = replace(seen, evidence=(*seen.evidence, *_without_threads(bench)))
            break
    yield from gathered([*crowded, *_idle(bench)])


def _without_threads(bench: Bench) -> Iterator[Evidence]:
    """Where pgbench is started without -j, which is one thread."""
    for plan in bench.plans:
        known = plan.threads is not None or "threads" in plan.parameters
        if plan.tool == "pgbench" and not known and plan.script != "initialize":
            yield plan.where.says("no -j is given: one thread")


def _idle(bench: Bench) -> Iterator[Seen]:
    """Threads of pgbench that have no client, unless another run with as many threads has clients for them."""
    asked = [one for one in bench.published if one.planned and one.tool == "pgbench" and one.threads and one.terminals]
    enough = {one.threads for one in asked if (one.terminals or 0) >= (one.threads or 0)}
    for one in asked:
        if one.threads not in enough and (one.threads or 0) > (one.terminals or 0):
            threads, clients = counted(one.threads or 0, "thread"), counted(one.terminals or 0, "client")
            text = f"{called(one)}: {threads} are asked for, and there are {clients}"
            yield Seen(one, text, (one.where.says(f"{threads}, {clients}"),), 0.0)


def _crowded(one: Published) -> Seen | None:
    if not one.terminals or not one.threads or one.terminals <= CLIENTS_A_THREAD_MOST * one.threads:
        return None
    clients, threads = counted(one.terminals, "client"), counted(one.threads, "thread")
    text = f"{called(one)}: {clients} on {threads}"
    return Seen(one, text, (one.where.says(f"{clients}, {threads}"),), one.terminals / one.threads)


@rule(
    "many-failed",
    severity="doubtful",
    says="Transactions failed: the rest is another load than the one that is named.",
    remedy="Remove the cause, or report the failures beside every figure.",
    disproved_by="a record that shows that each of them was repeated until it succeeded, with its time counted",
    source="TPC-C, clause 5.4: only completed transactions count",
)
def many_failed(bench: Bench) -> Iterator[Found]:
    # throughput-is-not-goodput says it of the others.
    counted_too = {id(one) for one in bench.published if one.tool not in OVER_HTTP and _counts_failures(one)}
    results = (one for one in bench.published if not loads(one) and id(one) not in counted_too)
    seen = [failures for result in results if (failures := _failures(result))]
    few = [failures for failures in seen if failures.of.told and (failed_share(failures.of) or 1) < MANY]
    yield from gathered(failures for failures in seen if failures not in few)
    # Whoever tells a few failures beside a figure has done what is asked for.
    yield from (replace(one, noted=True) for one in gathered(few))


def _failures(one: Published) -> Seen | None:
    evidence = (Evidence(f"{one.errors or 0:,} failed", one.where.file, one.where.line),)
    if one.errors and one.tool == "hammerdb":
        text = f"{called(one)}: {counted(one.errors, 'virtual user')} finished with a failure"
        return Seen(one, text, evidence, one.errors)
    share = failed_share(one)
    if one.failed_share and share and share >= FAILED_MOST:
        text = f"{called(one)}: {share:.1%} of all failed"
        return Seen(one, text, (one.where.says(f"{share:.1%} failed, beside {rate(one)}"),), share)
    if one.told and one.rate == 0 and one.unit == "transactions":
        return Seen(
            one, f"{called(one)}: {rate(one)}: none was done, or none was read", (one.where.says(rate(one)),), 1.0
        )
    if not one.errors or not share or share < FAILED_MOST:
        return None
    return Seen(one, f"{called(one)}: {counted(one.errors, 'transaction')} failed, {share:.1%} of all", evidence, share)


@over_results(
    "failed-in-latency",
    among=lambda bench: bench.measured,
    severity="invalid",
    says="The latencies are of what failed too, and a request that fails is answered sooner than one that is served.",
    remedy="Tell the latencies of what was answered as expected, and the share that failed.",
    disproved_by="the tool's latencies of what was answered as expected alone, if they are the same",
    source="B. Schroeder et al.: Open versus closed, a cautionary tale (NSDI 2006); k6's manual, expected_response",
)
def failed_in_latency(one: Published) -> Seen | None:
    share = failed_share(one)
    for name in ("mean", "p50"):
        all_, answered = one.latency_ms.get(name), one.answered_ms.get(name)
        if share and share > MANY and all_ and answered and answered > HASTENED * all_:
            figures = f"{name} {all_:g} ms of all requests, {answered:g} ms of those that were answered"
            failures = one.where.says(f"{one.errors:,} failed, {share:.1%} of all")
            return Seen(one, f"{called(one)}: {figures}", (failures, one.where.says(figures)), share)
    return None


@rule(
    "throughput-is-not-goodput",
    severity="invalid",
    says="The rate counts transactions that failed: an error is often faster than an answer.",
    remedy="Count only what succeeded, and tell the failures beside it.",
    disproved_by="a count of answers without those that failed, with the same rate",
    source="TPC-C, clause 5.4: only completed transactions count; "
    "G. Heiser, Systems Benchmarking Crimes: throughput without regard to what fails",
)
def throughput_is_not_goodput(bench: Bench) -> Iterator[Found]:
    failing = [seen for one in bench.measured if (seen := _counts_failures(one))]
    yield from gathered(seen for seen in failing if seen.of.tool not in OVER_HTTP)
    yield from gathered((seen for seen in failing if seen.of.tool in OVER_HTTP), "guessed")


def _counts_failures(one: Published) -> Seen | None:
    share = failed_share(one)
    if not one.rate or (one.attempts and one.attempts > one.rate):
        return None  # what failed is not in the rate
    if one.tool not in COUNTS_ALL or not share or share < MANY or one.errors is None:
        return None
    good = (one.rate or 0) * (1 - share)
    text = f"{called(one)}: {rate(one)}, of which {share:.0%} failed; {good:,.1f} a second succeeded"
    return Seen(one, text, (one.where.says(rate(one)), one.where.says(f"{one.errors:,} failed")), share)


@rule(
    "load-failed",
    severity="invalid",
    says="The load of the data failed: the runs after it find no rows, or those of an earlier one.",
    remedy="Stop when a load fails, begin from an empty database, and count the rows before each run.",
    disproved_by="a count of the rows before the runs that follow",
    source="YCSB's wiki, Running a Workload: the data is loaded before the transactions run",
)
def load_failed(bench: Bench) -> Iterator[Found]:
    seen: list[tuple[float, Published]] = []
    for one in bench.measured:
        share = failed_share(one)
        if loads(one) and one.errors and share and share >= LOST_MOST:
            seen.append((share, one))
    if seen:
        share, worst = max(seen, key=lambda of: of[0])
        more = and_more(len(seen) - 1, "load", before="the like in ")
        evidence = (worst.where.says(f"{worst.errors:,} failed"), worst.where.says(rate(worst)))
        others = (one.where.says(f"{one.errors:,} failed") for _, one in seen if one is not worst)
        yield Found(f"{called(worst)}: {share:.0%} of the load failed{more}.", (*evidence, *others))


def loads(one: Published) -> bool:
    """Whether it is no measurement but a load of the data."""
    return one.parameters.get("phase") == "load" or one.script == "load"
