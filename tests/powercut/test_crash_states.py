"""Legal states of a disk's log, against a disk that is a list of sectors."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.analysis.disk_log import MAGIC, RECORD, Record, read
from acidtest.powercut import crash_states
from acidtest.powercut.crash_states import Contents, State, pending, smaller, spread
from support import times

SECTOR = 512


def log_of(script: str) -> list[Record]:
    """``w``: a write of one sector; ``W``: of eight; ``o``: of two, always the same; ``f``: a flush of all before it;
    ``g``: one that began a write ago."""
    records: list[Record] = []
    for number, word in enumerate(script):
        if word in "fg":
            records.append(Record(True, number - (word == "g"), 0, number, 0))
        elif word == "o":
            records.append(Record(False, 1 << 20, 2 * SECTOR, number, 0))
        else:
            records.append(Record(False, number * 4096, 4096 if word == "W" else SECTOR, number, 0))
    return records


def disk_of(records: list[Record], state: State) -> frozenset[tuple[int, int]]:
    """The write that each sector has its bytes from."""
    disk: dict[int, int] = {}
    for number in range(state.start, state.to):
        record, torn = records[number], dict(state.torn)
        if not record.is_flush and number not in state.without:
            sectors = range(record.length // SECTOR)
            for sector in torn.get(number, sectors):
                disk[record.at // SECTOR + sector] = number
    return frozenset(disk.items())


def states(records: list[Record], seed: int) -> Iterator[State]:
    contents = Contents(records, 0, len(records), SECTOR)
    return (state for state, _ in crash_states.states(records, 0, len(records), SECTOR, seed, contents))


scripts = st.text("wWofg", min_size=1, max_size=30).filter(lambda script: script[0] not in "fg")


@settings(max_examples=40)
@given(scripts, st.integers(0, 3))
def test_no_state_leaves_out_or_tears_what_a_flush_has_covered(script: str, seed: int) -> None:
    records = log_of(script)
    listed = list(islice(states(records, seed), 300))
    for state in listed:
        covered = max((records[n].at for n in range(state.to) if records[n].is_flush), default=0)
        for number in (*state.without, *(number for number, _ in state.torn)):
            assert not records[number].is_flush
            assert covered <= number < state.to
        for number, sectors in state.torn:
            assert set(sectors) < set(range(records[number].length // SECTOR))
    # The same disk comes again only at a later moment.
    latest: dict[object, int] = {}
    for state in listed:
        disk = disk_of(records, state)
        assert latest.get(disk, -1) < state.to
        latest[disk] = state.to


@settings(max_examples=25)
@given(st.text("wof", min_size=1, max_size=9).filter(lambda script: script[0] != "f"))
def test_of_a_short_log_every_state_at_a_flush_is_told(script: str) -> None:
    records = log_of(script)
    listed = [(disk_of(records, s), s.to) for s in islice(states(records, 1), 20_000)]
    latest = {disk: max(to for other, to in listed if other == disk) for disk, _ in listed}
    for to in [n for n in range(len(records)) if records[n].is_flush] + [len(records)]:
        open_ = pending(records, 0, to)
        for bits in range(1 << len(open_)):
            without = tuple(n for k, n in enumerate(open_) if bits >> k & 1)
            assert latest[disk_of(records, State(0, to, without))] >= to


@settings(max_examples=times(10, 40))
@given(scripts, st.integers(2, 3))
def test_each_kind_is_lost_alone_and_kept_alone_at_each_moment(script: str, kinds: int) -> None:
    records = log_of(script)
    kind_of = lambda number: f"kind {number % kinds}"  # noqa: E731
    contents = Contents(records, 0, len(records), SECTOR)
    made = crash_states.states(records, 0, len(records), SECTOR, 1, contents, lambda to: to, kind_of)
    disks = {contents.of(state) for state, _ in islice(made, 3000)}
    for to in crash_states.moments_of(records, 0, len(records)):
        open_ = crash_states.pending(records, 0, to)
        for kind in {kind_of(number) for number in open_}:
            those = tuple(number for number in open_ if kind_of(number) == kind)
            others = tuple(number for number in open_ if kind_of(number) != kind)
            assert contents.of(State(0, to, those)) in disks
            assert contents.of(State(0, to, others)) in disks


def test_the_first_states_are_what_plain_cuts_leave_all_over_the_log() -> None:
    records = log_of("wwf" * 8)
    first = list(islice(states(records, 1), 9))
    assert {state.of for state in first} == {"nothing that was not flushed"}
    assert sorted(state.to for state in first) == [2, 5, 8, 11, 14, 17, 20, 23, 24]
    assert [state.to for state in first[:3]] == [2, 14, 8] or first[1].to > 11


def test_a_write_that_came_while_a_flush_was_under_way_is_still_pending() -> None:
    assert pending(log_of("wwg"), 0, 3) == [1]
    assert pending(log_of("wwf"), 0, 3) == []
    assert pending(log_of("wfww"), 2, 4) == [2, 3]  # what lies before the start is kept


@given(st.lists(st.integers(), unique=True, max_size=70))
def test_spread_keeps_every_place(places: list[int]) -> None:
    assert sorted(spread(places)) == sorted(places)


def test_smaller_states_depart_by_one_less() -> None:
    state = State(0, 9, (1, 4), ((5, (0,)),))
    assert [one.departures for one in smaller(state)] == [2, 2, 2]
    assert list(smaller(State(0, 9))) == []


def test_a_log_is_read_up_to_its_last_whole_record(tmp_path: Path) -> None:
    path = tmp_path / "log"
    head = MAGIC + struct.pack("<QI", 1 << 20, 512)
    write = RECORD.pack(1, 512, 4096, 10, 0) + bytes(512)
    flush = RECORD.pack(2, 0, 1, 20, 1)
    path.write_bytes(head.ljust(64, b"\0") + write + flush + write[:100])
    sector_bytes, records = read(path)
    assert sector_bytes == 512
    assert [(r.is_flush, r.at, r.length, r.time_ns) for r in records] == [(False, 4096, 512, 10), (True, 1, 0, 20)]
    assert records[-1].ends == 64 + 32 + 512 + 32
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match="is no log"):
        read(path)


def test_a_state_speaks_as_the_disk_does(tmp_path: Path) -> None:
    state = State(3, 9, (4,), ((5, (0, 2)),)).on(tmp_path / "log")
    assert state.model_dump(by_alias=True) == {
        "log": str(tmp_path / "log"), "from": 3, "to": 9, "without": [4], "torn": [{"record": 5, "sectors": [0, 2]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State(97, 106, (99,)), "the first 9 of the load's 36 disk writes and flushes, without 1 unflushed write"),
        (
            State(0, 9, (3, 4), ((5, (0,)),)),
            "the first 9 of the load's 36 disk writes and flushes, without 2 unflushed writes, with 1 torn write",
        ),
    ],
)
def test_a_state_is_told_by_its_writes_since_the_load_began(state: State, said: str) -> None:
    assert crash_states.in_words(state, 36) == said


def test_the_history_of_a_state_says_of_each_write_whether_it_was_flushed_and_whether_it_is_there() -> None:
    def wrote(at: int) -> Record:
        return Record(False, at, 1024, 0, 0)

    records = [wrote(0), wrote(512), Record(True, 2, 0, 0, 0), wrote(1024), wrote(2048), wrote(4096), wrote(8192)]
    told = crash_states.history(records, State(1, 6, (3,), ((4, (0,)),)), lambda number: f"kind {number}")
    assert [(one.number, one.fate, one.block, one.offset, one.bytes) for one in told] == [
        (1, "flushed", "kind 1", 512, 1024),
        (2, "flush", "", None, None),
        (3, "dropped", "kind 3", 1024, 1024),
        (4, "torn", "kind 4", 2048, 1024),
        (5, "kept", "kind 5", 4096, 1024),
    ]
    assert crash_states.history_in_words(told[:2], 40) == [
        "the load's 2 disk writes and flushes up to then, the oldest first:",
        "  1: 1,024 bytes at 512, kind 1: flushed",
        "  2: flush",
    ]
    assert crash_states.history_in_words(told, 1) == [
        "the load's 5 disk writes and flushes up to then, the last 1; --json has all:",
        "  5: 1,024 bytes at 4,096, kind 5: kept",
    ]
    assert crash_states.history_in_words([], 40) == []
