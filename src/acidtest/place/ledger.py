"""The ledger of what was made: directories, processes, control groups, loop devices, mounts, queue settings and more.

One file a lab, in ``ledger/`` of the state directory, locked while that lab lives. Each thing is written and fsynced
before it is made and struck off when it is released; what stands in the file of a lab that is gone is a leftover.
Only what stands in a ledger is ever removed, signalled or undone: a directory only if it carries the mark that the lab
put into it and nothing is mounted in it, a process only if its start time, or the token in its environment, is the
recorded one, a loop device only if the recorded image is behind it, a mount only of the recorded device at the recorded
directory, a simulated disk only at the recorded directory, queue settings and a drive's cache only of the very disk
that they were set on, a file system on a device only if it has the label that the lab gave it. Newest first: processes
end before what they use is unmounted, and so on down; but before all of them simulated disks are ended, so that nothing
waits for one, and then the processes that have the id of a directory as their token (``files.tag``): an engine's own
programs, which make or check a database in it, have no line of their own and may outlive the lab by what they do.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from acidtest.errors import AcidtestError, BadInput, CellFailed
from acidtest.files import BOOT_ID, MARK, TOKEN, fsync_path, kernel_text, processes, remove_once_idle, state_directory
from acidtest.place import device_safety, drive_cache, loops, mounts, queue, tracing
from acidtest.place.mounts import DISK_SOURCE

MEMORY_SOURCE = Path("acidtest-memory")  # stands where other mounts name their device
APPEAR_S = 5.0  # for the environment of a process that has just begun its command
GONE_S = 60.0  # for a process that was killed


@dataclass(frozen=True)
class Leftover:
    """One thing that a lab which is gone made and did not release."""

    ledger: Path
    kind: (
        str  # "directory", "process", "cgroup", "loop", "mount", "fuse", "queue", "drive cache", "filesystem", "trace"
    )
    id: str
    what: str  # path, command or device
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
        self._writing = threading.Lock()  # disks that inspect side by side share a ledger

    @classmethod
    def taken_up(cls, path: Path) -> Ledger:
        """One that belongs to a process which still runs, to go on with. Raises OSError.

        Its lock is that process's: only one process may take it up."""
        ledger = cls.__new__(cls)
        with path.open("rb") as file:
            ledger._open = {left.id: left.entry for left in reversed(_leftovers_of(path, file))}
        ledger.path, ledger._file, ledger._writing = path, path.open("ab"), threading.Lock()
        return ledger

    def belong_to(self, pid: int) -> None:
        """What stands in it stays when this lab ends, as long as the process ``pid`` runs, which was started with
        ``keeps_ledger``; after that it is a leftover."""
        path = self.path.with_name(f"{pid}-{uuid.uuid4().hex[:12]}.jsonl")
        self.path.rename(path)
        fsync_path(path.parent)
        self.path = path

    def leave(self) -> None:
        """Go, and leave what stands in it to the process that it belongs to."""
        self._file.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        with self._writing:
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
            (path / MARK).write_text(id, encoding="utf-8")
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
        directory: Path | None = None,
        keeps_ledger: bool = False,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        """Start ``command`` in a session of its own; without ``stdout`` its standard input and output are pipes.

        With ``cgroup`` it is in that control group before the first of its own instructions. With ``keeps_ledger`` the
        ledger stays locked as long as it runs.
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
                cwd=directory,
                start_new_session=True,
                pass_fds=[self._file.fileno()] if keeps_ledger else [],
            )
        except OSError:
            self._released(id)
            raise
        started = {"pid": process.pid, "start_time": _start_time(process.pid)}
        self._write({"started": id, **started})
        self._open[id] = {**self._open[id], **started}
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

    def running(self, id: str) -> int | None:  # noqa: A002
        """The process id of what was started as ``id``, while it runs."""
        entry = self._open.get(id, {})
        pid = entry.get("pid")
        if pid is None or _is_gone(pid) or _start_time(pid) != entry["start_time"]:
            return None
        return int(pid)

    def run(
        self, command: Sequence[str], output: Path, *, directory: Path | None = None, limit_s: float | None = None
    ) -> int:
        """Run a command to its end, with all that it says in the file ``output``. Raises OSError, and
        subprocess.TimeoutExpired after ``limit_s``, when it has been killed."""
        with output.open("wb") as file:
            id, process = self.start_process(  # noqa: A001
                command, environment=os.environ, stderr=file, stdout=file, directory=directory
            )
            try:
                return process.wait(limit_s)
            finally:
                self.end_process(id, process)

    def attach_loop(self, image: Path) -> tuple[str, Path, bool]:
        """Make the file ``image`` a block device: its id, the device, and whether it is direct I/O. Raises OSError."""
        inode = image.stat().st_ino
        end = time.monotonic() + loops.PATIENCE_S
        while time.monotonic() < end:
            number = loops.unused_number()
            path = str(loops.device_of(number))
            id = self._made("loop", path=path, number=number, image=str(image), inode=inode)  # noqa: A001
            try:
                return id, Path(path), loops.attach(number, image)
            except loops.Taken:
                self._released(id)
                time.sleep(random.uniform(0.005, 0.05))  # not all labs at once again
            except OSError:
                self._released(id)
                raise
        raise OSError(errno.EBUSY, "no free loop device", str(loops.CONTROL))

    def let_go_of_image(self, id: str) -> None:  # noqa: A002
        """Detach a loop of ours from its image; the device stays ours until it is undone. Raises OSError."""
        entry = self._open[id]
        loops.let_go(entry["number"], Path(entry["image"]), entry["inode"])

    def attach_again(self, id: str) -> bool:  # noqa: A002
        """The same image on the same loop; whether it is direct I/O. Raises OSError, and loops.Taken when somebody else
        has the device now: then ``undo`` strikes it off and leaves it alone."""
        entry = self._open[id]
        return loops.attach_again(entry["number"], Path(entry["image"]))

    def mount(self, source: Path, point: Path, filesystem: str, options: Sequence[str]) -> str:
        """Mount ``source`` at the directory ``point``, which is ours. Raises CellFailed."""
        id = self._made("mount", path=str(point), source=str(source))  # noqa: A001
        try:
            mounts.mount(source, point, filesystem, options)
        except CellFailed:
            self._released(id)
            raise
        return id

    def mount_memory(self, point: Path) -> str:
        """Have what is put into the directory ``point``, which is ours, lie in memory, until the id is undone: then it
        is gone. Raises CellFailed."""
        return self.mount(MEMORY_SOURCE, point, "tmpfs", ["nosuid", "nodev"])

    def unmount(self, id: str) -> None:  # noqa: A002
        """Unmount, and keep the entry for ``mount_again``. Raises OSError."""
        _undo_mount(self._open[id])

    def mount_again(self, id: str, filesystem: str, options: Sequence[str]) -> None:  # noqa: A002
        """The same device at the same directory. Raises CellFailed, and then the entry stays."""
        entry = self._open[id]
        mounts.mount(Path(entry["source"]), Path(entry["path"]), filesystem, options)

    def expect_fuse(self, point: Path) -> str:
        """Announce that a process of ours will mount a simulated disk at the directory ``point``, which is ours.

        Releasing the id ends what that process may have left: the connection, so that nobody waits for it any more, and
        the mount.
        """
        return self._made("fuse", path=str(point))

    def make_cgroup(self, path: Path) -> str:
        """Make the control group ``path`` and return its id. Raises OSError."""
        id = self._made("cgroup", path=str(path))  # noqa: A001
        try:
            path.mkdir()
        except OSError:
            self._released(id)
            raise
        return id

    def set_queue(self, device: Path, settings: Mapping[str, str]) -> str:
        """Set files of the device's block queue; releasing the id restores what was there. Raises CellFailed."""
        at = queue.queue_of(device)
        before = queue.snapshot(at, settings)
        id = self._made("queue", path=str(device), queue=str(at), disk=queue.identity(at), before=before)  # noqa: A001
        queue.put(device, at, settings)
        return id

    def switch_drive_cache(self, device: Path, to: drive_cache.State) -> str:
        """Switch the drive's own write cache; releasing the id puts it back as it was. Raises CellFailed."""
        disk = queue.queue_of(device).parent
        if disk.name != device.resolve().name:
            raise CellFailed(f"{device}: is a part of /dev/{disk.name}, whose write cache is one: name the whole drive")
        try:
            before = drive_cache.state(disk)
            id = self._made(  # noqa: A001
                "drive cache", path=str(device), disk=str(disk), drive=_drive(disk), before=before
            )
            drive_cache.switch(disk, to)
        except OSError as error:
            raise CellFailed(f"{device}: its write cache could not be switched {to}: {error.strerror}") from None
        return id

    def begin_filesystem(self, device: Path, label: str | None) -> str:
        """Announce that ``device``, which is no loop, is about to be written to; releasing the id empties it.

        After a crash only a file system with this label is wiped; without a label nothing is.
        """
        return self._made("filesystem", path=str(device), label=label)

    def begin_trace(self) -> tuple[str, str]:
        """Announce a trace instance that the rig is about to make: its id, and the name to give it."""
        name = f"acidtest-{uuid.uuid4().hex[:12]}"
        return self._made("trace", path=name), name

    def undo(self, id: str) -> None:  # noqa: A002
        """Release what is no directory. Raises OSError, and then it stays open."""
        entry = self._open[id]
        if entry["kind"] == "filesystem":
            device_safety.empty(Path(entry["path"]))
        else:
            UNDO[entry["kind"]](entry)
        self._released(id)

    def close(self) -> None:
        """Release whatever is still open, newest first, and remove the ledger.

        That is nothing, unless a conductor was stopped between making something and knowing of it.
        """
        _abort_disks(self._open.values())
        for id, entry in reversed(list(self._open.items())):  # noqa: A001
            if entry["kind"] == "directory":
                self.remove_directory(id)
            else:
                self.undo(id)
        if not self._open:
            self.path.unlink(missing_ok=True)
        self._file.close()


