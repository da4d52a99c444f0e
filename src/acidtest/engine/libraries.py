"""Whether an engine's files can run here: for this machine, and with the system libraries that they ask for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from acidtest.errors import MachineLacks
from acidtest.formats import elf

# System library -> its package in Debian and Ubuntu, in Fedora, in openSUSE. An engine's lib/ may hold a link instead.
PACKAGES = {
    "libtommath.so.1": ("libtommath1", "libtommath", "libtommath1"),
    "libtommath.so.0": ("libtommath1", "libtommath", "libtommath1"),
    "libncurses.so.5": ("libncurses5", "ncurses-compat-libs", "libncurses5"),
    "libcrypt.so.1": ("libcrypt1", "libxcrypt-compat", "libcrypt1"),
    "libaio.so.1": ("libaio1", "libaio", "libaio1"),
    "libaio.so.1t64": ("libaio1t64", "libaio", "libaio1"),
    "libnuma.so.1": ("libnuma1", "numactl-libs", "libnuma1"),
    "libsystemd.so.0": ("libsystemd0", "systemd-libs", "libsystemd0"),
}
# Asked for by older files; the newer library serves.
STAND_INS = {"libtommath.so.0": "libtommath.so.1", "libaio.so.1": "libaio.so.1t64"}


def check(id: str, binary: Path) -> None:  # noqa: A002
    """Raise MachineLacks unless ``binary``, a program or library of engine ``id``, is whole and for this machine."""
    try:
        header = elf.read(binary)
    except elf.NotElf as error:
        raise MachineLacks(f"{id}: {binary.name} is broken: {error}", "try again") from None
    if (header.bits, header.machine) != (64, "x86-64") or os.uname().machine != "x86_64":
        raise MachineLacks(f"{id}: built for {header.machine}, this machine is {os.uname().machine}")


def missing(binaries: Iterable[Path], own: Path, links: Path) -> tuple[tuple[str, str], ...]:
    """Libraries that ``binaries`` ask for and nobody has, with the Debian package of each.

    ``own`` is the folder of libraries that the engine brings along. Where another version of a library serves, a link
    to it is made in the folder ``links``, which then belongs on the library path.
    """
    needed: dict[str, None] = {}
    for binary in binaries:
        needed |= dict.fromkeys(elf.read(binary).needed)
    loadable = elf.loadable(PACKAGES)
    lacking = []
    for library in needed:
        if library in loadable or (own / library).exists() or (links / library).exists():
            continue
        if (stand_in := loadable.get(STAND_INS.get(library, ""))) is not None:
            links.mkdir(exist_ok=True)
            link = links / library
            link.unlink(missing_ok=True)  # it may be a link to what is no longer there
            link.symlink_to(stand_in)
            continue
        lacking.append((library, PACKAGES.get(library, (library,))[0]))
    return tuple(lacking)
