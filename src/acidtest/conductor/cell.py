"""Runs one cell: a fresh copy of the loaded template, the settings read back, the load, the checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from acidtest import __version__
from acidtest.conductor import foreign, watching
from acidtest.conductor.device import CellDevice
from acidtest.conductor.memory import CellMemory
from acidtest.conductor.rig import DiskFull, Start, converse
from acidtest.engine import Engine, Instance
from acidtest.engine.base import Launcher
from acidtest.engine.foreign import NOT_VERIFIED, ForeignServer
from acidtest.errors import CellFailed
from acidtest.experiment import WorkloadSpec
from acidtest.files import find_rig
from acidtest.journal.models import DatabaseSize, EngineFacts, Machine, PlaceFacts, Recording, SettingInForce, Warning
from acidtest.journal.protocol import (
    Checked,
    CheckPhase,
    ClosedLoop,
    CommitsWorkload,
    Count,
    Duration,
    Hello,
    IudWorkload,
    Job,
    Loaded,
    LoadPhase,
    NumberedWorkload,
    Observe,
    Observed,
    ObservedCalls,
    OltpWorkload,
    OpenLoop,
    OrdersWorkload,
    Pacing,
    Phase,
    Progress,
    Result,
    RunPhase,
    RunResult,
    ScanWorkload,
    Settings,
    TpcbWorkload,
    TpccWorkload,
    Workload,
)
from acidtest.place import DirectoryPlace, GuestPlace, Guests, Ledger, Place
from acidtest.place import make as make_place
from acidtest.place.facts import unseen
from acidtest.place.trees import is_full
from acidtest.plan import Cell

Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Template:
    """A sealed database and how its load went."""

    paths: list[Path]
    loaded: Loaded | None
    checked: Checked | None  # right after the load


@dataclass
class Templates:
    """Loaded databases, one for each engine, file-shaping setting and size; made when first needed."""

    place: Place
    ledger: Ledger
    _made: dict[str, Template] = field(default_factory=dict)

    def get(self, cell: Cell, engine: Engine, watch: Watch) -> Template:
        """The sealed database that ``cell`` starts from."""
        key = template_key(cell, engine)
        if key not in self._made:
            directory = self.place.subdirectory("template")
            try:
                made = self._load(cell, engine, directory, watch)
            except BaseException:
                self.place.remove(directory)
                raise
            kept = directory.rename(directory.with_name(f"template-{len(self._made) + 1}"))
            self._made[key] = Template([kept / path.name for path in made.paths], made.loaded, made.checked)
        return self._made[key]

    def _load(self, cell: Cell, engine: Engine, directory: Path, watch: Watch) -> Template:
        instance = engine.create(directory, cell.settings)
        try:
            instance.start(self.ledger)
            workload = workload_of(cell.workload)
            phases: list[Phase] = [LoadPhase(sessions=os.cpu_count() or 1), CheckPhase()]
            job = Job(seed=cell.seed, target=instance.target(), workload=workload, inspect=[], phases=phases)
            loaded = checked = None
            for event in converse(job, self.ledger, instance.environment()):
                if isinstance(event, Progress):
                    watch(event)
                elif isinstance(event, Loaded):
                    loaded = event
                elif isinstance(event, Checked):
                    checked = event
            instance.seal()
            return Template([directory / path.name for path in instance.database_files()], loaded, checked)
        finally:
            instance.release()


def template_key(cell: Cell, engine: Engine) -> str:
    """Cells with the same key start from the same loaded database."""
    shaping = {name: cell.settings.get(name) for name, spec in engine.setting_specs().items() if spec.shapes_files}
    loaded = workload_of(cell.workload).model_dump_json(exclude={"read"})  # in whichever way it will be read
    return f"{engine.id} {sorted(shaping.items())} {loaded}"


def run_cell(
    cell: Cell,
    engine: Engine,
    place: DirectoryPlace,
    templates: Templates,
    guests: Guests,
    ledger: Ledger,
    machine: Machine,
    place_read: PlaceFacts,
    watch: Watch,
) -> Recording:
    """Run ``cell`` and return its recording, whatever became of it; only DiskFull and bugs are raised."""

    def work(seen: CellOutcome) -> None:
        if isinstance(engine, ForeignServer):
            _on_foreign_server(cell, engine, place, ledger, watch, seen)
        else:
            _on_copy_of_template(cell, engine, place, templates, guests, ledger, watch, seen)

    return recorded(cell, engine, place, machine, place_read, work)


def recorded(
    cell: Cell,
    engine: Engine,
    base: DirectoryPlace,
    machine: Machine,
    base_read: PlaceFacts,
    work: Callable[[CellOutcome], None],
) -> Recording:
    """Do ``work`` and return the recording of what it has seen, as far as it came; ``base`` is the run's own place."""
    seen = CellOutcome()
    started_at = _now()
    reason: str | None = None
    try:
        work(seen)
    except (DiskFull, OSError) as error:
        if on_base(cell, base) or not (isinstance(error, DiskFull) or is_full(error)):
            raise
        reason = f"the place is full: {error}: raise place.size_mb"
    except CellFailed as error:
        reason = error.message
    status: Any = "failed" if reason else "done"
    if seen.died:
        status, reason = "invalid", f"the server died in mid-run: {seen.died}"
    elif not reason and (wrong := _invalid(seen)):
        status, reason = "invalid", wrong
    if seen.memory and (wrong := seen.memory.wrong()):
        status, reason = "invalid", wrong
    workload = seen.workload or cell.workload
    return Recording(
        cell=cell.id,
        levels=dict(cell.levels),
        repetition=cell.repetition,
        order=cell.order,
        seed=cell.seed,
        status=status,
        reason=reason,
        started_at=started_at,
        ended_at=_now(),
        acidtest_version=__version__,
        workload={"name": cell.workload_name, **workload.model_dump()},
        durability=cell.durability,
        durability_means=engine.durability(cell.durability, cell.settings).means,
        engine=_facts(cell, engine, seen),
        settings=seen.all_settings(),
        machine=seen.machine or machine,
        place=_place_facts(cell, engine, base, base_read, seen),
        database_bytes=seen.database_bytes,
        checks_before=seen.before,
        checks_after=seen.after,
        load=seen.loaded,
        memory=seen.memory.record(seen.settings, workload.terminals) if seen.memory else None,
        database_size=seen.grown,
        device=seen.device.record() if seen.device else None,
        result=seen.result,
        calls=seen.calls,
        warnings=[*seen.warnings, *_by_client(cell, engine), *watching.doubts(seen.calls), *_found(engine, seen)],
        engine_log=seen.log,
    )


