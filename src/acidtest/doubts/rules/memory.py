"""Our own recordings: what memory, its limit and its hints did to a row."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis import memory
from acidtest.analysis.samples import Row
from acidtest.analysis.workload_figures import reads, sort_memory_bytes
from acidtest.finding import Found, rule
from acidtest.journal.models import Recording
from acidtest.workload import recorded

AT_LIMIT = (0.8, 1.25)  # database size as a multiple of the memory limit
HINTED_S = 1.0
COLD = ("cold", "cold-machine")
CACHE_STUDY = "the study of Firebird and the Windows file cache: acidtest help docs/WINDOWS-FILE-CACHE.md"


def _sorted(row: Row) -> Recording | None:
    return row.done[0] if row.done and _sorted_mb(row.done[0]) is not None else None


def _sorted_mb(recording: Recording) -> float | None:
    spec = recorded(recording.workload)
    return spec.transaction_sorted_mb() if spec else None


@rule(
    "sort-memory-unknown",
    severity="note",
    says="The engine's memory for sorting is not known: the sort may have gone through files, or not.",
    remedy="Set firebird.temp_cache_limit_mb.",
    source=CACHE_STUDY,
)
def sort_memory_unknown(row: Row) -> Iterator[Found]:
    recording = _sorted(row)
    if recording and sort_memory_bytes(recording) is None:
        yield Found()


@rule(
    "sort-in-memory",
    severity="doubtful",
    says="The engine may sort the whole table in memory: nothing was sorted through files.",
    remedy="A larger table, or less memory to sort in.",
    source=CACHE_STUDY,
)
def sort_in_memory(row: Row) -> Iterator[Found]:
    recording = _sorted(row)
    given = sort_memory_bytes(recording) if recording else None
    sorted_mb = _sorted_mb(recording) if recording else None
    if sorted_mb is not None and given is not None and given >= sorted_mb * 1_000_000:
        yield Found(
            f"The engine may sort in {given / 1e6:,.0f} MB, and the table is no larger: nothing was sorted through "
            "files."
        )


@rule(
    "cold-and-cached-reads",
    severity="doubtful",
    says="A first read found nothing in the file cache, later ones what it had left: one figure averages both.",
    remedy='One read a run (count = 1, one terminal), and "place.start" = ["cold", "warm"] as a factor.',
    source=CACHE_STUDY,
)
def cold_and_cached_reads(row: Row) -> Iterator[Found]:
    cold = [r for r in row.done if r.memory and r.memory.start in COLD and r.result and r.result.counts.committed > 1]
    if cold and reads(row) is not None:
        most = max(r.result.counts.committed for r in cold if r.result)
        yield Found(
            f"The first of {most:,} reads found nothing in the file cache, the later ones what it had left there: the "
            "figure averages both."
        )


@rule(
    "swapped",
    severity="doubtful",
    says="The engine's memory was swapped out under its limit: this is a figure of swapping too.",
    remedy="A larger limit, or smaller caches in the engine.",
    source="Linux kernel, Documentation/admin-guide/cgroup-v1/memory.rst",
)
def swapped(row: Row) -> Iterator[Found]:
    if any(sample.swap_bytes for r in row.done if r.memory for sample in r.memory.samples):
        yield Found()


@rule(
    "at-the-limit",
    severity="note",
    says="The database is about as large as its memory limit: whether it fits may change from run to run.",
    remedy="Choose a limit well below or well above the database's size.",
    source="the study of Firebird's speed as it grows",
)
def at_the_limit(row: Row) -> Iterator[Found]:
    held = memory.of_row(row)
    if held and held.times_limit and AT_LIMIT[0] <= held.times_limit <= AT_LIMIT[1]:
        yield Found()


@rule(
    "cache-above-limit",
    severity="doubtful",
    says="The engine's own cache may grow beyond the memory limit: it does not fit.",
    remedy="A smaller cache in the engine, or a larger limit.",
    source="acidtest help docs/GROWTH.md",
)
def cache_above_limit(row: Row) -> Iterator[Found]:
    held = memory.of_row(row)
    if held and held.cache_bytes and held.limit_bytes and held.cache_bytes >= held.limit_bytes:
        yield Found(
            f"The engine's cache may grow to {held.cache_bytes / 1e6:,.0f} MB under a memory limit of "
            f"{held.limit_bytes / 1e6:,.0f} MB: it does not fit."
        )


@rule(
    "hint-late",
    severity="doubtful",
    says="The access hint reaches a file shortly after the engine opened it, and the runs are not much longer.",
    remedy="Measure longer.",
    source="acidtest help docs/ACCESS-HINTS.md",
)
def hint_late(row: Row) -> Iterator[Found]:
    hinted = [r.result for r in row.done if r.memory and r.memory.access != "as-engine"]
    if any(result.measured_s < HINTED_S for result in hinted if result):
        yield Found(
            "The access hint reaches a file up to a tenth of a second after the engine opened it, and these runs are "
            "not much longer."
        )
