"""What machine and what storage this is, read from procfs, mountinfo and sysfs. What cannot be read is "unknown"."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from acidtest.files import MARK
from acidtest.journal.models import Machine, PlaceFacts, SettingInForce
from acidtest.journal.probe import Layer

UNKNOWN = "unknown"
SIMULATED = "fuse.acidtest"  # the file system whose one file is a simulated disk


@dataclass(frozen=True)
class Mount:
    """One line of ``/proc/self/mountinfo``; see proc_pid_mountinfo(5)."""

    device_number: str  # "254:0"
    root: str
    point: str
    options: str  # the mount's own, then the file system's
    filesystem: str
    source: str


def parse_mountinfo(text: str) -> list[Mount]:
    """Parse mountinfo; lines that do not parse are left out."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        head, tail = before.split(" "), after.split(" ")
        if len(head) < 6 or len(tail) < 3:
            continue
        options = dict.fromkeys(head[5].split(",") + tail[2].split(","))
        mounts.append(
            Mount(head[2], _unescape(head[3]), _unescape(head[4]), ",".join(options), tail[0], _unescape(tail[1]))
        )
    return mounts


# What mountinfo writes as octal, the backslash last: it is in what the others become.
OCTAL = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))


def _unescape(text: str) -> str:
    for octal, plain in OCTAL:
        text = text.replace(octal, plain)
    return text


def _escape(text: str) -> str:
    for octal, plain in reversed(OCTAL):
        text = text.replace(plain, octal)
    return text


def mounts_now(source: str = "") -> list[Mount]:
    """All that is mounted where this process can see it; with ``source`` what has that in its line, and no more: to
    parse the whole table takes time."""
    lines, named = _read(Path("/proc/self/mountinfo")), _escape(source)
    return parse_mountinfo("\n".join(line for line in lines.splitlines() if named in line))


def mount_of(path: Path, mounts: list[Mount]) -> Mount | None:
    """The mount that ``path`` (absolute, resolved) lies on: the last one mounted at its longest mount point."""
    best: Mount | None = None
    for mount in mounts:
        covers = path == Path(mount.point) or Path(mount.point) in path.parents
        if covers and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def mount_of_type(mountinfo: str, filesystem: str, option: str = "") -> Mount | None:
    """The first mount of that file system that has ``option``, if one is named."""
    return next(
        (
            mount
            for mount in parse_mountinfo(mountinfo)
            if mount.filesystem == filesystem and (not option or option in mount.options.split(","))
        ),
        None,
    )


def place_facts(path: Path) -> PlaceFacts:
    """The storage beneath the existing directory ``path``."""
    resolved = path.resolve()
    mount = mount_of(resolved, mounts_now())
    return PlaceFacts(
        kind="directory",
        path=str(resolved),
        filesystem=mount.filesystem if mount else UNKNOWN,
        mount_point=mount.point if mount else UNKNOWN,
        mount_options=mount.options if mount else UNKNOWN,
        device=mount.source if mount else UNKNOWN,
        free_bytes=shutil.disk_usage(resolved).free,
        **queue_facts(_queue(device_number(mount)) if mount else None),
    )


def drives_mounted(least_bytes: int) -> list[PlaceFacts]:
    """Where a file system on a block device is mounted that this process may write to, with so much free space.

    One directory for each device, the one with the most free space first; none that a lab has made for its run.
    """
    found: dict[str, PlaceFacts] = {}
    for mount in mounts_now():
        point = Path(mount.point)
        if mount.source.startswith("/dev/") and point.is_dir() and os.access(point, os.W_OK | os.X_OK):
            with contextlib.suppress(OSError):
                if any((one / MARK).exists() for one in (point, *point.parents)):
                    continue
                facts = place_facts(point)
                if facts.free_bytes >= least_bytes:
                    found.setdefault(mount.source, facts)
    return sorted(found.values(), key=lambda facts: -facts.free_bytes)


def device_number(mount: Mount) -> str:
    """Of the block device beneath; btrfs shows a number of its own making in mountinfo, but names its device."""
    try:
        source = Path(mount.source).stat()
    except OSError:
        return mount.device_number
    number = source.st_rdev if stat.S_ISBLK(source.st_mode) else 0
    return f"{os.major(number)}:{os.minor(number)}" if number else mount.device_number


def raw_facts(device: Path) -> PlaceFacts:
    """The storage of a database that lies on ``device`` itself."""
    return PlaceFacts(
        kind="raw",
        path=str(device),
        filesystem="none",
        mount_point="none",
        mount_options="none",
        device=str(device),
        free_bytes=device_bytes(device),
        **queue_facts(_queue(_number(device))),
    )


def device_bytes(device: Path) -> int:
    """Size of a block device."""
    handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(handle, 0, os.SEEK_END)
    finally:
        os.close(handle)


def queue_facts(queue: Path | None) -> dict[str, str]:
    """What ``queue``, the directory of a block queue in sysfs or one like it, says of the device."""
    if queue is None:
        names = "device_model", "rotational", "write_cache", "fua", "scheduler", "read_ahead_kb", "nr_requests"
        return dict.fromkeys(names, UNKNOWN)
    return {
        "device_model": _fact(queue.parent / "device" / "model"),
        "rotational": {"1": "yes", "0": "no"}.get(_fact(queue / "rotational"), UNKNOWN),
        "write_cache": _fact(queue / "write_cache"),
        "fua": {"1": "yes", "0": "no"}.get(_fact(queue / "fua"), UNKNOWN),
        "scheduler": _chosen(_fact(queue / "scheduler")),
        "read_ahead_kb": _fact(queue / "read_ahead_kb"),
        "nr_requests": _fact(queue / "nr_requests"),
    }


