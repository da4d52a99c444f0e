"""Loads into servers that are not ours, and takes away again what was loaded; what a user has prepared there, a command
of the user's restores."""

from __future__ import annotations

import shlex
import subprocess
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
from acidtest.words import harmless
from acidtest.workload.base import OfTheUser
from acidtest.workload.commits import CommitsWorkload

SAID_BYTES = 4_000  # of a command, for its last line


def admit(engine: ForeignServer, cells: Iterable[Cell], where: Path, ledger: Ledger) -> None:
    """Raise BadInput unless the server can be reached, what it holds allows loading there, or is what a user has
    prepared, and it has what ``cells`` demand of it; with all that it has not."""
    cells = list(cells)
    owns = [cell.workload.of_the_user() for cell in cells]
    instance = engine.adopt(Path(), {}, "drive")
    try:
        with started(instance, ledger):
            held = _held(instance, ledger)
            why = instance.unusable(held)
            if why is None and any(own is None for own in owns):
                why = instance.refusal(held)
            if why is None and any(own is not None and not own.restore for own in owns):
                why = instance.unprepared(held)
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
            asked, remedy = f"{setting.name} = {setting.asked}", "set it so on the server"
            if setting.name in cell.settings:
                said, remedy = f"{engine.family}.{asked} is asked for", f"ask for what the server has, or {remedy}"
            else:
                said = f"level {cell.durability} needs {asked}"
                remedy = f"ask for durability {' or '.join(has)}, or {remedy}" if has else remedy
            yield BadInput(f'{where}: {said}; server "{engine.id}" {found}', remedy)


class RestoreFailed(CellFailed):
    """The command that the user has named did not bring the database back."""


def restore(own: OfTheUser, place: Path, ledger: Ledger) -> None:
    """Run the user's command to its end. What it says goes into a file in ``place``. Raises RestoreFailed."""
    output = place / "restore.out"
    command = shlex.join(own.restore)
    try:
        ended = ledger.run(own.restore, output, directory=own.directory, limit_s=own.limit_s)
    except subprocess.TimeoutExpired:
        raise RestoreFailed(f"restore: {command}: has not ended after {own.limit_s:g} s (statement_limit_s)") from None
    except OSError as error:
        if error.filename in (own.restore[0], str(own.directory)):
            raise RestoreFailed(f"restore: {command}: cannot be run in {own.directory}: {error.strerror}") from None
        raise
    if ended == 0:
        return
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - SAID_BYTES))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    how = f"ended with exit code {ended}" if ended > 0 else f"was ended by signal {-ended}"
    text = f": {harmless(lines[-1].strip(), 300)}" if lines else ""
    raise RestoreFailed(f"restore: {command}: {how}{text}")


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
    if why := instance.unusable(held) or instance.refusal(held):
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