def leftovers() -> list[Leftover]:
    """What labs that are gone left behind, newest first within each lab."""
    abandoned = []
    for path, file in _dead_ledgers():
        with file:
            abandoned += _leftovers_of(path, file)
    return abandoned


def release_leftovers() -> list[str]:
    """Release everything that labs which are gone left behind. Returns one line for each thing released.

    Raises AcidtestError naming what could not be released; its ledger stays for the next attempt.
    """
    released: list[str] = []
    stuck: list[str] = []
    for path, file in _dead_ledgers():
        with file:
            failed = False
            abandoned = _leftovers_of(path, file)
            _abort_disks(leftover.entry for leftover in abandoned if leftover.entry["boot"] == _boot_id())
            released += _end_helpers(leftover for leftover in abandoned if leftover.kind == "directory")
            for leftover in abandoned:
                try:
                    released += _release(leftover)
                except OSError as error:
                    failed = True
                    stuck.append(f"{leftover.kind} {leftover.what}: {error.strerror}")
            if not failed:
                path.unlink(missing_ok=True)
    if stuck:
        raise AcidtestError(f"could not release {'; '.join(stuck)}", "repair that and run acidtest clean again")
    return released


def _abort_disks(entries: Iterable[Mapping[str, Any]]) -> None:
    """Before anything else: to unmount what lies on a disk that does not answer would wait for it."""
    for entry in entries:
        if entry["kind"] == "fuse":
            mounts.abort_fuse(Path(entry["path"]), DISK_SOURCE)


