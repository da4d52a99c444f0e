"""Disks that stand, as a person and a test suite of somebody else use them: by the commands and by the socket."""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest import files
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import find_rig, fsync_path, sync_filesystem
from acidtest.place import check, disk_service, holders, leftovers, loops, release_leftovers
from blocks import loops_over_files_in, mounts_below

BLOCK = 4096
ACIDTEST = (sys.executable, "-c", "from acidtest.cli import main; main()")
NEVER_BY_ITSELF = "commit=3600"  # ext4 writes its journal when it is asked to, however slow this machine
Acidtest = Callable[..., Any]


@pytest.fixture(autouse=True)
def nothing_is_left(home: Path) -> Iterator[None]:
    yield
    with contextlib.suppress(BadInput, CellFailed):
        disk_service.remove_all()
    release_leftovers()
    assert mounts_below(home) == [] == loops_over_files_in(home)
    assert disk_service.names() == [] == list(home.glob("ledger/*"))


@pytest.fixture
def acidtest() -> Acidtest:
    """The answer of a command as JSON; of one that fails its exit code and what it says."""

    def run(*arguments: str) -> Any:
        command = [*ACIDTEST, "disk", *arguments, "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        return json.loads(ended.stdout) if ended.returncode == 0 else (ended.returncode, ended.stderr)

    return run


def spec(**keys: Any) -> PlaceSpec:
    return PlaceSpec(kind="disk", **{"filesystem": "raw", **keys})


def write_durably(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def write_block(device: Path, number: int, byte: int) -> None:
    """Past the file cache: one write of the disk."""
    with mmap.mmap(-1, BLOCK) as aligned:
        aligned[:] = bytes([byte]) * BLOCK
        handle = os.open(device, os.O_WRONLY | os.O_DIRECT)
        try:
            os.pwrite(handle, aligned, number * BLOCK)
        finally:
            os.close(handle)


def block(device: Path, number: int) -> bytes:
    with mmap.mmap(-1, BLOCK) as aligned:
        handle = os.open(device, os.O_RDONLY | os.O_DIRECT)
        try:
            os.preadv(handle, [aligned], number * BLOCK)
        finally:
            os.close(handle)
        return bytes(aligned)


def test_a_cut_loses_what_was_not_flushed_and_the_commands_bring_the_rest_back(
    acidtest: Acidtest, tmp_path: Path
) -> None:
    point = tmp_path / "here"
    point.mkdir()
    made = acidtest("create", "one", "--size", "64M", "--at", str(point), "--mount", NEVER_BY_ITSELF)
    assert made["mounted"] == str(point)
    assert all(setting["agrees"] for setting in made["settings"])
    write_durably(point / "durable", "x" * 10_000)
    sync_filesystem(point)
    (point / "durable").read_text()
    with (point / "written").open("w") as file:
        file.write("y" * 10_000)
    assert acidtest("cut", "one")["kept_bytes"] == 0
    assert acidtest("status", "one")["power"] == "ghost"
    with (point / "durable").open():
        code, said = acidtest("restore", "one")
        assert code == 2
        assert f"({os.getpid()})" in said
    restored = acidtest("restore", "one")
    assert (restored["mounted"], restored["repaired"]) == (str(point), False)
    assert (point / "durable").read_text() == "x" * 10_000
    assert not (point / "written").exists()
    assert [disk["name"] for disk in acidtest("list")["disks"]] == ["one"]
    assert acidtest("remove", "one") == {"removed": ["one"]}
    assert list(point.iterdir()) == []
    assert acidtest("list") == {"disks": []}


def test_the_nth_write_fails_for_the_writer_and_only_that_one(acidtest: Acidtest) -> None:
    made = acidtest(
        "create", "eio", "--size", "16M", "--filesystem", "raw", "--fault", "(lose (and writes (range 12M 13M)))"
    )
    device = Path(made["device"])
    added = acidtest(
        "faults", "eio", "(fail EIO (and writes (range 0 1M) (nth 3)))", "(FAIL enospc (and reads (range 8M 9M)))"
    )
    assert [fault["fault"] for fault in added["faults"]] == [
        "(lose (and writes (range 12M 13M)))",
        "(fail EIO (and writes (range 0 1M) (nth 3)))",
        "(fail ENOSPC (and reads (range 8M 9M)))",
    ]
    write_block(device, 0, 1)
    write_block(device, 1024, 1)  # outside of the range: not counted
    write_block(device, 1, 1)
    with pytest.raises(OSError) as failed:
        write_block(device, 2, 1)
    assert failed.value.errno == errno.EIO
    write_block(device, 2, 2)
    assert block(device, 2) == bytes([2]) * BLOCK
    with pytest.raises(OSError) as failed:
        block(device, 2048)
    assert failed.value.errno == errno.ENOSPC
    write_block(device, 3072, 9)
    assert block(device, 3072) == bytes(BLOCK)
    assert [fault["struck"] for fault in acidtest("faults", "eio")["faults"]] == [1, 1, 1]
    assert acidtest("faults", "eio", "--clear")["faults"] == []
    assert block(device, 2048) == bytes(BLOCK)


def test_what_is_no_fault_is_refused_with_its_column_before_anything_is_done(acidtest: Acidtest) -> None:
    code, said = acidtest("create", "bad", "--size", "16M", "--fault", "(fail EIO (and wrties))")
    assert code == 2
    assert 'at column 16: found "wrties", expected a condition' in said
    code, said = acidtest("create", "bad", "--size", "16M", "--disk", "fast")
    assert code == 2
    assert "--disk" in said
    code, said = acidtest("faults", "none", "tear")
    assert code == 2
    assert "there is no disk none" in said
    assert disk_service.names() == []


def test_a_disk_with_a_log_goes_back_to_any_record_again_and_again_until_a_cut_ends_its_past(
    acidtest: Acidtest,
) -> None:
    disk = disk_service.create("logged", spec(), 16, logs=True)
    device = disk.device
    assert device
    for byte in (1, 2, 3):
        write_block(device, 5, byte)
        fsync_path(device)
    records = acidtest("log", "logged")["records"]
    writes = [record["record"] for record in records if record["kind"] == "write"]
    assert len(writes) == 3
    for byte in (2, 1, 3, 2):  # as a search by halving does
        assert acidtest("restore", "logged", "--record", str(writes[byte - 1] + 1))["device"] == str(device)
        assert block(device, 5) == bytes([byte]) * BLOCK
    write_block(device, 6, 7)
    fsync_path(device)
    last = acidtest("status", "logged")["log_records"]
    assert [back for back, _ in acidtest("log", "logged")["left"]] == [writes[byte - 1] + 1 for byte in (2, 1, 3, 2)]
    acidtest("restore", "logged", "--record", str(writes[2] + 1))
    assert (block(device, 5)[0], block(device, 6)[0]) == (3, 0)
    acidtest("restore", "logged", "--record", str(last))
    assert (block(device, 5)[0], block(device, 6)[0]) == (2, 7)
    assert "takes no fault" in acidtest("faults", "logged", "(lose)")[1]
    acidtest("cut", "logged")
    acidtest("restore", "logged", "--record", str(writes[0] + 1))  # also while its power is cut
    assert block(device, 5)[0] == 1
    acidtest("cut", "logged")
    acidtest("restore", "logged")
    assert acidtest("log", "logged")["left"] == []
    code, said = acidtest("restore", "logged", "--record", "1")
    assert code == 2
    assert "gone back in from" in said and "a cut or a snapshot ended what was before" in said


def test_a_snapshot_of_a_disk_with_a_log_outlives_going_back_and_not_a_cut(acidtest: Acidtest) -> None:
    """What survived a cut takes the place of the snapshot, and is never given back as if it were that."""
    device = disk_service.create("both", spec(), 16, logs=True).device
    assert device
    write_block(device, 5, 1)
    acidtest("snapshot", "both")
    write_block(device, 5, 2)
    acidtest("restore", "both", "--record", str(acidtest("status", "both")["log_records"]))
    assert block(device, 5)[0] == 2
    acidtest("restore", "both", "--snapshot")
    assert block(device, 5)[0] == 1
    acidtest("cut", "both")
    acidtest("restore", "both")
    code, said = acidtest("restore", "both", "--snapshot")
    assert code == 2
    assert "no snapshot was taken of it since it was restored after a cut" in said


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1 << 16)), max_size=8), st.integers(0, 1 << 16))
def test_records_that_were_gone_back_over_are_left_out(steps: list[tuple[int, int]], asked: int) -> None:
    """Against a disk that keeps what it held at each number of records."""
    held: list[list[int]] = [[]]  # by how many records there are: those on the disk
    present: list[int] = []
    left: list[tuple[int, int]] = []
    for writes, back in steps:
        for _ in range(writes):
            present = [*present, len(held) - 1]
            held.append(present)
        left.append((back % len(held), len(held) - 1))
        present = held[left[-1][0]]
    record = asked % len(held)
    without = disk_service.skipped(left, record)
    assert [number for number in range(record) if number not in without] == held[record]


