"""Each engine's check of its own files: it holds on a sound database and never on one with a zeroed page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from acidtest.conductor.rig import Standing, converse
from acidtest.engine import Instance
from acidtest.engine.firebird import log
from acidtest.errors import CellFailed
from acidtest.families import FIREBIRD
from acidtest.journal.models import Integrity
from acidtest.journal.protocol import LoadPhase, Surveyed, SurveyPhase
from acidtest.place import Ledger
from acidtest.workload.numbered import NumberedWorkload
from rig_jobs import ask, job_of, of, talk

WORKLOAD = NumberedWorkload(terminals=40, parts=20, row_bytes=200)  # many pages


def one_payload(instance: Instance, ledger: Ledger) -> bytes:
    """A part of a row's, as it lies in a file: Firebird cuts longer texts up."""
    question = "select payload from numbered_left where id = 7 * 1099511627776"
    return str(ask(instance, ledger, question, workload=WORKLOAD)[0][0]).encode()[10:40]


def integrity(instance: Instance, ledger: Ledger) -> Integrity:
    return instance.integrity(partial(ask, instance, ledger, workload=WORKLOAD))


@pytest.mark.one_of_a_family
def test_it_holds_until_a_page_is_damaged(loading: Instance, ledger: Ledger) -> None:
    instance = loading
    talk(instance, ledger, LoadPhase(), workload=WORKLOAD)
    payload = one_payload(instance, ledger)
    found = integrity(instance, ledger)
    assert found.holds == "holds", found
    instance.seal()  # all of it in the files
    damaged = [damage(file, payload) for path in instance.database_files() for file in files(path)]
    assert any(damaged)
    try:
        instance.start(ledger)
    except CellFailed:
        return  # it noticed before it was asked
    found = integrity(instance, ledger)
    ended = (found.holds, "the server has closed the connection" in found.said) == ("unknown", True)  # as MySQL does
    assert found.holds == "broken" or ended, found


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_damage_that_sqlite_can_read_over_is_found(loading: Instance, ledger: Ledger) -> None:
    talk(loading, ledger, LoadPhase(), workload=WORKLOAD)
    (file,) = loading.database_files()
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.executescript(
            "create table holes (x); insert into holes values (null); pragma writable_schema = on;"
            "update sqlite_schema set sql = 'create table holes (x not null)' where name = 'holes'"
        )
    found = integrity(loading, ledger)
    assert (found.holds, found.said) == ("broken", "NULL value in holes.x")


@pytest.mark.parametrize("engine", ["firebird-3.0", "firebird-4.0", "firebird-5.0"], indirect=True)
def test_firebird_that_is_opened_again_and_again_notices_the_same(
    loading: Instance, tmp_path: Path, ledger: Ledger
) -> None:
    instance = loading
    talk(instance, ledger, LoadPhase(), workload=WORKLOAD)
    payload = one_payload(instance, ledger)
    (scratch,) = instance.scratch()
    conf = tmp_path / "root" / "firebird.conf"
    before = conf.read_text()
    instance.expect_looks(many=True)
    standing = Standing(ledger, local_names=True)
    try:
        for _ in range(3):
            job = job_of(instance, SurveyPhase(), workload=WORKLOAD)
            (survey,) = of(Surveyed, converse(job, ledger, instance.environment(), standing))
            assert survey.strays == 0
            assert all(terminal.whole and not terminal.torn for terminal in survey.terminals)
            assert integrity(instance, ledger).holds == "holds"
        (database,) = instance.database_files()
        assert damage(database, payload)
        assert integrity(instance, ledger).holds != "holds"
    finally:
        standing.end()
        instance.expect_looks(many=False)
    assert conf.read_text() == before
    instance.lose_power()
    assert not list(scratch.iterdir())


def files(path: Path) -> list[Path]:
    return [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]


def damage(file: Path, row: bytes) -> bool:
    """Zero the 4 KiB in which the row lies, wherever it does."""
    content, found = bytearray(file.read_bytes()), False
    while (place := content.find(row)) >= 0:
        start = place // 4096 * 4096
        content[start : start + 4096] = bytes(4096)
        content[start + 4096 : place + len(row)] = bytes(max(0, place + len(row) - start - 4096))
        found = True
    if found:
        file.write_bytes(content)
    return found


ENTRY = "host\tSat Nov 21 18:00:00 2026\n\tDatabase: {database}\n\t{words}\n\n"


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ("Validation finished: 0 errors, 0 warnings, 0 fixed", "holds"),
        ("Validation finished: 0 errors, 2 warnings, 0 fixed", "holds"),
        ("Validation finished: 1 errors, 0 warnings, 0 fixed", "broken"),
        ("Validation started", "unknown"),
    ],
)
def test_firebird_is_judged_by_its_own_entry(words: str, holds: str) -> None:
    others = ENTRY.format(database="/b.fdb", words="Validation finished: 9 errors, 0 warnings, 0 fixed")
    text = others + ENTRY.format(database="/a.fdb", words=words) + others
    assert log.validation("gfix", text, Path("/a.fdb")).holds == holds


def test_a_warning_that_shows_a_known_fault_is_kept_before_others() -> None:
    said = (
        "Pointer page 180 {sequence 0} bits {0x10 empty} are not consistent with data page 186 {sequence 4} state {0x0}"
    )
    warnings = [f"Warning: Page {n} is an orphan" for n in range(9)] + [f"Warning: {said}"]
    words = [*warnings, "Validation finished: 0 errors, 10 warnings, 0 fixed"]
    text = "".join(ENTRY.format(database="/a.fdb", words=word) for word in words)
    told = log.validation("gfix", text, Path("/a.fdb"))
    assert told.holds == "holds"
    assert told.said.startswith(f"Validation finished: 0 errors, 10 warnings, 0 fixed / {said} / Page 0 is an orphan")
    assert "gfix -v -full brings them back" in FIREBIRD.known_by(told.said)
    assert not FIREBIRD.known_by(said.replace("0x10 empty", "0x02 full"))
