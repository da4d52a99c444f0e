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
from acidtest.engine import Engine, Instance
from acidtest.engine.base import Launcher
from acidtest.engine.foreign import NOT_VERIFIED, ForeignServer
from acidtest.errors import CellFailed
from acidtest.experiment import WorkloadSpec
from acidtest.journal.models import EngineFacts, Machine, PlaceFacts, Recording, SettingInForce, Warning
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
from acidtest.runner import foreign
from acidtest.runner.memory import CellMemory
from acidtest.runner.rig import DiskFull, Start, converse, find_rig

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
            workload = _workload(cell.workload)
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
    loaded = _workload(cell.workload).model_dump_json(exclude={"read"})  # in whichever way it will be read
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
    seen = _Seen()
    started_at = _now()
    reason: str | None = None
    try:
        if isinstance(engine, ForeignServer):
            _on_foreign_server(cell, engine, place, ledger, watch, seen)
        else:
            _on_copy_of_template(cell, engine, place, templates, guests, ledger, watch, seen)
    except (DiskFull, OSError) as error:
        if _on(cell, place) or not (isinstance(error, DiskFull) or is_full(error)):
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
        workload={"name": cell.workload_name, **cell.workload.model_dump()},
        durability=cell.durability,
        durability_means=engine.durability(cell.durability, cell.settings).means,
        engine=_facts(cell, engine, seen),
        settings=seen.all_settings(),
        machine=seen.machine or machine,
        place=_place_facts(cell, engine, place, place_read, seen),
        database_bytes=seen.database_bytes,
        checks_before=seen.checks[0] if seen.checks else None,
        checks_after=seen.checks[1] if len(seen.checks) > 1 else None,
        load=seen.loaded,
        memory=seen.memory.record(seen.settings, cell.workload.terminals) if seen.memory else None,
        result=seen.result,
        warnings=[*_by_client(cell, engine), *_found(engine, seen)],
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
    seen: _Seen,
) -> None:
    template = templates.get(cell, engine, watch)
    seen.loaded = template.loaded
    with _place_of(cell, engine, place, guests, ledger) as made:
        seen.see(made)
        if all(setting.agrees for setting in seen.place_settings):  # else the cell is invalid already
            _on_copy(cell, engine, made, template, ledger, watch, seen)
            seen.see(made)


def _on_copy(
    cell: Cell, engine: Engine, place: Place, template: Template, ledger: Ledger, watch: Watch, seen: _Seen
) -> None:
    directory = place.subdirectory("cell")
    try:
        place.copy(template.paths, directory)
        with CellMemory(cell.place, ledger) as memory:
            seen.memory = memory
            instance = engine.adopt(directory, cell.settings, cell.durability)
            try:
                place.settle()
                seen.database_bytes = place.database_bytes(instance.database_files())
                memory.begin(instance)
                instance.start(memory.launched)
                try:
                    if memory.stays_untouched and template.checked:
                        seen.checks.append(template.checked)
                    launcher = memory.launched if engine.mode(cell.settings) == "embedded" else ledger
                    start = partial(place.rig, find_rig(), engine.files()) if isinstance(place, GuestPlace) else None
                    _converse(cell, instance, launcher, watch, seen, start=start)
                finally:
                    seen.died = instance.died()
            finally:
                seen.log, seen.log_findings = instance.log(), instance.log_findings()
                instance.release()
    finally:
        place.remove(directory)


@contextmanager
def _place_of(cell: Cell, engine: Engine, base: DirectoryPlace, guests: Guests, ledger: Ledger) -> Iterator[Place]:
    """The place that the cell asks for, made for it and released after it; ``base`` itself where that is meant."""
    if cell.place.kind != "guest":
        guests.end()
    if _on(cell, base):
        yield base
        return
    place = make_place(
        cell.place, base.path, ledger, database_bytes=template_bytes(cell.workload, engine), guests=guests
    )
    try:
        yield place
    finally:
        place.release()


def _place_facts(cell: Cell, engine: Engine, base: DirectoryPlace, base_read: PlaceFacts, seen: _Seen) -> PlaceFacts:
    if not engine.private:
        return unseen("server", engine.facts().source)
    if _on(cell, base):
        return base_read
    return seen.place or unseen(cell.place.kind, cell.place.device or cell.place.path or str(base.path.parent))


