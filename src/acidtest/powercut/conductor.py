"""All power cuts of an experiment: one combination after another, each prepared once and cut as often as asked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from acidtest.conductor.base import Begun, Conductor, Ended, Steps
from acidtest.conductor.conduct import RunOutcome, conduct
from acidtest.conductor.context import RunContext
from acidtest.conductor.failing import refuse_to_go_on, why_failed
from acidtest.conductor.output import Output, header
from acidtest.conductor.recording import CellOutcome, RecordingBuilder
from acidtest.conductor.rig import DiskFull
from acidtest.conductor.search import refuse_search
from acidtest.conductor.template import Template, template_bytes
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.errors import AcidtestError, BadInput, MachineLacks, Problems, not_among
from acidtest.experiment import Experiment
from acidtest.journal.protocol import Progress
from acidtest.journal.reader import CUTS
from acidtest.place import DirectoryPlace
from acidtest.place.making import image_mb
from acidtest.place.trees import is_full
from acidtest.plan import Cell, Plan, time_left
from acidtest.powercut.drives import Drives, simulated
from acidtest.powercut.exploration import explore
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.state_file import keep_state, keep_survivors
from acidtest.powercut.trial import CutAction, KeepSurvivors, Trial


def chosen(plan: Plan, *, only: str | None = None, seed: int | None = None) -> list[Cell]:
    """The cuts of ``plan``, those of a combination together.

    With ``only`` just the combination of that name; with ``seed`` each cut is the one that this seed draws. Raises
    BadInput when no combination has the name.
    """
    ranks = {cell.combination: rank for rank, cell in enumerate(plan.combinations())}
    if only is not None and only not in ranks:
        raise BadInput(
            not_among("--only: combination", only, ranks),
            "acidtest plan --json has the ids of all cells: what stands before '#'",
        )
    cells = [cell for cell in plan.cells if only in (None, cell.combination)]
    cells.sort(key=lambda cell: (ranks[cell.combination], cell.repetition))
    if seed is not None:
        cells = [replace(cell, seed=seed, id=f"{cell.combination}#{cell.repetition}-seed-{seed}") for cell in cells]
    return [replace(cell, order=order) for order, cell in enumerate(cells, start=1)]


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
) -> RunOutcome:
    """Make every cut of ``plan`` that ``out``'s journal does not hold, or holds only as one that could not be made.

    With ``seed`` all of them are made, held or not. ``command`` is what asked for it, for who reads the journal. Raises
    what ``conduct`` raises; a cut that cannot be made is a recording with status ``failed``.
    """
    refuse_search(plan, where)
    cuts, output = cuts_of(plan, out, only=only, seed=seed, command=command)
    return conduct(cuts, Cuts(plan.experiment, drives), output, where, watcher)


def cuts_of(
    plan: Plan, out: Path, *, only: str | None, seed: int | None, command: Sequence[str]
) -> tuple[Plan, Output]:
    """The plan of the cuts alone, and the directory ``out`` with their journal; all else is as in ``cut_power``."""
    cuts = replace(plan, cells=tuple(chosen(plan, only=only, seed=seed)))
    # A journal takes cuts of the same experiment with other repetitions; but not of its runs.
    alone = plan.experiment.model_copy(update={"repetitions": 1}).digest()
    digest = hashlib.sha256(f"powercut {alone}".encode()).hexdigest()
    first_line = header(cuts).model_copy(update={"digest": digest, "asked": list(command)})
    output = Output(
        out, first_line, CUTS, runs_again=lambda recording: seed is not None or recording.status == "failed"
    )
    return cuts, output


class Cuts(Conductor):
    """Cells that are cuts: those of a combination one after another, on one disk with one engine."""

    def __init__(self, experiment: Experiment, drives: Drives = simulated) -> None:
        self._experiment, self._drives = experiment, drives
        self._took: list[tuple[Cell, float]] = []  # seconds of each that has ended

    def admit(self, cells: Sequence[Cell], engines: Mapping[str, Engine], where: Path) -> None:
        """Refuse what has no power of its own that could be cut."""
        problems = Problems()
        for name, kind in dict.fromkeys((cell.engine, cell.place.kind) for cell in cells):
            if not engines[name].private:
                why = f"{where}: {name}: the power of a server by URL is not ours to cut"
                problems.add(BadInput(why, "leave it out of engine"))
            elif kind != "disk":
                why = f"{where}: place.kind {kind}: only the power of a simulated disk can be cut"
                problems.add(BadInput(why, 'write [place] kind = "disk"'))
        problems.check()

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        """The largest template."""
        return max(template_bytes(cell.workload, engines[cell.engine]) for cell in cells)

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        for _, group in groupby(cells, key=lambda cell: cell.combination):
            yield from self._cut(list(group), context)

    def left_s(self, cells: Sequence[Cell]) -> float:
        return time_left(cells, self._took)

    def _cut(self, cuts: Sequence[Cell], context: RunContext) -> Steps:
        """All cuts of one combination, which is prepared when the first of them begins."""
        first = cuts[0]
        yield Begun(first)
        keep: KeepSurvivors | None = partial(keep_survivors, context.out, self._experiment)
        with self._trial(first, context) as (trial, log):
            for cell in cuts:
                if cell is not first:
                    yield Begun(cell)
                began = time.monotonic()
                builder = RecordingBuilder(cell, context.engine(cell), context.machine)
                if isinstance(trial, Trial):
                    recording = trial.run(cell, builder, self._action(cell, trial, log, context), keep)
                else:
                    recording = builder.build(CellOutcome(), "failed", trial)
                if recording.status == "failed":
                    refuse_to_go_on(context)
                if recording.cut and recording.cut.state:
                    keep = None
                self._took.append((cell, time.monotonic() - began))
                yield Ended(cell, [recording])

    def _action(self, cell: Cell, trial: Trial, log: Path | None, context: RunContext) -> CutAction | None:
        """What is done where no power fails."""
        if log is None:
            return None
        keep = partial(keep_state, context.out, self._experiment, trial.kept_records)
        return partial(explore, trial, log, keep, partial(_report_states, context.watcher, cell))

    @contextmanager
    def _trial(self, cell: Cell, context: RunContext) -> Iterator[tuple[Trial | str, Path | None]]:
        """The combination, ready to be cut, or why it cannot be; and the log that its disk writes."""
        engine, ledger = context.engine(cell), context.ledger
        with ExitStack() as held:
            made: Trial | str
            template: Template | None = None
            log: Path | None = None
            try:
                template = context.templates.get(cell, engine, partial(context.watcher.progress, cell))
                home = DirectoryPlace(context.place.path, ledger, needed_bytes=0)
                held.callback(home.release)
                size_mb = image_mb(cell.place, template_bytes(cell.workload, engine))
                log = home.path / "log" if FAILURES[cell.place.disk_failure].builds_states else None
                drive = self._drives(cell, home, ledger, size_mb, log)
                held.callback(drive.release)
                made = Trial(cell, engine, template, home, drive, ledger)
                held.callback(made.release)
            except MachineLacks:
                raise
            except (AcidtestError, OSError) as error:
                full = isinstance(error, DiskFull) or (isinstance(error, OSError) and is_full(error))
                if full and (template is None or isinstance(error, OSError)):
                    raise  # the run's own place is full: no other combination can be prepared
                refuse_to_go_on(context)
                made = why_failed(error, engine)
            yield made, log


def _report_states(watcher: Watcher, cell: Cell, inspected: int, of: int, per_s: float) -> None:
    fraction, elapsed_s = inspected / of, inspected / per_s
    watcher.progress(
        cell, Progress(phase="check", fraction=fraction, elapsed_s=elapsed_s, done=inspected, rate_per_s=per_s)
    )
