"""The states that a power cut may leave, from the log of a disk's writes and flushes; pure but for copying a log.

At any moment the medium holds every write that a finished flush covers, and any of the others, in any sectors: that is
all that a drive with a volatile cache promises.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.analysis.disk_log import FILE_HEAD_BYTES, RECORD, WRITE, Record
from acidtest.journal.protocol import DiskState, TornWrite
from acidtest.words import counted


@dataclass(frozen=True)
class State:
    """The records ``[start, to)`` of a log, but for some writes, and some sectors of others."""

    start: int
    to: int
    without: tuple[int, ...] = ()
    torn: tuple[tuple[int, tuple[int, ...]], ...] = ()  # write, and its sectors that are there
    of: str = ""  # what kind of state it is

    def on(self, log: Path) -> DiskState:
        """In the disk's words."""
        torn = [TornWrite(record=record, sectors=list(sectors)) for record, sectors in self.torn]
        return DiskState.model_validate(
            {"log": str(log), "from": self.start, "to": self.to, "without": list(self.without), "torn": torn}
        )

    @property
    def departures(self) -> int:
        """From the disk as it was."""
        return len(self.without) + len(self.torn)


def in_words(state: State, logged: int) -> str:
    """Which history of the disk a state is: ``the first 20 of the load's 36 disk writes and flushes, without 3
    unflushed writes`` of a load that has 36 ``logged``. What was on the disk before it does not count.
    """
    departures = [f"without {counted(len(state.without), 'unflushed write')}"] if state.without else []
    if state.torn:
        departures.append(f"with {counted(len(state.torn), 'torn write')}")
    first = f"the first {state.to - state.start:,} of the load's {logged:,} disk writes and flushes"
    return ", ".join([first, *departures])


def pending(records: Sequence[Record], start: int, to: int) -> list[int]:
    """Writes before ``to`` that no flush before ``to`` covers."""
    covered = max((record.at for record in records[start:to] if record.is_flush), default=start)
    return [number for number in range(max(covered, start), to) if not records[number].is_flush]


@dataclass(frozen=True)
class Logged:
    """A write or flush of the load, and what a state has of it."""

    number: int  # in the load, from 1
    fate: str  # "flush", or of a write "flushed", "kept" (not flushed, and there), "torn" or "dropped"
    block: str  # what it has written, as blocks.kinds has it; "" of a flush, and where it is not known
    offset: int | None  # on the disk; None of a flush, as the next
    bytes: int | None


def history(records: Sequence[Record], state: State, kind_of: Callable[[int], str]) -> list[Logged]:
    """The load's writes and flushes up to this state, the oldest first."""
    open_, left_out, torn = set(pending(records, state.start, state.to)), set(state.without), dict(state.torn)
    told = []
    for number in range(state.start, state.to):
        record = records[number]
        if record.is_flush:
            told.append(Logged(number - state.start + 1, "flush", "", None, None))
            continue
        fate = "dropped" if number in left_out else "torn" if number in torn else "kept"
        fate = fate if number in open_ else "flushed"
        told.append(Logged(number - state.start + 1, fate, kind_of(number), record.at, record.length))
    return told


def history_in_words(writes: Sequence[Logged], most: int) -> list[str]:
    """A line each beneath their number, of many the last; nothing where there are none."""
    if not writes:
        return []
    shown = writes[-most:]
    which = f"the last {len(shown):,}; --json has all" if len(shown) < len(writes) else "the oldest first"
    lines = [
        f"the load's {counted(len(writes), 'disk write or flush', 'disk writes and flushes')} up to then, {which}:"
    ]
    for logged in shown:
        if logged.bytes is None:
            lines.append(f"  {logged.number:,}: flush")
            continue
        block = f", {logged.block}" if logged.block else ""
        where = f"{counted(logged.bytes, 'byte')} at {logged.offset:,}{block}"
        lines.append(f"  {logged.number:,}: {where}: {logged.fate}")
    return lines


DRAWN = "drawn at random"
DRAWN_LATER = "drawn at random, at a moment that is not given up"
SMALL = 4096  # images of a moment of which all are counted
GIVEN_UP_AFTER = 1000  # draws in a row that bring nothing new: then a moment is given up
Mark = Callable[[int, int | None], int]  # what a sector holds that has its bytes from a write; None: from before all


