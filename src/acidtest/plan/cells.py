"""The cells of an experiment and the order in which they run."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import getitem
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from acidtest.errors import BadInput, Problems
from acidtest.experiment import Experiment, Level, PlaceSpec, Size, complaint, size_of
from acidtest.journal.models import NOT_APPLICABLE, SIZE
from acidtest.keys import Scalar
from acidtest.plan.reach import DEFAULTS, Crossing, Path, Shape, Values, decides
from acidtest.words import counted
from acidtest.workload import WorkloadSpec

CELLS_MAX = 200_000  # of one experiment: at two seconds each they take five days
TOLD_EVERY = 2_000

Spec = TypeVar("Spec", WorkloadSpec, PlaceSpec)
Tell = Callable[[str, int, int], None]  # is told how planning goes: of what it has done so many, of so many in all
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
    held_out: bool = False  # the rate at its size is predicted before anything of that size is loaded

    @property
    def combination(self) -> str:
        """The id without the repetition."""
        return self.id.rpartition("#")[0]

    def repeated(self, repetition: int, order: int, seed: int) -> Cell:
        """The same combination at another place in the plan."""
        cell = object.__new__(Cell)  # dataclasses.replace takes several times as long, and plans have many cells
        cell.__dict__.update(self.__dict__)
        cell.__dict__.update(id=f"{self.combination}#{repetition}", repetition=repetition, order=order, seed=seed)
        return cell


@dataclass(frozen=True)
class Plan:
    """All cells of an experiment, in the order in which they run."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    cuts: bool | None = None  # whether power is cut; None: under workloads whose transactions can be surveyed
    # What of the experiment acts in some cell, by its path; behind "excluded" what would if it were not excluded.
    reached: frozenset[Path] = frozenset()

    @cached_property
    def engines(self) -> Sequence[str]:
        """Those that its cells have."""
        return list(dict.fromkeys(cell.engine for cell in self.cells))

    @cached_property
    def kinds(self) -> Sequence[str]:
        """Of the workloads that its cells have."""
        return list(dict.fromkeys(cell.workload.kind for cell in self.cells))

    @cached_property
    def places(self) -> Sequence[PlaceSpec]:
        """Those that its cells have, but not of servers by URL, which keep their databases where they have them."""
        servers = self.experiment.servers
        return list({id(cell.place): cell.place for cell in self.cells if cell.engine not in servers}.values())

    def combinations(self) -> Sequence[Cell]:
        """The first repetition of each combination, in the experiment's own order of levels."""
        return self._by_levels

    @cached_property
    def _by_levels(self) -> Sequence[Cell]:
        ranks = [
            {NOT_APPLICABLE: -1} | {level.name: rank for rank, level in enumerate(levels)}
            for levels in self.experiment.factors.values()
        ]

        def place(cell: Cell) -> list[int]:
            return list(map(getitem, ranks, cell.levels.values()))

        return sorted((cell for cell in self.cells if cell.repetition == 1), key=place)


def make(
    experiment: Experiment,
    *,
    cuts: bool | None = None,
    embedded: Container[str] = (),
    where: str = "",
    problems: Problems | None = None,
    tell: Tell = lambda what, done, total: None,
) -> Plan:
    """Cross the factors, leave out what is excluded or does not apply, repeat, and shuffle each repetition.

    Repetitions are interleaved: every combination once, then every combination again in another order drawn from
    the experiment's seed, so that a drift of the machine falls on all levels alike. A factor that a combination's
    engine, workload or place does not have gets the level "–" there, and combinations that become equal are kept once.

    Databases that grow are not interleaved: one series after another, in each the sizes ascending, and the repetitions
    of one size one after the other, for a size that was outgrown cannot be had again.

    ``cuts`` is as in Plan; ``embedded`` are the engines that run inside the rig; ``where`` is the experiment's file,
    named in errors. Raises BadInput when there are too many cells, or none is left, and with every level that does not
    fit its workload or place; with ``problems`` those are added there, and the combinations that have them left out.
    """
    where = where or experiment.name
    refuse_too_many(experiment, where)
    found = Problems() if problems is None else problems
    crossed = _cross(experiment, cuts, embedded, where, tell)
    if not crossed.combinations:
        raise BadInput(f"{where}: no cell is left to run", "every combination is excluded: loosen [[exclude]]")
    _fold(crossed.combinations)
    maker = _Cells(experiment, where, found)
    made = {
        name: cell
        for name, combination in crossed.combinations.items()
        if (cell := maker.make(name, combination)) is not None
    }
    if problems is None:
        found.check()
    seeds = {number: seed_of(experiment.seed, number) for number in range(1, experiment.repetitions + 1)}
    cells: list[Cell] = []
    total = len(made) * experiment.repetitions
    for name, repetition in _ordered(experiment, list(made)):
        cells.append(made[name].repeated(repetition, len(cells) + 1, seeds[repetition]))
        if len(cells) % TOLD_EVERY == 0:
            tell("cells", len(cells), total)
    return Plan(experiment, tuple(cells), cuts, crossed.reached)


