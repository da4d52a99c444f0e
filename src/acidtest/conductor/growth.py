"""Runs the cells of databases that grow: each series has one, which is loaded to a size, measured there, loaded on.

A database is measured where it was loaded. Loads have the cell's own settings and limits, at the engine's weakest
durability level: what a load commits is not waited for, and the time that it takes to get all of it onto the drive in
the end is the load's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from acidtest.conductor.cell import CellOutcome, broken_in, measure, on_base, recorded
from acidtest.conductor.memory import CellMemory
from acidtest.conductor.rig import SILENCE_S, DiskFull, Standing, answered, converse
from acidtest.engine import Engine, Instance
from acidtest.engine.base import Launcher
from acidtest.errors import BadInput, CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.journal.models import SIZE, Grown, LoadSample, Machine, Recording, Warning
from acidtest.journal.protocol import (
    AskPhase,
    Checked,
    CheckPhase,
    Event,
    Job,
    Loaded,
    LoadPhase,
    Phase,
    Progress,
    RunResult,
)
from acidtest.place import DirectoryPlace, Ledger, Place, filecache, image_bytes, place_facts
from acidtest.place import make as make_place
from acidtest.place.trees import is_full
from acidtest.plan import Cell, GrowthPace, size_bytes
from acidtest.plan.estimate import EMPTY_BYTES
from acidtest.workload import GrowingWorkload

FIRST_SHARE = 0.85  # of a size that is loaded while nothing but an assumption says how large a warehouse gets
NEAR = 0.04  # of the size: what is missed by no more is not loaded after
FAR = 0.05  # what is missed by more is told
LOADS_MOST = 3  # for one size
ROOM = 1.25  # times what is added: what sorting for indexes takes, and the terminals' own rows
MARGIN_BYTES = 32_000_000
MOUNTED_SHARE = 0.9  # of an image that a file system leaves to its files
SAMPLES_MOST = 600
SLOW_BYTES_PER_S = 1e6  # no reading of a whole database is slower


@dataclass(frozen=True)
class Loading:
    """How far a load has come."""

    bytes: int
    of_bytes: int
    elapsed_s: float
    added_bytes: int  # by this load
    ended: bool = False

    @property
    def bytes_per_s(self) -> float:
        return self.added_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        speed = self.bytes_per_s
        return max(0, self.of_bytes - self.bytes) / speed if speed > 0 else None


class Watcher(Protocol):
    """Who is told how a load goes, and a run."""

    def progress(self, cell: Cell, event: Progress) -> None: ...
    def loading(self, cell: Cell, loading: Loading) -> None: ...


def admit(cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> None:
    """Raise BadInput where the largest size of a series does not fit, with what it needs."""
    for cell in _largest(cells, engines).values():
        engine, spec = engines[cell.engine], cell.place
        needed, size = _room_for(cell, engine), cell.size
        assert size is not None
        at = Path(spec.path or parent)
        what = f"{cell.series}: growing to {size.asked} needs about {needed / 1e6:,.0f} MB"
        if spec.size_mb is not None and spec.kind in ("loop", "disk") and (spec.size_mb << 20) * MOUNTED_SHARE < needed:
            raise BadInput(
                f"{what}, and place.size_mb is {spec.size_mb}",
                f"raise it to {_image_mb(needed)}, leave it out, or leave out the larger sizes",
            )
        if spec.kind != "directory":
            needed = image_bytes(_sized(spec, needed), needed)
        if spec.device is None and at.is_dir():
            free = _free(at)
            if free < needed:
                raise BadInput(
                    f"{what}, and {at} has {free / 1e6:,.0f} MB free",
                    "free some space, name another place, or leave out the larger sizes",
                )


class Growing:
    """The series of an experiment, one after another; ``cells`` are those that will be run, in their order."""

    def __init__(
        self,
        cells: Sequence[Cell],
        engines: Mapping[str, Engine],
        base: DirectoryPlace,
        ledger: Ledger,
        machine: Machine,
        watcher: Watcher,
        *,
        statistics: bool,
    ) -> None:
        self._engines, self._base, self._base_read = engines, base, place_facts(base.path)
        self._ledger, self._machine, self._watcher = ledger, machine, watcher
        self._statistics = statistics
        self._largest = _largest(cells, engines)
        self._last = {(cell.series, cell.levels[SIZE]): cell.id for cell in cells}
        self._warehouse_bytes: dict[str, float] = {}  # as measured, by what shapes them
        self._pace = GrowthPace({engine.id: engine.family for engine in engines.values()})
        self._series: _Series | None = None
        self._of_size: list[Recording] = []  # of the size at work

    def run(self, cell: Cell) -> list[Recording]:
        """Run ``cell``; its recording comes last, after those of earlier repetitions that it has proved wrong."""
        if self._series is None or self._series.name != cell.series:
            self.end()
            self._series = _Series(
                self._largest[cell.series],
                self._engines[cell.engine],
                self._base,
                self._ledger,
                self._warehouse_bytes,
                self._pace,
                statistics=self._statistics,
            )
        series = self._series
        if cell.levels[SIZE] != series.at:
            self._of_size = []
        is_last = self._last[cell.series, cell.levels[SIZE]] == cell.id

        def work(seen: CellOutcome) -> None:
            series.run(cell, seen, self._watcher, check_after=is_last)

        recording = recorded(cell, self._engines[cell.engine], self._base, self._machine, self._base_read, work)
        revised = []
        if recording.checks_after and (broken := broken_in(recording.checks_after)):
            reason = f"consistency after the last repetition of this size: {broken}"
            revised = [one.model_copy(update={"status": "invalid", "reason": reason}) for one in self._of_size]
        self._of_size.append(recording)
        return [*revised, recording]

    def left(self, remaining: Sequence[Cell]) -> float:
        """Seconds that ``remaining`` will take."""
        held = {self._series.name: self._series.bytes} if self._series else {}
        return self._pace.left(remaining, held)

    def end(self) -> None:
        """Remove the database that is held, and its place."""
        if self._series is not None:
            self._series.release()
            self._series = None


@dataclass
class _Load:
    """How the database came to the size that it has, and what it looked like there."""

    grown: Grown
    checked: Checked | None = None
    wrong: str | None = None  # why nothing that is measured at this size counts
    told: bool = False  # in a recording


@dataclass
class _Samples:
    """What a load has written over time, at most twice ``SAMPLES_MOST`` kept."""

    began: float = field(default_factory=time.monotonic)
    kept: list[LoadSample] = field(default_factory=list)
    _apart_s: float = 0.5

    def add(self, bytes_: int, rows: int, *, last: bool = False) -> float:
        at_s = time.monotonic() - self.began
        if last or not self.kept or at_s - self.kept[-1].at_s >= self._apart_s:
            self.kept.append(LoadSample(at_s=round(at_s, 3), bytes=bytes_, rows=rows))
        if len(self.kept) > SAMPLES_MOST and not last:
            del self.kept[1::2]
            self._apart_s *= 2
        return at_s


class _Series:
    """One database on its own place."""

    def __init__(
        self,
        largest: Cell,
        engine: Engine,
        base: DirectoryPlace,
        ledger: Ledger,
        warehouse_bytes: dict[str, float],
        pace: GrowthPace,
        *,
        statistics: bool,
    ) -> None:
        self.name = largest.series
        self.at: str | None = None  # the size that it was brought to
        self.bytes = 0
        self._largest, self._engine, self._base, self._ledger = largest, engine, base, ledger
        self._known, self._pace, self._statistics = warehouse_bytes, pace, statistics
        self._warehouses = 0
        self._place: Place | None = None
        self._directory: Path | None = None  # where the database is
        self._files: list[str] = []  # of the database, in that directory
        self._made = 0  # directories so far
        self._acknowledged: list[int] = []  # commits by kind, of all that was measured on it
        self._load: _Load | None = None
        self._ended: str | None = None  # why nothing more is measured

    # ------------------------------------------------------------------------------------------------ one cell

    def run(self, cell: Cell, seen: CellOutcome, watcher: Watcher, *, check_after: bool) -> None:
        """Bring the database to the cell's size, unless it is there, and measure. Raises CellFailed."""
        if self._ended:
            raise CellFailed(self._ended)
        try:
            place = self._opened(cell)
            if not on_base(cell, self._base):
                seen.see(place)
                if not all(setting.agrees for setting in seen.place_settings):
                    return  # invalid already
            self._measured(cell, place, seen, watcher, check_after=check_after)
        except (CellFailed, OSError) as error:
            full = isinstance(error, DiskFull) or (isinstance(error, OSError) and is_full(error))
            if isinstance(error, OSError) and not full:
                raise
            reason = f"{place_of(cell, self._base)} is full: {error}" if full else str(error)
            self._end(cell, reason)
            raise CellFailed(reason) from None
        broken = broken_in(seen.after) if seen.after else None
        if wrong := seen.wrong or broken or seen.died or (seen.memory and seen.memory.wrong()):
            self._end(cell, wrong)

    def _end(self, cell: Cell, reason: str) -> None:
        """Give up the database: what is in it is not known any more. What was measured before stays."""
        self._ended = f"the series ended at {cell.levels[SIZE]}, repetition {cell.repetition}: {reason}"
        self._abandon()

    def _measured(self, cell: Cell, place: Place, seen: CellOutcome, watcher: Watcher, *, check_after: bool) -> None:
        if self.at != cell.levels[SIZE]:
            self._load = self._brought(cell, place, watcher)
            self.at = cell.levels[SIZE]
        load = self._load
        assert load is not None
        carries = not load.told
        seen.workload = growing(cell).with_units(self._warehouses)
        seen.grown = load.grown if carries else load.grown.model_copy(update=_WITHOUT_LOAD)
        seen.before, seen.wrong = load.checked, load.wrong
        seen.warnings = _missed(load.grown)
        load.told = True
        if load.wrong:
            return
        seen.check_before = seen.check_after = False  # not in the midst of the run's own sessions
        began = time.monotonic()

        def then(instance: Instance, launcher: Launcher) -> None:
            self._count(seen.result)
            if check_after:
                seen.after = self._checked(cell, instance, launcher, watcher)
            instance.seal()

        watch = partial(watcher.progress, cell)
        measure(cell, self._engine, place, self._moved(place), self._ledger, watch, seen, then=then)
        seen.database_bytes = load.grown.bytes  # without logs, as the size was asked for
        place.settle()
        if not on_base(cell, self._base):
            seen.see(place)
        self._pace.measured(cell, time.monotonic() - began)

    def _count(self, result: RunResult | None) -> None:
        kinds = [kind.committed for kind in result.kinds] if result else []
        self._acknowledged = [a + b for a, b in zip_longest(self._acknowledged, kinds, fillvalue=0)]

    # ------------------------------------------------------------------------------------------------ its place

    def _opened(self, cell: Cell) -> Place:
        if self._place is None:
            if on_base(cell, self._base):
                self._place = self._base
            else:
                needed = _room_for(self._largest, self._engine)
                spec = _sized(cell.place, needed)
                logged = cell.workload.observe
                self._place = make_place(spec, self._base.path, self._ledger, database_bytes=needed, logged=logged)
        return self._place

    def release(self) -> None:
        self._abandon()

    def _abandon(self) -> None:
        place, directory = self._place, self._directory
        self._place = self._directory = None
        if place is self._base and directory is not None:
            place.remove(directory)
        elif place is not None and place is not self._base:
            place.release()

    def _moved(self, place: Place) -> Path:
        """A directory of its own for the next instance, with nothing in it but the database."""
        self._made += 1
        directory = place.subdirectory(f"grown-{self._made}")
        old, self._directory = self._directory, directory
        if old is not None:
            for name in self._files:
                (old / name).rename(directory / name)
            place.remove(old)
        return directory

    # ------------------------------------------------------------------------------------------------ loading

    def _brought(self, cell: Cell, place: Place, watcher: Watcher) -> _Load:
        """Load until the database has the cell's size; check it and look into it. Raises CellFailed."""
        if self._directory is None:
            self._create(cell, place)
        assert cell.size is not None
        target = size_bytes(cell, self._engine.family)
        with self._loading(cell, place) as (instance, launcher):
            self.bytes = _bytes_of(instance)
            before, bytes_before = self._warehouses, self.bytes if self._warehouses else 0
            self._make_sure_of_room(cell, place, target)
            samples = _Samples()
            rows = 0
            for part in range(LOADS_MOST):
                wanted = self._wanted(cell, target, part)
                if wanted <= self._warehouses:
                    break
                for event in self._load_to(cell, instance, launcher, wanted):
                    if isinstance(event, Loaded):
                        rows += event.rows
                    elif isinstance(event, Progress):
                        now = _bytes_of(instance)
                        at_s = samples.add(now, rows + event.done)
                        watcher.loading(cell, Loading(now, target, at_s, now - bytes_before))
                place.settle()
                self._learn(cell, instance, wanted)
            load_s = samples.add(self.bytes, rows, last=True)
            if rows:
                self._pace.loaded(cell, self.bytes - bytes_before, load_s)
                watcher.loading(cell, Loading(self.bytes, target, load_s, self.bytes - bytes_before, ended=True))
            load = self._looked(cell, instance, launcher, place, watcher)
            instance.seal()
            self.bytes = _bytes_of(instance)
            update: dict[str, Any] = {"warehouses": self._warehouses, "bytes": self.bytes}
            if rows:
                update |= {
                    "warehouses_before": before,
                    "bytes_before": bytes_before,
                    "load_s": load_s,
                    "load": samples.kept,
                }
            load.grown = load.grown.model_copy(update=update)
            return load

    def _create(self, cell: Cell, place: Place) -> None:
        self._directory = place.subdirectory("empty")
        instance = self._engine.create(self._directory, cell.settings)
        try:
            instance.seal()
            self._files = [path.name for path in instance.database_files()]
        finally:
            instance.release()

    @contextmanager
    def _loading(self, cell: Cell, place: Place) -> Iterator[tuple[Instance, Launcher]]:
        """The started engine over the database, as it loads, in the cell's memory limit."""
        engine = self._engine
        specs = engine.setting_specs()
        settings = {name: value for name, value in cell.settings.items() if not specs[name].by_level}
        memory = CellMemory(cell.place, self._ledger)
        try:
            with memory:
                instance = engine.adopt(self._moved(place), settings, engine.durability_levels()[0])
                try:
                    place.settle()
                    if cell.place.memory_mb is not None:
                        filecache.drop(filecache.files_below(instance.database_files()))
                    instance.start(memory.launched)
                    launcher = memory.launched if engine.mode(cell.settings) == "embedded" else self._ledger
                    yield instance, launcher
                finally:
                    instance.release()
        except CellFailed as error:
            if wrong := memory.wrong():
                raise CellFailed(f"while it was loaded: {wrong}") from None
            raise CellFailed(f"loading {cell.levels[SIZE]}: {error.message}") from None
        if wrong := memory.wrong():
            raise CellFailed(f"while it was loaded: {wrong}")

    def _load_to(self, cell: Cell, instance: Instance, launcher: Launcher, warehouses: int) -> Iterator[Event]:
        phase = LoadPhase(sessions=os.cpu_count() or 1, from_units=self._warehouses)
        job = self._job(cell, instance, warehouses, phase)
        yield from converse(job, launcher, instance.environment(), silence_s=self._patience_s(cell))

    def _job(self, cell: Cell, instance: Instance, warehouses: int, phase: Phase) -> Job:
        workload = growing(cell).with_units(warehouses).message()
        return Job(seed=cell.seed, target=instance.target(), workload=workload, inspect=[], phases=[phase])

    def _wanted(self, cell: Cell, target: int, part: int) -> int:
        """How many warehouses to load up to now."""
        assert cell.size is not None
        if cell.size.units is not None:
            return cell.size.units
        missing = target - (self.bytes if self._warehouses else self._fixed(cell))
        if part and missing <= NEAR * target:
            return self._warehouses
        known = self._known.get(self._shape(cell))
        if known is None:
            assumed = growing(cell).unit_bytes(self._engine.family)
            more = int(FIRST_SHARE * missing / assumed)
        else:
            more = round(missing / known)
        return max(self._warehouses + more, 1)

    def _learn(self, cell: Cell, instance: Instance, warehouses: int) -> None:
        # Over all of them: Firebird takes room by a sixteenth of its file, which would all count for the last few.
        self._warehouses, self.bytes = warehouses, _bytes_of(instance)
        if self.bytes > self._fixed(cell):
            self._known[self._shape(cell)] = (self.bytes - self._fixed(cell)) / warehouses

    def _fixed(self, cell: Cell) -> int:
        """What is assumed to be there beside warehouses."""
        family = self._engine.family
        return EMPTY_BYTES[family] + growing(cell).fixed_bytes(family)

    def _shape(self, cell: Cell) -> str:
        specs = self._engine.setting_specs()
        shaping = sorted((name, cell.settings.get(name)) for name, spec in specs.items() if spec.shapes_files)
        return f"{self._engine.id} {shaping} {growing(cell).shape()}"

    def _make_sure_of_room(self, cell: Cell, place: Place, target: int) -> None:
        added = max(0, target - self.bytes)
        logs = 0 if self._warehouses else self._engine.log_bytes(cell.settings)
        needed, free = int(ROOM * added) + logs + MARGIN_BYTES, _free(place.path)
        if added and free < needed:
            raise CellFailed(
                f"growing from {self.bytes / 1e6:,.0f} to {target / 1e6:,.0f} MB needs about {needed / 1e6:,.0f} MB, "
                f"and the place has {free / 1e6:,.0f} MB free"
            )

    # ------------------------------------------------------------------------------------------------ looking

    def _looked(self, cell: Cell, instance: Instance, launcher: Launcher, place: Place, watcher: Watcher) -> _Load:
        """Check the loaded database, and take its statistics."""
        began = time.monotonic()
        assert cell.size is not None
        grown = Grown(asked=cell.size.asked, asked_bytes=cell.size.bytes, warehouses=self._warehouses, bytes=self.bytes)
        load = _Load(grown)
        load.checked = self._checked(cell, instance, launcher, watcher)
        if load.checked and (broken := broken_in(load.checked)):
            load.wrong = f"consistency after the load: {broken}"
        elif self._statistics:
            standing = Standing(launcher)
            try:
                ask = partial(self._ask, cell, instance, launcher, standing)
                forget = partial(self._forget, instance, place)
                load.grown = grown.model_copy(update={"statistics": instance.statistics(ask, forget)})
            except CellFailed as error:
                load.wrong = f"statistics of the database: {error.message}"
                load.grown = grown.model_copy(update={"statistics_said": error.message})
            finally:
                standing.end()
        else:
            load.grown = grown.model_copy(update={"statistics_said": "growth.statistics = false"})
        self._pace.looked(cell, self.bytes, time.monotonic() - began)
        return load

    def _checked(self, cell: Cell, instance: Instance, launcher: Launcher, watcher: Watcher) -> Checked | None:
        """Whether the conditions hold, and at least as many commits are there as were acknowledged in all."""
        job = self._job(cell, instance, self._warehouses, CheckPhase(at_least=self._acknowledged))
        found = None
        for event in converse(job, launcher, instance.environment(), silence_s=self._patience_s(cell)):
            if isinstance(event, Checked):
                found = event
            elif isinstance(event, Progress):
                watcher.progress(cell, event)
        return found

    def _ask(
        self, cell: Cell, instance: Instance, launcher: Launcher, standing: Standing, question: str
    ) -> list[list[str | None]]:
        job = self._job(cell, instance, self._warehouses, AskPhase(questions=[question]))
        events = converse(job, launcher, instance.environment(), standing, silence_s=self._patience_s(cell))
        return answered(events)

    def _patience_s(self, cell: Cell) -> float:
        """How long one call may take without news: to build an index, or to count, it reads all there is."""
        return SILENCE_S + size_bytes(cell, self._engine.family) / SLOW_BYTES_PER_S

    def _forget(self, instance: Instance, place: Place) -> None:
        place.settle()
        filecache.drop(filecache.files_below(instance.database_files()))


