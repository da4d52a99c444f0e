"""Runs a probe: the commit path of a directory or a block device, without an engine."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from acidtest import __version__
from acidtest.conductor.admission import Devices
from acidtest.conductor.rig import DiskFull, converse
from acidtest.errors import BadInput, CellFailed, message_of
from acidtest.journal.probe import Layer, ProbeRecording, ProbeSample
from acidtest.journal.protocol import DeviceTarget, DirectoryTarget, Probed, ProbeJob, ProbeTarget, Progress, Refused
from acidtest.place import DirectoryPlace, Ledger, admit, machine_facts, release_leftovers
from acidtest.place.facts import device_bytes, layers
from acidtest.place.storage import DeviceStorage
from acidtest.plan.probe import ProbePlan

OVERWRITE_BYTES = 4 << 20  # of each writer: a few thousand blocks, as a part of an engine's log is
OVERWRITE_BYTES_ON_DEVICE = 1 << 20  # of each writer; the first 16 MiB are emptied again, see device_safety.empty
APPEND_BYTES = 64 << 20
WRITERS_MAX = 16

Watch = Callable[[int, float], None]  # steps that are done, seconds that are left


def is_device(path: Path) -> bool:
    """Whether ``path`` is a block device. Raises BadInput when it is neither that nor a directory."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", "name a directory or a block device that is there") from None
    if not (stat.S_ISDIR(mode) or stat.S_ISBLK(mode)):
        raise BadInput(f"{path}: is neither a directory nor a block device", "name the directory that it lies in")
    return stat.S_ISBLK(mode)


def look(path: Path) -> ProbeRecording:
    """What is beneath ``path``; nothing is written, and nothing is measured."""
    is_device(path)
    return _recording(path, layers(path), None, [], _now())


def probe(
    path: Path,
    plan: ProbePlan,
    devices: Devices,
    show: Callable[[list[str]], None],
    watch: Watch,
    *,
    file_bytes: int = OVERWRITE_BYTES,
) -> ProbeRecording:
    """Run ``plan`` in a directory of its own in ``path``, or on the device ``path``, which is left empty.

    Raises BadInput (no such place, no space, a device that the user has not named or that holds something),
    CellFailed when the rig cannot go on. ``show`` is given what is on a device and what a killed run left. In a
    directory each preallocated file has ``file_bytes``.
    """
    on_device = is_device(path)
    for device in devices.use | devices.erase:
        if not on_device or device != path.resolve():
            raise BadInput(f"{device}: is named on the command line, but it is not what is probed", "leave it out")
    if released := release_leftovers():
        show([f"left behind by an earlier run: {line}" for line in released])
    try:
        with closing(Ledger()) as ledger:
            if on_device:
                return _on_device(path, plan, devices, show, watch, ledger)
            return _in_directory(path, plan, watch, ledger, file_bytes)
    except OSError as error:
        raise CellFailed(message_of(error), f"repair that, and probe {path} again") from None


def _in_directory(path: Path, plan: ProbePlan, watch: Watch, ledger: Ledger, file_bytes: int) -> ProbeRecording:
    widest = max(1 if row.one_file else row.writers for row in plan.rows)
    needed = widest * file_bytes + APPEND_BYTES + (4 << 20)
    place = DirectoryPlace(path, ledger, needed_bytes=needed, holds="the files that the probe writes")
    try:
        return _run(path, layers(place.path), DirectoryTarget(path=str(place.path)), file_bytes, plan, watch, ledger)
    finally:
        place.release()


def _on_device(
    path: Path, plan: ProbePlan, devices: Devices, show: Callable[[list[str]], None], watch: Watch, ledger: Ledger
) -> ProbeRecording:
    if path.resolve() not in devices.use:
        raise BadInput(
            f"{path}: a real device is written to only when the command names it as to be used",
            f"see what is on it (lsblk -f {path}), then add --use-device {path}",
        )
    admit([str(path)], devices.erase, show)
    needed = WRITERS_MAX * OVERWRITE_BYTES_ON_DEVICE
    if device_bytes(path) < needed:
        raise BadInput(f"{path}: is smaller than the {needed >> 20} MiB that a probe writes to", "name another device")
    storage = DeviceStorage(ledger, str(path))
    try:
        storage.begin(None)
        target = DeviceTarget(path=str(storage.device))
        return _run(path, layers(path), target, OVERWRITE_BYTES_ON_DEVICE, plan, watch, ledger)
    finally:
        storage.release()


def _run(
    path: Path,
    beneath: list[Layer],
    target: ProbeTarget,
    overwrite_bytes: int,
    plan: ProbePlan,
    watch: Watch,
    ledger: Ledger,
) -> ProbeRecording:
    job = ProbeJob(
        seed=plan.seed,
        target=target,
        overwrite_bytes=overwrite_bytes,
        append_bytes=APPEND_BYTES,
        steps=[plan.rows[row] for row, _ in plan.order],
    )
    started_at, began = _now(), time.monotonic()
    samples: list[ProbeSample] = []
    try:
        with closing(converse(job, ledger, {})) as events:
            for event in events:
                if isinstance(event, Probed | Refused):
                    row, repetition = plan.order[event.step]
                    probed, refused = (event, None) if isinstance(event, Probed) else (None, event.message)
                    samples.append(ProbeSample(row=row, repetition=repetition, probed=probed, refused=refused))
                elif not isinstance(event, Progress):
                    continue
                # Of a step at work nothing is known but that it works; before the first has ended, not how long one
                # takes.
                in_step_s = event.elapsed_s if isinstance(event, Progress) else 0.0
                each_s = (time.monotonic() - began - in_step_s) / len(samples) if samples else plan.step_s
                watch(len(samples), max(0.0, each_s * (len(plan.order) - len(samples)) - in_step_s))
    except DiskFull as error:
        raise BadInput(f"the disk is full: {error.message}", "free some space, or name another place") from None
    except CellFailed as error:
        raise CellFailed(f"{path}: {error.message}") from None
    return _recording(path, beneath, plan, samples, started_at)


def _recording(
    path: Path, beneath: list[Layer], plan: ProbePlan | None, samples: list[ProbeSample], started_at: str
) -> ProbeRecording:
    return ProbeRecording(
        acidtest_version=__version__,
        started_at=started_at,
        ended_at=_now(),
        path=str(path.resolve()),
        machine=machine_facts(),
        layers=beneath,
        seed=plan.seed if plan else 0,
        repetitions=plan.repetitions if plan else 0,
        rows=list(plan.rows) if plan else [],
        samples=samples,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
