"""Databases that cells start from: each is loaded once, or taken from a file of the user's, checked, sealed, and copied
as often as needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from acidtest.conductor.rig import converse, job_for, load_phase
from acidtest.engine import Engine, Instance
from acidtest.engine.program import Program
from acidtest.errors import CellFailed, message_of
from acidtest.journal.protocol import Checked, CheckPhase, Loaded, Phase, Progress
from acidtest.place import Ledger, Place
from acidtest.place.holders import is_held
from acidtest.place.trees import copy_file
from acidtest.plan import Cell
from acidtest.workload import WorkloadSpec
from acidtest.workload.base import OfTheUser

Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Template:
    """A sealed database and how its load went."""

    paths: list[Path]
    loaded: Loaded | None
    checked: Checked | None  # right after the load
    workload: WorkloadSpec  # that it was loaded and checked for; another one may read the same rows in another way


@dataclass
class Templates:
    """Loaded databases, one for each engine, file-shaping setting and size; made when first needed."""

    place: Place
    ledger: Ledger
    _made: dict[str, Template] = field(default_factory=dict)

    def get(self, cell: Cell, engine: Engine, watch: Watch) -> Template:
        """The sealed database that ``cell`` starts from. Raises CellFailed where it cannot be loaded.

        None of a program, which begins with what its ``setup`` makes on the disk.
        """
        if isinstance(engine, Program):
            return Template([], None, None, cell.workload)
        key = template_key(cell, engine)
        if key not in self._made:
            directory = self.place.subdirectory("template")
            try:
                made = self._load(cell, engine, directory, watch)
            except BaseException:
                self.place.remove(directory)
                raise
            kept = directory.rename(directory.with_name(f"template-{len(self._made) + 1}"))
            self._made[key] = replace(made, paths=[kept / path.name for path in made.paths])
        return self._made[key]

    def _load(self, cell: Cell, engine: Engine, directory: Path, watch: Watch) -> Template:
        own = cell.workload.of_the_user()
        instance = engine.instance(directory, cell.settings, None) if own else engine.create(directory, cell.settings)
        try:
            if own:
                _copy_own(own, instance)
                instance.configure()
            instance.start(self.ledger)
            phases: list[Phase] = [CheckPhase()] if own else [load_phase(), CheckPhase()]
            job = job_for(cell, instance, phases)
            loaded = checked = None
            with closing(converse(job, self.ledger, instance.environment())) as events:
                for event in events:
                    if isinstance(event, Progress):
                        watch(event)
                    elif isinstance(event, Loaded):
                        loaded = event
                    elif isinstance(event, Checked):
                        checked = event
            instance.seal()
            paths = [directory / path.name for path in instance.database_files()]
            return Template(paths, loaded, checked, cell.workload)
        finally:
            instance.release()


def _copy_own(own: OfTheUser, instance: Instance) -> None:
    """Put a copy of the user's file where the instance has its database.

    Raises CellFailed where it cannot be copied as it was when the experiment was read.
    """
    assert own.file is not None, "a server's database is no template"
    [target] = instance.database_files()
    if is_held([own.file]):
        raise CellFailed(
            f"{own.file}: another program has it open, and a copy might be half of a change: end that first"
        )
    try:
        copy_file(own.file.resolve(), target)
        with target.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CellFailed(f"{own.file}: could not be copied: {message_of(error)}") from None
    if digest != own.sha256:
        raise CellFailed(f"{own.file}: has changed since the experiment was read: run the same command again")


def template_keys(cells: Iterable[Cell], engines: Mapping[str, Engine]) -> dict[str, Cell]:
    """A cell of each key. What follows from a workload alone is worked out once, for many cells share one."""
    # Of cells that have engine, workload and settings in common one each: the others need no other database.
    differing = {(cell.engine, id(cell.workload), *cell.settings.items()): cell for cell in cells}.values()
    databases = {
        id(cell.workload): cell.workload.loaded_text() for cell in {id(c.workload): c for c in differing}.values()
    }
    return {_key(cell, engines[cell.engine], databases[id(cell.workload)]): cell for cell in differing}


def template_key(cell: Cell, engine: Engine) -> str:
    """Cells with the same key start from the same loaded database."""
    return _key(cell, engine, cell.workload.loaded_text())


def _key(cell: Cell, engine: Engine, database: str) -> str:
    shaping = {name: cell.settings.get(name) for name, spec in engine.setting_specs().items() if spec.shapes_files}
    return f"{engine.id} {sorted(shaping.items())} {database}"


def template_bytes(spec: WorkloadSpec, engine: Engine) -> int:
    """About how large a loaded database of this workload gets, on the generous side, for the free-space check."""
    return engine.empty_bytes + spec.loaded_bytes() + spec.history_bytes()
