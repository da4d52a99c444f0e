"""Items of a program: what its load may acknowledge, what its check may answer, and what is planted among them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from acidtest.errors import CellFailed
from acidtest.powercut.acknowledgement_log import Acknowledgement, parse
from acidtest.powercut.items import ITEM_MAX, ItemLog, answers, buffered, fate, first_missing_ns, planted
from acidtest.powercut.load import Load
from acidtest.powercut.plug.wire import is_acknowledgement
from acidtest.powercut.plug.witness import planted as planted_line

NAMES = ["key-1", "key-2", "key-3"]
BUFFERED = "in one write with the next: does it buffer its output?"
LOG = [Acknowledgement(0, number, 0, number, 10 * number, 10 * number, name) for number, name in enumerate(NAMES, 1)]


def test_items_are_acknowledged_when_they_arrive(tmp_path: Path) -> None:
    log = ItemLog(tmp_path)
    try:
        before = time.monotonic_ns()
        with log.path.open("wb", buffering=0) as pipe:
            pipe.write(b"one\ntwo\nthr")  # power may fail in the middle of a line
            log.drain()
        after = time.monotonic_ns()
        assert log.wait(0.01)  # whoever wrote may have closed the pipe and go on
        found = log.read()
    finally:
        log.close()
    assert [(one.item, one.number, one.count, one.terminal) for one in found] == [("one", 1, 1, 0), ("two", 2, 2, 0)]
    assert all(before <= one.acknowledged_ns <= after for one in found)


def test_when_the_oldest_missing_item_came_is_known() -> None:
    assert first_missing_ns(LOG, {"key-1": "present", "key-2": "missing", "key-3": "missing"}) == 20
    assert first_missing_ns(LOG, {"key-1": "present", "key-2": "torn", "key-3": "present"}) is None


def test_a_witness_reads_the_items_that_it_is_given(tmp_path: Path) -> None:
    log = ItemLog(tmp_path)
    try:
        with log.path.open("wb", buffering=0) as pipe:
            pipe.write("7\nmit Umlaut: ä\n".encode())
            log.drain()
            first, read = log.to_keep(0), log.read()
            pipe.write(b"  three  words here \n7\n")
            log.drain()
        with pytest.raises(CellFailed, match='acknowledged "7" twice'):
            log.to_keep(2)
        with pytest.raises(CellFailed, match='acknowledged "7" twice'):  # it stays so
            log.read()
    finally:
        log.close()
    assert parse(first) == read
    assert all(is_acknowledgement(line) for line in first)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([b"a", b"b", b"a"], 'acknowledged "a" twice: give each item a name of its own'),
        ([b"a", b" "], "line 2 that it acknowledged is empty: print one item a line"),
        ([b"x" * (ITEM_MAX + 1)], "line 1 that it acknowledged has more than 1,000 bytes: print one item a line"),
        ([b"\xff"], "line 1 that it acknowledged is no UTF-8 text"),
    ],
)
def test_lines_that_can_be_no_items_are_refused(lines: list[bytes], said: str, tmp_path: Path) -> None:
    log = ItemLog(tmp_path)
    try:
        log.path.write_bytes(b"\n".join(lines) + b"\n")
        log.drain()
        with pytest.raises(CellFailed) as refused:
            log.read()
    finally:
        log.close()
    assert refused.value.message == f"program.load: {said}"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("all is well", 'printed "all is well", which is no answer: print present, missing or torn, a space, and the'),
        ("present", 'printed "present", which is no answer'),
        ("present key-1\n", 'gave no answer for 2 items of 3, the first "key-2"'),
        ("present key-9\n", 'answered for "key-9", which $ACIDTEST_ITEMS does not have'),
        ("present key-1\nmissing key-1\n", 'answered present and missing for "key-1"'),
    ],
)
def test_what_is_no_answer_to_all_items_is_refused(said: str, message: str) -> None:
    with pytest.raises(CellFailed) as refused:
        answers(said, NAMES)
    assert refused.value.message.startswith(f"program.check {message}")


def test_answers_become_what_was_lost() -> None:
    found, damage = answers("torn key-3\npresent key-1\n\nmissing key-2\ndamaged page 3 has no checksum\n", NAMES)
    assert damage == ["page 3 has no checksum"]
    told = fate(LOG, found)
    assert (told.acknowledged, told.present, told.lost, told.torn, told.loaded_lost) == (3, 1, 1, 1, 0)
    assert told.examples == ['item "key-2" was acknowledged and is not there', 'item "key-3" is there in parts']


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1), min_size=1))
def test_what_is_planted_was_never_written(among: list[str]) -> None:
    assert planted(among) not in among
    assert planted(among) == planted(among)


def test_what_is_planted_looks_like_an_item() -> None:
    assert planted(["key-9", "key-17"]) == "key-917"
    assert planted(["7", "97"]) == "997"
    assert planted(["a", "bb"]) == "bb-planted"
    assert planted(["user/12/row/3"]) == "user/12/row/93"


def test_an_item_is_kept_in_files_and_engines_have_none() -> None:
    assert Acknowledgement(*LOG[0].as_list()) == LOG[0]  # type: ignore[arg-type]
    of_engine = Acknowledgement(1, 2, 0, 2, 5, 6)
    assert of_engine.as_list() == [1, 2, 0, 2, 5, 6]


def written(items: Sequence[str], buffer_bytes: int, flushed: int, *, at_exit: bool, apart: bool) -> Iterator[bytes]:
    """What a load writes to its output, as stdio(3) does: whenever the buffer is full, after each ``flushed`` items (0
    is never), and ``at_exit``. ``apart`` prints an item and the end of its line by two calls."""
    held = b""
    for number, item in enumerate(items, 1):
        for text in (item, "\n") if apart else (f"{item}\n",):
            held += text.encode()
            while len(held) > buffer_bytes:
                full = min(len(held), buffer_bytes or len(held), 4096)
                yield held[:full]
                held = held[full:]
        if flushed and number % flushed == 0 and held:
            yield held
            held = b""
    if at_exit and held:
        yield held


def log_of(writes: Iterator[bytes], directory: Path, read_every: int) -> list[Acknowledgement]:
    """What a lab comes to that reads only after so many writes: on a busy machine it is late."""
    with closing(ItemLog(directory)) as log, log.writer() as pipe:
        for number, chunk in enumerate(writes, 1):
            assert pipe.write(chunk) == len(chunk)
            if number % read_every == 0:
                log.drain()
        log.drain()
        return log.read()


class TestLateAcknowledgements:
    """A cut finds every item there: it survived only if each was acknowledged at the moment at which it was printed."""

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(
        lengths=st.lists(st.integers(2, 400), min_size=3, max_size=80),
        buffer_bytes=st.one_of(st.integers(0, 64), st.integers(65, 65_536), st.sampled_from([1024, 4096, 8192])),
        flushed=st.sampled_from([0, 1, 2, 3, 10, 100]),
        at_exit=st.booleans(),
        apart=st.booleans(),
        read_every=st.integers(1, 12),
    )
    def test_only_a_load_that_does_not_buffer_survives(
        self,
        lengths: list[int],
        buffer_bytes: int,
        flushed: int,
        at_exit: bool,
        apart: bool,
        read_every: int,
        tmp_path: Path,
    ) -> None:
        items = [f"{number:x}".rjust(length, "-") for number, length in enumerate(lengths, 1)]
        is_prompt = flushed == 1 or buffer_bytes == 0
        assume(is_prompt or not any((length + 1) % buffer_bytes == 0 for length in lengths))  # see acidtest...items
        log = log_of(written(items, buffer_bytes, flushed, at_exit=at_exit, apart=apart), tmp_path, read_every)
        if is_prompt:
            assert [one.item for one in log] == items
            assert buffered(log) == ""
        elif len(log) > 1:
            assert BUFFERED in buffered(log)

    @pytest.mark.parametrize("group", [2, 7, 64])
    def test_groups_acknowledged_in_a_moment_by_a_write_for_each_item_survive(self, group: int, tmp_path: Path) -> None:
        """They are read together, after all of the group was written."""
        items = [f"key-{number}" for number in range(3 * group)]
        log = log_of(written(items, 4096, 1, at_exit=True, apart=False), tmp_path, group)
        assert [one.item for one in log] == items
        assert buffered(log) == ""

    @pytest.mark.parametrize(
        ("load", "is_buffered"),
        [
            ("for n in 1 2 3 4; do echo noise >&2; echo key-$n; done", False),
            ("for n in 1 2 3 4; do echo key-$n >&2; done 2>&1", False),
            ("for n in 1 2 3 4; do echo key-$n; done | sed -u p\\;d", False),
            ("for n in 1 2 3 4; do echo key-$n; done | sed p\\;d", True),
            ("seq 1 5000", True),
            ("printf 'key-%d\\n' 1 2 3", True),
            (f"{sys.executable} -c 'for n in range(9): print(n)'", True),
            (f"{sys.executable} -u -c 'for n in range(9): print(n)'", False),
            (f"{sys.executable} -c 'for n in range(9): print(n, flush=True)'", False),
        ],
    )
    def test_loads_of_real_programs(self, load: str, is_buffered: bool, tmp_path: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        with closing(ItemLog(tmp_path)) as log:
            with log.writer() as pipe:
                process = subprocess.Popen(["sh", "-c", load], stdout=pipe, stderr=subprocess.DEVNULL, env=environment)
            while process.poll() is None:
                log.wait(0.01)
            log.drain()
            found = log.read()
        assert len(found) > 2
        assert (BUFFERED in buffered(found)) == is_buffered

    def test_a_planted_item_comes_by_itself(self) -> None:
        alone = LOG[-1]
        assert buffered([alone, *parse([planted_line([alone])])]) == ""

    def test_what_comes_while_something_else_is_done_has_its_own_time(self, tmp_path: Path) -> None:
        """Crash states demand what had been acknowledged before a write to the disk."""

        class Idle(Load):
            def follow(self) -> None: ...
            def kill(self) -> None: ...

        with closing(ItemLog(tmp_path)) as log, log.writer() as pipe:

            def work() -> int:
                pipe.write(b"key-1\n")
                end = time.monotonic() + 60
                while not len(log) and time.monotonic() < end:
                    time.sleep(0.001)
                return time.monotonic_ns()

            ended_ns = Idle(log).meanwhile(work)
            assert log.times_ns(0)[0] < ended_ns
