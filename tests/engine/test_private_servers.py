"""Private servers of PostgreSQL and of MySQL: what happens to one that dies, cannot start or finds somebody's files."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest.engine import Engine, catalogue
from acidtest.engine.server import ServedInstance
from acidtest.errors import CellFailed
from acidtest.journal.protocol import Checked, CheckPhase, LoadPhase, Result
from acidtest.place import Ledger
from rig_jobs import of, run, talk
from support import MYSQLS, POSTGRESES

Adopt = Callable[..., ServedInstance]
READY = {"postgresql": "ready to accept connections", "mysql": "ready for connections"}
# Of a database: a file without which no server starts, and a word of what is said then.
ESSENTIAL = {"postgresql": ("global/pg_control", "pg_control"), "mysql": ("ibdata1", "InnoDB")}


@pytest.fixture(scope="module", params=[*POSTGRESES, *MYSQLS])
def engine(request: pytest.FixtureRequest, engines_installed: None) -> Engine:
    return catalogue.find(request.param)


def test_one_that_was_killed_says_so_and_starts_again_with_what_it_acknowledged(
    engine: Engine, adopt: Adopt, ledger: Ledger
) -> None:
    instance = adopt()
    instance.start(ledger)
    assert instance.died() is None
    talk(instance, ledger, LoadPhase())
    assert of(Result, talk(instance, ledger, run(1, 70)))[0].counts.committed == 70
    os.kill(instance._server.pid or 0, signal.SIGKILL)
    death = instance.died(60) or ""
    assert death.startswith("it was killed by signal 9; its log ends: ")
    assert READY[engine.family] in death
    instance.start(ledger)
    assert instance.died() is None
    if engine.family == "postgresql":
        assert "LOG: database system was not properly shut down; automatic recovery in progress" in instance.log()
    (checked,) = of(Checked, talk(instance, ledger, CheckPhase()))
    counted = next(condition for condition in checked.conditions if condition.name == "rows_match_acknowledged")
    assert "70" in counted.detail  # by this process nothing was acknowledged, and so many rows are there
    instance.release()
    assert instance.died() is None
    ledger.close()
    assert not ledger.path.exists()  # nothing in it was left open


def test_one_that_cannot_start_says_why(engine: Engine, adopt: Adopt, ledger: Ledger) -> None:
    instance = adopt()
    name, word = ESSENTIAL[engine.family]
    (instance.directory / "data" / name).unlink()
    if engine.family == "mysql":  # which makes one that is not there
        (instance.directory / "data" / name).write_bytes(b"nothing of a database" * 100_000)
    with pytest.raises(CellFailed, match=rf"the server ended with code \d+ while it started: .*{word}"):
        instance.start(ledger)
    assert instance.died() is None
    assert word in instance.log()


def test_a_port_that_is_taken_is_named(engine: Engine, adopt: Adopt, ledger: Ledger) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CellFailed, match=rf"{engine.id}: port {port} of 127\.0\.0\.1 is taken"):
            adopt(connection="tcp", port=port).start(ledger)


def test_strangers_files_are_not_made_a_database(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious").write_text("data")
    with pytest.raises(CellFailed, match="data is not empty"):
        engine.create(tmp_path, {})
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "precious"]
    assert (tmp_path / "data" / "precious").read_text() == "data"
