"""What the simulated disk costs: ext4 on it, and on a plain loop device over a file in memory (tmpfs), in turns.

Both media are memory, and the disk takes no time of its own: what is left is the way through FUSE. Ratios are of pairs
of runs that followed each other; absolute figures are this machine's at this hour. Each round makes both places anew,
now the one first and now the other: of two loop devices the one that is made first has been up to a sixth slower.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from acidtest.errors import MachineLacks
from acidtest.experiment import PlaceSpec
from acidtest.place import Ledger, Place, make
from acidtest.words import counted

KINDS = ("disk", "loop")
MEMORY = Path("/dev/shm")  # noqa: S108 - each run makes its own directory
SIZE_MB = 512
FILE_MB = 128
SECONDS = 1.0


def overwrites_per_s(file: Path) -> float:
    """Overwrites of 4 KiB at random places, each flushed."""
    blocks, done = FILE_MB << 8, 0
    with mmap.mmap(-1, 4096) as page:
        page[:] = b"x" * 4096
        handle = os.open(file, os.O_RDWR)
        try:
            end = (began := time.monotonic()) + SECONDS
            while (now := time.monotonic()) < end:
                os.pwrite(handle, page, done * 7919 % blocks * 4096)
                os.fdatasync(handle)
                done += 1
            return done / (now - began)
        finally:
            os.close(handle)


def sequential_mb_s(file: Path) -> float:
    """The file written from one end to the other, 1 MiB at a time, and flushed."""
    with mmap.mmap(-1, 1 << 20) as page:
        page[:] = b"x" * (1 << 20)
        handle = os.open(file, os.O_RDWR)
        try:
            began = time.monotonic()
            for _ in range(FILE_MB):
                os.write(handle, page)
            os.fsync(handle)
            return FILE_MB * 1.048576 / (time.monotonic() - began)
        finally:
            os.close(handle)


MEASURES: dict[str, Callable[[Path], float]] = {
    "fsynced 4 KiB overwrites a second": overwrites_per_s,
    "sequential MB/s": sequential_mb_s,
}


Measured = dict[tuple[str, str], list[float]]  # by what is measured and the kind of place, one figure a round


def main(rounds: int) -> None:
    if not os.access(MEMORY, os.W_OK) or os.geteuid() != 0:
        raise MachineLacks(f"needs root and {MEMORY}", "run it as root on a machine with a tmpfs there")
    idle: Measured = {}
    beside: Measured = {}
    ledger = Ledger()
    try:
        for round_ in range(rounds):
            kinds = KINDS if round_ % 2 else KINDS[::-1]
            with both_places(kinds, ledger) as places:
                if not round_:
                    print(f"disk: {places['disk'].facts().disk}")
                measure(places, idle)
                with others_busy() as busy:
                    measure(places, beside)
    finally:
        ledger.close()
    print("\nother cores idle")
    show(idle)
    print(f"\n{counted(busy, 'other core')} busy")
    show(beside)


@contextlib.contextmanager
def both_places(kinds: Sequence[str], ledger: Ledger) -> Iterator[dict[str, Place]]:
    """Made in this order, with the file in each."""
    places: dict[str, Place] = {}
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        try:
            for kind in kinds:
                spec = PlaceSpec(kind=kind, filesystem="ext4", size_mb=SIZE_MB)
                places[kind] = make(spec, Path(directory), ledger, database_bytes=1)
                (places[kind].path / "file").touch()
                sequential_mb_s(places[kind].path / "file")
            yield places
        finally:
            for place in places.values():
                place.release()


@contextlib.contextmanager
def others_busy() -> Iterator[int]:
    """Meanwhile all cores but one have something else to do; how many."""
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(len(os.sched_getaffinity(0)) - 1)
    ]
    try:
        yield len(others)
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(places: dict[str, Place], measured: Measured) -> None:
    for name, of in MEASURES.items():
        for kind, place in places.items():
            measured.setdefault((name, kind), []).append(of(place.path / "file"))


def show(measured: Measured) -> None:
    print(f"{'':<36}{'disk':>24}{'loop':>24}{'ratio':>22}")
    for name in MEASURES:
        disk, loop = (measured[name, kind] for kind in KINDS)
        ratios = [d / p for d, p in zip(disk, loop, strict=True)]
        print(f"{name:<36}{spread(disk, 0):>24}{spread(loop, 0):>24}{spread(ratios, 2):>22}")


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
