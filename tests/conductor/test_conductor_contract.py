"""What every conductor keeps, under the driver that all of them share."""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest import experiment, plan
from acidtest.conductor.base import Conductor
from acidtest.conductor.conduct import RunOutcome, conduct
from acidtest.conductor.output import Output, header
from acidtest.engine.sqlite.engine import Sqlite
from acidtest.engine.sqlite.instance import SqliteInstance
from acidtest.errors import BadInput
from acidtest.files import find_rig
from acidtest.place import Ledger
from acidtest.plan import Cell, Plan
from blocks import mounted_in_memory
from conductors import MEMBERS, Member
from support import journal_lines


class Bench:
    """One member with its experiment, and a home, a place and an output directory of its own."""

    def __init__(self, member: Member, root: Path) -> None:
        self.home, self.place, self.out = root / "home", root / "place", root / "out"
        self.place.mkdir()
        self.file = root / "experiment.toml"
        self.file.write_text(member.experiment(str(self.place)))
        self.plan: Plan = plan.make(experiment.read(self.file))
        self.not_struck_off: list[Any] = []  # of any ledger, when it was closed
        self._member = member

    def run(self, conductor: Conductor | None = None, retry_failed: bool = False, **watches: Any) -> RunOutcome:
        output = Output(self.out, header(self.plan), runs_again=lambda one: retry_failed and one.status == "failed")
        conductor = conductor or self.conductor()
        return conduct(self.plan, conductor, output, self.file, Mock(**watches))

    def conductor(self) -> Conductor:
        return self._member.conductor(self.plan)

    def cells(self) -> list[str]:
        """In the journal, as they stand there."""
        return [line["cell"] for line in journal_lines(self.out)]

    def has_released_everything(self) -> bool:
        ledgers = list((self.home / "ledger").iterdir())
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.place) in line]
        return [self.not_struck_off, list(self.place.iterdir()), ledgers, mounts] == [[], [], [], []]


@pytest.fixture(params=MEMBERS, ids=lambda member: member.name)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(request.param, tmp_path)
    monkeypatch.setenv("ACIDTEST_HOME", str(made.home))
    close = Ledger.close

    def noted(ledger: Ledger) -> None:
        # A ledger that is closed releases what is left in it: that is for a conductor's mistakes.
        made.not_struck_off += ledger._open.values()
        close(ledger)

    monkeypatch.setattr(Ledger, "close", noted)
    return made


def test_a_run_records_each_cell_once_on_the_drive_and_a_second_run_does_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording is on the drive before the next cell begins, and the time that is left is finite and falls."""
    journal, conductor = bench.out / "journal.jsonl", bench.conductor()
    fsync, synced = os.fsync, [0]
    left = list(bench.plan.cells)
    begun: list[str] = []
    ended: list[str] = []
    told: list[float] = []

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").resolve() == journal:
            synced.append(os.fstat(descriptor).st_size)

    def on_the_drive() -> None:
        assert synced[-1] == journal.stat().st_size
        assert bench.cells() == ended

    def begins(cell: Cell, left_s: float) -> None:
        begun.append(cell.id)
        on_the_drive()
        estimates = [conductor.left_s(left[position:]) for position in range(len(left) + 1)]
        assert left_s == estimates[0]
        assert all(math.isfinite(estimate) for estimate in estimates)
        assert estimates == sorted(set(estimates), reverse=True)
        assert estimates[-1] == 0

    def ends(cell: Cell, recording: object, left_s: float) -> None:
        ended.append(cell.id)
        on_the_drive()
        left.remove(cell)
        told.append(left_s)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", noted)
        outcome = bench.run(conductor, cell_begins=begins, cell_ended=ends)
    assert outcome.ran == len(bench.plan.cells) == 4
    assert begun == ended == bench.cells()
    assert sorted(ended) == sorted(cell.id for cell in bench.plan.cells)
    assert {line["status"] for line in journal_lines(bench.out)} == {"done"}, [
        line["reason"] for line in journal_lines(bench.out)
    ]
    assert all(one > 0 for one in told[:-1])
    assert told[-1] == 0
    before = journal.read_bytes()
    assert bench.run(cell_begins=begins).ran == 0
    assert begun == ended
    assert journal.read_bytes() == before
    assert bench.has_released_everything()


@pytest.mark.covering
@pytest.mark.parametrize("moment", ["cell_begins", "progress", "cell_ended"])
def test_an_interrupted_run_leaves_nothing_and_goes_on_with_what_it_lacked(bench: Bench, moment: str) -> None:
    ended: list[str] = []

    def interrupt(cell: Cell, *rest: object) -> None:
        if ended:
            raise KeyboardInterrupt

    def note(cell: Cell, *rest: object) -> None:
        ended.append(cell.id)

    def note_and_interrupt(cell: Cell, *rest: object) -> None:
        note(cell)
        interrupt(cell)

    watches = {"cell_ended": note, moment: note_and_interrupt if moment == "cell_ended" else interrupt}
    with pytest.raises(KeyboardInterrupt):
        bench.run(**watches)
    assert bench.has_released_everything()
    before = (bench.out / "journal.jsonl").read_bytes()
    assert bench.cells() == ended
    assert len(ended) == 1
    assert bench.run().ran == 3
    assert (bench.out / "journal.jsonl").read_bytes().startswith(before)
    assert sorted(bench.cells()) == sorted(cell.id for cell in bench.plan.cells)
    assert bench.has_released_everything()


@pytest.fixture
def rig_without_two_terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rig that dies of any work by two terminals."""
    real, rig, job = find_rig(), tmp_path / "rig", tmp_path / "job"
    rig.write_text(
        f'#!/bin/sh\n[ "$1" = job ] || exec {real} "$@"\ncat >{job}.$$\n'
        f"grep -q '\"terminals\":2' {job}.$$ && echo planted >&2 && exit 1\nexec {real} job <{job}.$$\n"
    )
    rig.chmod(0o755)
    monkeypatch.setenv("ACIDTEST_RIG", str(rig))


