"""The SQLite that the rig was built with, as an engine."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec
from acidtest.engine.sqlite import durability
from acidtest.engine.sqlite.instance import SqliteInstance
from acidtest.engine.sqlite.settings import SPECS
from acidtest.journal.models import EngineFacts, Scalar


class Sqlite(Engine):
    """The SQLite that the rig was built with."""

    id = "sqlite"
    family = "sqlite"
    embedded = True
    library: Path | None = None  # of a build of the user's

    def _offer(self) -> Offer:
        facts = self.facts()
        return Offer(self.id, True, facts.version, facts.architecture, facts.source, path="", remedy="")

    def facts(self) -> EngineFacts:
        return EngineFacts(
            id=self.id,
            version="",
            architecture=platform.machine().replace("_", "-"),
            source="built into acidtest-rig",
            mode="embedded",
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return SPECS

    def durability_levels(self) -> tuple[str, ...]:
        return durability.LEVELS

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as a pair of journal_mode and synchronous."""
        durability.refuse_contradictions(level, settings)
        return Durability(level, durability.meaning(level, settings))

    def instance(self, directory: Path, settings: Mapping[str, Scalar], durability: str | None) -> Instance:
        return SqliteInstance(self.id, directory, settings, durability or "none", self.library)


def engines() -> list[Engine]:
    """The one."""
    return [Sqlite()]
