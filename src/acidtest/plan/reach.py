"""Which of an experiment's keys reach a combination. What reaches none is refused: nothing asked for is dropped."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from acidtest import families
from acidtest.experiment import Experiment, Level, PlaceSpec
from acidtest.experiment.places import DECIDING, OF_CUTS, OF_MEMORY, keys_of, without_cuts
from acidtest.keys import Scalar
from acidtest.workload import DECIDING as OF_WORKLOADS
from acidtest.workload import OF_TABLES, WorkloadSpec

ALWAYS = ("engine", "durability", "workload")  # factors that every cell has
EXTENTS = ("duration_s", "count")  # a workload has one of them, also where a factor sets it
CRASH_STATES = "crash-states"
PROGRAM = "program"  # in place of a family, of a program of the user's
# Keys of a workload that act in some cells and in others not; there they are as if they were not given.
NOT_ALWAYS = (
    "threads",
    "observe",
    "stages",
    "classes",
    "sleeping_sessions",
    "sleeping_in_transaction",
    "connect",
    "sample_engine",
    "warmup_limit_s",
)
DEFAULTS = {key: field.default for key, field in PlaceSpec.model_fields.items()}
# Of the place, where whether a key acts depends on the value and not only on its being set.
DECIDING_TARGETS = (
    frozenset(f"place.{key}" for key in DECIDING)
    | OF_WORKLOADS
    | {
        "engine",
        "workload",
        "connect",
        "sleeping_sessions",
    }
)
Values = Sequence[Mapping[str, Scalar]]  # what the chosen level of each factor sets, in the order of the factors
Path = tuple[str, ...]  # of a key: ("place", "mount"), ("workload", "tpcb", "scale"), ("factors", "drive", "honest")


def family_of(experiment: Experiment, engine: str) -> str:
    """The prefix of an engine's settings: "mysql" of "mariadb-10.11", for InnoDB is the same in both."""
    if experiment.program is not None:
        return PROGRAM
    if engine in experiment.servers:
        return experiment.servers[engine].family
    build = experiment.engines.get(engine)
    family = families.of_engine(build.family if build else engine)
    return family.name if family else engine.partition("-")[0]


class Crossing:
    """Combines the levels of an experiment."""

    def __init__(self, experiment: Experiment, cuts: bool | None, embedded: Container[str]) -> None:
        self.experiment, self._cuts, self._embedded = experiment, cuts, embedded
        fixed = DEFAULTS | experiment.place.model_dump()
        self._deciding = tuple((f"place.{key}", fixed[key]) for key in DECIDING)
        self.place = {key: value for key, value in fixed.items() if value != DEFAULTS[key]}
        self.factors = tuple(experiment.factors)

    def shape(self, values: Values) -> Shape:
        """What the combinations have in common whose levels decide as these do, see ``decides``."""
        sets: dict[str, Scalar] = {}
        sources: dict[str, int] = {}
        for position, level in enumerate(values):
            sets.update(level)
            sources.update(dict.fromkeys(level, position))
        experiment, engine, name = self.experiment, str(sets["engine"]), str(sets["workload"])
        workload = experiment.workload[name]
        cut = workload.CAN_BE_SURVEYED if self._cuts is None else self._cuts
        meant: frozenset[str] = frozenset()
        if engine not in experiment.servers:  # whose databases lie where the server has them
            meant = keys_of(tuple(sets.get(target, fixed) for target, fixed in self._deciding))
            meant -= OF_MEMORY if cut else OF_CUTS
        return Shape(
            crossing=self,
            sets=sets,
            sources=sources,
            engine=engine,
            family=family_of(experiment, engine),
            workload_name=name,
            workload=workload,
            cut=cut,
            embedded=engine in self._embedded,
            place_keys=meant,
        )


def decides(level: Level) -> Hashable:
    """Equal for levels of a factor that decide alike which keys reach a combination."""
    return tuple(
        (target, repr(value))
        if target in DECIDING_TARGETS
        else (target, _acts_without_cuts(value))
        if target == "place.disk_faults"
        else target
        for target, value in level.set.items()
    )


