"""The ``acidtest`` command from a process that has imported it already.

Most of what a short command takes is its imports, and the tests start hundreds. One process for each worker imports them
once; each command is a fork of it: a process of its own with its own arguments, environment, directory and streams, which
carries out the script that a user starts. What a start itself is like (languages, signals, lost output) is tested by
real ones. Run as a script this is the process that forks.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

READ_AT_START = ("LANG", "LC_", "PYTHON")  # variables that Python reads when it starts
MESSAGE = 1 << 20
LEFT_OUT = (
    "acidtest.engine.firebird.admin", "acidtest.engine.firebird.validation", "acidtest.reference.__main__",  # scripts
    "acidtest.report.export",  # pyarrow starts a thread when it is imported
)  # fmt: skip


def can_fork(environment: Mapping[str, str], more: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for that a fork cannot have."""
    return not more and not any(name.startswith(READ_AT_START) for name in environment)


class Forked:
    """Commands by forking. They may run side by side."""

    def __init__(self) -> None:
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(other.fileno())],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it starts its threads when it is imported
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[other.fileno()],
            )  # fmt: skip
        self._socket = own

    def run(
        self, script: Path, arguments: Sequence[str], environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """As subprocess.run with captured text. Raises TimeoutExpired after ``timeout`` seconds; it is killed then."""
        command = [str(script), *arguments]
        request = json.dumps({"command": command, "environment": dict(environment), "directory": str(Path.cwd())})
        with TemporaryFile() as stdout, TemporaryFile() as stderr:
            answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with answers:
                with theirs:
                    files = [theirs.fileno(), stdout.fileno(), stderr.fileno()]
                    socket.send_fds(self._socket, [request.encode()], files)
                pid = int(answers.recv(MESSAGE))
                answers.settimeout(timeout)
                try:
                    code = os.waitstatus_to_exitcode(int(answers.recv(MESSAGE)))
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(command, timeout) from None
            texts = []
            for file in (stdout, stderr):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(command, code, *texts)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _serve(requests: socket.socket) -> None:
    """Fork for every request, until nobody can send one any more.

    Nobody waits for these forks: what they used would count a second time when this process ends.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, files, _, _ = socket.recv_fds(requests, MESSAGE, 3)
        if not data:
            return
        if os.fork() == 0:
            requests.close()
            _attend(json.loads(data), *files)
        for file in files:
            os.close(file)


def _attend(request: dict[str, Any], answers: int, stdout: int, stderr: int) -> None:
    """Fork the command itself, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.closerange(3, 1024)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv = request["command"]
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        finally:
            sys.stdout.flush()
        raise AssertionError("main ends with an exit code")
    os.close(stdout)
    os.close(stderr)
    os.write(answers, str(pid).encode())
    _, status, used = os.wait4(pid, 0)
    durations.add("processor", used.ru_utime + used.ru_stime)
    os.write(answers, str(status).encode())
    os._exit(0)


if __name__ == "__main__":
    import acidtest

    sys.path.append(str(Path(__file__).parent))
    import durations

    sys.path.pop()

    for module in pkgutil.walk_packages(acidtest.__path__, "acidtest."):
        if module.name not in LEFT_OUT:
            import_module(module.name)
    durations.timed()
    gc.collect()
    gc.freeze()  # else each fork goes through all of it when it ends, and copies the pages
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads cannot fork"
    _serve(socket.socket(fileno=int(sys.argv[1])))
