"""Checks a plan against the engines before anything is made: unknown engines, levels and settings are refused."""

from __future__ import annotations

from pathlib import Path

from acidtest.engine import DURABILITY_LEVELS, Engine, catalogue
from acidtest.errors import AcidtestError, BadInput, not_among
from acidtest.plan import Cell, Plan


def verify(plan: Plan, where: Path) -> None:
    """Refuse what no engine could run. ``where`` is the experiment's file, named in errors.

    Needs no engine installed. Raises BadInput with the key, what was found and what is allowed.
    """
    for level in plan.experiment.factors["engine"]:
        engine = str(level.set["engine"])
        if engine not in catalogue.known():
            raise BadInput(f"{where}: {not_among('engine', engine, catalogue.known())}")
    for level in plan.experiment.factors["durability"]:
        durability = str(level.set["durability"])
        if durability not in DURABILITY_LEVELS:
            raise BadInput(f"{where}: {not_among('durability', durability, DURABILITY_LEVELS)}")
    for cell in plan.combinations():
        engine_ = catalogue.describe(cell.engine)
        try:
            engine_.check_settings(cell.settings)
            engine_.durability(cell.durability, cell.settings)
        except AcidtestError as error:
            raise BadInput(f"{where}: {error.message}", error.remedy or _leave_out(cell)) from None


def _leave_out(cell: Cell) -> str:
    return (
        f'to leave it out: [[exclude]] engine = "{cell.levels["engine"]}", durability = "{cell.levels["durability"]}"'
    )


def engines_of(plan: Plan) -> dict[str, Engine]:
    """The engines that the plan needs, ready to run. Raises MachineLacks with the way to install a missing one."""
    return {engine: catalogue.find(engine) for engine in dict.fromkeys(cell.engine for cell in plan.cells)}
