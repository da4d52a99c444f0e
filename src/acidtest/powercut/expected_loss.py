"""What the level and the drive of a cell announce that a power cut may take."""

from __future__ import annotations

from acidtest.analysis.expected_loss import Announcement, announced_by, gives_up, of_failure
from acidtest.engine import Engine
from acidtest.engine.compare import spoken
from acidtest.plan import Cell
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.drives import drive_name
from acidtest.powercut.evidence import CutEvidence


def announcement_of(cell: Cell, engine: Engine, evidence: CutEvidence) -> Announcement:
    """By the settings that were in force, where they were asked for; otherwise by those of the cell."""
    if (by := of_failure(cell.place.disk_failure, evidence.replication)) is not None:
        return by
    settings = {name: spoken(value) for name, value in cell.settings.items()}
    settings |= {one.name: one.in_force or one.asked or "" for one in evidence.settings}
    place, asked = evidence.place, cell.place
    given_up = gives_up(
        drive_name(cell),
        write_cache=place.write_cache if place else asked.write_cache or "",
        mount_options=place.mount_options if place else asked.mount,
        has_cache=asked.disk_cache_mb > 0,
        failure=asked.disk_failure,
    )
    mount = (place.filesystem, place.mount_options) if place else (asked.filesystem or "", asked.mount)
    return announced_by(engine.risk(cell.durability, settings, *mount), cell.durability, given_up, asked.disk_failure)


def is_unannounced(judgement: Judgement, by: Announcement) -> bool:
    """Whether it is lost, and that was not announced."""
    return judgement.verdict == "lost" and not by.covers(damage=bool(judgement.damage))
