"""Cuts the power under a loaded database, and says what became of what the engine had acknowledged."""

from __future__ import annotations

import contextlib
import errno
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from acidtest import __version__
from acidtest.analysis import crashstates, survival
from acidtest.analysis.crashstates import State
from acidtest.conductor.cell import Template
from acidtest.conductor.rig import Process, Refused, Standing, Working, answered, converse
from acidtest.engine import Ended, Engine, Instance
from acidtest.errors import AcidtestError, CellFailed
from acidtest.journal.models import Cut, Machine, PlaceFacts, Recording, SettingInForce, States, Verdict
from acidtest.journal.protocol import (
    AskPhase,
    Checked,
    CheckPhase,
    DiskCut,
    Duration,
    Event,
    Hello,
    Job,
    Phase,
    RunPhase,
    Settings,
    Surveyed,
    SurveyPhase,
)
from acidtest.place import DirectoryPlace, Ledger
from acidtest.place.cuttable import CuttablePlace, Drive
from acidtest.place.disk import faults
from acidtest.place.facts import unseen
from acidtest.place.trees import tree_bytes
from acidtest.plan import Cell
from acidtest.powercut.acknowledgement_log import Acknowledgements

FIRST_S = 120.0  # for the first acknowledgement
LONGEST_S = 120.0  # for the number that the seed has drawn
AFTER_FAILED_FLUSH_S = 1.0
LOAD_S = 1e6  # the load never ends by itself


