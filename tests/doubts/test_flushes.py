"""The plausibility rule: tables of storage that is known to us, and what must hold of any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import factory
from acidtest.analysis import summary
from acidtest.doubts.flushes import FLOOR, Judgement, Timing, judge, judge_recording
from acidtest.journal.probe import DURABLE, Layer
from acidtest.journal.protocol import FlushMethod
from tables import rows

METAL, GUEST = "none", "virtual machine"
DISK = Layer(
    kind="disk", name="/dev/sda", about="ST2000", driver="sd", rotational="yes", write_cache="write back", fua="no",
    scheduler="mq-deadline",
)  # fmt: skip
SSD = DISK.model_copy(update={"rotational": "no", "about": "Samsung SSD", "driver": "nvme", "name": "/dev/nvme0n1"})
RAID_CARD = DISK.model_copy(update={"write_cache": "write through", "about": "PERC H730"})
VIRTIO = DISK.model_copy(update={"driver": "virtio_blk", "about": "", "name": "/dev/vda"})
SIMULATED = DISK.model_copy(update={"driver": "loop", "about": "simulated", "name": "/dev/loop8"})
LOOP = SSD.model_copy(update={"kind": "loop", "driver": "", "name": "/dev/loop9", "about": "/image"})


def on(name: str, options: str = "rw,relatime") -> Layer:
    return Layer(kind="file system", name=name, about=options)


def partition(name: str = "/dev/sda1") -> Layer:
    return Layer(kind="partition", name=name)


def took(us: float, repetitions: int = 5, spread: float = 0.02) -> Timing:
    latencies = [us * (1 + spread * (n - repetitions // 2)) for n in range(repetitions)]
    return Timing([1e6 / latency for latency in latencies], latencies)


def timings(
    durable_us: float, floor_us: float, plain_us: float = 2.0, repetitions: int = 5
) -> dict[FlushMethod, Timing]:
    found: dict[FlushMethod, Timing] = {method: took(durable_us, repetitions) for method in DURABLE}
    found |= {method: took(floor_us, repetitions) for method in FLOOR.values()}
    return found | {"plain": took(plain_us, repetitions)}


@rows(
    ([on("ext4"), partition(), DISK], METAL, 8_400, 120, "flushes", "flush-takes-time"),
    ([on("ext4"), partition(), DISK], METAL, 200, 120, "does not flush", "faster-than-it-turns"),
    ([on("ext4"), partition(), RAID_CARD], METAL, 200, 120, "cannot tell", "faster-than-it-turns"),
    ([on("ext4"), partition(), DISK], METAL, 6_000, 120, "cannot tell", "faster-than-it-turns"),
    ([on("xfs"), SSD], METAL, 1_600, 15, "flushes", "flush-takes-time"),
    ([on("xfs"), SSD], METAL, 30, 15, "cannot tell", "not-told-apart"),
    ([on("xfs"), SSD], METAL, 12, 8, "does not flush", "too-fast"),
    ([on("xfs"), SSD.model_copy(update={"write_cache": "write through"})], METAL, 12, 10, "cannot tell", "write-through"),
    ([SSD], METAL, 900, 15, "flushes", "flush-takes-time"),
    ([on("ext4"), SSD.model_copy(update={"name": "/dev/pmem0", "write_cache": "write through"})], METAL, 3, 2,
    "cannot tell", "write-through"),
    ([on("ext4"), VIRTIO], GUEST, 160, 75, "cannot tell", "not-told-apart"),
    ([on("ext4"), VIRTIO], GUEST, 900, 75, "flushes", "flush-takes-time"),
    ([on("ext4"), VIRTIO], GUEST, 15, 12, "does not flush", "too-fast"),
    ([on("ext4"), SIMULATED], GUEST, 8_400, 120, "flushes", "flush-takes-time"),
    ([on("ext4"), SIMULATED], GUEST, 200, 120, "does not flush", "faster-than-it-turns"),
    ([on("tmpfs")], METAL, 5_000, 100, "does not flush", "in-memory"),
    ([on("ext4"), LOOP, on("tmpfs")], METAL, 5_000, 100, "does not flush", "in-memory"),
    ([on("ext4"), SSD.model_copy(update={"driver": "zram", "name": "/dev/zram0"})], METAL, 50, 10,
    "does not flush", "in-memory"),
    ([on("ext4", "rw,nobarrier"), DISK], METAL, 8_400, 120, "does not flush", "no-barrier"),
    ([on("ext4", "rw,nobarrier"), RAID_CARD], METAL, 8_400, 120, "cannot tell", "no-barrier"),
    ([on("ext4"), LOOP, on("ext3", "rw,barrier=0"), DISK], METAL, 8_400, 120, "does not flush", "no-barrier"),
    ([on("overlay", "rw,volatile,upperdir=/u")], METAL, 900, 100, "does not flush", "no-barrier"),
    ([on("ext4"), LOOP.model_copy(update={"write_cache": "write through"}), on("ext4"), SSD], METAL, 900, 100,
    "does not flush", "flush-stops"),
    *(([on(name)], METAL, 900, 100, "cannot tell", "not-seen") for name in ("nfs4", "9p", "fuse.sshfs", "overlay")),
    ([on("ext4"), LOOP, on("fuse")], METAL, 900, 100, "cannot tell", "not-seen"),
    ([], METAL, 900, 100, "cannot tell", "not-seen"),
    ([on("ext4"), SSD.model_copy(update={"write_cache": "unknown"})], METAL, 900, 100, "cannot tell", "write-cache-unknown"),
    ([on("btrfs"), SSD], METAL, 900, 100, "cannot tell", "not-told-apart"),
    ([on("ext4", "rw,data=journal"), SSD], METAL, 900, 100, "cannot tell", "not-told-apart"),
    ([on("ext4"), LOOP, on("ext4"), SSD], METAL, 900, 100, "cannot tell", "not-told-apart"),
)  # fmt: skip
def test_storage_that_is_known(
    layers: list[Layer], virtualization: str, durable_us: float, floor_us: float, verdict: str, rule: str
) -> None:
    found = judge(layers, virtualization, timings(durable_us, floor_us))
    assert (found.verdict, rule in {one.rule for one in found.evidence}) == (verdict, True), found


def test_a_flush_that_costs_nothing_is_named_also_where_calls_are_slow() -> None:
    slow = timings(45, 44, plain_us=40)  # an emulated processor
    rules = {one.rule for one in judge([on("ext4"), SSD], METAL, slow).evidence}
    assert rules == {"costs-nothing"}
    for options in ("rw,sync", "rw,dirsync"):  # there a plain write waits for the drive as well
        assert judge([on("ext4", options), SSD], METAL, slow).verdict == "cannot tell"
    assert judge([on("9p")], METAL, slow).verdict == "cannot tell"


def test_one_method_that_does_not_flush_is_enough() -> None:
    found = judge([on("xfs"), SSD], METAL, timings(1_600, 15) | {"direct_dsync": took(11)})
    assert found.verdict == "does not flush"
    assert found.methods == {
        "fsync": "flushes", "fdatasync": "flushes", "dsync": "flushes", "direct_dsync": "does not flush",
    }  # fmt: skip


def test_without_a_floor_or_a_measurement_nothing_is_said_of_the_drive() -> None:
    without = {method: timing for method, timing in timings(1_600, 15).items() if method not in FLOOR.values()}
    assert {one.rule for one in judge([on("xfs"), SSD], METAL, without).evidence} == {"no-floor"}
    assert judge([on("xfs"), SSD], METAL, {}).verdict == "cannot tell"
    assert judge([on("tmpfs")], METAL, {}).verdict == "does not flush"


def test_what_slows_a_disk_down_hides_no_lie() -> None:
    busy = Timing([900.0, 20.0, 800.0, 5.0, 700.0], [300.0, 8_000.0, 350.0, 20_000.0, 400.0])
    lying: dict[FlushMethod, Timing] = dict.fromkeys(DURABLE, busy)
    assert judge([on("ext4"), partition(), DISK], METAL, timings(1, 120) | lying).verdict == "does not flush"


def test_the_first_write_of_a_step_is_not_held_against_the_disk() -> None:
    # 15,000 turns a minute: ten writes in nine turns and a bit.
    probed = factory.probed(writes=10, measured_s=9.05 / 250, latency_us=4_000)
    assert {one.rule for one in judge_recording(factory.probe([on("ext4"), DISK], probed)).evidence} == {
        "faster-than-it-turns",  # than at 7,200, and whether it turns faster it does not say
        "no-floor",
    }


def test_two_disks_turn_twice_as_often() -> None:
    array = DISK.model_copy(update={"kind": "array", "name": "/dev/md0", "about": "raid0"})
    pair = [array, DISK, DISK.model_copy(update={"name": "/dev/sdb"})]
    assert judge(pair, METAL, timings(2_500, 120)).verdict != "does not flush"
    assert judge(pair, METAL, timings(1_500, 120)).verdict == "does not flush"
    cached = [*pair, SSD]
    assert judge(cached, METAL, timings(1_500, 120)).verdict != "does not flush"


STACKS: list[list[Layer]] = [
    [on("ext4"), partition(), DISK], [on("xfs"), SSD], [on("ext4"), VIRTIO], [on("btrfs"), SSD], [on("nfs4")], [SSD],
    [on("ext4"), LOOP, on("ext4"), SSD], [on("ext4"), RAID_CARD],
]  # fmt: skip
FEW = settings(max_examples=20)


@pytest.fixture(scope="module", autouse=True)
def _coarse_intervals() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "RESAMPLES", 199)  # what is tested holds of any interval
        yield


SAMPLES = st.lists(st.floats(0.1, 1e5), min_size=5, max_size=9)


@st.composite
def measured(draw: st.DrawFn) -> Mapping[FlushMethod, Timing]:
    methods: tuple[FlushMethod, ...] = ("plain", "sync_file_range", "direct", *DURABLE)
    found = {}
    for method in methods:
        latencies = draw(SAMPLES)
        found[method] = Timing([1e6 / latency for latency in latencies], latencies)
    return found


@FEW
@given(st.sampled_from(STACKS), measured(), st.integers(1, 4))
def test_too_few_repetitions_bear_no_verdict_on_time(
    layers: list[Layer], found: Mapping[FlushMethod, Timing], repetitions: int
) -> None:
    few = {m: Timing(t.writes_per_s[:repetitions], t.latency_us[:repetitions]) for m, t in found.items()}
    judged = judge(layers, METAL, few)
    assert judged.verdict == "cannot tell"
    assert {one.verdict for one in judged.evidence if one.method} == {"cannot tell"}


def overall(judged: Judgement) -> int:
    return ("does not flush", "cannot tell", "flushes").index(judged.verdict)


@FEW
@given(st.sampled_from(STACKS), measured(), st.floats(1, 1000))
def test_a_slower_durable_write_never_looks_worse(
    layers: list[Layer], found: Mapping[FlushMethod, Timing], factor: float
) -> None:
    slower = {
        method: Timing([one / factor for one in t.writes_per_s], [one * factor for one in t.latency_us])
        if method in DURABLE
        else t
        for method, t in found.items()
    }
    assert overall(judge(layers, METAL, slower)) >= overall(judge(layers, METAL, found))


@FEW
@given(measured())
def test_memory_never_flushes_and_what_cannot_be_seen_is_never_said_to(found: Mapping[FlushMethod, Timing]) -> None:
    assert judge([on("tmpfs")], METAL, found).verdict == "does not flush"
    for layers in ([on("nfs4")], [on("ext4"), RAID_CARD], [on("btrfs"), SSD]):
        assert judge(layers, METAL, found).verdict != "flushes"


@FEW
@given(st.sampled_from(STACKS), measured())
def test_every_verdict_has_its_evidence(layers: list[Layer], found: Mapping[FlushMethod, Timing]) -> None:
    judged = judge(layers, METAL, found)
    assert set(judged.methods) == set(DURABLE)
    assert any(one.verdict == judged.verdict for one in judged.evidence)
    assert all(one.text and (one.why or not one.method) for one in judged.evidence)
