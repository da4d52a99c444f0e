"""How long a plan is assumed to take before any of it has run; what ``acidtest plan`` says and ``init`` plans by."""

from __future__ import annotations

from collections import Counter

from acidtest.conductor.engines import describe_all
from acidtest.conductor.template import template_keys
from acidtest.plan import Cell, GrowthPace, Plan, cell_seconds
from acidtest.plan.estimate import load_seconds


def assumed_seconds(plan: Plan) -> float:
    """Seconds that all cells of ``plan`` take, with the databases that are loaded for them.

    A loaded database serves all cells that start from the same one; a server by URL is loaded for each cell.
    """
    engines = describe_all(plan.experiment, plan.engines)
    if plan.experiment.growth is not None:
        return GrowthPace({name: engine.family for name, engine in engines.items()}).left(plan.cells, {})
    private = [cell for cell in plan.combinations() if engines[cell.engine].private]
    loads = {key: load_seconds(cell) for key, cell in template_keys(private, engines).items()}
    loads |= {
        cell.combination: load_seconds(cell) * plan.experiment.repetitions
        for cell in plan.combinations()
        if not engines[cell.engine].private
    }
    # Of a hundred thousand cells few differ in what their time follows from.
    alike = {_alike(cell): cell for cell in plan.cells}
    counts = Counter(map(_alike, plan.cells))
    return sum(count * cell_seconds(alike[key]) for key, count in counts.items()) + sum(loads.values())


def _alike(cell: Cell) -> tuple[object, ...]:
    """What the time of a cell follows from."""
    place = cell.place
    return cell.durability, id(cell.workload), place.kind, place.disk_failure, place.disk_states, place.disk_states_s
