"""The rig's processes in a trial, which are started and killed far more often than those of a run."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from acidtest.conductor.rig import Working
from acidtest.place.link import entering


class Unledgered:
    """Starts rigs without the ledger, which costs more than a rig does: each asks the kernel to be killed with
    its lab. With ``network`` they are in that one."""

    def __init__(self, network: Path | None = None) -> None:
        self._prefix = [] if network is None else entering(network)

    def start_process(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stderr: IO[bytes],
        stdout: IO[bytes] | None = None,
    ) -> tuple[str, subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*self._prefix, *command],
            env=environment,
            stdin=pipe,
            stdout=stdout or pipe,
            stderr=stderr,
            start_new_session=True,
        )
        return "", process

    def end_process(self, id: str, process: subprocess.Popen[bytes]) -> None:  # noqa: A002
        process.kill()
        process.wait()


class Killable:
    """A rig that two may stop: who kills it, and who reads it to its end."""

    def __init__(self, rig: Working) -> None:
        self._rig = rig
        self._lock = threading.Lock()
        self._stopped = False

    def lines(self, silence_s: float) -> Iterator[bytes]:
        return self._rig.lines(silence_s)

    def ended(self, limit_s: float) -> tuple[int, str]:
        try:
            return self._rig.ended(limit_s)
        except ValueError:  # its files are closed already
            return -signal.SIGKILL, ""

    def stop(self) -> None:
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._rig.stop()
