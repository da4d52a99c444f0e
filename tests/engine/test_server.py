"""A server process that ends as it should not."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from acidtest.engine.server import Server
from acidtest.errors import CellFailed
from acidtest.place import Ledger

CRASHES_WHEN_STOPPED = """
import os, signal, sys, time
def crash(number, frame):
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
signal.signal(signal.SIGTERM, crash)
held = open(sys.argv[1]) if sys.argv[2] == "open" else None
open(sys.argv[3], "w").close()
while True:
    time.sleep(1)
"""


def test_a_crash_at_the_end_is_a_failure_only_while_a_database_is_open(tmp_path: Path, ledger: Ledger) -> None:
    for how in ("closed", "open"):
        file, ready = tmp_path / "database", tmp_path / f"ready-{how}"
        file.touch()
        server = Server("theirs", tmp_path / "log")
        command = [sys.executable, "-c", CRASHES_WHEN_STOPPED, str(file), how, str(ready)]
        server.start(ledger, command, environment={}, ready=ready.exists)
        fails = pytest.raises(CellFailed, match="theirs: the server was killed by signal 11 when it was stopped")
        with fails if how == "open" else nullcontext():
            server.stop(files=[file])


@pytest.mark.parametrize(("command", "how"), [("exit 0", "ended with code 0"), ("exit 3", "ended with code 3"),
                                              ("kill -TERM $$", "was killed by signal 15")])  # fmt: skip
def test_a_server_that_ends_unasked_has_died_however_it_ended(
    command: str, how: str, tmp_path: Path, ledger: Ledger
) -> None:
    server, told = Server("theirs", tmp_path / "log"), tmp_path / "told"
    os.mkfifo(told)
    run = ["sh", "-c", f"read line <{told}; {command}"]
    server.start(ledger, run, environment=os.environ, ready=lambda: True)
    assert server.died() is None
    told.write_text("end\n")
    assert server.died(60) == f"it {how}; its log ends: its log is empty"
    server.kill()
    assert server.died() is None


def test_a_server_that_was_killed_is_gone(tmp_path: Path, ledger: Ledger) -> None:
    server = Server("theirs", tmp_path / "log")
    server.start(ledger, ["sleep", "1000"], environment=os.environ, ready=lambda: True)
    process = server._process
    server.kill()
    assert process is not None and process.returncode == -signal.SIGKILL  # which only a wait tells
