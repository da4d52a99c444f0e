"""Two probes, alone or of two diagnoses, as acidtest compare sets them beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import factory
from acidtest.cli.compare import compare
from acidtest.errors import BadInput
from acidtest.journal import diagnosis, probe
from acidtest.journal.diagnosis import Diagnosis, Processor
from acidtest.journal.probe import DURABLE, Layer, ProbeRecording


def recorded(latency_us: float, disk: str = "/dev/sda") -> ProbeRecording:
    """Repetitions that differ a little."""
    made = factory.probe([Layer(kind="disk", name=disk)], factory.probed(writes=9, measured_s=1, latency_us=1))
    samples = [
        sample.model_copy(
            update={
                "probed": factory.probed(
                    writes=100, measured_s=latency_us * (1 + sample.repetition / 100) / 1e4, latency_us=latency_us
                )
            }
        )
        for sample in made.samples
    ]
    return made.model_copy(update={"samples": samples})


def kept(directory: Path, of: ProbeRecording, stolen: float | None = None) -> Path:
    directory.mkdir()
    probe.write(directory, of)
    if stolen is not None:
        about = Diagnosis(
            acidtest_version="0", started_at="", ended_at="", minutes=1, machine=of.machine, doubts=[], place=None,
            processor=Processor(deflate_mb_per_s=50, stolen=stolen),
        )  # fmt: skip
        diagnosis.write(directory, about)
    return directory


@pytest.mark.parametrize("stolen", [None, 0.25])
def test_five_repetitions_are_enough_to_say_that_a_drive_got_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stolen: float | None
) -> None:
    a = kept(tmp_path / "a", recorded(100), None if stolen is None else 0.0)
    b = kept(tmp_path / "b", recorded(300, "/dev/sdb"), stolen)
    compare(a, b, json=True)
    told = json.loads(capsys.readouterr().out)["probes"]
    assert [way["verdict"] for way in told["ways"]] == ["slower"] * len(DURABLE)
    differs = {one["what"]: (one["a"], one["b"]) for one in told["different"]}
    assert "/dev/sdb" in differs["layer 1"][1]
    assert differs.get("processor, taken by the host") == (("0.0%", "25.0%") if stolen else None)
    compare(a, b, json=False)
    assert "slower" in capsys.readouterr().out


def test_what_has_no_like_is_refused(tmp_path: Path) -> None:
    a, empty = kept(tmp_path / "a", recorded(100)), tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(BadInput, match="holds a probe, and"):
        compare(a, empty, json=False)
