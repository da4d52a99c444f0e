"""QEMU's own port: commands and answers are JSON lines. Source: "QEMU Machine Protocol Specification" in its manual."""

from __future__ import annotations

import json
import os
import select
import shlex
import time
from pathlib import Path
from typing import Any

from acidtest.place.guest.agent import Gone, open_ends

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