@pytest.mark.usefixtures("rig_without_two_terminals")
def test_a_cell_that_fails_is_recorded_and_the_others_go_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run()
    found = {line["cell"]: line for line in journal_lines(bench.out)}
    assert len(found) == 4
    for one in found.values():
        assert one["status"] == ("done" if one["levels"]["terminals"] == "1" else "failed"), one["reason"]
        assert one["status"] == "done" or "planted" in one["reason"]
    assert bench.has_released_everything()
    monkeypatch.delenv("ACIDTEST_RIG")
    assert bench.run(retry_failed=True).ran == 2
    last = {line["cell"]: line["status"] for line in journal_lines(bench.out)}
    assert set(last.values()) == {"done"}


def test_an_engine_that_goes_away_in_mid_run_fails_its_cells_and_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever meets its files then meets an error; no cell is called invalid for that, and no commit lost."""
    ended: list[str] = []

    def missing(*anything: object) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/opt/engine/lib.so")

    def go_away(cell: Cell, left_s: float) -> None:
        if len(ended) == 2:
            monkeypatch.setattr(Sqlite, "_offer", missing)
            monkeypatch.setattr(Sqlite, "facts", missing)
            monkeypatch.setattr(SqliteInstance, "target", missing)

    bench.run(cell_begins=go_away, cell_ended=lambda cell, *rest: ended.append(cell.id))
    found = journal_lines(bench.out)
    assert [one["status"] for one in found] == ["done", "done", "failed", "failed"]
    for one in found[2:]:
        assert (
            "the engine was removed or changed while the run went on: sqlite is damaged: /opt/engine/lib.so"
            in one["reason"]
        )
        assert one["cut"] is None
        assert one["engine"]["id"] == "sqlite"
    assert bench.has_released_everything()


@pytest.fixture
def small_disk(bench: Bench) -> Iterator[Path]:
    """The output directory on a disk that a test can fill."""
    with mounted_in_memory(bench.out, size_mb=1) as path:
        yield path


def test_a_full_disk_ends_the_run_with_the_remedy_and_it_goes_on_later(bench: Bench, small_disk: Path) -> None:
    ended: list[str] = []
    filler = small_disk / "acidtest-filler"

    def fill(cell: Cell, left_s: float) -> None:
        if ended:
            with pytest.raises(OSError, match="No space"), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(512))

    with pytest.raises(BadInput) as refused:
        bench.run(cell_begins=fill, cell_ended=lambda cell, *rest: ended.append(cell.id))
    assert re.search("the disk is full$", refused.value.message)
    assert refused.value.remedy == "free some space and run the same command again"
    assert bench.has_released_everything()
    filler.unlink()
    assert bench.run().ran == 3
    assert sorted(bench.cells()) == sorted(cell.id for cell in bench.plan.cells)
