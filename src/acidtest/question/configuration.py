"""Is it the configuration? What ``acidtest diagnose`` measures on a scratch database.

It needs the settings that were found, which no dialogue asks for, and so it is not offered by ``acidtest init``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar

from acidtest.families import FAMILIES
from acidtest.question import parts
from acidtest.question.answers import Answers, Chosen, StorageKind
from acidtest.question.base import ENOUGH, Question, Rung, Sketch
from acidtest.question.text import Draft, Line, Scalar, Table, Value

SANE = "sane"
DURABLE = "found-durable"  # the settings that were found, but for those that give durability away
CACHE_MB = 128  # as of the question of durability: it holds all that is written
WORKLOADS = ("commits", "tpcb")


class Configuration(Question):
    """The settings that were found beside the house's own, with one terminal; ``found`` is what they are called."""

    name: ClassVar[str] = "configuration"
    asks: ClassVar[str] = "Is it the configuration?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory",)
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 1.0), Rung(ENOUGH, 0.5))

    def __init__(self, found: str, settings: Mapping[str, Scalar], level: str, by_level: Collection[str]) -> None:
        """``by_level`` are the settings of the engine that follow from the durability level."""
        self._found, self._settings, self._level, self._by_level = found, settings, level, by_level

    def title(self, answers: Answers) -> str:
        return f"The settings that were found beside those of the reference, on {answers.engines[0].id}"

    def heading(self, answers: Answers) -> tuple[str, ...]:
        return (f"{self.asks} Written by acidtest diagnose.",)

    def configurations(self, engine: Chosen) -> dict[str, tuple[str, dict[str, Scalar]]]:
        """By name the durability level and the engine's settings.

        Where commits do not wait for the drive, what was found is also tried where they do, for only that can be
        compared with sane settings. One is left where what was found is sane.
        """
        found, beside = (self._level, dict(self._settings)), (engine.levels[-1], sane(engine))
        each = {self._found: found}
        if self._level != beside[0]:
            rest = {name: value for name, value in self._settings.items() if name not in self._by_level}
            each[DURABLE] = beside[0], rest
        each = {name: one for name, one in each.items() if one != beside}
        return {**each, SANE: beside}

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        return [Sketch(partial(self._draft, answers, some)) for some in (WORKLOADS, WORKLOADS[:1])]

    def _draft(self, answers: Answers, workloads: Sequence[str], repetitions: int, seconds: float) -> Draft:
        engine = answers.engines[0]
        each = self.configurations(engine)
        levels = list(dict.fromkeys(level for level, _ in each.values()))
        configuration: list[Value] = [
            {"name": name, "set": {f"{engine.family}.{key}": value for key, value in settings.items()}}
            for name, (_, settings) in each.items()
        ]
        factors = [parts.engines(answers), Line("durability", levels)]
        if len(each) > 1:
            factors.append(Line("configuration", configuration, "What was found, and the house's settings beside it."))
        fixed = [] if len(each) > 1 else [Line(key, value) for key, value in each[SANE][1].items()]
        base = {"durability": each[SANE][0], **({"configuration": SANE} if len(each) > 1 else {})}
        tables = {
            "commits": Table("workload.commits", (Line("terminals", 1), *parts.measured(seconds))),
            "tpcb": parts.tpcb(1, 1, seconds),
        }
        return Draft(
            parts.opening(self, answers, parts.repetitions(repetitions), parts.read_against(base)),
            (
                Table("factors", tuple(factors), "Every combination of these levels is run."),
                *(
                    Table("exclude", (Line("configuration", name), Line("durability", level)), repeated=True)
                    for name, (own, _) in each.items()
                    for level in levels
                    if level != own
                ),
                *(tables[name] for name in workloads),
                Table(f"settings.{engine.family}", tuple(fixed)),
                *parts.place(answers.storage, None),
            ),
        )


def sane(engine: Chosen) -> dict[str, Scalar]:
    """The settings that the house's own experiments share, of an engine's family."""
    family = FAMILIES[engine.family]
    settings = parts.cache(engine.family, CACHE_MB, engine.page_size, 1)
    if family.cache.unit_bytes is None:
        settings = {str(family.page_size): engine.page_size, **settings}
    return settings
