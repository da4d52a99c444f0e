"""A control group of our own with a memory limit, in which the engine runs and to which what it caches is charged.

Both versions are spoken: v1 as in the kernel's admin-guide/cgroup-v1/memory.rst, v2 as in admin-guide/cgroup-v2.rst.
The file cache is charged to the group whose process first reads or writes a page: so the database's pages are dropped
from the cache before a limit is set, else the engine uses pages that another group pays for.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from acidtest.errors import CellFailed, MachineLacks
from acidtest.files import kernel_text
from acidtest.place.facts import mount_of_type
from acidtest.place.ledger import Ledger

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SWAPPINESS = 60  # of a group that may swap: the kernel's own
REMEDY = {
    1: "run as root: sudo acidtest run ...",
    2: "run as root: sudo acidtest run ...; or in a scope that is handed to you: "
    "systemd-run --user --scope -p Delegate=yes acidtest run ...",
}


@dataclass(frozen=True)
class Hierarchy:
    """Where control groups with a memory limit can be made."""

    version: int  # 1 or 2
    top: Path  # its mount point
    parent: Path  # the group that ours are made in


def hierarchy(mountinfo: str, own: str) -> Hierarchy:
    """Find the memory controller from the texts of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``; cgroups(7).

    v1: below the group that this process is in. v2 lets no group have both processes and limited groups below it, so
    there it is the nearest group upwards that hands the memory controller on to its children (cgroup.subtree_control).
    Raises MachineLacks when there is none.
    """
    for line in own.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            if mount := mount_of_type(mountinfo, "cgroup", "memory"):
                top = Path(mount.point)
                return Hierarchy(1, top, _below(top, mount.root, path))
            break
        if not controllers and (mount := mount_of_type(mountinfo, "cgroup2")):
            top = Path(mount.point)
            here = _below(top, mount.root, path)
            for group in (here, *here.parents):
                if "memory" in kernel_text(group / "cgroup.subtree_control", "").split():
                    return Hierarchy(2, top, group)
                if group == top:
                    break
    raise MachineLacks("place.memory_mb: this machine has no memory controller for us to limit by", REMEDY[2])


def _below(top: Path, root: str, path: str) -> Path:
    # In a container the mount shows a part of the tree only: its root is what the path begins with.
    inside = path.removeprefix(root) if root != "/" and path.startswith(root) else path
    return top / inside.strip("/")


def here() -> Hierarchy:
    """The hierarchy of this process, in which it may make groups. Raises MachineLacks with the command to give."""
    own = hierarchy(kernel_text(Path("/proc/self/mountinfo"), ""), kernel_text(Path("/proc/self/cgroup"), ""))
    for needed in (own.parent, own.parent / "cgroup.procs"):
        if not os.access(needed, os.W_OK):
            raise MachineLacks(
                f"place.memory_mb: {needed}: may not be written to, and a memory limit needs a control group there",
                REMEDY[own.version],
            )
    return own


def may_swap(swap_bytes: int) -> None:
    """Raise MachineLacks, with the command to give, unless this machine has so much swap, and counts it by group."""
    total = sum(int(line.split()[2]) << 10 for line in kernel_text(Path("/proc/swaps"), "").splitlines()[1:])
    if total < swap_bytes:
        has = f"{total / (1 << 20):,.0f} MiB of swap" if total else "no swap"
        raise MachineLacks(
            f"place.swap_mb = {swap_bytes >> 20}: this machine has {has}",
            "add swap as root: fallocate -l SIZE FILE; chmod 600 FILE; mkswap FILE; swapon FILE; or ask for less",
        )
    own = here()
    if own.version == 1 and not (own.parent / "memory.memsw.limit_in_bytes").exists():
        raise MachineLacks(
            "place.swap_mb: this kernel does not count swap by control group", "boot it with swapaccount=1"
        )


@dataclass(frozen=True)
class Usage:
    """What a control group holds now; bytes, and pages and microseconds counted since it was made."""

    usage_bytes: int
    file_bytes: int  # file cache, without shared memory
    engine_bytes: int  # the processes' own memory and shared memory: where an engine's cache is
    swap_bytes: int
    refaults_file: int  # pages of files that were pushed out of memory and read again
    refaults_engine: int
    major_faults: int


def usage_v1(stat: str, usage_bytes: int) -> Usage:
    """Read v1's memory.stat. ``cache`` counts shared memory too; names with ``total_`` have groups below in them."""
    held = _pairs(stat)

    def total(name: str) -> int:
        return held.get(f"total_{name}", held.get(name, 0))

    shared = total("shmem")
    return Usage(
        usage_bytes=usage_bytes,
        file_bytes=total("cache") - shared,
        engine_bytes=total("rss") + shared,
        swap_bytes=total("swap"),
        # Before Linux 5.9 there was one count for both.
        refaults_file=total("workingset_refault_file") + total("workingset_refault"),
        refaults_engine=total("workingset_refault_anon"),
        major_faults=total("pgmajfault"),
    )


