"""One combination under power cuts: prepared once, then cut any number of times from the same state."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from acidtest.analysis import disk_log, files_left
from acidtest.analysis.recovery import before
from acidtest.conductor.fatal_errors import why_failed
from acidtest.conductor.recording import CellOutcome, RecordingBuilder, Status
from acidtest.conductor.template import Template
from acidtest.conductor.validity import not_in_force
from acidtest.engine import Engine, Instance
from acidtest.errors import CellFailed, message_of
from acidtest.files import find_rig
from acidtest.journal.models import Recording, RecoveryTimes, Replicated, Warning
from acidtest.journal.protocol import CutKeeps, DiskCut, DiskState, Survey
from acidtest.place import DirectoryPlace, Ledger
from acidtest.place.cuttable import CuttablePlace, Drive
from acidtest.place.disk import faults
from acidtest.place.facts import unseen
from acidtest.place.guest.agent import Gone
from acidtest.place.guest.cuttable import CuttableGuest
from acidtest.place.trees import tree_bytes
from acidtest.plan import Cell
from acidtest.powercut.acknowledgement_log import Acknowledgement, missing_lines
from acidtest.powercut.checkers import Judgement, judge, recorded
from acidtest.powercut.commit_accounting import compare, first_missing_ns
from acidtest.powercut.crash_states import State
from acidtest.powercut.drives import announcement_of, drive_name, files_of, is_unannounced
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.failures import FAILURES
from acidtest.powercut.inspector import Inspecting
from acidtest.powercut.load import Load, Moment
from acidtest.powercut.program import blind_to_loss
from acidtest.powercut.recovering import timed
from acidtest.powercut.subject import Subject, subject_of

BESIDE = "engine"  # the directory of what lies beside the database
AFTER_FAILED_FLUSH_S = 1.0

# Does something to the drive, leaves in the evidence what it has shown, and answers the verdict on it.
CutAction = Callable[[Cell, CutEvidence], Judgement]
# Of a cut that lost: what it has shown and the reasons of the verdict; answers the file of what it left, if it is kept.
KeepSurvivors = Callable[["Trial", Cell, CutEvidence, list[str]], str | None]


class Trial:
    """One combination: the engine on its file system on its disk, prepared once and cut any number of times.

    The engine's directory lies outside the disk that is cut, and its database files are links into it, so that what an
    engine keeps beside its database is no part of the trial.
    """

    def __init__(
        self,
        cell: Cell,
        engine: Engine,
        template: Template,
        home: DirectoryPlace,
        drive: Drive,
        ledger: Ledger,
        *,
        blank: bool = False,
    ) -> None:
        """With ``blank`` the kept state is the disk before anything was written to it."""
        self._cell, self.engine, self._home, self.drive, self._ledger = cell, engine, home, drive, ledger
        self._failure = FAILURES[cell.place.disk_failure]
        self._keep: CutKeeps = "all" if self._failure.ends == "kernel" else cell.place.disk_keeps
        self._machine = whole_machine(cell, engine, home, drive, ledger) if cell.place.kind == "machine" else None
        self.place = self._machine or CuttablePlace(cell.place, home, drive, ledger, faults(cell.place))
        self._disk_loses: bool | None = None
        self.broken_without_cut: list[str] | None = None
        self._recovery_s = 0.0  # of the engine, the last time
        self._subject: Subject | None = None
        self.blind_to_loss: str | None = None
        self.mute_when_empty = ""  # why a program's check cannot say that everything is lost; "" it can
        self._buffered: str | None = None
        try:
            self._prepare(template, blank=blank)
        except BaseException:
            self.release()
            raise

    def _prepare(self, template: Template, *, blank: bool) -> None:
        cell = self._cell
        if blank:
            self.drive.snapshot()
        if cell.place.disk_cache_is_volatile and not blank and self._failure.tries_power:
            self._disk_loses = self.place.loses(self._keep, seeds=(1, 2, 3))
        self.place.prepare(template.paths)
        directory = self._home.subdirectory(BESIDE)
        for path in template.paths:
            (directory / path.name).symlink_to(self.place.path / path.name)
        instance = self.engine.adopt(directory, cell.settings, cell.durability)
        subject = self._subject = subject_of(cell, self.engine, instance, self._ledger, self._machine)
        subject.link(self.place.path)
        if blank:
            self.place.abandon()
            return
        subject.set_up()
        # What a server does at its first start only is no part of a cut: MariaDB makes its log anew, as large as asked.
        instance.start(self._ledger)
        instance.lose_power()
        self.place.keep()
        # Without a cut all must be found as it was loaded: what is amiss later is then the cut's doing.
        self.place.begin()
        evidence = replace(self.evidence(), disk_loses=None)  # what a cut would lose has no part in it
        try:
            if written := subject.control(self._home.path):
                self.place.recover()
            self.inspector.inspect(evidence, written)
            self._recovery_s = evidence.engine_recovery_s or 0.0
        finally:
            instance.lose_power()
            self.place.end()
        self._judge_without_cut(evidence)
        if written:
            self.blind_to_loss, self.mute_when_empty = self._seen_on_a_disk_that_lost(written)
            self._buffered = subject.buffered(written)

    def _judge_without_cut(self, evidence: CutEvidence) -> None:
        """Keep what an inspection found amiss although nothing was cut."""
        judgement = self.judged(evidence)
        self.broken_without_cut = [] if judgement.verdict == "survived" else judgement.reasons

    def _seen_on_a_disk_that_lost(self, written: Sequence[Acknowledgement]) -> tuple[str, str]:
        """As ``program.blind_to_loss``, on the kept state, which has none of what was ``written`` since."""
        self.place.begin()
        try:
            return blind_to_loss(self.inspector, written)
        finally:
            self.instance.lose_power()
            self.place.end()

    def keep_state(
        self, state: State, log: Path, broken_without_cut: list[str] | None, blind_to_loss: str | None
    ) -> None:
        """Every cut begins from this state of a log, of whose trial it is known what was broken without a cut, and of
        a program's check whether it notices a loss."""
        self.place.keep_state(state.on(log))
        self.broken_without_cut, self.blind_to_loss = broken_without_cut, blind_to_loss

    @contextlib.contextmanager
    def scratch_in_memory(self) -> Iterator[None]:
        """What the engine keeps beside its database for its processes is in memory meanwhile. None may run at either
        end. Raises CellFailed."""
        with contextlib.ExitStack() as held:
            for directory in self.instance.scratch():
                mounted = self._ledger.mount_memory(directory)
                held.callback(self._ledger.undo, mounted)
            yield

    @property
    def subject(self) -> Subject:
        assert self._subject is not None
        return self._subject

    @property
    def instance(self) -> Instance:
        return self.subject.instance

    @property
    def inspector(self) -> Inspecting:
        return self.subject.inspector

    @property
    def log(self) -> Path:
        """The log of the disk, where it has one."""
        return self._home.path / "log"

    def evidence(self) -> CutEvidence:
        """That of a cut which has shown nothing yet."""
        return self.subject.evidence(
            disk_loses=self._disk_loses,
            broken_without_cut=self.broken_without_cut,
            blind_to_loss=self.blind_to_loss,
            buffered=self._buffered,
        )

    def run(
        self, cell: Cell, builder: RecordingBuilder, action: CutAction | None = None, keep: KeepSurvivors | None = None
    ) -> Recording:
        """What ``action`` does, else one cut, and its recording; only bugs and what the machine lacks are raised.

        Of a cut that lost, ``keep`` is given what it left.
        """
        began = time.monotonic()
        evidence = self.evidence()
        judgement: Judgement | None = None
        reason = None
        try:
            try:
                judgement = (action or self.cycle)(cell, evidence)
                self.place.stats()  # what was seen on a disk that has ended meanwhile is no witness
            finally:
                self.abandon()
        except (CellFailed, OSError) as error:
            reason = why_failed(error, self.engine)  # of the latter the disk has ended under us
        cut, cycle_s = None, time.monotonic() - began
        if reason is None and judgement is not None:
            state = self._kept(cell, evidence, judgement, keep)
            if evidence.cut is not None:
                cut = recorded(evidence, judgement, cell.place.disk_failure, drive_name(cell), cycle_s, state)
        status: Status = "failed" if reason else "done"
        if reason is None and (reason := not_in_force(evidence.settings)):
            status = "invalid"
        outcome = CellOutcome(
            engine_version=evidence.engine_version,
            settings=evidence.settings,
            place=evidence.place or unseen(cell.place.kind, str(self.place.path)),
            database_bytes=evidence.database_bytes,
            checks_after=evidence.checked,
            cut=cut,
            warnings=[
                *unkept(evidence.unkept),
                *untimed(evidence.untimed),
                *_of_check(self.mute_when_empty),
            ],
            engine_log=self.instance.log(),
        )
        return builder.build(outcome, status, reason)

    def abandon(self) -> None:
        """End what runs and let go of what is mounted, wherever a cut has got to."""
        self.instance.lose_power()
        self.place.abandon()

    def _kept(self, cell: Cell, evidence: CutEvidence, judgement: Judgement, keep: KeepSurvivors | None) -> str | None:
        """The file of what a cut has left that lost what was not announced; None without one."""
        if keep is None or evidence.acknowledged is None or evidence.storage is not None:
            return None
        if self._failure.ends == "engine":  # a part of what it left was in the kernel only, and is not on the disk
            return None
        # What was announced needs no second look, and every state takes as much room as its database.
        if not is_unannounced(judgement, announcement_of(cell, self.engine, evidence)):
            return None
        try:
            return keep(self, cell, evidence, judgement.reasons)
        except (CellFailed, OSError) as error:  # no room for it: the seed is told instead
            evidence.unkept = message_of(error)
            return None

    def cycle(self, cell: Cell, evidence: CutEvidence) -> Judgement:
        """One cut, from the load to what the engine gives back."""
        self.begin(evidence)
        with self.loaded(cell) as load:
            load.until(Moment.drawn(cell))
            if self._failure.fault:
                self._fail_flush(load, evidence)
            evidence.at_s = load.elapsed_s()
            load.acknowledged.drain()
            evidence.cut_ns = time.monotonic_ns()
            if self._failure.ends == "engine":
                self.instance.lose_power()  # before the load, which would otherwise end its sessions in order
                evidence.cut = DiskCut(kept_bytes=0, lost_bytes=0, torn_writes=0)  # the drive has lost nothing
            else:
                evidence.cut = self.place.cut(self._keep, cell.seed)
            if self.engine.embedded:
                evidence.clean_start_s = load.opened_s
            evidence.acknowledged = acknowledged = self.killed(load, evidence)
        before = self.place.file_sizes()  # the disk forgets by now, and the kernel still has them
        if self._failure.loses_disk:
            evidence.nothing_left = True
            nothing = Survey(terminals=[], strays=0)
            evidence.fate = compare(acknowledged, nothing)
            evidence.first_missing_ns = first_missing_ns(acknowledged, nothing)
            self.place.abandon()
            return self.judged(evidence)
        try:
            recovery = self.place.recover() if self._failure.ends != "engine" else None
            if self._failure.cuts_recovery:
                self._cut_in_recovery(cell, acknowledged)
                recovery = self.place.recover()
        except Gone:  # the guest is: that says nothing of what lies on its disk
            raise
        except CellFailed as error:
            evidence.mount_error = error.message
            self.place.abandon()
            return self.judged(evidence)
        if recovery is not None:
            evidence.mounted(recovery.seconds, repaired=recovery.repaired, said=recovery.said)
            evidence.file_sizes = self.place.file_sizes()
            if before is not None and evidence.file_sizes is not None:
                evidence.files = files_left.compare(evidence.file_sizes, before, "power failed")
        self.inspector.inspect(evidence, acknowledged)
        self._recovery_s = evidence.engine_recovery_s or self._recovery_s
        if not self.place.tells_times:
            evidence.filesystem_recovery_s = evidence.engine_recovery_s = None
        self.instance.lose_power()
        evidence.filesystem_check, evidence.filesystem_message = self.place.end()
        judgement = self.judged(evidence)
        if cell.place.disk_recovery_s is not None and evidence.start_error is None:
            evidence.recovery = self._timed(cell, evidence, cell.place.disk_recovery_s)
        return judgement

    def _timed(self, cell: Cell, evidence: CutEvidence, limit_s: float) -> RecoveryTimes | None:
        """Recovery from the same bytes once more, piece by piece; None, with the reason kept, where that cannot be."""
        acknowledged = [line.acknowledged_ns for line in evidence.acknowledged or []]
        try:
            recovery = self.place.recover_state(self._survivors())
            return timed(
                None if self.engine.embedded else lambda: self.instance.start(self._ledger),
                lambda: self.loaded(cell),
                limit_s,
                before(acknowledged, evidence.cut_ns),
                mount_s=recovery.seconds,
                clean_mount_s=evidence.clean_mount_s,
                clean_start_s=evidence.clean_start_s,
            )
        except (CellFailed, OSError) as error:  # the verdict stands without it
            evidence.untimed = message_of(error)
            return None
        finally:
            self.instance.lose_power()
            self.place.abandon()

    def _survivors(self) -> DiskState:
        """What the last cut left. Raises CellFailed where there was no room for it."""
        _, records = disk_log.read(self.place.survivors)
        return State(0, len(records)).on(self.place.survivors)

    def judged(self, evidence: CutEvidence) -> Judgement:
        """The verdict. Raises CellFailed where the engine is gone: whatever is not found then is no loss."""
        judgement = judge(evidence)
        if judgement.verdict != "survived" and (gone := self.engine.gone()):
            raise CellFailed(gone)
        return judgement

    def _read_back(self, evidence: CutEvidence) -> None:
        """The place that is cut, as it is mounted, and the database on it."""
        evidence.clean_mount_s = self.place.mount_s
        evidence.place = self.place.facts()
        evidence.settings = self.place.settings()
        evidence.database_bytes = sum(tree_bytes(path.resolve()) for path in self.instance.database_files())

    def begin(self, evidence: CutEvidence) -> None:
        """From the kept state, the engine started."""
        self.place.begin()
        self._read_back(evidence)
        began = time.monotonic()
        self.instance.start(self._ledger)
        if not self.engine.embedded:
            evidence.clean_start_s = time.monotonic() - began

    def killed(self, load: Load, evidence: CutEvidence) -> list[Acknowledgement]:
        """End the load and the engine under a disk that is cut, and answer what had been drained before."""
        load.kill()
        self.instance.lose_power()
        return self.read_log(load, evidence)

    def read_log(self, load: Load, evidence: CutEvidence) -> list[Acknowledgement]:
        """What has been drained of a load that has ended, with what else it has shown."""
        acknowledged = load.acknowledged.read()
        evidence.settings += self.instance.settings_in_force(load.answers) if load.answers else []
        evidence.engine_version = load.engine_version
        evidence.missing_lines = missing_lines(acknowledged)
        evidence.buffered = self.subject.buffered(acknowledged) or evidence.buffered
        return acknowledged

    def _fail_flush(self, load: Load, evidence: CutEvidence) -> None:
        load.acknowledged.drain()
        before = len(load.acknowledged)
        self.place.fault(self._failure.fault)
        evidence.after_failed_flush = load.after(AFTER_FAILED_FLUSH_S)
        load.acknowledged.drain()
        evidence.failed_flush_error = load.error()
        evidence.acknowledged_after_failed_flush = len(load.acknowledged) - before

    def _cut_in_recovery(self, cell: Cell, acknowledged: Sequence[Acknowledgement]) -> None:
        """Start the engine, and cut the power while it recovers, or soon after."""
        later = random.Random(f"{cell.seed}:recovery").uniform(0, self._recovery_s)
        timer = threading.Timer(later, lambda: self.place.cut(self._keep, cell.seed + 1))
        timer.start()
        try:
            # What it shows does not count: from the cut on the disk forgets what it is told.
            self.inspector.inspect(self.evidence(), acknowledged)
        finally:
            timer.join()
            self.instance.lose_power()

    def loaded(self, cell: Cell) -> contextlib.AbstractContextManager[Load]:
        """The load of ``cell``, which is killed in the end."""
        return self.subject.loaded(cell, self._home.path)

    def save_survivors(self, file: Path) -> State:
        """Write what the last cut left into ``file``, as the log of a disk that was written so. Raises CellFailed."""
        self.place.save(self._survivors(), file)
        _, records = disk_log.read(file)
        return State(0, len(records), of="what a cut left")

    def replicated(self) -> Replicated | None:
        """Of a server with a replica, how it was kept up at the last failure."""
        return None

    def release(self) -> None:
        """Let go of the engine and of the disk's device; disk and home are the caller's."""
        try:
            if self._subject is not None:
                self.instance.release()
        finally:
            self.place.release()


