"""``python -m bench hostile``: ``acidtest audit`` on directories that are large, strange or made to break their reader.

Each is generated, audited by a process of its own and removed. A row says what the process took, how it ended, and
what of that is beyond what docs/AUDIT.md promises.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import processes
from bench.hostile.kits import KITS, Kit, Make, Meanwhile
from bench.processes import Ran

SECONDS_MAX = 10.0  # of processor time
PEAK_MB_MAX = 300.0
ENDED_AFTER_S = 30  # of processor time
ENDED_AT_LAST_S = 600


def main(only: str, directory: Path | None, *, details: bool) -> int:
    """The exit code: 1 where a promise is broken."""
    listed = [kit for kit in KITS if only in kit.name]
    faults = 0
    print(f"{'directory':<44}{'seconds':>9}{'CPU':>7}{'MB':>7}{'exit':>6}")
    for kit in listed:
        with tempfile.TemporaryDirectory(prefix="acidtest-hostile-", dir=directory) as temporary:
            root = Path(temporary) / "kit"
            root.mkdir()
            _apart(kit.make, root)
            with _going_on(kit.meanwhile, root):
                ran = audit(root)
            processes.run(["chmod", "-R", "u+rwx", os.fspath(root)])
            processes.run(["rm", "-rf", os.fspath(root)])  # Python of 3.11 cannot remove what is nested that deep
        wrong = list(broken(kit, ran))
        faults += bool(wrong)
        print(
            f"{kit.name:<44}{ran.seconds:>9.1f}{ran.cpu_seconds:>7.1f}{ran.peak_mb:>7.0f}{ran.exit_code:>6}"
            + (f"  {'; '.join(wrong)}" if wrong else ""),
            flush=True,
        )
        if details:
            print("    " + "\n    ".join((ran.output + ran.errors).decode(errors="replace").splitlines()[-40:]))
    print(f"\n{len(listed)} directories, {faults} beyond {SECONDS_MAX:g} s, {PEAK_MB_MAX:g} MB or their exit code")
    return 1 if faults else 0


def _apart(make: Make, root: Path) -> None:
    """In a process of its own, so that this one stays small (see ``processes.run``)."""
    other = multiprocessing.Process(target=make, args=(root,))
    other.start()
    other.join()
    if other.exitcode:
        raise SystemExit(f"{root} could not be made")


def audit(root: Path) -> Ran:
    command = [sys.executable, "-c", "from acidtest.cli import main; main()", "audit", os.fspath(root)]
    return processes.run(["prlimit", f"--cpu={ENDED_AFTER_S}", "timeout", str(ENDED_AT_LAST_S), *command])


def broken(kit: Kit, ran: Ran) -> Iterator[str]:
    """Which promises a process broke."""
    if ran.cpu_seconds > SECONDS_MAX:
        yield f"more than {SECONDS_MAX:g} s"
    if ran.peak_mb > PEAK_MB_MAX:
        yield f"more than {PEAK_MB_MAX:g} MB"
    if b"Traceback" in ran.errors + ran.output:
        yield f"a traceback: {ran.errors.decode(errors='replace').strip().splitlines()[-1][:200]}"
    if ran.exit_code not in kit.exit_codes:
        yield f"ended with {ran.exit_code}, not {' or '.join(map(str, kit.exit_codes))}"


@contextmanager
def _going_on(meanwhile: Meanwhile | None, root: Path) -> Iterator[None]:
    """Does that to the directory, again and again, in another process while the block runs."""
    if meanwhile is None:
        yield
        return
    other = multiprocessing.Process(target=_again, args=(meanwhile, root), daemon=True)
    other.start()
    time.sleep(0.1)
    try:
        yield
    finally:
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join()


def _again(meanwhile: Meanwhile, root: Path) -> None:
    round_ = 0
    while True:
        meanwhile(root, round_)
        round_ += 1