_WITHOUT_LOAD: dict[str, Any] = {
    "warehouses_before": None,
    "bytes_before": None,
    "load_s": None,
    "load": [],
    "statistics": None,
}


def growing(cell: Cell) -> GrowingWorkload:
    assert isinstance(cell.workload, GrowingWorkload)  # the reader takes no other beside [growth]
    return cell.workload


def place_of(cell: Cell, base: DirectoryPlace) -> str:
    return cell.place.path or cell.place.device or str(base.path.parent)


def _missed(grown: Grown) -> list[Warning]:
    if grown.asked_bytes is None or abs(grown.bytes - grown.asked_bytes) <= FAR * grown.asked_bytes:
        return []
    text = (
        f"Asked for {grown.asked} ({grown.asked_bytes / 1e6:,.0f} MB), and the database has {grown.bytes / 1e6:,.0f} "
        "MB: it holds whole warehouses, engines take room ahead, and what was measured before has made it grow too."
    )
    return [Warning(code="size-missed", about="size", text=text)]


def _largest(cells: Sequence[Cell], engines: Mapping[str, Engine]) -> dict[str, Cell]:
    """Of each series the cell with the largest size."""
    found: dict[str, Cell] = {}
    for cell in cells:
        family = engines[cell.engine].family
        if cell.series not in found or size_bytes(cell, family) > size_bytes(found[cell.series], family):
            found[cell.series] = cell
    return found


def _room_for(cell: Cell, engine: Engine) -> int:
    """Bytes that a database of the cell's size takes in the end, on the generous side."""
    return int(ROOM * size_bytes(cell, engine.family)) + engine.empty_bytes + engine.log_bytes(cell.settings)


def _image_mb(needed: int) -> int:
    return -(-int(needed / MOUNTED_SHARE) >> 20) + 64


def _sized(spec: PlaceSpec, needed: int) -> PlaceSpec:
    """With an image large enough, where it is to have one and its size is not given."""
    if spec.kind not in ("loop", "disk") or spec.device is not None or spec.size_mb is not None:
        return spec
    return spec.model_copy(update={"size_mb": max(512, _image_mb(needed))})


def _free(path: Path) -> int:
    return shutil.disk_usage(path).free


def _bytes_of(instance: Instance) -> int:
    total = 0
    for file in filecache.files_below(instance.data_files()):
        with contextlib.suppress(FileNotFoundError):  # an engine at work removes files
            total += file.stat().st_size
    return total
