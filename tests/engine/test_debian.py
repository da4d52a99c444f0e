"""Packages of Debian in a folder of their own: only what is signed, with every library, and started by its own loader."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.engine import debian
from acidtest.errors import MachineLacks
from acidtest.formats import elf

ARCHITECTURE = debian.ARCHITECTURES[os.uname().machine]
PROGRAM = "usr/bin/answer"


@pytest.fixture(scope="module")
def gpg(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """gpg with a key of these tests, in a home of its own."""
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)

    def run(*arguments: str, input: bytes = b"") -> bytes:  # noqa: A002
        quietly = ["--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        return subprocess.run(["gpg", *quietly, *arguments], input=input, capture_output=True, check=True).stdout

    run("--quick-generate-key", "tests of acidtest", "ed25519", "sign", "never")
    return run


class Shelf:
    """An archive below ``root`` in which packages are laid; ``sign`` makes it what apt would read."""

    def __init__(self, root: Path, gpg: Callable[..., bytes]) -> None:
        self.root = root
        self._gpg = gpg
        self._paragraphs: dict[str, list[str]] = {suite: [] for suite in debian.SUITES}

    def lay(
        self, suite: str, name: str, version: str, files: dict[str, Path | bytes], depends: str = "", **more: str
    ) -> Path:
        """One package; a file whose content is a path of this machine is copied from there."""
        path = self.root / "pool" / f"{name}_{version.replace(':', '%3a')}.deb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(deb(files))
        fields = {
            "Package": name, "Version": version, "Section": more.pop("Section", "libs"), "Depends": depends, **more,
            "Filename": str(path.relative_to(self.root)), "Size": str(path.stat().st_size),
            "SHA256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }  # fmt: skip
        self._paragraphs[suite].append("".join(f"{key}: {value}\n" for key, value in fields.items() if value))
        return path

    def sign(self, until: str = "") -> None:
        for suite, paragraphs in self._paragraphs.items():
            top = self.root / "dists" / suite
            index = top / "main" / f"binary-{ARCHITECTURE}" / "Packages.xz"
            index.parent.mkdir(parents=True, exist_ok=True)
            index.write_bytes(lzma.compress("\n".join(paragraphs).encode()))
            digest = hashlib.sha256(index.read_bytes()).hexdigest()
            line = f" {digest} {index.stat().st_size} {index.relative_to(top)}\n"
            valid = f"Valid-Until: {until}\n" if until else ""
            release = f"Origin: Debian\nSuite: {suite}\n{valid}SHA256:\n{line}"
            (top / "InRelease").write_bytes(self._gpg("--clearsign", input=release.encode()))


def deb(files: dict[str, Path | bytes]) -> bytes:
    """A package's bytes; see deb(5)."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz") as tar:
        for name, source in files.items():
            member = tarfile.TarInfo(f"./{name}")
            if isinstance(source, bytes) and source.startswith(b"-> "):
                member.type, member.linkname = tarfile.SYMTYPE, source[3:].decode()
                tar.addfile(member)
                continue
            data = source if isinstance(source, bytes) else source.read_bytes()
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    members = (("debian-binary", b"2.0\n"), ("control.tar.xz", b"x"), ("data.tar.xz", content.getvalue()))
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


@pytest.fixture
def shelf(
    tmp_path: Path, served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, gpg: Callable[..., bytes]
) -> Shelf:
    root, url = served
    keyring = tmp_path / "keyring.gpg"
    keyring.write_bytes(gpg("--export"))
    monkeypatch.setattr(debian, "KEYRINGS", (keyring,))
    monkeypatch.setattr(debian, "_READ", {})
    monkeypatch.setenv(debian.VARIABLE, url)
    return Shelf(root, gpg)


def bring(tmp_path: Path, series: str = "2.1", *wanted: str, say: Callable[[str], None] = lambda line: None) -> Path:
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    debian._READ.clear()  # the archive changes within a test
    return debian.bring("thing-2.1", series, wanted or ("thing",), work, say)


