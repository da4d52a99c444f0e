"""A stock Debian kernel for guests: brought by apt, unpacked without being installed, kept in the state directory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import CellFailed, MachineLacks
from acidtest.files import fsync_path, state_directory, sync_filesystem

META = "linux-image-amd64"  # depends on the newest kernel of the release
# Folders of modules.
KEPT = (
    "arch", "block", "crypto", "drivers/block", "drivers/char", "drivers/md", "drivers/net/ethernet/intel/e1000",
    "drivers/virtio", "fs", "lib", "net/9p",
)  # fmt: skip
UNFINISHED = ".unfinished-"
PACKED, PLAIN = "vmlinuz", "vmlinux"
XZ = b"\xfd7zXZ\0"
ENTRY = struct.pack("<3I4s", 4, 8, 18, b"Xen\0")  # the note of where QEMU enters a kernel that is not packed
# What a soft dependency of a module (modinfo(8)) names by alias. Where there are several, the one without assembler.
ALIASES = {
    "blake2b-256": "blake2b_generic",
    "crc32": "crc32_generic",
    "crc32c": "crc32c_generic",
    "crypto-crc32c": "crc32c_generic",
    "sha256": "sha256_generic",
    "xxhash64": "xxhash_generic",
}


@dataclass(frozen=True)
class Kernel:
    """One kernel in a folder of its own."""

    home: Path
    package: str  # "linux-image-6.1.0-56-amd64"
    version: str  # of the package: "6.1.192-2"
    sha256: str  # of the package, as apt's index says

    @property
    def image(self) -> Path:
        """What QEMU starts: the kernel as it is, where it could be unpacked here (see ``_unpack_image``)."""
        plain = self.home / PLAIN
        return plain if plain.exists() else self.home / PACKED

    def has(self, name: str) -> bool:
        """Whether there is such a module, in a file or built in."""
        try:
            self.modules([name])
        except CellFailed:
            return False
        return True

    def modules(self, names: Iterable[str]) -> list[Path]:
        """The files of these modules and of all that they need, in the order in which they are to be loaded.

        A module that is built into the kernel has no file. Raises CellFailed for one that the kernel does not have.
        """
        files = {file.stem.replace("-", "_"): file for file in sorted((self.home / "modules").rglob("*.ko"))}
        built_in = {
            Path(line).stem.replace("-", "_")
            for line in (self.home / "modules.builtin").read_text(encoding="utf-8").splitlines()
        }
        needed: dict[Path, None] = {}

        def add(name: str, *, required: bool) -> None:
            name = ALIASES.get(name, name).replace("-", "_")
            if name in built_in:
                return
            if name not in files:
                if required:
                    raise CellFailed(f"the guest's kernel ({self.package} {self.version}) has no {name}")
                return
            if files[name] in needed:
                return
            soft, hard = _needs(files[name].read_bytes())
            for other in soft:
                add(other, required=False)
            for other in hard:
                add(other, required=True)
            needed[files[name]] = None

        for name in names:
            add(name, required=True)
        return list(needed)


def _needs(module: bytes) -> tuple[list[str], list[str]]:
    """What a module's own ``.modinfo`` says it needs: softly, and without fail."""
    soft = [
        name.decode()
        for names in re.findall(rb"\0softdep=pre: ([^\0]+)", module)
        for name in names.split()
        if not name.endswith(b":")
    ]
    hard = re.search(rb"\0depends=([^\0]*)\0", module)
    return soft, [name.decode() for name in (hard[1].split(b",") if hard else []) if name]


