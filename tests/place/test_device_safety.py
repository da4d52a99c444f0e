"""Devices of somebody else are never written to: planted ones keep every byte, whatever acidtest is told."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import state_directory
from acidtest.place import Ledger, admit, make, release_leftovers
from acidtest.place.device_safety import look, refuse
from blocks import loop_over, mounted
from support import ACIDTEST, killed_lab

PARTITION = (
    bytes.fromhex("00010100831f3f10") + (2048).to_bytes(4, "little") + (32768).to_bytes(4, "little")
)  # of an MBR
LVM = b"LABELONE" + (1).to_bytes(8, "little") + bytes(8) + b"LVM2 001"


def swap(image: Path) -> None:
    subprocess.run(["mkswap", "-q", image], check=True)


def ext4(image: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "precious", image], check=True)


def xfs(image: Path) -> None:
    subprocess.run(["mkfs.xfs", "-q", "-f", image], check=True)


def planted(at: int, data: bytes) -> Callable[[Path], None]:
    def plant(image: Path) -> None:
        with image.open("r+b") as file:
            file.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
            file.write(data)

    return plant


PLANTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "ext4": (ext4, 'ext4 "precious"'),
    "xfs": (xfs, "xfs"),
    "swap": (swap, "swap"),
    "partitions": (planted(446, PARTITION + bytes(48) + b"\x55\xaa"), "dos"),
    "luks": (planted(0, b"LUKS\xba\xbe\x00\x01"), "crypto_LUKS"),
    "lvm": (planted(512, LVM), "LVM2_member"),
    "unknown": (planted(1 << 20, b"a database of a kind that nobody knows"), "data of no known kind"),
    "unknown at the end": (planted(-100, b"and one that begins at the end"), "data of no known kind"),
}


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """A drive's content, and whether it was touched."""
    path = tmp_path / "strangers-drive"
    with path.open("wb") as file:
        file.truncate(320 << 20)  # mkfs.xfs wants 300 MiB
    yield path


@pytest.fixture
def engines(engines_installed: None, home: Path) -> None:
    """The installed engines, seen from a state directory of the test's own."""
    home.mkdir()
    with pytest.MonkeyPatch.context() as outside:
        outside.delenv("ACIDTEST_HOME")
        (home / "engines").symlink_to(state_directory() / "engines")


def digest(path: Path) -> str:
    subprocess.run(["sync", path], check=True)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def experiment(path: Path, device: Path, kind: str) -> Path:
    filesystem = 'filesystem = "ext4"' if kind == "device" else ""
    path.write_text(
        'name = "theirs"\nengine = "firebird-5.0"\ndurability = "drive"\nrepetitions = 1\n[workload.commits]\n'
        f'count = 5\n[place]\nkind = "{kind}"\ndevice = "{device}"\n{filesystem}\n'
    )
    return path


def commands(tmp_path: Path, device: Path, *options: str) -> list[tuple[str, ...]]:
    """Every command that could write to ``device``."""
    return [
        (
            "run",
            str(experiment(tmp_path / f"{kind}.toml", device, kind)),
            "--out",
            str(tmp_path / f"out-{kind}"),
            *options,
        )
        for kind in ("device", "raw")
    ]


