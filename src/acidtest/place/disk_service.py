"""Simulated disks that stay until they are removed, for other people's programs.

Each is a process of the rig with a control socket, and a directory of its own in ``disks/`` of the state directory.
What was made for it stands in a ledger whose lock that process holds: as long as it runs, other labs leave all of it
alone; once it is gone, all of it is left over, and ``acidtest clean`` releases it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from acidtest.errors import BadInput, CellFailed, Problems, not_among
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.files import find_rig, state_directory, sync_filesystem
from acidtest.journal.models import SettingInForce
from acidtest.journal.protocol import CutKeeps, DiskAnswer, DiskCut, DiskReady, DiskState, DiskStats, GhostFlushes
from acidtest.place import making
from acidtest.place.cuttable import CuttablePlace, Held, Recovery
from acidtest.place.disk import IGNORES_WRITE_THROUGH, SILENCE_S, CommandedDisk, answered, asked, described
from acidtest.place.holders import users_of, users_of_device
from acidtest.place.ledger import Ledger

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
SOCKET_PATH_MAX = 107  # bytes; see unix(7)
USERS_SHOWN = 5
LOOKED_AT_S = 2.0  # udev looks into every device that was written to


@dataclass(frozen=True)
class Record:
    """What the next command must know of a disk; ``disk.json`` in its directory."""

    name: str
    ledger: str
    place: dict[str, Any]  # as a PlaceSpec
    size_mb: int
    point: str | None  # where it is mounted, if that is not in its directory
    logs: bool
    keeps_snapshot: bool
    base: int = 0  # records of the log before this one cannot be gone back to: a cut or a snapshot came after them
    # Each time that it was gone back: to so many records, and how many there were. Those between are not on the disk.
    left: tuple[tuple[int, int], ...] = ()
    held: Held = field(default_factory=Held)

    @property
    def spec(self) -> PlaceSpec:
        """What was asked for."""
        return PlaceSpec.model_validate(self.place)


RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class SocketDisk(CommandedDisk):
    """A disk behind its control socket."""

    def __init__(self, directory: Path) -> None:
        self.file, self._socket = directory / "disk" / "image", directory / "socket"

    def say(self, line: bytes) -> DiskAnswer:
        """Raises CellFailed."""
        answer = b""
        try:
            with socket.socket(socket.AF_UNIX) as disk:
                disk.settimeout(SILENCE_S)
                disk.connect(str(self._socket))
                disk.sendall(line + b"\n")
                while not answer.endswith(b"\n") and (chunk := disk.recv(1 << 20)):
                    answer += chunk
        except OSError as error:
            raise CellFailed(f"{self._socket}: the disk does not answer: {error.strerror or error}") from None
        try:
            return answered(answer)
        except ValidationError:
            raise CellFailed(f"{self._socket}: the disk ended without an answer") from None

    def facts(self) -> dict[str, str]:
        """Of no use here: a standing disk belongs to no recording."""
        return {}

    def lies_under(self, device: Path) -> None:
        """A disk comes back without faults, so nothing needs to know."""

    def release(self) -> None:
        """The disk is ended when it is removed."""


class StandingDisk:
    """One disk, to be commanded by one command at a time."""

    def __init__(self, record: Record, ledger: Ledger) -> None:
        self.record, self._ledger = record, ledger
        self.directory = directory_of(record.name)
        self.drive = SocketDisk(self.directory)
        point = Path(record.point) if record.point else None
        self._place = CuttablePlace(record.spec, self, self.drive, ledger, point=point)
        self._place.take_up(record.held)

    @property
    def path(self) -> Path:
        """The disk's own directory."""
        return self.directory

    @property
    def ledger(self) -> Ledger:
        """What was made for it, and ends with it."""
        return self._ledger

    @property
    def device(self) -> Path | None:
        """The loop device over it."""
        return self._place.device if self._place.held().attached else None

    @property
    def is_cut(self) -> bool:
        """Whether its power is cut."""
        return self._place.held().cut

    @property
    def mounted(self) -> Path | None:
        """Where its file system is."""
        return self._place.path if self._place.held().mounted else None

    @property
    def socket(self) -> Path:
        """Its control socket."""
        return self.directory / "socket"

    @property
    def log(self) -> Path | None:
        """The file of its log, where it has one."""
        return self.directory / "log" if self.record.logs else None

    def look(self) -> None:
        """See whether its power was cut through the socket. Raises CellFailed where it does not answer."""
        self._place.take_up(replace(self.record.held, cut=self.drive.stats().power == "ghost"))

    def settings(self) -> list[SettingInForce]:
        """File system, mount options and queue, as read back; nothing of one that somebody has unmounted."""
        return self._place.settings() if self.mounted or (self.device and self.record.spec.filesystem == RAW) else []

    def begin(self, faults: Sequence[str]) -> None:
        """Make the file system and mount it, then let faults begin. Raises CellFailed."""
        self._keep()  # so that it can be removed, however far this gets
        if self.record.logs:
            self.drive.snapshot()
        self._place.prepare([])
        for wrong in (setting for setting in self.settings() if setting.is_wrong):
            raise CellFailed(wrong.disagreement)
        self.add_faults(faults)
        self._keep()

    def add_faults(self, faults: Sequence[str]) -> None:
        """From now on, in this order. Raises CellFailed."""
        for fault in faults:
            if IGNORES_WRITE_THROUGH in fault and self.device:
                self.drive.under(self.device)
            self.drive.fault(fault)

    def cut(self, keep: CutKeeps, seed: int, flushes: GhostFlushes) -> DiskCut:
        """Power fails. Raises CellFailed."""
        cut = self._place.cut(keep, seed, flushes)
        self._keep()
        return cut

    def snapshot(self) -> None:
        """Keep it as it is now, all written that programs have written, for ``go_back``."""
        if self._place.held().cut:
            raise BadInput(f"{self.record.name}: its power is cut", f"acidtest disk restore {self.record.name}")
        if self.mounted:
            sync_filesystem(self.mounted)
        self.drive.snapshot()
        self._forget_past(keeps_snapshot=True)

    def restore(self) -> Recovery:
        """What survived the cut becomes the disk, attached and mounted. Raises BadInput, CellFailed."""
        if not self._place.held().cut:
            raise BadInput(
                f"{self.record.name}: its power is not cut: there is nothing to restore",
                f"acidtest disk cut {self.record.name}; or name what to go back to: --snapshot, --record N",
            )
        self._leave()
        with self._kept():
            recovery = self._place.recover()
            self._place.survivors.unlink(missing_ok=True)
        if self.record.logs:  # what survived is no state of the log
            self.drive.snapshot()
            self._forget_past(keeps_snapshot=False)
        return recovery

    def go_back(self, record: int | None) -> Recovery:
        """To the snapshot, or of a disk with a log to its first ``record`` records. Raises BadInput, CellFailed."""
        state = None
        if record is not None:
            state = self._state(record)
        elif not self.record.keeps_snapshot:
            since = " since it was restored after a cut" if self.record.base else ""
            raise BadInput(
                f"{self.record.name}: no snapshot was taken of it{since}", f"acidtest disk snapshot {self.record.name}"
            )
        self._leave()
        with self._kept():
            self._place.abandon()  # which writes, too
            if self.record.logs:
                back = self.record.base if record is None else record
                left = (*self.record.left, (back, self.drive.stats().log_records))
                self.record = replace(self.record, left=left)
            return self._place.recover_state(state)

    def _state(self, record: int) -> DiskState:
        if self.log is None:
            raise BadInput(f"{self.record.name}: has no log to go back in", "create it with --log")
        last = self.drive.stats().log_records
        if not self.record.base <= record <= last:
            ended = ", for a cut or a snapshot ended what was before" if record < self.record.base else ""
            raise BadInput(
                f"{self.record.name}: --record {record}: its log can be gone back in from {self.record.base:,} to "
                f"{last:,}{ended}",
                f"to see them: acidtest disk log {self.record.name}",
            )
        return DiskState.model_validate(
            {"log": str(self.log), "from": self.record.base, "to": record, "without": skipped(self.record.left, record)}
        )

    def _forget_past(self, *, keeps_snapshot: bool) -> None:
        base = self.drive.stats().log_records if self.record.logs else 0
        self.record = replace(self.record, base=base, left=(), keeps_snapshot=keeps_snapshot)
        self._keep()

    def _leave(self) -> None:
        """Raises BadInput while somebody uses it: it is never unmounted under anybody."""
        end = time.monotonic() + (0 if self.mounted else LOOKED_AT_S)
        while users := self._users():
            if time.monotonic() >= end:
                raise self._in_use(users)
            time.sleep(0.1)

    def _users(self) -> list[str]:
        over = users_of(self.mounted) if self.mounted else users_of_device(self.device) if self.device else []
        return over or users_of(self.drive.file.parent)  # a guest has its file

    def _in_use(self, users: Sequence[str]) -> BadInput:
        shown = ", ".join(users[:USERS_SHOWN]) + (" and others" if len(users) > USERS_SHOWN else "")
        who = f" by {shown}" if users else ""
        return BadInput(f"{self.mounted or self.device} is in use{who}", "end what uses it, then try again")

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """However far it gets, the next command goes on from there."""
        try:
            yield
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            raise self._in_use(self._users()) from None
        finally:
            self._keep()

    def _keep(self) -> None:
        self.record = replace(self.record, held=self._place.held())
        temporary = self.directory / "disk.json.new"
        temporary.write_bytes(RECORD.dump_json(self.record, indent=2))
        temporary.rename(self.directory / "disk.json")

    def remove(self) -> None:
        """Release all of it. What is on it is lost. Raises BadInput while somebody uses it, OSError."""
        self._leave()
        with contextlib.suppress(CellFailed):
            if not self._place.held().cut:
                self.drive.cut("none", 0)  # a slow one would take its time for what is thrown away
        with self._kept():
            self._place.release()
        self.drive.end()
        self._ledger.close()


