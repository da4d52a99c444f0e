"""The write cache of real drives. What sysfs and a controller answer stands in here for such drives, which no test machine
need have; it is as QEMU's NVMe, SATA and SCSI drives answered under Linux 6.1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidtest.errors import CellFailed
from acidtest.place import Ledger, drive_cache, leftovers, queue, release_leftovers
from acidtest.place import ledger as ledgers


def scsi(at: Path, cache: str = "write back") -> Path:
    """A SCSI or SATA disk as sysfs shows it."""
    disk = at / "block" / "sdz"
    about = disk / "device" / "scsi_disk" / "0:0:0:0"
    about.mkdir(parents=True)
    (about / "cache_type").write_text(f"{cache}\n")
    (disk / "device" / "wwid").write_text("naa.5000c500a1b2c3d4\n")
    (disk / "queue").mkdir()
    (disk / "diskseq").write_text("9\n")
    return disk


class Controller:
    """An NVMe controller that takes admin commands."""

    def __init__(self, *, has_cache: bool = True) -> None:
        self.on, self._has_cache = True, has_cache

    def __call__(self, at: Path, opcode: int, word_10: int, word_11: int, data: bytearray | None) -> int:
        assert at == Path("/dev/nvme3")
        match opcode, word_10:
            case drive_cache.IDENTIFY, 1:
                assert data is not None
                assert len(data) == 4096
                data[525] = 0b111 if self._has_cache else 0b110
                return 0
            case drive_cache.GET_FEATURES, 6:
                return int(self.on)
            case drive_cache.SET_FEATURES, 6:
                self.on = bool(word_11)
                return 0
        raise AssertionError((opcode, word_10))


def nvme(at: Path) -> Path:
    disk = at / "block" / "nvme3n1"
    (disk / "device").mkdir(parents=True)
    (at / "class" / "nvme").mkdir(parents=True)
    (disk / "device" / "subsystem").symlink_to(at / "class" / "nvme")
    return disk


@pytest.mark.parametrize(
    ("said", "state"),
    [("write back", "on"), ("write through", "off"), ("none", "off"), ("write back, no read (daft)", "on")],
)  # fmt: skip
def test_a_scsi_disk_tells_and_takes_it(tmp_path: Path, said: str, state: str) -> None:
    disk = scsi(tmp_path, said)
    assert drive_cache.state(disk) == state
    for to in ("off", "on"):
        drive_cache.switch(disk, to)
        assert drive_cache.state(disk) == to
        assert (disk / "device/scsi_disk/0:0:0:0/cache_type").read_text() in ("write through", "write back")


def test_an_nvme_controller_tells_and_takes_it(tmp_path: Path) -> None:
    disk, controller = nvme(tmp_path), Controller()
    for to in ("off", "on", "off"):
        drive_cache.switch(disk, to, admin=controller)
        assert controller.on == (to == "on")
        assert drive_cache.state(disk, admin=controller) == to


def test_what_has_no_cache_or_does_not_give_it_away_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        CellFailed, match=r"^/dev/nvme3n1: the drive has no volatile write cache: leave out place\.drive_"
    ):
        drive_cache.switch(nvme(tmp_path), "off", admin=Controller(has_cache=False))
    virtual = tmp_path / "block" / "vdz"
    (virtual / "device").mkdir(parents=True)
    with pytest.raises(CellFailed, match=r"^/dev/vdz: has no write cache that can be switched"):
        drive_cache.switch(virtual, "off")
    (virtual / "cache_type").write_text("write back\n")
    (virtual / "cache_type").chmod(0o444)
    with pytest.raises(CellFailed, match=r"^/dev/vdz: its write cache cannot be switched from this machine"):
        drive_cache.switch(virtual, "off")


def test_every_drive_of_this_machine_is_read_or_refused_in_one_line() -> None:
    told = 0
    for disk in Path("/sys/block").iterdir():
        try:
            assert drive_cache.state(disk) in ("on", "off")
        except drive_cache.NoSwitch as error:
            assert str(error).startswith(f"/dev/{disk.name}: ")
            assert "\n" not in str(error)
        except FileNotFoundError:
            continue  # somebody's loop device, which has just gone
        told += 1
    assert told > 0


@pytest.fixture
def sdz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """The node of a SCSI disk and what sysfs shows of it."""
    disk, node = scsi(tmp_path), tmp_path / "sdz"
    node.touch()
    monkeypatch.setattr(queue, "queue_of", lambda device: disk / "queue")
    yield node, disk


def test_the_ledger_puts_it_back(sdz: tuple[Path, Path], ledger: Ledger) -> None:
    node, disk = sdz
    id = ledger.switch_drive_cache(node, "off")  # noqa: A001
    assert drive_cache.state(disk) == "off"
    ledger.undo(id)
    assert drive_cache.state(disk) == "on"


@pytest.mark.parametrize("restarted", [False, True])
def test_what_a_killed_lab_switched_off_is_switched_on_again(
    sdz: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    """Also after a restart: some drives keep it, and tell by their own name that they are the same."""
    node, disk = sdz
    ledger = Ledger()
    ledger.switch_drive_cache(node, "off")
    ledger._file.close()  # as if it had been killed
    dead = ledger.path.with_name(f"999999999-{ledger.path.name.partition('-')[2]}")
    ledger.path.rename(dead)
    if restarted:
        monkeypatch.setattr(ledgers, "_boot_id", lambda: "another")
    assert [(leftover.kind, leftover.what) for leftover in leftovers()] == [("drive cache", str(node))]
    assert release_leftovers() == [f"switched the write cache of {node} on again"]
    assert drive_cache.state(disk) == "on"
    assert leftovers() == []


def test_another_drive_under_the_same_name_is_left_alone(sdz: tuple[Path, Path], ledger: Ledger) -> None:
    node, disk = sdz
    id = ledger.switch_drive_cache(node, "off")  # noqa: A001
    (disk / "device" / "wwid").write_text("naa.5000c500ffffffff\n")
    ledger.undo(id)
    assert drive_cache.state(disk) == "off"


def test_a_part_of_a_drive_is_refused_with_the_name_of_the_whole(
    sdz: tuple[Path, Path], ledger: Ledger, tmp_path: Path
) -> None:
    (tmp_path / "sdz1").touch()
    with pytest.raises(CellFailed, match="sdz1: is a part of /dev/sdz, whose write cache is one: name the whole drive"):
        ledger.switch_drive_cache(tmp_path / "sdz1", "off")
    assert leftovers() == []
