"""What is shipped as a folder beside a workload of acidtest's own does the same."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import recording
from acidtest.engine import Engine, catalogue
from acidtest.journal.protocol import LoadPhase
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload import WorkloadSpec, replaying
from acidtest.workload.oltp import Oltp
from acidtest.workload.sql import Sql

pytestmark = pytest.mark.slow

SYSBENCH = Path(__file__).parents[2] / "workloads" / "sysbench"


def statements(engine: Engine, workload: WorkloadSpec, directory: Path, ledger: Ledger) -> list[str]:
    """What the server was sent for one transaction, as its log has it, without the numbers of tables."""
    loaded, working = directory / "loaded", directory / "working"
    loaded.mkdir(parents=True)
    working.mkdir()
    instance = engine.create(loaded, {})
    try:
        instance.start(ledger)
        recording.drive(workload, instance, ledger, [LoadPhase()])
        instance.seal()
        for path in instance.database_files():
            copy_tree(path, working / path.name)
    finally:
        instance.release()
    instance = engine.adopt(working, {}, "os")
    try:
        with recording.logging(instance, engine.family, directory / "logs") as copied:
            instance.start(ledger)
            ran = recording.drive(workload, instance, ledger, [workload.run_phase()])
            assert ran.result is not None
            assert ran.result.counts.committed == 1
            logs = copied()
    finally:
        instance.release()
    out = io.BytesIO()
    replaying.made(logs[:1], None, out)
    *told, _ = map(json.loads, out.getvalue().splitlines())
    begins = next(at for at, one in enumerate(told) if one[2] == "b")
    ends = next(at for at, one in enumerate(told) if one[2] == "c")
    return [re.sub(r"\bsbtest1\b", "sbtest", " ".join(one[3].split())) for one in told[begins + 1 : ends]]


@pytest.fixture
def find(engines_installed: None) -> Callable[[str], Engine]:
    return catalogue.find


def test_the_folder_with_sysbenchs_statements_sends_those_of_oltp(
    find: Callable[[str], Engine], ledger: Ledger, tmp_path: Path
) -> None:
    engine = find("postgresql-17")
    table = {
        "kind": "sql", "path": str(SYSBENCH), "count": 1, "variables": {"thousands": 1},
        "weights": {"point_select": 0, "update_index": 0, "write_only": 0, "read_write": 1},
    }  # fmt: skip
    folder = Sql.model_validate(Sql.completed(table, SYSBENCH))
    sent = statements(engine, folder, tmp_path / "folder", ledger)
    assert sent == statements(engine, Oltp(count=1, table_rows=1_000), tmp_path / "oltp", ledger)
    assert len(sent) == 18
    assert sent[:10] == ["select c from sbtest where id = $1"] * 10
