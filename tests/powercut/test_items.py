"""Items of a program: what its load may acknowledge, what its check may answer, and what is planted among them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.errors import CellFailed
from acidtest.powercut.acknowledgement_log import Acknowledgement, parse
from acidtest.powercut.items import ITEM_MAX, ItemLog, answers, fate, planted
from acidtest.powercut.plug.wire import is_acknowledgement

NAMES = ["key-1", "key-2", "key-3"]
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
