"""What a program says of itself: its version among others that it mentions, and whether it is an engine at all."""

from __future__ import annotations

from pathlib import Path

import makes
from acidtest.audit.rules import builds
from tables import read, rows

HINT = b"before upgrading to PostgreSQL 9.1.\0"
# A program, what is among its bytes, and its version.
SAID = [
    ("postgres", HINT + b"postgres (PostgreSQL) 17.11\0" + b"PostgreSQL 17.11 on x86_64-pc-linux-gnu", "17.11"),
    ("postgres", HINT + b"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n\0", "15.18"),
    ("postgres", b"postgres (PostgreSQL) 18beta1\0", "18beta1"),
    ("postgres", b"postgres (PostgreSQL) 9.6.24\0", "9.6.24"),
    ("postgres", HINT, ""),
    ("mysqld", b"mysqld-5.7.44-log\0", "5.7.44"),
    ("mariadbd", b"for example 10.1.1-MariaDB-mariadb1precise-log.\0" + b"10.11.19-MariaDB-0+deb12u1\0", "10.11.19"),
    ("mysqld", b"mysqld-10.3\0" + b"10.3.9-MariaDB\0" + b"5.5.5-\0", "10.3.9"),
    ("firebird", b"LI-V6.3.14.33856 Firebird 3.0\0" + b"LI-V3.0.14.33856 Firebird 3.0\0", "3.0.14.33856"),
    ("libEngine13.so", b"LI-V6.3.4.1812 Firebird 5.0\0" + b"LI-V5.0.4.1812 Firebird 5.0\0", "5.0.4.1812"),
    ("fbserver", b"LI-V2.5.9.27139\0", "2.5.9.27139"),
]  # fmt: skip


@rows(*SAID)
def test_a_version_is_the_programs_own(name: str, says: bytes, version: str, tmp_path: Path) -> None:
    for before in (0, (1 << 20) - 80, (1 << 20) - 150):  # at once, and over and at the edge of what is read at a time
        (side,) = read(tmp_path / str(before), {name: makes.elf(64, b"x" * before + b"\0" + says)}).sides
        assert side.version == version


FOR_CLIENTS = ("WOW64/fbclient.dll", "fbclient.dll", "gds32.dll", "fbguard.exe")


@rows(*FOR_CLIENTS)
def test_what_is_no_engine_has_no_word_size_that_counts(name: str, tmp_path: Path) -> None:
    bench = read(
        tmp_path,
        {
            "a/firebird.exe": makes.pe(64, b"WI-V3.0.14.33856"),
            f"a/{name}": makes.pe(32, b"WI-V3.0.14.33856"),
            "b/firebird.exe": makes.pe(64, b"WI-V4.0.7.3271"),
        },
    )
    assert [side.version for side in bench.sides] == ["3.0.14.33856", "4.0.7.3271"]
    assert list(builds.word_size(bench)) == []


def test_the_engine_of_an_application_counts(tmp_path: Path) -> None:
    old, new = makes.pe(32, b"WI-V2.5.9.27139"), makes.pe(64, b"WI-V4.0.7.3271")
    assert list(builds.word_size(read(tmp_path, {"a/fbembed.dll": old, "b/engine13.dll": new})))


@rows(("postgres", b"'--enable-cassert'"), ("mysqld", b"8.0.36-debug\0"), ("mariadbd", b"10.11.6-MariaDB-debug\0"))
def test_a_debug_build_says_so(name: str, says: bytes, tmp_path: Path) -> None:
    assert list(builds.debug_build(read(tmp_path, {name: makes.elf(64, says)})))
