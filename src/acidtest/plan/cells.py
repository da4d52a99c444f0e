"""The cells of an experiment and the order in which they run."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from acidtest import families
from acidtest.errors import BadInput
from acidtest.experiment import (
    Experiment,
    Level,
    PlaceSpec,
    Scalar,
    Size,
    place_keys_without_meaning,
    size_of,
)
from acidtest.journal.models import NOT_APPLICABLE, SIZE
from acidtest.workload import WorkloadSpec

Spec = TypeVar("Spec", WorkloadSpec, PlaceSpec)
ALWAYS = ("engine", "durability", "workload")  # factors that every cell has


@dataclass(frozen=True)
class Cell:
    """One combination of levels, one repetition: the unit that runs, fails and resumes."""

    id: str  # "commits/sqlite/drive#1"
    levels: Mapping[str, str]  # factor -> level name
    repetition: int  # 1-based
    order: int  # 1-based position in the run
    seed: int  # the same for all cells of one repetition, so that they are asked the same
    engine: str
    durability: str
    workload_name: str
    workload: WorkloadSpec
    settings: Mapping[str, Scalar]  # of the cell's engine, by bare name
    place: PlaceSpec
    size: Size | None = None  # that the database is brought to, in bytes or warehouses; None where none is asked for
    series: str = ""  # cells of one have one database, which grows from size to size

    @property
    def combination(self) -> str:
        """The id without the repetition."""
        return self.id.rpartition("#")[0]


@dataclass(frozen=True)
class Plan:
    """All cells of an experiment, in the order in which they run."""

    experiment: Experiment
    cells: tuple[Cell, ...]

    def combinations(self) -> list[Cell]:
        """The first repetition of each combination, in the experiment's own order of levels."""
        names = {factor: [level.name for level in levels] for factor, levels in self.experiment.factors.items()}

        def place(cell: Cell) -> list[int]:
            return [names[f].index(level) if level in names[f] else -1 for f, level in cell.levels.items()]

        return sorted((cell for cell in self.cells if cell.repetition == 1), key=place)


def make(experiment: Experiment) -> Plan:
    """Cross the factors, leave out what is excluded or does not apply, repeat, and shuffle each repetition.

    Repetitions are interleaved: every combination once, then every combination again in another order drawn from
    the experiment's seed, so that a drift of the machine falls on all levels alike. A factor that a combination's
    engine or workload does not have gets the level "–" there, and combinations that become equal are kept once.

    Databases that grow are not interleaved: one series after another, in each the sizes ascending, and the repetitions
    of one size one after the other, for a size that was outgrown cannot be had again.

    Raises BadInput when nothing is left or a level does not fit its workload.
    """
    combinations: dict[str, tuple[dict[str, str], dict[str, Scalar]]] = {}
    for chosen in itertools.product(*experiment.factors.values()):
        levels, sets = _applicable(experiment, dict(zip(experiment.factors, chosen, strict=True)))
        if any(all(levels[factor] in names for factor, names in entry.items()) for entry in experiment.exclude):
            continue
        combinations.setdefault("/".join(levels.values()), (levels, sets))
    if not combinations:
        raise BadInput(
            f"{experiment.name}: no cell is left to run", "every combination is excluded: loosen [[exclude]]"
        )
    cells: list[Cell] = []
    for name, repetition in _ordered(experiment, list(combinations)):
        levels, sets = combinations[name]
        cells.append(_cell(experiment, name, levels, sets, repetition, len(cells) + 1))
    return Plan(experiment, tuple(cells))


def _ordered(experiment: Experiment, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    repetitions = range(1, experiment.repetitions + 1)
    if experiment.growth is not None:
        # The size is the last factor: crossing has put the sizes of each series side by side, in their order.
        yield from itertools.product(names, repetitions)
        return
    for repetition in repetitions:
        shuffled = list(names)
        random.Random(f"{experiment.seed}:{repetition}").shuffle(shuffled)
        for name in shuffled:
            yield name, repetition


def _applicable(experiment: Experiment, chosen: Mapping[str, Level]) -> tuple[dict[str, str], dict[str, Scalar]]:
    sets: dict[str, Scalar] = {}
    for level in chosen.values():
        sets.update(level.set)
    family = family_of(experiment, str(sets["engine"]))
    workload = experiment.workload[str(sets["workload"])]
    place = (sets.get(f"place.{key}", getattr(experiment.place, key)) for key in ("kind", "filesystem"))
    unmeant = place_keys_without_meaning(*place)
    levels: dict[str, str] = {}
    for factor, level in chosen.items():
        reaches = [target for target in level.set if _reaches(target, family, workload, unmeant)]
        levels[factor] = level.name if reaches or not level.set else NOT_APPLICABLE
    return levels, {target: value for target, value in sets.items() if _reaches(target, family, workload, unmeant)}


def family_of(experiment: Experiment, engine: str) -> str:
    """The prefix of an engine's settings: "mysql" of "mariadb-10.11", for InnoDB is the same in both."""
    if engine in experiment.servers:
        return experiment.servers[engine].family
    family = families.of_engine(engine)
    return family.name if family else engine.partition("-")[0]


def _reaches(target: str, family: str, workload: WorkloadSpec, unmeant: tuple[str, ...]) -> bool:
    owner, _, setting = target.partition(".")
    if owner == "place":
        return setting not in unmeant
    if setting:
        return owner == family
    return target in ALWAYS or target in type(workload).model_fields


def _cell(
    experiment: Experiment,
    name: str,
    levels: Mapping[str, str],
    sets: Mapping[str, Scalar],
    repetition: int,
    order: int,
) -> Cell:
    engine = str(sets["engine"])
    family = family_of(experiment, engine)
    workload_name = str(sets["workload"])
    settings = dict(experiment.settings.get(family, {}))
    parameters: dict[str, Scalar] = {}
    place: dict[str, Scalar] = {}
    for target, value in sets.items():
        owner, _, setting = target.partition(".")
        if owner == "place":
            place[setting] = value
        elif setting:
            settings[setting] = value
        elif target not in ALWAYS:
            parameters[target] = value
    where = _varied(experiment.place, place, "place.", f"place {experiment.place.kind}")
    size, series = None, ""
    if experiment.growth is not None:
        size = size_of(levels[SIZE]).with_memory(where.memory_mb)
        series = name if experiment.growth.load == "fresh" else "/".join(v for f, v in levels.items() if f != SIZE)
    return Cell(
        id=f"{name}#{repetition}",
        levels=levels,
        repetition=repetition,
        order=order,
        seed=_seed(experiment.seed, repetition),
        engine=engine,
        durability=str(sets["durability"]),
        workload_name=workload_name,
        workload=_varied(experiment.workload[workload_name], parameters, "", f"workload {workload_name}"),
        settings=settings,
        place=where,
        size=size,
        series=series,
    )


def _varied(spec: Spec, levels: Mapping[str, Scalar], prefix: str, name: str) -> Spec:
    if not levels:
        return spec
    try:
        return type(spec).model_validate(spec.model_dump() | dict(levels), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or name
        raise BadInput(f"factors.{prefix}{key}, with {name}: found {first['input']}: {first['msg']}") from None


def _seed(seed: int, repetition: int) -> int:
    digest = hashlib.sha256(f"{seed}:{repetition}".encode()).digest()
    return int.from_bytes(digest[:6], "big")  # 48 bits: exact in JSON