def _on_copy_of_template(
    cell: Cell,
    engine: Engine,
    place: DirectoryPlace,
    templates: Templates,
    guests: Guests,
    ledger: Ledger,
    watch: Watch,
    seen: CellOutcome,
) -> None:
    template = templates.get(cell, engine, watch)
    seen.loaded = template.loaded
    with _place_of(cell, engine, place, guests, ledger) as made:
        seen.see(made)
        if all(setting.agrees for setting in seen.place_settings):  # else the cell is invalid already
            _on_copy(cell, engine, made, template, ledger, watch, seen)
            seen.see(made)


def _on_copy(
    cell: Cell, engine: Engine, place: Place, template: Template, ledger: Ledger, watch: Watch, seen: CellOutcome
) -> None:
    directory = place.subdirectory("cell")
    try:
        place.copy(template.paths, directory)
        measure(cell, engine, place, directory, ledger, watch, seen, checked=template.checked)
    finally:
        place.remove(directory)


def measure(
    cell: Cell,
    engine: Engine,
    place: Place,
    directory: Path,
    ledger: Ledger,
    watch: Watch,
    seen: CellOutcome,
    *,
    checked: Checked | None = None,
    then: Callable[[Instance, Launcher], None] | None = None,
) -> None:
    """Start the engine over the database in ``directory`` and run the cell's work, in its limits.

    ``checked`` stands for the check before the run where the file cache must stay untouched. ``then`` is done with the
    engine when the work went well, before it is let go of.
    """
    with CellMemory(cell.place, ledger) as memory:
        seen.memory = memory
        instance = engine.adopt(directory, cell.settings, cell.durability)
        try:
            place.settle()
            seen.database_bytes = place.database_bytes(instance.database_files())
            memory.begin(instance)
            if not isinstance(place, GuestPlace):
                seen.device = CellDevice(instance.database_files()[0], timed=cell.workload.count is None)
            instance.start(memory.launched)
            try:
                if memory.stays_untouched and checked:
                    seen.before = checked
                launcher = memory.launched if engine.mode(cell.settings) == "embedded" else ledger
                start = partial(place.rig, find_rig(), engine.files()) if isinstance(place, GuestPlace) else None
                with watching.watched(cell, ledger, memory.launched.pids(), directory) as observe:
                    _converse(cell, instance, launcher, watch, seen, start=start, observe=observe)
                if seen.calls and (log := place.disk_log()):
                    seen.calls = watching.with_disk(seen.calls, log)
            finally:
                seen.died = instance.died()
            if then and not seen.died:
                then(instance, launcher)
        finally:
            seen.log, seen.log_findings = instance.log(), instance.log_findings()
            instance.release()


