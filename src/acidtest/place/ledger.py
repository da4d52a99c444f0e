"""The ledger of what was made: directories, processes and control groups that must not outlive the lab.

One file a lab, in ``ledger/`` of the state directory, locked while that lab lives. Each thing is written and fsynced
before it is made and struck off when it is released; what stands in the file of a lab that is gone is a leftover.
Only what stands in a ledger is ever removed or signalled: a directory only if it carries the mark that the lab put
into it, a process only if its start time, or the token in its environment, is the recorded one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from acidtest.errors import AcidtestError, BadInput
from acidtest.files import fsync_path, state_directory

MARK = ".made-by-acidtest"
TOKEN = "ACIDTEST_PROCESS_TOKEN"  # noqa: S105 - a name tag, not a secret


@dataclass(frozen=True)
class Leftover:
    """One thing that a lab which is gone made and did not release."""

    ledger: Path
    kind: str  # "directory", "process", "cgroup"
    id: str
    what: str  # path, or command
    entry: Mapping[str, Any]


class Ledger:
    """The ledger of this lab. Removed when everything in it is struck off."""

    def __init__(self) -> None:
        directory = state_directory() / "ledger"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self.path = directory / f"{os.getpid()}-{uuid.uuid4().hex[:12]}.jsonl"
            self._file = self.path.open("xb")
        except OSError as error:
            raise BadInput(
                f"{directory}: the ledger cannot be written: {error.strerror}",
                "set ACIDTEST_HOME to a directory that you may write to",
            ) from None
        fcntl.flock(self._file, fcntl.LOCK_EX)
        fsync_path(directory)
        self._open: dict[str, Mapping[str, Any]] = {}

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _made(self, kind: str, **fields: Any) -> str:
        entry = {"made": uuid.uuid4().hex, "kind": kind, "boot": _boot_id(), **fields}
        self._write(entry)
        self._open[entry["made"]] = entry
        return str(entry["made"])

    def _released(self, id: str) -> None:  # noqa: A002
        self._write({"released": id})
        del self._open[id]

    def make_directory(self, path: Path) -> str:
        """Make ``path`` (its parent must exist) and return its id. Raises FileExistsError when it is there."""
        path = path.absolute()
        if path.exists():
            raise FileExistsError(path)
        id = self._made("directory", path=str(path))  # noqa: A001
        try:
            path.mkdir()
            (path / MARK).write_text(id)
        except OSError:
            with contextlib.suppress(OSError):
                path.rmdir()
                self._released(id)
            raise
        return id

    def remove_directory(self, id: str) -> None:  # noqa: A002
        """Remove a directory made here with everything in it."""
        _remove_directory(Path(str(self._open[id]["path"])), id)
        self._released(id)

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
        cgroup: Path | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        """Start ``command`` in a session of its own; without ``stdout`` its standard input and output are pipes.

        With ``cgroup`` it is in that control group before the first of its own instructions.
        """
        token = uuid.uuid4().hex
        id = self._made("process", command=list(command), token=token)  # noqa: A001
        try:
            process = subprocess.Popen(
                [*_entering(cgroup), *command],
                env={**environment, TOKEN: token},
                stdin=subprocess.DEVNULL if stdout else subprocess.PIPE,
                stdout=stdout or subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError:
            self._released(id)
            raise
        self._write({"started": id, "pid": process.pid, "start_time": _start_time(process.pid)})
        return id, process

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        """Kill the process if it still runs, and those that it started, wait for them, and strike it off."""
        family = _family(process.pid) if process.poll() is None else {}
        if family:
            process.kill()
        process.wait()
        for pid in _carriers(str(self._open[id]["token"])):
            family |= _family(pid)
        for pid, start_time in family.items():
            _kill(pid, start_time)
        self._released(id)

    def make_cgroup(self, path: Path) -> str:
        """Make the control group ``path`` and return its id. Raises OSError."""
        id = self._made("cgroup", path=str(path))  # noqa: A001
        try:
            path.mkdir()
        except OSError:
            self._released(id)
            raise
        return id

    def remove_cgroup(self, id: str) -> None:  # noqa: A002
        """Remove a control group made here; its processes have ended."""
        _remove_cgroup(Path(str(self._open[id]["path"])))
        self._released(id)

    def close(self) -> None:
        """Release whatever is still open, newest first, and remove the ledger."""
        for id, entry in reversed(list(self._open.items())):  # noqa: A001
            if entry["kind"] == "directory":
                self.remove_directory(id)
            elif entry["kind"] == "cgroup":
                self.remove_cgroup(id)
        if not self._open:
            self.path.unlink(missing_ok=True)
        self._file.close()


def leftovers() -> list[Leftover]:
    """What labs that are gone left behind, newest first within each lab."""
    found = []
    for path, file in _dead_ledgers():
        with file:
            found += _leftovers_of(path, file)
    return found


def release_leftovers() -> list[str]:
    """Release everything that labs which are gone left behind. Returns one line for each thing released.

    Raises AcidtestError naming what could not be released; its ledger stays for the next attempt.
    """
    said: list[str] = []
    stuck: list[str] = []
    for path, file in _dead_ledgers():
        with file:
            failed = False
            for leftover in _leftovers_of(path, file):
                try:
                    said += _release(leftover)
                except OSError as error:
                    failed = True
                    stuck.append(f"{leftover.kind} {leftover.what}: {error.strerror}")
            if not failed:
                path.unlink(missing_ok=True)
    if stuck:
        raise AcidtestError(f"could not release {'; '.join(stuck)}", "mend that and run acidtest clean again")
    return said


def _dead_ledgers() -> list[tuple[Path, IO[bytes]]]:
    """Ledgers whose lab is gone, open and locked against other labs that clean at the same time."""
    dead: list[tuple[Path, IO[bytes]]] = []
    directory = state_directory() / "ledger"
    for path in sorted(directory.glob("*.jsonl")) if directory.is_dir() else []:
        try:
            file = path.open("r+b")
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()  # its lab lives
            continue
        dead.append((path, file))
    return dead


def _leftovers_of(path: Path, file: IO[bytes]) -> list[Leftover]:
    open_: dict[str, dict[str, Any]] = {}
    for line in file.read().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # torn by the crash: what it announced was not made yet
        if "made" in entry:
            open_[entry["made"]] = entry
        elif "started" in entry and entry["started"] in open_:
            open_[entry["started"]] |= {"pid": entry["pid"], "start_time": entry["start_time"]}
        elif "released" in entry:
            open_.pop(entry["released"], None)
    return [
        Leftover(path, entry["kind"], id, entry.get("path") or " ".join(entry["command"]), entry)
        for id, entry in reversed(open_.items())  # noqa: A001
    ]


def _release(leftover: Leftover) -> list[str]:
    if leftover.kind == "directory":
        removed = _remove_directory(Path(leftover.what), leftover.id)
        return [f"removed {leftover.what}"] if removed else []
    if leftover.entry["boot"] != _boot_id():
        return []  # the machine was restarted since
    if leftover.kind == "cgroup":
        return [f"removed control group {leftover.what}"] if _remove_cgroup(Path(leftover.what)) else []
    said = []
    family: dict[int, str] = {}
    for pid in _pids(leftover.entry):
        family |= _family(pid)
    for pid, start_time in family.items():
        if _kill(pid, start_time):
            said.append(f"killed process {pid} ({leftover.what})")
    return said


def _pids(entry: Mapping[str, Any]) -> list[int]:
    """Processes that are surely the recorded one or of its making: same start time, or our token in the environment."""
    found = _carriers(entry["token"])
    if "pid" in entry and entry["pid"] not in found and _start_time(entry["pid"]) == entry["start_time"] != "":
        found.insert(0, entry["pid"])
    return found


def _carriers(token: str) -> list[int]:
    """Processes that were started with ``token``, the recorded one or one that it started; see proc(5)."""
    wanted = f"{TOKEN}={token}".encode()
    found = []
    for status in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in status.read_bytes().split(b"\0"):
                found.append(int(status.parent.name))
    return found


def _family(pid: int) -> dict[int, str]:
    """A process and all that it and those started, with their start times.

    The token alone would not find them: a server may have overwritten it, as PostgreSQL does in its child processes.
    """
    children: dict[str, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        child = int(status.parent.name)
        children.setdefault((_stat(child)[1:2] or [""])[0], []).append(child)
    found = [pid]
    for parent in found:
        found += children.get(str(parent), [])
    return {member: _start_time(member) for member in found}


def _kill(pid: int, start_time: str) -> bool:
    """Kill the process that started then and wait until it is gone; whether there was one."""
    if not start_time or _start_time(pid) != start_time:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    _wait_gone(pid)
    return True


def _remove_directory(path: Path, id: str) -> bool:  # noqa: A002
    mark = path / MARK
    try:
        ours = mark.read_text() == id
    except (FileNotFoundError, NotADirectoryError):
        # Killed between making it and marking it: then it is empty, and removing an empty directory loses nothing.
        with contextlib.suppress(OSError):
            path.rmdir()
            return True
        return False
    if not ours:
        return False
    # The mark goes last, so that a removal cut short is taken up again.
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child != mark:
            child.unlink()
    mark.unlink()
    path.rmdir()
    return True


ENTER = 'echo $$ > "$0" && exec "$@"'  # the shell goes in and becomes the command: the process id stays


def _entering(cgroup: Path | None) -> list[str]:
    return ["/bin/sh", "-c", ENTER, str(cgroup / "cgroup.procs")] if cgroup else []


def _remove_cgroup(path: Path, seconds: float = 10.0) -> bool:
    """Remove the control group; whether there was one. A process that just ended leaves it a moment later."""
    end = time.monotonic() + seconds
    while True:
        try:
            path.rmdir()
            return True
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _start_time(pid: int) -> str:
    """Field 22 of ``/proc/PID/stat`` (clock ticks since boot), "" when there is no such process; see proc(5)."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` from the third on, none when there is no such process; see proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _wait_gone(pid: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if _stat(pid)[:1] in ([], ["Z"]):
            return
        time.sleep(0.01)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"
