"""All power cuts of an experiment: one combination after another, each prepared once and cut as often as asked."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from acidtest.analysis.recovery import NEEDED_S
from acidtest.conductor.base import Begun, Conductor, Ended, Looked, RunContext, Steps
from acidtest.conductor.conduct import RunOutcome, conduct
from acidtest.conductor.fatal_errors import refuse_to_go_on, why_failed
from acidtest.conductor.output import Output, header
from acidtest.conductor.recording import CellOutcome, RecordingBuilder
from acidtest.conductor.rig import DiskFull
from acidtest.conductor.search import refuse_search
from acidtest.conductor.template import Template, template_bytes
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.engine.catalogue import replication_of
from acidtest.errors import AcidtestError, BadInput, CellFailed, MachineLacks, Problems, message_of, not_among
from acidtest.experiment import Experiment
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import Explored, Recording
from acidtest.journal.reader import CUTS, explored
from acidtest.place import DirectoryPlace, Ledger
from acidtest.place.cuttable import Drive
from acidtest.place.making import image_mb
from acidtest.place.trees import is_full
from acidtest.plan import Cell, Plan, time_left
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.coverage import Budget, Exploration, as_state, batch_size
from acidtest.powercut.drives import Drives, simulated
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.exploration import Explorer, Reduced, as_reduced, at_once, completed, explorer
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.recorded_load import LoadFile, RecordedLoad, read, record, write
from acidtest.powercut.replicated import ReplicatedTrial
from acidtest.powercut.state_file import keep_state, keep_survivors, load_file
from acidtest.powercut.storage_trial import StorageTrial
from acidtest.powercut.trial import KeepSurvivors, Trial


def chosen(plan: Plan, *, only: Sequence[str] = (), seed: int | None = None) -> list[Cell]:
    """The cuts of ``plan``, those of a combination together.

    With ``only`` just the combinations of these names; with ``seed`` each cut is the one that this seed draws. Raises
    BadInput when no combination has a name.
    """
    ranks = {cell.combination: rank for rank, cell in enumerate(plan.combinations())}
    for name in only:
        if name not in ranks:
            raise BadInput(
                not_among("--only: combination", name, ranks),
                "acidtest plan --json has the ids of all cells: what stands before '#'",
            )
    cells = [cell for cell in plan.cells if not only or cell.combination in only]
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
    only: Sequence[str] = (),
    seed: int | None = None,
    command: Sequence[str] = (),
) -> RunOutcome:
    """Make every cut of ``plan`` that ``out``'s journal does not hold, or holds only as one that could not be made.

    With ``seed`` all of them are made, held or not. ``command`` is what asked for it, for who reads the journal. Raises
    what ``conduct`` raises; a cut that cannot be made is a recording with status ``failed``.
    """
    refuse_search(plan, where)
    cuts, output = cuts_of(plan, out, only=only, seed=seed, command=command)
    return conduct(cuts, Cuts(plan.experiment, drives, earlier(output, cuts)), output, where, watcher)


def earlier(output: Output, cuts: Plan) -> dict[str, list[Explored]]:
    """The crash states that ``output``'s journal says were looked at, of cells that have not ended, by their ids."""
    held = output.held()
    left = {cell.id for cell in output.remaining(cuts, held) if builds_states(cell)}
    lines: dict[str, list[Explored]] = {}
    if held is not None and left:
        for line in explored(output.directory / output.journal):
            if line.cell in left:
                lines.setdefault(line.cell, []).append(line)
    return lines


def builds_states(cell: Cell) -> bool:
    """Whether no power fails: a load is recorded, and its crash states are looked at."""
    return FAILURES[cell.place.disk_failure].builds_states