def moments_of(records: Sequence[Record], start: int, end: int) -> list[int]:
    """Where the most is pending: just before a flush takes effect, and at the end."""
    return [number for number in range(start, end) if records[number].is_flush] + [end]


def states(
    records: Sequence[Record],
    start: int,
    end: int,
    sector_bytes: int,
    seed: int,
    contents: Contents,
    demanded: Callable[[int], int] = lambda to: to,
    kind_of: Callable[[int], str] = lambda number: "",
) -> Iterator[tuple[State, int]]:
    """Legal states of the records ``[start, end)`` and what the disk holds in each, representative ones first, without
    an end in sight.

    Each is another disk than those before it, or one of theirs at a later moment, when more was ``demanded`` of it: so
    many commits had been acknowledged. Moments are taken from all over the log: after a few hundred states each part
    has been looked at. ``kind_of`` says of a write what it has written: blocks of a kind are lost, and kept, together.
    """
    moments, volatile = spread(list(contents.pending)), contents.pending
    lot = random.Random(f"{seed}:states")
    most: dict[int, int] = {}  # content -> the most that was demanded of it

    def kinds() -> Iterator[State]:
        for to in moments:
            yield State(start, to, tuple(volatile[to]), of="nothing that was not flushed")
        for to in moments:
            yield State(start, to, of="everything")
        for to in moments:
            for kind, those in sorted(by_kind(volatile[to], kind_of).items()):
                if len(those) < len(volatile[to]):
                    others = tuple(number for number in volatile[to] if kind_of(number) != kind)
                    yield State(start, to, tuple(those), of=f"nothing of {kind}")
                    yield State(start, to, others, of=f"only {kind}")
        for to in moments:
            yield State(start, to, tuple(volatile[to][:1]), of="all but the first")
        for to in moments:
            yield State(start, to, tuple(volatile[to][:-1]), of="only the last")
        for to in moments:
            for number in volatile[to][-1:]:
                sectors = range(-(-records[number].length // sector_bytes))
                half = len(sectors) // 2
                if half:
                    yield State(start, to, (), ((number, tuple(sectors[:half])),), of="the last one torn")
                    yield State(start, to, (), ((number, tuple(sectors[half:])),), of="the last one torn")
        for to in moments:
            for number in volatile[to]:
                yield State(start, to, (number,), of="all but one")
        yield from drawn()

    # Of moments that have few images, those that have come up: whose images all have is done with.
    few = {
        to: round(10**legal)
        for to in moments
        if volatile[to] and (legal := contents.legal_log10(volatile[to])) <= math.log10(SMALL)
    }
    came_up: dict[int, set[int]] = {to: set() for to in few}
    nothing_new = dict.fromkeys(moments, 0)

    def drawn() -> Iterator[State]:
        """A draw at each moment in turn. Of those that are given up not all images are known to have come up."""
        live, name = [to for to in moments if volatile[to]], DRAWN
        while live:
            for to in live:
                yield _drawn(records, start, to, volatile[to], sector_bytes, lot, name)
            if any(nothing_new[to] >= GIVEN_UP_AFTER for to in live):
                name = DRAWN_LATER
            live = [to for to in live if len(came_up.get(to, ())) < few.get(to, 1) and nothing_new[to] < GIVEN_UP_AFTER]

    for state in kinds():
        content, demand = contents.of(state), demanded(state.to)
        if state.to in few:
            came_up[state.to].add(content)
        if most.get(content, -1) < demand:
            most[content] = demand
            nothing_new[state.to] = 0
            yield state, content
        else:
            nothing_new[state.to] += 1


def by_kind(numbers: Iterable[int], kind_of: Callable[[int], str]) -> dict[str, list[int]]:
    """The same writes, by what they have written."""
    found: dict[str, list[int]] = {}
    for number in numbers:
        found.setdefault(kind_of(number), []).append(number)
    return found


def by_write(sector: int, write: int | None) -> int:
    """A mark that tells writes apart, whatever their bytes are."""
    return 0 if write is None else hash((sector, write))


class Contents:
    """Tells apart what the disk holds, by a mark of what each sector holds: by default the write it is from."""

    def __init__(
        self, records: Sequence[Record], start: int, end: int, sector_bytes: int, mark: Mark = by_write
    ) -> None:
        self._records, self._sector_bytes, self._mark = records, sector_bytes, mark
        # By moment, the writes that no flush before it covers.
        self.pending = {to: pending(records, start, to) for to in moments_of(records, start, end)}
        self._writes: dict[int, list[int]] = {}  # sector -> those to it, ascending
        self._whole = {start: 0}  # the content where all writes before this record are there
        content = 0
        for number in range(start, end):
            for sector in self._sectors(number):
                to_it = self._writes.setdefault(sector, [])
                content ^= mark(sector, to_it[-1] if to_it else None) ^ mark(sector, number)
                to_it.append(number)
            self._whole[number + 1] = content

    def _sectors(self, number: int) -> range:
        record = self._records[number]
        if record.is_flush:
            return range(0)
        return range(record.at // self._sector_bytes, -(-(record.at + record.length) // self._sector_bytes))

    def of(self, state: State) -> int:
        """A number that two states have in common when the disk is the same in both."""
        missing = {number: set(self._sectors(number)) for number in state.without}
        for number, kept in state.torn:
            sectors = self._sectors(number)
            missing[number] = set(sectors) - {sectors[sector] for sector in kept}
        content = self._whole[state.to]
        for sector in set().union(*missing.values()):
            to_it = self._writes[sector]
            last = there = bisect_left(to_it, state.to) - 1
            while there >= 0 and sector in missing.get(to_it[there], ()):
                there -= 1
            content ^= self._mark(sector, to_it[last]) ^ self._mark(sector, to_it[there] if there >= 0 else None)
        return content

    def legal_log10(self, volatile: Sequence[int]) -> float:
        """Of how many images a cut could leave when these writes are pending, the decimal logarithm.

        Each sector holds what it held before, or any of the writes to it that are pending.
        """
        held: dict[int, set[int]] = {}
        for number in volatile:
            for sector in self._sectors(number):
                if sector not in held:
                    earlier = bisect_left(self._writes[sector], number)
                    before = self._writes[sector][earlier - 1] if earlier else None
                    held[sector] = {self._mark(sector, before)}
                held[sector].add(self._mark(sector, number))
        return sum(math.log10(len(marks)) for marks in held.values())


def added_log10(logs: Sequence[float]) -> float:
    """The decimal logarithm of the sum of numbers, of each of which it is given."""
    most = max(logs)
    return most + math.log10(sum(10 ** (log - most) for log in logs))


def _drawn(
    records: Sequence[Record],
    start: int,
    to: int,
    volatile: Sequence[int],
    sector_bytes: int,
    lot: random.Random,
    of: str,
) -> State:
    without, torn = [], []
    for number in volatile:
        drawn = lot.random()
        if drawn < 0.45:
            without.append(number)
        elif drawn < 0.55 and (many := -(-records[number].length // sector_bytes)) > 1:
            sectors = tuple(sector for sector in range(many) if lot.random() < 0.5)
            if sectors and len(sectors) < many:
                torn.append((number, sectors))
    return State(start, to, tuple(without), tuple(torn), of=of)


def spread(places: Sequence[int]) -> list[int]:
    """The same places, in an order whose every beginning is spread over all of them: first, half, quarters."""
    many = len(places)
    bits = max(many - 1, 1).bit_length()
    order = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [places[number] for number in order if number < many]


def smaller(state: State) -> Iterator[State]:
    """States that depart from the disk as it was by one write less."""
    for number in state.without:
        rest = tuple(other for other in state.without if other != number)
        yield State(state.start, state.to, rest, state.torn, state.of)
    for torn in state.torn:
        rest_torn = tuple(other for other in state.torn if other != torn)
        yield State(state.start, state.to, state.without, rest_torn, state.of)


def compact(log: Path, records: Sequence[Record], kept: int, state: State, target: Path) -> State:
    """Write the log of one state alone: the writes that the disk holds in it, the first ``kept`` records included.

    Returns the same state of that log.
    """
    left_out = set(state.without)
    own = (number for number in range(state.start, state.to) if number not in left_out)
    numbers = [number for number in (*range(kept), *own) if not records[number].is_flush]
    with log.open("rb") as read, target.open("xb") as write:
        write.write(read.read(FILE_HEAD_BYTES))
        for place, number in enumerate(numbers):
            record = records[number]
            read.seek(record.ends - record.length)
            write.write(RECORD.pack(WRITE, record.length, record.at, record.time_ns, place) + read.read(record.length))
    places = {number: place for place, number in enumerate(numbers)}
    torn = tuple((places[number], sectors) for number, sectors in state.torn)
    return State(0, len(numbers), (), torn, state.of)
