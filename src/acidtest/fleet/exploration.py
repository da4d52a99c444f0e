"""Crash states over a fleet: one host records a load, each that is free looks at states of it, one list of all.

What is handed out, and how the list is kept, is ``powercut.coverage``'s; here is who is asked for what. The client
draws the states and tells images apart; a host gets a load's file once, by its content, and batches of states.
"""

from __future__ import annotations

import base64
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from acidtest.conductor.watcher import Watcher
from acidtest.experiment import Experiment
from acidtest.journal.models import HOST, Explored, Recording
from acidtest.journal.writer import JournalWriter
from acidtest.plan import Cell
from acidtest.powercut import recorded_load
from acidtest.powercut.conductor import ended
from acidtest.powercut.coverage import Asked, Budget, Exploration, as_state, batch_size
from acidtest.powercut.crash_states import State
from acidtest.powercut.exploration import Reduced
from acidtest.powercut.recorded_load import LoadFile
from acidtest.powercut.state_file import load_file

# What client and labs send each other of crash states.
ASKED, STATE, REDUCED = TypeAdapter(list[Asked]), TypeAdapter(State), TypeAdapter(Reduced)
Keep = Callable[[str, bytes], None]  # a file that a host sent, by its name in the run's directory


@dataclass
class _Load:
    """One cell, and how far it is."""

    cell: Cell
    file: Path
    phase: Literal["record", "look", "reduce", "done"]
    by: str | None = None  # the host that records or reduces
    of: LoadFile | None = None
    exploration: Exploration | None = None
    out: dict[str, list[Asked]] = field(default_factory=dict)  # handed out, by host
    sizes: dict[str, int] = field(default_factory=dict)  # of the next batch, by host
    since: float = 0.0  # when looking began, less what earlier runs took; by this process's clock
    content: Any = None  # Dask's, of the file

    def elapsed_s(self) -> float:
        return time.monotonic() - self.since


