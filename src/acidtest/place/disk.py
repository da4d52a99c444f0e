"""A disk of known behaviour: the rig's, served as one file, whose power can be cut.

The file is for a loop device with direct I/O to lie on. What waits for a disk that is cut, or has ended, is answered
or fails: nothing hangs on it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import find_rig
from acidtest.journal.models import SettingInForce
from acidtest.journal.protocol import (
    DEFERRED,
    DISK_ANSWER,
    CutCommand,
    CutKeeps,
    DiskAnswer,
    DiskCommand,
    DiskCut,
    DiskDone,
    DiskFailed,
    DiskReady,
    DiskSpec,
    DiskState,
    DiskStats,
    DiskTiming,
    EndCommand,
    FaultCommand,
    GhostFlushes,
    LoadCommand,
    MendCommand,
    ReviveCommand,
    SaveCommand,
    SnapshotCommand,
    StatsCommand,
    UnderCommand,
)
from acidtest.place.base import DirectoryPlace
from acidtest.place.facts import compared, place_facts
from acidtest.place.ledger import Ledger
from acidtest.place.storage import Storage

DEVICE = Path("/dev/fuse")
OVER_IO_URING = Path("/sys/module/fuse/parameters/enable_uring")  # where the kernel is 6.14 or newer; N by default
SILENCE_S = 120.0  # a large medium in memory takes a while to make
IGNORES_WRITE_THROUGH = "ignore-write-through"
BATTERIES = {"good": "battery-backed controller", "dead": "controller with a dead battery"}
COMMAND: TypeAdapter[DiskCommand] = TypeAdapter(DiskCommand, config=DEFERRED)


class CommandedDisk(ABC):
    """What can be asked of a disk that is there, however it is reached. Each raises CellFailed."""

    @abstractmethod
    def say(self, line: bytes) -> DiskAnswer:
        """The answer to one line."""

    def stats(self) -> DiskStats:
        """What it did so far. Every record of the log is in its file then."""
        answer = self._command(StatsCommand())
        assert isinstance(answer, DiskStats)
        return answer

    def fault(self, fault: str) -> None:
        """``"eio on flush 1"`` from now on, counted from now; see docs/SIMULATED-DISK.md. Raises CellFailed."""
        self._command(FaultCommand(fault=fault))

    def under(self, device: Path) -> None:
        """Say which loop device is over its file: ``ignore-write-through`` needs that. Raises CellFailed."""
        number = device.stat().st_rdev
        self._command(UnderCommand(major=os.major(number), minor=os.minor(number)))

    def mend(self) -> None:
        """No fault from now on; one that had stopped goes on."""
        self._command(MendCommand())

    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes = "succeed") -> DiskCut:
        """Power fails. From now on it answers, so that nothing hangs, and forgets what it is told."""
        answer = self._command(CutCommand(keep=keep, seed=seed, flushes=flushes))
        assert isinstance(answer, DiskCut)
        return answer

    def revive(self) -> None:
        """What survived the cut is the disk, without faults. No loop device may be over it: it would hold the past."""
        self._command(ReviveCommand())

    def snapshot(self) -> None:
        """Keep it as it is now, for ``load``."""
        self._command(SnapshotCommand())

    def load(self, state: DiskState | None = None) -> None:
        """The snapshot, with ``state``'s writes on it. No loop device may be over it."""
        self._command(LoadCommand(state=state))

    def save(self, file: Path, *, whole: bool) -> None:
        """Write into ``file``, which must not be there, the blocks that differ from the snapshot; with ``whole`` all
        that are not zero. ``load`` takes them as the writes of a log. Raises CellFailed."""
        self._command(SaveCommand(file=str(file), whole=whole))

    def end(self) -> None:
        """End it. Its users get errors."""
        with contextlib.suppress(CellFailed):
            self._command(EndCommand())

    def _command(self, command: DiskCommand) -> DiskAnswer:
        answer = self.say(COMMAND.dump_json(command, by_alias=True))
        assert isinstance(answer, DiskStats | DiskCut | DiskDone)
        return answer


