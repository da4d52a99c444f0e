"""InnoDB's pages: what is in use is counted, what is free is passed over, and what is damaged is told."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.formats import innodb

PAGE = 16384


def index_page(number: int, index: int, level: int, records: int, top: int, garbage: int = 0) -> bytearray:
    """A compact page with two slots in its directory."""
    page = bytearray(PAGE)
    struct.pack_into(">I", page, 4, number)
    struct.pack_into(">H", page, 24, 17855)
    struct.pack_into(">HHHHH", page, 38, 2, top, 0x8000 | (records + 2), 0, garbage)
    struct.pack_into(">HQHQ", page, 54, records, 0, level, index)
    return page


def tablespace(*pages: bytearray, in_use: int) -> bytearray:
    """A file of one extent, whose first pages are in use and all others free, whatever they hold."""
    first = bytearray(PAGE)
    struct.pack_into(">H", first, 24, 8)  # FIL_PAGE_TYPE_FSP_HDR
    struct.pack_into(">I", first, 150 + 20, 4)  # XDES_FSEG
    for number in range(64):
        free = 0 if number < in_use else 1
        first[150 + 24 + number // 4] |= free << (number % 4 * 2)
    return bytearray().join([first, *pages])


SOUND = (
    index_page(1, 7, 1, records=2, top=150),
    index_page(2, 7, 0, records=30, top=3120, garbage=100),
    index_page(3, 7, 0, records=20, top=2120),
    index_page(4, 9, 0, records=50, top=620),
    index_page(5, 7, 0, records=40, top=4000),  # free: of a past life
)


def test_pages_in_use_are_added_up_by_index_and_level(tmp_path: Path) -> None:
    (file := tmp_path / "t.ibd").write_bytes(tablespace(*SOUND, in_use=5))
    found = innodb.read(file, PAGE)
    table, other = found.trees
    assert (found.pages, found.long_pages) == (6, 0)
    assert (table.id, table.depth, table.pages, other.id, other.depth, other.pages) == (7, 2, 3, 9, 1, 1)
    leaves = table.levels[0]
    assert (leaves.pages, leaves.records, leaves.record_bytes) == (2, 50, 2900 + 2000)
    assert leaves.used_bytes == 3020 + 2120 + 2 * (2 * 2 + 8)


def of_kind(number: int, kind: int) -> bytearray:
    page = index_page(number, 1, 0, records=1, top=200)
    struct.pack_into(">H", page, 24, kind)
    return page


def test_a_tables_dictionary_is_none_of_its_trees_and_long_columns_are_counted(tmp_path: Path) -> None:
    dictionary, part_of_it, first, more = (of_kind(n, kind) for n, kind in ((1, 17853), (3, 18), (4, 24), (5, 23)))
    content = tablespace(dictionary, index_page(2, 7, 0, records=30, top=3120), part_of_it, first, more, in_use=6)
    (file := tmp_path / "t.ibd").write_bytes(content)
    found = innodb.read(file, PAGE)
    assert [(tree.id, tree.pages) for tree in found.trees] == [(7, 1)]
    assert found.long_pages == 2


def test_a_root_that_got_columns_later_is_a_page_of_its_tree(tmp_path: Path) -> None:
    (file := tmp_path / "t.ibd").write_bytes(tablespace(of_kind(1, 18), in_use=2))
    assert [tree.pages for tree in innodb.read(file, PAGE).trees] == [1]


def misplaced(content: bytearray) -> None:
    struct.pack_into(">I", content, 2 * PAGE + 4, 77)


def cut(content: bytearray) -> None:
    del content[-100:]


def overfull(content: bytearray) -> None:
    struct.pack_into(">H", content, 2 * PAGE + 40, PAGE)


def emptied(content: bytearray) -> None:
    for number in (2, 3):
        struct.pack_into(">H", content, number * PAGE + 24, 0)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (misplaced, "page 2 of t.ibd says that it is page 77"),
        (cut, "t.ibd ends in the middle of page 5"),
        (overfull, "page 2 says that its records end at byte 16384"),
        (emptied, "t.ibd holds no index, or one without leaves"),
    ],
)
def test_what_is_no_tablespace_is_told(tmp_path: Path, spoil: Callable[[bytearray], None], words: str) -> None:
    content = tablespace(*SOUND, in_use=5)
    spoil(content)
    (file := tmp_path / "t.ibd").write_bytes(content)
    with pytest.raises(innodb.Damaged, match=words):
        innodb.read(file, PAGE)
