"""Doubts about the numbers of a row, one small function each. Every doubt names the number that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from acidtest.analysis import kinds, memory, reads
from acidtest.analysis.latency import merge, percentile
from acidtest.analysis.samples import Row
from acidtest.analysis.steady import steadiness
from acidtest.analysis.summary import REPETITIONS_FOR_INTERVAL as REPETITIONS_MIN
from acidtest.journal.models import PlaceFacts, Warning

GENERATOR_SHARE_MAX = 0.20
SPREAD_MAX = 0.30
BUSY_MAX = 0.90
AT_LIMIT = (0.8, 1.25)  # database size as a multiple of the memory limit
HINTED_S = 1.0
FLUSH_MS_MIN = 0.020  # no drive flushes in less: a flash write through a capacitor-backed cache takes about as long


def of_row(row: Row) -> list[Warning]:
    """Every doubt about ``row``, most general first; none when no repetition is done."""
    return [doubt for rule in RULES for doubt in rule(row)] if row.done else []


def too_few_repetitions(row: Row) -> Iterator[Warning]:
    if len(row.done) < REPETITIONS_MIN:
        yield Warning(
            code="too-few-repetitions",
            about="goodput_per_s",
            text=f"An interval needs {REPETITIONS_MIN} repetitions; the median stands alone.",
        )


def cells_missing(row: Row) -> Iterator[Warning]:
    if row.done and (row.invalid or row.failed):
        yield Warning(
            code="cells-missing",
            about="goodput_per_s",
            text="Repetitions of this row are invalid or could not run (they are listed): those that are left may not "
            "be typical.",
        )


def wide_spread(row: Row) -> Iterator[Warning]:
    values = row.goodput_per_s()
    if len(values) > 1 and max(values) - min(values) > SPREAD_MAX * median(values):
        yield Warning(
            code="wide-spread",
            about="goodput_per_s",
            text=f"The repetitions lie more than {SPREAD_MAX:.0%} of their median apart: something else was at work on "
            "this machine or drive, or the runs are too short. Repeat more often, or longer.",
        )


def generator_bound(row: Row) -> Iterator[Warning]:
    shares = [
        result.cpu.generator_us_per_transaction / (result.service.mean_ns / 1e3)
        for result in row.results()
        if result.service.mean_ns and result.cpu.sampled_transactions
    ]
    if shares and median(shares) > GENERATOR_SHARE_MAX:
        yield Warning(
            code="generator-bound",
            about="goodput_per_s",
            text=f"The load generator itself takes {median(shares):.0%} of a transaction's time: the engine can do "
            "more.",
        )
        return
    # Of an embedded engine the process's time is the engine's too.
    busy = [
        (r.result.cpu.process_user_s + r.result.cpu.process_system_s) / (r.result.measured_s * r.result.threads)
        for r in row.done
        if r.result is not None and r.result.threads and r.result.measured_s > 0
        if r.engine is not None and r.engine.mode != "embedded"
    ]
    if busy and median(busy) > BUSY_MAX:
        yield Warning(
            code="generator-bound",
            about="goodput_per_s",
            text=f"The load generator's threads were busy {median(busy):.0%} of the time: the engine can do more. "
            "Give the workload more threads.",
        )


def processor_bound(row: Row) -> Iterator[Warning]:
    busy = [
        (r.result.cpu.process_user_s + r.result.cpu.process_system_s) / (r.result.measured_s * r.machine.cpu_count)
        for r in row.done
        if r.result is not None and r.result.measured_s > 0
    ]
    if busy and median(busy) > BUSY_MAX:
        yield Warning(
            code="processor-bound",
            about="goodput_per_s",
            text="Engine and generator kept every core of this machine busy: this is a figure of the processor, not of "
            "the storage.",
        )


def conflicts(row: Row) -> Iterator[Warning]:
    tried_again = sum(result.counts.retries for result in row.results())
    given_up = sum(result.counts.given_up for result in row.results())
    if given_up:
        yield Warning(
            code="given-up",
            about="goodput_per_s",
            text="Transactions were given up after their last retry: they are missing from goodput and latency.",
        )
    elif tried_again:
        yield Warning(
            code="retries",
            about="latency",
            text="Transactions were refused for another's sake and tried again; latency includes the retries.",
        )


def response_limit(row: Row) -> Iterator[Warning]:
    slow = [kind for kind in kinds.of_row(row) if kind.limit_kept is False]
    if slow:
        said = ", ".join(f"{kind.name.replace('_', '-')} ({(kind.limit_ms or 0) / 1e3:g} s)" for kind in slow)
        yield Warning(
            code="response-limit",
            about="latency",
            text=f"More than one in ten took longer than the workload allows: {said}. The rate is more than this "
            "database can carry.",
        )


def pipelined(row: Row) -> Iterator[Warning]:
    if any(s.name == "pipeline" and s.in_force == "true" for r in row.done for s in r.settings):
        yield Warning(
            code="pipelined",
            about="goodput_per_s",
            text="Statements were sent without waiting for each other's answers: not to be compared with rows where "
            "each was waited for.",
        )


def row_missed(row: Row) -> Iterator[Warning]:
    missed = sum(c.count for result in row.results() for c in result.counts.classes if c.class_ == "row_missed")
    if missed:
        yield Warning(
            code="row-missed",
            about="goodput_per_s",
            text="Updates did not find a row that is there, because another transaction was changing it: the isolation "
            "in force does not rule that out. They were rolled back and tried again.",
        )


def errors(row: Row) -> Iterator[Warning]:
    samples = [sample for result in row.results() for sample in result.error_samples if result.counts.errors]
    if samples:
        yield Warning(code="errors", about="goodput_per_s", text=f"Transactions failed: {samples[0].message[:160]}")


def late_arrivals(row: Row) -> Iterator[Warning]:
    arrivals = [result.arrivals for result in row.results() if result.arrivals]
    scheduled = sum(a.scheduled for a in arrivals)
    if any(a.unfinished for a in arrivals):
        yield Warning(
            code="unfinished-arrivals",
            about="latency",
            text="Arrivals were still waiting when the measurement ended: the engine cannot keep this rate, and the "
            "latencies shown are too low.",
        )
    elif scheduled and sum(a.late for a in arrivals) > 0.01 * scheduled:
        yield Warning(
            code="late-arrivals",
            about="latency",
            text="More than 1 % of the arrivals found every terminal busy; their wait is part of the latency.",
        )


def not_steady(row: Row) -> Iterator[Warning]:
    found = [] if row.by_count else [steadiness(result.series).state for result in row.results()]
    if any(state in ("drifts", "steps") for state in found):
        yield Warning(
            code="not-steady",
            about="goodput_per_s",
            text="The rate still rose or fell through the measurement: lengthen warm-up and duration.",
        )
    elif found and all(state == "too short to tell" for state in found):
        yield Warning(
            code="too-short",
            about="goodput_per_s",
            text="The runs are too short to tell whether the rate was steady (8 whole seconds are needed).",
        )


def flush_costs_nothing(row: Row) -> Iterator[Warning]:
    one_at_a_time = [r for r in row.done if r.durability == "drive" and r.result and r.result.terminals == 1]
    fastest = percentile(merge([r.result.latency for r in one_at_a_time if r.result]), 0.5).value_ms
    if fastest is not None and fastest < FLUSH_MS_MIN:
        yield Warning(
            code="flush-costs-nothing",
            about="goodput_per_s",
            text=f"Half the durable commits took less than {FLUSH_MS_MIN * 1000:.0f} microseconds: no drive flushes "
            "that fast. A layer below the engine does not flush; do not believe the level drive here.",
        )


def sort_in_memory(row: Row) -> Iterator[Warning]:
    sorted_ = [r for r in row.done if r.workload.get("kind") == "scan" and r.workload.get("read") == "sorted"]
    for recording in sorted_[:1]:
        given = reads.sort_memory_bytes(recording)
        if given is None:
            yield Warning(
                code="sort-memory-unknown",
                about="goodput_per_s",
                text="How much memory the engine may sort in was not told: whether the sort went through files is not "
                "known. Name firebird.temp_cache_limit_mb.",
            )
        elif given >= int(recording.workload["size_mb"]) * 1_000_000:
            yield Warning(
                code="sort-in-memory",
                about="goodput_per_s",
                text=f"The engine may sort in {given / 1e6:,.0f} MB, and the table is no larger: nothing was sorted "
                "through files.",
            )


def swapped(row: Row) -> Iterator[Warning]:
    if any(sample.swap_bytes for r in row.done if r.memory for sample in r.memory.samples):
        yield Warning(
            code="swapped",
            about="goodput_per_s",
            text="The engine's memory was swapped out under its limit: this is a figure of swapping too.",
        )


def at_the_limit(row: Row) -> Iterator[Warning]:
    held = memory.of_row(row)
    if held and held.times_limit and AT_LIMIT[0] <= held.times_limit <= AT_LIMIT[1]:
        yield Warning(
            code="at-the-limit",
            about="goodput_per_s",
            text="The database is about as large as its memory limit: whether it fits may change from run to run. "
            "Choose a limit well below or well above its size.",
        )


def too_late_for_the_hint(row: Row) -> Iterator[Warning]:
    short = [
        r
        for r in row.done
        if r.memory and r.memory.access != "as-engine" and r.result and r.result.measured_s < HINTED_S
    ]
    if short:
        yield Warning(
            code="hint-late",
            about="goodput_per_s",
            text="The access hint reaches a file up to a tenth of a second after the engine opened it, and these runs "
            "are not much longer: measure longer.",
        )


def noted(row: Row) -> Iterator[Warning]:
    """What the recordings themselves say: words of the engine's log, work that fell to the client."""
    yield from {w.text: w for r in row.done for w in r.warnings}.values()


