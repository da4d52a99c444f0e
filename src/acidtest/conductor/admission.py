"""What is refused before a run begins: an experiment, a machine or a command that cannot give what is asked.

In two steps: ``admit`` before anything is made, ``admit_remaining`` when it is known which cells are left to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from acidtest.conductor import foreign, memory
from acidtest.conductor.base import Conductor
from acidtest.conductor.engines import describe_all
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine, program
from acidtest.engine.foreign import ForeignServer
from acidtest.engine.program import Program
from acidtest.errors import BadInput, MachineLacks, Problems
from acidtest.files import rig_version
from acidtest.journal.models import EngineFacts, Journal
from acidtest.place import Ledger, check_machine, ready_guests, tracing
from acidtest.place import admit as admit_to_devices
from acidtest.plan import Cell, Plan

MARGIN_BYTES = 32_000_000  # of free space: the engines' lock, sort and log files, and the journal


@dataclass(frozen=True)
class Devices:
    """Real block devices that the user has named on the command line."""

    use: frozenset[Path] = frozenset()  # may be formatted, written to, and left empty
    erase: frozenset[Path] = frozenset()  # of these, those on which everything may be destroyed

    @classmethod
    def named(cls, use: Sequence[str], erase: Sequence[str]) -> Devices:
        """Links, as in /dev/disk, are followed."""
        return cls(*(frozenset(Path(name).resolve() for name in names) for names in (use, erase)))


def admit(
    plan: Plan, left: Sequence[Cell], conductor: Conductor, where: Path, devices: Devices, watcher: Watcher
) -> dict[str, Engine]:
    """The engines of ``plan``; those of the cells that are ``left`` to run are ready. ``where`` is the experiment's
    file, named in errors.

    Nothing is made, except that a kernel for guests is brought where cells need one. Raises BadInput for what is asked
    wrongly and MachineLacks for what is not here, with what to do about it. What has run already needs nothing.
    """
    engines = describe_all(plan.experiment, plan.engines, str(where))
    needed = replace(plan, cells=tuple(left))
    problems = Problems()
    with problems.gather():
        conductor.admit(plan.cells, engines, where)
    for place in needed.places:
        with problems.gather():
            check_machine(place)
    if plan.cuts is False and any(place.kind == "machine" for place in plan.places):
        why = (
            f"{where}: place.kind machine: the processors of whole machines are emulated, and no speed is told of them"
        )
        problems.add(BadInput(why, f'acidtest powercut {where}, or write kind = "guest"'))
    with problems.gather():
        _refuse_unnamed(plan.cells, left, devices)
    for id in needed.engines:  # noqa: A001
        with problems.gather():
            engines[id].ready()
            engines[id].last_facts()  # of an engine that is removed in mid-run they could not be read later
    with problems.gather():
        memory.admit(needed.places)
    if any(cell.workload.observe for cell in left):
        with problems.gather():
            tracing.means()
    problems.check()
    if any(place.kind in ("guest", "machine") for place in needed.places):
        ready_guests(watcher.brings)
    return engines


def refuse_changed_engines(held: Journal, engines: Mapping[str, EngineFacts], where: Path) -> None:
    """Raise BadInput where an engine, by its id, is not the build with which the journal's cells were measured: one
    level would have figures of two. What a server by URL is shows only in its sessions, and of a program
    ``refuse_other_programs`` knows more."""
    problems, measured = Problems(), engines_of(held)
    for id, now in engines.items():  # noqa: A001
        if now.mode == program.FAMILY:
            continue
        before = next((facts for facts in measured if facts.id == id and not _is_same_engine(facts, now)), None)
        if before is not None:
            problems.add(
                BadInput(
                    f"{where}: engine {id} is {_described(now)}, and cells of this run were measured with "
                    f"{_described(before)}",
                    "run the experiment into another directory (--out), or put the earlier engine back",
                )
            )
    problems.check()


def _is_same_engine(before: EngineFacts, now: EngineFacts) -> bool:
    """Of a version, one of the two may have more parts than the other: sessions and programs print it differently."""
    if before.build and now.build:
        return before.build.sha256 == now.build.sha256
    parts = zip(_parts(before.version), _parts(now.version), strict=False)
    return before.source == now.source and all(part == other for part, other in parts)


def _parts(version: str) -> list[str]:
    return re.findall(r"\d+", version)


def _described(engine: EngineFacts) -> str:
    if engine.build:
        return f"{engine.build.file} (sha256 {engine.build.sha256[:16]})"
    return f"{engine.version} ({engine.source})"


def facts_of(engine: Engine) -> EngineFacts:
    """What the engine is now. The SQLite that comes with acidtest is named by the rig alone."""
    facts = engine.last_facts()
    if facts.version or not engine.embedded:
        return facts
    return facts.model_copy(update={"version": rig_version().partition("(SQLite ")[2].rstrip(")")})


def refuse_other_programs(held: Journal, engines: Iterable[Engine], where: Path) -> list[str]:
    """Raise BadInput where a program of the user's is another one than that whose power was cut for the journal: its
    verdicts are repeated as those of the program that is there. Answers what would not have been noticed."""
    notes, before = [], engines_of(held)
    for engine in engines:
        if not isinstance(engine, Program) or not before:
            continue
        try:
            engine.ready()
        except MachineLacks as lack:  # what has run needs nothing
            notes.append(f"{lack.message}: whether the program has changed since the journal's cuts is not known")
            continue
        notes.append(refuse_other_program(before, engine.last_facts(), where))
    return notes


def engines_of(held: Journal) -> list[EngineFacts]:
    """The engine, or the program, of each cell or cut of a journal that could be made."""
    return [recording.engine for recording in held.recordings if recording.engine and recording.status != "failed"]


def refuse_other_program(before: Sequence[EngineFacts], now: EngineFacts, where: Path) -> str:
    """Raise BadInput where the program is another one than any of those ``before``; answers what would not have been
    noticed."""
    if changed := dict.fromkeys(told for facts in before for told in program.changes(facts, now)):
        raise BadInput(
            f"{where}: the journal's cuts were made with another version of the program: {'; '.join(changed)}",
            "give another --out; acidtest report shows the cuts that were made",
        )
    return f"Of the cuts in the journal: {program.unnoticed(before, now)}."


def admit_servers(left: Sequence[Cell], engines: Mapping[str, Engine], where: Path) -> None:
    """Raise BadInput unless the servers that are not ours can be reached, allow loading there, and have what is asked
    of them."""
    problems = Problems()
    with closing(Ledger()) as ledger:
        for id in dict.fromkeys(cell.engine for cell in left):  # noqa: A001
            engine = engines[id]
            if isinstance(engine, ForeignServer):
                with problems.gather():
                    foreign.admit(engine, (cell for cell in left if cell.engine == id), where, ledger)
    problems.check()


def admit_remaining(
    cells: Sequence[Cell],
    conductor: Conductor,
    engines: Mapping[str, Engine],
    parent: Path,
    devices: Devices,
    watcher: Watcher,
) -> int:
    """Bytes that must be free in ``parent``, where the run's own place will lie, for ``cells``, those left to run.

    Shows what is on their real devices, and destroys it on those to erase. Raises BadInput where the conductor lacks
    space elsewhere, or a device may not be written to; then nothing has been destroyed on any.
    """
    if not cells:
        return 0
    needed = conductor.needed_bytes(cells, engines, parent) + MARGIN_BYTES
    admit_to_devices(_devices(cells), devices.erase, watcher.admitted)
    return needed


def _devices(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.place.device for cell in cells if cell.place.device is not None))


def _refuse_unnamed(planned: Iterable[Cell], left: Iterable[Cell], devices: Devices) -> None:
    """Raise BadInput unless --use-device names the real devices of the cells that are left, and only planned ones."""
    names = {Path(name).resolve(): name for name in _devices(planned)}
    problems = Problems()
    for name in _devices(left):
        device = Path(name).resolve()
        if device not in devices.use:
            problems.add(
                BadInput(
                    f"place.device {name}: a real device is written to only when the command names it too",
                    f"see what is on it (lsblk -f {name}), then add --use-device {name}",
                )
            )
    for stray in sorted((devices.use | devices.erase) - names.keys()):
        problems.add(BadInput(f"{stray}: is named on the command line, but no place is on it", "leave it out"))
    problems.check()
