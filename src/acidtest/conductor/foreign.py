"""Loads into servers that are not ours, and takes away again what was loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine.foreign import ForeignInstance, ForeignServer
from acidtest.errors import BadInput, CellFailed, Problems
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Job, Phase, Settings, Target
from acidtest.place import Ledger
from acidtest.plan import Cell
from acidtest.workload.commits import CommitsWorkload


def admit(engine: ForeignServer, cells: Iterable[Cell], where: Path, ledger: Ledger) -> None:
    """Raise BadInput unless the server can be reached, what it holds allows loading there, and it has what ``cells``
    demand of it; with all that it has not."""
    instance = engine.adopt(Path(), {}, "drive")
    try:
        with started(instance, ledger):
            why = instance.refusal(_held(instance, ledger))
        unmet = [] if why else list(_unmet(engine, cells, where, ledger))
    except CellFailed as error:
        raise BadInput(
            f"{where}: servers.{engine.id}: {error.message.removeprefix('opening the database: ')}",
            f"check the url; the password may stand in ACIDTEST_PASSWORD_{engine.id.upper()}",
        ) from None
    if why:
        raise BadInput(f"{where}: servers.{engine.id}: {why}")
    problems = Problems()
    for problem in unmet:
        problems.add(problem)
    problems.check()


def _unmet(engine: ForeignServer, cells: Iterable[Cell], where: Path, ledger: Ledger) -> Iterator[BadInput]:
    """What the cells demand and the server has not: once for each demand, not in every cell."""
    answers: dict[str, list[Settings]] = {}  # of sessions that are set up alike

    def wrong(settings: Mapping[str, Scalar], level: str) -> list[SettingInForce]:
        instance = engine.adopt(Path(), settings, level)
        session = instance.target().model_dump_json()
        if session not in answers:
            with started(instance, ledger):
                answers[session] = _answers(instance, instance.target(), ledger, instance.inspections())
        return [setting for setting in instance.settings_in_force(answers[session]) if setting.is_wrong]

    demands = {(cell.durability, *cell.settings.items()): cell for cell in cells}
    of_levels = {level: {setting.name for setting in wrong({}, level)} for level in engine.levels}
    has = [level for level, lacking in of_levels.items() if not lacking]
    for cell in demands.values():
        for setting in wrong(cell.settings, cell.durability):
            found = f"has {setting.in_force}" if setting.in_force is not None else "has no such setting"
            demanded, remedy = f"{setting.name} = {setting.asked} is demanded of {engine.id}", "set it so on the server"
            if setting.name in cell.settings:
                said, remedy = f"{engine.family}.{demanded}", f"ask for what the server has, or {remedy}"
            else:
                said = f"{demanded} by durability {cell.durability}"
                remedy = f"ask for durability {' or '.join(has)}, or {remedy}" if has else remedy
            yield BadInput(f"{where}: {said}, which {found}", remedy)


@contextmanager
def started(instance: ForeignInstance, ledger: Ledger) -> Iterator[None]:
    """With what sessions need on this machine."""
    try:
        instance.start(ledger)
        yield
    finally:
        instance.release()


def clear(instance: ForeignInstance, ledger: Ledger, *, for_good: bool) -> None:
    """Remove what acidtest made there; unless ``for_good``, make the place for a new load. Raises CellFailed."""
    held = _held(instance, ledger)
    if why := instance.refusal(held):
        raise CellFailed(f"{instance.engine.id}: {why}")
    _answers(instance, instance.bare_target(instance.clearing(held, for_good=for_good)), ledger)


def _held(instance: ForeignInstance, ledger: Ledger) -> dict[str, str | None]:
    answers = _answers(instance, instance.bare_target(), ledger, instance.holdings())
    return {setting.name: setting.value for answer in answers for setting in answer.values}


def _answers(
    instance: ForeignInstance, target: Target, ledger: Ledger, inspect: Sequence[Inspection] = ()
) -> list[Settings]:
    """Open ``target``, and ask there."""
    job = asking(target, inspect=inspect)
    return [event for event in converse(job, ledger, instance.environment()) if isinstance(event, Settings)]


def asking(target: Target, *, inspect: Sequence[Inspection] = (), phases: Sequence[Phase] = ()) -> Job:
    """A job of which no workload is run: a job has one, and the simplest serves."""
    return Job(seed=0, target=target, workload=CommitsWorkload(row_bytes=0), inspect=list(inspect), phases=list(phases))