def usage_v2(stat: str, usage_bytes: int, swap_bytes: int) -> Usage:
    """Read v2's memory.stat. ``file`` counts shared memory too."""
    held = _pairs(stat)
    shared = held.get("shmem", 0)
    return Usage(
        usage_bytes=usage_bytes,
        file_bytes=held.get("file", 0) - shared,
        engine_bytes=held.get("anon", 0) + shared,
        swap_bytes=swap_bytes,
        refaults_file=held.get("workingset_refault_file", 0) + held.get("workingset_refault", 0),
        refaults_engine=held.get("workingset_refault_anon", 0),
        major_faults=held.get("pgmajfault", 0),
    )


def parse_pressure(text: str) -> tuple[int, int] | None:
    """Microseconds in which some, and in which all, waited for memory or a device; the kernel's accounting/psi.rst."""
    totals: dict[str, int] = {}
    for line in text.splitlines():
        kind, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            if name == "total" and value.isdigit():
                totals[kind] = int(value)
    return (totals["some"], totals.get("full", 0)) if "some" in totals else None


class Cgroup:
    """One group with a limit, its name in the ledger before it is made. Raises CellFailed when it cannot be made."""

    def __init__(
        self, ledger: Ledger, limit_bytes: int, hierarchy: Hierarchy | None = None, *, swap_bytes: int = 0
    ) -> None:
        """``swap_bytes`` of its processes' own memory may be swapped out; none unless it is asked for."""
        hierarchy = hierarchy or here()
        self.version = hierarchy.version
        self.path = hierarchy.parent / f"acidtest-{uuid.uuid4().hex[:12]}"
        self._top = hierarchy.top
        self._ledger = ledger
        try:
            self._id = ledger.make_cgroup(self.path)
        except OSError as error:
            raise CellFailed(f"place.memory_mb: {self.path}: could not be made: {error.strerror}") from None
        try:
            self._limit(limit_bytes, swap_bytes)
        except OSError as error:
            self.release()
            raise CellFailed(f"place.memory_mb: {error.filename}: {limit_bytes} not taken: {error.strerror}") from None

    def _limit(self, limit_bytes: int, swap_bytes: int) -> None:
        if self.version == 2:
            (self.path / "memory.max").write_text(str(limit_bytes), encoding="utf-8")
            if swap_bytes or (self.path / "memory.swap.max").exists():
                (self.path / "memory.swap.max").write_text(str(swap_bytes), encoding="utf-8")
            return
        (self.path / "memory.swappiness").write_text(str(SWAPPINESS if swap_bytes else 0), encoding="utf-8")
        (self.path / "memory.limit_in_bytes").write_text(str(limit_bytes), encoding="utf-8")
        if swap_bytes or (self.path / "memory.memsw.limit_in_bytes").exists():
            both = str(limit_bytes + swap_bytes)
            (self.path / "memory.memsw.limit_in_bytes").write_text(both, encoding="utf-8")

    @property
    def limit_bytes(self) -> int | None:
        """The limit in force, that of groups above included; None without one."""
        if self.version == 1:
            in_force = _pairs(kernel_text(self.path / "memory.stat", "")).get("hierarchical_memory_limit")
            return in_force if in_force is not None and in_force < 1 << 62 else None
        limits = []
        for group in (self.path, *self.path.parents):
            with contextlib.suppress(ValueError):  # "max", or the top, which has none
                limits.append(int(kernel_text(group / "memory.max", "")))
            if group == self._top:
                break
        return min(limits, default=None)

    @property
    def swap_bytes(self) -> int | None:
        """So much may be swapped out, as read back; None where the kernel does not count it, or sets no limit."""
        if self.version == 2:
            limit = kernel_text(self.path / "memory.swap.max", "").strip()
            return int(limit) if limit.isdigit() else None
        both = _pairs(kernel_text(self.path / "memory.stat", "")).get("hierarchical_memsw_limit")
        memory = self.limit_bytes
        return None if both is None or both >= 1 << 62 or memory is None else both - memory

    @property
    def swap(self) -> str:
        """How swapping is held off, or limited, as read back."""
        if self.version == 2:
            limit = kernel_text(self.path / "memory.swap.max", "").strip()
            return f"memory.swap.max {limit}" if limit else "no swap accounting in this kernel"
        total = _pairs(kernel_text(self.path / "memory.stat", "")).get("hierarchical_memsw_limit")
        swappiness = kernel_text(self.path / "memory.swappiness", "").strip() or "unknown"
        both = f"memory and swap together at most {total} bytes" if total else "no swap accounting in this kernel"
        return f"memory.swappiness {swappiness}, {both}"

    def usage(self) -> Usage:
        """Raises OSError or ValueError when the group cannot be read."""
        stat = kernel_text(self.path / "memory.stat")
        if self.version == 1:
            return usage_v1(stat, int(kernel_text(self.path / "memory.usage_in_bytes")))
        swap = kernel_text(self.path / "memory.swap.current", "").strip()
        return usage_v2(stat, int(kernel_text(self.path / "memory.current")), int(swap or 0))

    def pressure(self, of: str = "memory") -> tuple[int, int] | None:
        """The group's own, of "memory" or "io"; v1 does not have it."""
        return parse_pressure(kernel_text(self.path / f"{of}.pressure", ""))

    @property
    def peak_bytes(self) -> int | None:
        """The most it ever held, by the kernel's own account; v2 has it since Linux 5.19."""
        peak = kernel_text(self.path / {1: "memory.max_usage_in_bytes", 2: "memory.peak"}[self.version], "").strip()
        return int(peak) if peak.isdigit() else None

    @property
    def killed(self) -> int:
        """Processes that the kernel killed because they needed more memory than the limit."""
        counts = kernel_text(self.path / {1: "memory.oom_control", 2: "memory.events"}[self.version], "")
        return _pairs(counts).get("oom_kill", 0)

    def pids(self) -> list[int]:
        return [int(pid) for pid in kernel_text(self.path / "cgroup.procs", "").split()]

    def release(self) -> None:
        """Remove it; its processes have ended. Raises CellFailed when it stays: ``acidtest clean`` takes it up."""
        try:
            self._ledger.undo(self._id)
        except OSError as error:
            raise CellFailed(f"control group {self.path}: could not be removed: {error.strerror}") from None


