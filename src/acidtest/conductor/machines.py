"""``[load]`` of an experiment: whether the load of its cells can come from several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from acidtest.engine import Engine
from acidtest.errors import BadInput, Problems
from acidtest.families import FAMILIES
from acidtest.plan import Cell, Plan
from acidtest.words import counted


def refuse_one(plan: Plan, where: Path) -> None:
    """Raise BadInput where the load is to come from several machines, and there is but this one."""
    if plan.experiment.machines > 1:
        raise BadInput(
            f"{where}: load.machines = {plan.experiment.machines}: this needs machines, and there is but this one",
            "name them with --fleet FLEET.toml (local = N there is N workers on this machine, for trying), or leave "
            "[load] out",
        )


def check(plan: Plan, engines: Mapping[str, Engine], where: Path, problems: Problems) -> None:
    """Add to ``problems`` what of the plan one machine alone can drive."""
    experiment = plan.experiment
    if experiment.machines == 1 or plan.cuts:
        return
    if experiment.growth is not None:
        problems.add(
            BadInput(f"{where}: [load] is not for databases that grow", "leave [growth] out, or leave [load] out")
        )
    if experiment.search is not None:
        problems.add(BadInput(f"{where}: [load] is not for acidtest search", "leave [search] out, or leave [load] out"))
    found = (one for cell in plan.combinations() for one in _of_cell(cell, experiment.machines, engines))
    for message, remedy in dict.fromkeys(found):
        problems.add(BadInput(f"{where}: {message}", remedy))


def _of_private(cell: Cell, engine: Engine) -> Iterator[tuple[str, str]]:
    by_url = "name a server by URL: a table [servers.NAME] with url"
    if engine.mode(cell.settings) == "embedded":
        yield (
            f"load.machines: engine {cell.engine} is embedded in the rig, on one machine",
            f"choose a server, or {by_url}",
        )
    elif not FAMILIES[engine.family].server_shared:
        yield f"load.machines: engine {cell.engine} is started by acidtest for its own machine alone", by_url
    elif cell.settings.get("connection") != "tcp":
        yield (
            f"load.machines: engine {cell.engine}: sessions of other machines need TCP",
            f'write connection = "tcp" in [settings.{engine.family}]',
        )
    elif cell.settings.get("tls"):
        yield (
            f"load.machines: {engine.family}.tls: other machines do not have the certificate that is made for a cell",
            f"leave tls out, or {by_url}",
        )


def _of_cell(cell: Cell, machines: int, engines: Mapping[str, Engine]) -> Iterator[tuple[str, str]]:
    """Why the load of ``cell`` cannot come from so many machines, and what to do."""
    work, name = cell.workload, f"workload.{cell.workload_name}"
    if (engine := engines.get(cell.engine)) is not None and engine.private:
        yield from _of_private(cell, engine)
    if not work.CAN_BE_SPLIT:
        yield f"{name}: one rig alone can drive {work.kind}", "choose another workload, or leave [load] out"
        return
    if work.count is not None:
        yield f"{name}.count: transactions that several machines submit are not counted out", "give duration_s instead"
    if work.terminals < machines:
        yield (
            f"{name}.terminals = {work.terminals}: each of {counted(machines, 'machine')} needs one at least",
            f"give at least {counted(machines, 'terminal')}, or fewer machines",
        )
    if work.warmup_limit_s is not None:
        yield f"{name}.warmup_limit_s: several rigs measure from one moment on", "give warmup_s in its place"
    if work.observe:
        yield f"{name}.observe: calls are watched on the machine of the rig", "leave observe out, or leave [load] out"