@dataclass(frozen=True)
class Moment:
    """When power fails: after so many acknowledgements, or so long after the first, and then a little later."""

    acknowledged: int | None
    seconds: float | None
    later: float  # of the time that one commit takes

    @classmethod
    def drawn(cls, cell: Cell) -> Moment:
        """By the cut's seed, from the extent of the workload."""
        lot = random.Random(f"{cell.seed}:cut")
        if cell.workload.count is not None:
            return cls(lot.randint(1, cell.workload.count), None, lot.random())
        return cls(None, lot.uniform(0.05, 1.0) * (cell.workload.duration_s or 1.0), lot.random())


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
        self._blank = blank
        self._cell, self._engine, self._home, self.drive, self._ledger = cell, engine, home, drive, ledger
        self._keep = cell.place.disk_keeps
        self.place = CuttablePlace(cell.place, home, drive, ledger, faults(cell.place))
        self.not_sound: list[str] = []
        self.kept_records = 0  # of the drive's log, up to the state that each cut begins from
        self._recovery_s = 0.0  # of the engine, the last time
        self._instance: Instance | None = None
        self._standing: Standing | None = None
        try:
            self._prepare(template)
        except BaseException:
            self.release()
            raise

    def _prepare(self, template: Template) -> None:
        cell = self._cell
        if self._blank:
            self.drive.snapshot()
        cuts, holds = cell.place.disk_failure != "crash-states", cell.place.disk_cache_mb > 0
        if cuts and holds and not self.place.loses(self._keep, seeds=(1, 2, 3)):
            self.not_sound.append(
                "the disk lost nothing of what was written and not flushed: a cut of its power proves nothing"
            )
        self.place.prepare(template.paths)
        directory = self._home.subdirectory("engine")
        for path in template.paths:
            (directory / path.name).symlink_to(self.place.path / path.name)
        self._instance = self._engine.adopt(directory, cell.settings, cell.durability)
        if self._blank:
            self.place.abandon()
            return
        # What a server does at its first start only is no part of a cut: MariaDB makes its log anew, as large as asked.
        self.instance.start(self._ledger)
        self.instance.lose_power()
        self.place.keep()
        self.kept_records = self.drive.stats().log_records
        # Without a cut all must be found as it was loaded: what is amiss later is then the cut's doing.
        self.place.begin()
        look = CutEvidence(survival.Evidence(needs_fate=self.numbers))
        try:
            self.look_at(look, [])
            self._recovery_s = look.engine_recovery_s or 0.0
        finally:
            self.instance.lose_power()
            self.place.end()
        verdict, reasons = survival.judge(look.evidence)
        if verdict != "survived":
            self.not_sound.append(f"without a power cut the checks do not hold: {'; '.join(reasons[:2])}")

    @property
    def instance(self) -> Instance:
        assert self._instance is not None
        return self._instance

    @property
    def numbers(self) -> bool:
        return self._cell.workload.CAN_BE_SURVEYED

    def run(
        self, cell: Cell, machine: Machine, action: CutAction | None = None, keep: KeepSurvivors | None = None
    ) -> Recording:
        """What ``action`` does, else one cut, and its recording; only bugs and what the machine lacks are raised.

        Of a cut that lost, ``keep`` is given what it left.
        """
        began, started_at = time.monotonic(), _now()
        look = CutEvidence(survival.Evidence(needs_fate=self.numbers, not_sound=list(self.not_sound)))
        reason = None
        try:
            try:
                (action or self.cycle)(cell, look)
                self.drive.stats()  # what was seen on a disk that has ended meanwhile is no witness
            finally:
                self.instance.lose_power()
                self.place.abandon()
        except CellFailed as error:
            reason = error.message
        except OSError as error:
            if error.errno == errno.EBUSY:  # it is still mounted: nothing can begin on it
                raise
            reason = f"{error.filename or self.place.path}: {error.strerror}"  # the disk has ended under us
        verdict, reasons = survival.judge(look.evidence) if look.verdict is None else look.verdict
        cut, cycle_s, state = None, time.monotonic() - began, None
        if reason is None and verdict == "lost" and look.ledger is not None and keep is not None:
            with contextlib.suppress(CellFailed, OSError):  # no room for it: the seed is told instead
                state = keep(self, cell, look.ledger, reasons)
        if reason is None and look.cut is not None:
            cut = Cut(
                verdict=verdict,
                reasons=reasons,
                failure=cell.place.disk_failure,
                after_failed_flush=look.after_failed_flush,
                failed_flush_said=look.failed_flush_said,
                acknowledged_after_failed_flush=look.acknowledged_after_failed_flush,
                drive=drive_name(cell),
                at_s=look.at_s,
                kept_bytes=look.cut.kept_bytes,
                lost_bytes=look.cut.lost_bytes,
                torn_writes=look.cut.torn_writes,
                fate=look.evidence.fate,
                integrity=look.evidence.integrity,
                filesystem_check=look.filesystem_check,
                filesystem_said=look.filesystem_said,
                filesystem_repaired=look.filesystem_repaired,
                filesystem_recovery_s=look.filesystem_recovery_s,
                engine_recovery_s=look.engine_recovery_s,
                cycle_s=cycle_s,
                state=state,
                states=look.states,
            )
        wrong = next((setting for setting in look.settings if setting.is_wrong), None)
        status = "failed" if reason else "done"
        if reason is None and wrong is not None:
            reason = f"{wrong.name}: asked for {wrong.asked}, in force is {wrong.in_force} ({wrong.source})"
            status = "invalid"
        found = {
            "settings": look.settings,
            "place": look.place or unseen(cell.place.kind, str(self.place.path)),
            "database_bytes": look.database_bytes,
            "checks_after": look.evidence.checked,
            "cut": cut,
            "engine_log": self.instance.log(),
        }
        return _recording(cell, self._engine, machine, status, reason, started_at, look.version, found)

    def cycle(self, cell: Cell, look: CutEvidence) -> None:
        """One cut, from the load to what the engine gives back."""
        self.begin(look)
        with self.loaded(cell) as load:
            load.until(Moment.drawn(cell))
            if cell.place.disk_failure.endswith("-flush"):
                self._fail_flush(cell, load, look)
            look.at_s = load.elapsed_s()
            load.acknowledged.drain()
            look.cut = self.place.cut(self._keep, cell.seed)
            look.ledger = ledger = self.killed(load, look)
        try:
            recovery = self.place.recover()
            if cell.place.disk_failure == "cut-in-recovery":
                self._cut_in_recovery(cell, ledger)
                recovery = self.place.recover()
        except CellFailed as error:
            look.evidence.refusals.append(f"the file system cannot be mounted: {error.message}")
            self.place.abandon()
            return
        look.filesystem_repaired, look.filesystem_recovery_s = recovery.repaired, recovery.seconds
        self.look_at(look, ledger)
        self._recovery_s = look.engine_recovery_s or self._recovery_s
        self.instance.lose_power()
        look.filesystem_check, look.filesystem_said = self.place.end()

    def begin(self, look: CutEvidence) -> None:
        """From the kept state, the engine started."""
        self.place.begin()
        look.place = self.place.facts()
        look.settings = self.place.settings()
        look.database_bytes = sum(tree_bytes(path.resolve()) for path in self.instance.database_files())
        self.instance.start(self._ledger)

    def killed(self, load: Load, look: CutEvidence) -> list[survival.Acknowledgement]:
        """End the load and the engine under a disk that is cut; what had been drained before."""
        load.kill()
        self.instance.lose_power()
        ledger = load.acknowledged.read()
        look.settings += self.instance.settings_in_force(load.answers) if load.answers else []
        look.version = load.version
        look.evidence.missing_lines = survival.missing_lines(ledger)
        return ledger

    def _fail_flush(self, cell: Cell, load: Load, look: CutEvidence) -> None:
        load.acknowledged.drain()
        before = len(load.acknowledged)
        self.place.fail_flush(dropped=cell.place.disk_failure == "dropped-flush")
        look.after_failed_flush = load.after(AFTER_FAILED_FLUSH_S)
        load.acknowledged.drain()
        look.failed_flush_said = load.said()
        look.acknowledged_after_failed_flush = len(load.acknowledged) - before

    def _cut_in_recovery(self, cell: Cell, ledger: Sequence[survival.Acknowledgement]) -> None:
        """Start the engine, and cut the power while it recovers, or soon after."""
        later = random.Random(f"{cell.seed}:recovery").uniform(0, self._recovery_s)
        timer = threading.Timer(later, lambda: self.place.cut(self._keep, cell.seed + 1))
        timer.start()
        try:
            # What it sees does not count: from the cut on it looks at a ghost.
            self.look_at(CutEvidence(survival.Evidence(needs_fate=self.numbers)), ledger)
        finally:
            timer.join()
            self.instance.lose_power()

    def look_at(self, look: CutEvidence, ledger: Sequence[survival.Acknowledgement]) -> None:
        """Start the engine over what is mounted and find out what is there."""
        began = time.monotonic()
        evidence = look.evidence
        try:
            self._start_again()
            if not self._engine.embedded:
                look.engine_recovery_s = time.monotonic() - began
        except Ended as error:
            evidence.refusals.append(f"the engine does not start: {error.message}")
            return
        except CellFailed as error:
            evidence.not_sound.append(f"the engine could not be started: {error.message}")
            return
        phases: list[Phase] = [CheckPhase(at_least=survival.kinds(ledger)), *([SurveyPhase()] if self.numbers else [])]
        try:
            for event in self._converse(phases):
                match event:
                    case Hello() if self._engine.embedded:
                        look.engine_recovery_s = time.monotonic() - began
                    case Checked():
                        evidence.checked = event
                    case Surveyed():
                        evidence.fate = survival.compare(ledger, event)
        except Refused as error:
            evidence.refusals.append(f"the engine does not give its data back: {error.message}")
            return
        except CellFailed as error:
            evidence.not_sound.append(f"the survey ended before its time: {error.message}")
            return
        evidence.integrity = self.instance.integrity(self._ask)

    def _start_again(self) -> None:
        """Start the engine; once more if it ends by itself, as whoever finds it so would do."""
        try:
            self.instance.start(self._ledger)
        except Ended:
            self.instance.lose_power()
            self.instance.start(self._ledger)

    def _ask(self, question: str) -> list[list[str | None]]:
        return answered(self._converse([AskPhase(questions=[question])]))

    def _job(self, phases: Sequence[Phase], *, inspected: bool = False) -> Job:
        return Job(
            seed=self._cell.seed,
            target=self.instance.target(),
            workload=self._cell.workload.message(),
            inspect=self.instance.inspections() if inspected else [],
            phases=list(phases),
        )

    def _converse(self, phases: Sequence[Phase]) -> Iterator[Event]:
        return converse(self._job(phases), _Unledgered(), self.instance.environment(), self._standing)

    @contextmanager
    def many_looks(self) -> Iterator[Standing]:
        """Processes that only look stay for the next look, as long as ``afresh`` does not end them: loading an engine
        takes longer than opening a database with it."""
        self._standing = standing = Standing(_Unledgered())
        self.instance.expect_looks(many=True)
        try:
            yield standing
        finally:
            standing.end()
            self._standing = None
            self.instance.expect_looks(many=False)

    def afresh(self) -> None:
        """The next look is that of new processes."""
        if self._standing is not None:
            self._standing.end()
            self.instance.expect_looks(many=True)

    @contextmanager
    def loaded(self, cell: Cell) -> Iterator[Load]:
        acknowledged = Acknowledgements(self._home.path)
        try:
            update = {"extent": Duration(seconds=LOAD_S), "acknowledge_to": str(acknowledged.path)}
            phase: RunPhase = cell.workload.run_phase().model_copy(update=update)
            job = self._job([phase], inspected=True).model_copy(update={"seed": cell.seed})
            load = Load(job, self.instance.environment(), acknowledged)
            try:
                yield load
            finally:
                load.kill()
        finally:
            acknowledged.close()

    def save_survivors(self, file: Path) -> State:
        """Write what the last cut left into ``file``, as the log of a disk that was written so. Raises CellFailed."""
        _, records = crashstates.read(self.place.survivors)
        self.place.save(State(0, len(records)).on(self.place.survivors), file)
        _, records = crashstates.read(file)
        return State(0, len(records), of="what a cut left")

    def release(self) -> None:
        """Let go of the engine and of the disk's device; disk and home are the caller's."""
        try:
            if self._instance is not None:
                self._instance.release()
        finally:
            self.place.release()


