"""A Firebird as an engine, whichever way it runs: its settings, its levels, and where sessions are opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from acidtest.engine.base import Durability, Engine, SettingSpec, without
from acidtest.engine.compare import promised
from acidtest.engine.firebird.versions import Version, specs_of
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Message, Target

LEVELS = ("os", "drive")


class FirebirdRemote(Message):
    host: str
    port: int
    password: str


class FirebirdTarget(Target):
    """Where the rig opens its sessions; the twin of the rig's own."""

    engine: Literal["firebird"] = "firebird"
    library: str
    database: str
    user: str
    remote: FirebirdRemote | None
    isolation: Literal["read_committed", "snapshot"]
    lock_resolution: Literal["wait", "no_wait"]
    lock_timeout_s: int | None
    setup: list[str]


def refuse_contradictions(id: str, level: str, settings: Mapping[str, Scalar]) -> None:  # noqa: A002
    """Raise BadInput for a level that Firebird does not have, and for forced writes against the level."""
    if level not in LEVELS:
        raise BadInput(
            f"{id}: has no durability level {level} (it has {', '.join(LEVELS)}): "
            "Firebird hands its pages to the operating system at each commit",
            f"ask for durability {' or '.join(LEVELS)}",
        )
    asked = settings.get("forced_writes")
    if asked is not None and asked is not (level == "drive"):
        raise BadInput(
            f"{id}: forced_writes = {str(asked).lower()} contradicts durability {level}",
            without("forced_writes", ["drive" if asked else "os"]),
        )


class Firebird(Engine):
    """One Firebird of this machine, whichever way it runs."""

    family = "firebird"
    on_raw_device = True  # doc/README.raw_devices of its source

    def __init__(self, id: str, version: Version) -> None:  # noqa: A002
        self.id = id
        self.version = version
        self._specs = specs_of(version)

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return self._specs

    def durability_levels(self) -> tuple[str, ...]:
        return LEVELS

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as Forced Writes off or on."""
        refuse_contradictions(self.id, level, settings)
        flushed = [settings.get(name, -1) for name in ("max_unflushed_writes", "max_unflushed_write_time_s")]
        does = (
            "Forced Writes on: each page is written through to the drive (O_DSYNC)"
            if level == "drive"
            else "Forced Writes off: handed to the OS at commit, "
            f"{'flushed now and then' if any(one != -1 for one in flushed) else 'never flushed'}, and in no order kept"
        )
        return Durability(level, promised(does, self.family, level, settings))
