"""The files of a commit, from a bare git directory that the user has. Nothing is fetched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from acidtest.errors import BadInput

DEEPEST = 3  # folders below "owner+name" in which its git directory is looked for
# A snapshot may lack its largest files: git must say so, and not go and fetch them.
ALONE = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
LINK, MODULE = "120000", "160000"


@dataclass(frozen=True)
class Unpacked:
    """What was laid out of a commit."""

    files: int
    absent: tuple[str, ...] = ()  # files that the snapshot lists and does not have


def find(directory: Path, repository: str) -> Path | None:
    """The git directory of "owner/name" below ``directory``; None where there is none."""
    top = directory / repository.replace("/", "+")
    for folder, below, files in os.walk(top):
        if "HEAD" in files and "objects" in below:
            return Path(folder)
        if len(Path(folder).relative_to(top).parts) >= DEEPEST:
            below.clear()
    return None


def unpack(git: Path, commit: str, path: str, only: list[str], into: Path) -> Unpacked | None:
    """Lay out ``path`` of ``commit`` in the directory ``into``; None if the snapshot does not have it.

    Links are made last, so that no file is written through one. Submodules are left out.
    """
    listed = _git(git, "ls-tree", "-r", "-z", f"{commit}:{path}")
    if listed is None:
        return None
    wanted = [(mode, object_, name) for mode, object_, name in _entries(listed) if _is_wanted(name, only)]
    links: list[tuple[Path, bytes]] = []
    absent: list[str] = []
    for (mode, _, name), content in zip(wanted, _contents(git, [one for _, one, _ in wanted]), strict=True):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            absent.append(name)
        elif mode == LINK:
            links.append((target, content))
        else:
            target.write_bytes(content)
    for target, content in links:
        target.symlink_to(os.fsdecode(content))
    return Unpacked(len(wanted) - len(absent), tuple(absent))


def _is_wanted(name: str, only: list[str]) -> bool:
    return not only or any(name == one or name.startswith(f"{one.rstrip('/')}/") for one in only)


def _entries(listed: bytes) -> Iterator[tuple[str, str, str]]:
    """Mode, object and name of each line of ``git ls-tree -z``: "100644 blob 3b18e5… TAB name"."""
    for line in filter(None, listed.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, _, object_ = about.decode().split(" ")
        path = PurePosixPath(os.fsdecode(name))
        if path.is_absolute() or ".." in path.parts:
            raise BadInput(f"{path}: leads out of its repository", "do not use this snapshot")
        if mode != MODULE:
            yield mode, object_, str(path)


def _contents(git: Path, objects: list[str]) -> Iterator[bytes | None]:
    """Of each object its bytes, None where the snapshot lacks it."""
    command = ["git", "--git-dir", str(git), "cat-file", "--batch"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **ALONE}
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for one in objects:
            process.stdin.write(f"{one}\n".encode())
            process.stdin.flush()
            answer = process.stdout.readline().split()  # "3b18e5… blob 12", or "3b18e5… missing"
            if len(answer) == 3:
                yield process.stdout.read(int(answer[2]) + 1)[:-1]
            else:
                yield None
        process.stdin.close()


def _git(git: Path, *arguments: str) -> bytes | None:
    command = ["git", "--git-dir", str(git), *arguments]
    ended = subprocess.run(command, capture_output=True, env={**os.environ, **ALONE}, check=False)
    return ended.stdout if ended.returncode == 0 else None
