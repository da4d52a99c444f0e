"""A failing crash state as a file, and the same state looked at again."""

from __future__ import annotations

import dataclasses
import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from acidtest.analysis import crashstates, survival
from acidtest.analysis.crashstates import State
from acidtest.conductor.engines import describe, plan_of
from acidtest.conductor.template import Templates, template_bytes
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import Experiment
from acidtest.journal.models import Fate, Verdict
from acidtest.place import DirectoryPlace, Ledger, check_machine
from acidtest.place.making import image_mb
from acidtest.plan import Cell
from acidtest.powercut.explore import Recorded, look_at_state
from acidtest.powercut.trial import CutEvidence, Drives, Trial

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Replayed:
    """What a state shows now, and what it showed when it was found."""

    cell: str
    found: list[str]
    verdict: Verdict
    reasons: list[str]
    fate: Fate | None


def keep(
    out: Path, experiment: Experiment, kept: int, cell: Cell, recorded: Recorded, state: State,
    reasons: list[str],
) -> str:  # fmt: skip
    """Write the state into ``out``: a description (.json) beside the writes that the disk holds in it (.log)."""
    description = _unused(out, cell)
    alone = crashstates.compact(recorded.log, recorded.records, kept, state, description.with_suffix(".log"))
    return _describe(description, experiment, cell, alone, recorded.acknowledged(state.to), reasons)


def keep_survivors(
    out: Path, experiment: Experiment, trial: Trial, cell: Cell, ledger: list[survival.Acknowledgement],
    reasons: list[str],
) -> str:  # fmt: skip
    """The same of what a cut has left."""
    description = _unused(out, cell)
    alone = trial.save_survivors(description.with_suffix(".log"))
    return _describe(description, experiment, cell, alone, ledger, reasons)


def _unused(out: Path, cell: Cell) -> Path:
    directory = out / "acidtest-states"
    directory.mkdir(exist_ok=True)
    name = directory / re.sub(r"[^A-Za-z0-9.#=-]+", "-", cell.id)
    for number in range(1, 1000):
        description = name.with_name(f"{name.name}-{number}.json")
        if not description.exists():
            break
    description.with_suffix(".log").unlink(missing_ok=True)
    return description


def _describe(
    description: Path, experiment: Experiment, cell: Cell, alone: State, ledger: list[survival.Acknowledgement],
    reasons: list[str],
) -> str:  # fmt: skip
    data = description.with_suffix(".log")
    told: dict[str, Any] = {
        "format": FORMAT,
        "experiment": experiment.model_dump(mode="json"),
        "cell": cell.id,
        "seed": cell.seed,
        "log": data.name,
        "size_bytes": crashstates.size_bytes(data),
        "state": dataclasses.asdict(alone),
        "acknowledged": [dataclasses.astuple(line) for line in ledger],
        "reasons": reasons,
    }
    description.write_text(json.dumps(told, indent=1) + "\n")
    return str(description)


def replay(file: Path, drives: Drives) -> Replayed:
    """Build the state in ``file`` on a new disk and look at it again. Raises BadInput and MachineLacks."""
    told = _read(file)
    try:
        experiment = Experiment.recorded(told["experiment"])
        alone = told["state"]
        torn = tuple((int(number), tuple(sectors)) for number, sectors in alone["torn"])
        state = State(alone["start"], alone["to"], tuple(alone["without"]), torn, alone["of"])
        ledger = [survival.Acknowledgement(*line) for line in told["acknowledged"]]
        log = file.with_name(told["log"])
        cells = [
            cell for cell in plan_of(experiment, cuts=True).cells if cell.id == told["cell"].partition("-seed-")[0]
        ]
        cell = dataclasses.replace(cells[0], seed=told["seed"])
    except (KeyError, TypeError, ValueError, IndexError, ValidationError):
        raise BadInput(
            f"{file}: is no state of a disk that acidtest wrote", "give a file that acidtest powercut wrote"
        ) from None
    if not log.is_file():
        raise BadInput(f"{log}: no such file", "keep it beside the state that names it")
    check_machine(cell.place)
    engine = describe(experiment, cell.engine)
    engine.ready()
    with ExitStack() as held:
        ledger_of_things = Ledger()
        held.callback(ledger_of_things.close)
        place = DirectoryPlace(file.parent.absolute(), ledger_of_things, needed_bytes=0)
        held.callback(place.release)
        template = Templates(place, ledger_of_things).get(cell, engine, lambda event: None)
        home = DirectoryPlace(place.path, ledger_of_things, needed_bytes=0)
        held.callback(home.release)
        size_mb = max(told["size_bytes"] >> 20, image_mb(cell.place, template_bytes(cell.workload, engine)))
        drive = drives(cell, home, ledger_of_things, size_mb, None)
        held.callback(drive.release)
        trial = Trial(cell, engine, template, home, drive, ledger_of_things, blank=True)
        held.callback(trial.release)
        sector_bytes, records = crashstates.read(log)
        recorded = Recorded(log, records, 0, len(records), sector_bytes, 0, ledger)
        look = CutEvidence(survival.Evidence(needs_fate=trial.numbers))
        try:
            look_at_state(trial, recorded, state, look)
        except CellFailed as error:
            look.evidence.not_sound.append(error.message)
        verdict, reasons = survival.judge(look.evidence)
        return Replayed(told["cell"], list(told["reasons"]), verdict, reasons, look.evidence.fate)


def _read(file: Path) -> dict[str, Any]:
    try:
        told = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot be read: {error}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise BadInput(f"{file}: is no state of a disk that acidtest wrote", "give a file that acidtest powercut wrote")
    return told
