"""A state file: what a disk held after a failure, kept with what had been acknowledged, to be inspected again.

It is a description (.json) beside the writes that the disk holds in the state (.log).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from acidtest.analysis import disk_log
from acidtest.conductor.engines import plan_of
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, ProgramSpec
from acidtest.journal.models import FilesLeft, Replicated
from acidtest.plan import Cell
from acidtest.powercut import crash_states
from acidtest.powercut.acknowledgement_log import Acknowledgement
from acidtest.powercut.crash_states import Logged, State
from acidtest.powercut.evidence import CutEvidence
from acidtest.powercut.exploration import Reduced
from acidtest.powercut.recorded_load import RecordedLoad
from acidtest.powercut.trial import Trial

FORMAT = 1
STATES = "acidtest-states"  # the folder of them, beside a journal
NAME_MAX = 200  # characters, of the 255 bytes that file systems take


@dataclass(frozen=True)
class KeptState:
    """What a state file holds."""

    experiment: Experiment
    cell: Cell
    log: Path
    size_bytes: int  # of the disk
    state: State
    acknowledged: list[Acknowledgement]
    reasons: list[str]  # of the verdict when it was kept
    replication: Replicated | None = None  # of a server with a replica; the disk is that of the one looked at
    files: FilesLeft | None = None
    writes: Sequence[Logged] = ()  # and flushes of the load, up to a crash state; () of what a failure has left


def keep_state(out: Path, experiment: Experiment, cell: Cell, load: RecordedLoad, reduced: Reduced) -> str:
    """Write a crash state of a load that was read from a file into ``out``; returns the name of its description."""
    log = _unused(out, cell)
    alone = crash_states.compact(load.log, load.records, load.start, reduced.state, log)
    acknowledged, reasons = load.acknowledged_before(reduced.state.to), reduced.judgement.reasons
    size_bytes, files = disk_log.size_bytes(log), reduced.files
    writes = crash_states.history(load.records, reduced.state, load.kind_of)
    shown = None, files, writes
    return _write(KeptState(experiment, cell, log, size_bytes, alone, acknowledged, reasons, *shown))


def keep_survivors(
    out: Path, experiment: Experiment, trial: Trial, cell: Cell, evidence: CutEvidence, reasons: list[str]
) -> str:
    """The same of what a failure has left, on the disk of the server that was looked at."""
    log = _unused(out, cell)
    alone = trial.save_survivors(log)
    acknowledged, size_bytes = evidence.acknowledged or [], disk_log.size_bytes(log)
    shown = trial.replicated(), evidence.files
    return _write(KeptState(experiment, cell, log, size_bytes, alone, acknowledged, reasons, *shown))


def _unused(out: Path, cell: Cell) -> Path:
    """The log of a state file that is not there yet."""
    directory = out / STATES
    directory.mkdir(exist_ok=True)
    name = directory / _file_name(cell.id)
    for number in range(1, 1000):
        log = name.with_name(f"{name.name}-{number}.log")
        if not log.with_suffix(".json").exists():
            break
    log.unlink(missing_ok=True)
    return log


def load_file(out: Path, cell: Cell) -> Path:
    """Where the load is kept whose crash states are looked at, as long as that goes on. The folder is there then."""
    directory = out / STATES
    directory.mkdir(exist_ok=True)
    return directory / f"{_file_name(cell.id)}.load"


def _file_name(cell_id: str) -> str:
    """The id as a file may be called; of a long one the beginning, and what tells it from others."""
    whole = re.sub(r"[^A-Za-z0-9.#=-]+", "-", cell_id)
    if len(whole) <= NAME_MAX:
        return whole
    return f"{whole[: NAME_MAX - 9]}-{hashlib.sha256(cell_id.encode()).hexdigest()[:8]}"


def _write(kept: KeptState) -> str:
    """The description beside the log; returns its name."""
    program = kept.experiment.program
    fields: dict[str, Any] = {
        "format": FORMAT,
        "experiment": kept.experiment.model_dump(mode="json"),
        **({"folder": program.folder} if program else {}),  # in which its commands run
        "cell": kept.cell.id,
        "seed": kept.cell.seed,
        "log": kept.log.name,
        "size_bytes": kept.size_bytes,
        "state": dataclasses.asdict(kept.state),
        "acknowledged": [line.as_list() for line in kept.acknowledged],
        "reasons": kept.reasons,
        **({"replication": kept.replication.model_dump(mode="json")} if kept.replication else {}),
        **({"files": kept.files.model_dump(mode="json")} if kept.files else {}),
        **({"writes": [dataclasses.asdict(one) for one in kept.writes]} if kept.writes else {}),
    }
    description = kept.log.with_suffix(".json")
    description.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
    return str(description)


def read(file: Path) -> KeptState:
    """What ``file`` describes. Raises BadInput for what is no state file, and for one whose log is not beside it."""
    fields = _fields(file)
    try:
        experiment = Experiment.recorded(fields["experiment"])
        if any(spec.needs_description for spec in experiment.workload.values()):
            raise BadInput(
                f"{file}: is the state of a disk under a workload of your own, whose files it does not hold",
                "run acidtest powercut with --seed as its report says: the same cut is made again",
            )
        if (program := experiment.program) is not None:
            experiment = experiment.model_copy(update={"program": _at_home(file, program, str(fields["folder"]))})
        state = fields["state"]
        torn = tuple((int(number), tuple(sectors)) for number, sectors in state["torn"])
        name = fields["cell"].partition("-seed-")[0]
        cell = next(cell for cell in plan_of(experiment, cuts=True).cells if cell.id == name)
        kept = KeptState(
            experiment=experiment,
            cell=dataclasses.replace(cell, seed=fields["seed"], id=fields["cell"]),
            log=file.with_name(fields["log"]),
            size_bytes=int(fields["size_bytes"]),
            state=State(state["start"], state["to"], tuple(state["without"]), torn, state["of"]),
            acknowledged=[Acknowledgement(*line) for line in fields["acknowledged"]],
            reasons=list(fields["reasons"]),
            replication=Replicated.model_validate(fields["replication"]) if "replication" in fields else None,
            files=FilesLeft.model_validate(fields["files"]) if "files" in fields else None,
            writes=[Logged(**one) for one in fields.get("writes", [])],
        )
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, ValidationError):
        raise _no_state(file) from None
    if not kept.log.is_file():
        raise BadInput(f"{kept.log}: no such file", "keep it beside the state that names it")
    return kept


def _at_home(file: Path, program: ProgramSpec, folder: str) -> ProgramSpec:
    """The program with the folder in which its commands run. Raises BadInput where that is gone."""
    if not Path(folder).is_dir():
        raise BadInput(
            f"{file}: the commands of program {program.name} run in {folder}, which is not there",
            "put the folder of the experiment back, or correct folder in the state file",
        )
    return program.model_copy(update={"folder": folder})


def _fields(file: Path) -> dict[str, Any]:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot be read: {error}") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise _no_state(file)
    return fields


def _no_state(file: Path) -> BadInput:
    return BadInput(f"{file}: is no state of a disk that acidtest wrote", "give a file that acidtest powercut wrote")