def cuts_of(
    plan: Plan, out: Path, *, only: Sequence[str], seed: int | None, command: Sequence[str]
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

    def __init__(
        self,
        experiment: Experiment,
        drives: Drives = simulated,
        earlier: Mapping[str, Sequence[Explored]] = MappingProxyType({}),
    ) -> None:
        """``earlier`` has the crash states that were looked at in runs that were ended, by the ids of cells."""
        self._experiment, self._drives, self._earlier = experiment, drives, earlier
        self._took: list[tuple[Cell, float]] = []  # seconds of each that has ended

    def admit(self, cells: Sequence[Cell], engines: Mapping[str, Engine], where: Path) -> None:
        """Refuse what has no power of its own that could be cut."""
        problems = Problems()
        for name, kind in dict.fromkeys((cell.engine, cell.place.kind) for cell in cells):
            if not engines[name].private:
                why = f"{where}: {name}: the power of a server by URL is not ours to cut"
                problems.add(BadInput(why, "leave it out of engine"))
            elif kind not in ("disk", "machine"):
                why = f"{where}: place.kind {kind}: only the power of a simulated disk can be cut"
                problems.add(BadInput(why, 'write [place] kind = "disk", or "machine"'))
        if any(cell.place.kind == "machine" and FAILURES[cell.place.disk_failure].ends == "engine" for cell in cells):
            why = f"{where}: place.disk_failure kill: a whole machine ends with its engine"
            problems.add(BadInput(why, 'write disk_failure = "cut", or place.kind = "disk"'))
        for cell in {cell.combination: cell for cell in cells}.values():
            with problems.gather():
                refuse_replication(cell, engines[cell.engine], where)
        for cell in {cell.combination: cell for cell in cells}.values():
            with problems.gather():
                refuse_storage(cell, self._experiment.program is not None, where)
        timed = [cell for cell in cells if cell.place.disk_recovery_s]
        if timed and self._experiment.program is not None:
            why = f"{where}: place.disk_recovery_s: how long a program takes to recover is not timed piece by piece"
            problems.add(BadInput(why, "leave it out: each cut tells how long program.start takes until it is ready"))
            timed = []
        for name, spec in {cell.workload_name: cell.workload for cell in timed}.items():
            if (spec.duration_s or 0) <= NEEDED_S:
                why = f"{where}: workload.{name}: a load of {NEEDED_S} s or less shows no rate to recover to"
                problems.add(BadInput(why, "write duration_s = 20 or more, or leave disk_recovery_s out"))
        problems.check()

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        """The largest template."""
        return max(template_bytes(cell.workload, engines[cell.engine]) for cell in cells)

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        for _, group in groupby(cells, key=lambda cell: cell.combination):
            cuts = list(group)
            if not builds_states(cuts[0]):
                yield from self._cut(cuts, context)
                continue
            for cell in cuts:
                yield from self._explore(cell, context)

    def left_s(self, cells: Sequence[Cell]) -> float:
        return time_left(cells, self._took)

    def _cut(self, cuts: Sequence[Cell], context: RunContext) -> Steps:
        """All cuts of one combination, prepared when the first of them begins, and again where its disk has ended."""
        left = deque(cuts)
        keep = _only_first(partial(keep_survivors, context.out, self._experiment))
        while left:
            yield Begun(left[0])
            with self._trial(left[0], context) as trial:
                _report_check(trial, left[0], context)
                yield from self._cut_on(trial, left, keep, context)

    def _cut_on(self, trial: Trial | str, left: deque[Cell], keep: KeepSurvivors, context: RunContext) -> Steps:
        """The cuts that are left, of which the first has begun, as long as the disk of ``trial`` answers."""
        first = left[0]
        while left:
            cell = left.popleft()
            if cell is not first:
                yield Begun(cell)
            began = time.monotonic()
            builder = RecordingBuilder(cell, context.engine(cell), context.machine)
            if isinstance(trial, Trial):
                recording = trial.run(cell, builder, keep=keep)
            else:
                recording = builder.build(CellOutcome(), "failed", trial)
            if recording.status == "failed":
                refuse_to_go_on(context)
            self._took.append((cell, time.monotonic() - began))
            yield Ended(cell, [recording])
            if recording.status == "failed" and isinstance(trial, Trial) and _has_ended(trial.drive):
                return

    def _explore(self, cell: Cell, context: RunContext) -> Steps:
        """Record a load, unless that of an earlier run is there, and look at its crash states."""
        yield Begun(cell)
        began = time.monotonic()
        file = load_file(context.out, cell)
        recording = None if file.exists() and cell.id in self._earlier else self.record(cell, context, file)
        if recording is None or recording.status == "done":
            with self.exploring(cell, context, file, at_once=_at_once(cell, context)) as made:
                if isinstance(made, str):
                    recording = self._failed(cell, context, made)
                else:
                    recording = yield from self._look(cell, context, *made)
        if recording.status == "failed":
            refuse_to_go_on(context)
        self._took.append((cell, time.monotonic() - began))
        yield Ended(cell, [recording])
        if recording.status != "failed":
            file.unlink(missing_ok=True)

    def _look(
        self, cell: Cell, context: RunContext, explorer: Explorer, of: LoadFile
    ) -> Generator[Looked, None, Recording]:
        exploration = Exploration(of.load, of.sha256, cell.seed, Budget.of(cell))
        for line in self._earlier.get(cell.id, []):
            exploration.take(line)
        began, before_s, size = time.monotonic(), exploration.elapsed_s, explorer.at_once
        try:
            while asked := exploration.batch(size, before_s + time.monotonic() - began):
                line = explorer.look(asked)
                line = line.model_copy(update={"elapsed_s": before_s + time.monotonic() - began})
                yield Looked(cell, line)
                exploration.came_back(asked)
                exploration.take(line)
                context.watcher.exploring(cell, exploration.far(line.elapsed_s))
                size = max(explorer.at_once, batch_size(len(asked), line.took_s))
            elapsed_s = exploration.elapsed_s
            reduced = explorer.reduce(as_state(exploration.worst[0])) if exploration.worst else None
        except (CellFailed, OSError) as error:
            return self._failed(cell, context, why_failed(error, context.engine(cell)))
        recording = ended(context.out, self._experiment, cell, of, exploration, elapsed_s, reduced)
        if recording.cut and recording.cut.states:
            states = recording.cut.states.model_copy(update={"at_once": explorer.at_once})
            recording = recording.model_copy(update={"cut": recording.cut.model_copy(update={"states": states})})
        return recording

    def record(self, cell: Cell, context: RunContext, file: Path) -> Recording:
        """The load of ``cell``, recorded into ``file``: a recording with no state looked at, or one that failed."""
        builder = RecordingBuilder(cell, context.engine(cell), context.machine)
        loads: list[RecordedLoad] = []
        with self._trial(cell, context) as trial:
            if isinstance(trial, str):
                return builder.build(CellOutcome(), "failed", trial)
            _report_check(trial, cell, context)

            def action(cell: Cell, evidence: CutEvidence) -> Judgement:
                loads.append(record(trial, cell, evidence))
                return Judgement("unknown", ["no crash state was looked at"], {})

            recording = trial.run(cell, builder, action)
            if recording.status == "done":
                try:
                    write(file, trial, loads[0], recording)
                except (CellFailed, OSError) as error:
                    return builder.build(CellOutcome(), "failed", why_failed(error, context.engine(cell)))
            return recording

    @contextmanager
    def exploring(
        self, cell: Cell, context: RunContext, file: Path, *, at_once: int = 1
    ) -> Iterator[tuple[Explorer, LoadFile] | str]:
        """Who looks at the crash states of the load in ``file``, and that load; or why nobody can. So many states are
        looked at ``at_once``, or fewer where no more disks can be made."""
        with ExitStack() as held:
            first = held.enter_context(self._trial(cell, context, blank=True))
            if isinstance(first, str):
                yield first
                return
            trials = [first]
            while len(trials) < at_once:
                another = held.enter_context(self._trial(cell, context, blank=True))
                if not isinstance(another, Trial):
                    break
                trials.append(another)
            try:
                of = read(file, first.log)
                made = held.enter_context(explorer(trials, cell, of))
            except (CellFailed, OSError) as error:
                refuse_to_go_on(context)
                yield why_failed(error, context.engine(cell))
                return
            yield made, of

    def _failed(self, cell: Cell, context: RunContext, why: str) -> Recording:
        return RecordingBuilder(cell, context.engine(cell), context.machine).build(CellOutcome(), "failed", why)

    @contextmanager
    def _trial(self, cell: Cell, context: RunContext, *, blank: bool = False) -> Iterator[Trial | str]:
        """The combination, ready to be cut, or why it cannot be. Where its crash states are looked at, its disk writes
        a log; with ``blank`` the disk is empty and writes none: there is to be the log of another one."""
        engine = context.engine(cell)
        with ExitStack() as held:
            made: Trial | str
            template: Template | None = None
            try:
                template = context.templates.get(cell, engine, partial(context.watcher.progress, cell))
                size_mb = image_mb(cell.place, template_bytes(cell.workload, engine))
                disks = Disks(held, cell, context.place.path, context.ledger, self._drives, size_mb)
                made = trial_on(disks, engine, template, blank=blank)
            except MachineLacks:
                raise
            except (AcidtestError, OSError) as error:
                full = isinstance(error, DiskFull) or (isinstance(error, OSError) and is_full(error))
                if full and (template is None or isinstance(error, OSError)):
                    raise  # the run's own place is full: no other combination can be prepared
                refuse_to_go_on(context)
                made = why_failed(error, engine)
            yield made


@dataclass(frozen=True)
class Disks:
    """Makes the disks of one combination, each in a directory of ours below ``parent``, until ``held`` ends."""

    held: ExitStack
    cell: Cell
    parent: Path
    ledger: Ledger
    drives: Drives
    size_mb: int

    def new(self, *, logs: bool) -> tuple[DirectoryPlace, Drive]:
        """The directory of a disk, and the disk."""
        home = DirectoryPlace(self.parent, self.ledger, needed_bytes=0)
        self.held.callback(home.release)
        drive = self.drives(self.cell, home, self.ledger, self.size_mb, home.path / "log" if logs else None)
        self.held.callback(drive.release)
        return home, drive


def trial_on(disks: Disks, engine: Engine, template: Template, *, blank: bool) -> Trial:
    """The trial of a combination on disks of its own; ``blank`` as in ``Cuts``."""
    cell, failure = disks.cell, FAILURES[disks.cell.place.disk_failure]
    home, drive = disks.new(logs=failure.builds_states and not blank)
    if cell.place.replication == "none":
        kind = StorageTrial if failure.wrong else Trial
        trial = kind(cell, engine, template, home, drive, disks.ledger, blank=blank)
    else:
        replica_home, replica_drive = disks.new(logs=False)
        trial = ReplicatedTrial(
            cell, engine, template, home, drive, disks.ledger,
            replica_home=replica_home, replica_drive=replica_drive, blank=blank,
        )  # fmt: skip
    disks.held.callback(trial.release)
    return trial


def _only_first(keep: KeepSurvivors) -> KeepSurvivors:
    """What one cut has left is enough to look at."""
    kept: list[str] = []

    def first(trial: Trial, cell: Cell, evidence: CutEvidence, reasons: list[str]) -> str | None:
        if kept:
            return None
        kept.extend(filter(None, [keep(trial, cell, evidence, reasons)]))
        return kept[0]

    return first


def _report_check(trial: Trial | str, cell: Cell, context: RunContext) -> None:
    """Before the first cut: that a program's check cannot tell the loss of everything."""
    if isinstance(trial, Trial) and trial.mute_when_empty:
        context.watcher.doubts([f"{cell.combination}: {trial.mute_when_empty}."])


def _at_once(cell: Cell, context: RunContext) -> int:
    engine = context.engine(cell)
    return at_once(cell, engine, image_mb(cell.place, template_bytes(cell.workload, engine)), context.place.path)


def _has_ended(drive: Drive) -> bool:
    """Whether the disk answers no more: every further cut of it would fail."""
    try:
        drive.stats()
    except CellFailed:
        return True
    return False


def refuse_storage(cell: Cell, is_program: bool, where: Path) -> None:
    """Raise BadInput where nobody could say who notices what the storage does wrong."""
    place, failure = cell.place, FAILURES[cell.place.disk_failure]
    if failure.wrong is None:
        return
    what = f"{where}: place.disk_failure {failure.name}"
    others = "write another disk_failure, or leave the combination out: [[exclude]]"
    if is_program:
        raise BadInput(f"{what}: a program of yours does not tell whether it notices", others)
    if place.kind == "machine":
        raise BadInput(f"{what}: is not for a whole machine, whose files are not seen from here", 'write kind = "disk"')
    if place.disk_faults:
        raise BadInput(f"{what}: the disk does that alone, so that it is known what did it", "leave disk_faults out")
    if place.disk_keeps != "none":
        raise BadInput(f"{what}: no power fails, and disk_keeps is without effect", "leave disk_keeps out")
    if failure.wrong.fault.startswith("(slow") and place.disk == "none":
        raise BadInput(f"{what}: a disk without a timing cannot become slower", 'write disk = "sata-ssd", or another')
    aimed = "{block}" in failure.wrong.fault or "{files}" in failure.wrong.fault
    if aimed and not (place.filesystem in FILESYSTEMS and FILESYSTEMS[place.filesystem].tells_places):
        tells = ", ".join(name for name, filesystem in FILESYSTEMS.items() if filesystem.tells_places)
        raise BadInput(f"{what}: {place.filesystem} does not tell where files lie on the disk", f"write one of {tells}")


def refuse_replication(cell: Cell, engine: Engine, where: Path) -> None:
    """Raise BadInput where the engine has no such replica, or what fails does not go with it."""
    place, failure = cell.place, FAILURES[cell.place.disk_failure]
    if place.replication == "none":
        if failure.needs_replica:
            raise BadInput(
                f"{where}: place.disk_failure {failure.name}: there is one server, without place.replication",
                "give it a replica, or leave the combination out: [[exclude]]",
            )
        return
    if not failure.replicated:
        with_one = ", ".join(name for name, failure in FAILURES.items() if failure.replicated)
        raise BadInput(
            f"{where}: place.disk_failure {failure.name}: is not for a server with a replica",
            f"write one of {with_one}, or place.replication none",
        )
    try:
        replication = replication_of(engine)
        mode = replication.mode(engine, place.replication)
        replication.refuse(engine, mode, cell.settings, cell.durability)
    except BadInput as error:
        raise BadInput(f"{where}: {error.message}", error.remedy) from None


def ended(
    out: Path,
    experiment: Experiment,
    cell: Cell,
    of: LoadFile,
    exploration: Exploration,
    elapsed_s: float,
    reduced: Reduced | None,
) -> Recording:
    """The recording of a cell whose states were looked at. If any lost, the one in ``reduced`` is kept in ``out``, and
    where that shows no damage, one that does."""
    kept: str | None = None
    kept_damaged: str | None = None
    why = ""
    if reduced is not None and reduced.judgement.verdict == "lost":
        try:
            kept = keep_state(out, experiment, cell, of.load, reduced)
            if exploration.worst_damaged is not None and not reduced.judgement.damage:
                damaged = as_reduced(exploration.worst_damaged[0])
                kept_damaged = keep_state(out, experiment, cell, of.load, damaged)
        except (CellFailed, OSError) as error:  # the verdict stands without it
            why = message_of(error)
    return completed(of.recording, exploration, elapsed_s, reduced, kept, kept_damaged, why)
