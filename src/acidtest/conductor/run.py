"""Runs every cell that the journal does not hold yet."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from acidtest import __version__
from acidtest.conductor import foreign, growth, memory, watching
from acidtest.conductor.cell import Templates, run_cell, template_bytes, template_key
from acidtest.conductor.engines import engines_of
from acidtest.conductor.rig import DiskFull
from acidtest.conductor.verify import verify
from acidtest.engine import Engine
from acidtest.engine.foreign import ForeignServer
from acidtest.errors import AcidtestError, BadInput
from acidtest.journal.models import Header, Journal, Machine, Recording
from acidtest.journal.protocol import Progress
from acidtest.journal.reader import CUTS, NAME
from acidtest.journal.writer import JournalWriter
from acidtest.place import (
    DirectoryPlace,
    Guests,
    Ledger,
    admit,
    check_machine,
    image_bytes,
    machine_facts,
    place_facts,
    ready_guests,
    release_leftovers,
)
from acidtest.place.trees import is_full
from acidtest.plan import Cell, Plan, time_left

MARGIN_BYTES = 32_000_000  # the engines' lock, sort and log files, and the journal


class Watcher(Protocol):
    """Who is told how a run goes."""

    def begins(self, done: int, total: int, place: str) -> None: ...
    def released(self, lines: list[str]) -> None: ...
    def brings(self, line: str) -> None: ...
    def admitted(self, lines: list[str]) -> None: ...
    def cell_begins(self, cell: Cell, left_s: float) -> None: ...
    def progress(self, cell: Cell, event: Progress) -> None: ...
    def loading(self, cell: Cell, loading: growth.Loading) -> None: ...
    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None: ...


@dataclass(frozen=True)
class Devices:
    """Real block devices that the user has named on the command line."""

    use: frozenset[Path] = frozenset()  # may be formatted, written to, and left empty
    erase: frozenset[Path] = frozenset()  # of these, those on which everything may be destroyed

    @classmethod
    def named(cls, use: Sequence[str], erase: Sequence[str]) -> Devices:
        """Links, as in /dev/disk, are followed."""
        return cls(*(frozenset(Path(name).resolve() for name in names) for names in (use, erase)))


@dataclass(frozen=True)
class Outcome:
    """What a run left in the journal."""

    journal: Journal
    ran: int  # cells run now


def run(
    plan: Plan,
    where: Path,
    out: Path,
    watcher: Watcher,
    *,
    retry_failed: bool = False,
    devices: Devices = Devices(),
) -> Outcome:
    """Run the cells of ``plan`` missing from ``out``'s journal; with ``retry_failed`` also those that failed.

    Each recording is on the drive before the next cell starts. Raises BadInput (bad output directory, another
    experiment's journal, no space), MachineLacks (an engine is missing), CellFailed never: a cell that cannot
    run is a recording with status ``failed``.
    """
    verify(plan, where)
    for cell in plan.combinations():
        check_machine(cell.place)
    if any(cell.place.kind == "guest" for cell in plan.cells):
        ready_guests(watcher.brings)
    _named_devices(plan.cells, devices)
    engines = engines_of(plan)
    memory.admit(cell.place for cell in plan.combinations())
    watching.admit(plan.combinations())
    released = release_leftovers()
    with _ledger() as ledger:
        for engine in engines.values():
            if isinstance(engine, ForeignServer):
                foreign.admit(engine, where, ledger)
    make_directory(out)
    try:
        with JournalWriter(out, header(plan)) as writer, _ledger() as ledger:
            if released:
                watcher.released(released)
            remaining = _remaining(plan, writer.journal, retry_failed)
            parent = Path(plan.experiment.place.path or out)
            watcher.begins(len(plan.cells) - len(remaining), len(plan.cells), str(parent))
            admit(_devices(remaining), devices.erase, watcher.admitted)
            if remaining:
                if plan.experiment.growth is not None:
                    growth.admit(remaining, engines, parent)
                    needed = MARGIN_BYTES
                else:
                    needed = _needed_by_all(remaining, engines, parent)
                place = DirectoryPlace(parent, ledger, needed_bytes=needed)
                try:
                    _run_cells(plan, remaining, writer, watcher, place, ledger, engines)
                finally:
                    place.release()
            return Outcome(writer.journal, len(remaining))
    except DiskFull as error:
        raise BadInput(f"the disk is full: {error.message}", "free some space and run the same command again") from None
    except OSError as error:
        if is_full(error):
            raise BadInput(
                f"{error.filename or out}: the disk is full", "free some space and run the same command again"
            ) from None
        if error.errno == errno.EBUSY:
            raise AcidtestError(
                f"{error.filename}: could not be released: {error.strerror}",
                "end what uses it, run acidtest clean, then the same command again",
            ) from None
        raise


def _devices(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.place.device for cell in cells if cell.place.device is not None))


def _named_devices(cells: Iterable[Cell], devices: Devices) -> None:
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


def _needed_by_all(cells: Sequence[Cell], engines: dict[str, Engine], parent: Path) -> int:
    """Bytes that the templates of these cells take in ``parent``, and the largest of the cells."""
    templates = {
        template_key(cell, engines[cell.engine]): template_bytes(cell.workload, engines[cell.engine]) for cell in cells
    }
    return sum(templates.values()) + max(_needed(cell, engines, parent) for cell in cells) + MARGIN_BYTES


def _needed(cell: Cell, engines: dict[str, Engine], parent: Path) -> int:
    """Bytes that the cell itself takes in ``parent``, beside the templates."""
    if cell.place.path is not None and Path(cell.place.path) != parent:
        return 0
    copied = template_bytes(cell.workload, engines[cell.engine])
    if cell.place.kind == "guest":
        return image_bytes(cell.place, copied) + 2 * copied  # set up in a directory, and on its way in
    return copied if cell.place.kind == "directory" else image_bytes(cell.place, copied)


class _OnCopies:
    """Cells that each have a fresh copy of a loaded template."""

    def __init__(
        self, engines: dict[str, Engine], place: DirectoryPlace, ledger: Ledger, machine: Machine, watcher: Watcher
    ) -> None:
        self._engines, self._place, self._ledger = engines, place, ledger
        self._machine, self._watcher = machine, watcher
        self._facts = place_facts(place.path)
        self._templates = Templates(place, ledger)
        self._guests = Guests(ledger)
        self._seen: list[tuple[Cell, float]] = []

    def run(self, cell: Cell) -> list[Recording]:
        began = time.monotonic()
        recording = run_cell(
            cell,
            self._engines[cell.engine],
            self._place,
            self._templates,
            self._guests,
            self._ledger,
            self._machine,
            self._facts,
            partial(self._watcher.progress, cell),
        )
        self._seen.append((cell, time.monotonic() - began))
        return [recording]

    def left(self, remaining: Sequence[Cell]) -> float:
        return time_left(remaining, self._seen)

    def end(self) -> None:
        self._guests.end()


def _run_cells(
    plan: Plan,
    remaining: list[Cell],
    writer: JournalWriter,
    watcher: Watcher,
    place: DirectoryPlace,
    ledger: Ledger,
    engines: dict[str, Engine],
) -> None:
    machine = machine_facts()
    grows = plan.experiment.growth
    conduct: _OnCopies | growth.Growing
    if grows is None:
        conduct = _OnCopies(engines, place, ledger, machine, watcher)
    else:
        conduct = growth.Growing(remaining, engines, place, ledger, machine, watcher, statistics=grows.statistics)
    try:
        for position, cell in enumerate(remaining):
            watcher.cell_begins(cell, conduct.left(remaining[position:]))
            for recording in conduct.run(cell):
                writer.append(recording)
            watcher.cell_ended(cell, recording, conduct.left(remaining[position + 1 :]))
    finally:
        conduct.end()


@contextmanager
def _ledger() -> Iterator[Ledger]:
    ledger = Ledger()
    try:
        yield ledger
    finally:
        ledger.close()


def _remaining(plan: Plan, journal: Journal, retry_failed: bool) -> list[Cell]:
    held = {r.cell for r in journal.recordings if not (retry_failed and r.status == "failed")}
    return [cell for cell in plan.cells if cell.id not in held]


def header(plan: Plan) -> Header:
    experiment = plan.experiment
    return Header(
        acidtest_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        experiment=experiment.model_dump(mode="json"),
        digest=experiment.digest(),
        factors={factor: [level.name for level in levels] for factor, levels in experiment.factors.items()},
        base=experiment.base,
        cells=len(plan.cells),
    )


def make_directory(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".acidtest-can-write"
        probe.write_bytes(b"1")
        probe.unlink()
    except FileExistsError:
        raise BadInput(f"{out}: is a file, not a directory", "give another --out") from None
    except OSError as error:
        if is_full(error):
            raise BadInput(f"{out}: the disk is full", "free some space, or give another --out") from None
        raise BadInput(f"{out}: cannot be written to: {error.strerror}", "give another --out") from None
    stranger = next((p for p in out.iterdir() if not _is_ours(p)), None)
    if stranger and not any((out / name).exists() for name in (NAME, CUTS)):
        raise BadInput(f"{out}: holds files that are not acidtest's ({stranger.name})", "give a new or empty --out")


def _is_ours(path: Path) -> bool:
    return path.name in (NAME, CUTS, "report.html", "lost+found") or path.name.startswith("acidtest-")
