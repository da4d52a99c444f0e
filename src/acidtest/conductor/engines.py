"""The engines that a plan names: those of the catalogue, and servers by their URLs."""

from __future__ import annotations

from collections.abc import Iterable

from acidtest.engine import Engine, catalogue, foreign
from acidtest.errors import BadInput, Problems, not_among
from acidtest.experiment import Experiment
from acidtest.plan import Path, Plan, Tell, make, reached


def describe(experiment: Experiment, id: str) -> Engine:  # noqa: A002
    """The engine, whether it can run here or not. Raises BadInput for an unknown id."""
    return describe_all(experiment, [id])[id]


def describe_all(experiment: Experiment, ids: Iterable[str]) -> dict[str, Engine]:
    """The engines by id, whether they can run here or not. Raises BadInput for an unknown id."""
    known: dict[str, Engine] | None = None
    engines: dict[str, Engine] = {}
    for id in dict.fromkeys(ids):  # noqa: A001
        if (spec := experiment.servers.get(id)) is not None:
            password = spec.password.get_secret_value() if spec.password is not None else None
            address = foreign.Address(spec.host, spec.port, spec.user, password, spec.database, spec.schema_name)
            engines[id] = catalogue.server(id, spec.family, address)
            continue
        known = known or catalogue.all_engines()
        if id not in known:
            raise BadInput(not_among("engine", id, (*known, *experiment.servers)))
        engines[id] = known[id]
    return engines


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
        experiment, cuts=cuts, embedded=_embedded(experiment), where=where, problems=problems, tell=tell or _nobody
    )


def reached_by(experiment: Experiment, cuts: bool) -> frozenset[Path]:
    """What of the experiment acts in some cell, as in Plan."""
    return reached(experiment, cuts=cuts, embedded=_embedded(experiment))


def _nobody(what: str, done: int, total: int) -> None:
    pass


def _embedded(experiment: Experiment) -> set[str]:
    """The engines that it names and that run inside the rig."""
    names = {str(level.set["engine"]) for level in experiment.factors["engine"]}
    known = catalogue.all_engines()
    return {name for name in names & known.keys() - experiment.servers.keys() if known[name].embedded}
