"""What a benchmark discloses: of each thing that a reader needs, the file that records it, or that it is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Published, Where
from acidtest.audit.repeated import DRIVE_TOOLS, repetitions, uneven
from acidtest.finding import Evidence

TEXTS_MAX = 20  # that evidence names
SETTINGS = "settings in force"
OF_A_SERVER = ("version and build", SETTINGS, "client and its machine", "repetitions")


@dataclass(frozen=True)
class Item:
    what: str
    where: Where | None  # None: it is not recorded
    line: str  # of benchmark.toml, that would declare it; "" of what only files can show

    def how(self, bench: Bench) -> str:
        """``recorded in FILE``, ``declared`` or ``not recorded``."""
        if self.where is None:
            return "not recorded"
        declared = bench.declared is not None and self.where.file == bench.declared.where.file
        return "declared" if declared else f"recorded in {self.where.file}"


Look = Callable[[Bench], Where | None]


def _first(places: Iterable[Where]) -> Where | None:
    return next(iter(places), None)


def _said(*kinds: str) -> Look:
    return lambda bench: _first(fact.where for fact in bench.facts if fact.kind in kinds)


def _platform(*names: str) -> Look:
    return lambda bench: _first(one.where for one in bench.said("platform") if one.text.startswith(names))


def _machine(*names: str) -> Look:
    def declared(bench: Bench) -> Where | None:
        machines = bench.declared.machines if bench.declared else ()
        return _first(fact.where for machine in machines for fact in machine.facts if fact.name in names)

    return declared


def _side(kind: str) -> Look:
    return lambda bench: _first(part.where for side in bench.sides for part in getattr(side, kind))


def _any(*looks: Look) -> Look:
    return lambda bench: _first(where for look in looks if (where := look(bench)))


def _versions(bench: Bench) -> Where | None:
    """Where the version of the first side is told, if that of every side is."""
    if not bench.sides or not all(side.version for side in bench.sides):
        return None
    first = bench.sides[0]
    places = [binary.where for binary in first.binaries if binary.version]
    places += [configuration.where for configuration in first.configurations if configuration.version]
    declared = bench.declared.sides if bench.declared else ()
    return _first([*places, *(one.where for one in declared if one.name == first.name)])


def _settings(bench: Bench) -> Where | None:
    """Where the configuration of the first side lies, if that of every side does."""
    found = [next((configuration.where for configuration in side.configurations), None) for side in bench.sides]
    return found[0] if found and None not in found else None


def _repeated(bench: Bench) -> Where | None:
    if uneven(bench) and not (bench.declared and bench.declared.repetitions):
        return None
    several = (of[0].where for of in repetitions(bench, timed=True).values() if len(of) > 1)
    counted = (
        other.where for other in bench.others if (other.runs or 0) > 1 or (other.told and (other.repetition or 0) > 1)
    )
    return _first(several) or _first(counted) or _said("repeated")(bench)


LOOKS: Mapping[str, tuple[Look, str]] = {
    "processor": (_any(_machine("processor", "cores", "instance"), _platform("cpu", "processor")), "processor"),
    "memory": (_said("memory"), "memory_gb"),
    "drive and its cache": (_said("drive"), "drive"),
    "file system and its options": (_any(_said("file-system"), _side("mounts")), "file_system"),
    "kernel": (_any(_machine("system"), _platform("system", "kernel", "os", "platform")), "system"),
    "version and build": (_versions, 'engine = "… 1.2.3"'),
    SETTINGS: (_settings, ""),
    "client and its machine": (
        lambda bench: bench.declared.client.where if bench.declared and bench.declared.client else None,
        "client",
    ),
    "repetitions": (_repeated, ""),
}


def of_drives(bench: Bench) -> bool:
    """Whether drives were measured, and no server."""
    return bool(bench.others) and all(other.tool in DRIVE_TOOLS for other in bench.others)


def table(bench: Bench) -> list[Item]:
    """All that should be disclosed, and where it is."""
    wanted = [what for what in LOOKS if not (of_drives(bench) and what in OF_A_SERVER)]
    return [Item(what, LOOKS[what][0](bench), LOOKS[what][1]) for what in wanted]


def measured(bench: Bench) -> list[Evidence]:
    """Where results lie, where runs are started, and the texts that may tell in a sentence what no file records.
    Nothing where nothing was measured."""
    if all(other.planned for other in bench.others) and not bench.texts:
        return []  # nothing is published
    by_file: dict[str, Published] = {}
    for other in sorted(bench.others, key=lambda other: other.planned):
        by_file.setdefault(other.where.file, other)
    said = [
        one.where.says(
            f"{one.tool or 'a run'} is started here"
            if one.planned
            else " of ".join(filter(None, ("a result", one.tool)))
        )
        for one in by_file.values()
    ]
    prose = "its sentences are not read: what they tell is to be declared in benchmark.toml"
    return [*said, *(Evidence(prose, text) for text in bench.texts[:TEXTS_MAX])] if said else []
