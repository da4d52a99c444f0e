"""When engines wrote the entries of their logs, in each engine's own form."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from acidtest.engine.log_times import between

UTC = datetime.fromisoformat("2026-11-23T16:02:11+00:00").timestamp()
LOCAL = datetime(2026, 11, 23, 16, 2, 11).timestamp()  # this machine's own time

FORMS = [
    ("2026-11-23 16:02:11.250 UTC [77] 00000 LOG:  checkpoint starting: time\n\tmore\n", UTC, 0.25,
     "LOG:  checkpoint starting: time"),
    ("2026-11-23T16:02:11.250000Z 0 [Note] InnoDB: page_cleaner: 1000ms\n", UTC, 0.25,
     "[Note] InnoDB: page_cleaner: 1000ms"),
    ("2026-11-23 16:02:11 0 [Note] InnoDB: Buffer pool(s) load\n", LOCAL, 0.0, "[Note] InnoDB: Buffer pool(s) load"),
    ("261123 16:02:11 [Note] Event Scheduler: Loaded\n", LOCAL, 0.0, "[Note] Event Scheduler: Loaded"),
    ("host\tMon Nov 23 16:02:11 2026\n\tSweep is started by SYSDBA\n\tDatabase x\n", LOCAL, 0.0,
     "Sweep is started by SYSDBA"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "second", "after_s", "said"), FORMS)
def test_an_entry_of_the_measurement_is_told_with_its_time(
    tmp_path: Path, text: str, second: float, after_s: float, said: str
) -> None:
    log = tmp_path / "log"
    log.write_text("no time here\n" + text)
    (line,) = between(log, second - 2, second + 2)
    assert (line.at_s, line.text) == (2 + after_s, said)
    assert between(log, second + 2, second + 9) == []
    assert between(log, second - 9, second - 1) == []


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert between(tmp_path / "none", 0, 9) == []
    assert between(None, 0, 9) == []
