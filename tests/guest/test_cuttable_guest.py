"""The disks of a whole machine lose their power: what a stack has flushed is there afterwards, and what it has not is gone."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest.errors import BadInput, CellFailed, MachineLacks
from acidtest.experiment import PlaceSpec
from acidtest.files import find_rig
from acidtest.place import DirectoryPlace, Ledger, check, fsck
from acidtest.place.cuttable import BLOCK, PROBE_BLOCKS
from acidtest.place.guest import cuttable, kernel
from acidtest.place.guest.agent import Gone, Monitor
from acidtest.place.guest.cuttable import CuttableGuest
from acidtest.place.guest.stacks import STACKS
from acidtest.powercut.drives import files_of, simulated

MACHINE: dict[str, Any] = {
    "kind": "machine", "filesystem": "ext4", "size_mb": 64, "guest_memory_mb": 384, "guest_cpus": 1,
}  # fmt: skip
RANDOM = "cat /proc/sys/kernel/random/uuid"
Made = Callable[..., CuttableGuest]


@pytest.fixture
def made(has: kernel.Kernel, tmp_path: Path) -> Iterator[Made]:
    """Makes whole machines, each with disks of its own."""
    ledger = Ledger()
    with ExitStack() as held:

        def one(**keys: Any) -> CuttableGuest:
            spec = PlaceSpec(**MACHINE | keys)
            home = DirectoryPlace(tmp_path, ledger, needed_bytes=0)
            held.callback(home.release)
            drive = simulated(Mock(place=spec), home, ledger, 64, None)
            held.callback(drive.release)
            place = CuttableGuest(spec, home, drive, files_of(drive), ledger, [], find_rig(), [], home.path / "beside")
            held.callback(place.release)
            return place

        yield one
    assert list(tmp_path.iterdir()) == []
    ledger.close()
    assert not ledger.path.exists()


@pytest.mark.long  # make test has a stack in tests/e2e/test_whole_machine.py
@pytest.mark.parametrize("stack", ["lvm", "md-raid1", "dm-writecache"])
def test_what_a_stack_has_flushed_survives_and_the_rest_does_not(stack: str, made: Made) -> None:
    place = made(stack=stack)
    assert place.loses("none", (1,))
    place.prepare([])
    place.keep()
    place.begin()
    assert [(setting.name, setting.in_force) for setting in place.settings() if setting.is_wrong] == []
    assert {setting.name: setting.in_force for setting in place.settings()}["place.stack"] == stack
    write = f"set -e; cd {place.path}; dd if=/dev/urandom of=kept bs=4096 count=9 conv=fsync 2>/run/dd; md5sum kept"
    kept = place._up.run("writing", write)
    place._up.run("writing", f"cd {place.path}; seq 1 9999 >not-flushed")
    first = place._up.run("asking", RANDOM)
    assert place.cut("none", 1).lost_bytes >= 0
    assert not place._up.alive
    place.recover()
    assert place._up.run("reading", f"cd {place.path}; ls; md5sum kept").split() == [
        "kept",
        "lost+found",
        *kept.split(),
    ]
    assert place._up.run("asking", RANDOM) != first  # both go on from the same saved state
    assert place.end() == ("clean", "")
    place.begin()  # the guest that has recovered has the next load
    assert place._up.run("reading", f"ls {place.path}").split() == ["lost+found"]


def test_flushes_that_do_not_reach_the_disk_are_noticed_before_any_cut(made: Made) -> None:
    # Which nobody told the place; the drive writes nothing back by itself while a busy machine takes its time.
    place = made(disk_faults="lie-about-flush", disk="nvme", disk_parameters="destage_ms=60000")
    with pytest.raises(CellFailed, match="/dev/vda: what was flushed did not reach the simulated disk"):
        place.loses("none", (1,))


def test_a_guest_that_does_not_come_up_is_no_witness_against_its_disk(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.place.guest.machine.BOOT_S", 0.0)
    with pytest.raises(Gone, match="did not come up"):
        made().loses("none", (1,))


def unbooted(tmp_path: Path, files: Sequence[Path] = (), **keys: Any) -> tuple[CuttableGuest, Mock]:
    """A whole machine of stand-ins, and what notes the order in which its disks and its guest are asked."""
    asked, spec = Mock(), PlaceSpec(**MACHINE | keys)
    asked.drive.stats.return_value.faults = []
    place = CuttableGuest(spec, Mock(path=tmp_path), asked.drive, files, Mock(), [], find_rig(), [], tmp_path)
    place._guest, place._system = asked.guest, Mock(settings=Mock(return_value=[]))
    return place, asked


def test_the_disks_lose_their_power_while_the_guest_still_runs(tmp_path: Path) -> None:
    place, asked = unbooted(tmp_path)
    place.cut("none", 1)
    assert [name for name, _, _ in asked.mock_calls] == ["drive.cut", "guest.kill"]


@pytest.mark.parametrize(("survived", "loses"), [("aa", True), ("ab", False), ("ba", False), ("bb", False)])
def test_that_a_cut_loses_something_is_shown_on_each_disk(survived: str, loses: bool, tmp_path: Path) -> None:
    files = [tmp_path / disk for disk in ("first", "second")]
    for file, letter in zip(files, survived, strict=True):
        file.write_bytes(letter.encode() * BLOCK * PROBE_BLOCKS)
    assert unbooted(tmp_path, files)[0]._lose("none", 1) is loses


@pytest.mark.parametrize("stack", [name for name in STACKS if name != "none"])
def test_a_stack_is_in_force_only_if_the_guest_shows_it(stack: str, tmp_path: Path) -> None:
    place, asked = unbooted(tmp_path, stack=stack)
    for seen, agrees in ((STACKS[stack].shown, True), ("zero", False), ("", False)):
        asked.guest.run.return_value = f"{seen}\n"
        (found,) = place.settings()
        assert (found.name, found.agrees) == ("place.stack", agrees)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"filesystem": None}, "kind machine needs a file system"),
        ({"filesystem": "raw"}, "filesystem"),
        ({"disk_failure": "crash-states"}, "crash states of a whole machine"),
        ({"disk_faults": "ignore-write-through"}, "ignore-write-through cannot be told"),
    ],
)
def test_what_no_whole_machine_has_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        check(PlaceSpec(**MACHINE | keys))


def test_programs_of_a_stack_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuttable, "program", lambda name: None)
    cuttable.lacks("none")
    for name, stack in STACKS.items():
        if name != "none":
            with pytest.raises(MachineLacks, match=", ".join(stack.programs)) as lacks:
                cuttable.lacks(name)
            assert stack.package in lacks.value.remedy


def test_a_checking_program_may_run_elsewhere() -> None:
    asked = []

    def run(command: Any) -> tuple[int, str]:
        asked.append(list(command))
        return 4, "Pass 1: Checking\n  Inode 12 is wrong\n"

    assert fsck.look("ext4", Path("/dev/vda"), run) == ("errors", "Inode 12 is wrong")
    assert not fsck.repair("ext4", Path("/dev/vda"), run)[0]
    assert [command[-1] for command in asked] == ["/dev/vda", "/dev/vda"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["active", "completed"], None),
        (["active", "failed"], "could not save the guest: failed"),
    ],
)
def test_qemu_is_asked_to_save_until_it_has(answers: list[str], words: str | None, tmp_path: Path) -> None:
    monitor, asked = Monitor(tmp_path / "monitor"), []
    to = os.open(tmp_path / "monitor.in", os.O_RDWR)
    out = os.open(tmp_path / "monitor.out", os.O_RDWR)

    def qemu() -> None:
        os.write(out, b'{"QMP": {}}\n')
        states = iter(answers)
        with os.fdopen(to, "rb", closefd=False) as commands:
            while len(asked) < 3 + len(answers):
                asked.append(json.loads(commands.readline()))
                answer = {"status": next(states)} if asked[-1]["execute"] == "query-migrate" else {}
                os.write(out, b'{"event": "STOP"}\n' + json.dumps({"return": answer}).encode() + b"\n")

    thread = threading.Thread(target=qemu)
    thread.start()
    try:
        if words is None:
            monitor.save(tmp_path / "it's saved")
        else:
            with pytest.raises(Gone, match=words):
                monitor.save(tmp_path / "it's saved")
    finally:
        thread.join()
        os.close(to)
        os.close(out)
    (migrate,) = [one["arguments"] for one in asked if one["execute"] == "migrate"]
    assert migrate == {"uri": f"exec:cat >'{tmp_path}/it'\"'\"'s saved'"}


def test_a_kernel_without_all_that_is_kept_now_counts_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "state_directory", lambda: tmp_path)
    home = tmp_path / "guest" / "linux-image-1_1"
    for folder in kernel.KEPT:
        (home / "modules" / folder.replace("/", "-")).mkdir(parents=True)
    (home / "package.json").write_text('{"package": "linux-image-1", "version": "1", "sha256": ""}')
    assert kernel.installed() is not None
    (home / "modules" / "drivers-md").rmdir()
    assert kernel.installed() is None
