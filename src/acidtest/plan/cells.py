"""The cells of an experiment and the order in which they run."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import ValidationError

from acidtest.errors import BadInput
from acidtest.experiment import Experiment, PlaceSpec, Scalar, Size, size_of
from acidtest.journal.models import NOT_APPLICABLE, SIZE
from acidtest.plan.reach import Combination, Crossing, Path
from acidtest.workload import WorkloadSpec

Spec = TypeVar("Spec", WorkloadSpec, PlaceSpec)
DEFAULT_PLACE = PlaceSpec()


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

    def repeated(self, repetition: int, order: int, seed: int) -> Cell:
        """The same combination at another place in the plan."""
        return replace(self, id=f"{self.combination}#{repetition}", repetition=repetition, order=order, seed=seed)


@dataclass(frozen=True)
class Plan:
    """All cells of an experiment, in the order in which they run."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    cuts: bool | None = None  # whether power is cut; None: under workloads whose transactions can be surveyed
    # What of the experiment acts in some cell, by its path; behind "excluded" what would if it were not excluded.
    reached: frozenset[Path] = frozenset()

    def combinations(self) -> list[Cell]:
        """The first repetition of each combination, in the experiment's own order of levels."""
        names = {factor: [level.name for level in levels] for factor, levels in self.experiment.factors.items()}

        def place(cell: Cell) -> list[int]:
            return [names[f].index(level) if level in names[f] else -1 for f, level in cell.levels.items()]

        return sorted((cell for cell in self.cells if cell.repetition == 1), key=place)


def make(experiment: Experiment, *, cuts: bool | None = None, embedded: Container[str] = ()) -> Plan:
    """Cross the factors, leave out what is excluded or does not apply, repeat, and shuffle each repetition.

    Repetitions are interleaved: every combination once, then every combination again in another order drawn from
    the experiment's seed, so that a drift of the machine falls on all levels alike. A factor that a combination's
    engine, workload or place does not have gets the level "–" there, and combinations that become equal are kept once.

    Databases that grow are not interleaved: one series after another, in each the sizes ascending, and the repetitions
    of one size one after the other, for a size that was outgrown cannot be had again.

    ``cuts`` is as in Plan; ``embedded`` are the engines that run inside the rig. Raises BadInput when nothing is left
    or a level does not fit its workload.
    """
    combinations: dict[str, tuple[dict[str, str], Combination]] = {}
    crossing = Crossing(experiment, cuts, embedded)
    missing, reached = set(experiment.given), set[Path]()
    for levels_chosen in itertools.product(*experiment.factors.values()):
        combination = crossing.of(dict(zip(experiment.factors, levels_chosen, strict=True)))
        levels = combination.levels()
        if excluded := _excluded(experiment, levels):
            reached |= excluded | {("excluded", *path) for path in combination.reached()}
            continue
        reached |= combination.reached()
        carried = {path for path in missing if combination.carries(path)}
        missing -= carried
        reached |= carried
        combinations.setdefault("/".join(levels.values()), (levels, combination))
    if not combinations:
        raise BadInput(
            f"{experiment.name}: no cell is left to run", "every combination is excluded: loosen [[exclude]]"
        )
    _fold(combinations)
    made: dict[str, Cell] = {}
    maker = _Cells(experiment)
    seeds = {number: _seed(experiment.seed, number) for number in range(1, experiment.repetitions + 1)}
    cells: list[Cell] = []
    for name, repetition in _ordered(experiment, list(combinations)):
        if name not in made:
            made[name] = maker.make(name, *combinations[name])
        cells.append(made[name].repeated(repetition, len(cells) + 1, seeds[repetition]))
    return Plan(experiment, tuple(cells), cuts, frozenset(reached))


def _excluded(experiment: Experiment, levels: Mapping[str, str]) -> set[Path]:
    """The entries of ``[[exclude]]`` that match."""
    return {
        ("exclude", str(position))
        for position, entry in enumerate(experiment.exclude, start=1)
        if all(levels[factor] in names for factor, names in entry.items())
    }


def _fold(combinations: dict[str, tuple[dict[str, str], Combination]]) -> None:
    """Leave out what differs from another combination in a level that does not reach it, and in nothing else."""
    kept: dict[Hashable, str] = {}
    dashes = {name: list(levels.values()).count(NOT_APPLICABLE) for name, (levels, _) in combinations.items()}
    for name in sorted(combinations, key=dashes.__getitem__):  # stable: the one with the fewest stays
        levels, combination = combinations[name]
        acts = (levels.get(SIZE), combination.acts())
        if acts in kept and dashes[name]:
            del combinations[name]
        kept.setdefault(acts, name)


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


class _Cells:
    """Makes the cells of combinations; what is alike in many of them is checked once."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._places: dict[Hashable, PlaceSpec] = {}
        self._workloads: dict[Hashable, WorkloadSpec] = {}

    def make(self, name: str, levels: Mapping[str, str], combination: Combination) -> Cell:
        """Its first repetition."""
        grows = self._experiment.growth
        place = self._place(combination)
        size, series = None, ""
        if grows is not None:
            size = size_of(levels[SIZE]).with_memory(place.memory_mb)
            series = name if grows.load == "fresh" else "/".join(v for f, v in levels.items() if f != SIZE)
        return Cell(
            id=f"{name}#1",
            levels=levels,
            repetition=1,
            order=1,
            seed=0,
            engine=combination.engine,
            durability=str(combination.sets["durability"]),
            workload_name=combination.workload_name,
            workload=self._workload(combination),
            settings=self._experiment.settings.get(combination.family, {}) | combination.settings(),
            place=place,
            size=size,
            series=series,
        )

    def _place(self, combination: Combination) -> PlaceSpec:
        values = combination.place()
        key = tuple(values.items())
        if key not in self._places:
            kind = values.get("kind", DEFAULT_PLACE.kind)
            self._places[key] = _varied(DEFAULT_PLACE, values, "place.", f"place {kind}")
        return self._places[key]

    def _workload(self, combination: Combination) -> WorkloadSpec:
        name, parameters = combination.workload_name, combination.parameters()
        key = (name, *parameters.items())
        if key not in self._workloads:
            self._workloads[key] = _varied(combination.workload, parameters, "", f"workload {name}")
        return self._workloads[key]


def _varied(spec: Spec, levels: Mapping[str, object], prefix: str, name: str) -> Spec:
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
