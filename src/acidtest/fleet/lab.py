"""The lab on a host of a fleet: answers requests, a line of JSON each, from standard input to standard output.

It keeps what a run needs (the ledger, loaded templates, an engine at work) from one request to the next, and every
recording in a journal of its own until the client has it. When standard input ends, or it is told to stop, it
releases all that it has made.
"""

from __future__ import annotations

import base64
import fcntl
import getpass
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import statistics
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from acidtest.conductor import admission
from acidtest.conductor.base import Conductor, Ended, RunContext, Steps
from acidtest.conductor.conduct import at_work, leasing
from acidtest.conductor.output import Output
from acidtest.conductor.probe import probe
from acidtest.conductor.run import conductor_of
from acidtest.conductor.watcher import Exploring, Loading
from acidtest.engine import Engine
from acidtest.errors import AcidtestError, BadInput, CellFailed, Problems
from acidtest.files import fsync_path, state_directory
from acidtest.fleet.exploration import ASKED, REDUCED, STATE
from acidtest.fleet.load_generator import Abandoned, Together, generate
from acidtest.fleet.messages import Assignment, refusal
from acidtest.journal.models import Recording
from acidtest.journal.protocol import Duration, ProbeStep, Progress
from acidtest.journal.reader import CUTS, NAME, explored, read
from acidtest.journal.writer import JournalWriter
from acidtest.place import leftovers, release_leftovers
from acidtest.place.device_safety import look, refuse
from acidtest.place.lease import leased
from acidtest.plan import Cell
from acidtest.plan.probe import ProbePlan
from acidtest.powercut.conductor import Cuts
from acidtest.powercut.exploration import Explorer
from acidtest.powercut.state_file import STATES, load_file
from acidtest.words import counted

IDLE_S = 180.0  # without a request for so long, it ends: its client is gone
TOLD_EVERY_S = 1.0
HASHED = 16 << 20  # bytes
FLUSHED_S = 0.2  # tens of flushes even of a hard disk; every lab measures it, also one that goes on
TIMES = 5
PREFIX = "acidtest-fleet-"
REQUESTS = ("clean", "admit", "begin", "step", "lead", "generate", "record", "look", "reduce", "rest", "end")
ACKNOWLEDGED = "acidtest-acknowledged"  # ids of cells whose recordings the client has, a line each


class _Told(BaseException):
    """The process is told to end."""


def tell(event: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(event)}\n")
    sys.stdout.flush()


class Reporter:
    """Reports to the client how it goes."""

    def __init__(self, host: str) -> None:
        self._host, self._told_s = host, 0.0

    def _tell(self, event: str, **fields: Any) -> None:
        tell({"event": event, "host": self._host, **fields})

    def begins(self, done: int, total: int, place: str) -> None:
        pass

    def released(self, lines: list[str]) -> None:
        self.doubts([f"left behind by an earlier run: {line}" for line in lines])

    def doubts(self, lines: list[str]) -> None:
        self._tell("lines", lines=lines)

    def brings(self, line: str) -> None:
        self._tell("lines", lines=[line])

    def admitted(self, lines: list[str]) -> None:
        self._tell("lines", lines=[f"device {line}" for line in lines])

    def cell_begins(self, cell: Cell, left_s: float) -> None:
        self._tell("begins", cell=cell.id)

    def progress(self, cell: Cell, event: Progress) -> None:
        now = time.monotonic()
        if now - self._told_s >= TOLD_EVERY_S:
            self._told_s = now
            self._tell("progress", cell=cell.id, progress=event.model_dump(mode="json"))

    def loading(self, cell: Cell, loading: Loading) -> None:
        pass

    def exploring(self, cell: Cell, far: Exploring) -> None:
        pass

    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None:
        pass


