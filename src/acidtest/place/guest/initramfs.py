"""The guest's memory file system: busybox, the kernel's modules for file systems and schedulers, and mkfs programs.

Everything else (the rig, an engine) is carried in after the guest is up; so one file serves all experiments.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from acidtest.errors import MachineLacks
from acidtest.files import fsync_path, state_directory
from acidtest.formats import elf
from acidtest.place.guest.kernel import Kernel

BASE = ("virtio_pci", "virtio_blk", "virtio_console")  # what a guest cannot start without
INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
for module in $(cat /base); do insmod $module || echo "init: $module cannot be loaded"; done
# Each port takes one script a line, in base64, and answers with what it prints and, after a byte 0x1e, its exit code
# and the end of its standard error.
agent() {
  # The node is there a moment before the port.
  until (: <>/dev/$1) 2>/dev/null; do sleep 0.1; done
  exec 3<>/dev/$1
  printf '\\036 0 -\\n' >&3
  while read -r line <&3; do
    echo "$line" | base64 -d >/run/$1.sh
    sh /run/$1.sh </dev/null >&3 2>/run/$1.err 3>&-
    code=$?
    printf '\\036 %s %s-\\n' $code "$(tail -c 2000 /run/$1.err | base64 | tr -d '\\n')" >&3
  done
}
# The ports come one by one, some time after their module is loaded. Others than these two have no agent.
ports() { grep -lxE 'commands|jobs' /sys/class/virtio-ports/*/name 2>/dev/null; }
until [ $(ports | wc -l) -eq 2 ]; do sleep 0.1; done
for name in $(ports); do port=${name%/name}; agent ${port##*/} & done
wait
echo "init: the lab is gone"
poweroff -f
"""


def build(
    kernel: Kernel,
    modules: Iterable[str],
    programs: Iterable[str],
    *,
    init: str = INIT,
    needed: Sequence[str] = BASE,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """The initramfs with these modules and programs of this machine, in the state directory; made when not there.

    Modules that the kernel lacks and programs that this machine lacks stay out, but for modules that are ``needed``:
    ``init`` loads those of the list ``/base``. ``more`` has texts by the paths of their files. Raises MachineLacks
    without busybox, CellFailed without a module that is needed.
    """
    base = kernel.modules(needed)
    tools = {Path("/bin") / name: Path(executable) for name in programs if (executable := program(name))}
    files = {Path("/bin/busybox"): busybox()} | tools
    files |= {file: file for file in elf.closure(tools.values())}
    files |= {in_guest(file): file for file in [*base, *kernel.modules(name for name in modules if kernel.has(name))]}
    archive = _Cpio()
    for directory in ("bin", "dev", "lib", "lib64", "modules", "proc", "run", "root", "sys", "tmp", "etc"):
        archive.directory(f"/{directory}")
    for link, to in (("sbin", "bin"), ("usr", ".")):  # the places of a merged /usr, all in one
        archive.link(f"/{link}", to)
    archive.device("/dev/console", 5, 1)  # what the kernel opens for init
    archive.file("/init", init.encode(), 0o755)
    archive.file("/base", "\n".join(str(in_guest(file)) for file in base).encode(), 0o644)
    for name, text in more.items():
        archive.file(name, text.encode(), 0o644)
    archive.link("/etc/mtab", "/proc/self/mounts")  # mkfs.nilfs2 looks there for what is mounted
    archive.file("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    for path, source in sorted(files.items()):
        archive.file(str(path), source.read_bytes(), 0o755)
    content = archive.whole()
    target = state_directory() / "guest" / f"initramfs-{hashlib.sha256(content).hexdigest()[:16]}.cpio"
    if not target.exists():
        fresh = target.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(content)
        fsync_path(fresh)
        fresh.rename(target)
    return target


def busybox() -> Path:
    """A busybox that needs no library. Raises MachineLacks."""
    executable = program("busybox")
    if executable is None or elf.read(Path(executable)).needed:
        raise MachineLacks("a guest needs a static busybox", "apt-get install busybox-static (Debian)")
    return Path(executable)


def program(name: str) -> str | None:
    """The path of a program of this machine's administrator."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")


def in_guest(module: Path) -> Path:
    """Where a module's file lies in a guest."""
    return Path("/modules") / module.name


class _Cpio:
    """The "new ASCII format" of cpio(5), which the kernel unpacks; see its Documentation/driver-api/early-userspace."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._number = 0
        self._held: set[str] = set()

    def directory(self, name: str) -> None:
        if name not in self._held:
            self._held.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, content: bytes, mode: int) -> None:
        for parent in reversed(Path(name).parents):
            if str(parent) not in ("/", "/usr", "/sbin"):
                self.directory(str(parent))
        self._entry(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def whole(self) -> bytes:
        self._entry("/TRAILER!!!", 0)
        return b"".join(self._parts)

    def _entry(self, name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self._number += 1
        path = name.removeprefix("/").encode() + b"\0"
        fields = (self._number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        self._parts += [head, b"\0" * (-len(head) % 4), content, b"\0" * (-len(content) % 4)]
