"""The engines that a plan names: those of the catalogue, builds at their paths, and servers by their URLs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath

from acidtest.engine import Engine, catalogue, foreign, tls
from acidtest.engine.builds import UserBuild, Wanted
from acidtest.engine.program import Program
from acidtest.errors import Problems
from acidtest.experiment import Experiment
from acidtest.experiment.models import ServerSpec
from acidtest.plan import Path, Plan, Tell, make, reached


def describe(experiment: Experiment, id: str) -> Engine:  # noqa: A002
    """The engine, whether it can run here or not. Raises BadInput for an unknown id, and as ``describe_all``."""
    return describe_all(experiment, [id])[id]


def describe_all(experiment: Experiment, ids: Iterable[str], where: str = "") -> dict[str, Engine]:
    """The engines by id, whether they can run here or not; a build must be there, for its files say what it is.

    Raises BadInput for an unknown id, and for all builds that cannot be used; ``where`` is the experiment's file.
    """
    problems = Problems()
    known: dict[str, Engine] | None = None
    engines: dict[str, Engine] = {}
    for id in dict.fromkeys(ids):  # noqa: A001
        if experiment.program is not None:
            engines[id] = Program(experiment.program, where)
            continue
        if (spec := experiment.servers.get(id)) is not None:
            engines[id] = server(id, spec)
            continue
        if (build := experiment.engines.get(id)) is not None:
            path = FilePath(build.path).absolute()
            at = f"{where}: " if where else ""
            with problems.gather():
                engines[id] = catalogue.build(Wanted(id, build.family, path, build.mode or "", f"{at}engines.{id}"))
            continue
        known = known or catalogue.all_engines()
        if id not in known:
            raise catalogue.unknown("engine", id, (*known, *experiment.servers, *experiment.engines))
        engines[id] = known[id]
    problems.check()
    return engines


def same_builds(plan: Plan) -> list[str]:
    """Which builds of the user's are one and the same, a sentence each."""
    by_identity: dict[str, list[str]] = {}
    for name, engine in describe_all(plan.experiment, plan.engines).items():
        if isinstance(engine, UserBuild):
            by_identity.setdefault(engine.facts().identity, []).append(name)
    return [
        f"{' and '.join(names)} are the same file ({identity[:16]}…): whatever differs between them is chance."
        for identity, names in by_identity.items()
        if len(names) > 1
    ]


def build_doubts(plan: Plan) -> list[str]:
    """What must be known of the builds of the user's, in sentences."""
    engines = describe_all(plan.experiment, plan.engines).values()
    return [note for engine in engines if isinstance(engine, UserBuild) for note in engine.notes()]


def server(name: str, spec: ServerSpec) -> foreign.ForeignServer:
    """The server at a URL, by the name that it is given here."""
    password = spec.password.get_secret_value() if spec.password is not None else None
    secured = tls.absolute(spec.tls)
    address = foreign.Address(
        spec.host, spec.port, spec.user, password, spec.database, spec.schema_name, secured, spec.wire
    )
    return catalogue.server(name, spec.family, address)


def plan_of(
    experiment: Experiment,
    *,
    cuts: bool | None = None,
    where: str = "",
    problems: Problems | None = None,
    tell: Tell | None = None,
) -> Plan:
    """The experiment's plan, with what the engines that it names say of themselves; all else is as in ``plan.make``."""
    return make(
        experiment,
        cuts=cuts,
        embedded=_embedded(experiment, where),
        where=where,
        problems=problems,
        tell=tell or _nobody,
    )


def reached_by(experiment: Experiment, cuts: bool) -> frozenset[Path]:
    """What of the experiment acts in some cell, as in Plan."""
    return reached(experiment, cuts=cuts, embedded=_embedded(experiment))


def _nobody(what: str, done: int, total: int) -> None:
    pass


def _embedded(experiment: Experiment, where: str = "") -> set[str]:
    """The engines that it names and that run inside the rig. Raises BadInput for builds that cannot be used."""
    names = {str(level.set["engine"]): None for level in experiment.factors["engine"]}
    if experiment.program is not None:
        return set()
    known = {*catalogue.known(), *experiment.engines} - experiment.servers.keys()
    engines = describe_all(experiment, [name for name in names if name in known], where)
    return {name for name, engine in engines.items() if engine.embedded}
