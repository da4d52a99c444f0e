#!/usr/bin/env python3
"""A rig with a planted bug in its acknowledgement log: $PLANTED is ``early`` or ``dropped``.

``early``: with its first commit a terminal acknowledges the ``AHEAD`` after it too, which have not begun: more than an
engine makes while this process waits for a processor. ``dropped``: every third line is missing. Everything else is the
rig in $REAL_RIG.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from io import FileIO
from pathlib import Path
from typing import BinaryIO

REAL, PLANTED = os.environ["REAL_RIG"], os.environ["PLANTED"]
AHEAD = 5_000


def main() -> int:
    if sys.argv[1:] != ["job"]:
        os.execv(REAL, [REAL, *sys.argv[1:]])
    job = json.load(sys.stdin)
    log = next((phase["acknowledge_to"] for phase in job["phases"] if phase.get("acknowledge_to")), None)
    if log is None:
        return subprocess.run([REAL, "job"], input=json.dumps(job).encode(), check=False).returncode
    with tempfile.TemporaryDirectory(dir=Path(log).parent) as directory:  # goes with the log, even if this is killed
        own = Path(directory) / "acknowledgements"
        os.mkfifo(own)
        for phase in job["phases"]:
            if phase.get("acknowledge_to"):
                phase["acknowledge_to"] = str(own)
        real = subprocess.Popen([REAL, "job"], stdin=subprocess.PIPE)
        assert real.stdin is not None
        real.stdin.write(json.dumps(job).encode())
        real.stdin.close()
        with own.open("rb") as written, Path(log).open("ab", buffering=0) as passed_on:
            pass_on(written, passed_on)
        return real.wait()


def pass_on(written: BinaryIO, passed_on: FileIO) -> None:
    seen: set[int] = set()
    fcntl.fcntl(passed_on, fcntl.F_SETPIPE_SZ, 1 << 20)
    for number, line in enumerate(written):
        terminal, count, kind, transaction, *times = map(int, line.split())
        if PLANTED == "early" and terminal not in seen:
            seen.add(terminal)
            rest = " ".join(map(str, times))
            lines = [f"{terminal} {count + n} {kind} {transaction + n} {rest}\n" for n in range(AHEAD + 1)]
            passed_on.write("".join(lines).encode())  # at once: whoever reads the first one finds the others there
        elif PLANTED == "dropped" and number % 3 != 1:
            passed_on.write(line)


if __name__ == "__main__":
    sys.exit(main())
