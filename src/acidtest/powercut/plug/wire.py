"""The connection between the two machines, lines over TCP, and the witness's file of those that count."""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.files import fsync_path
from acidtest.powercut.plug.messages import NotSaid, Said, parsed

LINE_MAX = 64 << 20  # of a recording with its engine's log, generously
CHUNK = 1 << 20
PORT = 7583
LOOPBACK = "127.0.0.1"
# One line of the acknowledgement log, of a program with its item; see ``Acknowledgement``.
ACKNOWLEDGEMENT = re.compile(rb"[0-9]{1,20}(?: [0-9]{1,20}){5}( \S.*)?")
# A machine without power sends nothing, not even that it is gone; see tcp(7).
IDLE_S, PROBE_S, PROBES = 5, 2, 5
UNANSWERED_MS = 20_000


class Lost(Exception):
    """The connection has ended, or what came over it is not of this protocol."""


@dataclass(frozen=True)
class Address:
    """Where the machine that is cut listens."""

    host: str
    port: int

    @classmethod
    def named(cls, text: str, option: str) -> Address:
        """``HOST``, ``HOST:PORT`` or ``[HOST]:PORT``. Raises BadInput."""
        found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?", text)
        port = int(found[3]) if found and found[3] else PORT
        if found is None or port > 65_535:
            raise BadInput(f"{option} {text}: is no address", f"write it as 192.0.2.7:{PORT} or [2001:db8::7]:{PORT}")
        return cls(found[1] or found[2], port)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine itself finds it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_acknowledgement(line: bytes) -> bool:
    """Whether it is a line that ``acknowledgement_log.parse`` reads."""
    found = ACKNOWLEDGEMENT.fullmatch(line)
    if found is None or found[1] is None:
        return found is not None
    try:
        found[1].decode()
    except UnicodeDecodeError:
        return False
    return True


class Connection:
    """Takes and gives lines. Raises Lost from all that it does."""

    def __init__(self, connected: socket.socket, most: int = LINE_MAX) -> None:
        self._socket, self._most = connected, most
        self._pending = bytearray()
        self._lines: deque[bytes] = deque()
        self._lost: str | None = None
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES),
            (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNANSWERED_MS),
        ):
            connected.setsockopt(level, option, value)

    def fileno(self) -> int:
        return self._socket.fileno()

    def say(self, message: Said, lines: Sequence[bytes] = ()) -> None:
        """Give a message, and lines after it."""
        self.pass_on([message.model_dump_json(by_alias=True).encode(), *lines])

    def pass_on(self, lines: Sequence[bytes]) -> None:
        """Give lines."""
        try:
            self._socket.sendall(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            raise Lost(error.strerror or str(error)) from None

    def line(self, limit_s: float) -> bytes | None:
        """The next one, or None when none has come so soon. A line that was cut off is none."""
        end = time.monotonic() + limit_s
        while not self._lines:
            if self._lost is not None:
                raise Lost(self._lost)
            left = end - time.monotonic()
            if not select.select([self._socket], [], [], max(left, 0))[0]:
                return None
            self._read()
        return self._lines.popleft()

    def _read(self) -> None:
        try:
            chunk = self._socket.recv(CHUNK)
        except OSError as error:
            self._lost = error.strerror or str(error)
            return
        if not chunk:
            self._lost = "the other side has closed the connection"
            return
        *lines, rest = chunk.split(b"\n")
        if lines:
            self._lines.append(bytes(self._pending) + lines[0])
            self._lines.extend(lines[1:])
            self._pending = bytearray()
        self._pending += rest
        if len(self._pending) > self._most:
            self._lost = f"a line of more than {self._most:,} bytes came"

    def take(self, limit_s: float) -> Said | bytes | None:
        """The next message, or line of the acknowledgement log; None when neither has come so soon."""
        line = self.line(limit_s)
        if line is None or is_acknowledgement(line):
            return line
        try:
            return parsed(line)
        except NotSaid as error:
            raise Lost(f"what came is neither a message nor an acknowledgement: {error}") from None

    def close(self) -> None:
        self._socket.close()


def connect(address: Address, limit_s: float) -> Connection:
    """Raises Lost, at the latest after ``limit_s``."""
    try:
        return Connection(socket.create_connection((address.host, address.port), timeout=max(limit_s, 0.1)))
    except OSError as error:
        raise Lost(f"{address}: {error.strerror or error}") from None


def listener(address: Address) -> socket.socket:
    """Raises BadInput."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=4)
    except OSError as error:
        raise BadInput(
            f"--listen {address}: cannot be listened at: {error.strerror or error}",
            "name an address of this machine, and a port that is free",
        ) from None


class Kept:
    """A new file in place of any that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        fsync_path(path.parent)
        self.count = 0

    def add(self, lines: list[bytes]) -> None:
        """They are on the drive when this returns. Raises OSError."""
        self._file.write(b"".join(line + b"\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.count += len(lines)

    def lines(self) -> list[bytes]:
        """All of them, as they stand in the file."""
        found = self.path.read_bytes().split(b"\n")[:-1]
        return [line for line in found if is_acknowledgement(line)]

    def close(self) -> None:
        self._file.close()
