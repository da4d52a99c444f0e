"""The block queue of a device: scheduler and its tunables, read-ahead, requests, write cache.

See Documentation/ABI/stable/sysfs-block of the Linux kernel. Each is set, and read back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.files import kernel_text
from acidtest.journal.models import SettingInForce

SCHEDULER = "scheduler"
TUNABLES = "iosched"
# Set and restored in this order, after the scheduler, which resets nr_requests; write_cache resets read_ahead_kb.
PLAIN = ("write_cache", "nr_requests", "read_ahead_kb")


def queue_of(device: Path) -> Path:
    """The queue's directory in sysfs; a partition has none of its own, its disk does. Raises CellFailed."""
    number = device.stat().st_rdev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    for candidate in (block, block.parent):
        if (candidate / "queue").is_dir():
            return candidate / "queue"
    raise CellFailed(f"{device}: has no block queue in /sys")


def wanted(spec: PlaceSpec) -> dict[str, str]:
    """What ``spec`` asks of the queue, by file below it, in the order in which it is set. Raises BadInput."""
    asked: dict[str, str] = {}
    if spec.scheduler is not None:
        asked[SCHEDULER] = spec.scheduler
    asked |= {f"{TUNABLES}/{name}": value for name, value in _pairs("scheduler_tunables", spec.scheduler_tunables)}
    if spec.kind == "disk":
        asked["rotational"] = str(int(spec.disk == "rotating"))  # file systems and schedulers go by it
    asked |= dict(_pairs("queue", spec.queue))
    for name in PLAIN:
        if (value := getattr(spec, name)) is not None:
            asked[name] = str(value)
    return asked


def _pairs(key: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.replace("_", "").isalnum():
            raise BadInput(f'place.{key}: found "{part}", must be NAME=VALUE', f'write {key} = "name=value,name=value"')
        pairs.append((name, value))
    return pairs


def snapshot(queue: Path, names: Mapping[str, str]) -> dict[str, str]:
    """What is in force of ``names`` and of all that changes with them, so that it can be restored."""
    others = (name for name in names if name not in PLAIN and not name.startswith(TUNABLES))
    return {name: read(queue, name) for name in dict.fromkeys((SCHEDULER, *others, *PLAIN)) if (queue / name).exists()}


def put(device: Path, queue: Path, asked: Mapping[str, str]) -> None:
    """Write each. Raises CellFailed with what the kernel says and, of a scheduler, those that it has."""
    for name, value in asked.items():
        if not (queue / name).exists():
            under = f" under {read(queue, SCHEDULER)}" if name.startswith(TUNABLES) else ""
            raise CellFailed(
                f"{device}: the block queue has no {name.removeprefix(TUNABLES + '/')}{under} in this kernel"
            )
        try:
            (queue / name).write_text(value, encoding="utf-8")
        except OSError as error:
            has = kernel_text(queue / SCHEDULER).replace("[", "").replace("]", "").split()
            allowed = f" (this kernel has {', '.join(has)})" if name == SCHEDULER else ""
            raise CellFailed(f"{device}: {name} {value}: {error.strerror}{allowed}") from None


def identity(queue: Path) -> str:
    """Tells this disk from another that has its name or number later; see diskseq in sysfs-block."""
    return kernel_text(queue.parent / "diskseq", "gone").strip()


def restore(queue: Path, before: Mapping[str, str]) -> bool:
    """Put back what ``snapshot`` found; whether anything was otherwise. Raises OSError."""
    other = {name: value for name, value in before.items() if read(queue, name) != value}
    for name, value in before.items():
        if read(queue, name) != value:
            (queue / name).write_text(value, encoding="utf-8")
    return bool(other)


def read(queue: Path, name: str) -> str:
    """One file's answer; of the scheduler, the one in brackets: "none [mq-deadline] kyber"."""
    text = kernel_text(queue / name, "unknown").strip()
    return (text.partition("[")[2].partition("]")[0] or text) if name == SCHEDULER else text


def in_force(queue: Path, asked: Mapping[str, str]) -> list[SettingInForce]:
    """Each setting asked for, beside what sysfs says now."""
    return [
        SettingInForce(
            name=f"place.{name.removeprefix(TUNABLES + '/')}",
            asked=value,
            in_force=(current := read(queue, name)),
            agrees=current == value,
            source="sysfs",
        )
        for name, value in asked.items()
    ]
