"""The witness: it keeps what the other machine acknowledges, has its power cut, and hears what is gone afterwards."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from acidtest.analysis.expected_loss import PLUG, is_unannounced
from acidtest.conductor.admission import engines_of, refuse_other_program
from acidtest.conductor.conduct import Estimate, RunOutcome
from acidtest.conductor.output import Output, header
from acidtest.conductor.watcher import Watcher
from acidtest.errors import AcidtestError, BadInput
from acidtest.journal.models import Cut, EngineFacts, Recording
from acidtest.journal.reader import CUTS
from acidtest.plan import Cell, Plan, time_left
from acidtest.powercut.acknowledgement_log import Acknowledgement, parse
from acidtest.powercut.checkers import judge, recorded
from acidtest.powercut.conductor import chosen
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.items import planted as planted_item
from acidtest.powercut.load import Moment
from acidtest.powercut.plug.admission import admit, digest_of
from acidtest.powercut.plug.machine import Seen, Switch, not_restarted
from acidtest.powercut.plug.messages import (
    VERSION,
    Drive,
    Failed,
    Forget,
    Greeting,
    Leaving,
    Look,
    Looked,
    Prepare,
    Prepared,
    Running,
    Said,
    Stopped,
    Which,
)
from acidtest.powercut.plug.wire import Address, Connection, Kept, Lost, connect
from acidtest.powercut.program import found_where_lost
from acidtest.words import counted
from acidtest.workload.program import ProgramItems

KEPT = "acidtest-witness"  # directory of the files of acknowledgements, beside the journal
CONTROL_COMMITS = 20  # of each terminal's turn: so much is acknowledged before the comparison is tried
BEYOND = 1_000_000  # the number of a planted commit lies so far behind the last one
GREETING_S = 15.0
ANSWER_S = 3600.0  # to load a large database, or to recover it
RETRY_S = 0.2
TICK_S = 0.2
QUIET_S = 3.0  # without a sign of the machine after its power was cut
STILL_S = 30.0  # a machine that acknowledges so long after that was not cut
Tell = Callable[[str], None]
Admit = Callable[[Address, Greeting], str]
Message = TypeVar("Message")


@dataclass(frozen=True)
class Patience:
    """How long the machine stays without power, and how long it may take to come back."""

    off_s: float = 10.0
    back_s: float = 600.0


class _CouldNot(Exception):
    """The machine could not do what it was asked for, and says so in a recording of the cell."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording


@dataclass(frozen=True)
class _Controls:
    """What trials without any cut have shown of a combination, as in ``CutEvidence``."""

    unnoticed_loss: str = ""
    blind_to_loss: str | None = None

    @property
    def are_sound(self) -> bool:
        """Whether a verdict may rest on them."""
        return not self.unnoticed_loss and not self.blind_to_loss

    def evidence(self, cell: Cell) -> CutEvidence:
        """That of a cut which has shown nothing yet."""
        return CutEvidence(
            unnoticed_loss=self.unnoticed_loss, blind_to_loss=self.blind_to_loss, is_program=_is_program(cell)
        )


@dataclass
class _Seen:
    """What the witness has seen of one load."""

    running: Running
    lost: str = ""  # why the connection ended, where it has
    ordered: str = ""  # that it was no power cut, where the machine says so
    failed: Failed | None = None
    last_s: float = 0.0  # when the last line was read, or load began
    # When there was nothing to read before that: where the witness waits for a processor, the line came in between.
    before_last_s: float = 0.0
    empty_s: float = 0.0  # when there was last nothing to read


