"""Makes a diagnosis: part after part, each by what the house has for it."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from acidtest import __version__
from acidtest.analysis.health import AT_RISK, signs
from acidtest.cli import doctor
from acidtest.cli.diagnosing.cells import measured
from acidtest.cli.diagnosing.configuration import audited, with_ours
from acidtest.cli.diagnosing.next import next_of
from acidtest.cli.diagnosing.subject import LEAST_S, Asked, Course, check_out, database_of, place_of
from acidtest.cli.probe import Watcher as ProbeWatcher
from acidtest.cli.spans import span
from acidtest.conductor.admission import Devices
from acidtest.conductor.inspect import Options, inspect
from acidtest.conductor.probe import probe as run_probe
from acidtest.errors import AcidtestError, BadInput, message_of
from acidtest.files import find_rig
from acidtest.journal import diagnosis as recordings
from acidtest.journal import probe as probes
from acidtest.journal import reader
from acidtest.journal.diagnosis import Diagnosis, Doubt, Inside, Processor
from acidtest.journal.models import Journal, PlaceFacts
from acidtest.journal.probe import Layer, ProbeRecording
from acidtest.place import host, machine_facts, place_facts
from acidtest.place.facts import layers
from acidtest.plan.probe import plan_probe
from acidtest.report import diagnosis as report

PROBE_S, PROBE_SHARE = 10.0, 0.15  # of the time, and never longer
INSIDE_SHARE = 0.2  # of the time, to look into the database
REFUSED = re.compile(r"password|access denied", re.IGNORECASE)  # a server that answers, and asks who is there
INSIDE_BYTES_PER_S = 100e6  # that its pages are assumed to be read with


@dataclass(frozen=True)
class Made:
    """A diagnosis with the recordings that belong to it."""

    diagnosis: Diagnosis
    probe: ProbeRecording | None
    journal: Journal | None

    @property
    def report(self) -> report.Report:
        return report.report(self.diagnosis, self.probe, self.journal)


def make(asked: Asked, console: Console) -> Made:
    """Make all parts that can be made. Raises BadInput for what is asked wrongly, before anything is made.

    With ``out`` the recordings, their page and the next experiment are kept there, whole or not at all.
    """
    database = database_of(asked.database) if asked.database is not None else None
    place = place_of(asked, database)
    if asked.config is not None and not asked.config.is_dir():
        raise BadInput(f"--config {asked.config}: is no directory", "name the directory of the configuration and logs")
    if asked.out is not None:
        check_out(asked.out)
    find_rig()
    return _made(Course(asked, database, place, console))


def _made(course: Course) -> Made:
    started_at, before = _now(), host.counters()
    speed = host.deflate_mb_per_s()
    course.say(f"About {span(60 * course.asked.minutes)} in all")
    doubts = _doubts(course)
    facts, all_bytes, beneath = _storage(course)
    inside = _inside(course)
    probed = _probe(course)
    configured, found = audited(course)
    made = Diagnosis(
        acidtest_version=__version__,
        started_at=started_at,
        ended_at=started_at,
        minutes=course.asked.minutes,
        machine=machine_facts(),
        doubts=doubts,
        place=facts,
        place_bytes=all_bytes,
        layers=beneath,
        database=course.database,
        audited=configured,
        inside=inside,
    )
    with measured(course, made, found) as (cells, taken, directory, journal):
        if configured and taken:
            made.audited = configured.model_copy(update={"settings": with_ours(configured.settings, taken)})
        made.cells = cells
        made.processor = Processor(deflate_mb_per_s=speed, stolen=host.stolen(before, host.counters()))
        made.not_looked = course.not_looked
        made.next = next_of(course, cells, report.report(made, probed, journal).answer)
        made.ended_at = _now()
        kept = keep(course.asked.out, made, probed, directory) if course.asked.out is not None else None
    return Made(made, probed, kept or journal)


def _doubts(course: Course) -> list[Doubt]:
    findings = doctor.findings_of(course.place or Path())
    return [Doubt(**finding) for finding in findings if finding["state"] not in ("ok", "absent")]


def _storage(course: Course) -> tuple[PlaceFacts | None, int | None, list[Layer]]:
    if course.place is None:
        why = "where the server has its files is not known from here: name a PLACE on the same drive"
        for what in (report.STORAGE, report.PROBE):
            course.missing(what, why)
        return None, None, []
    return place_facts(course.place), shutil.disk_usage(course.place).total, layers(course.place)


def _probe(course: Course) -> ProbeRecording | None:
    if course.place is None:
        return None
    seconds = max(LEAST_S, min(PROBE_S, PROBE_SHARE * 60 * course.asked.minutes))
    course.say("The storage is probed")
    plan = plan_probe(
        seconds=seconds, repetitions=5, writers=[1], block_bytes=4096, one_file=False, on_device=False,
        seed=random.randrange(1 << 32),
    )  # fmt: skip
    try:
        with ProbeWatcher(course.console, len(plan.order)) as watcher:
            return run_probe(course.place, plan, Devices(), watcher.say, watcher.steps)
    except AcidtestError as error:
        course.missing(report.PROBE, message_of(error))
        return None


def _inside(course: Course) -> Inside | None:
    """What the database looks like inside: the one place where an inspection of it is joined."""
    if course.database is None or course.asked.database is None:
        course.missing(report.INSIDE, "--database WHERE was not given")
        return None
    longest_s = INSIDE_SHARE * 60 * course.asked.minutes
    if (course.database.bytes or 0) > longest_s * INSIDE_BYTES_PER_S:
        why = f"its pages are too many for {span(longest_s)}; acidtest inspect reads all of them"
        course.missing(report.INSIDE, why)
        return None
    course.say("The database is looked into")
    try:
        # It is not read whole: that would empty it from the file cache and slow down the programs that use it.
        inspected = inspect(course.asked.database, Options(False, longest_s, pages_s=longest_s), lambda *_: None)
    except AcidtestError as error:
        if course.database.bytes is None and not REFUSED.search(error.message):
            raise  # a server that cannot be reached is not the one in question
        course.missing(report.INSIDE, message_of(error))
        return None
    if inspected.statistics is None and inspected.statistics_said:
        course.missing("statistics of its tables", inspected.statistics_said)
    found = signs(inspected)
    says = [f"{one.says} {one.do} ({one.threshold}; {one.source})" for one in found]
    severe = {one.name: f"{one.says} {one.do}" for one in found if one.severity == "severe"}
    safety = [text for text, one in zip(says, found, strict=True) if one.name in AT_RISK]
    return Inside(findings=says, severe=severe, safety=safety, looked_at=inspected.version, notes=list(inspected.notes))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def keep(out: Path, made: Diagnosis, probed: ProbeRecording | None, run: Path | None) -> Journal | None:
    """Everything into ``out``, which appears whole or not at all; the journal as it lies there. Raises BadInput."""
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        if run is not None:
            shutil.copytree(run, unfinished)
        else:
            unfinished.mkdir()
        if probed is not None:
            probes.write(unfinished, probed)
        if made.next is not None and made.next.text:
            (unfinished / "next.toml").write_text(made.next.text, encoding="utf-8")
        recordings.write(unfinished, made)
        if out.exists():
            out.rmdir()
        unfinished.rename(out)
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror or error}", "name another directory") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return reader.read(out / reader.NAME) if run is not None else None
