"""Which losses of a power cut were announced, by the durability level or by the drive, and which were not; pure.

What may be lost at which level is in ``families``, one function an engine's family, with its source: nothing, the last
commits, or the database itself. A level that only announces the loss of the last commits does not announce damage: a
database that does not open, a transaction that is there in parts, or a commit that is missing though a later one is
there. Whoever gives up flushes, the drive or what lies before it, announces all of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acidtest import families
from acidtest.filesystems import WITHOUT_FLUSHES
from acidtest.journal.models import Cut, Recording, Replicated
from acidtest.risk import ANYHOW, Risk

# What a drive does, as Cut has it, and how that is said. Also a file system's journal writes its commits through.
GIVES_UP = {
    "lie-about-flush": "the drive, which lies about flushes",
    "controller with a dead battery": "the drive's controller, whose battery is dead",
    "ignore-write-through": "the drive, which ignores write-through",
    "(lie": "the drive, which lies about flushes",
}
# What it does to writes that it has acknowledged, whatever is flushed; each is a word of the language of faults.
DAMAGES = {
    "(lose": "the drive, which loses writes that it has acknowledged",
    "(misdirect": "the drive, which writes to other places than it is told",
    "(rot": "the drive, whose bits rot",
}
KILL, KERNEL_CRASH = "kill", "kernel-crash"  # Cut.failure where the drive keeps its power
PLUG: Literal["plug"] = "plug"  # Cut.failure where the power is a real machine's
# Cut.failure where the drive damages what it has acknowledged, though its power is on.
SPOILS = {
    "read-error": "the drive, which cannot read a block that it has acknowledged",
    "rot": "the drive, whose bits rot",
    "lost-write": "the drive, which loses a write that it has acknowledged",
    "misdirected-write": "the drive, which writes to another place than it is told",
}
# Cut.failure where neither power fails nor the kernel: the engine is stopped, or its process ends.
POWER_STAYS = frozenset({*SPOILS, "full-disk", "slow-disk", "stopped-disk"})
CACHE_OFF = "write cache off"  # as a place's facts say it of a simulated disk
BACKED = "battery-backed controller"  # so is this
# Checkers whose loss is more than that of commits. Of conditions and commits it depends: see ``shows_damage``.
DAMAGE = frozenset(
    {"file-system-mounts", "engine-starts", "engine-reads-its-data", "transactions-are-whole", "engine-check-holds"}
)


@dataclass(frozen=True)
class Announcement:
    """What a power cut may take although it was acknowledged, and who says so; "" what it may not."""

    commits: str = ""  # the last of them
    damage: str = ""  # any of what is there: the database may break

    def covers(self, *, damage: bool) -> bool:
        """Whether a loss is announced, which is or is not more than that of the last commits."""
        return bool(self.damage if damage else self.commits)

    @property
    def reason(self) -> str:
        """Who announces the most, and what."""
        return self.damage or self.commits


def gives_up(drive: str, *, write_cache: str, mount_options: str, has_cache: bool, failure: str) -> str:
    """Who takes what was written, or does without flushes that are needed, the drive or what lies before it; "" where
    nobody does.

    ``drive`` and ``failure`` are as in Cut, ``write_cache`` and ``mount_options`` as in PlaceFacts.
    """
    if failure in SPOILS:
        return SPOILS[failure]
    for does, said in DAMAGES.items():
        if does in drive:
            return said
    if not has_cache or failure in POWER_STAYS or failure in (KILL, KERNEL_CRASH):
        return ""
    for does, said in GIVES_UP.items():
        if does in drive:
            return said
    if write_cache == "write through":
        return "the kernel, which sends the drive no flush (write_cache: write through)"
    without = sorted(WITHOUT_FLUSHES & set(mount_options.split(",")))
    return f"the file system, which sends the drive no flush ({without[0]})" if without else ""


def announced_by(risk: Risk | None, level: str, given_up: str, failure: str) -> Announcement:
    """What a level of this risk announces; of an engine that is not known here, nothing. ``given_up``, ``failure``: as
    above."""
    if given_up:
        return Announcement(given_up, given_up)
    if risk is None:
        return Announcement()
    text = f"level {level}: {risk.sentence}"
    if failure == KILL or failure in POWER_STAYS:
        return Announcement(text if risk.lost_when_killed else "", text if risk.breaks_when_killed else "")
    return Announcement(text if risk.lost else "", text if risk.breaks else "")


def of_failure(failure: str, replication: Replicated | None) -> Announcement | None:
    """What is announced by what fails and by how a replica is kept up; None where it is level and drive that say it,
    because the power failed of the server that was looked at, and replication has no part in it."""
    if replication is None:
        gone = "what fails: a disk that is lost for good, without a replica"
        return Announcement(gone, gone) if failure == "lost-disk" else None
    if replication.looked_on == "primary" or replication.chosen_by:
        return None  # of two that both had lost power the one with more goes on: it has what the primary's drive has
    mode = f"replication {replication.mode} ({replication.means})"
    if replication.gave_up:
        return Announcement(f"{mode}: commits no longer waited for a replica that did not answer")
    if replication.waits_for == "nothing":
        return Announcement(f"{mode}: a commit does not wait for the replica")
    if failure == "both-powers" and replication.waits_for == "arrival":
        return Announcement(f"{mode}: a commit waits until the replica has it, not until its drive has it")
    return None if failure == "both-powers" else Announcement()


def announcement(recording: Recording) -> Announcement:
    """What the level and the drive of a cut announce, by the settings that were in force."""
    cut, place = recording.cut, recording.place
    if cut and (by := of_failure(cut.failure, cut.replication)) is not None:
        return by
    given_up = gives_up(
        cut.drive if cut else "",
        # A real drive that says so itself has no cache that could lose anything: that announces nothing.
        write_cache="" if cut and cut.failure == PLUG else place.write_cache,
        mount_options=place.mount_options,
        has_cache=CACHE_OFF not in place.disk.split(", "),
        failure=cut.failure if cut else "",
    )
    return announced_by(risk_of(recording), recording.durability, given_up, cut.failure if cut else "")


def is_unannounced(recording: Recording) -> bool:
    """Whether the cut lost something that neither level nor drive announces."""
    cut = recording.cut
    if cut is None or recording.status != "done" or cut.verdict != "lost":
        return False
    return losses(recording)[1] > 0


def losses(recording: Recording) -> tuple[int, int]:
    """How many losses a cut is, announced ones and others: of crash states each that lost counts."""
    cut = recording.cut
    if cut is None or recording.status != "done" or cut.verdict != "lost":
        return 0, 0
    by = announcement(recording)
    if cut.states is None:
        return (1, 0) if by.covers(damage=shows_damage(recording)) else (0, 1)
    lost = cut.states.lost
    # Journals of older versions do not tell how many: all of them, if the one that is told of does.
    damaged = cut.states.damaged if cut.states.damaged is not None else lost * shows_damage(recording)
    unannounced = (0 if by.covers(damage=True) else damaged) + (0 if by.covers(damage=False) else lost - damaged)
    return lost - unannounced, unannounced


def shows_damage(recording: Recording) -> bool:
    """Whether a cut that lost shows more than that the last commits are missing."""
    cut = recording.cut
    if cut is None:
        return False
    if cut.damage is not None:
        return bool(cut.damage)
    return _showed_damage(cut)


def _showed_damage(cut: Cut) -> bool:
    """The same, of a journal of an older version. What it does not tell is taken for damage."""
    if any(cut.checks.get(name) == "lost" for name in DAMAGE):
        return True
    fate = cut.fate
    return fate is None or bool(fate.torn or fate.loaded_lost or fate.order_broken) or not fate.lost


def risk_of(recording: Recording) -> Risk | None:
    """What its durability level may lose, by settings and mount options in force; None of an engine unknown here."""
    if (said := recording.promise) is not None:
        return Risk(lost=said.may_lose, breaks=ANYHOW if said.may_break else "", keeps="store")
    family = family_of(recording)
    settings = {setting.name: setting.in_force or setting.asked or "" for setting in recording.settings}
    options = recording.place.filesystem, recording.place.mount_options
    return family.risk_on(recording.durability, settings, *options) if family else None


def family_of(recording: Recording) -> families.Family | None:
    """The family of its engine. Of a server by URL the scheme says it, for its name is the user's."""
    if recording.engine is None or recording.promise is not None:
        return None
    scheme, is_url, _ = recording.engine.source.partition("://")
    return (families.of_word(scheme) if is_url else None) or families.of_engine(recording.engine.known_as)
