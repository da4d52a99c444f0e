"""What a probe keeps: the layers beneath a directory or device, and what each way of writing to it came to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from acidtest.journal import document
from acidtest.journal.models import Machine, Record
from acidtest.journal.protocol import FlushMethod, Probed, ProbeStep

NAME = "probe.json"
FORMAT = 1
DURABLE: tuple[FlushMethod, ...] = (
    "fsync",
    "fdatasync",
    "dsync",
    "direct_dsync",
)  # methods that promise that what was written is on the medium


class Layer(Record):
    """One layer between a write and the medium, as mountinfo or sysfs tells it; "" where a layer has no such thing."""

    kind: Literal["file system", "partition", "loop", "mapped", "array", "disk"]
    name: str  # "ext4"; "/dev/sda1"
    about: str = ""  # mount options; a loop's file; an array's level; a disk's model
    driver: str = ""  # of a disk: "virtio_blk"
    rotational: str = ""  # "yes", "no", "unknown"
    write_cache: str = ""  # "write back", "write through", "unknown"
    fua: str = ""
    scheduler: str = ""


class ProbeSample(Record):
    """One step. ``refused``: the system's words where the file system or device does not admit it."""

    row: int  # of ProbeRecording.rows
    repetition: int  # 1-based
    probed: Probed | None
    refused: str | None = None


class ProbeRecording(Record):
    """One probe."""

    kind: Literal["probe"] = "probe"
    format: int = FORMAT
    acidtest_version: str
    started_at: str  # ISO 8601, UTC
    ended_at: str
    path: str
    machine: Machine
    layers: list[Layer]  # from the top
    seed: int
    repetitions: int
    rows: list[ProbeStep]
    samples: list[ProbeSample]

    def of(self, row: int) -> list[Probed]:
        """What a row measured, one a repetition."""
        return [sample.probed for sample in self.samples if sample.row == row and sample.probed is not None]

    @property
    def is_disk_test(self) -> bool:
        """Whether it reads and writes past the file cache and through it, and judges no flush."""
        return any(row.pattern.startswith("read") for row in self.rows)

    def refusal(self, row: int) -> str | None:
        """Why a row could not be measured."""
        return next((sample.refused for sample in self.samples if sample.row == row and sample.refused), None)


def write(directory: Path, recording: ProbeRecording) -> Path:
    """Write ``recording`` into the existing ``directory``; it is on the drive when this returns. Raises OSError."""
    return document.write(directory / NAME, recording)


def read(path: Path) -> ProbeRecording:
    """Read the file ``path``. Raises BadInput when it is missing, or is no recording of a probe that we can read."""
    return document.read(path, ProbeRecording, "a probe")