def _on(cell: Cell, base: DirectoryPlace) -> bool:
    """Whether the cell's databases lie in ``base``, where the templates are."""
    spec = cell.place
    return spec.kind == "directory" and (spec.path is None or Path(spec.path).absolute() == base.path.parent)


def _on_foreign_server(
    cell: Cell, engine: ForeignServer, place: DirectoryPlace, ledger: Ledger, watch: Watch, seen: _Seen
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
class _Seen:
    """What a cell has shown so far."""

    engine_version: str = ""
    answers: list[Settings] = field(default_factory=list)
    settings: list[SettingInForce] = field(default_factory=list)
    place: PlaceFacts | None = None
    machine: Machine | None = None  # where it is not this one
    place_settings: list[SettingInForce] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)
    loaded: Loaded | None = None
    result: RunResult | None = None
    database_bytes: int = 0
    died: str | None = None
    memory: CellMemory | None = None
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
    seen: _Seen,
    before: Sequence[Phase] = (),
    start: Start | None = None,
) -> None:
    # A check reads the whole database. Where the file cache must stay as it was made, the one after the load stands
    # for the check of its copy.
    checked = [] if seen.checks else [CheckPhase()]
    job = Job(
        seed=cell.seed,
        target=instance.target(),
        workload=_workload(cell.workload),
        inspect=instance.inspections(),
        phases=[*before, *checked, run_phase(cell.workload), CheckPhase()],
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
                case Checked():
                    seen.checks.append(event)
                case Result():
                    seen.result = RunResult.model_validate(event.model_dump(exclude={"event"}, by_alias=True))
                    if seen.memory:
                        seen.memory.measured(seen.result)
                case Progress():
                    watch(event)
    finally:
        if seen.answers:
            seen.settings = instance.settings_in_force(seen.answers)


def _invalid(seen: _Seen) -> str | None:
    """Why the numbers of a finished cell must not be used, or None."""
    wrong = [s for s in seen.all_settings() if not s.agrees]
    if not seen.settings and not wrong:
        return "the engine did not answer which settings are in force"
    if wrong:
        first = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return f"{first.name}: asked for {first.asked}, in force is {first.in_force} ({first.source}){more}"
    for when, checked in zip(("before", "after"), seen.checks, strict=False):
        broken = next((c for c in checked.conditions if not c.holds), None)
        if broken:
            return f"consistency {when} the run: {broken.name} does not hold: {broken.detail}"
    if seen.result is None or len(seen.checks) < 2:
        return "the rig ended without a result or a consistency check"
    if seen.result.counts.committed == 0:
        return "no transaction was committed"
    return None


def _by_client(cell: Cell, engine: Engine) -> list[Warning]:
    if cell.workload.kind != "orders" or engine.has_procedures:
        return []
    text = f"{engine.id} has no stored procedures: the client ran the statements of each call one by one."
    return [Warning(code="by-client", about="goodput_per_s", text=text)]


def _found(engine: Engine, seen: _Seen) -> list[Warning]:
    code = "engine-log" if engine.private else "not-verified"
    return [Warning(code=code, about="settings", text=text) for text in seen.log_findings]


def _facts(cell: Cell, engine: Engine, seen: _Seen) -> EngineFacts:
    facts = engine.facts()
    told = {"version": seen.engine_version or facts.version, "mode": engine.mode(cell.settings)}
    return facts.model_copy(update=told)


def _workload(spec: WorkloadSpec) -> Workload:
    match spec.kind:
        case "commits":
            return CommitsWorkload(row_bytes=spec.row_bytes)
        case "tpcb":
            return TpcbWorkload(scale=spec.scale)
        case "tpcc":
            return TpccWorkload(warehouses=spec.warehouses, procedures=spec.procedures, keying=spec.keying)
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
    history = int(transactions * (spec.row_bytes + 100 if spec.kind == "commits" else 120))
    if spec.kind == "scan":
        history = spec.size_mb * 1_200_000 if spec.read == "sorted" else 0  # what is sorted outside of memory
    loaded = {
        "commits": 0,
        "tpcb": spec.scale * 20_000_000,
        "tpcc": spec.warehouses * 160_000_000,
        "orders": spec.products * 400,
        "iud": spec.rows * 400,
        "scan": spec.size_mb * 1_300_000,
        "oltp": spec.tables * spec.table_rows * 400,
    }[spec.kind]
    return engine.empty_bytes + loaded + history


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