def skipped(left: Sequence[tuple[int, int]], record: int) -> list[int]:
    """Of the first ``record`` records of a log those that were not on the disk when it had so many; ``left`` is what a
    Record says of when it was gone back."""
    without: list[int] = []
    for back, end in reversed(left):
        if end < record:
            without += range(back, end)
            record = back
    return without


def directory_of(name: str) -> Path:
    """Where a disk of this name has its files."""
    return (state_directory() / "disks" / name).resolve()


def create(
    name: str,
    spec: PlaceSpec,
    size_mb: int,
    *,
    faults: Sequence[str] = (),
    point: Path | None = None,
    logs: bool = False,
    seed: int = 1,
) -> StandingDisk:
    """Make a disk that stays. Raises BadInput, MachineLacks or CellFailed, and then nothing of it is left."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f'the name "{name}" is none for a disk', "write up to 32 small letters, digits, dots, dashes, underscores"
        )
    making.check(spec)
    making.check_machine(spec)
    directory = directory_of(name)
    if directory.exists():
        raise BadInput(f"there is a disk {name} already", f"acidtest disk remove {name}, or choose another name")
    if len(os.fsencode(directory / "socket")) > SOCKET_PATH_MAX:
        raise BadInput(f"{directory}: is too long for the path of a socket", "set ACIDTEST_HOME to a shorter one")
    if point is not None:
        if spec.filesystem == RAW:
            raise BadInput(f"{point}: a disk without a file system is mounted nowhere", "leave out --at")
        point = point.resolve()
        if not point.is_dir() or any(point.iterdir()):
            raise BadInput(f"{point}: is no empty directory", "make one, or leave out --at")
    directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    ledger = Ledger()
    try:
        ledger.make_directory(directory)
        directory.chmod(0o700)
        ledger.belong_to(_start(ledger, spec, directory, size_mb, seed=seed, logs=logs))
        record = Record(
            name=name,
            ledger=str(ledger.path),
            place=spec.model_dump(mode="json", exclude_unset=True),
            size_mb=size_mb,
            point=str(point) if point else None,
            logs=logs,
            keeps_snapshot=False,
        )
        disk = StandingDisk(record, ledger)
        disk.begin(faults)
    except BaseException:
        ledger.close()
        raise
    ledger.leave()
    return disk


def _start(ledger: Ledger, spec: PlaceSpec, directory: Path, size_mb: int, *, seed: int, logs: bool) -> int:
    point = directory / "disk"
    point.mkdir()
    log = directory / "log" if logs else None
    wanted = asked(spec, directory, size_mb, seed=seed, log=log, faulty=False)
    ledger.expect_fuse(point)
    with (directory / "errors").open("wb") as errors:
        _, process = ledger.start_process(
            [str(find_rig()), "disk", "--socket", str(directory / "socket")],
            environment=os.environ,
            stderr=errors,
            directory=Path("/"),  # it keeps no directory of the caller's in use
            keeps_ledger=True,
        )
    assert process.stdin is not None and process.stdout is not None
    with process.stdin, process.stdout:
        process.stdin.write(wanted.model_dump_json().encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    try:
        ready = answered(line)
    except ValidationError:
        words = (directory / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise CellFailed(f"the simulated disk ended: {' / '.join(words) or 'it left no message'}") from None
    assert isinstance(ready, DiskReady)
    return ready.pid


def check_fault(fault: str) -> None:
    """Raises BadInput, in the disk's own words, for what is no fault."""
    checked = subprocess.run([str(find_rig()), "disk", "--check", fault], capture_output=True, check=False)
    if checked.returncode:
        said = checked.stderr.decode(errors="replace").strip().partition(": ")[2]
        raise BadInput(said, "acidtest help docs/DISK.md has the language of faults")


