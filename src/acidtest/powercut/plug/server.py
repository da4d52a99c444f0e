"""The machine that is to be cut: it drives load, passes on what is acknowledged, and after a restart looks for it."""

from __future__ import annotations

import re
import select
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from acidtest import __version__
from acidtest.analysis.expected_loss import PLUG
from acidtest.conductor.fatal_errors import why_failed
from acidtest.conductor.recording import CellOutcome, RecordingBuilder
from acidtest.conductor.template import Templates, template_bytes
from acidtest.conductor.validity import not_in_force
from acidtest.engine import Engine
from acidtest.engine.program import Program
from acidtest.errors import AcidtestError, BadInput, CellFailed, MachineLacks, Problems, cannot_write
from acidtest.files import fsync_path, sync_filesystem
from acidtest.journal.models import PlaceFacts, Recording
from acidtest.place import DirectoryPlace, Ledger, machine_facts, place_facts, release_leftovers
from acidtest.place.trees import copy_tree, tree_bytes
from acidtest.plan import Cell, Plan
from acidtest.powercut.acknowledgement_log import Acknowledgement, missing_lines, parse
from acidtest.powercut.checkers import judge, recorded
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.items import buffered
from acidtest.powercut.load import Load
from acidtest.powercut.plug.admission import admit, digest_of
from acidtest.powercut.plug.machine import boot_id, uptime_s
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
    Stopped,
    Which,
)
from acidtest.powercut.plug.wire import Address, Connection, Lost, listener
from acidtest.powercut.subject import Subject, subject_of
from acidtest.words import counted

DIRECTORY = "acidtest-plug"  # in the directory that the user names; it outlives a cut, so that no ledger has it
MARK = ".acidtest-plug"
TOKEN = re.compile("[0-9a-f]{16}")
ASKED_MAX = 1 << 20  # bytes of one line that a witness may send
BESIDE = "engine"  # what lies beside the database, made anew at each start of it
TICK_S = 0.05
END_S = 60.0
NS_OF_S = 1e9
NOT_SEEN = "the machine was not seen again"


def serve(plan: Plan, where: Path, at: Path, address: Address, say: Callable[[str], None]) -> NoReturn:
    """Serve the witness at ``address``, with databases in the directory ``at``, until a signal ends it.

    Raises BadInput and MachineLacks for what cannot be served.
    """
    engines = admit(plan, where)
    problems = Problems()
    for engine in engines.values():
        with problems.gather():
            engine.ready()
            engine.last_facts()
    problems.check()
    boot_id()
    databases = _databases(at)
    for line in release_leftovers():
        say(line)
    needed = max(_needed_bytes(cell, engines[cell.engine]) for cell in plan.combinations())
    with ExitStack() as held:
        listening = held.enter_context(closing(listener(address)))
        ledger = held.enter_context(closing(Ledger()))
        home = DirectoryPlace(at, ledger, needed_bytes=needed)
        held.callback(home.release)
        machine = Machine(plan, engines, databases, home, ledger)
        port = listening.getsockname()[1]
        say(f"listens at {Address(address.host, port)} for its witness; databases lie in {databases}")
        while True:
            connected, peer = listening.accept()
            connection = Connection(connected, ASKED_MAX)
            say(f"the witness has come from {peer[0]}")
            try:
                machine.attend(connection)
            except Lost as lost:
                say(f"the witness is gone: {lost}")
            except BaseException:
                with suppress(Lost):
                    connection.say(Leaving(why="acidtest plug serve was told to end"))
                raise
            finally:
                connection.close()


def _needed_bytes(cell: Cell, engine: Engine) -> int:
    """Of the template, and of the database that grows until it is cut."""
    return engine.empty_bytes + cell.workload.loaded_bytes() + template_bytes(cell.workload, engine)


def _databases(at: Path) -> Path:
    """Where databases lie that outlive a cut. Raises BadInput."""
    if not at.is_dir():
        raise BadInput(f"--at {at}: no such directory", "make it on the drive that is to be tried")
    databases = at.resolve() / DIRECTORY
    try:
        if databases.exists() and not (databases / MARK).exists() and any(databases.iterdir()):
            raise BadInput(f"{databases}: is there already, and is not acidtest's", "name another directory by --at")
        databases.mkdir(exist_ok=True)
        (databases / MARK).write_text("Databases of acidtest plug; they are removed by it.\n", encoding="utf-8")
        fsync_path(databases / MARK)
        fsync_path(databases)
        fsync_path(databases.parent)
    except OSError as error:
        raise cannot_write(databases, error, "name another directory by --at") from None
    return databases