RULES: tuple[Callable[[Row], Iterator[Warning]], ...] = (
    too_few_repetitions,
    cells_missing,
    wide_spread,
    generator_bound,
    processor_bound,
    pipelined,
    conflicts,
    response_limit,
    row_missed,
    errors,
    late_arrivals,
    not_steady,
    flush_costs_nothing,
    sort_in_memory,
    swapped,
    at_the_limit,
    too_late_for_the_hint,
    noted,
)


def of_place(place: PlaceFacts) -> list[Warning]:
    """Doubts about what the storage says of itself; they concern every durable number."""
    return [*_of_guest(place), *_of_drive(place)]


def _of_guest(place: PlaceFacts) -> list[Warning]:
    if place.guest is None:
        return []
    emulated = (
        " Its processor is emulated in software, many times slower: what an engine computes weighs more than it would, "
        "what the storage does less, and absolute figures mean nothing."
    )
    text = (
        f"Measured in a virtual machine ({place.guest.name}): to be read against rows of the same guest only, which is "
        f"how it is compared here.{emulated if place.guest.accelerator == 'tcg' else ''}"
    )
    return [Warning(code="guest", about="place", text=text)]


def _of_drive(place: PlaceFacts) -> list[Warning]:
    if place.in_memory:
        return [
            Warning(
                code="in-memory",
                about="place",
                text=f"The databases lay on {place.memory}, which is memory: flushes cost nothing there. "
                "Give a directory on the drive you want to know about.",
            )
        ]
    if place.write_cache == "unknown":
        text = "What write cache the drive has could not be read: whether flushes are needed or honoured is not known."
        return [Warning(code="write-cache-unknown", about="place", text=text)]
    if place.write_cache == "write through":
        text = (
            "The drive reports no volatile write cache, so the kernel sends it no flushes: durable commits are as "
            "safe as that report is true."
        )
        return [Warning(code="write-through", about="place", text=text)]
    return []
