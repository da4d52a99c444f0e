"""Experiments that an earlier version wrote into a journal."""

from __future__ import annotations

from typing import Any

import pytest

from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse
from acidtest.journal.models import Header
from acidtest.journal.writer import JournalWriter

TEXT = """
name = "t"
engine = "sqlite"
durability = "drive"
[workload.commits]
count = 10
row_bytes = 7
[workload.reads]
kind = "scan"
size_mb = 3
"""
# What version 0.1 wrote of the workloads of TEXT: the keys of all of them in each.
OF_0_1: dict[str, dict[str, Any]] = {
    name: {
        "kind": kind, "terminals": 1, "threads": None, "warmup_s": 0.0, "duration_s": None, "count": count, "think_ms": 0.0,
        "rate_per_s": None, "arrivals": "poisson", "retries": 10, "scale": 1, "row_bytes": row_bytes, "warehouses": 1,
        "warehouse_percent": 100, "procedures": False, "keying": False, "roaming": False, "products": 10_000,
        "orders_per_call": 100, "repeatable": False, "rows": 5_000, "size_mb": size_mb, "read": "natural", "tables": 1,
        "table_rows": 100_000, "parts": 3, "observe": False,
    }
    for name, kind, count, row_bytes, size_mb in (("commits", "commits", 10, 7, 100), ("reads", "scan", 3, 100, 3))
}  # fmt: skip
# As version 0.1 computed it of TEXT.
DIGEST_OF_0_1 = "0f5484dbc13488d4df192c48b50b999d749d3541c77af662814d71e4ba0e407c"


def test_its_digest_is_the_one_that_it_had_so_that_its_run_goes_on() -> None:
    read = parse(TEXT, "t.toml")
    assert read.digest() == DIGEST_OF_0_1
    assert Experiment.recorded({**read.model_dump(mode="json"), "workload": OF_0_1}).digest() == DIGEST_OF_0_1


def test_its_workloads_have_their_own_keys() -> None:
    read = parse(TEXT, "t.toml")
    again = Experiment.recorded({**read.model_dump(mode="json"), "workload": OF_0_1})
    assert again.workload == read.workload


def test_power_cuts_go_beside_its_run_unless_they_are_of_another_experiment(tmp_path) -> None:
    read = parse(TEXT, "t.toml").model_dump(mode="json")

    def header(**changes: Any) -> Header:
        return Header(acidtest_version="0.1", created_at="", experiment={**read, **changes}, digest="d", factors={}, base={}, cells=1)  # fmt: skip

    JournalWriter(tmp_path, header(workload=OF_0_1)).close()
    JournalWriter(tmp_path, header(), "cuts.jsonl").close()
    (tmp_path / "cuts.jsonl").unlink()
    other = {**read["workload"], "commits": {**read["workload"]["commits"], "row_bytes": 8}}
    for changes in ({"workload": other}, {"seed": 9}, {"workload": {"commits": read["workload"]["commits"]}}):
        with pytest.raises(BadInput, match="is of another experiment"):
            JournalWriter(tmp_path, header(**changes), "cuts.jsonl")
