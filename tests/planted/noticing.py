"""A plugin of pytest: appends each test that has ended to the file that ``PLANTED_TESTS`` names, so that a run which hangs
and is ended has said what it saw."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_failed: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return  # the process that the workers report to writes
    test = report.nodeid.partition("@")[0]
    if report.failed:
        _failed.add(test)
    if report.when in ("setup", "call") and not (report.failed and report.when == "call"):
        return
    extent = dict(report.user_properties).get("extent", "test")  # see durations.Recorder; a worker that died tells none
    with Path(os.environ["PLANTED_TESTS"]).open("a") as file:
        file.write(json.dumps({"test": test, "failed": test in _failed, "extent": extent}) + "\n")
