"""What may lie between a guest's file system and its disks: each stack, as an administrator makes it.

A new one is one entry. ``disks`` is how many simulated disks it lies on; all of them lose their power in the same cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acidtest.place.guest.machine import DISK, SECOND


@dataclass(frozen=True)
class Stack:
    """One stack. Its scripts run in the guest, and fail where a command of theirs fails."""

    device: str  # what the file system is made on
    programs: tuple[str, ...] = ()
    package: str = ""  # Debian's, which has them
    modules: tuple[str, ...] = ()  # also those that the kernel would ask a program of a whole system for
    disks: int = 1
    make: str = ":"  # on empty disks; it is open afterwards
    open: str = ":"  # as a restart does
    close: str = ":"
    seen: str = "echo none"  # prints ``shown`` where the stack is in force
    shown: str = "none"


# Nobody answers for udev in a guest.
_LVM = (
    "lvm {} --config 'activation{{udev_sync=0 udev_rules=0}} backup{{backup=0 archive=0}} "
    'devices{{use_devicesfile=0 obtain_device_list_from_udev=0 scan="/dev"}}\' '
)
_MAPPED = "/dev/mapper/acidtest"
_TARGET = "dmsetup table {} | cut -d ' ' -f 3"  # dmsetup(8): start, length, target
_KEY = "mkdir -p /run/cryptsetup; printf acidtest >/run/key"
_CACHED = (
    "dmsetup create acidtest --noudevrules --table "
    f'"0 $(blockdev --getsz {DISK}) writecache s {DISK} {SECOND} 4096 0"; '  # s: the cache is an SSD
    "dmsetup mknodes acidtest"
)

STACKS: Mapping[str, Stack] = {
    "none": Stack(device=DISK),
    "dm-crypt": Stack(
        device=_MAPPED,
        programs=("cryptsetup", "dmsetup"),
        package="cryptsetup-bin dmsetup",
        modules=(
            "dm_crypt",
            "aes_generic",
            "xts",
            "ecb",
            "cbc",
            "sha256_generic",
            "sha512_generic",
            "af_alg",
            "algif_hash",
            "algif_skcipher",
        ),
        # LUKS2. The function that makes a key of the pass phrase is to take no minute here, and has no part in a cut.
        make=f"{_KEY}; cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "
        f"--key-file /run/key {DISK}; cryptsetup open --key-file /run/key {DISK} acidtest",
        open=f"{_KEY}; cryptsetup open --key-file /run/key {DISK} acidtest",
        close="cryptsetup close acidtest",
        seen=_TARGET.format("acidtest"),
        shown="crypt",
    ),
    "lvm": Stack(
        device=f"{_MAPPED}-data",
        programs=("lvm", "dmsetup"),
        package="lvm2 dmsetup",
        modules=("dm_mod",),
        make=f"{_LVM.format('pvcreate')} -y {DISK}; {_LVM.format('vgcreate')} acidtest {DISK}; "
        f"{_LVM.format('lvcreate')} -y -W n -l 100%FREE -n data acidtest",
        open=f"{_LVM.format('vgchange')} -a y acidtest",
        close=f"{_LVM.format('vgchange')} -a n acidtest",
        seen=_TARGET.format("acidtest-data"),
        shown="linear",
    ),
    "md-raid1": Stack(
        device="/dev/md0",
        programs=("mdadm",),
        package="mdadm",
        modules=("md_mod", "raid1"),
        disks=2,
        # The two are alike: they are empty.
        make=f"mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 --metadata=1.2 {DISK} {SECOND}",
        open=f"mdadm --assemble /dev/md0 {DISK} {SECOND}",
        close="mdadm --stop /dev/md0",
        seen="echo $(cat /sys/block/md0/md/level) of $(ls -d /sys/block/md0/md/rd* | wc -l)",
        shown="raid1 of 2",
    ),
    "dm-writecache": Stack(
        device=_MAPPED,
        programs=("dmsetup",),
        package="dmsetup",
        modules=("dm_mod", "dm_writecache"),
        disks=2,
        make=_CACHED,
        open=_CACHED,
        close="dmsetup remove acidtest",
        seen=_TARGET.format("acidtest"),
        shown="writecache",
    ),
}
