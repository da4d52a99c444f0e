"""Checks a plan against the engines before anything is made: unknown engines, levels and settings are refused."""

from __future__ import annotations

from pathlib import Path

from acidtest.conductor import memory
from acidtest.conductor.engines import describe, plan_of
from acidtest.engine import DURABILITY_LEVELS
from acidtest.errors import AcidtestError, BadInput, Problems, not_among
from acidtest.place import check as check_place
from acidtest.plan import Cell, Plan, check_effect


def verify(plan: Plan, where: Path) -> None:
    """Refuse what no engine could run, and what would be without effect. ``where`` is the experiment's file.

    Needs no engine installed. Raises BadInput with the key, what was found and what is allowed, of all that is wrong.
    """
    problems = Problems()
    for level in plan.experiment.factors["engine"]:
        try:
            describe(plan.experiment, str(level.set["engine"]))
        except BadInput as error:
            problems.add(BadInput(f"{where}: {error.message}"))
    for level in plan.experiment.factors["durability"]:
        durability = str(level.set["durability"])
        if durability not in DURABILITY_LEVELS:
            problems.add(BadInput(f"{where}: {not_among('durability', durability, DURABILITY_LEVELS)}"))
    problems.check()
    whole = plan.experiment.whole or plan.experiment
    with problems.gather():
        check_effect(plan, str(where), lambda cuts: plan_of(whole.to_cut() if cuts else whole.to_run(), cuts=cuts))
    # Beside engines of ours, whose memory it is; of servers alone it was refused already, as without effect.
    ours = any(cell.engine not in plan.experiment.servers for cell in plan.cells)
    asked_of_memory = memory.asked(plan.experiment.place) if ours else []
    for cell in plan.combinations():
        engine_ = describe(plan.experiment, cell.engine)
        try:
            engine_.check_settings(cell.settings)
            engine_.durability(cell.durability, cell.settings)
            check_place(cell.place)
            if cell.place.kind == "guest" and not engine_.embedded:
                raise BadInput(
                    f"{engine_.id}: cannot run in a guest, where only the rig runs with an engine embedded in it",
                    f'give it another place, or leave it out: [[exclude]] engine = "{cell.levels["engine"]}"',
                )
            raw = cell.place.kind == "raw" or (cell.place.kind in ("guest", "disk") and cell.place.filesystem == "raw")
            if raw and not engine_.on_raw_device:
                raise BadInput(
                    f"{engine_.id}: cannot have its database on a raw device",
                    f'give it another place, or leave it out: [[exclude]] engine = "{cell.levels["engine"]}"',
                )
            if cell.size is not None and (not engine_.private or cell.place.kind == "guest" or raw):
                lies = "on a server by URL" if not engine_.private else "on a raw device" if raw else "in a guest"
                raise BadInput(
                    f"{engine_.id}: [growth] is for databases in files that acidtest makes on this machine, not {lies}",
                    f'give it another place, or leave it out: [[exclude]] engine = "{cell.levels["engine"]}"',
                )
            if not engine_.private and asked_of_memory:
                raise BadInput(
                    f"{engine_.id}: place.{asked_of_memory[0]} is for engines that acidtest starts, and this is a "
                    "server by URL",
                    "leave it out, or leave the server out of it",
                )
            if cell.workload.observe and (not engine_.private or cell.place.kind == "guest"):
                raise BadInput(
                    f"{engine_.id}: observe is for engines that run on this machine and that acidtest starts",
                    "leave observe out, or leave out what runs elsewhere",
                )
            if cell.workload.needs_procedures() and not engine_.has_procedures:
                raise BadInput(
                    f"{engine_.id}: has no stored procedures, and workload {cell.workload_name} asks for them",
                    "set procedures = false, or leave the engine out of it",
                )
        except AcidtestError as error:
            problems.add(BadInput(f"{where}: {error.message}", error.remedy or _leave_out(cell)))
    problems.check()


def _leave_out(cell: Cell) -> str:
    return (
        f'to leave it out: [[exclude]] engine = "{cell.levels["engine"]}", durability = "{cell.levels["durability"]}"'
    )