def test_a_fault_cuts_the_power_at_a_request_and_the_disk_is_restored_as_after_any_cut(home: Path) -> None:
    disk_service.create("counted", spec(), 16, faults=["(cut none (and writes (range 0 1M) (nth 3)))"])
    with disk_service.opened("counted") as disk:
        assert disk.device
        for number in range(4):
            write_block(disk.device, number, 1)
            fsync_path(disk.device)
        assert disk.drive.stats().power == "ghost"
    with disk_service.opened("counted") as disk:
        disk.restore()
        assert disk.device
        assert [block(disk.device, number)[0] for number in range(4)] == [1, 1, 0, 0]
        assert disk.drive.stats().faults == []


def test_no_experiment_has_a_disk_that_takes_its_power_by_itself() -> None:
    for fault in ("(cut none writes)", "lie-about-flush, ( CUT all (nth 3))"):
        with pytest.raises(BadInput, match="cuts its own power"):
            check(spec(disk_faults=fault))


def test_a_snapshot_is_gone_back_to(home: Path) -> None:
    disk_service.create("kept", spec(), 16)
    with disk_service.opened("kept") as disk:
        assert disk.device
        with pytest.raises(BadInput, match="no snapshot"):
            disk.go_back(None)
        with pytest.raises(BadInput, match="nothing to restore"):
            disk.restore()
        write_block(disk.device, 0, 1)
        disk.snapshot()
        write_block(disk.device, 0, 2)
        disk.go_back(None)
        assert block(disk.device, 0) == bytes([1]) * BLOCK