def asked(
    spec: PlaceSpec,
    directory: Path,
    size_mb: int,
    *,
    seed: int = 1,
    log: Path | None = None,
    faulty: bool = True,
    patient: bool = False,
) -> DiskSpec:
    """The disk that ``spec`` describes, its file to be mounted on ``directory / "disk"``; unless ``faulty`` it does
    nothing wrong yet. With ``patient`` it leaves the processors to others, as ``DiskSpec`` says."""
    return DiskSpec(
        mount_point=str(directory / "disk"),
        medium=str(directory / "medium") if spec.disk_medium == "file" else None,
        size_bytes=size_mb << 20,
        sector_bytes=spec.disk_sector,
        cache_bytes=spec.disk_cache_mb << 20,
        battery=spec.disk_battery,
        timing=DiskTiming(name=spec.disk, parameters=parameters(spec)),
        seed=seed,
        faults=faults(spec) if faulty else [],
        log=str(log) if log else None,
        patient=patient,
    )


def described(spec: PlaceSpec) -> list[str]:
    """The drive in words, but for what it does wrong."""
    more = [f"{name} {value:g}" for name, value in sorted(parameters(spec).items())]
    cache = [f"write cache {spec.disk_cache_mb} MiB" if spec.disk_cache_mb else "write cache off"]
    if spec.disk_cache_mb and spec.disk_battery != "none":
        cache.append(BATTERIES[spec.disk_battery])
    timing = "no timing" if spec.disk == "none" else spec.disk
    return [timing, *more, *cache, f"sectors of {spec.disk_sector} bytes"]


def answered(line: bytes) -> DiskAnswer:
    """Raises CellFailed for the answer that something failed, ValidationError for what is none."""
    answer = DISK_ANSWER.validate_json(line)
    if isinstance(answer, DiskFailed):
        raise CellFailed(f"the simulated disk: {answer.message}")
    return answer