class _Unledgered:
    """Starts rigs without the ledger, which costs more than a rig does: each asks the kernel to be killed with
    its lab."""

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=stdout or pipe, stderr=stderr, start_new_session=True
        )
        return "", process

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        process.kill()
        process.wait()

    def make_directory(self, path: Path) -> str:
        raise NotImplementedError

    def remove_directory(self, id: str) -> None:  # noqa: A002
        raise NotImplementedError


Reached = Callable[[], bool]
CutAction = Callable[[Cell, "CutEvidence"], None]  # leaves in the look what it has shown
# Of a cut that lost: its acknowledgements and the reasons of the verdict; answers the file of what it left.
KeepSurvivors = Callable[["Trial", Cell, list[survival.Acknowledgement], list[str]], str]
# A disk of so many MiB in the directory, which writes its log there where one is asked for.
Drives = Callable[[Cell, DirectoryPlace, Ledger, int, Path | None], Drive]


class _Killed:
    """A rig that two may stop: who kills it, and who reads it to its end."""

    def __init__(self, rig: Process) -> None:
        self._rig = rig
        self._lock = threading.Lock()
        self._stopped = False

    def lines(self, silence_s: float) -> Iterator[bytes]:
        return self._rig.lines(silence_s)

    def ended(self, limit_s: float) -> tuple[int, str]:
        try:
            return self._rig.ended(limit_s)
        except ValueError:  # its files are closed already
            return -signal.SIGKILL, ""

    def stop(self) -> None:
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._rig.stop()