def test_the_socket_obeys_several_programs_and_ends_none_for_what_is_no_command(home: Path) -> None:
    disk = disk_service.create("told", spec(), 16)
    assert disk.socket.stat().st_mode & 0o777 == 0o600
    assert disk.directory.stat().st_mode & 0o777 == 0o700

    def say(program: socket.socket, command: dict[str, Any] | bytes) -> dict[str, Any]:
        program.sendall((command if isinstance(command, bytes) else json.dumps(command).encode()) + b"\n")
        with program.makefile("rb") as answers:
            answer: dict[str, Any] = json.loads(answers.readline())
        return answer

    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        one.connect(str(disk.socket))
        other.connect(str(disk.socket))
        assert say(one, {"command": "fault", "fault": "(fail EIO flushes)"}) == {"answer": "done"}
        assert say(other, b"no command")["answer"] == "failed"
        assert "at column 1" in say(other, {"command": "fault", "fault": ")"})["message"]
        assert say(other, {"command": "stats"})["faults"] == [{"fault": "(fail EIO flushes)", "struck": 0}]
        assert say(one, {"command": "mend"}) == {"answer": "done"}
        assert say(other, {"command": "stats"})["faults"] == []
        assert disk.device
        write_block(disk.device, 0, 1)
        assert say(one, {"command": "cut", "keep": "none", "seed": 1, "flushes": "succeed"})["lost_bytes"] == BLOCK
    with disk_service.opened("told") as cut:
        assert block(disk.device, 0)[0] == 1
        cut.restore()
        assert block(disk.device, 0)[0] == 0
    tell = [str(find_rig()), "disk", "--tell", str(disk.socket), '{"command":"mend"}']
    assert json.loads(subprocess.run(tell, capture_output=True, check=True).stdout) == {"answer": "done"}


