"""Every file below a directory, whatever lies in it: nothing is opened but directories and regular files, no link is
followed, and neither depth nor number matter."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from acidtest.audit.importers.file import Budget, File
from acidtest.finding import Evidence

ENTRIES_MAX = 100_000
DEPTH_MAX = 2_000
NAME_CHARACTERS_MAX = 32 << 20  # of all names, each with its folders
OPEN_MAX = 64  # descriptors of directories
LISTED_MAX = 1_000  # of what is told one by one
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
ITSELF = "the directory itself"


@dataclass
class _Folder:
    name: str  # below the root, with a "/" at its end; "" of the root
    identity: tuple[int, int]  # device and inode
    descriptor: int | None
    folders: list[str] = field(default_factory=list)  # still to be looked into, the first last


class Walk:
    """Goes through a directory once. ``unreadable`` is what could not be looked into, ``passed`` what was not opened or
    not to its end, with the reasons.

    Of a path of thousands of folders only the last ones are kept open; where one above them is needed again, it is
    opened anew, name by name, and must be the same.
    """

    def __init__(self, root: Path, budget: Budget) -> None:
        self.unreadable: list[Evidence] = []
        self.passed: list[Evidence] = []
        self._root, self.budget = root, budget
        self._path: list[_Folder] = []
        self._within: set[tuple[int, int]] = set()  # the identities of those
        self._entries = self._characters = 0

    def files(self) -> Iterator[File]:
        """Regular files, in order of their names, those of a folder before those of the folders in it. Each can be read
        until the next one is asked for."""
        try:
            yield from self._down("")
            while self._path:
                folder = self._path[-1]
                if folder.folders and not self._is_full():
                    yield from self._down(folder.folders.pop())
                else:
                    ended = self._path.pop()
                    self._within.discard(ended.identity)
                    self._close(ended)
        finally:
            for one in self._path:
                self._close(one)

    def _down(self, base: str) -> Iterator[File]:
        """Into the folder ``base`` of the one that was entered last; "": into the root."""
        name = f"{self._path[-1].name}{base}/" if base else ""
        if len(self._path) > DEPTH_MAX:
            self.passed.append(Evidence(f"lies more than {DEPTH_MAX:,} folders deep", name.rstrip("/")))
            return
        try:
            above = self._reopened() if base else None
            descriptor = os.open(base or self._root, DIRECTORY if base else DIRECTORY & ~os.O_NOFOLLOW, dir_fd=above)
        except OSError as error:
            self._unreadable(name, error)
            return
        about = os.fstat(descriptor)
        folder = _Folder(name, (about.st_dev, about.st_ino), descriptor)
        if folder.identity in self._within:
            os.close(descriptor)
            self.passed.append(Evidence("a folder that it lies in itself", name.rstrip("/")))
            return
        self._path.append(folder)
        self._within.add(folder.identity)
        if len(self._path) > OPEN_MAX + 1:
            self._close(self._path[-OPEN_MAX - 1])
        for one in self._list(folder):
            yield File(self._root / name / one, name + one, descriptor, self.budget)

    def _list(self, folder: _Folder) -> list[str]:
        """The regular files of a folder; its folders and what is neither are noted."""
        files = []
        try:
            assert folder.descriptor is not None
            with os.scandir(folder.descriptor) as entries:
                for entry in entries:
                    self._entries += 1
                    self._characters += len(folder.name) + len(entry.name)
                    if self._is_full():
                        break
                    try:
                        mode = entry.stat(follow_symlinks=False).st_mode
                    except OSError as error:
                        self._unreadable(folder.name + entry.name, error)
                        continue
                    if stat.S_ISREG(mode):
                        files.append(entry.name)
                    elif stat.S_ISDIR(mode):
                        folder.folders.append(entry.name)
                    else:
                        self._pass(folder, entry.name, mode)
        except OSError as error:
            self._unreadable(folder.name, error)
        folder.folders.sort(reverse=True)
        return sorted(files)

    def _pass(self, folder: _Folder, base: str, mode: int) -> None:
        what = KINDS.get(stat.S_IFMT(mode), "no file")
        if stat.S_ISLNK(mode):
            what = "a symbolic link"
            with suppress(OSError):
                what += f" to {os.readlink(base, dir_fd=folder.descriptor)}"
        self.passed.append(Evidence(what, folder.name + base))

    def _is_full(self) -> bool:
        full = self._entries > ENTRIES_MAX or self._characters > NAME_CHARACTERS_MAX
        if full and not any(one.file == ITSELF for one in self.passed):
            more = f"{ENTRIES_MAX:,} entries" if self._entries > ENTRIES_MAX else "the names that an audit can hold"
            self.passed.append(Evidence(f"holds more than {more}; the rest of it was not read", ITSELF))
        return full

    def _reopened(self) -> int:
        """The descriptor of the folder that was entered last. Raises OSError."""
        known = len(self._path) - 1
        while known >= 0 and self._path[known].descriptor is None:
            known -= 1
        above = self._path[known].descriptor if known >= 0 else None
        for depth, folder in enumerate(self._path[known + 1 :], start=known + 1):
            base = folder.name[:-1].rpartition("/")[2]
            flags = DIRECTORY if folder.name else DIRECTORY & ~os.O_NOFOLLOW
            above = os.open(base if folder.name else self._root, flags, dir_fd=above)
            about = os.fstat(above)
            if (about.st_dev, about.st_ino) != folder.identity:
                os.close(above)
                raise OSError(errno.ESTALE, "it was moved while it was read")
            folder.descriptor = above
            if depth >= OPEN_MAX:
                self._close(self._path[depth - OPEN_MAX])
        assert above is not None
        return above

    def _unreadable(self, name: str, error: OSError) -> None:
        self.unreadable.append(Evidence(f"cannot be read: {error.strerror}", name.rstrip("/") or ITSELF))

    @staticmethod
    def _close(folder: _Folder) -> None:
        if folder.descriptor is not None:
            os.close(folder.descriptor)
            folder.descriptor = None
