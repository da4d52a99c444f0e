"""Makes the place that a cell asks for."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from acidtest.errors import AcidtestError, BadInput, CellFailed, MachineLacks, not_among
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.files import state_directory
from acidtest.filesystems import FILESYSTEMS
from acidtest.place import queue
from acidtest.place.base import DirectoryPlace, Place
from acidtest.place.disk import DEVICE, IGNORES_WRITE_THROUGH, DiskStorage, faults, parameters
from acidtest.place.guest import kernel
from acidtest.place.guest.cuttable import lacks
from acidtest.place.guest.machine import Hardware, can_run
from acidtest.place.guest.place import GuestPlace, Guests, archive
from acidtest.place.ledger import Ledger
from acidtest.place.loops import CONTROL
from acidtest.place.mounted import MountedPlace, RawPlace
from acidtest.place.storage import JOURNAL_MB, DeviceStorage, LoopStorage, Storage

SMALLEST_MB = 512  # that every file system in the table can be made on

CUTS = re.compile(r"\(\s*cut\b", re.IGNORECASE)


def check(spec: PlaceSpec) -> None:
    """Refuse what makes no sense on any machine. Raises BadInput."""
    known = (*FILESYSTEMS, RAW) if spec.kind in ("guest", "disk") else tuple(FILESYSTEMS)
    if spec.kind in ("loop", "device", "guest", "disk", "machine") and spec.filesystem is None:
        raise BadInput(
            f"place: kind {spec.kind} needs a file system", f"add filesystem to [place], one of {', '.join(known)}"
        )
    if spec.filesystem == RAW and RAW not in known:
        raise BadInput(
            f'place.filesystem: "{RAW}" goes with the kinds guest and disk only, not with {spec.kind}',
            'for a place without a file system write the level { name = "raw", set = { "place.kind" = "raw" } }',
        )
    if spec.filesystem is not None and spec.filesystem not in known:
        raise BadInput(not_among("place.filesystem", spec.filesystem, known))
    if spec.kind == "guest" and (spec.journal != "internal" or spec.journal_mb is not None):
        raise BadInput("place: the journal cannot be chosen in a guest, where it cannot be read back", "leave it out")
    if spec.kind == "machine" and spec.disk_failure == "kill":
        raise BadInput(
            "place: a whole machine is cut, and not the engine in it alone",
            'write kind = "disk", or another disk_failure',
        )
    if spec.kind == "machine" and spec.disk_failure == "crash-states":
        raise BadInput(
            "place: the crash states of a whole machine are not built", 'write kind = "disk", or another disk_failure'
        )
    if spec.kind == "machine" and IGNORES_WRITE_THROUGH in faults(spec):
        raise BadInput(
            f"place: {IGNORES_WRITE_THROUGH} cannot be told from here of a disk in a guest", 'write kind = "disk"'
        )
    if cutting := [fault for fault in faults(spec) if CUTS.match(fault)]:
        raise BadInput(
            f"place.disk_faults: {cutting[0]}: a disk that cuts its own power does so when nobody knows",
            "leave it out: acidtest powercut cuts at moments of its own, and acidtest disk has this fault",
        )
    if spec.kind == "device" and not spec.device:
        raise BadInput("place: kind device needs a device", 'add device = "/dev/..."')
    if spec.journal_path is not None and spec.journal != "external":
        raise BadInput("place: journal_path belongs to an external journal", 'add journal = "external"')
    if spec.kind == "disk" and spec.journal == "external":
        raise BadInput(
            "place: an external journal would not lie on the simulated disk", 'leave out journal = "external"'
        )
    parameters(spec)
    queue.wanted(spec)


def needs_root(spec: PlaceSpec) -> bool:
    """Whether such a place can be made by root only."""
    return spec.kind not in ("directory", "guest")


def as_root(arguments: Sequence[str]) -> str:
    """The command that runs acidtest with these arguments as root.

    sudo has a PATH and a home of its own: with these the command finds itself and the installed engines.
    """
    command = str(Path(sys.argv[0]).absolute())
    return shlex.join(["sudo", f"ACIDTEST_HOME={state_directory()}", command, *arguments])


def check_machine(spec: PlaceSpec) -> None:
    """Raise MachineLacks when this process may not make such a place at all, or has not what a guest needs."""
    if spec.kind in ("guest", "machine"):
        can_run(spec.guest_accelerator)
        lacks(spec.stack)
    if not needs_root(spec):
        return
    if os.geteuid() != 0:
        raise MachineLacks(f"{spec.kind} places need root", f"run: {as_root(sys.argv[1:])}")
    if spec.device is None and spec.kind != "machine" and not CONTROL.exists():
        raise MachineLacks(f"this machine has no loop devices ({CONTROL})", "modprobe loop, or name a device")
    if spec.kind in ("disk", "machine") and not DEVICE.exists():
        raise MachineLacks(f"this machine has no FUSE ({DEVICE})", "modprobe fuse, or use another kind of place")


def ready_guests(say: Callable[[str], None]) -> None:
    """Bring what guests need and this machine has not yet. Raises MachineLacks when it cannot be brought."""
    archive(kernel.ready(say))


def image_bytes(spec: PlaceSpec, database_bytes: int) -> int:
    """What the images of such a place take where they lie, 0 of one that has none."""
    if (
        spec.kind == "directory"
        or spec.device is not None
        or (spec.kind in ("disk", "machine") and spec.disk_medium == "memory")
    ):
        return 0
    size = image_mb(spec, database_bytes) << 20
    return min(size, 2 * database_bytes) if spec.sparse else size


def image_mb(spec: PlaceSpec, database_bytes: int) -> int:
    """The size of a loop's image, MiB: the same for every file system, with as much again for what the engine adds."""
    return spec.size_mb or max(SMALLEST_MB, -(-2 * database_bytes >> 20))


