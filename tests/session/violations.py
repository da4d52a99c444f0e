"""What breaks each of tpcc's twelve conditions, in SQL that every engine takes; rig/rig/tests/rig/tpcc.rs plants the same.

The rows named are there after a load and, in a run of fewer than some 800 deliveries to a whole warehouse, as the load left
them. The last tenth of a district's orders is not delivered yet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Planted:
    """One change; ``condition`` is what it is planted for, ``also`` what it breaks besides."""

    condition: str
    sql: str
    also: tuple[str, ...]


PERCENT = 10  # of a whole warehouse: enough for all that is planted
UNDELIVERED = PERCENT * 30 - 10


def _read() -> tuple[Planted, ...]:
    text = Path(__file__).with_suffix(".json").read_text()
    entries = json.loads(text.replace("{undelivered}", str(UNDELIVERED)))
    return tuple(Planted(entry["condition"], entry["sql"], tuple(entry["also"])) for entry in entries)


PLANTED = _read()
