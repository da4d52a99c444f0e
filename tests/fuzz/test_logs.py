"""Every fault that fuzzing has found in logs, and some thousands of mutations of some."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import harness, logs
from support import times

pytestmark = pytest.mark.slow

SEED = 20261124
TRIES = times(200, 700)


PAST = [("/".join(files), content) for files in logs.faults() for content in files.values()]


@pytest.mark.parametrize(
    ("name", "content"), [*logs.seeds(), *PAST], ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_log_or_a_fault_of_the_past_and_each_of_its_beginnings(name: str, content: bytes, tmp_path: Path) -> None:
    for length in sorted({len(content) * part // 16 for part in range(17)}):
        logs.check(content[:length], tmp_path)


def test_mutations(tmp_path: Path) -> None:
    found = next(logs.run(SEED, tmp_path, 600, TRIES), None)
    assert found is None, f"{found[1]}: {found[0]} (seed {SEED})"


def test_a_fault_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("acidtest.workload.replaying.logged.effect", broken)
    with pytest.raises(harness.Fault, match="KeyError"):
        logs.check(logs.seeds()[0][1], tmp_path)