def real(shelf: Shelf, suite: str = "stable", version: str = "1:2.1.5+ds-3") -> None:
    """A program of this machine as a package, with its loader and libraries in others."""
    program = Path(shutil.which("true") or "/bin/true").resolve()
    places: dict[str, Path | bytes] = {}
    for file in elf.closure([program]):
        places[f"usr/lib/{os.uname().machine}-linux-gnu/{file.name}"] = file.resolve()
    shelf.lay(suite, "thing", version, {PROGRAM: program}, "libthing (>= 2) | other, perl:any", Section="database")
    shelf.lay(suite, "libreal", "3", places, Provides="libthing (= 2)")
    shelf.lay(suite, "perl", "5", {"usr/bin/perl": b"not wanted"}, Section="interpreters")


def test_a_program_runs_by_the_loader_that_came_with_it(shelf: Shelf, tmp_path: Path) -> None:
    real(shelf)
    shelf.sign()
    folder = bring(tmp_path)
    debian.check("thing-2.1", folder, [folder / PROGRAM])
    command = debian.command(folder, folder / PROGRAM)
    assert all(part.startswith(str(folder)) for part in (command[0], command[-1], *command[2].split(":")))
    assert subprocess.run(command, check=False).returncode == 0
    assert not (folder / "usr/bin/perl").exists()  # of no section of libraries
    brought = debian.brought(folder)
    assert (brought.suite, brought.version, [name for name, _, _ in brought.packages]) == (
        "stable", "1:2.1.5+ds-3", ["thing", "libreal"],
    )  # fmt: skip
    assert brought.source.startswith("Debian stable, thing 1:2.1.5+ds-3, sha256 ")


def test_a_library_that_is_not_there_is_named(shelf: Shelf, tmp_path: Path) -> None:
    real(shelf)
    shelf.sign()
    folder = bring(tmp_path)
    next(folder.rglob("libc.so.6")).unlink()
    with pytest.raises(MachineLacks, match=r"thing-2\.1: Debian's packages lack libc\.so\.6"):
        debian.check("thing-2.1", folder, [folder / PROGRAM])


def test_the_newest_of_the_series_is_taken_whichever_suite_has_it(shelf: Shelf, tmp_path: Path) -> None:
    for suite, version in (("stable", "1:2.1.9-1"), ("testing", "1:2.1.10~rc1-1"), ("unstable", "2:2.2.0-1")):
        shelf.lay(suite, "thing", version, {PROGRAM: version.encode()})
    shelf.sign()
    assert (bring(tmp_path) / PROGRAM).read_bytes() == b"1:2.1.10~rc1-1"
    assert (bring(tmp_path, "2.2") / PROGRAM).read_bytes() == b"2:2.2.0-1"


def test_packages_that_an_older_acidtest_did_not_ask_for_are_told(shelf: Shelf, tmp_path: Path) -> None:
    real(shelf)
    shelf.lay("stable", "more", "1", {"usr/lib/more": b"more"})
    shelf.sign()
    before = debian.brought(bring(tmp_path))
    assert before.lacks(["thing", "libreal", "more", "unknown"]) == ["more", "unknown"]
    # One that Debian does not have was asked for too: to bring them again would not help.
    assert debian.brought(bring(tmp_path, "2.1", "thing", "more", "unknown")).lacks(["thing", "more", "unknown"]) == []


@pytest.mark.parametrize("series", ["2", "2.10", "1.9"])
def test_a_series_that_no_suite_has_says_what_they_have(shelf: Shelf, tmp_path: Path, series: str) -> None:
    shelf.lay("stable", "thing", "20.1-1", {PROGRAM: b""})
    shelf.sign()
    with pytest.raises(MachineLacks, match=rf"no longer has thing {series}; it has thing in stable 20\.1$") as refused:
        bring(tmp_path, series)
    assert "by its path" in refused.value.remedy