def whole_machine(cell: Cell, engine: Engine, home: DirectoryPlace, drive: Drive, ledger: Ledger) -> CuttableGuest:
    """The guest of ``cell``, with ``engine`` in it. Raises MachineLacks where the rig is missing."""
    return CuttableGuest(
        cell.place,
        home,
        drive,
        files_of(drive),
        ledger,
        faults(cell.place),
        find_rig(),
        engine.files(),
        home.path / BESIDE,
    )


def unkept(why: str) -> list[Warning]:
    """What is told where a state file could not be written; nothing without a reason."""
    text = f"What was lost could not be kept in a state file: {why}; the seed makes the cut again."
    return [Warning(code="state-not-kept", about="verdict", text=text)] if why else []


def untimed(why: str) -> list[Warning]:
    """What is told where recovery was to be timed and could not be; nothing without a reason."""
    text = f"Recovery could not be timed: {why}."
    return [Warning(code="recovery-not-timed", about="recovery", text=text)] if why else []


def _of_check(mute: str) -> list[Warning]:
    """What is told where a program's check cannot say that everything is lost; nothing without a reason."""
    text = f"{mute[:1].upper()}{mute[1:]}."
    return [Warning(code="check-cannot-tell-a-total-loss", about="verdict", text=text)] if mute else []
