"""Our own recordings: whether the rate of a row is the engine's, and whether its sample bears what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from acidtest.analysis import REPETITIONS_FOR_INTERVAL as REPETITIONS_MIN
from acidtest.analysis import SECONDS_NEEDED, generators, sizes
from acidtest.analysis.generators import HostOfLoad
from acidtest.analysis.hosts import Hosts
from acidtest.analysis.latency import merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.steady import rates_per_s, row_steadiness
from acidtest.finding import FAIR, Evidence, Found, rule
from acidtest.journal.models import SteadyWait
from acidtest.journal.protocol import Histogram, RunResult
from acidtest.words import counted
from acidtest.workload import recorded

GENERATOR_SHARE_MAX = 0.20
SPREAD_MAX = 0.30
BUSY_MAX = 0.90
LATE_MAX = 0.01
LATENESS_SHARE_MAX = 0.5  # of the latency shown
BEGUN_LATE_MS = 50.0  # what is less is in the order of what clocks are known to
FLUSH_MS_MIN = 0.020  # no drive flushes in less: a flash write through a capacitor-backed cache takes about as long

REPETITIONS = "T. Kalibera, R. Jones: Rigorous benchmarking in reasonable time (ISMM 2013)"
OPEN_LOOP = "B. Schroeder et al.: Open versus closed, a cautionary tale (NSDI 2006); G. Tene on coordinated omission"


@rule(
    "too-few-repetitions",
    severity="doubtful",
    says="There are too few repetitions to give the median an interval.",
    remedy=f"Repeat {REPETITIONS_MIN} times or more.",
    source=REPETITIONS,
)
def too_few_repetitions(row: Row) -> Iterator[Found]:
    if len(row.done) < REPETITIONS_MIN:
        done = counted(len(row.done), "repetition")
        yield Found(f"The median of {done} has no interval: that takes {REPETITIONS_MIN}.")


@rule(
    "cells-missing",
    severity="doubtful",
    says="Some repetitions are invalid or could not run: those that are left may not be typical.",
    remedy="See why, then run them again with --retry-failed.",
    source="survivorship: figures of those runs that happened to succeed",
)
def cells_missing(row: Row) -> Iterator[Found]:
    if row.invalid or row.failed:
        yield Found(
            "Repetitions of this row are invalid or could not run (they are listed): those that are left may not be "
            "typical."
        )


@rule(
    "wide-spread",
    severity="doubtful",
    says="The repetitions lie far apart: something else was at work on this machine or drive, or the runs are short.",
    remedy="Repeat more often, or longer.",
    source=REPETITIONS,
)
def wide_spread(row: Row) -> Iterator[Found]:
    values = row.goodput_per_s
    if len(values) > 1 and (apart := max(values) - min(values)) > SPREAD_MAX * (middle := median(values)):
        far = f"{apart / middle:.0%} of their median apart" if middle else "far apart"
        yield Found(
            f"The repetitions lie {far}: something else was at work on this machine or drive, or the runs are too "
            "short."
        )


def _generator_us(result: RunResult) -> float:
    counts = result.counts
    ended = counts.committed + counts.rolled_back + counts.given_up + counts.errors
    return generators.own_us(result.cpu, ended)


@rule(
    "generator-bound",
    severity="doubtful",
    says="The load generator limits the rate: the engine can do more.",
    remedy="Give the workload more threads, or the generator a machine of its own.",
    source=FAIR,
)
def generator_bound(row: Row) -> Iterator[Found]:
    if hosts := generators.of_row(row):
        yield from _bound_of(hosts)
        return
    shares = [
        _generator_us(result) / (result.service.mean_ns / 1e3)
        for result in row.results
        if result.service.mean_ns and result.cpu.sampled_transactions
    ]
    if shares and median(shares) > GENERATOR_SHARE_MAX:
        share = median(shares)
        yield Found(f"The load generator itself takes {share:.0%} of a transaction's time: the engine can do more.")
        return
    # Of an embedded engine the process's time is the engine's too.
    busy = [
        (r.result.cpu.process_user_s + r.result.cpu.process_system_s) / (r.result.measured_s * r.result.threads)
        for r in row.done
        if r.result is not None and r.result.threads and r.result.measured_s > 0
        if r.engine is not None and r.engine.mode != "embedded"
    ]
    if busy and median(busy) > BUSY_MAX:
        yield Found(f"The load generator's threads were busy {median(busy):.0%} of the time: the engine can do more.")


def _bound_of(hosts: Sequence[HostOfLoad]) -> Iterator[Found]:
    """Of a load from several machines each is judged by itself: one that cannot do more holds back its part alone."""
    for host in hosts:
        share = host.own_share
        if share is not None and share > GENERATOR_SHARE_MAX:
            yield Found(
                f"The load generator on {host.host} itself takes {share:.0%} of a transaction's time: the engine can "
                "do more."
            )
        elif host.busy > BUSY_MAX:
            yield Found(
                f"The load generator's threads on {host.host} were busy {host.busy:.0%} of the time: the engine can "
                "do more."
            )
        elif host.machine_busy > BUSY_MAX:
            yield Found(f"The load generator kept every core of {host.host} busy: the engine can do more.")


@rule(
    "generator-late",
    severity="doubtful",
    says="A machine of the load was late: latencies shown are in part its own, or some of its load is missing.",
    remedy="See what else that machine does, or give the load more machines.",
    source=OPEN_LOOP,
    about="latency",
)
def generator_late(row: Row) -> Iterator[Found]:
    if not (hosts := generators.of_row(row)):
        return
    shown_ms = percentile(row.latency, 0.99).value_ms
    warmup_ms = max((result.warmup_s for result in row.results), default=0.0) * 1e3
    for host in hosts:
        least_ms = max(generators.LATE_MS, LATENESS_SHARE_MAX * (shown_ms or 0.0))
        if host.stood_still > generators.STILL_MAX:
            yield Found(
                f"The load generator on {host.host} stood still for up to {host.stood_still_ms_max:,.0f} ms: its part "
                "of the load is late or missing."
            )
        elif (host.lateness_ms_p99 or 0.0) > least_ms:
            yield Found(
                f"{host.host} began arrivals up to {host.lateness_ms_max:,.1f} ms late (p99 "
                f"{host.lateness_ms_p99:,.1f} ms): the latencies shown are in part its own."
            )
        elif host.began_late_ms > max(warmup_ms, BEGUN_LATE_MS):
            yield Found(
                f"{host.host} began {host.began_late_ms:,.0f} ms after the other machines of the load: its part of "
                "that time is missing."
            )


@rule(
    "processor-bound",
    severity="doubtful",
    says="Engine and generator kept every core busy: this is a figure of the processor, not of the storage.",
    remedy="To measure storage use fewer terminals, or flush more often.",
    source=FAIR,
)
def processor_bound(row: Row) -> Iterator[Found]:
    busy = [
        (r.result.cpu.process_user_s + r.result.cpu.process_system_s) / (r.result.measured_s * r.machine.cpu_count)
        for r in row.done
        if r.result is not None and r.result.measured_s > 0
        if not r.generators  # which are other machines than the engine's
    ]
    if busy and median(busy) > BUSY_MAX:
        yield Found(
            "Engine and generator kept every core of this machine busy: this is a figure of the processor, not of "
            "the storage."
        )


@rule(
    "given-up",
    severity="doubtful",
    says="Transactions were given up after their last retry: they are missing from goodput and latency.",
    remedy="Fewer terminals, or more rows for them to spread over.",
    source="TPC-C 5.11, clause 5.4: only completed transactions count",
)
def given_up(row: Row) -> Iterator[Found]:
    lost = sum(result.counts.given_up for result in row.results)
    if lost:
        yield Found(
            f"{counted(lost, 'transaction was', 'transactions were')} given up after the last retry, and missing from "
            "goodput and latency."
        )


@rule(
    "retries",
    severity="note",
    says="Transactions were refused because of others and tried again; latency includes the retries.",
    remedy="More rows for the terminals to spread over, if that is not what is measured.",
    source="BenchBase, issue 606: goodput and throughput are two figures",
    about="latency",
)
def retries(row: Row) -> Iterator[Found]:
    if any(result.counts.retries for result in row.results) and not any(r.counts.given_up for r in row.results):
        yield Found()


@rule(
    "response-limit",
    severity="doubtful",
    says="More than one in ten took longer than the workload allows: the rate is more than this database can carry.",
    remedy="Fewer terminals, or a lower rate.",
    source="TPC-C 5.11, clause 5.2.5",
    about="latency",
)
def response_limit(row: Row) -> Iterator[Found]:
    slow = [kind for kind in row.kinds if kind.limit_kept is False]
    if slow:
        limits = ", ".join(f"{kind.name.replace('_', '-')} ({(kind.limit_ms or 0) / 1e3:g} s)" for kind in slow)
        yield Found(
            f"More than one in ten took longer than the workload allows: {limits}. The rate is more than this database "
            "can carry."
        )


@rule(
    "pipelined",
    severity="note",
    says="Statements were sent without waiting for each other's answers.",
    remedy="Compare with rows that were pipelined too.",
    source="PostgreSQL's documentation of libpq, pipeline mode",
)
def pipelined(row: Row) -> Iterator[Found]:
    if any(s.name == "pipeline" and s.in_force == "true" for r in row.done for s in r.settings):
        yield Found(
            "Statements were sent without waiting for each other's answers: not to be compared with rows where each "
            "was waited for."
        )


@rule(
    "row-missed",
    severity="note",
    says="Updates did not find a row that is there, because another transaction was changing it.",
    remedy="Ask for an isolation that rules that out.",
    source="what an update at read committed may miss: acidtest help docs/ENGINES.md",
)
def row_missed(row: Row) -> Iterator[Found]:
    missed = sum(c.count for result in row.results for c in result.counts.classes if c.class_ == "row_missed")
    if missed:
        yield Found(
            "Updates did not find a row that is there, because another transaction was changing it: the isolation in "
            "force does not rule that out. They were rolled back and tried again."
        )


@rule(
    "errors",
    severity="doubtful",
    says="Transactions failed.",
    remedy="See the engine's log in the recording.",
    source="a rate over failures is no rate of work",
)
def errors(row: Row) -> Iterator[Found]:
    samples = [sample for result in row.results for sample in result.error_samples if result.counts.errors]
    if samples:
        yield Found(f"Transactions failed: {samples[0].message[:160]}")


@rule(
    "unfinished-arrivals",
    severity="invalid",
    says="Arrivals were still waiting when the measurement ended: the latencies shown are too low.",
    remedy="Lower rate_per_s until all arrivals are served, or measure in a closed loop.",
    source=OPEN_LOOP,
    about="latency",
)
def unfinished_arrivals(row: Row) -> Iterator[Found]:
    left = sum(result.arrivals.unfinished for result in row.results if result.arrivals)
    if left:
        yield Found(
            f"{counted(left, 'arrival was', 'arrivals were')} still waiting when the measurement ended: the engine "
            "cannot keep this rate, and the latencies shown are too low."
        )


@rule(
    "late-arrivals",
    severity="note",
    says="Arrivals found every terminal busy; their wait is part of the latency.",
    remedy="More terminals, or a replay at a lower speed, unless waiting for one is what is measured.",
    source=OPEN_LOOP,
    about="latency",
)
def late_arrivals(row: Row) -> Iterator[Found]:
    arrivals = [result.arrivals for result in row.results if result.arrivals]
    scheduled, late = sum(a.scheduled for a in arrivals), sum(a.late for a in arrivals)
    if late <= LATE_MAX * scheduled or any(a.unfinished for a in arrivals):
        return
    if row.first.replay:
        yield Found(
            f"More than {LATE_MAX:.0%} of the log's transactions began after their time, for their session was busy "
            "with those before them; their wait is part of the latency."
        )
    else:
        yield Found(
            f"More than {LATE_MAX:.0%} of the arrivals found every terminal busy; their wait is part of the latency."
        )


@rule(
    "not-steady",
    severity="doubtful",
    says="The rate still rose or fell through the measurement.",
    remedy="Lengthen warm-up and duration; repeat more often where only some of the repetitions are concerned.",
    source="A. N. Pettitt: A non-parametric approach to the change-point problem (1979); acidtest help "
    "docs/ANALYSIS.md",
)
def not_steady(row: Row) -> Iterator[Found]:
    if row.is_staged:  # its rate is to change
        return
    judged = row_steadiness([] if row.by_count else [result.series for result in row.results])
    if judged.steady:
        return
    some = judged.common is not None and judged.common.state == "steady"
    within = f"in {judged.unsteady} of {counted(judged.judged, 'repetition')}" if some else "through the measurement"
    yield Found(f"The rate still rose or fell {within}.")


@rule(
    "steady-not-awaited",
    severity="doubtful",
    says="The measurement began at the bound of its warm-up, before the rate was steady.",
    remedy="Raise warmup_limit_s.",
    source="acidtest help docs/ANALYSIS.md",
)
def steady_not_awaited(row: Row) -> Iterator[Found]:
    waits = [one.steady_wait for one in row.done if one.steady_wait]
    unsteady = [wait for wait in waits if not wait.reached]
    if unsteady:
        did = ", ".join(dict.fromkeys(_still(wait) for wait in unsteady))
        yield Found(
            f"In {len(unsteady):,} of {counted(len(waits), 'repetition')} the measurement began at the bound, after "
            f"{unsteady[0].limit_s:.0f} s of warm-up, before the rate was steady: it {did}."
        )


def _still(wait: SteadyWait) -> str:
    """What the last window of the warm-up did."""
    if wait.state in ("drifts", "steps") and wait.change is not None:
        way = "rose" if wait.change > 0 else "fell"
        return f"{way} by {100 * abs(wait.change):.0f} %"
    return f"was not so in {counted(wait.windows, 'window')} of {wait.window_s} s in a row"


@rule(
    "steady-awaited",
    severity="note",
    says="The measurement began when the rate was steady; this is how long that took.",
    remedy="This is as it was asked for.",
    source="acidtest help docs/ANALYSIS.md",
)
def steady_awaited(row: Row) -> Iterator[Found]:
    waits = [one.steady_wait.waited_s for one in row.done if one.steady_wait and one.steady_wait.reached]
    if waits:
        yield Found(f"The measurement began after at most {max(waits):.0f} s of warm-up, when the rate was steady.")


@rule(
    "too-short",
    severity="note",
    says="The runs are too short to tell whether the rate was steady.",
    remedy="Measure for 8 whole seconds or more.",
    source="acidtest help docs/ANALYSIS.md",
)
def too_short(row: Row) -> Iterator[Found]:
    lengths = [len(rates_per_s(result.series)) for result in row.results]
    if lengths and not (row.by_count or row.is_staged) and max(lengths) < SECONDS_NEEDED:
        yield Found("The runs are too short to tell whether the rate was steady (8 whole seconds are needed).")


@rule(
    "flush-costs-nothing",
    severity="invalid",
    says="Durable commits were faster than any drive flushes: a layer below the engine does not flush.",
    remedy="Do not believe the level drive here; acidtest probe finds the layer.",
    source="a 7,200 RPM disk turns 120 times a second; the fastest capacitor-backed flash takes some 20 microseconds",
)
def flush_costs_nothing(row: Row) -> Iterator[Found]:
    one_at_a_time = [r for r in row.done if r.durability == "drive" and r.result and r.result.terminals == 1]
    fastest = percentile(merge(_writing(row, [r.result for r in one_at_a_time if r.result])), 0.5).value_ms
    if fastest is not None and fastest < FLUSH_MS_MIN:
        yield Found(
            f"Half the durable commits took less than {FLUSH_MS_MIN * 1000:.0f} microseconds: no drive flushes that "
            "fast. A layer below the engine does not flush."
        )


def _writing(row: Row, results: Sequence[RunResult]) -> list[Histogram]:
    """Latencies of transactions that always change rows; none of a workload that does not say which these are."""
    spec = recorded(row.first.workload)
    if spec is None:
        return []
    if spec.always_writes():
        return [result.latency for result in results]
    return [kind.latency for result in results for kind in result.kinds if kind.name in spec.writing_kinds()]


@rule(
    "log-not-reused",
    severity="note",
    says="The engine's log grew all through the run and was not reused: readers held it back, one that keeps an "
    "old snapshot or several in turn. The longer such a run is, the larger the log, and the slower its readers.",
    remedy="End transactions that stay open, and leave checkpoints a moment without readers; of PostgreSQL see "
    "replication slots and archive_command.",
    source="SQLite's documentation, wal.html, Avoiding Excessively Large WAL Files; PostgreSQL's manual, 28.5",
)
def log_not_reused(row: Row) -> Iterator[Found]:
    grown = [(r.sizes, over) for r in row.done if r.sizes and (over := sizes.not_reused(r.sizes))]
    if grown:
        of, (before, after) = max(grown, key=lambda one: one[1][1])
        yield Found(
            f"The log ({of.log}) grew from {before / 1e6:,.0f} to {after / 1e6:,.0f} MB and was not reused: readers "
            "held it back, one that keeps an old snapshot or several in turn."
        )


@rule(
    "hosts-differ",
    severity="doubtful",
    says="Repetitions were spread over hosts that are not alike: which host a cell had is in its rate.",
    remedy='Find out why, or make host a factor (spread = "compare").',
    source="Searle, Casella and McCulloch, Variance Components (1992), chapter 5",
    about="goodput_per_s",
)
def hosts_differ(hosts: Hosts) -> Iterator[Found]:
    if not hosts.differ or hosts.between_percent is None or hosts.within_percent is None:
        return
    compared = [host for host in hosts.hosts if host.relative is not None]
    fastest, slowest = (pick(compared, key=lambda host: host.relative or 0) for pick in (max, min))
    yield Found(
        f"Rates vary by {hosts.between_percent:.1f} % between hosts and by {hosts.within_percent:.1f} % between "
        f"repetitions on one, over {counted(hosts.combinations, 'combination')} (p = {hosts.p:.2g}).",
        tuple(
            Evidence(f"{one.name}: {100 * (one.relative or 0):.1f} % of the mean of all hosts")
            for one in (fastest, slowest)
        ),
    )
