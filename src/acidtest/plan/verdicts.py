"""How many repetitions a plan's comparisons need, by the tests and the correction of the report itself."""

from __future__ import annotations

from acidtest.analysis.pairs import Planned, enough_repetitions, largest_family
from acidtest.plan.cells import Plan
from acidtest.words import counted


def compared_together(plan: Plan) -> int:
    """How many comparisons the report will correct together at most; 0 where it compares no rates of rows."""
    experiment = plan.experiment
    if experiment.growth is not None or experiment.search is not None:
        return 0
    cells = [cell for cell in plan.combinations() if not cell.workload.CAN_BE_SURVEYED]
    rows = [Planned(cell.levels, cell.workload_name, _guest(cell.place.kind)) for cell in cells]
    return largest_family(rows, experiment.base)


def repetitions_for_verdicts(plan: Plan) -> int:
    """The fewest with which every comparison of ``plan`` can come to a verdict."""
    return enough_repetitions(max(1, compared_together(plan)))


def shown_nothing(plan: Plan) -> str | None:
    """The sentence about a plan that has too few repetitions to show a difference; None where it has enough."""
    repetitions, family = plan.experiment.repetitions, compared_together(plan)
    needed = enough_repetitions(family) if family else 0
    if repetitions >= needed:
        return None
    among = f" among {counted(family, 'comparison')}" if family > 1 else ""
    return f"{counted(repetitions, 'repetition')} can show no difference of any size{among}; {needed} can."


def _guest(kind: str) -> str:
    return kind if kind in ("guest", "machine") else ""
