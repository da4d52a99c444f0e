"""All power cuts of an experiment: one combination after another, each prepared once and cut as often as asked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from acidtest.conductor.cell import Templates, template_bytes
from acidtest.conductor.engines import engines_of
from acidtest.conductor.run import MARGIN_BYTES, Outcome, Watcher, header, make_directory
from acidtest.conductor.verify import verify
from acidtest.engine import Engine
from acidtest.errors import AcidtestError, BadInput, CellFailed
from acidtest.experiment import Experiment
from acidtest.journal.protocol import Progress
from acidtest.journal.reader import CUTS
from acidtest.journal.writer import JournalWriter
from acidtest.place import DirectoryPlace, Ledger, check_machine, machine_facts, release_leftovers
from acidtest.place.making import image_mb
from acidtest.plan import Cell, Plan, time_left
from acidtest.powercut.drives import Drives, simulated
from acidtest.powercut.exploration import ReportStates, explore
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.state_file import keep_state, keep_survivors
from acidtest.powercut.trial import CutAction, Trial, unprepared


def chosen(plan: Plan, *, only: str | None = None, seed: int | None = None) -> list[Cell]:
    """The cuts of ``plan``, those of a combination together.

    With ``only`` just the combination of that name; with ``seed`` each cut is the one that this seed draws. Raises
    BadInput when no combination has the name.
    """
    names = [cell.combination for cell in plan.combinations()]
    if only is not None and only not in names:
        raise BadInput(f"--only {only}: there is no such combination", f"one of: {', '.join(names)}")
    cells = [cell for cell in plan.cells if only in (None, cell.combination)]
    cells.sort(key=lambda cell: (names.index(cell.combination), cell.repetition))
    if seed is not None:
        cells = [replace(cell, seed=seed, id=f"{cell.combination}#{cell.repetition}-seed-{seed}") for cell in cells]
    return [replace(cell, order=order) for order, cell in enumerate(cells, start=1)]


def check(cells: Sequence[Cell], engines: dict[str, Engine], where: Path) -> None:
    """Refuse what cannot be cut. Raises BadInput."""
    for cell in cells:
        if cell.place.kind != "disk":
            raise BadInput(
                f"{where}: place.kind {cell.place.kind}: only the power of a simulated disk can be cut",
                'write [place] kind = "disk"',
            )
        if not engines[cell.engine].private:
            raise BadInput(
                f"{where}: {cell.engine}: the power of a server by URL is not ours to cut", "leave it out of engine"
            )


def cut_power(
    plan: Plan,
    where: Path,
    out: Path,
    watcher: Watcher,
    *,
    drives: Drives = simulated,
    only: str | None = None,
    seed: int | None = None,
    command: Sequence[str] = (),
) -> Outcome:
    """Make every cut of ``plan`` that ``out``'s journal does not hold, or holds only as one that could not be made.

    With ``seed`` all of them are made, held or not. Each recording is on the drive before the next cut. ``command`` is
    what asked for it, for who reads the journal. Raises BadInput and MachineLacks before anything is made; a cut that
    cannot be made is a recording with status ``failed``.
    """
    verify(plan, where)
    cells = chosen(plan, only=only, seed=seed)
    engines = engines_of(plan)
    check(cells, engines, where)
    for cell in cells:
        check_machine(cell.place)
    if released := release_leftovers():
        watcher.released(released)
    make_directory(out)
    # Of the same experiment with more cuts; but not of its runs.
    alone = plan.experiment.model_copy(update={"repetitions": 1}).digest()
    digest = hashlib.sha256(f"powercut {alone}".encode()).hexdigest()
    update = {"digest": digest, "cells": len(cells), "asked": list(command)}
    with ExitStack() as held:
        writer = held.enter_context(JournalWriter(out, header(plan).model_copy(update=update), CUTS))
        made = [recording.cell for recording in writer.journal.recordings if recording.status != "failed"]
        kept = set(made) if seed is None else set()
        remaining = [cell for cell in cells if cell.id not in kept]
        ledger = Ledger()
        held.callback(ledger.close)
        needed = max((template_bytes(cell.workload, engines[cell.engine]) for cell in remaining), default=0)
        place = DirectoryPlace(out, ledger, needed_bytes=needed + MARGIN_BYTES)
        held.callback(place.release)
        watcher.begins(len(cells) - len(remaining), len(cells), str(out))
        _cut_all(plan.experiment, remaining, writer, watcher, place, ledger, engines, drives)
        return Outcome(writer.journal, len(remaining))


def _cut_all(
    experiment: Experiment,
    cells: list[Cell],
    writer: JournalWriter,
    watcher: Watcher,
    place: DirectoryPlace,
    ledger: Ledger,
    engines: dict[str, Engine],
    drives: Drives,
) -> None:
    machine, templates = machine_facts(), Templates(place, ledger)
    seen: list[tuple[Cell, float]] = []
    done = 0
    for _, group in groupby(cells, key=lambda cell: cell.combination):
        cuts = list(group)
        engine = engines[cuts[0].engine]
        # What a level below drive loses is what it says, and every state takes as much room as its database.
        keep = partial(keep_survivors, place.path.parent, experiment) if cuts[0].durability == "drive" else None
        watcher.cell_begins(cuts[0], time_left(cells[done:], seen))
        with _trial(cuts[0], engine, templates, place, ledger, drives, watcher) as (trial, log):
            for cell in cuts:
                watcher.cell_begins(cell, time_left(cells[done:], seen))
                began = time.monotonic()
                if isinstance(trial, Trial):
                    report = partial(_report_states, watcher, cell)
                    action = _action(experiment, trial, log, place.path.parent, report)
                    recording = trial.run(cell, machine, action, keep)
                    keep = None if recording.cut and recording.cut.state else keep
                else:
                    recording = unprepared(cell, engine, machine, trial)
                writer.append(recording)
                seen.append((cell, time.monotonic() - began))
                done += 1
                watcher.cell_ended(cell, recording, time_left(cells[done:], seen))


def _report_states(watcher: Watcher, cell: Cell, inspected: int, of: int, per_s: float) -> None:
    fraction, elapsed_s = inspected / of, inspected / per_s
    watcher.progress(
        cell, Progress(phase="check", fraction=fraction, elapsed_s=elapsed_s, done=inspected, rate_per_s=per_s)
    )


def _action(
    experiment: Experiment, trial: Trial, log: Path | None, out: Path, report: ReportStates
) -> CutAction | None:
    if log is None:
        return None
    return partial(explore, trial, log, partial(keep_state, out, experiment, trial.kept_records), report)


@contextmanager
def _trial(
    cell: Cell,
    engine: Engine,
    templates: Templates,
    place: DirectoryPlace,
    ledger: Ledger,
    drives: Drives,
    watcher: Watcher,
) -> Iterator[tuple[Trial | str, Path | None]]:
    """The combination, ready to be cut, or why it cannot be; and the log that its disk writes."""
    with ExitStack() as held:
        made: Trial | str
        log: Path | None = None
        try:
            template = templates.get(cell, engine, lambda event: watcher.progress(cell, event))
            home = DirectoryPlace(place.path, ledger, needed_bytes=0)
            held.callback(home.release)
            size_mb = image_mb(cell.place, template_bytes(cell.workload, engine))
            log = home.path / "log" if FAILURES[cell.place.disk_failure].builds_states else None
            drive = drives(cell, home, ledger, size_mb, log)
            held.callback(drive.release)

            made = Trial(cell, engine, template, home, drive, ledger)
            held.callback(made.release)
        except CellFailed as error:
            made = error.message
        except OSError as error:
            raise AcidtestError(f"{error.filename}: {error.strerror}", "run acidtest clean, then try again") from None
        yield made, log
