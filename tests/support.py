"""Names that several suites share."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

from pytest import TempPathFactory

import acidtest
from acidtest.cli import main
from acidtest.engine import catalogue
from families import FAMILIES

Run = Callable[..., "subprocess.CompletedProcess[str]"]  # of the command in tests/e2e
Cut = Callable[..., dict[str, Any]]  # what --json says of power cuts

ACIDTEST = Path(sysconfig.get_path("scripts")) / "acidtest"
ENGINES = tuple(engine for family in FAMILIES.values() for engine in family.engines)
DIALECTS = tuple(engine for family in FAMILIES.values() for engine in family.dialects)
POSTGRESES, MYSQLS = (FAMILIES[family].private for family in ("postgresql", "mysql"))
FIREBIRDS = tuple(name for name in FAMILIES["firebird"].private if catalogue.describe(name).embedded)
EMBEDDED = ("sqlite", *FIREBIRDS)


def times(few: int, all: int) -> int:  # noqa: A002
    """How often a test that repeats itself at random moments does so: ``all`` in ``make test-long``, else ``few``."""
    return all if os.environ.get("ACIDTEST_TESTS") == "long" else few


def command(*arguments: object) -> int:
    """The ``acidtest`` command in this process: its exit code."""
    with mock.patch.object(sys, "argv", ["acidtest", *map(str, arguments)]):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
    raise AssertionError("main ends with an exit code")


def killed_lab(body: str) -> str:
    """Run ``body`` in a lab of its own, which has a ``ledger`` and ends by SIGKILL; what it printed."""
    head = """
        import os, signal, sys, tempfile, time
        from pathlib import Path
        from acidtest.place import Ledger
        ledger = Ledger()
    """
    script = f"{textwrap.dedent(head)}{textwrap.dedent(body)}\nos.kill(os.getpid(), signal.SIGKILL)\n"
    with tempfile.TemporaryFile("w+") as printed:  # what it has started may outlive it and hold a pipe open
        ended = subprocess.run([sys.executable, "-c", script], stdout=printed, check=False, timeout=300)
        assert ended.returncode == -signal.SIGKILL
        printed.seek(0)
        return printed.read()


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def one_worker_at_a_time(factory: TempPathFactory, name: str) -> Iterator[None]:
    """What all workers of a run need and only one of them has to bring."""
    with (factory.getbasetemp().parent / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared_by_workers(factory: TempPathFactory) -> Path:
    """A directory of this run of the tests, in which one worker leaves what it made for all."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def journal_lines(directory: Path, name: str = "journal.jsonl") -> list[dict[str, Any]]:
    """The recordings as they stand in the file, none folded together."""
    lines = (directory / name).read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def work_of(does: Callable[[], object]) -> int:
    """How much of acidtest's own code ``does`` carries out: bytecode instructions, which are the same in every run."""
    own, done = f"{Path(acidtest.__file__).parent}{os.sep}", 0

    def instruction(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal done
        done += event == "opcode"
        return instruction

    def call(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(own):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return instruction

    before = sys.gettrace()
    sys.settrace(call)
    try:
        does()
    finally:
        sys.settrace(before)
    return done


def processes_with(variable: str) -> dict[int, str]:
    """Command lines of the processes that have this ``NAME=value`` in their environment."""
    found = {}
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in environ.read_bytes().split(b"\0"):
                found[int(environ.parent.name)] = (environ.parent / "cmdline").read_text().replace("\0", " ")
    return found
