"""What a run and power cuts do not show: by how it was measured; by what was cut, how often, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from acidtest import workload
from acidtest.analysis.expected_loss import PLUG
from acidtest.analysis.growth.answer import size_text
from acidtest.analysis.samples import Row
from acidtest.analysis.survival import HELD, Survival, said_of_cut, survivals
from acidtest.finding import Unchecked, listed
from acidtest.journal.models import Recording
from acidtest.words import counted

LONG_S = 1800.0  # a run that long has seen checkpoints of every engine by its defaults
SHOWS_LATER = "what shows later, as checkpoints do"
FITS = 0.5  # of the memory: a database up to this share is read from the drive seldom or never


def of_run(rows: Sequence[Row], cuts: Sequence[Recording] = ()) -> list[Unchecked]:
    """Nothing where there is no rate. ``cuts`` are the recordings of power cuts of the same experiment."""
    done = [recording for row in rows for recording in row.done]
    if not done:
        return []
    writing = [recording for recording in done if _may_write(recording)]
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
    done = [cut for cut in cuts if cut.cut is not None and cut.status == "done"]
    was_cut = {_of(cut) for cut in done if cut.cut and said_of_cut(cut.cut) != HELD}
    none = "no commit was looked for after the cuts" if done else "none was made here"
    durable = dict.fromkeys(
        _of(recording) for recording in writing if recording.durability == "drive" and _of(recording) not in was_cut
    )
    if writing and not was_cut:
        yield Unchecked("whether commits survive a power cut", none)
    elif durable:
        names = listed(engine for engine, _ in durable)
        yield Unchecked(f"whether commits of {names} at level drive survive a power cut", "none was made there")


def _of(recording: Recording) -> tuple[str, str]:
    return recording.engine_id, recording.durability


def _flushes(writing: Sequence[Recording]) -> Iterator[Unchecked]:
    drives = [
        recording.place.device
        for recording in writing
        if recording.durability == "drive"
        and not recording.place.disk
        and not recording.place.in_memory
        and recording.place.kind != "server"
    ]
    if drives:
        yield Unchecked(
            f"whether {listed(dict.fromkeys(drives))} keeps what it reports as flushed", "no rate shows that"
        )


def _length(done: Sequence[Recording]) -> Iterator[Unchecked]:
    longest = max((recording.result.measured_s for recording in done if recording.result), default=0.0)
    if 0 < longest < LONG_S:
        yield Unchecked(SHOWS_LATER, f"no run was longer than {longest:.3g} s")


def _reads(done: Sequence[Recording]) -> Iterator[Unchecked]:
    """Whether reading from the drive was measured, which a database that fits into memory hardly asks for."""
    sized = [(recording.database_bytes, _memory_bytes(recording)) for recording in done if recording.database_bytes]
    if sized and all(size <= FITS * memory for size, memory in sized):
        largest, memory = max(sized)
        yield Unchecked("reads from the drive", f"{size_text(largest)} of database in {size_text(memory)} of memory")


def _memory_bytes(recording: Recording) -> int:
    limit = recording.memory.limit_bytes if recording.memory else None
    guest = recording.place.guest
    return limit or (guest.memory_mb << 20 if guest else recording.machine.memory_bytes)


def _clients(writing: Sequence[Recording]) -> Iterator[Unchecked]:
    most = max((recording.result.terminals for recording in writing if recording.result), default=0)
    if most == 1:
        yield Unchecked("clients in each other's way", "there was one terminal")


def _conditions(done: Sequence[Recording]) -> Iterator[Unchecked]:
    unchecked = sum(1 for recording in done if recording.checks_after is None)
    if unchecked:
        cells = counted(len(done), "cell")
        yield Unchecked("consistency conditions", f"they were not checked in {unchecked:,} of {cells}")


# Power cuts.

CONFIDENCE = 0.95
STATES = "crash-states"
PROGRAM = "program"  # the kind of workload of a program's own load
TOLD_LOG10 = 7  # larger numbers of states are told as a power of ten
FAILURES = {  # place.disk_failure; one of each is enough
    "a power cut": {
        "cut",
        "cut-in-recovery",
        "failed-flush",
        "dropped-flush",
        "crash-states",
        "lost-disk",
        "both-powers",
        "lost-link",
        PLUG,
    },
    "a second cut during recovery": {"cut-in-recovery"},
    "flushes that fail": {"failed-flush", "dropped-flush"},
}
KEEPS = {"torn": "torn writes", "reordered": "writes out of order"}  # place.disk_keeps
UNKNOWN_CHECKS = {"file-system-check": "the file system's own check"}  # those that weigh make the verdict unknown

OF_REPLAY = Unchecked("any other state, moment or load", "one state of a disk was looked at again")


def of_cuts(recordings: Sequence[Recording]) -> list[Unchecked]:
    """Nothing where no cut was made."""
    made = [recording for recording in recordings if recording.status == "done" and recording.cut is not None]
    if not made:
        return []
    unchecked = [*_moments(survivals(made)), *_late(made), *_ways(made), *_work(made), *_checks(made)]
    return [*unchecked, *_speed(made), _elsewhere(made)]


def may_still_lose(cuts: int) -> float:
    """The share of all moments that may lose something although so many, drawn at random, have lost nothing.

    The upper end of the exact interval of a share that was not seen: Clopper and Pearson, Biometrika 26 (1934) 404.
    """
    return 1.0 - float((1 - CONFIDENCE) ** (1 / cuts))


def _moments(rows: Sequence[Survival]) -> Iterator[Unchecked]:
    """Of the combinations that survived, that with the fewest looks. Crash states are not drawn at random alone."""
    if tried := [row for row in rows if row.storage_failure]:
        most = counted(min(row.cuts for row in tried), "trial")
        yield Unchecked("other blocks, writes and moments of what storage does wrong", f"{most} of each combination")
    yield from _unexercised(rows)
    survived = [row for row in rows if row.verdict == "survived" and not row.storage_failure]
    if explored := [row for row in survived if row.states]:
        yield Unchecked("other states of the disk", _states(min(explored, key=lambda row: row.states)))
    if cuts := [row.cuts for row in survived if not row.states]:
        share = 100 * may_still_lose(min(cuts))
        after = f"after {counted(min(cuts), 'cut')} without a loss"
        yield Unchecked("other moments", f"{after} up to {share:.2g} % of them may still lose some, at 95 %")


def _late(made: Sequence[Recording]) -> Iterator[Unchecked]:
    """Whether loads went on for so long that an engine has done what it does now and then: nobody records when."""
    longest = max(one.cut.at_s for one in made if one.cut)
    if longest < LONG_S:
        yield Unchecked(SHOWS_LATER, f"no load went on for longer than {longest:.3g} s")


def _unexercised(rows: Sequence[Survival]) -> Iterator[Unchecked]:
    """Kinds of blocks that were pending at a flush, and that no state lacked there."""
    left: dict[str, tuple[int, int]] = {}
    for row in rows:
        for kind, (done, of) in (row.exercised or {}).items():
            before = left.get(kind, (0, 0))
            left[kind] = before[0] + of - done, before[1] + of
    if kinds := [f"{kind} at {never:,} of {of:,}" for kind, (never, of) in left.items() if never]:
        yield Unchecked(
            f"the loss of pending blocks, of each kind at each flush: {listed(kinds)}", "no crash state lacks any there"
        )


def _states(row: Survival) -> str:
    """How many of the states were looked at, and what of the others is known.

    The lot draws at each moment in turn, so that no loss in so many draws bounds the mean of the moments' shares as it
    bounds one share: the product of 1 - p is at most (1 - mean p) to the power of their number.
    """
    sentence = f"{counted(row.states, 'crash state')} without a loss"
    if row.states_undemanded:
        sentence += f", of which {row.states_undemanded:,} came before the first acknowledged commit"
    if row.images is not None and row.legal_log10 is not None:
        most = images_at_most(row.legal_log10)
        sentence += f", {row.images:,} of at most {most} that cuts during the load could leave"
    if row.states_drawn:
        share = 100 * may_still_lose(row.states_drawn)
        sentence += f"; of such as are drawn at random up to {share:.2g} % may still lose something, at 95 %"
    if row.states_drawn and row.drawn_outcomes_once:
        # Good, Biometrika 40 (1953) 237: of the draws to come, those that bring what has not come up before.
        unseen = 100 * row.drawn_outcomes_once / row.states_drawn
        sentence += f", and about {unseen:.2g} % bring recovery to an end that has not come up yet"
    return sentence


def images_at_most(legal_log10: float) -> str:
    """A number of images, of its decimal logarithm: in figures, or a large one as the next power of ten."""
    return f"{round(10**legal_log10):,}" if legal_log10 < TOLD_LOG10 else f"10^{ceil(legal_log10)}"


def _ways(made: Sequence[Recording]) -> Iterator[Unchecked]:
    failures = {recording.cut.failure for recording in made if recording.cut}
    drives = {part for recording in made if recording.cut for part in recording.cut.drive.split(", ")}
    kept = [
        words for keeps, words in KEEPS.items() if not failures & {STATES, PLUG} and f"cut keeps {keeps}" not in drives
    ]
    others = [*kept, *(words for words, names in FAILURES.items() if not names & failures)]
    if others:
        yield Unchecked(listed(others), "not asked for")


def _work(made: Sequence[Recording]) -> Iterator[Unchecked]:
    kinds = list(dict.fromkeys(str(recording.workload.get("kind")) for recording in made))
    unnumbered = [kind for kind in kinds if not _is_numbered(kind)]
    if unnumbered:
        yield Unchecked(
            "which single commits were lost",
            f"{listed(unnumbered)} does not number its commits as numbered does; its conditions were checked",
        )
    if kinds == [PROGRAM]:
        yield Unchecked("other work of the program", "its load is what its user wrote")
        return
    most = max(int(recording.workload.get("terminals") or 1) for recording in made)
    yield Unchecked("other transactions", f"those of {listed(kinds)} were cut, from {counted(most, 'terminal')}")


def _is_numbered(kind: str) -> bool:
    spec = workload.BY_KIND.get(kind)
    return spec is None or spec.CAN_BE_SURVEYED


def _checks(made: Sequence[Recording]) -> Iterator[Unchecked]:
    for check, words in UNKNOWN_CHECKS.items():
        missed = [recording.cut for recording in made if recording.cut and recording.cut.checks.get(check) == "unknown"]
        if any(cut.states for cut in missed):
            yield Unchecked(f"{words} of crash states", "it is not run on them")
        if failed := [cut for cut in missed if not cut.states]:
            said = next((f": {cut.filesystem_said}" for cut in failed if cut.filesystem_said), "")
            yield Unchecked(words, f"it could not run after {len(failed):,} of {counted(len(made), 'cut')}{said}")


def _speed(made: Sequence[Recording]) -> Iterator[Unchecked]:
    if any(recording.place.guest for recording in made):
        yield Unchecked("speed, and how long recovery takes", "the processors of whole machines are not this machine's")


def _elsewhere(made: Sequence[Recording]) -> Unchecked:
    systems = list(dict.fromkeys(recording.place.filesystem for recording in made if recording.place.filesystem))
    # Of a whole machine it is the guest's.
    kernels = list(
        dict.fromkeys(
            f"a guest's {recording.place.guest.kernel.partition(' ')[0]}"
            if recording.place.guest
            else recording.machine.kernel
            for recording in made
        )
    )
    of_program = all(recording.workload.get("kind") == PROGRAM for recording in made)
    beside = "what the program keeps elsewhere" if of_program else "what lies beside the database files"
    on = f", {listed(systems)} on {listed(kernels)}" if systems else ""
    if any(recording.cut and recording.cut.failure == PLUG for recording in made):
        drives = listed(list(dict.fromkeys(recording.cut.drive for recording in made if recording.cut)))
        return Unchecked(f"another drive, {beside}, replicas", f"{drives} was cut{on}")
    replicas = "" if any(recording.cut and recording.cut.replication for recording in made) else ", replicas"
    return Unchecked(f"a real drive, {beside}{replicas}", f"the disk is simulated{on}")