def names() -> list[str]:
    """Of all disks, also of those whose process is gone."""
    directory = state_directory() / "disks"
    try:
        return sorted(path.parent.name for path in directory.glob("*/disk.json"))
    except OSError:
        return []


def alive() -> list[str]:
    """Of the disks whose process runs; what is left of others stands in their ledgers."""
    return [name for name in names() if (record := _record(name)) and _is_locked(Path(record.ledger))]


def remove_all() -> list[str]:
    """Remove every disk; one line for each. Raises AcidtestError for one that is in use, when the others are gone."""
    removed, problems = [], Problems()
    for name in alive():
        with problems.gather(), opened(name) as disk:
            disk.remove()
            removed.append(f"removed the disk {name}")
    problems.check()
    return removed


def _record(name: str) -> Record | None:
    try:
        return RECORD.validate_json((directory_of(name) / "disk.json").read_bytes())
    except (OSError, ValidationError):
        return None


@contextlib.contextmanager
def opened(name: str) -> Iterator[StandingDisk]:
    """The disk, for this command alone. Raises BadInput where there is none, CellFailed where its process is gone."""
    making.check_machine(PlaceSpec(kind="disk", filesystem=RAW))
    try:
        lock = (directory_of(name) / "disk.json").open("rb") if NAME.fullmatch(name) else None
    except FileNotFoundError:
        lock = None
    if lock is None:
        known = names()
        if known:
            raise BadInput(not_among("the disk", name, known), "acidtest disk list")
        raise BadInput(f"there is no disk {name}", "acidtest disk create NAME makes one")
    with lock, (directory_of(name) / "command").open("wb") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        record = _record(name)
        try:
            ledger = Ledger.taken_up(Path(record.ledger)) if record else None
        except OSError:
            ledger = None
        if record is None or ledger is None:
            raise CellFailed(f"{name}: nothing is left of it but its directory", "run acidtest clean")
        try:
            disk = StandingDisk(record, ledger)
            disk.look()
            yield disk
        except CellFailed as error:
            if (directory_of(name) / "disk.json").exists() and not _is_locked(ledger.path):
                raise CellFailed(f"{name}: its process is gone ({error.message})", "run acidtest clean") from None
            raise
        finally:
            ledger.leave()


def _is_locked(ledger: Path) -> bool:
    """Whether the process that holds this ledger still runs."""
    try:
        with ledger.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def words(record: Record, stats: DiskStats | None) -> str:
    """The drive, and what it does wrong now."""
    wrong = [fault.fault for fault in stats.faults] if stats else []
    return ", ".join([*described(record.spec), *wrong])
