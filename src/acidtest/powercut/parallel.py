"""How many crash states are looked at side by side: as many as there are disks for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from acidtest.engine import Engine
from acidtest.place.host import counters
from acidtest.plan import Cell
from acidtest.powercut.coverage import Budget

EACH = 3  # disks for each processor: of a state's time most is waiting
DISKS_MAX = 24
STATES_EACH = 10  # a disk for fewer states takes longer to make than it saves
SHARE = 4  # of the room that is free all disks together take up to one part in so many
COPIES = 2  # of a disk's bytes at most: as it is kept and as it is


def at_once(cell: Cell, engine: Engine, size_mb: int, directory: Path) -> int:
    """How many disks of ``size_mb`` look at states of ``cell``, whose files are in ``directory``.

    One of a server, which may be on a port that was asked for, and of a program of the user's.
    """
    if not engine.embedded:
        return 1
    in_file = cell.place.disk_medium == "file"
    free = shutil.disk_usage(directory).free if in_file else counters().available_bytes
    room = free // SHARE // (COPIES * (size_mb + cell.place.disk_cache_mb) << 20)
    states = Budget.of(cell).states
    asked = DISKS_MAX if states is None else states // STATES_EACH
    return max(1, min(EACH * len(os.sched_getaffinity(0)), room, asked, DISKS_MAX))
