"""Debian's indexes, relations and versions."""

from __future__ import annotations

import io
import itertools
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acidtest.formats.debian import Index, NotDeb, data, paragraph, sums, version_key

INDEX = """Package: mariadb-server-core
Version: 1:11.8.9+ds-4
Section: database
Depends: mariadb-common (>= 1:11.8), libaio1t64 (>= 0.3.93) | libaio1, debconf [amd64],
 libc6:any (>= 2.43)
Pre-Depends: libssl3
Filename: pool/m.deb
Size: 12
SHA256: ab

Package: libaio1t64
Version: 0.3.113-8
Provides: libaio1 (= 0.3.113-8), libaio
Section: libs

Package: bare
Version: 2
"""
# In the order in which Debian sorts them (Policy 5.6.12, and the examples of deb-version(7)).
SORTED = [
    "1.0~~", "1.0~~a", "1.0~", "1.0~rc1-1", "1.0", "1.0-1", "1.0-1+b1", "1.0-1+b10", "1.0-2", "1.0a", "1.0+dfsg-1",
    "1.0.0", "1.2", "1.10", "1.10-0.1", "10", "1:0.1", "2:0~beta",
]  # fmt: skip
VERSIONS = st.from_regex(r"\A([0-3]:)?[0-9][0-9a-c.+~]{0,6}(-[0-9a-c.+~]{1,4})?\Z")


def test_a_package_says_what_it_needs() -> None:
    package = Index(INDEX).get("mariadb-server-core")
    assert package is not None
    assert package.depends == (
        ("libssl3",), ("mariadb-common",), ("libaio1t64", "libaio1"), ("debconf",), ("libc6",),
    )  # fmt: skip
    assert (package.upstream, package.section, package.size, package.sha256) == ("11.8.9+ds", "database", 12, "ab")


def test_a_package_is_found_by_what_it_provides() -> None:
    index = Index(INDEX)
    for name in ("libaio1", "libaio", "libaio1t64"):
        package = index.get(name)
        assert package is not None
        assert (package.name, package.upstream) == ("libaio1t64", "0.3.113")
    assert index.get("no-such") is None
    bare = index.get("bare")
    assert bare is not None
    assert (bare.upstream, bare.depends, bare.size) == ("2", (), 0)


def test_versions_are_sorted_as_debian_sorts_them() -> None:
    for earlier, later in itertools.pairwise(SORTED):
        assert version_key(earlier) < version_key(later)


@given(VERSIONS, VERSIONS)
@example("0", "0~")
@example("1-0", "1")
@example("1-0~", "1-~")
@example("1a0~", "1a")
def test_versions_compare_as_dpkg_compares_them(one: str, other: str) -> None:
    relation = (
        "lt" if version_key(one) < version_key(other) else "gt" if version_key(one) > version_key(other) else "eq"
    )
    assert subprocess.run(["dpkg", "--compare-versions", one, relation, other], check=False).returncode == 0


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    paragraph(text)
    sums(text)
    Index(f"Package: x\n{text}").get("x")
    version_key(text)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_package_or_refused(raw: bytes) -> None:
    for content in (raw, b"!<arch>\n" + raw):
        try:
            name, _ = data(io.BytesIO(content))
        except NotDeb:
            continue
        assert name.startswith("data.tar")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("Suite: x\nSHA256:\n ab 12 main/binary-amd64/Packages.xz\n broken\nMD5Sum:\n cd 1 y\n", 1),
        ("", 0),
    ],
)
def test_sums_of_a_release(release: str, expected: int) -> None:
    assert len(sums(release)) == expected
