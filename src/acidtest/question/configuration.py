"""Is it the configuration? What ``acidtest diagnose`` measures on a scratch database.

One thing at a time: the reference has the page size that was found, and where more than the cache was set, what was
found is run with the cache of the reference, too.

It needs the settings that were found, which no dialogue asks for, and so it is not offered by ``acidtest init``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar

from acidtest.families import FAMILIES
from acidtest.journal.diagnosis import DURABLE, REFERENCE
from acidtest.keys import Scalar
from acidtest.question import parts
from acidtest.question.answers import Answers, Chosen, StorageKind
from acidtest.question.base import Question, Rung, Sketch
from acidtest.question.parts import ENOUGH
from acidtest.question.text import Draft, Line, Table, Value

CACHE_MB = 128  # as of the question of durability: it holds all that is written
WORKLOADS = ("commits", "tpcb")
SCALE_BYTES, SCALE_MOST = 15_000_000, 8  # of a branch of tpcb, and how many are loaded at most


class Configuration(Question):
    """The settings that were found beside a reference, with one terminal; ``found`` is what they are called."""

    name: ClassVar[str] = "configuration"
    asks: ClassVar[str] = "Is it the configuration?"
    storages: ClassVar[tuple[StorageKind, ...]] = ("directory",)
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(ENOUGH, 1.0), Rung(ENOUGH, 0.5))

    def __init__(self, found: str, settings: Mapping[str, Scalar], level: str, by_level: Collection[str]) -> None:
        """``by_level`` are the settings of the engine that follow from the durability level."""
        self._found, self._settings, self._level, self._by_level = found, settings, level, by_level

    def _scale(self, engine: Chosen) -> int:
        """Of a database of twice the cache that was found, so that the cache has something to do."""
        held = FAMILIES[engine.family].cache
        value, page = self._settings.get(held.setting), self._page_bytes(engine)
        cache = int(value) * (held.unit_bytes or page) if isinstance(value, int) else 0
        return max(1, min(SCALE_MOST, -(-2 * cache // SCALE_BYTES)))

    def _page_bytes(self, engine: Chosen) -> int:
        page = self._settings.get(str(FAMILIES[engine.family].page_size))
        return page if isinstance(page, int) else engine.page_size

    def title(self, answers: Answers) -> str:
        return f"The settings that were found beside a reference, on {answers.engines[0].id}"

    def heading(self, answers: Answers) -> tuple[str, ...]:
        return (f"{self.asks} Written by acidtest diagnose.",)

    def configurations(self, engine: Chosen, *, stepped: bool = True) -> dict[str, tuple[str, dict[str, Scalar]]]:
        """By name the durability level and the engine's settings.

        Where commits do not wait for the drive, what was found is also tried where they do, for only that can be
        compared with the reference. One is left where what was found is what the reference sets.
        """
        page = self._page_bytes(engine)
        found, beside = (self._level, dict(self._settings)), (engine.levels[-1], reference(engine, page))
        each = {self._found: found}
        if self._level != beside[0]:
            rest = {name: value for name, value in self._settings.items() if name not in self._by_level}
            each[DURABLE] = beside[0], rest
        *_, (_, last) = each.values()
        cache = parts.cache(engine.family, CACHE_MB, page, 1)
        if stepped and last.keys() - beside[1].keys() and not cache.items() <= last.items():
            each[f"{self._found}, {CACHE_MB} MiB cache"] = beside[0], {**last, **cache}
        each = {name: one for name, one in each.items() if one != beside}
        return {**each, self.reference_name(engine): beside}

    def reference_name(self, engine: Chosen) -> str:
        """In the words of what it sets: ``reference: 8 KiB pages, 128 MiB cache``."""
        pages = f"{self._page_bytes(engine) / 1024:g} KiB pages, " if engine.page_sizes else ""
        return f"{REFERENCE}: {pages}{CACHE_MB} MiB cache"

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        scale, both, one = self._scale(answers.engines[0]), WORKLOADS, WORKLOADS[:1]
        breadths = dict.fromkeys([(both, scale, True), (both, 1, True), (one, 1, True), (one, 1, False)])
        return [Sketch(partial(self._draft, answers, *breadth)) for breadth in breadths]

    def _draft(
        self, answers: Answers, workloads: Sequence[str], scale: int, stepped: bool, repetitions: int, seconds: float
    ) -> Draft:
        engine = answers.engines[0]
        name_of_reference = self.reference_name(engine)
        each = self.configurations(engine, stepped=stepped)
        levels = list(dict.fromkeys(level for level, _ in each.values()))
        configuration: list[Value] = [
            {"name": name, "set": {f"{engine.family}.{key}": value for key, value in settings.items()}}
            for name, (_, settings) in each.items()
        ]
        factors = [Line("durability", levels)]
        if len(each) > 1:
            factors.append(Line("configuration", configuration, "What was found, and a reference beside it."))
        fixed = [] if len(each) > 1 else [Line(key, value) for key, value in each[name_of_reference][1].items()]
        base = {
            "durability": each[name_of_reference][0],
            **({"configuration": name_of_reference} if len(each) > 1 else {}),
        }
        tables = {
            "commits": Table("workload.commits", (Line("terminals", 1), *parts.measured(seconds))),
            "tpcb": parts.tpcb(scale, 1, seconds),
        }
        return self.draft(
            answers,
            (parts.repetitions(repetitions), parts.read_against(base)),
            factors,
            *(
                Table("exclude", (Line("configuration", name), Line("durability", level)), repeated=True)
                for name, (own, _) in each.items()
                for level in levels
                if level != own
            ),
            *(tables[name] for name in workloads),
            Table(f"settings.{engine.family}", tuple(fixed)),
            *parts.place(answers.storage, None),
        )


def reference(engine: Chosen, page_bytes: int) -> dict[str, Scalar]:
    """A page cache of the size that our experiments share, with these pages where the engine lets choose."""
    pages = {str(FAMILIES[engine.family].page_size): page_bytes} if engine.page_sizes else {}
    return {**pages, **parts.cache(engine.family, CACHE_MB, page_bytes, 1)}
