"""What Dask runs on a host: it passes requests to a lab process there, one at a time."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from distributed import get_worker

from acidtest.errors import AcidtestError
from acidtest.files import find_rig
from acidtest.fleet.messages import refusal

LAST_WORDS = 2000  # characters of what a lab that died has said

_labs: dict[str, _Lab] = {}  # by run


def clock() -> float:
    """Seconds since 1970 by this machine's clock."""
    return time.time()


def facts() -> str:
    """What must be alike on all hosts, and who cells run as; nothing is made, and no lab is started for it."""
    try:
        rig = find_rig().read_bytes()
    except AcidtestError as error:
        return json.dumps({"answer": refusal(error)})
    of_host = {
        "architecture": platform.machine(), "rig_sha256": hashlib.sha256(rig).hexdigest(), "user": getpass.getuser(),
    }  # fmt: skip
    return json.dumps({"answer": of_host})


def ask(run: str, home: str | None, request: str) -> str:
    """Have the lab of ``run``, which is started if it is not there, answer ``request``.

    A machine is leased whole: while the lab of another run is there, the answer is that this one must wait.
    """
    for other in [one for one, lab in _labs.items() if not lab.lives]:
        del _labs[other]
    if busy := next((lab for lab in _labs if lab != run), None):
        return json.dumps({"busy": busy})
    if run not in _labs:
        _labs[run] = _Lab(home)
    return _labs[run].ask(request, topic(run))


def put(path: str, content: bytes) -> str:
    """Write a file that the lab of a run asked for; Dask brings its content once to each machine."""
    file = Path(path)
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.replace(file)
    return json.dumps({"answer": {}})


def once(home: str | None, request: str) -> str:
    """Have a lab of its own answer ``request``, which makes nothing that stays."""
    return _Lab(home).ask(request, topic("once"))


def doctor(home: str | None, directory: str | None) -> str:
    """What ``acidtest doctor --json`` says on this machine."""
    command = [sys.executable, "-c", "from acidtest.cli import main; main()", "doctor", "--json"]
    ran = subprocess.run(
        [*command, *([directory] if directory else [])],
        env=_environment(home),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return ran.stdout or json.dumps({"said": ran.stderr.strip()[-LAST_WORDS:]})


def _environment(home: str | None) -> dict[str, str]:
    return {**os.environ, **({"ACIDTEST_HOME": home} if home else {})}


def stop(run: str) -> None:
    """End the lab of ``run``, also in mid-cell: it releases what it has made. Dask runs this beside the lab's task."""
    if lab := _labs.get(run):
        lab.stop()


def say(run: str, request: str) -> None:
    """Say something to the lab of ``run`` while it works for ``ask``. Dask runs this beside the lab's task."""
    if lab := _labs.get(run):
        lab.say(request)


class _Lab:
    """The process that measures; it ends, and releases what it has made, when this one is gone."""

    def __init__(self, home: str | None) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "acidtest.fleet.lab"],
            env=_environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
            start_new_session=True,
        )

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: str, heard: str) -> str:
        """The answer, or that it died; what it tells meanwhile is logged under the topic ``heard``."""
        process = self._process
        assert process.stdout is not None
        if not self.say(request):
            return self._died()
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "event" not in message:
                return line
            get_worker().log_event(heard, message)
        return self._died()

    def say(self, request: str) -> bool:
        """Whether it still listens."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def stop(self) -> None:
        self._process.terminate()

    def _died(self) -> str:
        code = self._process.wait()
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip()[-LAST_WORDS:]
        return json.dumps({"died": code, "said": words})


def topic(run: str) -> str:
    """Under which what a lab tells is heard."""
    return f"acidtest-{run}"
