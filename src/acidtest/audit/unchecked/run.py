"""Of a run: what its rates do not show, by how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest import workload
from acidtest.analysis.growth import size_text
from acidtest.analysis.samples import Row
from acidtest.audit.unchecked import Unchecked, listed
from acidtest.journal.models import Recording
from acidtest.words import counted

LONG_S = 1800.0  # a run that long has seen checkpoints of every engine by its defaults
FITS = 0.5  # of the memory: a database up to this share is read from the drive seldom or never


def unchecked(rows: Sequence[Row], cuts: Sequence[Recording] = ()) -> list[Unchecked]:
    """Nothing where there is no rate. ``cuts`` are the recordings of power cuts of the same experiment."""
    done = [recording for row in rows for recording in row.done]
    if not done:
        return []
    writing = [one for one in done if _may_write(one)]
    return [
        *_survival(writing, cuts),
        *_flushes(writing),
        *_length(done),
        *_reads(done),
        *_clients(writing),
        *_conditions(done),
    ]


def _may_write(recording: Recording) -> bool:
    read = workload.recorded(recording.workload)
    return read.may_write() if read else workload.unit(str(recording.workload.get("kind"))) == "commits"


def _survival(writing: Sequence[Recording], cuts: Sequence[Recording]) -> Iterator[Unchecked]:
    was_cut = {_of(one) for one in cuts if one.cut is not None and one.status == "done"}
    durable = dict.fromkeys(_of(one) for one in writing if one.durability == "drive" and _of(one) not in was_cut)
    if writing and not was_cut:
        yield Unchecked("whether commits survive a power cut", "none was made here")
    elif durable:
        names = listed(engine for engine, _ in durable)
        yield Unchecked(f"whether commits of {names} at level drive survive a power cut", "none was made there")


def _of(recording: Recording) -> tuple[str, str]:
    engine = recording.levels.get("engine") or (recording.engine.id if recording.engine else "")
    return engine, recording.durability


def _flushes(writing: Sequence[Recording]) -> Iterator[Unchecked]:
    drives = [
        one.place.device
        for one in writing
        if one.durability == "drive" and not one.place.disk and not one.place.in_memory and one.place.kind != "server"
    ]
    if drives:
        yield Unchecked(
            f"whether {listed(dict.fromkeys(drives))} keeps what it reports as flushed", "no rate shows that"
        )


def _length(done: Sequence[Recording]) -> Iterator[Unchecked]:
    longest = max((one.result.measured_s for one in done if one.result), default=0.0)
    if 0 < longest < LONG_S:
        yield Unchecked("what shows later, as checkpoints do", f"no run was longer than {longest:.3g} s")


def _reads(done: Sequence[Recording]) -> Iterator[Unchecked]:
    """Whether reading from the drive was measured, which a database that fits into memory hardly asks for."""
    sized = [(one.database_bytes, _memory_bytes(one)) for one in done if one.database_bytes]
    if sized and all(size <= FITS * memory for size, memory in sized):
        largest, memory = max(sized)
        yield Unchecked("reads from the drive", f"{size_text(largest)} of database in {size_text(memory)} of memory")


def _memory_bytes(recording: Recording) -> int:
    limit = recording.memory.limit_bytes if recording.memory else None
    guest = recording.place.guest
    return limit or (guest.memory_mb << 20 if guest else recording.machine.memory_bytes)


def _clients(writing: Sequence[Recording]) -> Iterator[Unchecked]:
    most = max((one.result.terminals for one in writing if one.result), default=0)
    if most == 1:
        yield Unchecked("clients in each other's way", "there was one terminal")


def _conditions(done: Sequence[Recording]) -> Iterator[Unchecked]:
    unchecked = sum(1 for one in done if one.checks_after is None)
    if unchecked:
        cells = counted(len(done), "cell")
        yield Unchecked("consistency conditions", f"they were not checked in {unchecked:,} of {cells}")