def _acts_without_cuts(faults: object) -> bool:
    return not faults or bool(without_cuts(str(faults)))


@dataclass(frozen=True)
class Shape:
    """What is alike in combinations whose levels decide alike: which keys reach them.

    ``sets`` is of one of these combinations: of the others the names are the same, and the values that decide.
    """

    crossing: Crossing
    sets: Mapping[str, Scalar]  # what the levels set, by target
    sources: Mapping[str, int]  # by target, the position of the factor whose level has the last word
    engine: str
    family: str
    workload_name: str
    workload: WorkloadSpec
    cut: bool  # its power is cut
    embedded: bool  # its engine runs inside the rig, each terminal in a thread of its own
    place_keys: frozenset[str]  # that mean something to its place

    def reaches(self, target: str, value: object = None) -> bool:
        """Whether what a level sets by this name acts here."""
        owner, _, setting = target.partition(".")
        if owner == "place":
            return setting in self.place_keys and (setting != "disk_faults" or self.cut or _acts_without_cuts(value))
        if setting and owner not in OF_TABLES:
            return owner == self.family
        return target in ALWAYS or (self.workload.takes(target) and self._drives(target))

    def carries(self, path: Path) -> bool:
        """Whether the key that is fixed at this path acts here."""
        match path:
            case ("place", key):
                if key not in PlaceSpec.model_fields:
                    return True  # it was refused when the file was read, and that says enough
                if key == "path":  # also where a factor sets it: the templates lie in the fixed one
                    return key in self.place_keys
                target, value = f"place.{key}", getattr(self.crossing.experiment.place, key)
                return target not in self.sets and self.reaches(target, value)
            case ("settings", family, key):
                return family == self.family and f"{family}.{key}" not in self.sets
            case ("workload", name, key):
                return name == self.workload_name and self._drives(key) and (key not in self.sets or key in EXTENTS)
            case ("servers" | "engines", name):
                return name == self.engine
            case ("growth" | "load", _):
                return not self.cut
        return False

    def _drives(self, key: str) -> bool:
        """Whether a workload's key acts here, that the workload has."""
        match key:
            case "threads":
                return not self.embedded and self.sets.get("connect", self.workload.connect) == "once"
            case "arrivals":
                classes = self.workload.classes
                rate = self.sets.get("rate_per_s", self.workload.rate_per_s)
                searched = self.crossing.experiment.search is not None
                return (
                    searched or rate is not None or any(class_.rate_per_s and not class_.arrivals for class_ in classes)
                )
            case "think_ms":
                classes = self.workload.classes
                return not classes or any(class_.rate_per_s is None and class_.think_ms is None for class_ in classes)
            case "sleeping_in_transaction":
                return not self.cut and bool(self.sets.get("sleeping_sessions", self.workload.sleeping_sessions))
            case "sample_engine":
                family = families.FAMILIES.get(self.family)  # none of an engine that is refused for itself
                return not self.cut and (family is None or family.has_figures)
            case "warmup_limit_s":
                # A rig in a guest is not spoken to in mid-run.
                return not self.cut and self.sets.get("place.kind", self.crossing.experiment.place.kind) != "guest"
            case "observe" | "stages" | "classes" | "sleeping_sessions" | "connect":
                return not self.cut
            case "duration_s":
                # Crash states are those of a load of so many commits.
                failure = self.sets.get("place.disk_failure", self.crossing.experiment.place.disk_failure)
                return not (self.cut and failure == CRASH_STATES)
        needs = self.workload.NEEDS.get(key)
        return needs is None or self.sets.get(needs.key, getattr(self.workload, needs.key)) in needs.values

    def shows(self, values: Values) -> tuple[bool, ...]:
        """Of each factor whether its level is shown; "–" is, where it sets something and none of it reaches."""
        return tuple(
            not level or any(self.reaches(target, value) for target, value in level.items()) for level in values
        )

    @cached_property
    def _of_settings(self) -> list[tuple[str, str, int]]:
        """Of each setting of the engine that levels set: its bare name, its target, and which factor has it."""
        prefix = f"{self.family}."
        return [(t.removeprefix(prefix), t, at) for t, at in self.sources.items() if t.startswith(prefix)]

    @cached_property
    def _of_workload(self) -> list[tuple[str, int]]:
        return [
            (target, at)
            for target, at in self.sources.items()
            if target not in ALWAYS and self.workload.takes(target) and self._drives(target)
        ]

    @cached_property
    def _idle(self) -> dict[str, object]:
        """What is fixed of the workload and does not act here, at its default."""
        fields = type(self.workload).model_fields
        idle = (key for key in (*NOT_ALWAYS, *self.workload.NEEDS) if not self._drives(key))
        return {key: fields[key].default for key in idle if getattr(self.workload, key) != fields[key].default}

    @cached_property
    def _of_place(self) -> list[tuple[str, str, int]]:
        """Of each key of the place that levels set and that acts here: itself, its target, which factor has it."""
        return [(t[6:], t, at) for t, at in self.sources.items() if t.startswith("place.") and t[6:] in self.place_keys]

    @cached_property
    def _fixed_place(self) -> dict[str, object]:
        """What is fixed of the place and acts here."""
        set_here = {key for key, _, _ in self._of_place}
        return {k: v for k, v in self.crossing.place.items() if k in self.place_keys and k not in set_here}

    def durability(self, values: Values) -> str:
        return str(values[self.sources["durability"]]["durability"])

    def settings(self, values: Values) -> dict[str, Scalar]:
        """What the levels set of the engine, by bare name."""
        return {name: values[at][target] for name, target, at in self._of_settings}

    def all_settings(self, values: Values) -> dict[str, Scalar]:
        """These, and those that are fixed for the engine's family."""
        return {**self._fixed_settings, **self.settings(values)} if self._of_settings else self._fixed_settings

    @cached_property
    def _fixed_settings(self) -> dict[str, Scalar]:
        return self.crossing.experiment.settings.get(self.family, {})

    def parameters(self, values: Values) -> dict[str, object]:
        """What the levels set of the workload, and what is fixed of it and does not act here at its default."""
        return {**{target: values[at][target] for target, at in self._of_workload}, **self._idle}

    def place(self, values: Values) -> dict[str, object]:
        """What is asked of the place and acts here, without what is so by default."""
        return self._place_of(values) if self._of_place else self._same_place

    @cached_property
    def _same_place(self) -> dict[str, object]:
        """Of a shape that no level varies the place of."""
        return self._place_of(())

    def _place_of(self, values: Values) -> dict[str, object]:
        asked = {**self._fixed_place, **{key: values[at][target] for key, target, at in self._of_place}}
        if not self.cut and "disk_faults" in asked:
            asked["disk_faults"] = without_cuts(str(asked["disk_faults"]))
        return {key: asked[key] for key in sorted(asked) if asked[key] != DEFAULTS[key]}

    def acts(self, values: Values) -> Hashable:
        """Equal for combinations in which the same acts."""
        return (
            self.engine,
            values[self.sources["durability"]]["durability"],
            self.workload_name,
            frozenset(
                (key, value) for key, value in self.parameters(values).items() if value != self.workload.parameter(key)
            ),
            frozenset(
                (key, value) for key, value in self.settings(values).items() if value != self._fixed_settings.get(key)
            ),
            tuple(self.place(values).items()),
        )

    def reached(self, chosen: Iterable[Sequence[Level]]) -> set[Path]:
        """The paths of what levels set and what acts here. ``chosen`` has for each factor those levels that occur."""
        paths: set[Path] = set()
        for factor, levels in zip(self.crossing.factors, chosen, strict=True):
            for level in levels:
                paths.add(("factors", factor, level.name))
                paths |= {
                    ("factors", factor, level.name, target)
                    for target, value in level.set.items()
                    if self.reaches(target, value)
                }
        return paths
