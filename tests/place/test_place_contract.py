"""What every place keeps: what is copied there is there, what is asked for is in force, and nothing of it remains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.filesystems import FILESYSTEMS
from acidtest.place import Ledger, Place, check, leftovers, make
from acidtest.place.device_safety import look
from acidtest.place.mkfs import commands
from acidtest.place.mounts import DEFAULTS
from blocks import loop_over, loops_over_files_in, mounts_below
from places import LOCAL, MEMBERS, smallest_mb

BLOCK = [name for name in MEMBERS if name != "directory"]
MOUNTED = [name for name in BLOCK if not name.startswith(("raw", "disk raw"))]
# A queue is set and read back alike whatever lies on it: one of each way to a block device, and the file system that reads
# ahead for itself.
QUEUES = ("loop btrfs", "device", "disk ext4", "raw")
Made = Callable[..., AbstractContextManager[Place]]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base"
    path.mkdir()
    return path


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path, base: Path) -> Iterator[Made]:
    """Makes places of the member named in ``request``, and afterwards looks whether anything is left of them."""
    spec = dict(MEMBERS[request.param])
    ledger = Ledger()
    with ExitStack() as held:
        if "device" in request.param:
            spec["device"] = str(held.enter_context(loop_over(tmp_path / "drive", smallest_mb("xfs"))))

        @contextmanager
        def one(**more: Any) -> Iterator[Place]:
            place = make(PlaceSpec(**{**spec, **more}), base, ledger, database_bytes=1)
            try:
                yield place
            finally:
                place.release()

        yield one
        assert list(base.iterdir()) == []
        assert mounts_below(base) == [] == loops_over_files_in(base)
        ledger.close()
        assert not ledger.path.exists()
        assert leftovers() == []
        if "device" in spec:
            found = look(spec["device"])
            assert (found.holds, found.used) == ((), "")


def members(*names: str, typical: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Over these members; where ``typical`` are named, over the others in the long run only."""
    others = set(names) - set(typical or names)
    chosen = [pytest.param(name, marks=[pytest.mark.long] * (name in others)) for name in names]
    return pytest.mark.parametrize("made", chosen, indirect=True)