def reached(experiment: Experiment, *, cuts: bool, embedded: Container[str] = ()) -> frozenset[Path]:
    """``Plan.reached`` alone, see ``make``. Raises BadInput when there are too many cells."""
    refuse_too_many(experiment, experiment.name)
    return _cross(experiment, cuts, embedded, experiment.name, lambda what, done, total: None).reached


def refuse_too_many(experiment: Experiment, where: str) -> None:
    """Raise BadInput when crossing the factors would make more than ``CELLS_MAX`` cells; none is made for it."""
    counts = {factor: len(levels) for factor, levels in experiment.factors.items()}
    counts["repetitions"] = experiment.repetitions
    cells = prod(counts.values())
    if cells <= CELLS_MAX:
        return
    product = " x ".join(f"{name} {count:,}" for name, count in counts.items() if count > 1)
    excluded = ", before [[exclude]]" if experiment.exclude else ""
    raise BadInput(
        f"{where}: {product} = {counted(cells, 'cell')}{excluded}; an experiment has at most {CELLS_MAX:,}",
        "give fewer levels or repetitions, or make several experiments of it, each with the factors of one question",
    )


class _Combination(NamedTuple):
    """One level of each factor."""

    shape: Shape
    levels: dict[str, str]  # factor -> level name
    values: Values


@dataclass(frozen=True)
class _Crossed:
    combinations: dict[str, _Combination]  # by name, in the order of the factors and their levels
    reached: frozenset[Path]  # as in Plan


class _Group:
    """A shape, how it names the levels, and which levels occur in its combinations."""

    def __init__(self, shape: Shape, shows: Sequence[bool], names: Sequence[Sequence[str]]) -> None:
        self.shape = shape
        # By position of the factor and of the level.
        self.names = [
            of_factor if shown else [NOT_APPLICABLE] * len(of_factor)
            for of_factor, shown in zip(names, shows, strict=True)
        ]
        self.kept: list[tuple[int, ...]] = []
        self.excluded: list[tuple[int, ...]] = []

    def reached(self, levels: Sequence[Sequence[Level]]) -> set[Path]:
        """As in Plan, of these combinations alone. ``levels`` are those of the factors."""

        def occurring(chosen: Sequence[tuple[int, ...]]) -> list[list[Level]]:
            columns = (set(column) for column in zip(*chosen, strict=True))
            return [[of[at] for at in column] for of, column in zip(levels, columns, strict=True)]

        paths = self.shape.reached(occurring(self.kept)) if self.kept else set[Path]()
        if self.excluded:
            paths |= {("excluded", *path) for path in self.shape.reached(occurring(self.excluded))}
        return paths


def _cross(experiment: Experiment, cuts: bool | None, embedded: Container[str], where: str, tell: Tell) -> _Crossed:
    crossing = Crossing(experiment, cuts, embedded)
    levels = list(experiment.factors.values())
    names = [[level.name for level in of] for of in levels]
    sets = [[level.set for level in of] for of in levels]
    excludes = _excludes(experiment)
    # A factor whose levels all decide alike is no part of what tells the groups apart.
    kinds = [[decides(level) for level in of] for of in levels]
    deciding = [at for at, of in enumerate(kinds) if len(set(of)) > 1]
    groups: dict[tuple[Hashable, ...], _Group] = {}
    combinations: dict[str, _Combination] = {}
    missing, found = set(experiment.given), set[Path]()
    total = prod(map(len, levels))
    for done, chosen in enumerate(itertools.product(*(range(len(of)) for of in levels)), start=1):
        if done % TOLD_EVERY == 0:
            tell("combinations", done, total)
        key = tuple([kinds[at][chosen[at]] for at in deciding])
        group = groups.get(key)
        if group is None:
            values = tuple(map(getitem, sets, chosen))
            shape = crossing.shape(values)
            group = groups[key] = _Group(shape, shape.shows(values), names)
        shown = tuple(map(getitem, group.names, chosen))
        if excludes and (matching := _matching(excludes, shown)):
            found |= matching
            group.excluded.append(chosen)
            continue
        group.kept.append(chosen)
        name = "/".join(shown)
        if (there := combinations.get(name)) is None:
            levels_shown = dict(zip(crossing.factors, shown, strict=True))
            combinations[name] = _Combination(group.shape, levels_shown, tuple(map(getitem, sets, chosen)))
        elif tuple(there.levels.values()) != shown:
            raise BadInput(
                f'{where}: "{name}" would name two different combinations, because levels have slashes in their names',
                'give the levels other names: { name = "...", value = ... }',
            )
    for group in groups.values():
        found |= group.reached(levels)
        if group.kept:
            carried = {path for path in missing if group.shape.carries(path)}
            missing -= carried
            found |= carried
    return _Crossed(combinations, frozenset(found))