@contextmanager
def _place_of(cell: Cell, engine: Engine, base: DirectoryPlace, guests: Guests, ledger: Ledger) -> Iterator[Place]:
    """The place that the cell asks for, made for it and released after it; ``base`` itself where that is meant."""
    if cell.place.kind != "guest":
        guests.end()
    if on_base(cell, base):
        yield base
        return
    place = make_place(
        cell.place,
        base.path,
        ledger,
        database_bytes=template_bytes(cell.workload, engine),
        guests=guests,
        logged=cell.workload.observe,
    )
    try:
        yield place
    finally:
        place.release()


def _place_facts(
    cell: Cell, engine: Engine, base: DirectoryPlace, base_read: PlaceFacts, seen: CellOutcome
) -> PlaceFacts:
    if not engine.private:
        return unseen("server", engine.facts().source)
    if on_base(cell, base):
        return base_read
    return seen.place or unseen(cell.place.kind, cell.place.device or cell.place.path or str(base.path.parent))


def on_base(cell: Cell, base: DirectoryPlace) -> bool:
    """Whether the cell's databases lie in ``base``, where the templates are."""
    spec = cell.place
    return spec.kind == "directory" and (spec.path is None or Path(spec.path).resolve() == base.path.parent)


def _on_foreign_server(
    cell: Cell, engine: ForeignServer, place: DirectoryPlace, ledger: Ledger, watch: Watch, seen: CellOutcome
) -> None:
    """Loaded anew for each cell: nothing of a server that is not ours can be copied."""
    seen.log_findings = [NOT_VERIFIED]
    instance = engine.adopt(place.path, cell.settings, cell.durability)
    foreign.clear(instance, ledger, for_good=False)
    try:
        _converse(cell, instance, ledger, watch, seen, [LoadPhase(sessions=os.cpu_count() or 1)])
    finally:
        foreign.clear(instance, ledger, for_good=True)


@dataclass
class CellOutcome:
    """What a cell has shown so far."""

    engine_version: str = ""
    answers: list[Settings] = field(default_factory=list)
    settings: list[SettingInForce] = field(default_factory=list)
    place: PlaceFacts | None = None
    machine: Machine | None = None  # where it is not this one
    place_settings: list[SettingInForce] = field(default_factory=list)
    workload: WorkloadSpec | None = None  # in force, where it is not the cell's
    wrong: str | None = None  # why the numbers must not be used, whatever else was seen
    check_before: bool = True  # whether the run is to be checked
    check_after: bool = True
    before: Checked | None = None
    after: Checked | None = None
    grown: DatabaseSize | None = None
    warnings: list[Warning] = field(default_factory=list)
    loaded: Loaded | None = None
    result: RunResult | None = None
    calls: ObservedCalls | None = None
    database_bytes: int = 0
    died: str | None = None
    memory: CellMemory | None = None
    device: CellDevice | None = None
    log: str = ""
    log_findings: list[str] = field(default_factory=list)

    def all_settings(self) -> list[SettingInForce]:
        """The engine's, then the place's and the memory's."""
        return [*self.settings, *self.place_settings, *(self.memory.settings() if self.memory else [])]

    def see(self, place: Place) -> None:
        """Read back the storage."""
        self.place, self.place_settings = place.facts(), place.settings()
        if isinstance(place, GuestPlace):
            self.machine = place.machine()


def _converse(
    cell: Cell,
    instance: Instance,
    launcher: Launcher,
    watch: Watch,
    seen: CellOutcome,
    before: Sequence[Phase] = (),
    start: Start | None = None,
    observe: Observe | None = None,
) -> None:
    # A check reads the whole database. Where the file cache must stay as it was made, the one after the load stands
    # for the check of its copy.
    before_run = [*before, CheckPhase()] if seen.check_before and not seen.before else before
    after_run = [CheckPhase()] if seen.check_after else []
    job = Job(
        seed=cell.seed,
        target=instance.target(),
        workload=workload_of(seen.workload or cell.workload),
        inspect=instance.inspections(),
        phases=[*before_run, run_phase(cell.workload), *after_run],
        observe=observe,
    )
    try:
        for event in converse(job, launcher, instance.environment(), start):
            match event:
                case Hello():
                    seen.engine_version = event.engine_version
                case Settings():
                    seen.answers.append(event)
                case Loaded():
                    seen.loaded = event
                case Checked() if seen.result is None:
                    seen.before = event
                case Checked():
                    seen.after = event
                case Result():
                    seen.result = RunResult.model_validate(event.model_dump(exclude={"event"}, by_alias=True))
                    if seen.device:
                        seen.device.measured()
                    if seen.memory:
                        seen.memory.measured(seen.result)
                case Observed():
                    seen.calls = ObservedCalls.model_validate(event.model_dump(exclude={"event"}))
                case Progress():
                    if seen.device:
                        seen.device.progress(event)
                    watch(event)
    finally:
        if seen.answers:
            seen.settings = instance.settings_in_force(seen.answers)


