"""What a guest is made of: the kernel's modules, the archive, the boot that fails, and what is refused beforehand."""

from __future__ import annotations

import lzma
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acidtest import experiment, plan
from acidtest.analysis.compare import comparisons
from acidtest.analysis.samples import rows
from acidtest.conductor.verify import verify
from acidtest.doubts import judge
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.journal.models import GuestFacts
from acidtest.place import Ledger, check
from acidtest.place.facts import unseen
from acidtest.place.guest import kernel
from acidtest.place.guest.initramfs import BASE
from acidtest.place.guest.machine import Guest, Hardware
from acidtest.place.guest.place import archive
from acidtest.report.page import write_page
from acidtest.report.results import results
from acidtest.report.side_by_side import side_by_side
from factory import failed, journal, recording, result

LEVELS = {"workload": "commits", "engine": "sqlite", "durability": "drive"}
SMALL = Hardware(256, 1, "tcg", 16)


def test_modules_come_after_those_that_they_need(has: kernel.Kernel) -> None:
    names = [file.stem for file in has.modules([*BASE, "ext4", "btrfs"])]
    for before, after in [("virtio", "virtio_pci"), ("jbd2", "ext4"), ("crc32c_generic", "ext4"), ("xor", "btrfs")]:
        assert names.index(before) < names.index(after)
    assert len(set(names)) == len(names)
    assert has.modules(["mq-deadline"]) == []  # built in
    assert not has.has("no-such-thing")


@pytest.mark.parametrize(
    ("packed", "starts"),
    [
        (b"MZ head" + lzma.compress(b"\x7fELF code " + kernel.ENTRY) + b"signature", kernel.PLAIN),
        (b"MZ head" + lzma.compress(b"\x7fELF code without an entry for QEMU"), kernel.PACKED),
        (b"MZ head, packed in another way", kernel.PACKED),
        (b"MZ head" + lzma.compress(b"\x7fELF" + kernel.ENTRY + random.randbytes(1 << 20))[: 1 << 19], kernel.PACKED),
    ],
    ids=["whole", "no entry", "not by xz", "torn"],
)
def test_a_kernel_is_unpacked_where_it_can_be_entered_then(tmp_path: Path, packed: bytes, starts: str) -> None:
    (tmp_path / kernel.PACKED).write_bytes(packed)
    kernel._unpack_image(tmp_path)
    assert kernel.Kernel(tmp_path, "linux-image-1", "1", "").image == tmp_path / starts
    assert {path.name for path in tmp_path.iterdir()} == {kernel.PACKED, starts}


def test_the_archive_is_one_that_cpio_reads(has: kernel.Kernel) -> None:
    listed = subprocess.run(
        ["busybox", "cpio", "-tv"], stdin=archive(has).open("rb"), capture_output=True, text=True, check=True
    ).stdout
    for name in ("usr -> .", "bin/mkfs.jfs", "modules/jfs.ko", "dev/console", "init"):
        assert name in listed
    assert archive(has) == archive(has)


def test_a_guest_that_cannot_start_says_why(has: kernel.Kernel, tmp_path: Path) -> None:
    ledger = Ledger()
    empty = tmp_path / "empty.cpio"
    empty.write_bytes(b"")
    (tmp_path / "guest").mkdir()
    with pytest.raises(CellFailed, match=r"did not come up: .*Kernel panic"):
        Guest(tmp_path / "guest", ledger, has, empty, SMALL)
    ledger.close()
    assert not ledger.path.exists()  # nothing was left in it


def test_a_guest_that_is_too_slow_is_given_up(
    has: kernel.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.place.guest.machine.BOOT_S", 0.0)
    ledger = Ledger()
    (tmp_path / "guest").mkdir()
    with pytest.raises(CellFailed, match="did not come up: "):
        Guest(tmp_path / "guest", ledger, has, archive(has), SMALL)
    ledger.close()
    assert not ledger.path.exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "needs a file system"),
        ({"filesystem": "jsf"}, 'did you mean "jfs"'),
        ({"filesystem": "jfs", "journal": "none"}, "journal cannot be chosen in a guest"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        check(PlaceSpec(kind="guest", **spec))


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("engine", "filesystem", "words"),
    [
        ("postgresql-15", "jfs", "postgresql-15: cannot run in a guest"),
        ("firebird-3.0-server", "jfs", "firebird-3.0-server: cannot run in a guest"),
        ("sqlite", "raw", "sqlite: cannot have its database on a raw device"),
    ],
)
def test_engines_that_cannot_are_refused_by_name(engine: str, filesystem: str, words: str) -> None:
    text = (
        f'name = "x"\nengine = "{engine}"\ndurability = "drive"\n'
        f'place = {{ kind = "guest", filesystem = "{filesystem}" }}\n[workload.commits]\ncount = 1\n'
    )
    with pytest.raises(BadInput, match=words):
        verify(plan.make(experiment.parse(text, "x.toml")), Path("x.toml"))