def _end_helpers(directories: Iterable[Leftover]) -> list[str]:
    """End what works in these directories without a line of its own: it would go on to write into them."""
    tokens = {leftover.id: leftover.what for leftover in directories}
    ended: list[str] = []
    seen: set[tuple[int, str]] = set()  # by process and its start: what cannot be ended is not found for ever
    while found := {
        (pid, start_time): tokens[token]
        for one, token in _tagged(tokens).items()
        for pid, start_time in _family(one).items()
        if (pid, start_time) not in seen
    }:  # what one of them started meanwhile has no parent now, and is found the next time
        ended += [f"killed process {one[0]} (at work in {what})" for one, what in found.items() if _kill(*one)]
        seen |= found.keys()
    return ended


def _dead_ledgers() -> list[tuple[Path, IO[bytes]]]:
    """Ledgers whose lab is gone, open and locked against other labs that clean at the same time."""
    dead: list[tuple[Path, IO[bytes]]] = []
    directory = state_directory() / "ledger"
    for path in sorted(directory.glob("*.jsonl")) if directory.is_dir() else []:
        try:
            file = path.open("r+b")
        except (FileNotFoundError, PermissionError):
            continue  # released by another lab; or root's, and only root can release what stands in it
        if _locked(path, file):
            dead.append((path, file))
        else:
            file.close()  # its lab lives
    return dead