def make(
    spec: PlaceSpec,
    base: Path,
    ledger: Ledger,
    *,
    database_bytes: int,
    guests: Guests | None = None,
    logged: bool = False,
) -> Place:
    """The place that ``spec`` asks for, for a database of that size; without a path of its own, in ``base``.

    A guest is taken from ``guests``, who keeps it. With ``logged`` a simulated disk logs what it does.

    Raises CellFailed when this machine cannot make it.
    """
    try:
        if spec.kind == "directory":
            return DirectoryPlace(Path(spec.path or base), ledger, needed_bytes=database_bytes)
        if spec.kind == "guest":
            assert guests is not None
            at, size_mb = Path(spec.path or base), image_mb(spec, database_bytes)
            hardware = Hardware(spec.guest_memory_mb, spec.guest_cpus, spec.guest_accelerator, size_mb)
            guest = guests.get(hardware, at)
            return GuestPlace(spec, DirectoryPlace(at, ledger, needed_bytes=database_bytes), guest)
        with ExitStack() as held:
            place = _made(spec, base, ledger, held, database_bytes, logged)
            held.pop_all()
            return place
    except CellFailed:
        raise
    except AcidtestError as error:
        raise CellFailed(": ".join(filter(None, (error.message, error.remedy)))) from None


def _made(spec: PlaceSpec, base: Path, ledger: Ledger, held: ExitStack, database_bytes: int, logged: bool) -> Place:
    at = Path(spec.path or base)
    home = DirectoryPlace(at, ledger, needed_bytes=0)
    held.callback(home.release)
    storage: Storage
    if spec.device is not None:
        storage = DeviceStorage(ledger, spec.device)
    elif spec.kind == "disk":
        size_mb = image_mb(spec, database_bytes)
        storage = DiskStorage(ledger, DirectoryPlace(at, ledger, needed_bytes=0), spec, size_mb, logged=logged)
    else:
        storage = _loop(at, ledger, image_mb(spec, database_bytes), sparse=spec.sparse)
    held.callback(storage.release)
    storage.set_drive_cache(spec)  # first, for the queue's write_cache follows it
    storage.set_queue(spec)
    if spec.kind == "raw" or spec.filesystem == RAW:
        return RawPlace(home, storage)
    journal: Storage | None = None
    if spec.journal == "external":
        journal = _loop(Path(spec.journal_path or at), ledger, spec.journal_mb or JOURNAL_MB, sparse=False)
        held.callback(journal.release)
    return MountedPlace(spec, home, storage, journal, ledger)


def _loop(at: Path, ledger: Ledger, size_mb: int, *, sparse: bool) -> LoopStorage:
    home = DirectoryPlace(at, ledger, needed_bytes=0 if sparse else size_mb << 20, holds="the image of a loop device")
    return LoopStorage(ledger, home, size_mb, sparse=sparse)