class Lab:
    """One run on this host."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._assignment: Assignment | None = None
        self._engines: dict[str, Engine] = {}
        self._conductor: Conductor | None = None
        self._context: RunContext | None = None
        self._writer: JournalWriter | None = None
        self._steps: Steps | None = None
        self._cells: dict[str, Cell] = {}
        self._left: list[str] = []  # ids of the cells of the item at work
        self._explorer: Explorer | None = None  # of crash states of the cell and load in ``_explored``
        self._explored: tuple[str, str] | None = None
        self._explorer_held = ExitStack()
        self._watcher = Reporter("")
        self.requests: queue.SimpleQueue[str] = queue.SimpleQueue()  # a load from several machines hears more of them

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """To one of ``REQUESTS``; what it refuses is a part of it."""
        assert request["do"] in REQUESTS
        try:
            answer: dict[str, Any] = getattr(self, request["do"])(request)
        except AcidtestError as error:
            return refusal(error)
        except OSError as error:
            return refusal(CellFailed(f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")))
        return answer

    def clean(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Release what labs that are gone left here; recordings that no client has yet stay."""
        parent = _parent(request["directory"])
        runs = [run for run in sorted(parent.glob(f"{PREFIX}*")) if not _is_at_work(run)]
        waiting = {run: _unacknowledged(run) for run in runs}
        done = [run for run in runs if not waiting[run]]
        if request["dry_run"]:
            released = [f"{left.kind} {left.what}" for left in leftovers()]
        else:
            released = release_leftovers()
            for run in done:
                shutil.rmtree(run)
        kept = [
            f"{run}: {counted(len(cells), 'recording')} that no journal has" for run, cells in waiting.items() if cells
        ]
        return {"released": [*released, *(f"directory {run}" for run in done)], "kept": kept}

    def admit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse what cannot run here, before anything is made; else what the engines say of themselves."""
        if self._context is not None:  # of a client that is gone: another one goes on with the same run
            self.close()
        one = Assignment.unpacked(request["assignment"])
        self._assignment = one
        self._watcher = Reporter(one.host)
        plan = one.plan
        self._cells = {cell.id: cell for cell in plan.cells}
        self._conductor = Cuts(plan.experiment) if one.cuts else conductor_of(plan)
        left = [self._cells[id] for id in one.left]  # noqa: A001
        where = Path(one.where)
        problems = Problems()
        with problems.gather():
            looked_at = _looked_at(left, one)
        with problems.gather():
            self._engines = admission.admit(plan, left, self._conductor, where, self._devices(), self._watcher)
        problems.check()
        admission.admit_servers(left, self._engines, where)
        if left:
            parent = self._parent()
            needed = self._conductor.needed_bytes(left, self._engines, _existing(parent)) + admission.MARGIN_BYTES
            if (free := shutil.disk_usage(_existing(parent)).free) < needed:
                raise BadInput(
                    f"{parent}: needs about {needed / 1e6:,.0f} MB, has {free / 1e6:,.0f} MB free",
                    "free some space there, or name another directory for this host",
                )
        names = dict.fromkeys(cell.engine for cell in left)
        engines = {id: admission.facts_of(self._engines[id]).model_dump(mode="json") for id in names}  # noqa: A001
        return {"engines": engines, "devices": looked_at}

    def _devices(self) -> admission.Devices:
        """Those of the run: what else the fleet's file names for this host is for other experiments."""
        assert self._assignment is not None
        used = {Path(cell.place.device).resolve() for cell in self._cells.values() if cell.place.device}
        named = self._assignment.devices
        return admission.Devices(frozenset(used), named.erase & used)

    def _parent(self) -> Path:
        """Where the run's own place lies."""
        assert self._assignment is not None
        return Path(self._assignment.plan.experiment.place.path or _parent(self._assignment.directory))

    def begin(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Make what the run needs here. Answers the recordings of it that were kept, and what the host measured."""
        one, conductor = self._assignment, self._conductor
        assert one is not None
        assert conductor is not None
        if released := release_leftovers():
            self._watcher.released(released)
        out = _kept_at(one.directory, one.run, one.host)
        self._await_end(out)
        self._writer = self._held.enter_context(Output(out, one.header, CUTS if one.cuts else NAME).opened())
        known = _read_acknowledged(out)
        kept = [recording for recording in self._writer.journal.recordings if recording.cell not in known]
        left = [self._cells[id] for id in one.left if id not in {recording.cell for recording in kept}]  # noqa: A001
        place = self._parent()
        needed = admission.admit_remaining(left, conductor, self._engines, place, self._devices(), self._watcher)
        calibration = self._calibrated(place)
        self._context = self._held.enter_context(at_work(place, needed, out, self._engines, self._watcher))
        return {
            "recordings": [_as_line(recording) for recording in kept],
            "explored": [one.model_dump_json() for one in explored(self._writer.path) if one.id not in known],
            "machine": self._context.machine.model_dump(mode="json"),
            "place": self._context.place_facts.model_dump(mode="json"),
            **calibration,
        }

    def _await_end(self, out: Path) -> None:
        """Wait for an earlier lab of this run, whose worker or network was lost: it is releasing what it made.

        Raises BadInput where it does not end.
        """
        end, is_reported = time.monotonic() + IDLE_S, False
        while _is_at_work(out):
            if not is_reported:
                is_reported = True
                self._watcher.doubts(["waiting for the lab that was at work there before, which releases what it made"])
            if time.monotonic() > end:
                raise BadInput(f"{out}: another acidtest is writing here", "end it, and run the same command again")
            time.sleep(0.1)

    def _calibrated(self, place: Path) -> dict[str, Any]:
        block = bytes(HASHED)
        step = ProbeStep(
            method="fdatasync", pattern="overwrite", block_bytes=4096, writers=1, one_file=False,
            extent=Duration(seconds=FLUSHED_S),
        )  # fmt: skip
        order = tuple((0, repetition) for repetition in range(1, TIMES + 1))
        plan = ProbePlan((step,), order, TIMES, seed=1, step_s=FLUSHED_S)
        with self._alone():
            took = []
            for _ in range(TIMES):
                began = time.perf_counter()
                hashlib.sha256(block).digest()
                took.append(time.perf_counter() - began)
            probed = probe(place, plan, admission.Devices(), self._watcher.doubts, lambda done, left: None).of(0)
        flushes = statistics.median([result.writes_per_s for result in probed]) if probed else None
        return {"hash_mb_per_s": HASHED / 1e6 / statistics.median(took), "flushes_per_s": flushes}

    def _alone(self, *, beside_own: bool = False) -> Any:
        assert self._assignment is not None
        run = f"run {self._assignment.run} of a fleet"
        who = f"{run}, of user {getpass.getuser()} (process {os.getpid()})"

        def waits(line: str) -> None:
            if run not in line:  # hosts for trying are one machine, and take turns
                self._watcher.doubts([line])

        return leased(alone=True, who=who, tell=waits, beside=run if beside_own else "")

    def step(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run the next of the cells ``request["cells"]``; what has ended is kept here until it is acknowledged."""
        assert self._writer is not None
        assert self._context is not None
        assert self._conductor is not None
        out = self._writer.path.parent
        self._acknowledge(out, request["acknowledged"])
        wanted: list[str] = request["cells"]
        self._end_exploring()
        if self._steps is None or self._left != wanted:
            self._end_item()
            self._left = list(wanted)
            context, alone = self._context, self._alone
            if "share" in request:
                context = replace(context, generators=self._together(request))
                alone = partial(self._alone, beside_own=True)
            steps = self._conductor.run([self._cells[id] for id in wanted], context)  # noqa: A001
            self._steps = leasing(steps, alone)
        before = _files(out)
        for step in self._steps:
            if not isinstance(step, Ended):
                self._watcher.cell_begins(step.cell, 0.0)
                continue
            self._left.remove(step.cell.id)
            ended = [recording.model_copy(update={"host": self._host}) for recording in step.recordings]
            for recording in ended:
                self._writer.append(recording)
            if not self._left:
                self._end_item()
            files = {name: base64.b64encode((out / name).read_bytes()).decode() for name in _files(out) - before}
            return {
                "cell": step.cell.id, "recordings": [_as_line(recording) for recording in ended], "files": files,
            }  # fmt: skip
        raise CellFailed("the conductor ended before its cells", "this is a bug; please report it")

    def _together(self, request: Mapping[str, Any]) -> Together:
        assert self._assignment is not None
        return Together(self._assignment, request, self.requests, tell)

    def lead(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run a cell whose load comes from several machines; "abandoned" where the client gives it up."""
        try:
            return self.step(request)
        except Abandoned:
            self._steps, self._left = None, []
            return {"abandoned": True}

    def generate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Drive a part of the load of the cell ``request["cell"]``, and answer what that brought."""
        assert self._context is not None
        cell, together = self._cells[request["cell"]], self._together(request)
        with self._alone(beside_own=True):
            try:
                return {"brought": generate(cell, self._context, together, request["served"])}
            except Abandoned:
                return {"abandoned": True}

    @property
    def _host(self) -> str:
        assert self._assignment is not None
        return self._assignment.host

    def record(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Record the load whose crash states hosts will look at: its recording, and the load in a file."""
        out, cell, conductor, context = self._exploring(request)
        file = load_file(out, cell)
        self._watcher.cell_begins(cell, 0.0)
        with self._alone():
            recording = conductor.record(cell, context, file).model_copy(update={"host": self._host})
        answer: dict[str, Any] = {"recording": _as_line(recording), "files": {}}
        if recording.status == "done":
            content = file.read_bytes()
            file.rename(_by_content(out, hashlib.sha256(content).hexdigest()))
            answer["files"] = {str(file.relative_to(out)): base64.b64encode(content).decode()}
        return answer

    def look(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Look at crash states of a load, or tell where its file is to be put if it is not here.

        Nothing is measured: others that do not measure may be at work beside it.
        """
        out, cell, conductor, context = self._exploring(request)
        if (made := self._explorer_of(out, cell, conductor, context, request["load"])) is None:
            return {"lacks": str(_by_content(out, request["load"]))}
        with self._shared():
            line = made.look(ASKED.validate_python(request["asked"]), self._host)
        assert self._writer is not None
        self._writer.append(line)
        return {"explored": line.model_dump_json()}

    def reduce(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Find the failing state that departs least; otherwise as ``look``."""
        out, cell, conductor, context = self._exploring(request)
        if (made := self._explorer_of(out, cell, conductor, context, request["load"])) is None:
            return {"lacks": str(_by_content(out, request["load"]))}
        with self._shared():
            reduced = made.reduce(STATE.validate_python(request["state"]))
        return {"reduced": REDUCED.dump_python(reduced, mode="json")}

    def rest(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing is to be done; there will be more."""
        return {}

    def _exploring(self, request: Mapping[str, Any]) -> tuple[Path, Cell, Cuts, RunContext]:
        assert self._writer is not None
        assert self._context is not None
        assert isinstance(self._conductor, Cuts)
        out, cell = self._writer.path.parent, self._cells[request["cell"]]
        self._acknowledge(out, request["acknowledged"])
        self._end_item()
        if self._explored != (cell.id, request.get("load")):
            self._end_exploring()
        return out, cell, self._conductor, self._context

    def _explorer_of(self, out: Path, cell: Cell, conductor: Cuts, context: RunContext, load: str) -> Explorer | None:
        file = _by_content(out, load)
        if self._explorer is None:
            if not file.exists():
                return None
            with self._shared():
                made = self._explorer_held.enter_context(conductor.exploring(cell, context, file))
            if isinstance(made, str):
                self._end_exploring()
                raise CellFailed(made)
            self._explorer, of = made
            if of.sha256 != load:
                file.unlink()
                self._end_exploring()
                raise CellFailed(f"{file}: did not arrive as it was sent")
            self._explored = cell.id, load
        return self._explorer

    def _end_exploring(self) -> None:
        self._explorer, self._explored = None, None
        self._explorer_held.close()
        self._explorer_held = ExitStack()

    def _shared(self) -> Any:
        who = f"a run of a fleet (process {os.getpid()})"
        return leased(alone=False, who=who, tell=lambda line: self._watcher.doubts([line]))

    def _acknowledge(self, out: Path, cells: Sequence[str]) -> None:
        if cells:
            with (out / ACKNOWLEDGED).open("a", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(cell)}\n" for cell in cells)
                file.flush()
                os.fsync(file.fileno())
            fsync_path(out)

    def _end_item(self) -> None:
        if self._steps is not None:
            for _ in self._steps:  # to its end, where an item has no cells left
                break
            self._steps.close()
            self._steps = None

    def end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Release all that was made, and remove what the client has acknowledged, also what an earlier lab kept."""
        self.close()
        out = _kept_at(request["directory"], request["run"], request["host"])
        if out.exists():
            self._await_end(out)
            self._acknowledge(out, request["acknowledged"])
            if not _unacknowledged(out):
                shutil.rmtree(out)
        release_leftovers()
        return {}

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        self._end_exploring()
        self._context = self._writer = None
        self._held.close()
        self._held = ExitStack()


def _looked_at(left: Sequence[Cell], one: Assignment) -> dict[str, dict[str, Any]]:
    """The real devices of the cells that are left, as they are here.

    Raises BadInput for one that is not there, that the fleet's file does not name, or that may not be written to.
    """
    problems = Problems()
    looked_at: dict[str, dict[str, Any]] = {}
    table = f'[hosts."{one.host}"]'
    for name in dict.fromkeys(cell.place.device for cell in left if cell.place.device is not None):
        with problems.gather():
            found = look(name)
            if found.device not in one.devices.use:
                raise BadInput(
                    f"{found}: a real device is written to only where the fleet's file names it for its host",
                    f'write use_devices = ["{name}"] below {table}, if it may be formatted',
                )
            is_erased = found.device in one.devices.erase
            if found.holds and not found.used and not is_erased:
                raise BadInput(
                    f"{found}: what is on a device is never overwritten unasked",
                    f'write erase = ["{name}"] below {table}, if all that is on it may be destroyed',
                )
            refuse(found, erase=is_erased)
            looked_at[name] = {"model": found.model, "size_bytes": found.size_bytes}
    problems.check()
    return looked_at


def _by_content(out: Path, load: str) -> Path:
    """Where the file of a recorded load with this SHA-256 lies."""
    directory = out / STATES
    directory.mkdir(exist_ok=True)
    return directory / f"{load}.load"


def _as_line(recording: Recording) -> str:
    return recording.model_dump_json(by_alias=True)


def _parent(directory: str | None) -> Path:
    return Path(directory) if directory else state_directory() / "fleet"


def _kept_at(directory: str | None, run: str, host: str) -> Path:
    """Where the recordings of a run are kept on this host."""
    return _parent(directory) / f"{PREFIX}{run}-{re.sub('[^A-Za-z0-9.-]', '-', host)}"


def _existing(path: Path) -> Path:
    """The path, or the nearest directory above it that is there."""
    return next(one for one in (path, *path.absolute().parents) if one.exists())


def _files(out: Path) -> set[str]:
    """What power cuts keep beside the journal, relative to ``out``."""
    return {str(path.relative_to(out)) for path in (out / STATES).glob("**/*") if path.is_file()}


def _read_acknowledged(out: Path) -> set[str]:
    try:
        return {json.loads(line) for line in (out / ACKNOWLEDGED).read_text(encoding="utf-8").splitlines()}
    except FileNotFoundError:
        return set()


def _unacknowledged(out: Path) -> list[str]:
    """Cells whose recordings are in the directory of a run, and not with the client."""
    known = _read_acknowledged(out)
    waiting: list[str] = []
    for name in (NAME, CUTS):
        if (out / name).exists() and (out / name).stat().st_size:
            waiting += [recording.cell for recording in read(out / name).recordings if recording.cell not in known]
    return waiting


def _is_at_work(out: Path) -> bool:
    """Whether a lab writes there: its journal is locked as long as it is open."""
    for path in (out / NAME, out / CUTS):
        with suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def _requests(main: int) -> queue.SimpleQueue[str]:
    """Lines of standard input, read by a thread of their own. When they end, the process is told to."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def feed() -> None:
        for line in sys.stdin:
            lines.put(line)
        os.kill(main, signal.SIGTERM)

    threading.Thread(target=feed, daemon=True).start()
    return lines


def main() -> None:
    def heed(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # it is ending
        raise _Told

    signal.signal(signal.SIGTERM, heed)
    lab = Lab()
    requests = lab.requests = _requests(os.getpid())
    with closing(lab):
        try:
            while True:
                request = json.loads(requests.get(timeout=IDLE_S))
                if "attempt" in request and request["do"] not in REQUESTS:
                    continue  # of a load from several machines, which has ended here
                tell({"answer": lab.answer(request)})
                if request["do"] in ("end", "clean"):
                    return
        except (_Told, queue.Empty):
            return


if __name__ == "__main__":
    main()