def watch(
    plan: Plan,
    where: Path,
    out: Path,
    watcher: Watcher,
    address: Address,
    switch: Switch | None,
    *,
    patience: Patience = Patience(),
    only: Sequence[str] = (),
    tell: Tell = lambda line: None,
    command: Sequence[str] = (),
) -> RunOutcome:
    """Make every cut of ``plan`` that ``out``'s journal does not hold, or holds only as one that could not be made.

    Without a ``switch`` somebody is told when to pull the plug. ``command`` is what asked for it. Raises BadInput, and
    AcidtestError where the machine cannot be reached or does not come back.
    """
    admit(plan, where)
    cuts = replace(plan, cells=tuple(chosen(plan, only=only)))
    first_line = header(cuts).model_copy(update={"digest": digest_of(plan), "asked": list(command)})
    output = Output(out, first_line, CUTS, runs_again=lambda recording: recording.status == "failed")
    held = output.held()
    if held and not output.remaining(cuts, held):
        if engines_of(held) and plan.experiment.program is not None:
            tell("All cuts are in the journal: no machine was asked whether the program has changed since.")
        watcher.begins(len(cuts.cells), len(cuts.cells), str(address))
        return RunOutcome(held, 0)
    with output.opened() as writer:
        remaining = output.remaining(cuts, writer.journal)
        watcher.begins(len(cuts.cells) - len(remaining), len(cuts.cells), f"the machine at {address}")
        took: list[tuple[Cell, float]] = []
        estimate = Estimate(lambda cells: time_left(cells, took))
        left = {cell.id: cell for cell in remaining}
        admit_machine = partial(admitted, digest_of(plan), lambda: engines_of(writer.journal), where)
        witness = Witness(address, admit_machine, switch, patience, out / KEPT, tell)
        try:
            for cell in remaining:
                began = time.monotonic()
                watcher.cell_begins(cell, estimate.seconds(left.values()))
                recording, ends = witness.cut(cell)
                writer.append(recording)
                took.append((cell, time.monotonic() - began))
                del left[cell.id]
                watcher.cell_ended(cell, recording, estimate.seconds(left.values()))
                if ends:
                    raise AcidtestError(ends, "see to the machine, and run the same command again: it goes on")
        finally:
            witness.close()
        return RunOutcome(writer.journal, len(remaining))


