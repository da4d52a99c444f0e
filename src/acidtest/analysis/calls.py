"""What an engine asked of the operating system: each file by its role, and what was done to it at each commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from acidtest import families
from acidtest.journal.protocol import CallCount, ObservedCalls, ObservedFile, ObservedLine, TypicalCommit

WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2", "io_uring write")
READS = ("read", "readv", "pread64", "preadv", "preadv2", "io_uring read")
FLUSHES = ("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs", "io_uring fsync")
HINTS = ("fadvise64", "madvise", "readahead")
MAPPINGS = ("mmap",)
SYNCED = ("O_DSYNC", "O_SYNC", "RWF_DSYNC", "RWF_SYNC")


def role(engine: str, path: str) -> str:
    """What the file ``path`` is to ``engine``; "other" when its name does not say."""
    if path == ".":
        return "directory"
    if path == "*":
        return "not shown"
    if path == "?":
        return "not named"
    return families.role_of_file(engine, path)


@dataclass(frozen=True)
class FileUse:
    """One file over the whole run; ``flushes`` by the way: "fdatasync", "O_DSYNC" (writes that are durable)."""

    path: str
    role: str
    flags: tuple[str, ...]
    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    flushes: Mapping[str, int] = field(default_factory=dict)
    flush_us: float = 0.0
    submitted: int = 0  # io_submit: requests that the kernel does not show
    hints: Mapping[str, int] = field(
        default_factory=dict
    )  # to the kernel, "fadvise64 POSIX_FADV_WILLNEED", from when its session opened on
    mappings: Mapping[str, int] = field(default_factory=dict)  # "MAP_SHARED": its reads and writes are no calls
    others: int = 0
    errors: int = 0

    @property
    def flush_count(self) -> int:
        return sum(self.flushes.values())

    @property
    def touched(self) -> bool:
        return bool(self.writes or self.flushes or self.submitted)


def uses(calls: ObservedCalls, engine: str) -> list[FileUse]:
    """Every file, those written and flushed first."""
    files = [_use(file, engine) for file in calls.files]
    return sorted(files, key=lambda use: (-use.flush_count, -use.writes, -use.reads, use.path))


def _use(file: ObservedFile, engine: str) -> FileUse:
    reads = [call for call in file.calls if call.call in READS]
    writes = [call for call in file.calls if call.call in WRITES]
    flushing = [call for call in file.calls if call.call in FLUSHES or (call.call in WRITES and synced(call.how))]
    flushes: Counter[str] = Counter()
    for call in flushing:
        flushes[call.call if call.call in FLUSHES else synced(call.how)] += call.count
    submitted = [call for call in file.calls if call.call in ("io_submit", "io_uring other")]
    hints = [call for call in file.calls if call.call in HINTS]
    mappings = [call for call in file.calls if call.call in MAPPINGS]
    known = {id(call) for call in (*reads, *writes, *flushing, *submitted, *hints, *mappings)}
    return FileUse(
        path=file.path,
        role=role(engine, file.path),
        flags=tuple(file.flags),
        reads=_count(reads),
        read_bytes=sum(call.bytes for call in reads),
        writes=_count(writes),
        write_bytes=sum(call.bytes for call in writes),
        flushes=dict(flushes),
        flush_us=sum(call.total_us for call in flushing),
        submitted=_count(submitted),
        hints={f"{call.call} {call.how}".strip(): call.count for call in hints},
        mappings={call.how: call.count for call in mappings},
        others=_count(call for call in file.calls if id(call) not in known),
        errors=sum(call.errors for call in file.calls),
    )


def synced(how: str) -> str:
    """What makes a write durable when it returns, of a call's ``how``; "" when nothing does."""
    return next((word for word in how.split("|") if word in SYNCED), "")


def _count(calls: Iterable[CallCount]) -> int:
    return sum(call.count for call in calls)


def joined(typical: TypicalCommit, device: Iterable[tuple[int, str, int | None, int | None]]) -> TypicalCommit:
    """The commit with what a disk logged meanwhile: time (ns of CLOCK_MONOTONIC), what, offset and bytes of each."""
    end_ns = typical.begin_ns + typical.lasted_us * 1e3
    lines = [
        ObservedLine(
            at_us=(at_ns - typical.begin_ns) / 1e3, lasted_us=None, layer="device", who="disk", own=False, what=what,
            how="", path=None, offset=offset, bytes=length, error=None,
        )
        for at_ns, what, offset, length in device
        if typical.begin_ns <= at_ns <= end_ns
    ]  # fmt: skip
    return typical.model_copy(update={"lines": sorted([*typical.lines, *lines], key=lambda line: line.at_us)})


@dataclass(frozen=True)
class CommitCalls:
    """What one commit asks for: medians of its commits, averages where calls cannot be distinguished by commit."""

    commits: int  # that were seen
    writes: float
    bytes: float
    flushes: float
    by_kind: Mapping[str, float]  # flushes by the way, as ``FileUse`` has them; always averages
    flush_us: float
    average: bool  # all figures are averages
    dropped: int  # events that were lost: then every figure is a lower bound


def of_commits(watched: Sequence[tuple[str, ObservedCalls]]) -> CommitCalls | None:
    """The median of several runs alike, each with its engine; None where no commit was seen."""
    runs = [_of_commits(engine, calls) for engine, calls in watched if calls.commits]
    if not runs:
        return None
    kinds = dict.fromkeys(kind for run in runs for kind in run.by_kind)
    return CommitCalls(
        commits=sum(run.commits for run in runs),
        writes=median(run.writes for run in runs),
        bytes=median(run.bytes for run in runs),
        flushes=median(run.flushes for run in runs),
        by_kind={kind: median(run.by_kind.get(kind, 0.0) for run in runs) for kind in kinds},
        flush_us=median(run.flush_us for run in runs),
        average=any(run.average for run in runs),
        dropped=sum(run.dropped for run in runs),
    )


def _of_commits(engine: str, calls: ObservedCalls) -> CommitCalls:
    files = uses(calls, engine)
    flushes: Counter[str] = Counter()
    for use in files:
        flushes.update(use.flushes)
    by_kind = {kind: count / calls.commits for kind, count in flushes.most_common()}
    if each := calls.per_commit:
        writes, bytes_ = float(each.writes.median), float(each.bytes.median)
        asked, flush_us = float(each.flushes.median), float(each.flush_us.median)
    else:
        sums = (
            sum(use.writes for use in files),
            sum(use.write_bytes for use in files),
            flushes.total(),
            sum(use.flush_us for use in files),
        )
        writes, bytes_, asked, flush_us = (one / calls.commits for one in sums)
    return CommitCalls(calls.commits, writes, bytes_, asked, by_kind, flush_us, calls.per_commit is None, calls.dropped)