def unseen(kind: str, what: str) -> PlaceFacts:
    """A place that is not on this machine, not ours to look at, or could not be made: nothing is known of it."""
    unknown = {name: UNKNOWN for name, field in PlaceFacts.model_fields.items() if field.is_required()}
    return PlaceFacts.model_validate(unknown | {"kind": kind, "path": what, "free_bytes": 0})


def _queue(device_number: str) -> Path | None:
    """The block queue behind a device number; a partition has none of its own, its disk does."""
    device = Path("/sys/dev/block") / device_number
    try:
        device = device.resolve(strict=True)
    except OSError:
        return None  # no block device: tmpfs, overlay, network, btrfs's anonymous numbers
    for candidate in (device, device.parent):
        if (candidate / "queue").is_dir():
            return candidate / "queue"
    return None


def layers(path: Path) -> list[Layer]:
    """What lies between a write to ``path`` (an existing directory or a block device) and the medium, from the top.

    A loop's image counts with the file system that it lies on; beneath a mapped device or an array come all its disks.
    It ends with a file system where what is below cannot be seen: memory, a network, a process. A simulated disk counts
    as a disk, with the loop that it lies under.
    """
    stack: list[Layer] = []
    resolved = path.resolve()
    if stat.S_ISBLK(resolved.stat().st_mode):
        _on_device(_number(resolved), stack)
    else:
        _on_filesystem(resolved, stack)
    return stack


def _on_filesystem(path: Path, stack: list[Layer]) -> None:
    if mount := mount_of(path, mounts_now()):
        stack.append(Layer(kind="file system", name=mount.filesystem, about=mount.options))
        _on_device(device_number(mount), stack)


def _on_device(number: str, stack: list[Layer]) -> None:
    try:
        block = (Path("/sys/dev/block") / number).resolve(strict=True)
    except OSError:
        return
    device = f"/dev/{block.name}"
    if (block / "partition").exists():
        stack.append(Layer(kind="partition", name=device))
        block = block.parent
        device = f"/dev/{block.name}"
    if any(layer.name == device for layer in stack):
        return  # a disk that two parts of an array lie on
    queue = queue_facts(block / "queue")
    about = {name: queue[name] for name in ("rotational", "write_cache", "fua", "scheduler")}
    backing = _read(block / "loop" / "backing_file").strip()
    if backing:
        image = Path(backing)
        mount = mount_of(image, mounts_now())
        if mount and mount.filesystem == SIMULATED:
            stack.append(Layer(kind="disk", name=device, about="simulated", driver="loop", **about))
            return
        stack.append(Layer(kind="loop", name=device, about=backing, **about))
        with contextlib.suppress(OSError):
            if stat.S_ISBLK(image.stat().st_mode):
                _on_device(_number(image), stack)
                return
        _on_filesystem(image.parent, stack)
    elif slaves := sorted((block / "slaves").glob("*")):
        kind = "array" if (block / "md").is_dir() else "mapped"
        name = _fact(block / ("md/level" if kind == "array" else "dm/name"))
        stack.append(Layer(kind=kind, name=device, about=name, **about))
        for slave in slaves:
            _on_device(_fact(slave / "dev"), stack)
    else:
        model = queue["device_model"]
        stack.append(
            Layer(kind="disk", name=device, about="" if model == UNKNOWN else model, driver=_driver(block), **about)
        )


def _driver(block: Path) -> str:
    """Of a disk; without one in sysfs its name without number, as of zram0 and ram0."""
    for device in (block / "device", block / "device" / "device"):  # a namespace of NVMe hangs on its controller
        if (device / "driver").exists():
            return (device / "driver").resolve().name
    return block.name.rstrip("0123456789")


def _number(device: Path) -> str:
    number = device.stat().st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


def _chosen(schedulers: str) -> str:
    # "none [mq-deadline] kyber": the one in brackets is in force.
    inside = schedulers.partition("[")[2].partition("]")[0]
    return inside or schedulers


def machine_facts() -> Machine:
    """Processor, memory and kernel of this machine."""
    cpuinfo = _read(Path("/proc/cpuinfo"))
    memory_kb = next(
        (int(line.split()[1]) for line in _read(Path("/proc/meminfo")).splitlines() if line.startswith("MemTotal:")), 0
    )
    return Machine(
        cpu_model=_field(cpuinfo, "model name") or platform.processor() or UNKNOWN,
        cpu_count=len(os.sched_getaffinity(0)),
        memory_bytes=memory_kb * 1024,
        kernel=f"{platform.system()} {platform.release()}",
        os=_os_name(),
        virtualization=_virtualization(cpuinfo),
    )


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", UNKNOWN)
    except OSError:
        return UNKNOWN


def _virtualization(cpuinfo: str) -> str:
    for name in ("sys_vendor", "product_name"):
        vendor = _fact(Path("/sys/class/dmi/id") / name)
        if any(word in vendor for word in ("QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Virtual Machine", "EC2")):
            return vendor
    flags = _field(cpuinfo, "flags").split()
    if not flags:
        return UNKNOWN
    return "virtual machine" if "hypervisor" in flags else "none"


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _fact(path: Path) -> str:
    return _read(path).strip() or UNKNOWN


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def compared(name: str, asked: object, in_force: object, source: str) -> SettingInForce:
    """A setting of a place as it was asked for, and as it was read back from ``source``."""
    agrees = str(asked) == str(in_force)
    return SettingInForce(name=f"place.{name}", asked=str(asked), in_force=str(in_force), agrees=agrees, source=source)