class SimulatedDisk(CommandedDisk):
    """The disk that ``spec`` asks for, in ``home``, until ``release``. Raises CellFailed when it cannot be made.

    With ``log`` it writes down every write and flush there, for crash states. One that is ``patient`` leaves the
    processors to others beside it, and is slower by that.
    """

    def __init__(
        self,
        spec: PlaceSpec,
        home: DirectoryPlace,
        size_mb: int,
        ledger: Ledger,
        *,
        seed: int = 1,
        log: Path | None = None,
        patient: bool = False,
    ) -> None:
        self._ledger, self._spec, self._size_mb, self._home = ledger, spec, size_mb, home.path
        point = home.path / "disk"
        point.mkdir()
        wanted = asked(spec, home.path, size_mb, seed=seed, log=log, patient=patient)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by release
        self._mount = ledger.expect_fuse(point)
        try:
            self._id, self._process = ledger.start_process(
                [str(find_rig()), "disk"], environment=os.environ, stderr=self._stderr
            )
        except BaseException:
            ledger.undo(self._mount)
            raise
        try:
            ready = self.say(wanted.model_dump_json().encode())
            assert isinstance(ready, DiskReady)
        except BaseException:
            self._end()
            raise
        self.file, self.pid = Path(ready.file), ready.pid
        self.unlocked, self.over_io_uring = ready.unlocked, ready.over_io_uring

    def facts(self) -> dict[str, str]:
        """What of a place's facts is the disk's to tell."""
        spec = self._spec
        kept = [] if self.unlocked is None else [f"memory not locked ({self.unlocked})"]
        if self.over_io_uring:
            kept.append("over io_uring")
        return {
            "kind": "disk",
            "image": f"{spec.disk_medium}, {self._size_mb} MiB",
            "image_on": place_facts(self._home).beneath if spec.disk_medium == "file" else "",
            "disk": ", ".join([*described(spec), *faults(spec), *kept]),
        }

    def lies_under(self, device: Path) -> None:
        """Say which loop device is over its file, where one of its faults needs that. Raises CellFailed."""
        if IGNORES_WRITE_THROUGH in faults(self._spec):
            self.under(device)

    def release(self) -> None:
        """End it. Its users get errors."""
        self.end()
        self._end()

    def _end(self) -> None:
        self._ledger.end_process(self._id, self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._stderr.close()
        self._ledger.undo(self._mount)

    def say(self, line: bytes) -> DiskAnswer:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
            return answered(self._line())
        except (BrokenPipeError, ValidationError):
            self._stderr.seek(0)
            words = " / ".join(self._stderr.read()[-2000:].decode(errors="replace").strip().splitlines()[-3:])
            raise CellFailed(f"the simulated disk ended: {words or 'it left no message'}") from None

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        # An answer is one line and nothing follows it: what can be read is all there is.
        descriptor, line, end = self._process.stdout.fileno(), b"", time.monotonic() + SILENCE_S
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(timeout=max(0.0, end - time.monotonic())):
                    raise CellFailed(f"the simulated disk did not answer within {SILENCE_S:.0f} s")
                if not (chunk := os.read(descriptor, 1 << 20)):
                    break
                line += chunk
        return line


class DiskStorage(Storage):
    """A loop device over a simulated disk in ``home``, which it takes over, also when it raises CellFailed.

    With ``logged`` a disk that has a volatile write cache logs what it does.
    """

    def __init__(
        self, ledger: Ledger, home: DirectoryPlace, spec: PlaceSpec, size_mb: int, *, logged: bool = False
    ) -> None:
        super().__init__(ledger)
        self._log = home.path / "log" if logged and spec.disk_cache_is_volatile else None
        self._home, self._spec = home, spec
        try:
            self.disk = SimulatedDisk(spec, home, size_mb, ledger, log=self._log)
        except BaseException:
            home.release()
            raise
        try:
            id, self.device, self._direct = ledger.attach_loop(self.disk.file)  # noqa: A001
        except BaseException as error:
            self.disk.release()
            home.release()
            if isinstance(error, OSError):
                raise CellFailed(f"{self.disk.file}: could not be made a loop device: {error.strerror}") from None
            raise
        self._made.append(id)
        try:
            self.disk.lies_under(self.device)
        except BaseException:
            self.release()
            raise

    def disk_log(self) -> Path | None:
        if self._log:
            self.disk.stats()  # by then all is in the file
        return self._log

    def begin(self, label: str | None) -> None:
        pass  # it is ours, and goes with its directory

    def settings(self) -> list[SettingInForce]:
        return [*super().settings(), *faults_in_force(faults(self._spec), self.disk.stats())]

    def facts(self) -> dict[str, str]:
        return self.disk.facts() | {"direct_io": "yes" if self._direct else "no"}

    def quit(self) -> None:
        # A slow disk would take its time for what is thrown away, one that has stopped would never end.
        with contextlib.suppress(CellFailed):
            self.disk.cut("none", 0)

    def release(self) -> None:
        super().release()
        self.disk.release()
        self._home.release()


def faults_in_force(asked: Sequence[str], stats: DiskStats) -> list[SettingInForce]:
    """The faults asked for, beside those that the disk has; nothing of a disk that is to have and has none."""
    wanted, has = ", ".join(asked), ", ".join(dict.fromkeys(fault.fault for fault in stats.faults))
    if not wanted and not has:
        return []
    return [compared("disk_faults", wanted, has, "disk")]


def faults(spec: PlaceSpec) -> list[str]:
    """The expressions in ``disk_faults``, each with single spaces."""
    return [" ".join(fault.split()) for fault in spec.disk_faults.split(",") if fault.strip()]


def parameters(spec: PlaceSpec) -> dict[str, float]:
    """Raises BadInput for what is no name and number."""
    values = {}
    for part in filter(None, map(str.strip, spec.disk_parameters.split(","))):
        name, _, value = part.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            raise BadInput(
                f'place.disk_parameters: found "{part}", must be NAME=NUMBER',
                'write disk_parameters = "rpm=5400,seek_average_ms=9"',
            ) from None
    return values
