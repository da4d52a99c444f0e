"""The engines that a plan names: those of the catalogue, and servers by their URLs."""

from __future__ import annotations

from acidtest.engine import Engine, catalogue, foreign
from acidtest.errors import BadInput, not_among
from acidtest.experiment import Experiment
from acidtest.plan import Plan, make


def describe(experiment: Experiment, id: str) -> Engine:  # noqa: A002
    """The engine, whether it can run here or not. Raises BadInput for an unknown id."""
    if (spec := experiment.servers.get(id)) is not None:
        password = spec.password.get_secret_value() if spec.password is not None else None
        address = foreign.Address(spec.host, spec.port, spec.user, password, spec.database, spec.schema_name)
        return catalogue.server(id, spec.family, address)
    known = (*catalogue.known(), *experiment.servers)
    if id not in known:
        raise BadInput(not_among("engine", id, known))
    return catalogue.describe(id)


def plan_of(experiment: Experiment, *, cuts: bool | None = None) -> Plan:
    """The experiment's plan, with what the engines that it names say of themselves; ``cuts`` is as in Plan."""
    names = {str(level.set["engine"]) for level in experiment.factors["engine"]} & set(catalogue.known())
    return make(experiment, cuts=cuts, embedded={name for name in names if catalogue.describe(name).embedded})
