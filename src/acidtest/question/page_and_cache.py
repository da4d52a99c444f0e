"""Which page size, and which size of the page cache?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import ClassVar

from acidtest.errors import BadInput
from acidtest.families import FAMILIES, Family
from acidtest.question import parts
from acidtest.question.answers import Answers, Chosen, listed
from acidtest.question.base import Question, Sketch
from acidtest.question.parts import TPCB
from acidtest.question.text import Draft, Line, Value

PAGES = (4096, 8192, 16384)
BOTH = "page_and_cache"
# For who wants to know what a small cache costs where the drive has to answer.
MEMORY_SAID = "The operating system's cache counts too, unless all of it is limited, MiB. Needs root."
MEMORY = Line("memory_mb", 256, MEMORY_SAID, offered=True)
# By the scale of the workload: caches that hold a twentieth of the database, a third, and all of it.
CACHES_MB = {10: (8, 64, 256), 4: (8, 32, 128), 1: (8, 32)}


class PageAndCache(Question):
    """One family of engines at a time: page and cache are its settings."""

    name: ClassVar[str] = "page-and-cache"
    asks: ClassVar[str] = "Which page size and which page cache?"
    takes_sql: ClassVar[bool] = True
    takes_found: ClassVar[bool] = True
    no_servers: ClassVar[str] = "acidtest changes nothing on a server of yours, and these are settings of it"

    def title(self, answers: Answers) -> str:
        what = "Which page size and page cache" if _pages(answers) else "Which page cache"
        return f"{what} for {answers.engine_names}"

    def check_engines(self, engines: Sequence[Chosen]) -> None:
        super().check_engines(engines)
        families = tuple(dict.fromkeys(engine.family for engine in engines))
        if len(families) > 1:
            raise BadInput(
                f"{self.name}: {listed(families)} have settings of their own",
                "name engines of one family; make an experiment of each",
            )

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        usual = _usual_page(answers)
        pages = _pages(answers) or (usual,)
        two = tuple(sorted({usual, max((page for page in pages if page != usual), default=usual)}))
        breadths = [(pages, 10, 3), (pages, 10, 2), (pages, 4, 2), (two, 4, 2), ((usual,), 4, 2), ((usual,), 1, 2)]
        terminals = dict(TPCB)
        return [
            Sketch(partial(self._draft, answers, some, _ends(CACHES_MB[scale], many), scale, terminals[scale]))
            for some, scale, many in breadths
        ]

    def _draft(
        self,
        answers: Answers,
        pages: Sequence[int],
        caches_mb: Sequence[int],
        scale: int,
        terminals: int,
        repetitions: int,
        seconds: float,
    ) -> Draft:
        factors, usual = _factors(answers, pages, caches_mb, terminals)
        family, found = FAMILIES[answers.families[0]], answers.found
        level = [parts.at_drive()]
        if found is not None and found.level != "drive":
            text = "What was found does not wait for the drive: a power cut takes what was committed last."
            factors.append(Line("durability", [found.level, "drive"], text))
            usual, level = {**usual, "durability": found.level}, []
        return self.draft(
            answers,
            (parts.repetitions(repetitions), parts.read_against(usual), *level),
            (*parts.scripts(answers), *factors),
            *parts.in_force(answers, (family.page_size, family.cache.setting)),
            *parts.workloads(answers, scale, terminals, seconds),
            *parts.place(answers.storage, parts.filesystem(answers), (MEMORY,)),
        )


def _pages(answers: Answers) -> tuple[int, ...]:
    """The page sizes that all of the engines can have; none where there is no choice."""
    wanted = sorted({*PAGES, _usual_page(answers)})
    shared = [page for page in wanted if all(page in engine.page_sizes for engine in answers.engines)]
    return tuple(shared) if len(shared) > 1 else ()


def _usual_page(answers: Answers) -> int:
    """The size of the pages that were found, else the engine's own."""
    found = answers.found.of(FAMILIES[answers.families[0]].page_size) if answers.found else None
    return found or answers.engines[0].page_size


def _ends(levels: Sequence[int], count: int) -> tuple[int, ...]:
    """The smallest and the largest where two are wanted, else all."""
    return (levels[0], levels[-1]) if count == 2 else tuple(levels)


def _factors(
    answers: Answers, pages: Sequence[int], caches_mb: Sequence[int], terminals: int
) -> tuple[list[Line], dict[str, str]]:
    """The factors, and the levels that are the base: what was found, else the engine's usual page size and the cache in
    the middle."""
    family, usual_page = FAMILIES[answers.families[0]], _usual_page(answers)
    usual_mb = caches_mb[len(caches_mb) // 2]
    cache = answers.found.of(family.cache.setting) if answers.found else None
    if family.cache.unit_bytes is None:
        levels = [_of_both(family, page, mb, terminals) for page, mb in product(pages, caches_mb)]
        text = f"{family.cache.setting} counts in pages: so much cache is another number for each page size."
        base = _named(usual_page, usual_mb)
        if cache is not None:
            base = f"{_found(answers)}: {usual_page} bytes, {_mb(cache * usual_page)}"
            held = {str(family.page_size): usual_page, family.cache.setting: cache}
            of_found = {f"{family.name}.{key}": value for key, value in held.items()}
            others = [level for level in levels if not (isinstance(level, dict) and level["set"] == of_found)]
            levels = [{"name": base, "set": of_found}, *others]
        return [Line(BOTH, levels, text)], {BOTH: base}
    setting = f"{family.name}.{family.cache.setting}"
    each = " in all; each session has its part of it" if family.cache.each_session else ""
    caches: list[Value] = [
        {"name": f"{mb} MiB", "value": parts.cache(family.name, mb, usual_page, terminals)[family.cache.setting]}
        for mb in caches_mb
    ]
    usual = {setting: f"{usual_mb} MiB"}
    if cache is not None:
        usual = {setting: f"{_found(answers)}: {_mb(cache * family.cache.unit_bytes)}"}
        others = [one for one in caches if not (isinstance(one, dict) and one["value"] == cache)]
        caches = [{"name": usual[setting], "value": cache}, *others]
    factors = [
        Line(setting, caches, f"The engine's own page cache{each}. The operating system caches files beside it.")
    ]
    if family.page_size is not None and _pages(answers):
        key = f"{family.name}.{family.page_size}"
        factors.insert(0, Line(key, list(pages), "Bytes. A database is loaded for each size."))
        usual = {key: str(usual_page), **usual}
    return factors, usual


def _of_both(family: Family, page: int, megabytes: int, terminals: int) -> Value:
    settings = {str(family.page_size): page, **parts.cache(family.name, megabytes, page, terminals)}
    return {
        "name": _named(page, megabytes),
        "set": {f"{family.name}.{setting}": value for setting, value in settings.items()},
    }


def _named(page: int, megabytes: int) -> str:
    return f"{page} bytes, {megabytes} MiB"


def _found(answers: Answers) -> str:
    return answers.found.name if answers.found else ""


def _mb(size: int) -> str:
    return f"{size / (1 << 20):.3g} MiB"
