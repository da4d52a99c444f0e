"""The cells of a search for the highest rate: one a combination, and of each the runs at the rates that are offered."""

from __future__ import annotations

from dataclasses import replace

from acidtest.errors import BadInput, Problems
from acidtest.experiment import SearchSpec
from acidtest.journal.models import CLOSED_LOOP, RATE
from acidtest.plan.cells import Cell, Plan, seed_of
from acidtest.plan.estimate import cell_seconds, load_seconds
from acidtest.words import counted

LEAST_BESIDE, TYPICAL_BESIDE = 6, 12  # runs of a combination, beside those that confirm its rate
NOT_SEARCHED = (  # keys of a workload
    ("rate_per_s", "a search chooses the rates", "leave it out"),
    ("think_ms", "a search offers rates, which have no think time", "leave it out"),
    ("count", "a search needs runs of a set length", "give duration_s in its place"),
    ("keying", "the time of keying would be part of the latency", "leave it out"),
)
LONG_ENOUGH_S = 8.0  # from which on it can be told whether a queue grew


def searches(plan: Plan) -> Plan:
    """The plan with one cell a combination: the search for its highest rate."""
    cells = (cell.repeated(1, order, cell.seed) for order, cell in enumerate(plan.combinations(), start=1))
    return replace(plan, cells=tuple(cells))


def rate_level(rate_per_s: float | None) -> str:
    """How the level of a rate is called: ``540``, ``closed loop``."""
    return CLOSED_LOOP if rate_per_s is None else f"{rate_per_s:.6f}".rstrip("0").rstrip(".")


def run_at(cell: Cell, rate_per_s: float | None, number: int, order: int, seed: int) -> Cell:
    """The run of a search: the ``number``-th at this rate and the ``order``-th of all, both 1-based.

    Runs have seeds of their own, of which the ``order``-th of all combinations has the same: with one seed for all, all
    runs would have the same moments at which arrivals crowd.
    """
    level = rate_level(rate_per_s)
    return replace(
        cell,
        id=f"{cell.combination}/{level}#{number}",
        levels={**cell.levels, RATE: level},
        repetition=number,
        order=order,
        seed=seed_of(seed, order),
        workload=cell.workload.model_copy(update={"rate_per_s": rate_per_s}),
    )


def typical_runs(plan: Plan) -> int:
    """Of one combination; the simulations of docs/SEARCH.md are where it comes from."""
    return min(plan.experiment.repetitions + TYPICAL_BESIDE, _spec(plan).runs_max)


def least_runs(plan: Plan) -> int:
    """Of one combination in which some rate holds."""
    return plan.experiment.repetitions + LEAST_BESIDE


def typical_seconds(plan: Plan) -> float:
    """That all searches of ``plan`` are assumed to take, with the databases that are loaded for them."""
    runs = typical_runs(plan)
    loads = {(cell.engine, cell.workload.loaded_text()): load_seconds(cell) for cell in plan.combinations()}
    return sum(loads.values()) + sum(runs * cell_seconds(cell) for cell in plan.combinations())


def _spec(plan: Plan) -> SearchSpec:
    assert plan.experiment.search is not None
    return plan.experiment.search


def check(plan: Plan, where: str, problems: Problems) -> None:
    """Add to ``problems`` what cannot be searched, or would mean nothing there. ``where`` is the experiment's file."""

    def refuse(message: str, remedy: str) -> None:
        problems.add(BadInput(f"{where}: {message}", remedy))

    experiment = plan.experiment
    if experiment.growth is not None:
        refuse("[growth]: a search has databases of one size", "leave [growth] out")
    if RATE in experiment.factors:
        refuse(f"factors.{RATE}: a search chooses the rates", "leave the factor out")
    if least_runs(plan) > _spec(plan).runs_max:
        remedy = f"raise runs_max to {least_runs(plan) * 3}, or ask for fewer repetitions"
        refuse(f"search.runs_max: {_spec(plan).runs_max} runs cannot confirm a rate", remedy)
    for cell in {(cell.workload_name, id(cell.workload)): cell for cell in plan.combinations()}.values():
        work, at = cell.workload, f"workload.{cell.workload_name}"
        if work.HAS_TIMES:
            refuse(
                f"{at}: a search offers rates, and its transactions have times of their own", "choose another workload"
            )
            continue
        for key, why, remedy in NOT_SEARCHED:
            if getattr(work, key, None):
                refuse(f"{at}.{key}: {why}", remedy)
        kinds = work.transaction_kinds()
        for kind in _spec(plan).parsed().kinds:
            if kind not in kinds:
                has = f"{cell.workload_name} has {', '.join(kinds)}" if kinds else f"{cell.workload_name} has one kind"
                refuse(
                    f"the limit names {kind}, which is no kind of transaction of {at}: {has}", "name another, or none"
                )


def notes(plan: Plan) -> list[str]:
    """What a user must know of his search before it begins."""
    sentences = []
    if plan.experiment.repetitions < 5:
        sentences.append(
            f"A rate is confirmed by {counted(plan.experiment.repetitions, 'run')}: with fewer than five there is no "
            "interval, and the answer is a first look."
        )
    if any((cell.workload.duration_s or 0) < LONG_ENOUGH_S for cell in plan.combinations()):
        sentences.append(
            f"Runs of less than {LONG_ENOUGH_S:.0f} s cannot tell whether a queue grows: give duration_s more for an "
            "answer to rely on."
        )
    return sentences