@members(*MEMBERS)
def test_what_is_asked_for_is_in_force_and_what_is_copied_is_there(
    made: Made, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name = request.node.callspec.params["made"]
    source = tmp_path / "database"
    source.write_bytes(bytes(range(256)) * 300)
    with made(**({"mount": "sync,noatime"} if name in MOUNTED else {})) as place:
        facts, settings = place.facts(), place.settings()
        directory = place.subdirectory("cell")
        place.copy([source], directory)
        with (directory / "database").open("rb") as file:
            assert file.read(76_800) == source.read_bytes()
        assert place.database_bytes([directory / "database"]) == 76_800
        place.settle()
        place.remove(directory)
        assert not directory.exists()
    assert all(setting.agrees for setting in settings)
    assert facts.kind == name.split()[0]
    assert facts.free_bytes > 0
    if name in MOUNTED:
        assert facts.filesystem == MEMBERS[name]["filesystem"]
        assert facts.mkfs.startswith(f"mkfs.{facts.filesystem} ")
        assert facts.mount_point == str(place.path)
        assert {"sync", "noatime"} <= set(facts.mount_options.split(","))
        assert len([s for s in settings if s.source == "mountinfo"]) == 3
    if name in BLOCK:
        assert "unknown" not in (facts.scheduler, facts.nr_requests, facts.read_ahead_kb, facts.write_cache)
    if name.startswith("disk"):
        assert (facts.direct_io, facts.image) == ("yes", f"memory, {MEMBERS[name]['size_mb']} MiB")
        assert facts.disk.startswith("rotating, write cache 32 MiB" if "rotating" in name else "no timing, ")
    elif name.startswith(("loop", "raw")) and name != "raw device":
        assert (facts.direct_io, facts.image) == ("yes", "image, 512 MiB, preallocated")


@members(*BLOCK, typical=QUEUES)
def test_the_queue_is_set_read_back_and_restored(made: Made) -> None:
    asked = {"scheduler": "mq-deadline", "scheduler_tunables": "fifo_batch=4", "queue": "nomerges=2"}
    for _ in range(2):  # what the first one set, the second one does not find
        with made(**asked, read_ahead_kb=64, nr_requests=32, write_cache="write through") as place:
            found = {s.name: (s.asked, s.in_force) for s in place.settings() if s.source == "sysfs"}
            found.pop("place.rotational", None)  # a simulated disk's
            facts = place.facts()
        assert found == {
            "place.scheduler": ("mq-deadline", "mq-deadline"),
            "place.fifo_batch": ("4", "4"),
            "place.nomerges": ("2", "2"),
            "place.write_cache": ("write through", "write through"),
            "place.nr_requests": ("32", "32"),
            "place.read_ahead_kb": ("64", "64"),
        }
        assert (facts.scheduler, facts.read_ahead_kb, facts.nr_requests) == ("mq-deadline", "64", "32")
        with made() as place:
            facts = place.facts()
        assert (facts.scheduler, facts.write_cache) == ("none", "write back")
        assert facts.read_ahead_kb != "64"
        assert facts.nr_requests != "32"


@members(*BLOCK, typical=QUEUES)
def test_an_unknown_scheduler_fails_with_those_that_there_are(made: Made) -> None:
    refused: list[tuple[str, dict[str, str]]] = [
        (r"scheduler cfq: .* \(this kernel has none, mq-deadline", {"scheduler": "cfq"}),
        ("the block queue has no fifo_batch under none", {"scheduler": "none", "scheduler_tunables": "fifo_batch=1"}),
    ]
    for words, asked in refused:
        with pytest.raises(CellFailed, match=words), made(**asked):
            pass


@members(*BLOCK, typical=QUEUES)
def test_what_the_kernel_rounds_does_not_agree(made: Made) -> None:
    with made(read_ahead_kb=5) as place:
        wrong = [s for s in place.settings() if not s.agrees]
        assert ("5", "4") in [(s.asked, s.in_force) for s in wrong]


@members(*(f"loop {name}" for name in LOCAL))
def test_defaults_that_are_not_shown_hold_unless_contradicted(made: Made, request: pytest.FixtureRequest) -> None:
    filesystem = MEMBERS[request.node.callspec.params["made"]]["filesystem"]
    options = {**DEFAULTS, **FILESYSTEMS[filesystem].defaults}
    with made(mount=",".join(options)) as place:
        settings = {s.name: s.agrees for s in place.settings() if s.source == "mountinfo"}
    assert [name for name, agrees in settings.items() if not agrees] == []
    assert {f"place.mount {option}" for option in options} <= set(settings)


@members("loop ext2", "loop ext4")
def test_an_option_that_the_kernel_ignores_does_not_agree(made: Made) -> None:
    with made(mount="noatime,nobh") as place:
        wrong = [s.name for s in place.settings() if not s.agrees]
        assert wrong == ["place.mount nobh"]


@members("loop xfs")
def test_an_option_that_the_kernel_refuses_is_named_in_its_words(made: Made) -> None:
    words = r"mount -t xfs -o nobarrier .*: xfs: Unknown parameter 'nobarrier': .*leave that combination out by"
    with pytest.raises(CellFailed, match=words), made(mount="nobarrier"):
        pass


@members("loop ext3", "loop ext4", "loop xfs")
def test_a_journal_apart_and_a_stripe_are_in_force(made: Made, base: Path) -> None:
    with made(journal="external", journal_path=str(base), block_size=4096, stripe_kb=64, stripe_disks=4) as place:
        assert [s.name for s in place.settings() if not s.agrees] == []
        assert {"place.journal", "place.block_size"} <= {s.name for s in place.settings()}
        assert place.facts().journal_device
    with made(journal_mb=64) as sized:
        assert {s.name: s.in_force for s in sized.settings()}["place.journal_mb"] == "64"


@members("loop ext4")
def test_without_a_journal(made: Made) -> None:
    with made(journal="none", mkfs="-E root_owner=0:0 -m 0", sparse=True) as place:
        assert {s.name: s.in_force for s in place.settings()}["place.journal"] == "none"
        assert "sparse" in place.facts().image


@members("loop btrfs")
def test_what_a_file_system_cannot_be_told_fails(made: Made) -> None:
    with pytest.raises(CellFailed, match=r"btrfs cannot be told place.journal"), made(journal="none"):
        pass
    with pytest.raises(CellFailed, match=r"mkfs.btrfs .*--no-such"), made(mkfs="--no-such"):
        pass


@members("raw")
def test_a_raw_device_takes_one_file_that_fits(made: Made, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (17 << 20))
    (tmp_path / "other").write_bytes(b"x")
    with made(size_mb=16) as place:
        directory = place.subdirectory("cell")
        with pytest.raises(CellFailed, match=r"raise place.size_mb"):
            place.copy([tmp_path / "large"], directory)
        with pytest.raises(CellFailed, match="several files"):
            place.copy([tmp_path / "large", tmp_path / "other"], directory)


@members("loop ext4")
def test_a_file_system_that_is_still_used_is_not_let_go(
    made: Made, monkeypatch: pytest.MonkeyPatch, base: Path
) -> None:
    monkeypatch.setattr("acidtest.place.mounts.PATIENCE_S", 0.1)
    with made() as place:
        with (place.path / "open").open("wb"), pytest.raises(OSError, match="busy"):
            place.release()
        assert mounts_below(base) == [str(place.path)]


@pytest.mark.parametrize("kernel_lacks", ["jfs", "f2fs"])
def test_a_file_system_that_this_kernel_lacks_fails_and_leaves_nothing(kernel_lacks: str, base: Path) -> None:
    supported = Path("/proc/filesystems").read_text().split()
    ledger = Ledger()
    try:
        if kernel_lacks not in supported:
            with pytest.raises(CellFailed, match=f"this kernel has no {kernel_lacks}"):
                make(PlaceSpec(kind="loop", filesystem=kernel_lacks), base, ledger, database_bytes=1)
        assert list(base.iterdir()) == []
        assert mounts_below(base) == [] == loops_over_files_in(base)
    finally:
        ledger.close()


def test_a_missing_mkfs_is_named_with_its_package(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    ledger = Ledger()
    try:
        with pytest.raises(CellFailed, match=r"mkfs.xfs is not installed: apt-get install xfsprogs"):
            make(PlaceSpec(kind="loop", filesystem="xfs"), base, ledger, database_bytes=1)
    finally:
        ledger.close()
    assert list(base.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"kind": "loop"}, "needs a file system"),
        ({"kind": "device", "filesystem": "xfs"}, "needs a device"),
        ({"kind": "loop", "filesystem": "ext5"}, 'did you mean "ext'),
        ({"kind": "device", "device": "/dev/x", "filesystem": "raw"}, '"raw" goes with the kinds guest and disk only'),
        ({"kind": "raw", "scheduler_tunables": "fifo_batch"}, "must be NAME=VALUE"),
        ({"kind": "raw", "queue": "../../x=1"}, "must be NAME=VALUE"),
        ({"kind": "loop", "filesystem": "xfs", "journal_path": "/tmp"}, "external"),
    ],
)
def test_what_makes_no_sense_anywhere_is_refused_before(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        check(PlaceSpec(**spec))


def test_values_of_an_option_that_mkfs_takes_once_are_joined() -> None:
    spec = PlaceSpec(kind="loop", filesystem="ext4", mkfs="-E root_owner=0:0 -O ^64bit", stripe_kb=64, journal="none")
    [command] = commands("ext4", spec, Path("/dev/loop9"), "label", None)
    assert command.count("-E") == command.count("-O") == 1
    assert "stride=16,stripe_width=16,root_owner=0:0" in command[command.index("-E") + 1]
    assert command[command.index("-O") + 1] == "^has_journal,^64bit"