class Witness:
    """One run of the witness."""

    def __init__(
        self, address: Address, admit: Admit, switch: Switch | None, patience: Patience, kept: Path, tell: Tell
    ) -> None:
        """``admit`` raises BadInput where a machine has something else to do than this run."""
        self._address, self._admit, self._switch, self._patience = address, admit, switch, patience
        self._kept, self._tell = kept, tell
        self._connection: Connection | None = None
        self._seen: Seen | None = None
        self._controls: dict[str, _Controls] = {}  # of combinations whose comparison was tried

    def cut(self, cell: Cell) -> tuple[Recording, str]:
        """The recording of one cut, and why the run ends with it, or "". Raises AcidtestError where none was begun."""
        try:
            self._reach()
            if cell.combination not in self._controls:
                self._controls[cell.combination] = self._control(cell)
            return self._cut(cell, self._controls[cell.combination])
        except _CouldNot as could_not:
            return could_not.recording, ""
        except Lost as lost:
            self.close()
            raise AcidtestError(
                f"the machine at {self._address} was lost before it was cut: {lost}",
                "see whether acidtest plug serve runs there, and run the same command again: it goes on",
            ) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _reach(self) -> None:
        """Raises AcidtestError where the machine does not answer."""
        if self._connection is not None or not (why := self._connect(0.0)):
            return
        self._tell(f"waiting for the machine: {why}")
        if why := self._connect(self._patience.back_s):
            raise AcidtestError(
                f"no machine answers: {why}",
                f"start acidtest plug serve there, with --listen at {self._address}",
            )

    def _connect(self, limit_s: float) -> str:
        """Why the machine did not answer within ``limit_s``; "" it has. Raises BadInput where it has something else to
        do than this run."""
        self.close()
        end = time.monotonic() + limit_s
        while True:
            connection: Connection | None = None
            try:
                connection = connect(self._address, min(GREETING_S, max(end - time.monotonic(), RETRY_S)))
                said = connection.take(GREETING_S)
                at_s = time.monotonic()
                if not isinstance(said, Greeting):
                    raise Lost(f"{self._address}: it does not answer as acidtest plug serve does")
            except Lost as lost:
                if connection is not None:
                    connection.close()
                if time.monotonic() + RETRY_S > end:
                    return str(lost)
                time.sleep(RETRY_S)
                continue
            try:
                note = self._admit(self._address, said)
            except BadInput:
                connection.close()
                raise
            if note and self._seen is None:
                self._tell(note)
            self._connection, self._seen = connection, Seen(said, at_s)
            return ""

    def _ask(self, message: Said, kind: type[Message], lines: Sequence[bytes] = ()) -> Message:
        """Its answer, which is of this kind. Raises _CouldNot and Lost."""
        assert self._connection is not None
        self._connection.say(message, lines)
        match self._connection.take(ANSWER_S):
            case None:
                raise Lost(f"no answer within {ANSWER_S:.0f} s")
            case Leaving(why=why):
                raise Lost(why)
            case bytes():
                raise Lost("an acknowledgement came that nobody waits for")
            case Failed(recording=recording):
                raise _CouldNot(recording)
            case answer if isinstance(answer, kind):
                return answer
            case answer:
                raise Lost(f"the machine said {answer.say} where nobody asked for it")

    def _control(self, cell: Cell) -> _Controls:
        """Whether the comparison of this combination finds all that was acknowledged, and notices one commit that was
        planted; of a program also whether it misses all of it where nothing was written. Raises _CouldNot and Lost."""
        which = _which(cell)
        self._tell(f"{cell.combination}: trying the comparison, before any cut")
        self._ask(Prepare(which=which), Prepared)
        count = min(CONTROL_COMMITS, cell.workload.count or CONTROL_COMMITS)
        seen = self._driven(Drive(which=which, count=count))
        kept = Kept(self._path(cell, "control"))
        try:
            while not (seen.lost or seen.failed or seen.ordered) and not self._receive(kept, seen, TICK_S):
                pass
            if seen.failed:
                raise _CouldNot(seen.failed.recording)
            if seen.lost or seen.ordered:
                raise Lost(seen.lost or seen.ordered)
            lines = kept.lines()
        finally:
            kept.close()
        sound = self._looked(which, seen.running, lines)
        loss = self._looked(which, seen.running, [*lines, planted(parse(lines))])
        blind = self._seen_where_lost(cell, seen.running, lines) if _is_program(cell) else None
        self._say(Forget())
        return _Controls(unnoticed(len(lines), sound, loss, _noun(cell)), blind)

    def _looked(self, which: Which, before: Running, lines: Sequence[bytes]) -> Cut | None:
        """What is found of these lines without any cut."""
        return self._ask(Look(which=which, before=before, lines=len(lines)), Looked, lines).recording.cut

    def _seen_where_lost(self, cell: Cell, before: Running, lines: Sequence[bytes]) -> str:
        """As ``CutEvidence.blind_to_loss``: the same items, looked for in data that were made anew."""
        which = _which(cell)
        self._ask(Prepare(which=which), Prepared)
        cut = self._looked(which, before, lines)
        return found_where_lost("in data that were made anew", cut.fate if cut else None)

    def _cut(self, cell: Cell, controls: _Controls) -> tuple[Recording, str]:
        which = _which(cell)
        before = self._seen
        assert before is not None
        never_cut = self._ask(Prepare(which=which), Prepared).recording
        if not controls.are_sound:  # a cut would prove nothing
            return _unknown(never_cut, controls.evidence(cell), 0.0), ""
        seen = self._driven(Drive(which=which))
        kept = Kept(self._path(cell, which.token))
        try:
            began = time.monotonic()
            cut_s, doubt = self._powerless(cell, kept, seen)
            at_s = max(seen.last_s - began, 0.0)  # a switch takes its time, and load goes on meanwhile
            lines = kept.lines()
        finally:
            kept.close()
            self.close()
        if seen.failed:
            raise _CouldNot(seen.failed.recording)
        if not lines:
            doubt = doubt or "no acknowledgement reached the witness before the power was cut"
        evidence = controls.evidence(cell)
        evidence.witnessed = doubt
        why = self._connect(self._patience.back_s)
        if why:
            evidence.restarted = f"the machine did not come back within {self._patience.back_s:.0f} s: {why}"
            return _unknown(never_cut, evidence, at_s), evidence.restarted
        assert self._seen is not None
        look = Look(
            which=which,
            before=seen.running,
            lines=len(lines),
            broken_without_cut=[],
            restarted=not_restarted(before, self._seen, cut_s),
            witnessed=doubt,
            unnoticed_loss=controls.unnoticed_loss,
            blind_to_loss=controls.blind_to_loss,
        )
        try:
            recording = self._ask(look, Looked, lines).recording
            if not is_unannounced(recording):
                self._say(Forget())
            return recording, ""
        except Lost as lost:
            self.close()
            evidence.restarted = look.restarted
            evidence.inspection_error = f"the machine was lost while it looked at what is left: {lost}"
            return _unknown(never_cut, evidence, at_s), ""

    def _driven(self, drive: Drive) -> _Seen:
        """Load is driven. Raises _CouldNot and Lost."""
        running, now_s = self._ask(drive, Running), time.monotonic()
        return _Seen(running, last_s=now_s, before_last_s=now_s, empty_s=now_s)

    def _powerless(self, cell: Cell, kept: Kept, seen: _Seen) -> tuple[float, str]:
        """Have the power cut at the moment of ``cell``, and switched on again: when that was, by the witness's clock,
        and why what was kept cannot be relied on, or ""."""
        if self._switch is None:
            self._tell(f"{cell.id}: pull the plug of the machine at {self._address} now, then plug it in again")
            while not self._is_over(seen):
                self._receive(kept, seen, TICK_S)
            return seen.before_last_s, seen.ordered
        self._until(Moment.drawn(cell), kept, seen)
        cut_s = time.monotonic()
        if self._is_over(seen):
            lost = "the connection to the machine was lost before its power was cut"
            return seen.last_s, seen.ordered or f"{lost}: {seen.lost}"
        try:
            self._switch.switch_off(lambda seconds: self._meanwhile(kept, seen, seconds))
            still = self._fades(kept, seen)
            time.sleep(self._patience.off_s)
        except BaseException:
            with suppress(AcidtestError):  # that it was not cut is what is told
                self._switch.switch_on()
            raise
        self._switch.switch_on()
        return cut_s, seen.ordered or still

    def _until(self, moment: Moment, kept: Kept, seen: _Seen) -> None:
        began = time.monotonic()
        number, seconds = moment.acknowledged or 1, moment.seconds or 0.0
        while not self._is_over(seen) and (kept.count < number or time.monotonic() - began < seconds):
            self._receive(kept, seen, min(TICK_S, max(seconds - (time.monotonic() - began), 0.001)))
        commit_s = (time.monotonic() - began) / max(kept.count, 1)
        end = time.monotonic() + moment.later * commit_s
        while not self._is_over(seen) and (left := end - time.monotonic()) > 0:
            self._receive(kept, seen, left)

    def _meanwhile(self, kept: Kept, seen: _Seen, seconds: float) -> None:
        if self._is_over(seen):
            time.sleep(seconds)
        else:
            self._receive(kept, seen, seconds)

    def _fades(self, kept: Kept, seen: _Seen) -> str:
        """Take what is still on its way. Why the machine was not cut, where it goes on; ""."""
        began = time.monotonic()
        while not self._is_over(seen) and time.monotonic() - max(seen.last_s, began) < QUIET_S:
            self._receive(kept, seen, TICK_S)
            if time.monotonic() - began > STILL_S:
                return f"the machine went on acknowledging for {STILL_S:.0f} s after --switch-off had ended"
        return ""

    @staticmethod
    def _is_over(seen: _Seen) -> bool:
        return bool(seen.lost or seen.ordered or seen.failed)

    def _receive(self, kept: Kept, seen: _Seen, limit_s: float) -> bool:
        """Keep what comes, and wait for it at most so long; whether the load has ended in order."""
        assert self._connection is not None
        lines: list[bytes] = []
        stopped = False
        try:
            while True:
                asked_s = time.monotonic()
                said = self._connection.take(0 if lines else limit_s)
                if not isinstance(said, bytes):
                    break
                lines.append(said)
            match said:
                case None:
                    pass
                case Stopped():
                    stopped = True
                case Failed():
                    seen.failed = said
                case Leaving(why=why):
                    seen.ordered = f"no power failed: {why}"
                case _:
                    seen.lost = f"the machine said {said.say} in the middle of a load"
        except Lost as lost:
            seen.lost = str(lost)
        if lines:
            kept.add(lines)
            seen.before_last_s, seen.last_s = seen.empty_s, time.monotonic()
        seen.empty_s = asked_s  # not when the answer was looked at: who waits for a processor in between misses lines
        return stopped

    def _say(self, message: Said) -> None:
        """What needs no answer."""
        assert self._connection is not None
        with suppress(Lost):
            self._connection.say(message)

    def _path(self, cell: Cell, of: str) -> Path:
        return self._kept / f"{re.sub('[^A-Za-z0-9._#-]+', '-', cell.id)}-{of}"