def test_what_nobody_of_debian_signed_is_refused(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real(shelf)
    shelf.sign()
    release = shelf.root / "dists/stable/InRelease"
    signed = release.read_bytes()
    release.write_bytes(signed.replace(b"Suite: stable", b"Suite: stabler"))
    with pytest.raises(MachineLacks, match="signature of stable could not be verified"):
        bring(tmp_path)
    release.write_bytes(b"Suite: stable\n")
    with pytest.raises(MachineLacks, match="signature of stable could not be verified"):
        bring(tmp_path)
    release.write_bytes(signed)
    (tmp_path / "keyring.gpg").write_bytes(b"")
    with pytest.raises(MachineLacks, match="signature of stable could not be verified"):
        bring(tmp_path)
    monkeypatch.setattr(debian, "KEYRINGS", (tmp_path / "none",))
    with pytest.raises(MachineLacks, match="debian-archive-keyring is not installed"):
        bring(tmp_path)


def test_an_index_or_a_package_that_was_changed_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    package = shelf.lay("stable", "thing", "2.1-1", {PROGRAM: b"as it was"})
    shelf.sign()
    package.write_bytes(deb({PROGRAM: b"as it is!"}))
    with pytest.raises(MachineLacks, match="is not what Debian's index says"):
        bring(tmp_path)
    index = next((shelf.root / "dists/stable").rglob("Packages.xz"))
    index.write_bytes(lzma.compress(b"Package: thing\n"))
    with pytest.raises(MachineLacks, match="index of Debian stable is not what its Release says"):
        bring(tmp_path)


@pytest.mark.parametrize("broken", [b"", b"!<arch>\nrubbish", deb({PROGRAM: b"x"})[:200]])
def test_a_package_that_is_none_is_refused(shelf: Shelf, tmp_path: Path, broken: bytes) -> None:
    package = shelf.lay("stable", "thing", "2.1-1", {})
    package.write_bytes(broken)
    shelf._paragraphs["stable"][0] = shelf._paragraphs["stable"][0].replace(
        hashlib.sha256(deb({})).hexdigest(), hashlib.sha256(broken).hexdigest()
    )
    shelf.sign()
    with pytest.raises(MachineLacks, match=r"thing_2\.1-1\.deb is broken"):
        bring(tmp_path)


def test_nothing_is_unpacked_outside_and_no_documentation(shelf: Shelf, tmp_path: Path) -> None:
    files: dict[str, Path | bytes] = {
        PROGRAM: b"x", "usr/share/doc/thing/copyright": b"x", "var/log/thing": b"x",
        "usr/lib/out": b"-> /etc/passwd", "usr/lib/up": b"-> ../../../../escaped", "usr/lib/in": b"-> ../bin/answer",
    }  # fmt: skip
    shelf.lay("stable", "thing", "2.1-1", files)
    shelf.sign()
    folder = bring(tmp_path)
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    assert found == ["debian.json", "usr/bin/answer", "usr/lib/in"]
    shelf.lay("stable", "thing2", "2.1-1", {"usr/../../../escaped": b"x"})
    shelf.sign()
    with pytest.raises(MachineLacks, match=r"thing2_2\.1-1\.deb is broken"):
        bring(tmp_path, "2.1", "thing2")
    assert not list(tmp_path.rglob("escaped"))


def test_an_archive_that_is_past_its_date_is_told(shelf: Shelf, tmp_path: Path) -> None:
    shelf.lay("stable", "thing", "2.1-1", {PROGRAM: b"x"})
    shelf.sign(until="Fri, 06 Nov 2015 08:08:01 UTC")
    lines: list[str] = []
    bring(tmp_path, say=lines.append)
    assert sum("is stale (since 6 November 2015); installing from it" in line for line in lines) == len(debian.SUITES)


def test_an_archive_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(debian.VARIABLE, "http://127.0.0.1:1")
    with pytest.raises(MachineLacks, match="could not be brought") as refused:
        bring(tmp_path)
    assert debian.VARIABLE in refused.value.remedy


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("deb http://a/debian bookworm main\n", "http://a/debian"),
        ("deb [arch=amd64 signed-by=/k.gpg] https://a.b/debian/ sid main", "https://a.b/debian"),
        ("Types: deb\n# URIs: http://no/debian\nURIs: http://yes/debian\nSuites: sid\n", "http://yes/debian"),
        ("# deb http://a/debian sid main\ndeb http://a/debian-security x main\ndeb https://b/ubuntu x main\n", None),
    ],
)
def test_the_archive_is_the_one_that_apt_uses(tmp_path: Path, sources: str, expected: str | None) -> None:
    (tmp_path / "sources.list").write_text(sources)
    assert debian._of_apt(tmp_path) == expected