class Machine:
    """Does what its witness asks for."""

    def __init__(
        self, plan: Plan, engines: Mapping[str, Engine], databases: Path, home: DirectoryPlace, ledger: Ledger
    ) -> None:
        self._engines, self._databases, self._home, self._ledger = engines, databases, home, ledger
        self._digest = digest_of(plan)
        self._cells = {cell.combination: cell for cell in plan.combinations()}
        self._templates = Templates(home, ledger)
        self._machine = machine_facts()

    def attend(self, connection: Connection) -> NoReturn:
        """Serve one witness to its end. Raises Lost."""
        programs = (engine.last_facts() for engine in self._engines.values() if isinstance(engine, Program))
        greeting = Greeting(
            plug=VERSION,
            acidtest=__version__,
            digest=self._digest,
            boot_id=boot_id(),
            uptime_s=uptime_s(),
            program=next(programs, None),
        )
        connection.say(greeting)
        while True:
            said = connection.take(3600.0)
            match said:
                case None:
                    continue
                case Forget():
                    self._forget()
                case Prepare(which=which) | Drive(which=which) | Look(which=which):
                    cell = self._cell(which)
                    builder = RecordingBuilder(cell, self._engines[cell.engine], self._machine)
                    lines = self._lines(connection, said.lines) if isinstance(said, Look) else []
                    try:
                        match said:
                            case Prepare():
                                connection.say(Prepared(recording=self._prepare(cell, which.token, builder)))
                            case Drive():
                                self._drive(cell, said, connection)
                            case Look():
                                connection.say(Looked(recording=self._look(cell, said, lines, builder)))
                    except (AcidtestError, OSError) as error:
                        if isinstance(error, MachineLacks):
                            raise
                        why = why_failed(error, self._engines[cell.engine])
                        connection.say(Failed(recording=builder.build(CellOutcome(), "failed", why)))
                case _:
                    raise Lost("the witness said what only the machine may say")

    def _cell(self, which: Which) -> Cell:
        first = self._cells.get(which.combination)
        if first is None or not TOKEN.fullmatch(which.token):
            raise Lost(f"the witness named a cell that is not planned here: {which.combination}")
        return replace(first, id=which.cell, repetition=which.repetition, order=which.order, seed=which.seed)

    def _lines(self, connection: Connection, count: int) -> list[bytes]:
        lines: list[bytes] = []
        while len(lines) < count:
            line = connection.take(60.0)
            if not isinstance(line, bytes):
                raise Lost(f"of {counted(count, 'acknowledgement')} the witness has sent {len(lines):,}")
            lines.append(line)
        return lines

    def _forget(self) -> None:
        """Remove the databases of earlier cuts."""
        for path in self._databases.iterdir():
            if TOKEN.fullmatch(path.name):
                shutil.rmtree(path)

    @contextmanager
    def _subject(self, cell: Cell, token: str, *, adopted: bool = False) -> Iterator[Subject]:
        """What is tested, over the database of this token, in a directory of its own with links to it."""
        engine, database = self._engines[cell.engine], self._databases / token
        directory = self._home.subdirectory(BESIDE)
        try:
            for path in database.iterdir():
                (directory / path.name).symlink_to(path)
            make = engine.adopt if adopted else engine.instance
            instance = make(directory, cell.settings, cell.durability)
            try:
                subject = subject_of(cell, engine, instance, self._ledger)
                subject.link(database)
                yield subject
            finally:
                instance.lose_power()
                instance.release()
        finally:
            self._home.remove(directory)

    def _prepare(self, cell: Cell, token: str, builder: RecordingBuilder) -> Recording:
        self._forget()
        template = self._templates.get(cell, self._engines[cell.engine], lambda event: None)
        directory = self._databases / token
        directory.mkdir()
        for path in template.paths:
            copy_tree(path, directory / path.name)
        with self._subject(cell, token, adopted=True) as subject:
            subject.set_up()
            # What a server does at its first start only is no part of a cut.
            subject.instance.start(self._ledger)
        sync_filesystem(directory)
        return builder.build(CellOutcome(place=place_facts(directory)), "failed", NOT_SEEN)

    def _drive(self, cell: Cell, asked: Drive, connection: Connection) -> None:
        directory = self._databases / asked.which.token
        with self._subject(cell, asked.which.token) as subject:
            place, size, instance = place_facts(directory), tree_bytes(directory), subject.instance
            instance.start(self._ledger)
            with subject.loaded(cell, self._home.path, asked.count) as load:
                load.await_first(load.first_s)
                settings = instance.settings_in_force(load.answers) if load.answers else []
                running = Running(
                    settings=settings, engine_version=load.engine_version, place=place, database_bytes=size
                )
                connection.say(running)
                if asked.count is not None:
                    load.finish(asked.count)
                    connection.pass_on(load.acknowledged.to_keep(0))
                else:
                    _pass_on(load, connection)
                    load.after(END_S)  # the pipe is closed before the rig has ended
                    load.kill()
                    raise CellFailed(load.error() or "the load ended before power failed")
            instance.seal()
        connection.say(Stopped())

    def _look(self, cell: Cell, asked: Look, lines: Sequence[bytes], builder: RecordingBuilder) -> Recording:
        began = time.monotonic()
        acknowledged = parse(lines)
        before, engine = asked.before, self._engines[cell.engine]
        is_program = isinstance(engine, Program)
        evidence = CutEvidence(
            broken_without_cut=asked.broken_without_cut,
            restarted=asked.restarted,
            witnessed=asked.witnessed,
            unnoticed_loss=asked.unnoticed_loss,
            blind_to_loss=asked.blind_to_loss,
            buffered=buffered(acknowledged) if is_program else None,
            is_program=is_program,
            is_numbered=cell.workload.CAN_BE_SURVEYED,
            conditions=cell.workload.conditions(),
            settings=before.settings,
            missing_lines=missing_lines(acknowledged),
            acknowledged=acknowledged,
            filesystem_message="the file system stays mounted, and was not checked",
            at_s=_span_s(acknowledged),
            # When power failed no clock of this machine tells: not before this.
            cut_ns=max((line.acknowledged_ns for line in acknowledged), default=0),
        )
        directory = self._databases / asked.which.token
        if elsewhere := _elsewhere(before.place, place_facts(self._databases)):
            evidence.inspection_error = elsewhere
        elif not directory.is_dir():
            evidence.read_error = f"{directory}, which was flushed before the load, is not there"
        else:
            with self._subject(cell, asked.which.token) as subject:
                subject.inspector.inspect(evidence, acknowledged)
        judgement = judge(evidence)
        if judgement.verdict != "survived" and (gone := engine.gone()):
            raise CellFailed(gone)
        reason = not_in_force(before.settings)
        outcome = CellOutcome(
            engine_version=before.engine_version,
            settings=before.settings,
            place=before.place,
            database_bytes=before.database_bytes,
            checks_after=evidence.checked,
            cut=recorded(evidence, judgement, PLUG, before.place.drive, evidence.at_s + time.monotonic() - began),
        )
        return builder.build(outcome, "invalid" if reason else "done", reason)


