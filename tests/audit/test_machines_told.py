"""Tables of texts that describe the machine of each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge

COLUMNS = "# Compare\n\n## {}\n\n| | {} | {} |\n|---|---|---|\n| CPU | {} | {} |\n| Memory | {} | {} |\n"
ROWS = "# Compare\n\n## Test environment\n\n| Database | vCPU | RAM |\n|---|---|---|\n| MySQL 8 | 4 | {} |\n| MongoDB 7 | 4 | {} |\n"


def severity(tmp_path: Path, text: str) -> str:
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    return next(
        (one.severity for one in judge.of_bench(importers.read(tmp_path)) if one.rule.name == "machine-differs"), ""
    )


@pytest.mark.parametrize(
    "text",
    [
        COLUMNS.format("Hardware", "PostgreSQL", "MongoDB", "8 cores", "16 cores", "32 GB", "32 GB"),
        COLUMNS.format("Test setup", "MySQL 8.0", "Redis", "Xeon E5", "EPYC 7302", "64 GB", "128 GB"),
        COLUMNS.format("Environment", "TiDB", "MySQL", "4 vCPU", "4 vCPU", "16 GB", "8 GB"),
        ROWS.format("16 GB", "32 GB"),
    ],
)
def test_engines_on_other_machines(tmp_path: Path, text: str) -> None:
    assert severity(tmp_path, text) == "doubtful"


@pytest.mark.parametrize(
    "text",
    [
        COLUMNS.format("Hardware", "PostgreSQL", "MongoDB", "8 cores", "8 cores", "32 GB", "32GB"),  # the same
        COLUMNS.format("Hardware", "PostgreSQL", "MongoDB", "8 cores", "8 cores (Xeon)", "32 GB", "32 GB RAM"),
        COLUMNS.format("Hardware", "AWS", "Hetzner", "8 cores", "16 cores", "32 GB", "64 GB"),  # machines are compared
        COLUMNS.format("Results", "PostgreSQL", "MongoDB", "80 %", "95 %", "1.2 GB", "3.4 GB"),  # what was measured
        COLUMNS.format("Environment", "PostgreSQL 16", "PostgreSQL 17", "8", "16", "1 GB", "2 GB"),  # one engine
        COLUMNS.format("Hardware requirements", "MySQL", "TiDB", "2 cores", "8 cores", "4 GB", "16 GB"),
        COLUMNS.format("Hardware", "MySQL", "TiDB", "-", "8 cores", "?", "16 GB"),  # of one it is not told
        ROWS.format("16 GB", "16 GB"),
    ],
)
def test_engines_on_one_machine(tmp_path: Path, text: str) -> None:
    assert not severity(tmp_path, text)