def _locked(path: Path, file: IO[bytes], seconds: float = 10.0) -> bool:
    """Whether the ledger's lock is ours now.

    A process that the lab was about to start holds the lock, too, until it runs its command: it may outlive the lab.
    """
    lab = int(path.name.partition("-")[0])
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > end or not _is_gone(lab):
                return False
            time.sleep(0.01)
        else:
            return True


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
    if leftover.kind in ("filesystem", "drive cache"):  # may outlive a restart, as a directory does
        return UNDO[leftover.kind](leftover.entry)
    if leftover.entry["boot"] != _boot_id():
        return []  # the machine was restarted since
    return UNDO[leftover.kind](leftover.entry)


def _undo_process(entry: Mapping[str, Any]) -> list[str]:
    family: dict[int, str] = {}
    for pid in _pids(entry):
        family |= _family(pid)
    return [
        f"killed process {pid} ({' '.join(entry['command'])})"
        for pid, start_time in family.items()
        if _kill(pid, start_time)
    ]


def _undo_cgroup(entry: Mapping[str, Any]) -> list[str]:
    return [f"removed control group {entry['path']}"] if remove_once_idle(Path(entry["path"])) else []


def _undo_loop(entry: Mapping[str, Any]) -> list[str]:
    if loops.detach(entry["number"], Path(entry["image"]), entry["inode"]):
        return [f"detached {entry['path']} from {entry['image']}"]
    return []


def _undo_mount(entry: Mapping[str, Any]) -> list[str]:
    if mounts.unmount(Path(entry["path"]), Path(entry["source"])):
        return [f"unmounted {entry['source']} from {entry['path']}"]
    return []


def _undo_fuse(entry: Mapping[str, Any]) -> list[str]:
    point = Path(entry["path"])
    mounts.abort_fuse(point, DISK_SOURCE)
    return [f"ended the disk at {point}"] if mounts.unmount(point, DISK_SOURCE) else []


def _undo_queue(entry: Mapping[str, Any]) -> list[str]:
    at = Path(entry["queue"])
    if queue.identity(at) != entry["disk"] or not queue.restore(at, entry["before"]):
        return []
    return [f"restored the block queue of {entry['path']}"]


def _undo_drive_cache(entry: Mapping[str, Any]) -> list[str]:
    disk = Path(entry["disk"])
    if not disk.is_dir() or _drive(disk) != entry["drive"] or drive_cache.state(disk) == entry["before"]:
        return []
    drive_cache.switch(disk, entry["before"])
    if (found := drive_cache.state(disk)) != entry["before"]:
        raise OSError(errno.EIO, f"the write cache was {entry['before']}, and is {found} still", entry["path"])
    return [f"switched the write cache of {entry['path']} {entry['before']} again"]


def _drive(disk: Path) -> str:
    """Tells this drive from another that has its name later, also after a restart where the drive itself has a name."""
    return drive_cache.identity(disk) or f"{queue.identity(disk / 'queue')} of {_boot_id()}"


def _undo_filesystem(entry: Mapping[str, Any]) -> list[str]:
    device = Path(entry["path"])
    if entry["label"] is None or not device.is_block_device() or entry["label"] not in device_safety.labels(device):
        return []
    device_safety.empty(device)
    return [f"wiped the file system that was made on {device}"]


