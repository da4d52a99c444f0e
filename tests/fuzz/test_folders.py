"""Every fault that fuzzing has found in folders of workloads, and some thousands of mutations of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import folders, harness
from support import times

pytestmark = pytest.mark.slow

SEED = 20261123
TRIES = times(400, 1500)


@pytest.mark.parametrize("files", folders.faults(), ids=lambda files: next(iter(files), "empty"))
def test_a_fault_of_the_past(files: harness.Kit, tmp_path: Path) -> None:
    folders.check(files, tmp_path)


def test_mutations(tmp_path: Path) -> None:
    found = next(folders.run(SEED, tmp_path, 600, TRIES), None)
    assert found is None, f"{found[1]}: {found[0]} (seed {SEED})"


def test_a_fault_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("acidtest.workload.folder.declared", broken)
    with pytest.raises(harness.Fault, match="KeyError"):
        folders.check({"schema.sql": b"create table t (a integer);", "workload.toml": b""}, tmp_path)