def unprepared(cell: Cell, engine: Engine, machine: Machine, reason: str) -> Recording:
    """The recording of a cut that could not be made."""
    found = {"settings": [], "place": unseen(cell.place.kind, ""), "database_bytes": 0, "engine_log": ""}
    return _recording(cell, engine, machine, "failed", reason, _now(), "", {**found, "checks_after": None})


def _recording(
    cell: Cell,
    engine: Engine,
    machine: Machine,
    status: str,
    reason: str | None,
    started_at: str,
    version: str,
    found: Mapping[str, object],
) -> Recording:
    facts = engine.facts()
    update = {"version": version or facts.version, "mode": engine.mode(cell.settings)}
    fields = {
        "cell": cell.id,
        "levels": dict(cell.levels),
        "repetition": cell.repetition,
        "order": cell.order,
        "seed": cell.seed,
        "status": status,
        "reason": reason,
        "started_at": started_at,
        "ended_at": _now(),
        "acidtest_version": __version__,
        "workload": {"name": cell.workload_name, **cell.workload.model_dump()},
        "durability": cell.durability,
        "durability_means": engine.durability(cell.durability, cell.settings).means,
        "engine": facts.model_copy(update=update),
        "machine": machine,
        "checks_before": None,
        "result": None,
        "warnings": [],
    }
    return Recording.model_validate({**fields, **found})


