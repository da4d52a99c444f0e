"""A private server: one process of ours, reached through a socket or a loopback port, with a log that is kept."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acidtest.engine.base import Instance, Launcher, SettingSpec
from acidtest.errors import CellFailed, MachineLacks
from acidtest.files import kernel_text, opened_by
from acidtest.journal.models import Scalar

LOOPBACK = "127.0.0.1"
LOG_BYTES = 16 * 1024
START_S = 120.0
STOP_S = 300.0  # a last checkpoint on a slow drive
HEED_S = 10.0  # to end in order where nothing is left to write
CLOSE_S = 2.0  # for the end of a session to arrive
SOCKET_PATH_MAX = 107  # sockaddr_un.sun_path, see unix(7)

CONNECTION = SettingSpec(
    "connection", "Sessions connect through a Unix socket, or TCP on 127.0.0.1.", ("socket", "tcp"), default="socket"
)


class Ended(CellFailed):
    """A server ended by itself while it started, and says why."""


class Server:
    """One server process. ``name`` stands in messages, ``log`` is the file that its output goes to.

    ``cause`` finds in a log why a start failed, for a server that does not say it last.
    """

    def __init__(self, name: str, log: Path, cause: Callable[[str], str] = lambda log: "") -> None:
        self.name = name
        self.log = log
        self._cause = cause
        self._launcher: Launcher | None = None
        self._id = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self,
        launcher: Launcher,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        ready: Callable[[], bool],
        seconds: float = START_S,
    ) -> None:
        """Start ``command`` and wait until ``ready``. Raises CellFailed with the last lines of the log, Ended if it
        ended by itself."""
        with self.log.open("ab") as output:
            try:
                self._id, self._process = launcher.start_process(
                    command, environment=environment, stderr=output, stdout=output
                )
            except OSError as error:
                raise CellFailed(f"{self.name}: could not be started: {command[0]}: {error.strerror}") from None
        self._launcher = launcher
        end = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                ending = self._ending()
                self.kill()
                raise Ended(f"{self.name}: the server {ending} while it started: {self._why()}")
            if time.monotonic() > end:
                self.kill()
                raise CellFailed(f"{self.name}: the server did not answer within {seconds:.0f} s: {self._why()}")
            time.sleep(0.02)

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def died(self, within_s: float = 0.0) -> str | None:
        """How it ended although nobody asked it to, with its last words; None if it still runs after ``within_s``
        seconds, or after stop."""
        if self._process is None:
            return None
        try:
            self._process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            return None
        return f"it {self._ending()}; its log ends: {self.last_lines()}"

    def stop(
        self, signal_: signal.Signals = signal.SIGTERM, files: Sequence[Path] = (), orderly: Sequence[int] = (0,)
    ) -> None:
        """Ask it to shut down and wait. Raises CellFailed when it does not end in order; it is gone in any case.

        A server that has none of its ``files`` open has nothing to lose: it is killed if it does not heed the signal,
        and it may end as it likes. Firebird's servers crash at times when they have nothing left to do but to end.
        ``orderly`` are the exit codes of one that ended in order.
        """
        if self._process is None:
            return
        try:
            idle = False
            if self._process.poll() is None:
                idle = bool(files) and _closes(self._process.pid, files)
                self._process.send_signal(signal_)
            try:
                code = self._process.wait(timeout=HEED_S)
            except subprocess.TimeoutExpired:
                if files and not _has_open(self._process.pid, files):
                    return
                try:
                    code = self._process.wait(timeout=STOP_S)
                except subprocess.TimeoutExpired:
                    raise CellFailed(f"{self.name}: the server did not stop within {STOP_S:.0f} s") from None
            if code not in (*orderly, -signal_) and not idle:
                raise CellFailed(f"{self.name}: the server {self._ending()} when it was stopped: {self.last_lines()}")
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process is not None and self._launcher is not None:
            self._launcher.end_process(self._id, self._process)
        self._process = None

    def last_lines(self, count: int = 3) -> str:
        """The last lines of the log, on one line."""
        lines = [line.strip() for line in log_tail(self.log).splitlines() if line.strip()]
        return " / ".join(lines[-count:]) or "its log is empty"

    def _why(self) -> str:
        return self._cause(log_tail(self.log)) or self.last_lines()

    def _ending(self) -> str:
        code = self._process.returncode if self._process is not None else 0
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def _has_open(pid: int, files: Sequence[Path]) -> bool:
    """Whether a process, or one that it started, has one of the files open."""
    identities = {(status.st_dev, status.st_ino) for status in map(Path.stat, files)}
    if any((opened.st_dev, opened.st_ino) in identities for opened in opened_by(Path(f"/proc/{pid}"))):
        return True
    with contextlib.suppress(OSError):  # it may end at any moment
        children = [child for of in Path(f"/proc/{pid}/task").glob("*/children") for child in kernel_text(of).split()]
        return any(_has_open(int(child), files) for child in children)
    return False


def _closes(pid: int, files: Sequence[Path]) -> bool:
    """Whether the files are closed, now or soon: a session's end takes a moment to arrive."""
    end = time.monotonic() + CLOSE_S
    while _has_open(pid, files):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def log_tail(path: Path) -> str:
    """The last 16 KiB of a log, "" when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            return file.read().decode(errors="replace").strip()
    except FileNotFoundError:
        return ""


def port_for(name: str, asked: Scalar) -> int:
    """The port of the loopback address that is asked for, or one that nobody uses. Raises CellFailed for one that is
    taken."""
    with socket.socket() as probe:
        if asked is None:
            probe.bind((LOOPBACK, 0))
            return int(probe.getsockname()[1])
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, int(str(asked))))
        except OSError:
            raise CellFailed(f"{name}: port {asked} of {LOOPBACK} is taken: ask for another, or for none") from None
    return int(str(asked))


def listens(pid: int | None, port: int) -> bool:
    """Whether somebody listens on TCP ``port`` in the network that the process is in; see proc_net(5)."""
    for name in ("tcp", "tcp6"):
        try:
            rows = kernel_text(Path(f"/proc/{pid}/net/{name}")).splitlines()[1:]
        except OSError:
            continue
        # The second field ends with the port, in hexadecimal; 0A is TCP_LISTEN.
        if any(int(row.split()[1].rpartition(":")[2], 16) == port and row.split()[3] == "0A" for row in rows):
            return True
    return False


def password() -> str:
    """A new random password."""
    return secrets.token_urlsafe(18)


class SocketDirectory:
    """Where a server's Unix socket lies: ``directory`` itself, or, where its path is too long for a socket, one of ours
    in the system's directory for temporary files, released with the server. Also for another file whose path may have
    no more than ``bytes_max``."""

    def __init__(self, directory: Path, longest_name: str, bytes_max: int = SOCKET_PATH_MAX) -> None:
        self.path = directory
        self._id: str | None = None
        self._long = len(os.fsencode(directory / longest_name)) > bytes_max

    def make(self, launcher: Launcher) -> None:
        if self._long and self._id is None:
            self.path = Path(tempfile.gettempdir()) / f"acidtest-{uuid.uuid4().hex[:8]}"
            self._id = launcher.make_directory(self.path)

    def release(self, launcher: Launcher) -> None:
        if self._id is not None:
            launcher.remove_directory(self._id)
            self._id = None


class ServedInstance(Instance):
    """What instances share that have a server of their own: it dies, is killed and is let go of in the same way."""

    _server: Server
    _sockets: SocketDirectory | None = None
    _launcher: Launcher | None = None  # since the start

    @property
    def runs(self) -> bool:
        return self._server.pid is not None

    def died(self, within_s: float = 0.0) -> str | None:
        return self._server.died(within_s)

    def log_file(self) -> Path | None:
        return self._server.log

    def lose_power(self) -> None:
        self._server.kill()

    def release(self) -> None:
        # Killed: what it still has to write nobody will read.
        self._server.kill()
        if self._sockets is not None and self._launcher is not None:
            self._sockets.release(self._launcher)


def empty_directory(name: str, path: Path) -> None:
    """Make ``path`` for a new database. Raises CellFailed when something is in it."""
    if path.exists() and any(path.iterdir()):
        raise CellFailed(f"{name}: {path} is not empty: a new database is made in an empty directory")
    path.mkdir(exist_ok=True)


def as_ordinary_user(command: Sequence[str]) -> list[str]:
    """``command`` for a server that refuses to run as root: as another user of a namespace in which nobody else is.

    Files stay root's, so that no directory has to be given away; see user_namespaces(7). Unchanged for other users.
    Raises MachineLacks where such namespaces are not to be had.
    """
    if os.geteuid() != 0:
        return list(command)
    unshare = shutil.which("unshare")
    user, group = _ordinary_user()
    wrapped = [unshare or "unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--"]
    worked = False
    if unshare:
        with contextlib.suppress(OSError):
            worked = subprocess.run([*wrapped, "true"], capture_output=True, check=False).returncode == 0
    if not worked:
        raise MachineLacks(
            f"{Path(command[0]).name} refuses to run as root, and this machine gives no user namespace",
            "run acidtest as an ordinary user, or allow user namespaces (package util-linux has unshare)",
        )
    return [*wrapped, *command]


def _ordinary_user() -> tuple[int, int]:
    """Number and group of a user that has a name, which PostgreSQL demands; every system has one of these."""
    for name in ("daemon", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return user.pw_uid, user.pw_gid
    return 1000, 1000