class Explorations:
    """The cells of a run that are crash states, looked at by whichever hosts are free."""

    def __init__(
        self,
        cells: Sequence[Cell],
        earlier: Mapping[str, Sequence[Explored]],
        experiment: Experiment,
        writer: JournalWriter,
        watcher: Watcher,
        keep: Keep,
    ) -> None:
        """``earlier`` has what the journal says was looked at, by cell. Files are kept in the journal's directory."""
        self._experiment, self._writer, self._watcher, self._keep = experiment, writer, watcher, keep
        self._directory = writer.path.parent
        self._compares = HOST in experiment.factors
        self._held = ExitStack()
        self._logs: Path | None = None
        self._loads = {cell.id: _Load(cell, load_file(self._directory, cell), "record") for cell in cells}
        for load in self._loads.values():
            if load.cell.id in earlier and load.file.exists():
                self._open(load)
                assert load.exploration is not None
                for line in earlier[load.cell.id]:
                    load.exploration.take(line)
                load.since -= load.exploration.elapsed_s

    def close(self) -> None:
        self._held.close()

    def _open(self, load: _Load) -> None:
        if self._logs is None:
            self._logs = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="acidtest-")))
        load.of = recorded_load.read(load.file, self._logs / f"{load.file.stem}.log")
        load.exploration = Exploration(load.of.load, load.of.sha256, load.cell.seed, Budget.of(load.cell))
        load.phase, load.since = "look", time.monotonic()

    def wants(self, host: str) -> bool:
        """Whether there is, or may still be, something for this host."""
        return any(load.phase != "done" for load in self._of(host))

    def _of(self, host: str) -> list[_Load]:
        return [load for load in self._loads.values() if not self._compares or load.cell.levels[HOST] == host]

    def request(self, host: str) -> dict[str, Any] | None:
        """What this host is to do next; None where it is to wait for others."""
        for load in self._of(host):
            cell = {"cell": load.cell.id}
            if load.phase == "record" and load.by is None:
                load.by = host
                return {"do": "record", **cell}
            if load.phase == "look":
                assert load.exploration is not None
                assert load.of is not None
                asked = load.exploration.batch(load.sizes.get(host, 1), load.elapsed_s())
                if asked:
                    load.out[host] = asked
                    return {
                        "do": "look",
                        **cell,
                        "load": load.of.sha256,
                        "asked": ASKED.dump_python(asked, mode="json"),
                    }
                self._look_ended(load)
            worst = load.exploration.worst if load.exploration is not None else None
            if load.phase == "reduce" and load.by is None and worst is not None:
                assert load.of is not None
                load.by = host
                state = STATE.dump_python(as_state(worst[0]), mode="json")
                return {"do": "reduce", **cell, "load": load.of.sha256, "state": state}
        return None

    def _look_ended(self, load: _Load) -> None:
        assert load.exploration is not None
        if load.phase == "look" and load.exploration.is_over(load.elapsed_s()):
            load.phase, load.by = "reduce", None

    def ended(self) -> list[Recording]:
        """The recordings of cells of which nothing is left to be asked; each is told once."""
        recordings = []
        for load in self._loads.values():
            if load.phase == "look":
                self._look_ended(load)
            if load.phase == "reduce" and load.exploration is not None and load.exploration.worst is None:
                recordings.append(self._completed(load, None))
        return recordings

    def answered(self, host: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[list[Recording], str]:
        """Take what a host answers: recordings of cells that have ended, and what of it is on the drive now, if it is
        the host's to forget."""
        load = self._loads[request["cell"]]
        match request["do"]:
            case "record":
                recording = Recording.model_validate_json(answer["recording"])
                load.by = None
                if recording.status != "done":
                    load.phase = "done"
                    return [recording], ""
                for name, content in answer["files"].items():
                    self._keep(name, base64.b64decode(content))
                self._open(load)
                return [], ""
            case "look":
                line = Explored.model_validate_json(answer["explored"])
                asked = load.out.pop(host)
                assert load.exploration is not None
                load.exploration.came_back(asked)
                load.sizes[host] = batch_size(len(asked), line.took_s)
                self.take(line)
                return [], line.id
            case _:
                return [self._completed(load, REDUCED.validate_python(answer["reduced"]))], ""

    def take(self, line: Explored) -> bool:
        """What a host has looked at, into the journal unless it is there; whether it was new."""
        load = self._loads.get(line.cell)
        if load is None or load.exploration is None or load.phase == "done":
            return False
        new = load.exploration.new(line)
        if new is None:
            return False
        new = new.model_copy(update={"elapsed_s": load.elapsed_s()})
        self._writer.append(new)
        load.exploration.take(new)
        self._watcher.exploring(load.cell, load.exploration.far(new.elapsed_s))
        return True

    def _completed(self, load: _Load, reduced: Reduced | None) -> Recording:
        assert load.exploration is not None
        assert load.of is not None
        load.phase, load.content = "done", None
        elapsed_s = load.exploration.elapsed_s
        return ended(self._directory, self._experiment, load.cell, load.of, load.exploration, elapsed_s, reduced)

    def recorded(self, cell: str) -> None:
        """The recording of this cell is on the drive: its load is not needed any more."""
        if (load := self._loads.get(cell)) is not None:
            load.file.unlink(missing_ok=True)

    def gone(self, host: str) -> None:
        """What this host had in hand is handed out again."""
        for load in self._loads.values():
            if (asked := load.out.pop(host, None)) is not None:
                assert load.exploration is not None
                load.exploration.give_back(asked)
            if load.by == host:
                load.by = None
            load.content = None  # it may have been the only one to have it

    def content(self, cell: str, scatter: Callable[[bytes], Any]) -> Any:
        """The file of a load as Dask's data, which hosts take from one another."""
        load = self._loads[cell]
        if load.content is None:
            load.content = scatter(load.file.read_bytes())
        return load.content