Exclude = tuple[Path, Sequence[tuple[int, frozenset[str]]]]  # its path, and by position of the factor the levels


def _excludes(experiment: Experiment) -> list[Exclude]:
    at = {factor: position for position, factor in enumerate(experiment.factors)}
    return [
        (("exclude", str(number)), [(at[factor], frozenset(names)) for factor, names in entry.items()])
        for number, entry in enumerate(experiment.exclude, start=1)
    ]


def _matching(excludes: Sequence[Exclude], shown: Sequence[str]) -> set[Path]:
    """The entries of ``[[exclude]]`` that match."""
    return {path for path, entry in excludes if all(shown[at] in names for at, names in entry)}


def _fold(combinations: dict[str, _Combination]) -> None:
    """Leave out what differs from another combination in a level that does not reach it, and in nothing else."""
    dashes = {
        name: tuple(combination.levels.values()).count(NOT_APPLICABLE) for name, combination in combinations.items()
    }
    if not any(dashes.values()):
        return
    kept: set[Hashable] = set()
    for name in sorted(combinations, key=dashes.__getitem__):  # stable: the one with the fewest stays
        one = combinations[name]
        acts = (one.levels.get(SIZE), one.shape.acts(one.values))
        if acts in kept and dashes[name]:
            del combinations[name]
        kept.add(acts)


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

    def __init__(self, experiment: Experiment, where: str, problems: Problems) -> None:
        self._experiment, self._where, self._problems = experiment, where, problems
        self._places: dict[Hashable, PlaceSpec | None] = {}
        self._workloads: dict[Hashable, WorkloadSpec | None] = {}

    def make(self, name: str, combination: _Combination) -> Cell | None:
        """Its first repetition; None where one of its levels cannot be: the problems have it."""
        shape, levels, values = combination
        place, workload = self._place(shape, values), self._workload(shape, values)
        if place is None or workload is None:
            return None
        size, series, held_out = None, "", False
        if (grows := self._experiment.growth) is not None:
            try:
                size = size_of(levels[SIZE]).with_memory(place.memory_mb)
            except BadInput as error:
                self._problems.add(BadInput(f"{self._where}: {error.message}", error.remedy))
                return None
            held_out = levels[SIZE] in grows.held_out
            series = name if grows.load == "fresh" else "/".join(v for f, v in levels.items() if f != SIZE)
        return Cell(
            id=f"{name}#1",
            levels=levels,
            repetition=1,
            order=1,
            seed=0,
            engine=shape.engine,
            durability=shape.durability(values),
            workload_name=shape.workload_name,
            workload=workload,
            settings=shape.all_settings(values),
            place=place,
            size=size,
            series=series,
            held_out=held_out,
        )

    def _place(self, shape: Shape, values: Values) -> PlaceSpec | None:
        asked = shape.place(values)
        key = tuple(asked.items())
        if key not in self._places:
            kind = asked.get("kind", DEFAULT_PLACE.kind)
            self._places[key] = self._varied(DEFAULT_PLACE, _place_with, asked, "place.", f"place {kind}")
        return self._places[key]

    def _workload(self, shape: Shape, values: Values) -> WorkloadSpec | None:
        name, parameters = shape.workload_name, shape.parameters(values)
        key = (name, *((parameter, type(value), value) for parameter, value in parameters.items()))  # true equals 1
        if key not in self._workloads:
            vary = shape.workload.varied
            self._workloads[key] = self._varied(shape.workload, vary, parameters, "", f"workload {name}")
        return self._workloads[key]

    def _varied(
        self,
        spec: Spec,
        vary: Callable[[Mapping[str, object]], Spec],
        levels: Mapping[str, object],
        prefix: str,
        name: str,
    ) -> Spec | None:
        """``spec`` with what ``levels`` set, as ``vary`` makes it; None where that cannot be."""
        if not levels:
            return spec
        try:
            return vary(levels)
        except ValidationError as error:
            for one in error.errors():
                key = ".".join(map(str, one["loc"]))
                at = f"{self._written(f'{prefix}{key}', levels.get(key)) if key else 'factors'}, with {name}"
                self._problems.add(BadInput(f"{self._where}: {complaint(one, at)}"))
            return None

    def _written(self, target: str, value: object) -> str:
        """Where the experiment sets ``target`` to ``value``."""
        for factor, levels in self._experiment.factors.items():
            for level in levels:
                if target in level.set and level.set[target] == value:
                    return (
                        f"factors.{factor}" if factor == target else f'factors.{factor}, level "{level.name}": {target}'
                    )
        return target


def _place_with(levels: Mapping[str, object]) -> PlaceSpec:
    return PlaceSpec.model_validate({**DEFAULTS, **levels}, strict=True)


def seed_of(seed: int, repetition: int) -> int:
    """The seed of that repetition, 1-based, of an experiment with that seed."""
    digest = hashlib.sha256(f"{seed}:{repetition}".encode()).digest()
    return int.from_bytes(digest[:6], "big")  # 48 bits: exact in JSON
