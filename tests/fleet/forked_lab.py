"""A lab in a process that has been forked: what a fork imports beyond what is there already is paid each time."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from multiprocessing.reduction import DupFd

from acidtest.fleet import lab


def run(stdin: DupFd, stdout: DupFd, stderr: DupFd, environment: Mapping[str, str]) -> None:
    os.setsid()
    for number, file in enumerate((stdin, stdout, stderr)):
        os.dup2(file.detach(), number)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ.clear()
    os.environ.update(environment)
    lab.FLUSHED_S = 0.01
    lab.main()
