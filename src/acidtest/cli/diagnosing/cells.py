"""A few cells on a scratch database: with the settings that were found, and with a reference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from acidtest import conductor, experiment
from acidtest.cli import init_answers
from acidtest.cli.diagnosing.subject import LEAST_S, Course, engine_of, product_of
from acidtest.cli.experiment_file import assess
from acidtest.cli.progress import watching
from acidtest.cli.spans import span
from acidtest.conductor.imported_settings import Carried, carried
from acidtest.conductor.run import run
from acidtest.conductor.watcher import Watcher
from acidtest.engine import Engine
from acidtest.engine.compare import spoken
from acidtest.errors import AcidtestError, BadInput, message_of
from acidtest.families import FAMILIES
from acidtest.journal import reader
from acidtest.journal.diagnosis import DURABLE, Cells, Diagnosis
from acidtest.journal.models import Journal, Recording
from acidtest.place import DirectoryPlace, Ledger, machine_facts
from acidtest.plan import Cell, Plan
from acidtest.question import Storage, fit
from acidtest.question.configuration import Configuration
from acidtest.report import diagnosis as report
from acidtest.risk import LEVELS
from acidtest.words import counted

SERVER_SHARE = 0.6  # of the time that is left: to start and stop a server takes longer than a plan assumes
GRACE = 1.25  # of the time: no cell begins that would probably end later
CACHE_PART = 16  # of the memory, for the page cache of a scratch database
JOURNAL_BYTES = 16_000_000
DRIVE = LEVELS[-1]


@contextmanager
def measured(
    course: Course, made: Diagnosis, found: Mapping[str, str]
) -> Iterator[tuple[Cells | None, Carried | None, Path | None, Journal | None]]:
    """What was measured on a scratch database, while the directory with its journal is there."""
    product, version = product_of(course, made.audited, made.inside)
    try:
        if course.place is None:
            raise BadInput("where the server has its files is not known: name a PLACE on the same drive")
        if not product:
            raise BadInput("no engine is known: neither --database nor --config names one")
        engine, exact = engine_of(product, version)
        own = made.database.facts if made.database else {}
        taken = carried(engine, product, found, own, cache_bytes_most=machine_facts().memory_bytes // CACHE_PART)
        for one in taken.own_refused:
            course.missing(f"cells with the database's own {one}", f"{engine.id} does not take it")
        plan, cells = _planned(course, engine, taken, exact=exact, any_found=bool(taken.settings))
    except AcidtestError as error:
        course.missing(report.CELLS, message_of(error))
        yield None, None, None, None
        return
    with closing(Ledger()) as ledger:
        scratch: DirectoryPlace | None = None
        journal: Journal | None = None
        try:
            try:
                scratch = DirectoryPlace(
                    course.place, ledger, needed_bytes=JOURNAL_BYTES, holds="the recordings of the diagnosis"
                )
                journal = _run(course, plan, scratch.path / "run")
            except (AcidtestError, OSError) as error:
                course.missing(report.CELLS, message_of(error))
            directory = scratch.path / "run" if scratch and journal else None
            yield (cells if journal else None), taken, directory, journal
        finally:
            if scratch is not None:
                scratch.release()


def _planned(
    course: Course, engine: Engine, taken: Carried, *, exact: bool | None, any_found: bool
) -> tuple[Plan, Cells]:
    (chosen,) = init_answers.chosen([engine.id])
    assert course.place is not None
    left = course.left_s
    if not engine.embedded:
        left *= SERVER_SHARE
    settings = {name: value for name, value in taken.settings.items() if value is not None}
    by_level = {name for name, spec in engine.setting_specs().items() if spec.by_level}
    level = taken.level
    kept = {name: value for name, value in settings.items() if level != DRIVE or name not in by_level}
    question = Configuration("found" if any_found else "defaults", kept, level, by_level)
    each = question.configurations(chosen)
    answers = replace(
        init_answers.with_storage((chosen,), Storage("directory", (str(course.place.resolve()),))),
        seconds=max(left, LEAST_S),
        time=span(max(left, LEAST_S)),
        file="diagnosis.toml",
        name="diagnosis",
    )
    fitted = fit(question, answers, assess)
    ran = {cell.levels.get("configuration") for cell in fitted.plan.cells}
    each = {name: one for name, one in each.items() if name in ran or len(each) == 1}
    offer = engine.offer()
    cells = Cells(
        engine=engine.id,
        version=offer.version,
        same_version=exact,
        said=_said(engine, each, any_found=any_found, exact=exact),
        levels={name: level for name, (level, _) in each.items()},
        settings={name: dict(values) for name, (_, values) in each.items()},
        experiment=fitted.text,
        cache_bytes=taken.cache_bytes,
        risk=engine.risk(level, {name: spoken(value) for name, value in settings.items()}).sentence
        if any_found
        else "",
    )
    return conductor.plan_of(experiment.parse(fitted.text, "diagnosis.toml")), cells


def _run(course: Course, plan: Plan, out: Path) -> Journal:
    """The journal, of as many cells as the time allows."""
    course.say(f"{counted(len(plan.cells), 'cell')} on a scratch database")
    until = course.began + GRACE * 60 * course.asked.minutes
    try:
        with watching(course.console) as watcher:
            return run(plan, Path("diagnosis.toml"), out, cast("Watcher", _Until(watcher, until))).journal
    except _Enough:
        held = reader.read(out / reader.NAME)
        why = f"the time was up after {len(held.recordings):,} of {counted(len(plan.cells), 'cell')}"
        course.missing("the other cells", f"{why}: give it more --minutes")
        return held


def _said(
    engine: Engine, each: Mapping[str, tuple[str, dict[str, str | int | float | bool]]], *, any_found: bool,
    exact: bool | None,
) -> str:  # fmt: skip
    which = {
        True: f"{engine.id}, which is of the version in question",
        False: f"{engine.id}, which is of another version than the one in question",
        None: f"{engine.id}; of which version the one in question is was not found",
    }[exact]
    lines = [f"A scratch database of {which}, with one terminal."]
    if engine.embedded and FAMILIES[engine.family].server_port is not None:
        lines.append(
            "It is embedded in the process that loads it: where a server has the database in question, that server's "
            "connections, network and shared cache are not in these rates."
        )
    if len(each) == 1:
        lines.append("What was found is what the reference sets, so that there is nothing to compare.")
    if not any_found:
        lines.append("No setting was found: the engine's own defaults stand in their place.")
    if DURABLE in each:
        lines.append(
            f"{DURABLE} has the settings that were found, but for those by which commits do not wait for the drive."
        )
    return " ".join(lines)


class _Enough(Exception):
    """The time is up."""


class _Until:
    """Passes on to a watcher how a run goes, and ends it before a cell that would probably end too late."""

    def __init__(self, watcher: Watcher, until: float) -> None:
        self._watcher, self._until = watcher, until
        self._last, self._began, self._ended = until, time.monotonic(), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._watcher, name)

    def cell_begins(self, cell: Cell, left_s: float) -> None:
        if time.monotonic() > self._until:
            raise _Enough
        self._watcher.cell_begins(cell, left_s)

    def cell_ended(self, cell: Cell, recording: Recording, left_s: float) -> None:
        self._watcher.cell_ended(cell, recording, left_s)
        # What the cells took so far, with their loads, is what another one is taken to need.
        self._ended += 1
        self._until = self._last - (time.monotonic() - self._began) / self._ended
