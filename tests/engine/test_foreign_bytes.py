"""Readers of foreign bytes: right on real files, and never more than a refusal on broken ones."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidtest.engine import catalogue
from acidtest.formats import elf
from acidtest.formats import firebird_header as header

PYTHON = Path(sys.executable).resolve().read_bytes()
HEADER = bytearray(header.LENGTH)
HEADER[0] = header.PAGE_TYPE_HEADER
struct.pack_into("<HH", HEADER, 16, 8192, header.ODS_FIREBIRD_FLAG | 13)
struct.pack_into("<H", HEADER, 42, header.FORCE_WRITE | header.SQL_DIALECT_3)
struct.pack_into("<H", HEADER, 64, 1)
struct.pack_into("<I", HEADER, 68, 500)


def test_a_real_program_needs_what_readelf_says() -> None:
    found = elf.parse(PYTHON)
    output = subprocess.run(["readelf", "-d", sys.executable], capture_output=True, text=True, check=True).stdout
    assert [line.partition("[")[2].rstrip("]") for line in output.splitlines() if "(NEEDED)" in line] == list(
        found.needed
    )
    assert found.bits == 64


def test_a_file_is_read_as_its_bytes_are(tmp_path: Path) -> None:
    assert elf.read(Path(sys.executable)) == elf.parse(PYTHON)
    (tmp_path / "empty").touch()
    with pytest.raises(elf.NotElf):
        elf.read(tmp_path / "empty")


@pytest.mark.usefixtures("engines_installed")
def test_every_engine_that_is_installed_lacks_nothing_here() -> None:
    for offer in catalogue.offers():
        assert offer.missing_libraries == (), offer.id


@settings(max_examples=400)
@given(st.binary(max_size=200).map(lambda tail: PYTHON[:64] + tail) | st.binary(max_size=300))
def test_any_bytes_are_an_elf_or_refused(raw: bytes) -> None:
    with contextlib.suppress(elf.NotElf):
        elf.parse(raw)


@settings(max_examples=300)
@given(st.integers(0, 4095), st.integers(0, 255))
def test_a_damaged_program_is_read_or_refused(at: int, value: int) -> None:
    raw = bytearray(PYTHON[:65536])
    raw[at] = value
    with contextlib.suppress(elf.NotElf):
        elf.parse(bytes(raw))


def test_a_header_page_says_what_was_written_into_it() -> None:
    assert header.parse(bytes(HEADER)) == header.HeaderPage(8192, 13, 1, 500, True, 3)


@settings(max_examples=400)
@given(st.binary(max_size=100) | st.tuples(st.integers(0, 71), st.integers(0, 255)))
def test_any_header_page_is_read_or_refused(damage: bytes | tuple[int, int]) -> None:
    raw = bytearray(HEADER)
    if isinstance(damage, bytes):
        raw = bytearray(damage)
    else:
        raw[damage[0]] = damage[1]
    try:
        found = header.parse(bytes(raw))
    except header.NotAHeader:
        return
    assert found.ods_major in header.KNOWN
    assert found.page_size & (found.page_size - 1) == 0