def _invalid(seen: CellOutcome) -> str | None:
    """Why the numbers of a finished cell must not be used, or None."""
    if seen.wrong:
        return seen.wrong
    wrong = [s for s in seen.all_settings() if not s.agrees]
    if not seen.settings and not wrong:
        return "the engine did not answer which settings are in force"
    if wrong:
        first = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return f"{first.name}: asked for {first.asked}, in force is {first.in_force} ({first.source}){more}"
    for when, checked in (("before", seen.before), ("after", seen.after)):
        if checked and (broken := broken_in(checked)):
            return f"consistency {when} the run: {broken}"
    if seen.result is None or (seen.check_before and not seen.before) or (seen.check_after and not seen.after):
        return "the rig ended without a result or a consistency check"
    if seen.result.counts.committed == 0:
        return "no transaction was committed"
    return None


def broken_in(checked: Checked) -> str | None:
    """The first condition that does not hold."""
    broken = next((condition for condition in checked.conditions if not condition.holds), None)
    return f"{broken.name} does not hold: {broken.detail}" if broken else None


def _by_client(cell: Cell, engine: Engine) -> list[Warning]:
    if cell.workload.kind != "orders" or engine.has_procedures:
        return []
    text = f"{engine.id} has no stored procedures: the client ran the statements of each call one by one."
    return [Warning(code="by-client", about="goodput_per_s", text=text)]


def _found(engine: Engine, seen: CellOutcome) -> list[Warning]:
    code = "engine-log" if engine.private else "not-verified"
    return [Warning(code=code, about="settings", text=text) for text in seen.log_findings]


def _facts(cell: Cell, engine: Engine, seen: CellOutcome) -> EngineFacts:
    facts = engine.facts()
    told = {"version": seen.engine_version or facts.version, "mode": engine.mode(cell.settings)}
    return facts.model_copy(update=told)


def workload_of(spec: WorkloadSpec) -> Workload:
    """The workload in the rig's words."""
    match spec.kind:
        case "commits":
            return CommitsWorkload(row_bytes=spec.row_bytes)
        case "tpcb":
            return TpcbWorkload(scale=spec.scale)
        case "tpcc":
            return TpccWorkload(
                warehouses=spec.warehouses,
                percent=spec.warehouse_percent,
                procedures=spec.procedures,
                keying=spec.keying,
                roaming=spec.roaming,
            )
        case "orders":
            return OrdersWorkload(
                products=spec.products, orders_per_call=spec.orders_per_call, repeatable=spec.repeatable
            )
        case "iud":
            return IudWorkload(rows=spec.rows)
        case "scan":
            return ScanWorkload(size_mb=spec.size_mb, read=spec.read)
        case "oltp":
            return OltpWorkload(tables=spec.tables, table_rows=spec.table_rows)
        case "numbered":
            return NumberedWorkload(terminals=spec.terminals, parts=spec.parts, row_bytes=spec.row_bytes)


def run_phase(spec: WorkloadSpec) -> RunPhase:
    """The workload's parameters in the rig's words."""
    pacing: Pacing = (
        ClosedLoop(think_ms=spec.think_ms)
        if spec.rate_per_s is None
        else OpenLoop(rate_per_s=spec.rate_per_s, arrivals=spec.arrivals)
    )
    return RunPhase(
        terminals=spec.terminals,
        threads=spec.threads,
        pacing=pacing,
        warmup_s=spec.warmup_s,
        extent=Count(transactions=spec.count) if spec.count else Duration(seconds=spec.duration_s or 0),
        retries=spec.retries,
    )


def template_bytes(spec: WorkloadSpec, engine: Engine) -> int:
    """About how large a loaded database of this workload is, on the generous side, for the free-space check."""
    transactions = spec.count or (spec.duration_s or 0) * (spec.rate_per_s or 20_000)
    rows, row_bytes = {"commits": (1, spec.row_bytes), "numbered": (2 * spec.parts, spec.row_bytes)}.get(
        spec.kind, (1, 20)
    )
    history = int(transactions * rows * (row_bytes + 100))
    if spec.kind == "scan":
        history = spec.size_mb * 1_200_000 if spec.read == "sorted" else 0  # what is sorted outside of memory
    loaded = {
        "commits": 0,
        "tpcb": spec.scale * 20_000_000,
        "tpcc": spec.warehouses * spec.warehouse_percent * 1_600_000,
        "orders": spec.products * 400,
        "iud": spec.rows * 400,
        "scan": spec.size_mb * 1_300_000,
        "oltp": spec.tables * spec.table_rows * 400,
        "numbered": spec.terminals * 2 * spec.parts * (spec.row_bytes + 100),
    }[spec.kind]
    return engine.empty_bytes + loaded + history


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
