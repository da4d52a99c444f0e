"""The volatile write cache in a real drive: read, switched off or on, read back.

Through what the kernel offers, without hdparm, sdparm or nvme-cli, which do the same:

- SCSI, SAS, SATA and USB drives: ``cache_type`` of the SCSI disk in sysfs. Writing it sends the drive a MODE SELECT of
  its caching page (WCE), of which libata makes SET FEATURES for a SATA drive (``hdparm -W0``), and the kernel then asks
  the drive again; see ``cache_type_store`` in drivers/scsi/sd.c. Its "temporary" forms, which tell the kernel only, are
  not used.
- NVMe: the feature "volatile write cache" (06h), where the controller says that it has one (byte 525 of Identify
  Controller); NVM Express Base Specification, "Set Features command".
- virtio: ``cache_type`` in sysfs, where the host lets its guest choose (VIRTIO_BLK_F_CONFIG_WCE); VIRTIO 1.2, 5.2.5.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from acidtest.errors import CellFailed
from acidtest.files import kernel_text

State = Literal["on", "off"]
# Of /sys/class/scsi_disk/*/cache_type; "none" and DPO and FUA, which some drives add, leave the cache as it is.
OFF, ON = "write through", "write back"
# NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h, _IOWR('N', 0x41, struct nvme_admin_cmd).
ADMIN = 0xC0484E41
COMMAND = struct.Struct("<BBHIIIQQII6III")
SET_FEATURES, GET_FEATURES, IDENTIFY = 0x09, 0x0A, 0x06
VOLATILE_WRITE_CACHE = 0x06
CONTROLLER = 1
IDENTITY_BYTES, HAS_CACHE_AT = 4096, 525

# Sends an admin command to the NVMe controller at a path: opcode, command words 10 and 11, room for data; its result.
Admin = Callable[[Path, int, int, int, bytearray | None], int]


class NoSwitch(CellFailed):
    """The drive has no write cache, or none that can be switched from here."""


def state(disk: Path, *, admin: Admin | None = None) -> State:
    """Whether the write cache of the drive with the directory ``disk`` in sysfs is on. Raises NoSwitch."""
    if controller := _controller(disk):
        return "on" if _features(disk, controller, admin or _admin) & 1 else "off"
    text = kernel_text(_cache_type(disk)).strip()
    if text.startswith(ON):
        return "on"
    if text.startswith((OFF, "none")):
        return "off"
    raise NoSwitch(f'{_device(disk)}: its write cache is "{text}", which is neither on nor off')


def switch(disk: Path, to: State, *, admin: Admin | None = None) -> None:
    """Ask the drive for it; what it has done ``state`` tells. Raises NoSwitch, and OSError where the drive refuses."""
    if controller := _controller(disk):
        send = admin or _admin
        _features(disk, controller, send)
        send(controller, SET_FEATURES, VOLATILE_WRITE_CACHE, int(to == "on"), None)
        return
    _cache_type(disk).write_text(ON if to == "on" else OFF, encoding="utf-8")


def identity(disk: Path) -> str:
    """The drive's own number or name, which it keeps when the machine is restarted; "" where it tells none."""
    for name in ("device/wwid", "wwid", "device/serial", "serial"):
        if text := kernel_text(disk / name, "").strip():
            return text
    return ""


def _features(disk: Path, controller: Path, send: Admin) -> int:
    about = bytearray(IDENTITY_BYTES)
    send(controller, IDENTIFY, CONTROLLER, 0, about)
    if not about[HAS_CACHE_AT] & 1:
        raise NoSwitch(f"{_device(disk)}: the drive has no volatile write cache: leave out place.drive_cache")
    return send(controller, GET_FEATURES, VOLATILE_WRITE_CACHE, 0, None)


def _controller(disk: Path) -> Path | None:
    """Of an NVMe namespace, the device of its controller."""
    try:
        driver = (disk / "device" / "subsystem").resolve().name
    except OSError:
        return None
    if driver not in ("nvme", "nvme-subsystem"):
        return None
    name, _, _ = disk.name.rpartition("n")  # nvme0n1
    return Path("/dev") / name


def _cache_type(disk: Path) -> Path:
    """The file in sysfs that tells and takes it."""
    found = [*sorted((disk / "device").glob("scsi_disk/*/cache_type")), disk / "cache_type"]
    file = next((one for one in found if one.exists()), None)
    if file is None:
        raise NoSwitch(
            f"{_device(disk)}: has no write cache that can be switched (no SCSI, SATA, NVMe or virtio drive): leave "
            "out place.drive_cache"
        )
    if not file.stat().st_mode & 0o200:
        raise NoSwitch(
            f"{_device(disk)}: its write cache cannot be switched from this machine ({file.name} is read-only: on a "
            "virtual machine the host decides): leave out place.drive_cache"
        )
    return file


def _device(disk: Path) -> Path:
    return Path("/dev") / disk.name


def _admin(controller: Path, opcode: int, word_10: int, word_11: int, data: bytearray | None) -> int:
    held = (ctypes.c_char * len(data)).from_buffer(data) if data is not None else None
    at = ctypes.addressof(held) if held is not None else 0
    words = (word_10, word_11, 0, 0, 0, 0)
    command = bytearray(COMMAND.pack(opcode, 0, 0, 0, 0, 0, 0, at, 0, len(data or b""), *words, 0, 0))
    file = os.open(controller, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = fcntl.ioctl(file, ADMIN, command)
    finally:
        os.close(file)
    if status:
        raise OSError(5, f"the controller answers status {status:#x} to command {opcode:#x}", str(controller))
    return int(COMMAND.unpack(command)[-1])
