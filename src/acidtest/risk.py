"""What a durability level may lose; below every layer, so that each may ask.

One truth for what an engine says of its levels, for the risk beside a rate, and for what a power cut may take without
surprise. Which engine has which risk, ``families`` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEVELS = ("none", "os", "drive")  # of durability, the weakest first
ANYHOW = "anyhow"

# Settings by bare name, in the words of a recording: "true", "off", "100".
Settings = Mapping[str, str]


@dataclass(frozen=True)
class Risk:
    """What may be lost although it was acknowledged. Of what a drive does with a flush it knows nothing."""

    lost: str = ""  # commits, at a power cut or a crash of the OS: "commits", "up to 0.6 s of commits"; "" none
    lost_when_killed: str = ""  # the same, when the engine's process alone ends
    # Whether the database itself may break at a power cut or a crash of the OS: "" no, ANYHOW, or "where …", "since …".
    breaks: str = ""
    breaks_when_killed: bool = False
    keeps: str = field(default="database", compare=False)  # what may break; a program of the user's has a store

    @property
    def is_none(self) -> bool:
        """Whether nothing may be lost and nothing may break, as far as the engine can see to it."""
        return self == NO_RISK

    @property
    def sentence(self) -> str:
        """As an engine says it of a level; "" where there is no risk."""
        alike = self._at_power_cut() == self._when_killed() != ""
        killed = "" if alike else self._when_killed()
        said = [f"a crash of the engine may {killed}"] if killed else []
        if cut := self._at_power_cut():
            whole = "" if self.breaks else f", the {self.keeps} stays whole"
            who = "a crash of the engine or the OS, or a power cut," if alike else "an OS crash or power cut"
            said.append(f"{who} may {cut}{whole}")
        return "; ".join(said)

    @property
    def phrase(self) -> str:
        """In a few words beside a rate: what a power cut or an OS crash may take; after "killed", what the end of the
        engine alone may."""
        if self.is_none:
            return "nothing, if the drive keeps what it reports as flushed"
        cut = _taken(self.lost, self.breaks, whole=", no damage")
        killed = _taken(self.lost_when_killed, ANYHOW if self.breaks_when_killed else "")
        return f"{cut}; killed: {'the same' if killed == self.lost and not self.breaks else killed}"

    def as_json(self) -> dict[str, str | bool | None]:
        """For programs; None where nothing is lost."""
        return {
            "lost": self.lost or None,
            "lost_when_killed": self.lost_when_killed or None,
            "may_break": bool(self.breaks),
            "may_break_when_killed": self.breaks_when_killed,
        }

    def _at_power_cut(self) -> str:
        broken = f"break the {self.keeps}" + ("" if self.breaks == ANYHOW else f" {self.breaks}")
        return " and ".join(filter(None, (self.lost and f"lose {self.lost}", self.breaks and broken)))

    def _when_killed(self) -> str:
        lost = self.lost_when_killed and f"lose {self.lost_when_killed}"
        return " and ".join(filter(None, (lost, "break the database" if self.breaks_when_killed else "")))


NO_RISK = Risk()
ANY_COMMITS = Risk(lost="commits", breaks=ANYHOW)


def _taken(lost: str, breaks: str, whole: str = "") -> str:
    where = "" if breaks == ANYHOW else f" {breaks}"
    if not breaks:
        return f"{lost}{whole}" if lost else "nothing"
    return f"{lost}, and the database may break{where}" if lost else f"no commits, but the database may break{where}"
