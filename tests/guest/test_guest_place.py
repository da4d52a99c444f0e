"""A guest's disk as it is asked for, and what comes and goes: one guest serves all of these, as it serves many cells."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidtest.conductor.rig import converse
from acidtest.engine import catalogue
from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import find_rig
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.protocol import ClosedLoop, Duration, Job, LoadPhase, Progress, RunPhase
from acidtest.place import GuestPlace, Guests, Ledger, make
from acidtest.place.cgroup import parse_pressure, usage_v2
from acidtest.place.guest.machine import Guest
from acidtest.workload.commits import CommitsWorkload
from places import IN_GUESTS

Made = Callable[..., Any]


@pytest.fixture
def made(shared: tuple[Ledger, Guests, Path]) -> Made:
    """Makes a place in the one guest; it is released at the end."""
    ledger, guests, base = shared

    @contextmanager
    def one(filesystem: str, **more: Any) -> Iterator[GuestPlace]:
        spec = PlaceSpec(kind="guest", filesystem=filesystem, size_mb=320, guest_memory_mb=512, **more)
        place = make(spec, base, ledger, database_bytes=1, guests=guests)
        assert isinstance(place, GuestPlace)
        try:
            yield place
        finally:
            place.release()

    return one


def in_guest(place: GuestPlace, script: str) -> str:
    guest: Guest = place._guest
    return guest.run("asking the guest", script)


# What this machine's own kernel has too is made by the place contract, and here by the tests below.
HERE_TOO = [pytest.param(name, marks=pytest.mark.long) for name in ("xfs", "ext2")]


@pytest.mark.parametrize("filesystem", [*IN_GUESTS, *HERE_TOO])
def test_it_is_formatted_mounted_and_read_back(made: Made, filesystem: str) -> None:
    with made(filesystem, mount="noatime", scheduler="mq-deadline", read_ahead_kb=64) as place:
        facts = place.facts()
        assert (facts.kind, facts.filesystem, facts.scheduler) == ("guest", filesystem, "mq-deadline")
        assert (facts.read_ahead_kb, facts.write_cache, facts.direct_io) == ("64", "write back", "yes")
        assert "noatime" in facts.mount_options.split(",")
        assert f"mkfs.{filesystem}" in facts.mkfs
        assert facts.guest is not None
        assert (facts.guest.accelerator, facts.guest.cache, facts.guest.memory_mb) == ("tcg", "none", 512)
        asked = {s.name: (s.in_force, s.agrees) for s in place.settings()}
        assert asked == {
            "place.filesystem": (filesystem, True),
            "place.mount noatime": ("noatime", True),
            "place.scheduler": ("mq-deadline", True),
            "place.read_ahead_kb": ("64", True),
        }
        machine = place.machine()
        assert machine.kernel.startswith("Linux ")
        assert machine.kernel.removeprefix("Linux ") in facts.guest.kernel
        assert machine.kernel != f"Linux {os.uname().release}"


def test_nothing_of_the_cell_before_is_left(made: Made) -> None:
    with made("raw") as place:
        before = place.facts()
    with made("ext4", scheduler="bfq", read_ahead_kb=8, nr_requests=16) as place:
        assert place.facts().scheduler == "bfq"
        in_guest(place, f"echo left >{place.path}/file")
        guest = place._guest
    with made("raw") as place:
        assert place._guest is guest
        after = place.facts()
        assert not in_guest(place, "ls -A " + str(place.path))
    assert (after.scheduler, after.read_ahead_kb, after.nr_requests) == (
        before.scheduler, before.read_ahead_kb, before.nr_requests,
    )  # fmt: skip


def test_it_has_no_network(made: Made) -> None:
    with made("raw") as place:
        assert in_guest(place, "ls /sys/class/net").split() == ["lo"]


def test_an_option_that_the_kernel_ignores_does_not_agree(made: Made) -> None:
    with made("ext4", mount="noatime,oldalloc") as place:
        wrong = [(s.name, s.source) for s in place.settings() if not s.agrees]
        assert wrong == [("place.mount oldalloc", "mountinfo")]


@pytest.mark.parametrize(
    ("filesystem", "more", "words"),
    [
        ("jfs", {"mount": "nobarrier"}, "(?s)mount -t jfs -o nobarrier.*Unrecognized mount option"),
        ("jfs", {"scheduler": "cfq"}, "scheduler cfq: .*the guest has .*mq-deadline"),
        ("xfs", {"mount": "nobarrier"}, "mount -t xfs -o nobarrier: .*Unknown parameter"),
    ],
)
def test_what_cannot_be_is_said_in_the_guests_words(made: Made, filesystem: str, more: Any, words: str) -> None:
    with pytest.raises(CellFailed, match=words), made(filesystem, **more):
        pass


def test_a_file_system_that_the_guests_kernel_lacks(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILESYSTEMS, "zfs", replace(FILESYSTEMS["ext4"], module=""))
    with pytest.raises(CellFailed, match=r"the guest's kernel \(linux-image-.*\) has no zfs"), made("zfs"):
        pass


def test_a_database_that_does_not_fit(made: Made, tmp_path: Path) -> None:
    with (tmp_path / "large").open("xb") as file:
        file.truncate(400 << 20)
    with made("raw") as place, pytest.raises(CellFailed, match=r"320 MiB are too few .* raise place.size_mb"):
        place.copy([tmp_path / "large"], place.subdirectory("cell"))


def test_every_kind_of_file_arrives_and_what_changed_comes_back(made: Made, tmp_path: Path) -> None:
    source = tmp_path / "a database.db"
    source.write_bytes(os.urandom(3_000_001))  # large, and no whole number of blocks
    with made("jfs") as place:
        directory = place.subdirectory("cell")
        place.copy([source], directory)
        (directory / "empty").mkdir()
        (directory / "a link").symlink_to("small 'file'")
        (directory / "small 'file'").write_text("small")
        (directory / "small 'file'").chmod(0o750)
        shared_bytes = tmp_path / "installed"
        shared_bytes.write_text("the engine's own")
        (directory / "log").hardlink_to(shared_bytes)
        place.settle()
        said = in_guest(place, f"cd {directory}; sha256sum a*.db small*; stat -c %a small*; readlink 'a link'; ls -F")
        there = in_guest(place, f"grep ' {place.path} ' /proc/self/mountinfo")
        in_guest(
            place, f"cd {directory}; echo changed >log; printf new | dd of='a database.db' conv=notrunc 2>/dev/null"
        )
        place._guest.bring_back(place.path, [directory / source.name])
        assert (directory / "log").read_text() == "changed\n"
        assert (directory / source.name).read_bytes()[:3] == b"new"
        assert shared_bytes.read_text() == "the engine's own"
    assert hashlib.sha256(source.read_bytes()).hexdigest() in said
    assert hashlib.sha256(b"small").hexdigest() in said
    assert "750" in said.split()
    assert "empty/" in said
    assert " jfs /dev/vda " in there


def test_a_rig_that_is_no_longer_listened_to_ends(made: Made, shared: tuple[Ledger, Guests, Path]) -> None:
    engine = catalogue.find("sqlite")
    with made("jfs") as place:
        directory = place.subdirectory("cell")
        instance = engine.adopt(directory, {}, "none")
        run = RunPhase(
            terminals=1,
            threads=None,
            pacing=ClosedLoop(think_ms=0),
            warmup_s=0,
            extent=Duration(seconds=600),
            retries=1,
        )
        job = Job(seed=1, target=instance.target(), workload=CommitsWorkload(row_bytes=10), inspect=[],
                  phases=[LoadPhase(sessions=1), run])  # fmt: skip
        place.settle()

        def start(job: bytes, environment: Any) -> Any:
            return place.rig(find_rig(), engine.files(), job, environment)

        events = converse(job, shared[0], instance.environment(), start)
        assert any(isinstance(event, Progress) and event.phase == "run" for event in events)
        assert "acidtest-rig job" in in_guest(place, "ps")
        events.close()  # type: ignore[attr-defined]
        assert "acidtest-rig job" not in in_guest(place, "ps")
        assert place._guest.alive


def test_a_guest_that_dies_is_not_used_again(made: Made) -> None:
    with made("jfs") as place:
        guest = place._guest
        with pytest.raises(CellFailed, match=r"the guest ended: .*Kernel panic"):
            in_guest(place, "echo 1 >/proc/sys/kernel/panic_on_oops; echo c >/proc/sysrq-trigger")
        assert not guest.alive
    with made("raw") as place:
        assert place._guest is not guest
        assert json.dumps(place.facts().model_dump())


LIMITED = """
mkdir -p /groups
mount -t cgroup2 none /groups
echo +memory > /groups/cgroup.subtree_control
group=/groups/acidtest-v2
mkdir $group
echo 16777216 > $group/memory.max
[ ! -e $group/memory.swap.max ] || echo 0 > $group/memory.swap.max
exec 3</dev/vda  # with the last that has it open, what is cached of it goes
sh -c "echo \\$\\$ > $group/cgroup.procs; for again in 1 2; do dd if=/dev/vda of=/dev/null bs=64k count=1024; done" 2>/dev/null
for name in max current swap.current stat; do echo "== $name"; cat $group/memory.$name 2>/dev/null || true; done
sh -c "echo \\$\\$ > $group/cgroup.procs; exec tail /dev/zero" >/dev/null 2>&1 || true
for name in peak events pressure; do echo "== $name"; cat $group/memory.$name 2>/dev/null || true; done
exec 3<&-
rmdir $group
umount /groups
"""


def test_a_control_group_of_version_2_answers_as_it_is_read(made: Made) -> None:
    with made("ext4") as place:
        said = in_guest(place, LIMITED)
    files = dict(part.split("\n", 1) for part in said.split("== ")[1:])
    assert files["max"].strip() == "16777216"
    usage = usage_v2(files["stat"], int(files["current"]), int(files["swap.current"] or 0))
    assert 0 < usage.file_bytes <= usage.usage_bytes < 17 << 20
    assert usage.refaults_file > 1000
    assert int(files["peak"]) < 17 << 20  # charges that must not fail pass the limit by some pages
    assert "oom_kill 1" in files["events"].splitlines()
    pressure = parse_pressure(files["pressure"])
    assert pressure is None or pressure[0] >= pressure[1] >= 0
