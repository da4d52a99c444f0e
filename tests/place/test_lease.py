"""Who has this machine alone: a lab that a fleet has sent, while others wait for it."""

from __future__ import annotations

import os
import queue
import threading
from pathlib import Path

import pytest

from acidtest.place import lease

SECONDS = 60.0


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_who_wants_it_alone_waits_and_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool, second: bool
) -> None:
    monkeypatch.setenv("ACIDTEST_LEASE", str(tmp_path / "lease"))
    monkeypatch.setattr(lease, "TOLD_AFTER_S", 0.0)
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()

    def other() -> None:
        with lease.leased(alone=second, who="the second", tell=heard.put):
            heard.put("has it")

    with lease.leased(alone=first, who="the first", tell=heard.put):
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        who = "the first" if first else f"another acidtest (process {os.getpid()})"
        assert heard.get(timeout=SECONDS) == f"waiting for this machine, which {who} has"
    assert heard.get(timeout=SECONDS) == "has it"
    thread.join()


def test_labs_of_one_run_and_labs_that_nobody_sent_have_it_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACIDTEST_LEASE", str(tmp_path / "lease"))
    for alone, beside in ((False, ""), (True, "run 7")):
        with (
            lease.leased(alone=alone, who="run 7 of a fleet", tell=pytest.fail),
            lease.leased(alone=alone, who="run 7 of a fleet", tell=pytest.fail, beside=beside),
        ):
            pass