def _pass_on(load: Load, connection: Connection) -> None:
    """What is acknowledged, as it comes, to the end of the load. Raises Lost where the witness is gone, and CellFailed
    where a program acknowledges what can be no item."""
    passed = 0
    while True:
        is_open = load.acknowledged.wait(TICK_S)
        lines = load.acknowledged.to_keep(passed)
        if lines:
            connection.pass_on(lines)
            passed += len(lines)
        elif not is_open or not load.is_at_work:
            return
        if select.select([connection], [], [], 0)[0] and connection.take(0) is not None:
            raise Lost("the witness said something while load was driven")


def _elsewhere(before: PlaceFacts, now: PlaceFacts) -> str:
    """Why the directory is not that of before the cut; "" it is. A device may have another name after a restart."""
    if (before.mount_point, before.filesystem) == (now.mount_point, now.filesystem):
        return ""
    return (
        f"beneath {now.path} is {now.filesystem} mounted at {now.mount_point}, and before the cut it was "
        f"{before.filesystem} at {before.mount_point}: mount that before acidtest plug serve begins"
    )


def _span_s(acknowledged: Sequence[Acknowledgement]) -> float:
    """From the begin of the first transaction to the last acknowledgement that was kept, by the machine's own clock."""
    if not acknowledged:
        return 0.0
    return (
        max(acknowledgement.acknowledged_ns for acknowledgement in acknowledged)
        - min(acknowledgement.began_ns for acknowledgement in acknowledged)
    ) / NS_OF_S