def admitted(
    digest: str, programs: Callable[[], Sequence[EngineFacts]], where: Path, address: Address, machine: Greeting
) -> str:
    """What of a change of its program would not be noticed; ``programs`` are those of the journal's cuts. Raises
    BadInput where the machine is not that of this run: at any greeting, for its program may be another after a cut."""
    if machine.plug != VERSION:
        raise BadInput(
            f"acidtest at {address} is {machine.acidtest}, and its messages are others",
            "install the same version of acidtest on both",
        )
    if machine.digest != digest:
        raise BadInput(
            f"another experiment, or another text or size of it, is served at {address}",
            "give both machines the same file, and both or neither --quick",
        )
    if machine.program is None or not (before := programs()):
        return ""
    return refuse_other_program(before, machine.program, where)


def planted(log: Sequence[Acknowledgement]) -> bytes:
    """A line of the log of a commit that was never made, as one more of the terminal that acknowledged last."""
    last = log[-1]
    return replace(
        last,
        count=max(line.count for line in log if line.terminal == last.terminal) + 1,
        number=max(line.number for line in log) + BEYOND,
        began_ns=last.acknowledged_ns + 1,
        acknowledged_ns=last.acknowledged_ns + 1,
        item=planted_item([line.item for line in log]) if last.item else "",
    ).as_line()