def _undo_trace(entry: Mapping[str, Any]) -> list[str]:
    return [f"removed trace instance {entry['path']}"] if tracing.remove(entry["path"]) else []


UNDO: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "process": _undo_process,
    "cgroup": _undo_cgroup,
    "loop": _undo_loop,
    "mount": _undo_mount,
    "fuse": _undo_fuse,
    "queue": _undo_queue,
    "drive cache": _undo_drive_cache,
    "filesystem": _undo_filesystem,
    "trace": _undo_trace,
}


def _pids(entry: Mapping[str, Any]) -> list[int]:
    """Processes that are surely the recorded one or of its making: same start time, or our token in the environment."""
    pids = _carriers(entry["token"])
    end = time.monotonic() + APPEAR_S
    while not pids and "pid" not in entry and time.monotonic() < end:
        time.sleep(0.02)
        pids = _carriers(entry["token"])
    if "pid" in entry and entry["pid"] not in pids and _start_time(entry["pid"]) == entry["start_time"] != "":
        pids.insert(0, entry["pid"])
    return pids


def _carriers(token: str) -> list[int]:
    """Processes that were started with ``token``, the recorded one or one that it started; see proc(5)."""
    return list(_tagged([token]))


def _tagged(tokens: Collection[str]) -> dict[int, str]:
    """Processes that were started with one of these tokens, and which."""
    wanted = {f"{TOKEN}={token}".encode(): token for token in tokens}
    found: dict[int, str] = {}
    for process in processes() if wanted else ():
        with contextlib.suppress(OSError):
            for variable in wanted.keys() & set((process / "environ").read_bytes().split(b"\0")):
                found[int(process.name)] = wanted[variable]
    return found


def _family(pid: int) -> dict[int, str]:
    """A process and all that it and those started, with their start times.

    The token alone would not find them: a server may have overwritten it, as PostgreSQL does in its child processes.
    """
    children: dict[str, list[int]] = {}
    for process in processes():
        children.setdefault((_stat(process)[1:2] or [""])[0], []).append(int(process.name))
    members = [pid]
    for parent in members:
        members += children.get(str(parent), [])
    return {member: _start_time(member) for member in members}


def _kill(pid: int, start_time: str) -> bool:
    """Kill the process that started then and wait until it is gone; whether there was one."""
    if not start_time or _start_time(pid) != start_time:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    end = time.monotonic() + GONE_S
    while time.monotonic() < end and not _is_gone(pid):
        time.sleep(0.01)
    return True


def _remove_directory(path: Path, id: str) -> bool:  # noqa: A002
    mark = path / MARK
    try:
        marked = mark.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        marked = b""
    if not marked:
        # Killed before it was marked: then it holds no more than the empty mark, and removing that loses nothing.
        with contextlib.suppress(OSError):
            if list(path.iterdir()) == [mark]:
                mark.unlink()
            path.rmdir()
            return True
        return False
    if marked != id.encode():
        return False
    if mounts.mounted_below(path):
        raise OSError(errno.EBUSY, "something is mounted in it", str(path))
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


def _start_time(pid: int) -> str:
    """Field 22 of ``/proc/PID/stat`` (clock ticks since boot), "" when there is no such process; see proc(5)."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def _stat(task: Path | int) -> list[str]:
    """Fields of ``stat`` of a process or thread from the third on, none when there is no such one; see proc(5)."""
    directory = Path(f"/proc/{task}") if isinstance(task, int) else task
    return kernel_text(directory / "stat", "").rpartition(")")[2].split()


def _is_gone(pid: int) -> bool:
    """Also each of its threads: the first one may be dead while others still end what they do in the kernel."""
    if _stat(pid)[:1] not in ([], ["Z"]):
        return False
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return True
    return all(_stat(thread)[:1] in ([], ["Z"], ["X"]) for thread in threads)


def _boot_id() -> str:
    return kernel_text(BOOT_ID, "unknown").strip()
