"""The conductor of ordinary experiments: every cell has a fresh copy of a loaded template."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from acidtest.conductor import foreign
from acidtest.conductor.base import Begun, Conductor, Ended, RunContext, Steps
from acidtest.conductor.cell import measure, read_back, recorded, run_in_rig
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import load_phase
from acidtest.conductor.rig_work import RigWork
from acidtest.conductor.template import Template, template_bytes, template_keys
from acidtest.engine import Engine
from acidtest.engine.foreign import NOT_VERIFIED, ForeignServer
from acidtest.place import Place, image_bytes
from acidtest.place import make as make_place
from acidtest.plan import Cell, time_left


class Grid(Conductor):
    """Cells one after another, in the plan's order."""

    def __init__(self) -> None:
        self._took: list[tuple[Cell, float]] = []  # seconds of each that has ended

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        """The templates of these cells, and the largest of the cells."""
        templates = {
            key: template_bytes(cell.workload, engines[cell.engine])
            for key, cell in template_keys(cells, engines).items()
        }
        return sum(templates.values()) + max(_needed_by_one(cell, engines[cell.engine], parent) for cell in cells)

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        for cell in cells:
            yield Begun(cell)
            began = time.monotonic()
            recording = recorded(cell, context, partial(run_cell, cell, context))
            self._took.append((cell, time.monotonic() - began))
            yield Ended(cell, [recording])

    def left_s(self, cells: Sequence[Cell]) -> float:
        return time_left(cells, self._took)


def _needed_by_one(cell: Cell, engine: Engine, parent: Path) -> int:
    """Bytes that the cell itself takes in ``parent``, beside the templates."""
    if cell.place.path is not None and Path(cell.place.path) != parent:
        return 0
    copied = template_bytes(cell.workload, engine)
    if cell.place.kind == "guest":
        return image_bytes(cell.place, copied) + 2 * copied  # set up in a directory, and on its way in
    return copied if cell.place.kind == "directory" else image_bytes(cell.place, copied)


def run_cell(cell: Cell, context: RunContext, outcome: CellOutcome) -> None:
    """Run ``cell`` on a fresh copy of its template, or on the server that it is for."""
    engine = context.engine(cell)
    if isinstance(engine, ForeignServer):
        _on_foreign_server(cell, engine, context, outcome)
        return
    watch = partial(context.watcher.progress, cell)
    template = context.templates.get(cell, engine, watch)
    outcome.load = template.loaded
    with _place_of(cell, context) as place:
        read_back(place, outcome)
        if not any(setting.is_wrong for setting in outcome.place_settings):  # else the cell is invalid already
            _on_copy(cell, context, place, template, outcome)
            read_back(place, outcome)


@contextmanager
def _place_of(cell: Cell, context: RunContext) -> Iterator[Place]:
    """The place that the cell asks for, made for it and released after it; the run's own where that is meant."""
    if cell.place.kind != "guest":
        context.guests.end()
    if context.holds(cell):
        yield context.place
        return
    place = make_place(
        cell.place,
        context.place.path,
        context.ledger,
        database_bytes=template_bytes(cell.workload, context.engine(cell)),
        guests=context.guests,
        logged=cell.workload.observe,
    )
    try:
        yield place
    finally:
        place.release()


def _on_copy(cell: Cell, context: RunContext, place: Place, template: Template, outcome: CellOutcome) -> None:
    directory = place.subdirectory("cell")
    try:
        place.copy(template.paths, directory)
        measure(cell, context, place, directory, outcome, after_load=template)
    finally:
        place.remove(directory)


def _on_foreign_server(cell: Cell, engine: ForeignServer, context: RunContext, outcome: CellOutcome) -> None:
    """Loaded anew for each cell: nothing of a server that is not ours can be copied. What the user has prepared there
    stays as it is."""
    outcome.log_findings = [NOT_VERIFIED]
    instance = engine.adopt(context.place.path, cell.settings, cell.durability)
    work = RigWork(cell, context, instance, context.ledger, outcome)
    if (own := cell.workload.of_the_user()) is not None:
        if own.restore:
            foreign.restore(own, context.place.path, context.ledger)
        instance.is_prepared = True
        with foreign.started(instance, context.ledger):
            run_in_rig(work)
        return
    with foreign.started(instance, context.ledger):
        foreign.clear(instance, context.ledger, for_good=False)
        try:
            run_in_rig(work, before=[load_phase()])
        finally:
            foreign.clear(instance, context.ledger, for_good=True)