def test_other_labs_leave_a_standing_disk_alone_and_clean_takes_it_also_when_it_was_killed(home: Path) -> None:
    disk = disk_service.create("first", spec(filesystem="ext4"), 64)
    disk_service.create("second", spec(), 16)
    assert disk.device and disk.mounted
    assert leftovers() == [] == release_leftovers()
    write_durably(disk.mounted / "there", "still")
    with disk_service.opened("second") as second:
        os.kill(_pid(second), signal.SIGKILL)
        _until_unlocked(second)
    with pytest.raises(CellFailed, match="its process is gone"), disk_service.opened("second"):
        pass
    assert {left.kind for left in leftovers()} >= {"loop", "fuse", "directory", "process"}
    clean = subprocess.run([*ACIDTEST, "clean", "--json"], capture_output=True, text=True, check=True)
    released = json.loads(clean.stdout)["released"]
    assert "removed the disk first" in released
    assert any(str(home / "disks" / "second") in line for line in released)
    assert disk_service.names() == []
    assert not loops.is_over(int(disk.device.name[4:]), disk.drive.file, 2)


def test_a_disk_that_could_not_be_removed_is_removed_later(
    acidtest: Acidtest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unmounted by then, and its mount point is a directory of a file system that everybody uses."""
    made = disk_service.create("busy", spec(filesystem="ext4"), 64)
    assert made.device and made.mounted
    monkeypatch.setattr(loops, "PATIENCE_S", 0.2)
    named = f"{made.device} is in use by {Path('/proc/self/comm').read_text().strip()} ({os.getpid()})"
    held = os.open(made.device, os.O_RDONLY)
    try:
        for _ in range(2):
            with pytest.raises(BadInput) as refused, disk_service.opened("busy") as disk:
                disk.remove()
            assert refused.value.message == named
        assert acidtest("status", "busy")["mounted"] is None
    finally:
        os.close(held)
    assert acidtest("remove", "busy") == {"removed": ["busy"]}


def test_who_sees_a_device_mounted_in_mounts_of_its_own_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, device = tmp_path / "proc", Path("/dev/null")
    line = "36 35 7:9 / {} rw,noatime - ext4 {} rw\n"
    for name, namespace, comm, mounted in (
        ("self", "1", "us", ""),
        ("11", "1", "beside us", line.format("/here", device)),
        ("12", "2", "a copy", line.format("/here", device)),
        ("13", "2", "another", line.format("/there", "/dev/sda1")),
    ):
        at = processes / name
        (at / "ns").mkdir(parents=True)
        (processes / f"namespace-{namespace}").touch()
        (at / "ns" / "mnt").symlink_to(processes / f"namespace-{namespace}")
        (at / "comm").write_text(f"{comm}\n")
        (at / "mountinfo").write_text(mounted)
    monkeypatch.setattr(files, "PROC", processes)
    assert holders.users_of_device(device) == ["a copy (12)"]


def _pid(disk: disk_service.StandingDisk) -> int:
    return int(Path(disk.record.ledger).name.partition("-")[0])


def _until_unlocked(disk: disk_service.StandingDisk) -> None:
    """The kernel closes what a killed process had open, its lock among it, before it is gone."""
    descriptor = os.pidfd_open(_pid(disk))
    try:
        select.select([descriptor], [], [], 60)
    finally:
        os.close(descriptor)


def test_every_fault_in_the_documents_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "DISK.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\((?:fail|rot|lose|stop|slow|misdirect|cut).*\)$", page, re.MULTILINE)
    shown += re.findall(r"`(\((?:fail|lose) [^`…]*\))`", page)
    assert len(shown) >= 7
    for fault in shown:
        disk_service.check_fault(fault)


@pytest.mark.long  # the example of a document
def test_fio_finds_what_was_flushed_and_misses_what_was_not() -> None:
    script = Path(__file__).parents[2] / "docs" / "examples" / "disk-under-fio.sh"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ended = subprocess.run(
        ["sh", script, "psync"], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [line.split()[-2:] for line in ended.stdout.splitlines()] == [
        *[["intact", "ok"]] * 3,
        *[["lost", "ok"]] * 2,
        ["intact", "ok"],
        ["lost", "ok"],
    ]
