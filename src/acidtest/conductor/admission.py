"""What is refused before a run begins: an experiment, a machine or a command that cannot give what is asked.

In two steps: ``admit`` before anything is made, ``admit_remaining`` when it is known which cells are left to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from acidtest.conductor import foreign, memory
from acidtest.conductor.base import Conductor
from acidtest.conductor.engines import describe
from acidtest.conductor.verify import verify
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.engine.foreign import ForeignServer
from acidtest.errors import BadInput
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


def admit(plan: Plan, conductor: Conductor, where: Path, devices: Devices, watcher: Watcher) -> dict[str, Engine]:
    """The engines of ``plan``, ready to run. ``where`` is the experiment's file, named in errors.

    Nothing is made, except that a kernel for guests is brought where cells need one. Raises BadInput for what is asked
    wrongly and MachineLacks for what is not here, with what to do about it.
    """
    verify(plan, where)
    combinations = plan.combinations()
    engines = {cell.engine: describe(plan.experiment, cell.engine) for cell in plan.cells}
    conductor.admit(plan.cells, engines, where)
    for cell in combinations:
        check_machine(cell.place)
    if any(cell.place.kind == "guest" for cell in combinations):
        ready_guests(watcher.brings)
    _refuse_unnamed(combinations, devices)
    for engine in engines.values():
        engine.ready()
    memory.admit(cell.place for cell in combinations)
    if any(cell.workload.observe for cell in combinations):
        tracing.means()
    return engines


def admit_servers(engines: Mapping[str, Engine], where: Path) -> None:
    """Raise BadInput unless the servers that are not ours can be reached and allow loading there."""
    with closing(Ledger()) as ledger:
        for engine in engines.values():
            if isinstance(engine, ForeignServer):
                foreign.admit(engine, where, ledger)


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


def _refuse_unnamed(cells: Iterable[Cell], devices: Devices) -> None:
    """Raise BadInput unless --use-device names the real devices of the experiment, and no other."""
    names = {Path(name).resolve(): name for name in _devices(cells)}
    for device, name in names.items():
        if device not in devices.use:
            raise BadInput(
                f"place.device {name}: a real device is written to only when the command names it too",
                f"see what is on it (lsblk -f {name}), then add --use-device {name}",
            )
    if stray := sorted((devices.use | devices.erase) - names.keys()):
        raise BadInput(f"{stray[0]}: is named on the command line, but no place is on it", "leave it out")
