"""A program of the user's in a trial: its load, its inspection, and what its check must have noticed before a verdict
counts.

A trial prepares, cuts and judges it as it does an engine. What differs is who drives the load and who looks: not the
rig, but the program's own ``load`` and ``check``.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from acidtest.engine import Ended
from acidtest.engine.program import ENDLESS, ProgramInstance, ended, last_line
from acidtest.engine.server import log_tail
from acidtest.errors import CellFailed
from acidtest.journal.models import Fate, Integrity
from acidtest.place import Ledger
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.inspector import Inspecting, Kept
from acidtest.powercut.items import MISSING, ItemLog, answers, fate, first_missing_ns, named, planted
from acidtest.powercut.load import Load
from acidtest.words import counted

END_S = 10.0  # for a load that has written what it was asked for to end by itself


class ProgramLoad(Load):
    """``load``, driven by nobody but itself until it is killed."""

    def __init__(self, instance: ProgramInstance, acknowledged: ItemLog, count: int) -> None:
        super().__init__(acknowledged)
        spec = instance.spec
        self.nothing = (
            "program.load acknowledged nothing within {:g} s: it prints a line for each item, at once, and not when "
            "its output's buffer is full"
        )
        self.first_s = spec.command_limit_s
        self._instance = instance
        self._errors = instance.directory / "load.errors"
        self.engine_version = instance.program.facts().version
        with acknowledged.writer() as pipe:
            self._id, self._process = instance.launch_load(pipe, count, self._errors)
        self._thread.start()

    def follow(self) -> None:
        code = self._process.wait()
        how = ended(code, last_line(log_tail(self._errors)))
        self.fail(CellFailed(f"program.load {how}; it must write items until it is ended"))

    def finish(self, count: int) -> None:
        """Wait until it has acknowledged ``count`` items, and end it, in order if it can. Raises CellFailed."""
        try:
            self.await_count(count)
        except CellFailed:
            self.acknowledged.drain()
            if len(self.acknowledged) < count:
                raise
        end = time.monotonic() + END_S
        while self._process.poll() is None and len(self.acknowledged) <= count and time.monotonic() < end:
            self.acknowledged.wait(0.05)
        if self._process.poll() is None:  # it writes on, or does not end: as an administrator would stop it
            with suppress(ProcessLookupError):
                self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        self.kill()
        self.acknowledged.drain()

    def kill(self) -> None:
        if self._id:
            id_, self._id = self._id, ""
            self._instance.end_load(id_, self._process)
        self._thread.join()


@contextmanager
def loaded(instance: ProgramInstance, directory: Path, count: int = ENDLESS) -> Iterator[ProgramLoad]:
    """The program's load, with its acknowledgement log in ``directory``; killed in the end."""
    acknowledged = ItemLog(directory)
    try:
        load = ProgramLoad(instance, acknowledged, count)
        try:
            yield load
        finally:
            load.kill()
    finally:
        acknowledged.close()


class ProgramInspector(Inspecting):
    """Starts the program over what a power cut has left, and asks its ``check`` for each acknowledged item."""

    def __init__(self, instance: ProgramInstance, ledger: Ledger) -> None:
        self._instance, self._ledger = instance, ledger

    def inspect(self, evidence: CutEvidence, acknowledged: Sequence[Acknowledgement]) -> None:
        began = time.monotonic()
        try:
            self._start()
        except Ended as error:
            evidence.start_error = error.message
            return
        except CellFailed as error:
            evidence.inspection_error = f"the program could not be started: {error.message}"
            return
        if self._instance.spec.start:
            evidence.engine_recovery_s = time.monotonic() - began
        try:
            self._check(evidence, acknowledged)
        except CellFailed as error:
            evidence.inspection_error = error.message

    def _start(self) -> None:
        try:
            self._instance.start(self._ledger)
        except Ended:  # once more, as an administrator would do
            self._instance.lose_power()
            self._instance.start(self._ledger)

    def _check(self, evidence: CutEvidence, acknowledged: Sequence[Acknowledgement]) -> None:
        """With an item among the others that was never written: who does not miss it is no witness."""
        asked = [line.item for line in acknowledged]
        never = planted(asked) if asked else None
        if never is not None:
            asked.insert(len(asked) // 2, never)
        found, damage = self.ask(asked)
        if never is not None:
            evidence.planted = "" if found[never] == MISSING else f"{found[never]} for {named(never)}"
        evidence.fate = fate(acknowledged, found)
        evidence.first_missing_ns = first_missing_ns(acknowledged, found)
        if damage:
            evidence.integrity = Integrity(holds="broken", check="program.check", said="; ".join(damage[:3]))

    def ask(self, asked: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        """What ``check`` says of each item, and of damage. Raises CellFailed where that is no answer to all of them."""
        file = self._instance.directory / "items"
        file.write_text("".join(f"{item}\n" for item in asked), encoding="utf-8")
        said = self._instance.ask("check", self._instance.spec.check, {"ACIDTEST_ITEMS": str(file)})
        if said.code != 0:
            raise CellFailed(f"program.check {said.ending}; it must end with code 0, whatever it has found")
        return answers(said.output, asked)

    @contextmanager
    def staying(self) -> Iterator[Kept]:
        yield _NoneKept()

    def renew(self) -> None:
        """Each inspection is that of new processes."""


class _NoneKept:
    is_fresh = True


LOST_ALL = "on a disk that had lost everything written since the start"


def blind_to_loss(inspector: Inspecting, acknowledged: Sequence[Acknowledgement]) -> tuple[str, str]:
    """Why the check is no witness, on a disk that has lost every one of these items; "" where it misses all of them.
    And why it cannot say there what is lost; "" where it can.

    A program that does not start there, or whose check cannot look, has noticed that something is wrong.
    """
    evidence = CutEvidence()
    inspector.inspect(evidence, acknowledged)
    return found_where_lost(LOST_ALL, evidence.fate), mute_where_lost(LOST_ALL, evidence.inspection_error)


def mute_where_lost(where: str, inspection_error: str | None) -> str:
    """What follows for cuts that take everything, where nobody could look; "" where somebody could."""
    if inspection_error is None:
        return ""
    return (
        f"{where}, {inspection_error}. A cut that takes everything is unknown for that reason, and not lost, until "
        f"check answers {MISSING} for each item there"
    )


def found_where_lost(where: str, fate: Fate | None) -> str:
    """Why a check is no witness that answered so of items none of which is there; "" where it misses all of them, or
    could not look."""
    if fate is None or (there := fate.present + fate.torn) == 0:
        return ""
    return (
        f"{where}, program.check did not answer {MISSING} for {there:,} of {counted(fate.acknowledged, 'item')}: are "
        "they written below $ACIDTEST_DATA, and does check look there?"
    )
