"""Talks to a guest through one of its ports: scripts go in, what they print comes out; see ``initramfs.INIT``. And to
QEMU itself, through its monitor."""

from __future__ import annotations

import base64
import binascii
import errno
import json
import os
import select
import selectors
import shlex
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acidtest.errors import CellFailed

END = b"\x1e"  # before the line that closes an answer


class Gone(CellFailed):
    """The guest ended, or does not answer any more."""


def open_ends(path: Path) -> tuple[int, int] | None:
    """Our ends of two named pipes of QEMU's: where it reads, and where it writes. None until it has taken its own."""
    try:
        to = os.open(f"{path}.in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None
    os.set_blocking(to, True)
    return to, os.open(f"{path}.out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


class Port:
    """One port, a pair of named pipes that QEMU holds open while it lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.code: int | None = None  # of the last script; None while one runs, or the guest starts
        self.complaint = ""  # the end of its standard error
        self._whole: deque[bytes] = deque()  # lines that came and were not handed out yet
        self._pending = b""
        for suffix in (".in", ".out"):
            os.mkfifo(f"{path}{suffix}", 0o600)

    def open(self) -> bool:
        """Take our ends, once QEMU has taken its own; whether it has. From then on it ends our reading by its end."""
        ends = open_ends(self._path)
        if ends is None:
            return False
        self._in, self._out = ends
        return True

    def close(self) -> None:
        os.close(self._in)
        os.close(self._out)

    def send(self, script: str) -> None:
        """Start ``script`` in the guest. The one before must have ended."""
        self.code = None
        pending = base64.b64encode(script.encode()) + b"\n"
        try:
            while pending:
                pending = pending[os.write(self._in, pending) :]
        except BrokenPipeError:
            raise Gone("the guest ended") from None

    def lines(self, silence_s: float) -> Iterator[bytes]:
        """What the script prints, up to its end; then ``code`` and ``complaint`` are set.

        Raises Gone when the guest ends, or prints nothing for ``silence_s``.
        """
        heard = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            while self.code is None:
                if self._whole:
                    # One at a time: who stops listening in between may go on later.
                    line, ended, last = self._whole.popleft().partition(END)
                    if ended:
                        self._ended(last)
                    if line or not ended:
                        yield line
                elif selector.select(timeout=1.0):
                    heard = time.monotonic()
                    chunk = os.read(self._out, 1 << 20)
                    if not chunk:
                        raise Gone("the guest ended")
                    *whole, self._pending = (self._pending + chunk).split(b"\n")
                    self._whole.extend(whole)
                elif time.monotonic() - heard > silence_s:
                    raise Gone(f"the guest was silent for {silence_s:.0f} s")

    def _ended(self, last: bytes) -> None:
        try:
            code, complaint = last.split()
            self.code, self.complaint = int(code), base64.b64decode(complaint[:-1]).decode(errors="replace").strip()
        except (ValueError, binascii.Error):
            raise Gone("the guest's agent does not keep to its form") from None

    def run(self, doing: str, script: str, limit_s: float) -> str:
        """Run ``script`` to its end and return what it printed. Raises CellFailed with its own words when it fails."""
        self.send(script)
        output = b"\n".join(self.lines(limit_s)).decode(errors="replace")
        if self.code != 0:
            words = " / ".join(self.complaint.splitlines()[-3:]) or f"ended with code {self.code}"
            raise CellFailed(f"{doing}: {words}")
        return output


SILENCE_S = 180.0


class Monitor:
    """Over the named pipes ``path`` with ".in" and ".out", which a QEMU that has just been started takes up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        for suffix in (".in", ".out"):
            os.mkfifo(f"{path}{suffix}", 0o600)

    def save(self, file: Path) -> None:
        """Write all that the guest is, but for its disks, into ``file``; it has stopped then, and is of no more use.

        Raises Gone.
        """
        ends = open_ends(self._path)
        if ends is None:
            raise Gone("QEMU has ended")
        self._to, self._from = ends
        self._pending = b""
        try:
            self._line()  # the greeting
            self._say("qmp_capabilities")
            self._say("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
            self._say("migrate", uri=f"exec:cat >{shlex.quote(str(file))}")
            end = time.monotonic() + SILENCE_S
            while (state := self._say("query-migrate")["status"]) != "completed":
                if state in ("failed", "cancelled") or time.monotonic() > end:
                    raise Gone(f"QEMU could not save the guest: {state}")
                time.sleep(0.05)
        finally:
            for descriptor in ends:
                os.close(descriptor)

    def _say(self, command: str, **arguments: Any) -> dict[str, Any]:
        """What QEMU answers. It also tells of events, which nobody asked for."""
        os.write(self._to, json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self._line())
            if "error" in answer:
                raise Gone(f"QEMU: {command}: {answer['error'].get('desc', '')}")
            if "return" in answer:
                return dict(answer["return"])

    def _line(self) -> bytes:
        while b"\n" not in self._pending:
            if not select.select([self._from], [], [], SILENCE_S)[0]:
                raise Gone(f"QEMU was silent for {SILENCE_S:.0f} s")
            if not (chunk := os.read(self._from, 1 << 16)):
                raise Gone("QEMU has ended")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line
