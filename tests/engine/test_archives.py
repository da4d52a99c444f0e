"""Archives from a Maven repository: what the checksum says, or a plain refusal."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from acidtest.engine import archives
from acidtest.errors import MachineLacks

JAR = b"the jar" * 1000


@pytest.fixture
def shelf(served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the jar ``a.group:thing:1.0`` lies in a repository."""
    root, url = served
    shelf = root / "a" / "group" / "thing" / "1.0"
    shelf.mkdir(parents=True)
    (shelf / "thing-1.0.jar").write_bytes(JAR)
    monkeypatch.setenv(archives.VARIABLE, url)
    return shelf


def bring(tmp_path: Path) -> bytes:
    archives.maven("a.group", "thing", "1.0", tmp_path / "got.jar")
    return (tmp_path / "got.jar").read_bytes()


@pytest.mark.parametrize("kind", ["sha256", "sha1"])
@pytest.mark.parametrize("form", ["{}", "{}  thing-1.0.jar\n", "{}\n"])
def test_a_jar_is_brought_and_checked(shelf: Path, tmp_path: Path, kind: str, form: str) -> None:
    (shelf / f"thing-1.0.jar.{kind}").write_text(form.format(hashlib.new(kind, JAR).hexdigest()))
    assert bring(tmp_path) == JAR


def test_the_stronger_checksum_decides(shelf: Path, tmp_path: Path) -> None:
    (shelf / "thing-1.0.jar.sha1").write_text(hashlib.sha1(JAR).hexdigest())
    (shelf / "thing-1.0.jar.sha256").write_text(hashlib.sha256(JAR + b"!").hexdigest())
    with pytest.raises(MachineLacks, match="not what the repository's sha256 says"):
        bring(tmp_path)


def test_a_jar_without_checksum_is_not_taken(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(
        MachineLacks, match=r"a\.group:thing:1\.0 could not be brought from http://127.*: File not found"
    ):
        bring(tmp_path)
    assert not (tmp_path / "got.jar").exists()


@pytest.mark.parametrize("repository", ["http://127.0.0.1:1", "no-such-kind://x", "nonsense"])
def test_a_repository_that_is_not_there(repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(archives.VARIABLE, repository)
    with pytest.raises(MachineLacks, match="could not be brought") as refused:
        bring(tmp_path)
    assert archives.VARIABLE in refused.value.remedy


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("<mirror><mirrorOf>central</mirrorOf><url>https://a/b/</url></mirror>", "https://a/b"),
        ("<mirror><mirrorOf>*</mirrorOf><url>https://a</url></mirror>", "https://a"),
        ("<mirror><mirrorOf>*,!central</mirrorOf><url>https://a</url></mirror>", archives.CENTRAL),
        ("<mirror><mirrorOf>other</mirrorOf><url>https://a</url></mirror>", archives.CENTRAL),
        ("<mirror><mirrorOf>central</mirrorOf>", archives.CENTRAL),
        (None, archives.CENTRAL),
    ],
)
@pytest.mark.parametrize("space", ["", ' xmlns="http://maven.apache.org/SETTINGS/1.0.0"'])
def test_the_users_own_mirror_is_asked(
    settings: str | None, expected: str, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(archives.VARIABLE, raising=False)
    if settings is not None:
        (tmp_path / ".m2").mkdir()
        (tmp_path / ".m2" / "settings.xml").write_text(f"<settings{space}><mirrors>{settings}</mirrors></settings>")
    assert archives.repository() == expected
