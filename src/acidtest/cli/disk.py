"""``acidtest disk``: simulated disks that stay until they are removed, for other people's programs and tests."""

from __future__ import annotations

import json as json_
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acidtest.cli import complete
from acidtest.cli.options import Json, option
from acidtest.errors import BadInput, CellFailed, Problems, not_among
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.journal.protocol import DiskStats
    from acidtest.place.cuttable import Recovery
    from acidtest.place.disk_service import StandingDisk

app = typer.Typer(
    help="Make disks of known behaviour for your own programs: cut their power, give them faults. acidtest help "
    "docs/DISK.md.",
    no_args_is_help=True,
)

Completes = Callable[[str], list[str]]


Name = Annotated[str, typer.Argument(help="What the disk is called.", metavar="NAME", autocompletion=complete.disks)]
Seed = Annotated[int, option("--seed", "Of what is drawn at random.", "N", min=0)]
SIZE = re.compile(r"(\d+)([KMGT])i?B?", re.IGNORECASE)


def megabytes(text: str) -> int:
    """``--size``, as a whole number of MiB. Raises BadInput."""
    match = SIZE.fullmatch(text.strip())
    size = int(match[1]) << {"K": 10, "M": 20, "G": 30, "T": 40}[match[2].upper()] if match else 0
    if size < 1 << 20 or size % (1 << 20):
        raise BadInput(f"--size {text}: is no whole number of MiB", "write it as 512M or 4G")
    return size >> 20


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the disk will be called.", metavar="NAME")],
    size: Annotated[str, option("--size", "How large it is.", "SIZE")] = "512M",
    filesystem: Annotated[
        str,
        option(
            "--filesystem",
            "Make and mount this file system on it; raw leaves a block device.",
            "FILESYSTEM",
            complete.filesystems_and_raw,
        ),
    ] = "ext4",
    at: Annotated[Path | None, option("--at", "Mount it at this empty directory.", "DIR", show_default=False)] = None,
    mkfs: Annotated[str, option("--mkfs", "More options for mkfs.", "OPTIONS")] = "",
    mount: Annotated[str, option("--mount", "Mount it with these options.", "OPTIONS")] = "defaults",
    disk: Annotated[
        str,
        option("--disk", "As slow as such a drive: none, rotating, sata-ssd, nvme.", "KIND", complete.disk_kinds),
    ] = "none",
    disk_parameters: Annotated[
        str, option("--disk-parameters", "Its timing, as rpm=5400,seek_average_ms=9.", "LIST")
    ] = "",
    disk_cache_mb: Annotated[int, option("--disk-cache-mb", "Size of its volatile write cache; 0 is off.", "MIB")] = 32,
    disk_battery: Annotated[
        str, option("--disk-battery", "The cache has a battery: none, good, dead.", "STATE")
    ] = "none",
    disk_sector: Annotated[
        int, option("--disk-sector", "Written whole or not at all: 512 or 4096 bytes.", "BYTES")
    ] = 4096,
    disk_medium: Annotated[
        str, option("--disk-medium", "Its content lies in memory, or in a file.", "WHERE")
    ] = "memory",
    faults: Annotated[
        list[str] | None, option("--fault", "What it does wrong, from when it is mounted. Repeatable.", "FAULT")
    ] = None,
    log: Annotated[bool, option("--log", "It logs every write and flush, to go back to any of them.")] = False,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Make a disk, which stays until it is removed. The options are keys that experiments have for a place."""
    from pydantic import ValidationError

    from acidtest.experiment import PlaceSpec
    from acidtest.place import disk_service

    asked: dict[str, Any] = {
        "filesystem": filesystem, "mkfs": mkfs, "mount": mount, "disk": disk, "disk_parameters": disk_parameters,
        "disk_cache_mb": disk_cache_mb, "disk_battery": disk_battery, "disk_sector": disk_sector,
        "disk_medium": disk_medium,
    }  # fmt: skip
    size_mb = megabytes(size)
    try:
        spec = PlaceSpec(kind="disk", size_mb=size_mb, **asked)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + "-".join(str(part) for part in first["loc"]).replace("_", "-")
        raise BadInput(f"{option}: {first['msg']}", "acidtest disk create --help lists what there is") from None
    for fault in faults or []:
        disk_service.check_fault(fault)
    made = disk_service.create(name, spec, size_mb, faults=faults or [], point=at, logs=log, seed=seed)
    _print(_status(made, made.drive.stats()), _shown(made, made.drive.stats()), json=json)


@app.command("list")
def list_(json: Json = False) -> None:
    """List the disks that stand."""
    from acidtest.place import disk_service

    found: list[dict[str, Any]] = []
    for name in disk_service.names():
        try:
            with disk_service.opened(name) as disk:
                found.append(_status(disk, disk.drive.stats()))
        except CellFailed as error:
            found.append({"name": name, "power": "gone", "why": error.message})
    lines = [
        f"{one['name']}: {one['why']}"
        if "why" in one
        else f"{one['name']}: power {one['power']}, {one['mounted'] or one['device'] or 'detached'}, {one['drive']}"
        for one in found
    ]
    _print({"disks": found}, lines or ["There is no disk; acidtest disk create NAME makes one."], json=json)


@app.command()
def status(name: Name, json: Json = False) -> None:
    """Say what a disk is, what it has done, and what is read back of its file system."""
    from acidtest.place import disk_service

    with disk_service.opened(name) as disk:
        stats = disk.drive.stats()
        _print(_status(disk, stats), _shown(disk, stats), json=json)


@app.command()
def faults(
    name: Name,
    fault: Annotated[
        list[str] | None,
        typer.Argument(
            help='Faults to add, as "(fail EIO (and writes (nth 3)))".', metavar="[FAULT]...", show_default=False
        ),
    ] = None,
    clear: Annotated[
        bool, option("--clear", "No fault any more, before those named here: what has stopped goes on.")
    ] = False,
    json: Json = False,
) -> None:
    """Add faults, clear them, or list them with how often each has struck."""
    from acidtest.place import disk_service

    for one in fault or []:
        disk_service.check_fault(one)
    with disk_service.opened(name) as disk:
        if clear:
            disk.drive.mend()
        disk.add_faults(fault or [])
        there = disk.drive.stats().faults
    answer = [one.model_dump() for one in there]
    lines = [f"{one.fault}: struck {one.struck}" for one in there]
    _print({"name": name, "faults": answer}, lines or ["It has no fault."], json=json)


@app.command()
def cut(
    name: Name,
    keeps: Annotated[
        str,
        option("--keeps", "What is left of the write cache: none, torn, reordered, all.", "WHAT", complete.disk_keeps),
    ] = "none",
    seed: Seed = 1,
    failing: Annotated[
        bool, option("--failing-flushes", "Flushes after the cut fail, instead of being forgotten.")
    ] = False,
    json: Json = False,
) -> None:
    """Cut the power. The disk goes on answering, and forgets what it is told, until it is restored."""
    from acidtest.place import disk_service

    if keeps not in complete.DISK_KEEPS:
        raise BadInput(not_among("--keeps", keeps, complete.DISK_KEEPS))
    with disk_service.opened(name) as disk:
        done = disk.cut(keeps, seed, "fail" if failing else "succeed")  # type: ignore[arg-type]  # it is one of them
    lines = [
        f"Power is cut: of what was not flushed {done.kept_bytes:,} bytes survive and {done.lost_bytes:,} are lost; "
        f"torn writes: {done.torn_writes}.",
        f"End what uses it, then: acidtest disk restore {name}",
        *([f"Before that its log can be gone back in: acidtest disk restore {name} --record N"] if disk.log else []),
    ]
    _print({"name": name} | done.model_dump(exclude={"answer"}), lines, json=json)


@app.command()
def snapshot(name: Name, json: Json = False) -> None:
    """Keep a disk as it is now, for restore --snapshot."""
    from acidtest.place import disk_service

    with disk_service.opened(name) as disk:
        disk.snapshot()
    _print({"name": name}, [f"Kept; acidtest disk restore {name} --snapshot goes back to it."], json=json)


@app.command()
def restore(
    name: Name,
    to_snapshot: Annotated[bool, option("--snapshot", "Go back to the snapshot.")] = False,
    record: Annotated[
        int | None, option("--record", "Go back to the first N records of its log.", "N", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """After a cut: what survived becomes the disk, and is mounted. Or go back to an earlier state."""
    from acidtest.place import disk_service

    if to_snapshot and record is not None:
        raise BadInput("--snapshot and --record: it can be one of them", "leave out the other")
    with disk_service.opened(name) as disk:
        recovery = disk.go_back(record) if to_snapshot or record is not None else disk.restore()
        answer = {
            "name": name,
            "device": str(disk.device),
            "mounted": str(disk.mounted) if disk.mounted else None,
            "repaired": recovery.repaired,
            "recovery_s": recovery.seconds,
        }
        lines = [_came_back(disk, recovery)]
    _print(answer, lines, json=json)


def _came_back(disk: StandingDisk, recovery: Recovery) -> str:
    if not disk.mounted:
        return f"It is attached again: {disk.device}"
    how = "after a repair by its own fsck" if recovery.repaired else "by the file system's own recovery"
    return f"It is mounted again at {disk.mounted}, {how}, in {recovery.seconds:.2f} s."


@app.command("log")
def log_(
    name: Name,
    count: Annotated[int | None, option("--last", "Only so many.", "N", min=1, show_default=False)] = None,
    json: Json = False,
) -> None:
    """List the log of writes and flushes of a disk that was created with --log."""
    from acidtest.analysis import disk_log
    from acidtest.place import disk_service

    with disk_service.opened(name) as disk:
        disk.drive.stats()  # by then all is in the file
        if disk.log is None:
            raise BadInput(f"{name}: has no log", "create it with --log")
        base, left, (_, records) = disk.record.base, disk.record.left, disk_log.read(disk.log)
    first = max(0, len(records) - count) if count else 0
    answer = [
        {"record": number, "at_s": record.time_ns / 1e9, "kind": "flush", "covers": record.at}
        if record.is_flush
        else {"record": number, "at_s": record.time_ns / 1e9, "kind": "write", "at": record.at, "length": record.length}
        for number, record in enumerate(records)
        if number >= first
    ]
    lines = [
        f"{one['record']:>8}  {one['at_s']:>12.6f} s  "
        + (
            f"flush of records before {one['covers']}"
            if one["kind"] == "flush"
            else f"write of {one['length']:,} at {one['at']:,}"
        )
        for one in answer
    ]
    ends = (
        f"restore --record N goes back to the first N records, from {base:,} to {len(records):,}, as often as needed."
    )
    gone = [f"It was gone back to {back:,} when there were {end:,}; later records follow those." for back, end in left]
    _print({"name": name, "base": base, "left": left, "records": answer}, [*lines, *gone, ends], json=json)


@app.command()
def remove(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Disks to remove, and all that is on them.", metavar="NAME...", autocompletion=complete.disks
        ),
    ],
    json: Json = False,
) -> None:
    """Remove disks, with all that is on them."""
    from acidtest.place import disk_service

    problems, removed = Problems(), []
    for name in names:
        with problems.gather(), disk_service.opened(name) as disk:
            disk.remove()
            removed.append(name)
    if removed or json:
        _print({"removed": removed}, [f"Removed {name}." for name in removed], json=json)
    problems.check()


def _status(disk: StandingDisk, stats: DiskStats) -> dict[str, Any]:
    from acidtest.place import disk_service

    return {
        "name": disk.record.name,
        "power": stats.power,
        "drive": disk_service.words(disk.record, stats),
        "size_mb": disk.record.size_mb,
        "filesystem": disk.record.spec.filesystem,
        "device": str(disk.device) if disk.device else None,
        "mounted": str(disk.mounted) if disk.mounted else None,
        "socket": str(disk.socket),
        "log": str(disk.log) if disk.log else None,
        "log_records": stats.log_records if disk.log else None,
        "base": disk.record.base if disk.log else None,
        "reads": stats.reads.count,
        "writes": stats.writes.count,
        "flushes": stats.flushes.count,
        "failed": stats.failed,
        "dirty_bytes": stats.dirty_bytes,
        "faults": [fault.model_dump() for fault in stats.faults],
        "settings": [setting.model_dump() for setting in disk.settings()],
    }


def _shown(disk: StandingDisk, stats: DiskStats) -> list[str]:
    from acidtest.place import disk_service

    rows = [
        ("disk", f"{disk.record.name}, {disk.record.size_mb:,} MiB, power {stats.power}"),
        ("drive", disk_service.words(disk.record, stats)),
        ("device", str(disk.device or "detached")),
        ("mounted at", f"{disk.mounted} ({disk.record.spec.filesystem})" if disk.mounted else ""),
        ("socket", str(disk.socket)),
        ("log", f"{disk.log}, {counted(stats.log_records, 'record')}" if disk.log else ""),
        (
            "so far",
            f"{counted(stats.reads.count, 'read')}, {counted(stats.writes.count, 'write')}, "
            f"{counted(stats.flushes.count, 'flush', 'flushes')}, {stats.failed:,} failed; "
            f"{counted(stats.dirty_bytes, 'byte')} not on the medium",
        ),
        *(("fault", f"{fault.fault}: struck {fault.struck}") for fault in stats.faults),
    ]
    return [f"{head:<11} {text}" for head, text in rows if text]


def _print(answer: dict[str, Any], lines: list[str], *, json: bool) -> None:
    print(json_.dumps(answer, indent=2) if json else "\n".join(lines))
