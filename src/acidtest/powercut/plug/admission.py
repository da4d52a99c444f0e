"""What of an experiment a real plug cannot cut, on either machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from acidtest.conductor.engines import describe_all
from acidtest.engine import Engine
from acidtest.errors import BadInput, Problems
from acidtest.experiment import PlaceSpec
from acidtest.plan import Plan


def admit(plan: Plan, where: Path) -> dict[str, Engine]:
    """The engines of ``plan``, whether they are here or not. Raises BadInput with all that is refused."""
    engines = describe_all(plan.experiment, plan.engines, str(where))
    problems = Problems()
    if plan.experiment.growth is not None or plan.experiment.search is not None:
        problems.add(BadInput(f"{where}: [growth] and [search] are for acidtest run", "leave them out"))
    for name, engine in engines.items():
        if not engine.private:
            why = f"{where}: {name}: a server by URL is on a machine that acidtest does not know"
            problems.add(BadInput(why, "leave it out of engine"))
    for cell in plan.combinations():
        if cell.place != PlaceSpec():
            why = f"{where}: [place]: a plug cuts a real drive, the one beneath acidtest plug serve --at"
            problems.add(BadInput(why, "leave [place] and all factors place.* out"))
        if not cell.workload.CAN_BE_SURVEYED:
            why = f"{where}: workload {cell.workload_name}: does not number its commits, and none could be looked for"
            problems.add(BadInput(why, "write [workload.numbered] or [workload.history]"))
    problems.check()
    return engines


def digest_of(plan: Plan) -> str:
    """Tells whether both machines have the same experiment; how often it is cut may differ."""
    alone = plan.experiment.model_copy(update={"repetitions": 1}).digest()
    return hashlib.sha256(f"plug {alone}".encode()).hexdigest()