def unnoticed(lines: int, sound: Cut | None, loss: Cut | None, noun: str = "commit") -> str:
    """Why a comparison proves nothing that answered ``sound`` for all that was acknowledged, and ``loss`` for that and
    one commit that was planted; "" where it proves something."""
    if sound is None or loss is None or sound.fate is None or loss.fate is None:
        reasons = "; ".join((sound.reasons if sound else [])[:2])
        return f"without a power cut the {noun}s could not be looked for{': ' + reasons if reasons else ''}"
    if sound.verdict != "survived" or not lines:
        return (
            f"without a power cut the checks do not hold: {'; '.join(sound.reasons[:2]) or 'nothing was acknowledged'}"
        )
    if loss.verdict != "lost" or loss.fate.lost != 1:
        found = counted(loss.fate.lost, noun)
        return f"the comparison answered {loss.verdict}, with {found} missing, where one was planted that is not there"
    return ""


def _is_program(cell: Cell) -> bool:
    return isinstance(cell.workload, ProgramItems)


def _noun(cell: Cell) -> str:
    return "item" if _is_program(cell) else "commit"


def _which(cell: Cell) -> Which:
    return Which(
        combination=cell.combination,
        cell=cell.id,
        repetition=cell.repetition,
        order=cell.order,
        seed=cell.seed,
        token=secrets.token_hex(8),
    )


def _unknown(never_cut: Recording, evidence: CutEvidence, at_s: float) -> Recording:
    """The recording of a cut of which the machine does not tell."""
    evidence.at_s = at_s
    cut = recorded(evidence, judge(evidence), PLUG, never_cut.place.drive, at_s)
    return never_cut.model_copy(update={"status": "done", "reason": None, "cut": cut})
