"""A file system in a guest: made, mounted, and read back there."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.experiment.places import RAW
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import GuestFacts, SettingInForce
from acidtest.place import mkfs, mounts, queue
from acidtest.place.facts import Mount, compared, parse_mountinfo, queue_facts
from acidtest.place.guest.machine import DISK, Guest, qemu_version
from acidtest.place.storage import new_label

SCHEDULERS = {"bfq": "bfq", "kyber": "kyber-iosched"}
# A disk is taken out and put in again: nothing of the queue's settings, or of what the kernel holds of it, is left.
REPLUG = """
device=$(basename $(readlink /sys/block/{name}/device))
cd /sys/bus/virtio/drivers/virtio_blk && echo $device >unbind && echo $device >bind && test -b /dev/{name}
"""
LOOK = """
cat /proc/self/mountinfo
echo ==; grep -r . {queue} 2>/dev/null
echo ==; df -k {path} | tail -n 1; stat -f -c %s {path}
"""


@dataclass(frozen=True)
class Look:
    """What the guest shows of its disk."""

    mount: Mount | None
    queue: Mapping[str, str]  # file of sysfs -> what it says
    free_bytes: int  # 0 where nothing is mounted
    block_bytes: str


class GuestFileSystem:
    """What ``spec`` asks for, to be made on ``device`` in ``guest`` and mounted at ``path``; it lies on ``disks``."""

    def __init__(
        self, guest: Guest, spec: PlaceSpec, path: Path, device: str = DISK, disks: Sequence[str] = (DISK,)
    ) -> None:
        """Raises BadInput for what cannot be asked of a queue."""
        self._guest, self._spec, self._path, self._device, self._disks = guest, spec, path, device, disks
        self._at = shlex.quote(str(path))
        self.name = spec.filesystem or RAW
        self._options = mounts.options_of(spec.mount)
        self._wanted = queue.wanted(spec)
        self._queue = _queue(disks[0])

    def plug_in(self) -> None:
        """The disks as if they were put in now, their queues as asked. Raises CellFailed."""
        script = "".join(REPLUG.format(name=Path(disk).name) for disk in self._disks)
        self._guest.run("plugging in the guest's disk", f"{script}mkdir -p {self._at}")
        scheduler = self._wanted.get(queue.SCHEDULER)
        if scheduler in SCHEDULERS:
            self._guest.load([SCHEDULERS[scheduler]])
        for disk in self._disks:
            for name, value in self._wanted.items():
                file = f"{_queue(disk)}/{name}"
                has = f"{{ echo 'the guest has' $(cat {file}) >&2; exit 1; }}"
                self._guest.run(f"the guest's {disk}: {name} {value}", f"echo {shlex.quote(value)} >{file} || {has}")

    def make(self) -> str:
        """The commands that made it, without what differs from one to the next. Raises CellFailed."""
        label = new_label()
        commands = [
            shlex.join(command) for command in mkfs.commands(self.name, self._spec, Path(self._device), label, None)
        ]
        for command in commands:
            self._guest.run(f"in the guest: {command}", command)
        return "; ".join(commands).replace(self._device, "DEVICE").replace(label, "LABEL")

    def load(self) -> None:
        """Have the guest's kernel know it. Raises CellFailed where it does not."""
        self._guest.load([FILESYSTEMS[self.name].module or self.name])

    def mount(self) -> None:
        """Raises CellFailed with the kernel's words."""
        options = ",".join(self._options) or "defaults"
        mount = f"mount -t {self.name} -o {shlex.quote(options)} {self._device} {self._at}"
        why = "{ dmesg | tail -n 3 >&2; exit 1; }"
        doing = f"in the guest: mount -t {self.name} -o {options}"
        try:
            self._guest.run(doing, f"dmesg -c >/dev/null; {mount} || {why}")
        except CellFailed as error:
            if (message := mounts.advised(error.message)) == error.message:
                raise
            raise CellFailed(message, error.remedy) from None

    def look(self) -> Look:
        output = self._guest.run("reading the storage", LOOK.format(path=self._at, queue=self._queue))
        mountinfo, files, free = output.split("==\n")
        lines = (line.removeprefix(f"{self._queue}/").partition(":") for line in files.splitlines())
        (*_, available, _, _), (block,) = map(str.split, free.strip().splitlines())
        here = [m for m in parse_mountinfo(mountinfo) if (m.point, m.source) == (str(self._path), self._device)]
        free_bytes = int(available) * 1024 if here else 0  # of what is not mounted df says nothing
        return Look(here[-1] if here else None, {name: value for name, _, value in lines}, free_bytes, block)

    def facts(self, look: Look) -> dict[str, Any]:
        """Of a place's facts those that the guest tells."""
        with _mirror(look.queue) as files:
            of_queue = queue_facts(Path(files)) | {"device_model": "virtio"}
        guest = self._guest
        return {
            **of_queue,
            "filesystem": look.mount.filesystem if look.mount else "none",
            "mount_point": look.mount.point if look.mount else "none",
            "mount_options": look.mount.options if look.mount else "none",
            "device": self._device,
            "direct_io": "yes",
            "guest": GuestFacts(
                kernel=f"{guest.kernel.package} {guest.kernel.version}",
                kernel_sha256=guest.kernel.sha256,
                qemu=qemu_version(),
                accelerator=guest.hardware.accelerator,
                cache="none",
                cpus=guest.hardware.cpus,
                memory_mb=guest.hardware.memory_mb,
            ),
        }

    def settings(self, look: Look) -> list[SettingInForce]:
        """What was asked for, beside what the guest shows. Raises CellFailed where it is not mounted."""
        with _mirror(look.queue) as files:
            of_queue = queue.in_force(Path(files), self._wanted)
        if self.name == RAW:
            return of_queue
        if look.mount is None:
            raise CellFailed(f"{self._path}: is no longer mounted in the guest")
        table = FILESYSTEMS[self.name]
        settings = [
            compared("filesystem", self.name, look.mount.filesystem, "mountinfo"),
            *mounts.in_force(self._options, look.mount, table.shown_as, table.defaults),
            *mounts.in_force(mkfs.stripe_shown(self.name, self._spec), look.mount, {}, {}),
            *of_queue,
        ]
        if self._spec.block_size is not None:
            settings.append(compared("block_size", self._spec.block_size, look.block_bytes, "statfs"))
        return settings


def _queue(disk: str) -> str:
    return f"/sys/block/{Path(disk).name}/queue"


def _mirror(files: Mapping[str, str]) -> tempfile.TemporaryDirectory[str]:
    """A directory with the files of the guest's block queue, for what reads those of this machine."""
    directory = tempfile.TemporaryDirectory()
    for name, value in files.items():
        file = Path(directory.name) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value, encoding="utf-8")
    return directory
