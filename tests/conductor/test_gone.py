"""What goes away in mid-run: an engine fails its own cells, what all cells need ends the run, and nobody sees a traceback."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from acidtest import plan
from acidtest.conductor.base import Begun, Conductor, Ended, RunContext, Steps
from acidtest.conductor.cell import measure, recorded
from acidtest.conductor.conduct import conduct
from acidtest.conductor.fatal_errors import why_failed
from acidtest.conductor.output import Output, header
from acidtest.conductor.recording import CellOutcome
from acidtest.conductor.rig import Refused
from acidtest.engine import Engine
from acidtest.engine.base import Offer
from acidtest.engine.foreign import ForeignServer
from acidtest.engine.sqlite.engine import Sqlite
from acidtest.errors import AcidtestError, CellFailed, MachineLacks
from acidtest.experiment import parse
from acidtest.journal.models import EngineFacts
from acidtest.plan import Cell, Plan
from support import journal_lines

TEXT = 'name = "t"\nrepetitions = 3\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n'
GONE = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/opt/engines/sqlite/lib.so")


class Works(Conductor):
    """Cells whose work is what a test says; it measures nothing."""

    def __init__(self, work: Callable[[Cell, RunContext], None]) -> None:
        self._work = work

    def needed_bytes(self, cells: Sequence[Cell], engines: Mapping[str, Engine], parent: Path) -> int:
        return 0

    def run(self, cells: Sequence[Cell], context: RunContext) -> Steps:
        for cell in cells:
            yield Begun(cell)

            def work(outcome: CellOutcome, cell: Cell = cell) -> None:
                self._work(cell, context)

            yield Ended(cell, [recorded(cell, context, work)])

    def left_s(self, cells: Sequence[Cell]) -> float:
        return 0.0


class Bench:
    """An experiment of three cells, run with a work of the test's own."""

    def __init__(self, root: Path) -> None:
        self.place, self.out = root / "place", root / "out"
        self.place.mkdir()
        self.plan: Plan = plan.make(parse(f"place.path = {str(self.place)!r}\n{TEXT}", "t.toml"))

    def run(self, work: Callable[[Cell, RunContext], None], retry_failed: bool = False, **watches: Mock) -> int:
        again = Output(self.out, header(self.plan), runs_again=lambda one: retry_failed and one.status == "failed")
        return conduct(self.plan, Works(work), again, Path("t.toml"), Mock(**watches)).ran

    def said(self) -> list[tuple[str, str]]:
        return [(line["status"], line["reason"]) for line in journal_lines(self.out)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return Bench(tmp_path)


def raising(error: Exception) -> Callable[[Cell, RunContext], None]:
    """Work of which the second cell meets ``error``."""

    def work(cell: Cell, context: RunContext) -> None:
        if cell.order == 2:
            raise error

    return work


NO_RESULT = ("invalid", "the engine did not answer which settings are in force")  # what work without a rig comes to


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GONE, "/opt/engines/sqlite/lib.so: No such file or directory"),
        (PermissionError(errno.EACCES, "Permission denied", "/usr/sbin/firebird"), "/usr/sbin/firebird: Permission denied"),
        (OSError(errno.ESTALE, "Stale file handle", b"/mnt/x"), "/mnt/x: Stale file handle"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (OSError(errno.ENOEXEC, "Exec format error", Path("/x")), "/x: Exec format error"),
        (CellFailed("the server refuses connections"), "the server refuses connections"),
    ],
)  # fmt: skip
def test_a_cell_that_cannot_reach_a_file_fails_in_one_line_and_the_others_run(
    bench: Bench, error: Exception, reason: str
) -> None:
    assert bench.run(raising(error)) == 3
    assert bench.said() == [NO_RESULT, ("failed", reason), NO_RESULT]
    assert bench.run(raising(GONE)) == 0
    assert bench.run(raising(GONE), retry_failed=True) == 1


