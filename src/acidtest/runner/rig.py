"""The rig as a process: finds the binary, hands it a job, yields its events."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from acidtest.engine.base import Launcher
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.protocol import EVENT, PROTOCOL, Done, Event, Failed, Hello, Job

SILENCE_S = 900.0  # building an index over a large table is one call without news
BINARY = "acidtest-rig"


class DiskFull(CellFailed):
    """The place ran out of space; going on would fail every further cell."""


def find_rig() -> Path:
    """The rig: ``$ACIDTEST_RIG``, else the binary that was installed beside this Python's scripts."""
    if given := os.environ.get("ACIDTEST_RIG"):
        if os.access(given, os.X_OK):
            return Path(given)
        raise MachineLacks(f"ACIDTEST_RIG={given}: no program there", "unset it, or name the acidtest-rig binary")
    beside = Path(sysconfig.get_path("scripts")) / BINARY
    if os.access(beside, os.X_OK):
        return beside
    if found := shutil.which(BINARY):
        return Path(found)
    raise MachineLacks(f"{beside}: the rig is missing", "install acidtest again: its wheel holds the rig")


def rig_version() -> str:
    """What the rig says of itself: ``acidtest-rig 0.1.0 (SQLite 3.50.4)``. Raises MachineLacks when it cannot."""
    try:
        return subprocess.run(
            [find_rig(), "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineLacks(f"does not start: {error}", "install acidtest again") from None


def converse(job: Job, launcher: Launcher, environment: Mapping[str, str]) -> Iterator[Event]:
    """Run one rig process over ``job`` and yield its events up to and including ``Done``.

    ``environment`` is laid over the lab's own. Raises CellFailed when the rig reports a failure, dies, says
    something that is no event, or is silent for ``SILENCE_S``. The process is gone when the iterator is closed.
    """
    with tempfile.TemporaryFile() as stderr:
        id, process = launcher.start_process(  # noqa: A001
            [str(find_rig()), "job"], environment={**os.environ, **environment}, stderr=stderr
        )
        try:
            yield from _events(job, process)
            if process.wait(timeout=60) != 0:
                raise CellFailed(f"the rig ended with code {process.returncode} after its work: {_tail(stderr)}")
        except _Ended:
            process.wait()
            raise CellFailed(f"the rig {_ending(process.returncode)}: {_tail(stderr)}") from None
        except subprocess.TimeoutExpired:
            raise CellFailed("the rig finished its work but did not end within 60 s") from None
        finally:
            launcher.end_process(id, process)


class _Ended(Exception):
    """The rig closed its output before it was done."""


def _events(job: Job, process: subprocess.Popen[bytes]) -> Iterator[Event]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(job.model_dump_json(by_alias=True).encode())
        process.stdin.close()
    except BrokenPipeError:
        raise _Ended from None
    for number, line in enumerate(_lines(process)):
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            raise CellFailed(
                f"the rig said something that is no event: {line[:200].decode(errors='replace')}"
            ) from None
        if isinstance(event, Failed):
            kind = DiskFull if _says_full(event.message) else CellFailed
            raise kind(f"{event.doing}: {event.message}")
        if number == 0 and (not isinstance(event, Hello) or event.protocol != PROTOCOL):
            raise CellFailed("the rig and this acidtest are of different versions; install acidtest again")
        yield event
        if isinstance(event, Done):
            return
    raise _Ended


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    pending = b""
    heard = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(timeout=1.0):
                if time.monotonic() - heard > SILENCE_S:
                    raise CellFailed(f"the rig was silent for {SILENCE_S:.0f} s and was ended")
                continue
            heard = time.monotonic()
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            yield from lines


def _says_full(message: str) -> bool:
    lower = message.lower()
    return any(words in lower for words in ("no space left", "disk is full", "disk full", "database or disk is full"))


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def _tail(stderr: object) -> str:
    stderr.seek(0)  # type: ignore[attr-defined]
    text = stderr.read()[-2000:].decode(errors="replace").strip()  # type: ignore[attr-defined]
    return " / ".join(text.splitlines()[-3:]) or "it left no message"
