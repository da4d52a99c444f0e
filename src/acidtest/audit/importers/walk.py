"""Every file below a directory, whatever lies in it: nothing is opened but directories and regular files, no link is
followed, and neither depth nor number matter."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from acidtest.audit.importers.file import Budget, File
from acidtest.finding import Evidence

ENTRIES_MAX = 100_000
DEPTH_MAX = 100  # folders, each of which is held open
NAME_CHARACTERS_MAX = 32 << 20  # of all names, each with its folders
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK
KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
ITSELF = "the directory itself"
# Of a data directory of PostgreSQL, which PG_VERSION marks, the folders that hold neither configuration nor messages.
DATA = re.compile(r"base|global|pg_(?!log$)\w+")
OF_DATA = "holds a server's data: no configuration and no log"


class Walk:
    """Goes through a directory once. ``unreadable`` is what could not be looked into, ``passed`` what was not opened or
    not to its end, with the reasons."""

    def __init__(self, root: Path, budget: Budget) -> None:
        self.unreadable: list[Evidence] = []
        self.passed: list[Evidence] = []
        self._root, self.budget = root, budget
        self._entries = self._characters = 0

    def files(self) -> Iterator[File]:
        """Regular files, in order of their names, those of a folder before those of the folders in it. Each can be read
        until the next one is asked for."""
        yield from self._below("", self._root, DIRECTORY)

    def _below(self, name: str, path: str | Path, flags: int, above: int | None = None) -> Iterator[File]:
        """Those in the folder ``path`` of an open one. ``name`` is that below the root, with a "/" at its end."""
        try:
            descriptor = os.open(path, flags, dir_fd=above)
        except OSError as error:
            self._unreadable(name, error)
            return
        try:
            files, folders = self._list(name, descriptor)
            for base in sorted(files):
                yield File(self._root / name / base, name + base, descriptor, self.budget)
            for base in sorted(folders):
                if self._is_full():
                    return
                if "PG_VERSION" in files and DATA.fullmatch(base):
                    self.passed.append(Evidence(OF_DATA, name + base))
                elif name.count("/") >= DEPTH_MAX:
                    self.passed.append(Evidence(f"lies more than {DEPTH_MAX:,} folders deep", name + base))
                else:
                    yield from self._below(f"{name}{base}/", base, DIRECTORY | os.O_NOFOLLOW, descriptor)
        finally:
            os.close(descriptor)

    def _list(self, name: str, descriptor: int) -> tuple[list[str], list[str]]:
        """The regular files of a folder and its folders; what is neither is noted."""
        files, folders = [], []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self._entries += 1
                    self._characters += len(name) + len(entry.name)
                    if self._is_full():
                        break
                    try:
                        mode = entry.stat(follow_symlinks=False).st_mode
                    except OSError as error:
                        self._unreadable(name + entry.name, error)
                        continue
                    if stat.S_ISREG(mode):
                        files.append(entry.name)
                    elif stat.S_ISDIR(mode):
                        folders.append(entry.name)
                    else:
                        what = "a symbolic link" if stat.S_ISLNK(mode) else KINDS.get(stat.S_IFMT(mode), "no file")
                        with suppress(OSError):
                            what += f" to {os.readlink(entry.name, dir_fd=descriptor)}"
                        self.passed.append(Evidence(what, name + entry.name))
        except OSError as error:
            self._unreadable(name, error)
        return files, folders

    def _is_full(self) -> bool:
        full = self._entries > ENTRIES_MAX or self._characters > NAME_CHARACTERS_MAX
        if full and not any(evidence.file == ITSELF for evidence in self.passed):
            more = f"{ENTRIES_MAX:,} entries" if self._entries > ENTRIES_MAX else "the names that an audit can hold"
            self.passed.append(Evidence(f"holds more than {more}; the rest of it was not read", ITSELF))
        return full

    def _unreadable(self, name: str, error: OSError) -> None:
        self.unreadable.append(Evidence(f"cannot be read: {error.strerror}", name.rstrip("/") or ITSELF))