def ended(*command: str) -> tuple[int, str]:
    done = subprocess.run([ACIDTEST, *command], capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_on_a_device_is_seen_and_refused(plant: str, image: Path, tmp_path: Path) -> None:
    put, seen = PLANTS[plant]
    put(image)
    before = digest(image)
    ledger = Ledger()
    with loop_over(image) as device:
        found = look(str(device))
        assert seen in ", ".join(found.holds)
        assert found.used == ""
        with pytest.raises(BadInput, match="never overwritten") as refused:
            admit([str(device)], set(), lambda lines: None)
        assert f"--erase {device}" in refused.value.remedy
        for kind in ("device", "raw"):
            with pytest.raises(CellFailed, match="never overwritten"):
                make(PlaceSpec(kind=kind, device=str(device), filesystem="ext4"), tmp_path, ledger, database_bytes=1)
    ledger.close()
    assert digest(image) == before


def test_a_run_refuses_a_device_that_is_not_named_or_not_empty(engines: None, image: Path, tmp_path: Path) -> None:
    ext4(image)
    before = digest(image)
    with loop_over(image) as device:
        for command in commands(tmp_path, device):
            code, said = ended(*command)
            assert (code, f"--use-device {device}" in said) == (2, True), said
        for command in commands(tmp_path, device, "--use-device", str(device)):
            code, said = ended(*command)
            assert (code, 'ext4 "precious"' in said, f"--erase {device}" in said) == (2, True, True), said
        for command in commands(tmp_path, device, "--erase", str(device)):
            assert ended(*command)[0] == 2
        other = ended(*commands(tmp_path, device, "--use-device", str(device), "--erase", "/dev/null")[0])
        assert other[0] == 2
        assert "/dev/null" in other[1]
    assert digest(image) == before


def test_a_mounted_device_is_refused_whatever_is_named(engines: None, image: Path, tmp_path: Path) -> None:
    ext4(image)
    before = digest(image)
    with loop_over(image) as device, mounted(device, tmp_path / "theirs") as point:
        for command in commands(tmp_path, device, "--use-device", str(device), "--erase", str(device)):
            code, said = ended(*command)
            assert (code, f"mounted at {point}" in said) == (2, True), said
        assert ended("clean")[0] == 0
        assert point.is_mount()
    assert digest(image) == before


def test_devices_in_use_are_refused_even_to_erase(image: Path, tmp_path: Path) -> None:
    with loop_over(image) as device:
        with device.open("rb"):
            assert "open in process" in look(str(device)).used
        with loop_over(device) as above:
            assert look(str(device)).used == f"behind {above}"
        held = os.open(device, os.O_RDONLY | os.O_EXCL)
        try:
            with pytest.raises(BadInput, match=r"in use|open in process"):
                refuse(look(str(device)), erase=True)
        finally:
            os.close(held)
        swap(image)
        if subprocess.run(["swapon", device], check=False, capture_output=True).returncode == 0:
            try:
                assert look(str(device)).used == "swapped to"
            finally:
                subprocess.run(["swapoff", device], check=True)
        assert look(str(device)).used == ""


def test_what_is_no_block_device_is_refused(tmp_path: Path) -> None:
    for name in (str(tmp_path), "/dev/null", str(tmp_path / "missing")):
        with pytest.raises(BadInput, match=re.escape(name)):
            look(name)


def test_a_device_to_erase_is_used_and_left_empty(engines: None, image: Path, tmp_path: Path) -> None:
    ext4(image)
    with loop_over(image) as device:
        for command in commands(tmp_path, device, "--use-device", str(device), "--erase", str(device)):
            code, said = ended(*command)
            assert (code, "commits/s" in said) == (0, True), said
            assert look(str(device)).holds == ()
        assert ('holds ext4 "precious"' in said) is False  # the first run emptied it
        recordings = [json.loads(x) for x in (tmp_path / "out-device" / "journal.jsonl").read_text().splitlines()[1:]]
        assert (recordings[0]["place"]["kind"], recordings[0]["place"]["device"]) == ("device", str(device))


def test_a_ledger_that_names_what_is_now_somebody_elses_releases_nothing(image: Path, tmp_path: Path) -> None:
    ext4(image)
    before = digest(image)
    with loop_over(image) as device, mounted(device, tmp_path / "theirs") as point:
        number = device.name[4:]
        killed_lab(f"""
ledger._made("directory", path={str(tmp_path)!r})
ledger._made("filesystem", path={str(device)!r}, label="at-00000000")
ledger._made("filesystem", path={str(device)!r}, label=None)
ledger._made("loop", path={str(device)!r}, number={number}, image={str(tmp_path / "image")!r}, inode=1)
ledger._made("loop", path={str(device)!r}, number={number}, image={str(image)!r}, inode=1)
ledger._made("queue", path={str(device)!r}, queue="/sys/block/{device.name}/queue", disk="0", before={{"scheduler": "bfq"}})
ledger._made("mount", path={str(point)!r}, source="/dev/loop99999")
ledger._made("mount", path={str(tmp_path / "elsewhere")!r}, source={str(device)!r})
""")
        assert release_leftovers() == []
        assert point.is_mount()
        assert Path(f"/sys/block/{device.name}/loop/backing_file").read_text().strip() == str(image)
        assert "[none]" in Path(f"/sys/block/{device.name}/queue/scheduler").read_text()
    assert digest(image) == before


def test_a_file_system_that_a_killed_lab_left_on_a_device_is_wiped(image: Path) -> None:
    with loop_over(image) as device:
        killed_lab(f"""
ledger._made("filesystem", path={str(device)!r}, label="at-12345678")
os.system("mkfs.ext4 -q -F -L at-12345678 {device}")
""")
        assert look(str(device)).holds == ('ext4 "at-12345678"',)
        assert release_leftovers() == [f"wiped the file system that was made on {device}"]
        assert look(str(device)).holds == ()


def test_a_directory_with_something_mounted_in_it_is_not_removed(image: Path, tmp_path: Path) -> None:
    ext4(image)
    ledger = Ledger()
    ours = ledger.make_directory(tmp_path / "ours")
    with loop_over(image) as device, mounted(device, tmp_path / "ours" / "theirs", "rw") as point:
        (point / "file").write_text("data")
        with pytest.raises(OSError, match="something is mounted in it"):
            ledger.remove_directory(ours)
        assert (point / "file").read_text() == "data"
    ledger.remove_directory(ours)
    ledger.close()