def drive_name(cell: Cell) -> str:
    """What the disk does wrong, and what of its cache outlives a cut."""
    keeps = [] if cell.place.disk_keeps == "none" else [f"cut keeps {cell.place.disk_keeps}"]
    return ", ".join([*faults(cell.place), *keeps]) or "honest"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass
class CutEvidence:
    """What one cut has shown so far."""

    evidence: survival.Evidence
    settings: list[SettingInForce] = field(default_factory=list)
    place: PlaceFacts | None = None
    version: str = ""
    database_bytes: int = 0
    at_s: float = 0.0
    cut: DiskCut | None = None
    ledger: list[survival.Acknowledgement] | None = None  # of a cut
    filesystem_check: str = "unknown"
    filesystem_said: str = ""
    filesystem_repaired: bool = False
    filesystem_recovery_s: float | None = None
    engine_recovery_s: float | None = None
    after_failed_flush: str | None = None
    failed_flush_said: str = ""
    acknowledged_after_failed_flush: int | None = None
    states: States | None = None
    verdict: tuple[Verdict, list[str]] | None = None  # where it is not that of this one look


class Load:
    """The rig driving load in the background, until it is killed."""

    def __init__(self, job: Job, environment: Mapping[str, str], acknowledged: Acknowledgements) -> None:
        self.acknowledged = acknowledged
        self.answers: list[Settings] = []
        self.version = ""
        self._failure: AcidtestError | None = None
        self._rig: _Killed | None = None
        self._began = time.monotonic()
        self._first: float | None = None
        self._thread = threading.Thread(target=self._read, args=(job, environment), daemon=True)
        self._started = threading.Event()
        self._thread.start()
        self._started.wait()

    def _read(self, job: Job, environment: Mapping[str, str]) -> None:
        launcher = _Unledgered()

        def start(text: bytes, variables: Mapping[str, str]) -> Working:
            self._rig = _Killed(Process(launcher, "job", text, variables))
            self._started.set()
            return self._rig

        try:
            for event in converse(job, launcher, environment, start):
                if isinstance(event, Settings):
                    self.answers.append(event)
                elif isinstance(event, Hello):
                    self.version = event.engine_version
        except AcidtestError as error:
            self._failure = error
        finally:
            self._started.set()

    def until(self, moment: Moment) -> None:
        """Wait for ``moment``. Raises CellFailed when the load fails or nothing is acknowledged."""
        self._await(lambda: len(self.acknowledged) > 0, FIRST_S)
        if not self.acknowledged:
            raise CellFailed(f"no commit was acknowledged within {FIRST_S:.0f} s")
        first = time.monotonic()
        number, seconds = moment.acknowledged or 1, moment.seconds or 0.0
        limit = LONGEST_S if moment.seconds is None else moment.seconds
        self._await(lambda: len(self.acknowledged) >= number and time.monotonic() - first >= seconds, limit)
        commit_s = (time.monotonic() - first) / len(self.acknowledged)
        time.sleep(moment.later * commit_s)

    def _await(self, reached: Reached, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while not reached() and (left := end - time.monotonic()) > 0:
            alive = self.acknowledged.wait(min(left, 0.05))
            if not alive or not self._thread.is_alive():
                self._thread.join()
                raise self._failure or CellFailed("the load ended before power failed")

    def after(self, seconds: float) -> str:
        """Wait so long, but not on a load that has ended: "stopped", "went on" or, with no more answers, "hung"."""
        begun = time.monotonic()
        half: int | None = None
        while self._thread.is_alive() and (left := begun + seconds - time.monotonic()) > 0:
            self.acknowledged.wait(min(left, 0.05))
            if half is None and left < seconds / 2:
                half = len(self.acknowledged)
        if not self._thread.is_alive():
            return "stopped"
        return "went on" if half is None or len(self.acknowledged) > half else "hung"

    def said(self) -> str:
        """Why the load ended, "" while it goes on."""
        return self._failure.message if self._failure is not None else ""

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def kill(self) -> None:
        """End the rig, and with it an engine that is embedded in it."""
        if self._rig is not None:
            self._rig.stop()
        self._thread.join()