def test_a_raw_disk_has_no_mount_options() -> None:
    text = (
        'name = "x"\nengine = "firebird-5.0"\ndurability = "drive"\nplace = { kind = "guest" }\nrepetitions = 1\n'
        '[factors]\n"place.filesystem" = ["raw", "jfs"]\n"place.mount" = ["defaults", "noatime"]\n'
        "[workload.commits]\ncount = 1\n"
    )
    made = plan.make(experiment.parse(text, "x.toml"))
    found = {(cell.levels["place.filesystem"], cell.levels["place.mount"]) for cell in made.cells}
    assert found == {("raw", "–"), ("jfs", "defaults"), ("jfs", "noatime")}


def _facts(accelerator: str) -> GuestFacts:
    return GuestFacts(kernel="linux-image-6.1.0-1-amd64 6.1.1-1", kernel_sha256="0" * 64, qemu="7.2.22 (Debian)",
                      accelerator=accelerator, cache="none", cpus=2, memory_mb=1024)  # fmt: skip


def _recordings(level: str, rate: float, guest: GuestFacts | None) -> list[Any]:
    levels = {**LEVELS, "filesystem": level}
    plain = recording(levels).place
    place = plain.model_copy(update={"kind": "guest", "guest": guest, "image": "disk, 64 MiB"}) if guest else plain
    return [recording(levels, n, found=result(rate=rate, seed=n), place=place) for n in range(1, 7)]


def test_rows_of_a_guest_are_compared_with_the_same_guest_only() -> None:
    tcg, kvm = _facts("tcg"), _facts("kvm")
    made = journal(
        [
            *_recordings("ext4 here", 1000, None), *_recordings("xfs here", 900, None),
            failed({**LEVELS, "filesystem": "zfs"}, 1, "no zfs").model_copy(update={"place": unseen("guest", "/data")}),
            *_recordings("raw", 50, tcg), *_recordings("jfs", 40, tcg), *_recordings("ext3", 500, kvm),
        ],
        base={"filesystem": "raw"},
    )  # fmt: skip
    found = comparisons(rows(made.header, made.recordings), made.header.base)
    pairs = {frozenset((c.row.levels["filesystem"], c.against.levels["filesystem"])) for c in found if min(c.n)}
    assert pairs == {frozenset(("raw", "jfs"))}
    tables = {table.workload: [line.row.levels["filesystem"] for line in table.lines] for table in results(made).tables}
    assert tables == {
        "commits": ["ext4 here", "xfs here"],
        f"commits, {tcg.name}": ["zfs", "raw", "jfs"],
        f"commits, {kvm.name}": ["ext3"],
    }
    relative = {line.row.levels["filesystem"]: line.relative for t in results(made).tables for line in t.lines}
    assert relative["ext4 here"] is None
    assert relative["jfs"] is not None
    codes = {f.rule.name for f in results(made).findings}
    assert "guest" in codes


def test_two_runs_pair_the_rows_of_the_same_guest_only() -> None:
    one = journal([*_recordings("jfs", 40, _facts("tcg"))])
    two = journal([*_recordings("jfs", 400, _facts("kvm"))])
    assert len(side_by_side(one, one).pairs) == 1
    assert side_by_side(one, two).pairs == []
    assert side_by_side(one, two).unpaired == 2


def test_software_emulation_is_a_doubt_of_its_own() -> None:
    plain = recording().place
    said = {a: judge.of(plain.model_copy(update={"guest": _facts(a)}))[0].text for a in ("tcg", "kvm")}
    assert "emulated in software" in said["tcg"]
    assert "emulated in software" not in said["kvm"]
    assert all("same guest" in text for text in said.values())


def test_a_page_tells_a_guests_storage_from_this_machines(tmp_path: Path) -> None:
    made = journal([*_recordings("here", 1000, None), *_recordings("jfs", 50, _facts("tcg"))])
    write_page(results(made), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "guest qemu" in text
    assert "7.2.22 (Debian)" in text
