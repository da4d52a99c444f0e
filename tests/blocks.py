"""Block devices of a test's own making, outside every ledger: another user's, as far as acidtest can tell."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acidtest.place.facts import mounts_now


@contextmanager
def loop_over(image: Path, size_mb: int = 0) -> Iterator[Path]:
    """A loop device over ``image``, made by losetup."""
    if size_mb:
        with image.open("wb") as file:
            file.truncate(size_mb << 20)
    for _ in range(20):
        attached = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
        if attached.returncode == 0:
            break
        time.sleep(0.1)  # another test took that number
    device = Path(attached.stdout.strip())
    try:
        # The kernel keeps what an earlier user of this number has set.
        Path(f"/sys/block/{device.name}/queue/scheduler").write_text("none")
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextmanager
def mounted(device: Path, point: Path, options: str = "ro") -> Iterator[Path]:
    point.mkdir()
    subprocess.run(["mount", "-o", options, device, point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)
        point.rmdir()


@contextmanager
def mounted_in_memory(point: Path, *, size_mb: int) -> Iterator[Path]:
    """A small file system, for as long as the block goes on."""
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)
        point.rmdir()


def loops_over_files_in(directory: Path) -> list[str]:
    """Loop devices whose image lies below ``directory``, removed images included."""
    backings = {p.parts[3]: p for p in Path("/sys/block").glob("loop*/loop/backing_file")}
    return [name for name, path in backings.items() if _read(path).startswith(f"{directory}/")]


def mounts_below(directory: Path) -> list[str]:
    return [mount.point for mount in mounts_now() if directory in Path(mount.point).parents]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