def ready(say: Callable[[str], None]) -> Kernel:
    """The kernel of guests, brought now if none is here. Raises MachineLacks when it cannot be brought."""
    if kernel := installed():
        _unpack_image(kernel.home)  # an earlier version has left it packed
        return kernel
    homes = state_directory() / "guest"
    try:
        homes.mkdir(parents=True, exist_ok=True)
        for old in homes.glob(f"{UNFINISHED}*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=homes) as work:
            name, version = _newest()
            say(f"bringing a kernel for guests: {name} {version} (about 70 MB)")
            home = _unpacked(Path(work), name, version)
            sync_filesystem(home)
            # Beside one that an earlier version has brought, with fewer folders, and may be using.
            home.rename(homes / f"{name}_{version}_{hashlib.sha256(' '.join(KEPT).encode()).hexdigest()[:8]}")
            fsync_path(homes)
    except OSError as error:
        raise MachineLacks(
            f"{homes}: a kernel for guests could not be put there: {error.strerror}",
            "set ACIDTEST_HOME to a directory with space that you may write to",
        ) from None
    kernel = installed()
    assert kernel is not None
    return kernel


def installed() -> Kernel | None:
    """The kernel brought last with all that is kept now, or None."""
    found = [
        file
        for file in (state_directory() / "guest").glob("linux-image-*/package.json")
        if all((file.parent / "modules" / _kept_as(folder)).is_dir() for folder in KEPT)
    ]
    packages = sorted(found, key=lambda file: file.stat().st_mtime)
    return Kernel(packages[-1].parent, **json.loads(packages[-1].read_text(encoding="utf-8"))) if packages else None


def _newest() -> tuple[str, str]:
    """Name and version of the package that Debian's newest kernel lies in."""
    depends = _apt("apt-cache", "show", "--no-all-versions", META)
    match = re.search(r"^Depends: (linux-image-\S+) \(= (\S+)\)", depends, re.MULTILINE)
    if not match:
        raise MachineLacks(f"apt knows no {META}, a kernel for guests", "apt-get update, on Debian for x86-64")
    return match[1], match[2]


def _unpacked(work: Path, name: str, version: str) -> Path:
    """Download the package into ``work``, check it against apt's index and return a home made of what guests need."""
    wanted = re.search(r"^SHA256: ([0-9a-f]{64})$", _apt("apt-cache", "show", f"{name}={version}"), re.MULTILINE)
    _apt("apt-get", "download", "-q", f"{name}={version}", cwd=work)
    (package,) = work.glob("*.deb")
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    if not wanted or digest != wanted[1]:
        raise MachineLacks(f"{package.name} is not what apt's index says", "try again")
    _apt("dpkg-deb", "-x", str(package), "tree", cwd=work)
    home = work / "home"
    (home / "modules").mkdir(parents=True)
    (image,) = (work / "tree" / "boot").glob("vmlinuz-*")
    image.rename(home / PACKED)
    _unpack_image(home)
    (modules,) = (work / "tree" / "lib" / "modules").iterdir()
    (modules / "modules.builtin").rename(home / "modules.builtin")
    for folder in KEPT:
        if (source := modules / "kernel" / folder).is_dir():
            source.rename(home / "modules" / _kept_as(folder))
    facts = {"package": name, "version": version, "sha256": digest}
    (home / "package.json").write_text(json.dumps(facts), encoding="utf-8")
    return home


def _unpack_image(home: Path) -> None:
    """Put the kernel beside its packed form, which an emulated processor takes half of a boot to unpack.

    One that is packed in another way than by xz, or that QEMU cannot enter without its packing, stays as it is.
    """
    plain = home / PLAIN
    if plain.exists():
        return
    packed = (home / PACKED).read_bytes()
    with contextlib.suppress(lzma.LZMAError, ValueError):
        unpacking = lzma.LZMADecompressor()
        content = unpacking.decompress(packed[packed.index(XZ) :])
        if unpacking.eof and ENTRY in content and content.startswith(b"\x7fELF"):
            fresh = home / f"{PLAIN}.{os.getpid()}"
            fresh.write_bytes(content)
            fsync_path(fresh)
            fresh.rename(plain)


def _kept_as(folder: str) -> str:
    return folder.replace("/", "-")


def _apt(*command: str, cwd: Path | None = None) -> str:
    try:
        ended = subprocess.run(
            command, cwd=cwd, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=600
        )
    except FileNotFoundError:
        raise MachineLacks(f"{command[0]} is missing: a guest's kernel is Debian's", "run guests on Debian") from None
    except subprocess.TimeoutExpired:
        raise MachineLacks(f"{command[0]} did not end within 600 s", "check the network and apt's settings") from None
    if ended.returncode != 0:
        words = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        raise MachineLacks(
            f"{' '.join(command[:2])}: {words[0]}", "check the network and apt's settings; apt-get update"
        )
    return ended.stdout
