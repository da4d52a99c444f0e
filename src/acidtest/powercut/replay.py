"""The state of a disk in a state file, inspected again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from acidtest.analysis import disk_log
from acidtest.conductor.engines import describe
from acidtest.conductor.template import Templates, template_bytes
from acidtest.errors import CellFailed
from acidtest.journal.models import Fate, FilesLeft
from acidtest.place import DirectoryPlace, Ledger, check_machine
from acidtest.place.making import image_mb
from acidtest.powercut import state_file
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.conductor import Disks, trial_on
from acidtest.powercut.crash_states import Logged
from acidtest.powercut.drives import Drives, announcement_of, is_unannounced, simulated
from acidtest.powercut.exploration import inspect_state
from acidtest.powercut.recorded_load import RecordedLoad
from acidtest.powercut.replicated import ReplicatedTrial


@dataclass(frozen=True)
class Replayed:
    """What a state shows now, and why it was kept."""

    cell: str
    reasons_before: list[str]
    judgement: Judgement
    fate: Fate | None
    announced: str  # who announces what is lost, and what; "" where nothing is lost, or nobody does
    is_program: bool = False
    files: FilesLeft | None = None  # that are in it; None of state files of older versions
    writes: Sequence[Logged] = ()  # and flushes of the load, up to a crash state; () of any other


def replay(file: Path, drives: Drives = simulated) -> Replayed:
    """Build the state in ``file`` on a new disk and inspect it again. Raises BadInput and MachineLacks."""
    kept = state_file.read(file)
    cell = kept.cell
    check_machine(cell.place)
    engine = describe(kept.experiment, cell.engine)
    engine.ready()
    with ExitStack() as held:
        ledger = Ledger()
        held.callback(ledger.close)
        place = DirectoryPlace(file.parent.absolute(), ledger, needed_bytes=0)
        held.callback(place.release)
        template = Templates(place, ledger).get(cell, engine, lambda event: None)
        size_mb = max(kept.size_bytes >> 20, image_mb(cell.place, template_bytes(cell.workload, engine)))
        disks = Disks(held, cell, place.path, ledger, drives, size_mb)
        trial = trial_on(disks, engine, template, blank=True)
        evidence = trial.evidence()
        evidence.replication = kept.replication
        try:
            if isinstance(trial, ReplicatedTrial):
                trial.look_again(kept.state, kept.log, kept.acknowledged, evidence)
            else:
                sector_bytes, records = disk_log.read(kept.log)
                load = RecordedLoad(kept.log, records, 0, len(records), sector_bytes, 0, kept.acknowledged)
                inspect_state(trial, load, kept.state, evidence)
        except CellFailed as error:
            evidence.inspection_error = error.message
        judgement, by = trial.judged(evidence), announcement_of(cell, engine, evidence)
        text = "" if judgement.verdict != "lost" or is_unannounced(judgement, by) else by.reason
        shown = evidence.is_program, kept.files, kept.writes
        return Replayed(cell.id, kept.reasons, judgement, evidence.fate, text, *shown)
