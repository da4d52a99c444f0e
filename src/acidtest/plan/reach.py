"""Which of an experiment's keys reach a combination. What reaches none is refused: nothing asked for is dropped."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass

from acidtest import families
from acidtest.experiment import Experiment, Level, PlaceSpec, Scalar
from acidtest.experiment.places import DECIDING, OF_CUTS, OF_MEMORY, keys_of, without_cuts
from acidtest.journal.models import NOT_APPLICABLE
from acidtest.workload import WorkloadSpec

ALWAYS = ("engine", "durability", "workload")  # factors that every cell has
EXTENTS = ("duration_s", "count")  # a workload has one of them, also where a factor sets it
CRASH_STATES = "crash-states"
DEFAULTS = {key: field.default for key, field in PlaceSpec.model_fields.items()}
Path = tuple[str, ...]  # of a key: ("place", "mount"), ("workload", "tpcb", "scale"), ("factors", "drive", "honest")


def family_of(experiment: Experiment, engine: str) -> str:
    """The prefix of an engine's settings: "mysql" of "mariadb-10.11", for InnoDB is the same in both."""
    if engine in experiment.servers:
        return experiment.servers[engine].family
    family = families.of_engine(engine)
    return family.name if family else engine.partition("-")[0]


class Crossing:
    """Combines the levels of an experiment."""

    def __init__(self, experiment: Experiment, cuts: bool | None, embedded: Container[str]) -> None:
        self.experiment, self._cuts, self._embedded = experiment, cuts, embedded
        fixed = experiment.place.model_dump()
        self._deciding = tuple((f"place.{key}", fixed[key]) for key in DECIDING)
        self.place = {key: value for key, value in fixed.items() if value != DEFAULTS[key]}

    def of(self, chosen: Mapping[str, Level]) -> Combination:
        """One level of each factor."""
        sets: dict[str, Scalar] = {}
        for level in chosen.values():
            sets.update(level.set)
        experiment, engine, name = self.experiment, str(sets["engine"]), str(sets["workload"])
        workload = experiment.workload[name]
        cut = workload.CAN_BE_SURVEYED if self._cuts is None else self._cuts
        meant: frozenset[str] = frozenset()
        if engine not in experiment.servers:  # whose databases lie where the server has them
            meant = keys_of(tuple(sets.get(target, fixed) for target, fixed in self._deciding))
            meant -= OF_MEMORY if cut else OF_CUTS
        return Combination(
            crossing=self,
            chosen=chosen,
            sets=sets,
            engine=engine,
            family=family_of(experiment, engine),
            workload_name=name,
            workload=workload,
            cut=cut,
            embedded=engine in self._embedded,
            place_keys=meant,
        )


@dataclass(frozen=True)
class Combination:
    """One level of each factor, and what follows from them."""

    crossing: Crossing
    chosen: Mapping[str, Level]
    sets: Mapping[str, Scalar]  # what the levels set, by target
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
            return setting in self.place_keys and not (
                setting == "disk_faults" and not self.cut and value and not without_cuts(str(value))
            )
        if setting:
            return owner == self.family
        return target in ALWAYS or (target in type(self.workload).model_fields and self._drives(target))

    def carries(self, path: Path) -> bool:
        """Whether the key that is fixed at this path acts here."""
        match path:
            case ("place", key):
                if key == "path":  # also where a factor sets it: the templates lie in the fixed one
                    return key in self.place_keys
                target, value = f"place.{key}", getattr(self.crossing.experiment.place, key)
                return target not in self.sets and self.reaches(target, value)
            case ("settings", family, key):
                return family == self.family and f"{family}.{key}" not in self.sets
            case ("workload", name, key):
                return name == self.workload_name and self._drives(key) and (key not in self.sets or key in EXTENTS)
            case ("servers", name):
                return name == self.engine
            case ("growth", _):
                return not self.cut
        return False

    def _drives(self, key: str) -> bool:
        """Whether a workload's key acts here, that the workload has."""
        match key:
            case "threads":
                return not self.embedded
            case "arrivals":
                return self.sets.get("rate_per_s", self.workload.rate_per_s) is not None
            case "observe":
                return not self.cut
            case "duration_s":
                # Crash states are those of a load of so many commits.
                failure = self.sets.get("place.disk_failure", self.crossing.experiment.place.disk_failure)
                return not (self.cut and failure == CRASH_STATES)
        return True

    def levels(self) -> dict[str, str]:
        """The level of each factor, "–" where it sets something and none of it reaches."""
        return {
            factor: level.name
            if not level.set or any(self.reaches(target, value) for target, value in level.set.items())
            else NOT_APPLICABLE
            for factor, level in self.chosen.items()
        }

    def settings(self) -> dict[str, Scalar]:
        """What the levels set of the engine, by bare name."""
        prefix = f"{self.family}."
        return {target.removeprefix(prefix): value for target, value in self.sets.items() if target.startswith(prefix)}

    def parameters(self) -> dict[str, object]:
        """What the levels set of the workload, and what is fixed of it and does not act here at its default."""
        fields = type(self.workload).model_fields
        set_: dict[str, object] = {
            target: value
            for target, value in self.sets.items()
            if target not in ALWAYS and target in fields and self._drives(target)
        }
        idle = (key for key in ("threads", "observe") if not self._drives(key))
        return set_ | {key: fields[key].default for key in idle if getattr(self.workload, key) != fields[key].default}

    def place(self) -> dict[str, object]:
        """What is asked of the place and acts here, without what is so by default."""
        set_ = {target[6:]: value for target, value in self.sets.items() if target.startswith("place.")}
        asked = {key: value for key, value in (self.crossing.place | set_).items() if key in self.place_keys}
        if not self.cut and "disk_faults" in asked:
            asked["disk_faults"] = without_cuts(str(asked["disk_faults"]))
        return {key: asked[key] for key in sorted(asked) if asked[key] != DEFAULTS[key]}

    def acts(self) -> Hashable:
        """Equal for combinations in which the same acts."""
        of_engine = self.crossing.experiment.settings.get(self.family, {})
        return (
            self.engine,
            self.sets["durability"],
            self.workload_name,
            frozenset((key, value) for key, value in self.parameters().items() if value != getattr(self.workload, key)),
            frozenset((key, value) for key, value in self.settings().items() if value != of_engine.get(key)),
            tuple(self.place().items()),
        )

    def reached(self) -> set[Path]:
        """The paths of what the chosen levels set and what acts here."""
        paths: set[Path] = set()
        for factor, level in self.chosen.items():
            paths.add(("factors", factor, level.name))
            paths |= {
                ("factors", factor, level.name, target)
                for target, value in level.set.items()
                if self.reaches(target, value)
            }
        return paths