class Launched:
    """Starts the engine's processes through the ledger, in a control group if there is one, and knows them all."""

    def __init__(self, ledger: Ledger, cgroup: Cgroup | None) -> None:
        self._ledger = ledger
        self._cgroup = cgroup
        self._started: dict[str, int] = {}

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        group = self._cgroup.path if self._cgroup else None
        id, process = self._ledger.start_process(  # noqa: A001
            command, environment=environment, stderr=stderr, stdout=stdout, cgroup=group
        )
        self._started[id] = process.pid
        return id, process

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        del self._started[id]
        self._ledger.end_process(id, process)

    def make_directory(self, path: Path) -> str:
        return self._ledger.make_directory(path)

    def remove_directory(self, id: str) -> None:  # noqa: A002
        self._ledger.remove_directory(id)

    def pids(self) -> list[int]:
        """The processes that run now, those that they started included."""
        return self._cgroup.pids() if self._cgroup else self._family()

    def seen(self) -> tuple[list[int], list[int]]:
        """Of the processes that run now, by their descent: those in the control group, and those outside of it."""
        family = self._family()  # before the group is read: who ends in between is in neither
        inside = set(self._cgroup.pids()) if self._cgroup else set()
        outside = [pid for pid in family if pid not in inside and _runs(pid)]
        return [pid for pid in family if pid in inside], outside

    def _family(self) -> list[int]:
        pids = list(self._started.values())
        for pid in pids:
            with contextlib.suppress(OSError):
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    pids += [int(child) for child in kernel_text(children).split()]
        return pids


def _runs(pid: int) -> bool:
    """Whether a process is there and has not ended; see proc_pid_stat(5)."""
    state = kernel_text(Path(f"/proc/{pid}/stat"), "").rpartition(") ")[2][:1]
    return state not in ("", "Z", "X")


def _pairs(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    pairs = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdigit():
            pairs[name] = int(value)
    return pairs
