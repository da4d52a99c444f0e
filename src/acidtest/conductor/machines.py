"""``[load]`` of an experiment: whether the load of its cells can come from several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from acidtest.engine import Engine
from acidtest.errors import BadInput, Problems
from acidtest.plan import Cell, Plan


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


def _of_cell(cell: Cell, machines: int, engines: Mapping[str, Engine]) -> Iterator[tuple[str, str]]:
    """Why the load of ``cell`` cannot come from so many machines, and what to do."""
    work, name = cell.workload, f"workload.{cell.workload_name}"
    if (engine := engines.get(cell.engine)) is not None and engine.private:
        why = "is made by acidtest and listens on its own machine alone"
        yield f"load.machines: engine {cell.engine} {why}", "name a server by URL: a table [servers.NAME] with url"
    if not work.CAN_BE_SPLIT:
        yield f"{name}: one rig alone can drive {work.kind}", "choose another workload, or leave [load] out"
        return
    if work.count is not None:
        yield f"{name}.count: transactions that several machines submit are not counted out", "give duration_s instead"
    if work.terminals < machines:
        yield (
            f"{name}.terminals = {work.terminals}: each of the {machines} machines needs one at least",
            f"give at least {machines} terminals, or fewer machines",
        )
    if work.observe:
        yield f"{name}.observe: calls are watched on the machine of the rig", "leave observe out, or leave [load] out"
