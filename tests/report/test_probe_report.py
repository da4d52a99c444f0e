"""What `acidtest probe` says beside its verdict: of which way it is, and whose power would have to fail."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import factory
from acidtest.doubts.flushes import Judgement, Verdict
from acidtest.journal.probe import Layer
from acidtest.journal.protocol import FlushMethod
from acidtest.report.probe import layer_text, print_report, report, worst

VIRTIO = Layer(
    kind="disk", name="/dev/vda", about="", driver="virtio_blk", rotational="yes", write_cache="write back",
    fua="no", scheduler="none",
)  # fmt: skip


def shown(virtualization: str, flushes_us: list[float]) -> str:
    recording = factory.probe(
        [VIRTIO], factory.probed(writes=100, measured_s=0.1, latency_us=900), virtualization=virtualization
    )
    samples = [
        one.model_copy(
            update={
                "probed": one.probed.model_copy(
                    update={"flush": factory.histogram([int(1000 * flushes_us[one.repetition - 1])])}
                )
            }
        )
        for one in recording.samples
    ]
    console = Console(file=io.StringIO(), width=200)
    print_report(report(recording.model_copy(update={"samples": samples})), console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("virtualization", "says"),
    [
        ("QEMU", "This is a virtual machine (QEMU): its host decides"),
        ("virtual machine", "This is a virtual machine: its host decides"),
        ("unknown", "Whether this is a virtual machine could not be read; in one, its host decides"),
    ],
)
def test_of_a_virtual_machine_the_host_must_be_cut(virtualization: str, says: str) -> None:
    told = shown(virtualization, [880, 890, 900, 910, 920])
    assert says in told and "power cut of the host" in told


def test_a_machine_that_is_none_has_no_host() -> None:
    assert "host" not in shown("none", [880, 890, 900, 910, 920])


def test_the_time_of_a_flush_has_its_interval_and_bears_what_follows() -> None:
    told = shown("none", [880, 890, 900, 910, 920])
    assert "A flush takes 900 µs (880 to 920): as slow as a network volume" in told
    assert "it does not rotate" in told
    told = shown("none", [1_060, 2_000, 3_762, 9_000, 17_300])
    assert "too uncertain to name a kind of drive" in told
    assert "it does not rotate" not in told
    assert "it does not rotate" not in layer_text(VIRTIO)


def test_the_way_that_decides_is_named_where_the_ways_differ() -> None:
    ways: dict[FlushMethod, Verdict] = {"fsync": "cannot tell", "fdatasync": "flushes", "dsync": "flushes"}
    assert worst(Judgement("cannot tell", (), ways)) == ", as for fsync: the worst way counts"
    assert worst(Judgement("flushes", (), {"fsync": "flushes", "dsync": "flushes"})) == ""
    assert worst(Judgement("cannot tell", (), {})) == ""
