"""Loads into servers that are not ours, and takes away again what was loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine.foreign import ForeignInstance, ForeignServer
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.protocol import Inspection, Job, Settings
from acidtest.place import Ledger
from acidtest.workload.commits import CommitsWorkload


def admit(engine: ForeignServer, where: Path, ledger: Ledger) -> None:
    """Raise BadInput unless the server can be reached and what it holds allows loading there."""
    instance = engine.adopt(Path(), {}, "drive")
    try:
        why = instance.refusal(_held(instance, ledger))
    except CellFailed as error:
        raise BadInput(
            f"{where}: servers.{engine.id}: {error.message.removeprefix('opening the database: ')}",
            f"check the url; the password may stand in ACIDTEST_PASSWORD_{engine.id.upper()}",
        ) from None
    if why:
        raise BadInput(f"{where}: servers.{engine.id}: {why}")


def clear(instance: ForeignInstance, ledger: Ledger, *, for_good: bool) -> None:
    """Remove what acidtest made there; unless ``for_good``, make the place for a new load. Raises CellFailed."""
    held = _held(instance, ledger)
    if why := instance.refusal(held):
        raise CellFailed(f"{instance.engine.id}: {why}")
    _talk(instance, ledger, statements=instance.clearing(held, for_good=for_good))


def _held(instance: ForeignInstance, ledger: Ledger) -> dict[str, str | None]:
    return _talk(instance, ledger, inspect=instance.holdings())


def _talk(
    instance: ForeignInstance, ledger: Ledger, statements: Sequence[str] = (), inspect: Sequence[Inspection] = ()
) -> dict[str, str | None]:
    target = instance.bare_target(statements)
    job = Job(seed=0, target=target, workload=CommitsWorkload(row_bytes=0), inspect=list(inspect), phases=[])
    answers: dict[str, str | None] = {}
    for event in converse(job, ledger, instance.environment()):
        if isinstance(event, Settings):
            answers |= {setting.name: setting.value for setting in event.values}
    return answers