@pytest.mark.parametrize("error", [GONE, CellFailed("the rig was killed by signal 7: it left no message")])
def test_an_engine_that_was_removed_is_named_with_what_to_do(
    bench: Bench, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = Sqlite().facts()
    was_there: list[EngineFacts] = [facts]

    def read(engine: Sqlite) -> EngineFacts:
        if not was_there:
            raise GONE
        return facts

    def offer(engine: Sqlite) -> Offer:
        return Offer("sqlite", bool(was_there), "", "", "", "", "acidtest engines install sqlite")

    monkeypatch.setattr(Sqlite, "facts", read)
    monkeypatch.setattr(Sqlite, "_offer", offer)

    def work(cell: Cell, context: RunContext) -> None:
        if cell.order == 2:
            was_there.clear()
            raise error

    bench.run(work)
    assert bench.said()[1] == (
        "failed",
        "the engine was removed or changed while the run went on: sqlite is not installed: acidtest engines install sqlite",
    )
    held = journal_lines(bench.out)
    assert [one["engine"]["source"] for one in held] == [facts.source] * 3  # as they were, when they cannot be read


def test_a_server_by_url_that_went_away_is_named_with_what_to_do() -> None:
    server = Mock(private=False, last_facts=Mock(return_value=Mock(source="postgresql://me@db.example:5432/test")))
    assert why_failed(CellFailed("opening the database: receiving: Connection reset by peer"), server) == (
        "postgresql://me@db.example:5432/test: opening the database: receiving: Connection reset by peer; "
        "see whether the server still runs and lets acidtest in"
    )


CAST = ", or, where the type of a parameter is the trouble, write cast(:name as integer)"


@pytest.mark.parametrize(
    ("said", "cast"),
    [
        ("could not determine data type of parameter $1", CAST),
        ("datatype mismatch", CAST),
        ("Dynamic SQL Error; SQL error code = -804; Data type unknown", CAST),
        ("operator does not exist: text + integer", CAST),
        ("integer out of range", ""),
        ("arithmetic exception, numeric overflow, or string truncation", ""),
        ('relation "orders" does not exist', ""),
    ],
)
def test_a_statement_that_a_server_refuses_is_to_be_mended(said: str, cast: str) -> None:
    refused = Refused(f"loading: shop/first.sql:3: {said}")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Mock(
            spec=ForeignServer, private=False, address=Mock(host="127.0.0.1", port=listening.getsockname()[1])
        )
        server.gone.return_value = None
        server.last_facts.return_value = Mock(source="postgresql://me@here/test")
        assert why_failed(refused, server) == f"{refused.message}; correct the statement there{cast}"
        gone = why_failed(Refused("opening the database: no such user"), server)
    assert gone.endswith("see whether the server still runs and lets acidtest in")
    assert why_failed(refused, server).endswith("see whether the server still runs and lets acidtest in")


def test_what_could_not_be_released_is_no_failed_cell(bench: Bench) -> None:
    busy = OSError(errno.EBUSY, "Device or resource busy", "/mnt/x")
    with pytest.raises(AcidtestError, match="/mnt/x: could not be released"):
        bench.run(raising(busy))
    assert bench.said() == [NO_RESULT]


@pytest.mark.parametrize("error", [GONE, CellFailed("unable to open database file")])
def test_a_place_that_was_removed_ends_the_run_and_the_same_command_goes_on(bench: Bench, error: Exception) -> None:
    def work(cell: Cell, context: RunContext) -> None:
        if cell.order == 2:
            shutil.rmtree(bench.place)
            raise error

    with pytest.raises(AcidtestError, match=r"acidtest-\w+: was removed while the run went on") as raised:
        bench.run(work)
    assert raised.value.remedy == "run the same command again: it goes on with what is in its journal"
    assert bench.said() == [NO_RESULT]
    bench.place.mkdir()
    assert bench.run(raising(GONE)) == 2


def test_a_rig_that_was_removed_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def work(cell: Cell, context: RunContext) -> None:
        if cell.order == 2:
            monkeypatch.setenv("ACIDTEST_RIG", str(tmp_path / "none"))
            raise CellFailed("the rig ended with code 127")

    with pytest.raises(MachineLacks, match="no program there"):
        bench.run(work)
    assert bench.said() == [NO_RESULT]


def test_a_journal_that_was_removed_ends_the_run(bench: Bench) -> None:
    def work(cell: Cell, context: RunContext) -> None:
        if cell.order == 2:
            shutil.rmtree(bench.out)

    with pytest.raises(AcidtestError, match=r"journal\.jsonl: was removed while the run went on"):
        bench.run(work)
    assert list(bench.place.iterdir()) == []


def test_a_finished_run_is_repeated_without_its_engine_and_without_writing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(raising(CellFailed("no")))
    monkeypatch.setattr(Sqlite, "_offer", lambda engine: Offer("sqlite", False, "", "", "", "", "install it"))
    monkeypatch.setattr("acidtest.conductor.output.make_directory", Mock(side_effect=AssertionError))
    begins = Mock()
    assert bench.run(raising(GONE), begins=begins) == 0
    begins.assert_called_once_with(3, 3, str(bench.place))
    with pytest.raises(MachineLacks, match="sqlite is not installed"):
        bench.run(raising(GONE), retry_failed=True)


def test_the_cell_of_a_damaged_line_runs_again_and_the_line_is_told(bench: Bench) -> None:
    bench.run(raising(GONE))
    file = bench.out / "journal.jsonl"
    raw = file.read_bytes()
    lines = raw.split(b"\n")
    lines[2] = lines[2][:-30]
    file.write_bytes(b"\n".join(lines))
    cell = bench.plan.cells[1].id
    doubts, cell_begins = Mock(), Mock()
    assert bench.run(raising(GONE), doubts=doubts, cell_begins=cell_begins) == 1
    (told,) = doubts.call_args.args[0]
    assert told.startswith(f"{file}, line 3: damaged (not JSON): {cell} counts as not run")
    assert [call.args[0].id for call in cell_begins.call_args_list] == [cell]
    doubts.reset_mock()
    assert bench.run(raising(GONE), doubts=doubts) == 0
    doubts.assert_not_called()


@pytest.mark.parametrize("work", [None, CellFailed("the rig ended")])
def test_a_server_that_has_died_is_noticed_however_its_work_ended(
    bench: Bench, work: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidtest.conductor.cell.run_in_rig", Mock(side_effect=[work]))
    monkeypatch.setattr("acidtest.conductor.cell.CellDevice", Mock())
    died = "it ended with code 0; its log ends: "
    instance = Mock(died=Mock(return_value=died), database_files=Mock(return_value=[bench.place]))
    outcome, cell = CellOutcome(), bench.plan.cells[0]
    context: Any = Mock(generators=None, engine=Mock(return_value=Mock(adopt=Mock(return_value=instance))))
    with suppress(CellFailed):
        measure(cell, context, Mock(disk_log=Mock(return_value=None)), bench.place, outcome)
    assert outcome.died == died
    instance.release.assert_called_once_with()
