"""Sentences that tell how far apart two sides are, held against the tables of their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.finding import Finding

COLUMNS = """# Runs

| test | PostgreSQL 17 (ms) | MySQL 8.4 (ms) |
|---|---|---|
| insert | 10.0 | 15.0 |
| update | 12.0 | 17.5 |

"""
RATES = """# Runs

| Engine | Writes (ops/s) | Reads (ops/s) |
|---|---|---|
| MongoDB 7 | 12,000 | 40,000 |
| Postgres 16 | 9,800 | 61,000 |

"""
SHORT = """# Runs

| case | mattn | modernc |
|---|---|---|
| select | ~204K RPS | ~123K RPS |
| write | ~198K RPS | ~130K RPS |

"""


def found(tmp_path: Path, text: str, rule: str = "claim-against-figures") -> list[Finding]:
    tmp_path.mkdir(parents=True, exist_ok=True)
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    return [one for one in judge.of_bench(importers.read(tmp_path)) if one.rule.name == rule]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (COLUMNS, "PostgreSQL is 3.5x faster than MySQL."),
        (COLUMNS, "Overall, PostgreSQL is 180% faster than MySQL."),
        (COLUMNS, "For insert, PostgreSQL is 10% faster than MySQL."),
        (COLUMNS, "Postgres is more than 4 times faster than MySQL."),
        (COLUMNS, "PostgreSQL was three times as fast as MySQL."),
        (RATES, "MongoDB has 80% higher throughput than Postgres for writes."),
        (RATES, "Mongo is 5x faster than PostgreSQL for writes."),
        (SHORT, "mattn is 4x faster than modernc."),
        (SHORT, "mattn is 10-20% faster than modernc on select."),
    ],
)
def test_a_number_that_no_figure_has(tmp_path: Path, table: str, sentence: str) -> None:
    told = found(tmp_path, table + sentence + "\n")
    assert [(one.severity, one.certainty) for one in told] == [("doubtful", "read from prose")]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (COLUMNS, "PostgreSQL is 50% faster than MySQL."),  # the base is the faster one
        (COLUMNS, "PostgreSQL is 33% faster than MySQL."),  # or the slower one
        (COLUMNS, "PostgreSQL is about 1.5x faster than MySQL."),
        (COLUMNS, "PostgreSQL is 30-35% faster than MySQL."),
        (COLUMNS, "PostgreSQL is 148% faster than MySQL."),  # a ratio told as a gain has a finding of its own
        (COLUMNS, "PostgreSQL is up to 6x faster than MySQL."),  # of some other case
        (COLUMNS, "PostgreSQL is not 6x faster than MySQL."),
        (COLUMNS, "PostgreSQL could be 6x faster than MySQL."),
        (COLUMNS, "PostgreSQL needs 6x more memory than MySQL."),  # of something else
        (COLUMNS, "Others claim that PostgreSQL is 6x faster than MySQL."),
        (COLUMNS, "PostgreSQL is 6x faster than Oracle."),  # of another side
        (COLUMNS, "PostgreSQL is 6x faster than MySQL for complex joins."),  # of rows that are not there
        (COLUMNS, "PostgreSQL is 2x faster, and 6x faster than MySQL."),  # two numbers
        (RATES, "Postgres is 52% faster than MongoDB for reads."),
        (RATES, "MongoDB has 20% higher write throughput than Postgres."),
        (SHORT, "mattn is 1.6x faster than modernc."),
    ],
)
def test_a_number_that_some_reading_has(tmp_path: Path, table: str, sentence: str) -> None:
    assert not found(tmp_path, table + sentence + "\n")


def test_a_table_far_away_is_another_matter(tmp_path: Path) -> None:
    text = COLUMNS + "Words.\n\n" * 60 + "## Elsewhere\n\nPostgreSQL is 6x faster than MySQL.\n"
    assert not found(tmp_path, text)


THREADS = (
    "| threads | RPS (A) | RPS (B) |\n|---|---|---|\n| 10 | {} | 97000 |\n| 50 | {} | 72000 |\n| 500 | {} | 10000 |\n"
)


@pytest.mark.parametrize(
    "heading", ["Scale-out is near-linear", "可呈接近線性成長", "Почти линейный рост", "Escala linealmente"]
)
def test_growth_that_is_called_linear(tmp_path: Path, heading: str) -> None:
    falls = found(tmp_path / "a", f"# All\n\n### {heading}\n\n{THREADS.format(97000, 96000, 11000)}")
    assert falls and len(falls[0].evidence) == 3
    assert not found(tmp_path / "b", f"# All\n\n### {heading}\n\n{THREADS.format(9700, 45000, 410000)}")
    assert not found(tmp_path / "c", f"# All\n\n### It is not linear\n\n{THREADS.format(97000, 96000, 11000)}")


ROWS = "# Runs\n\n| driver | inserts/s |\n|---|---|\n| fast one | 10,548 |\n| other two | 9,120 |\n\n"


def test_a_rate_of_a_sentence_that_no_file_has(tmp_path: Path) -> None:
    rule = "figure-not-in-results"
    told = found(tmp_path / "a", f"{ROWS}The fast one does 14,870 ops/s.\n", rule)
    assert [one.severity for one in told] == ["doubtful"]
    for n, fair in enumerate(
        (
            "The fast one does 10,548 ops/s.",
            "The fast one does 10.5k ops/s.",
            "The fast one did 14,870 ops/s, and then was changed.",  # before
            "The fast one does about 15,000 ops/s.",
            "The fast one and the other two do 14,870 ops/s.",  # two rows
            "A third one does 14,870 ops/s.",
            "The fast one does 9,120 ops/s.",  # in another row
            "The fast one does 20,000 ops/s.",  # round
        )
    ):
        assert not found(tmp_path / f"b{n}", f"{ROWS}{fair}\n", rule)


PGBENCH = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 50
query mode: simple
number of clients: {clients}
number of threads: 2
duration: 300 s
number of transactions actually processed: 120000
latency average = 20.000 ms
tps = {tps} (without initial connection time)
"""


@pytest.mark.parametrize("heading", ["Example of expected results", "Exemplo de Resultado Esperado", "예시 결과"])
def test_invented_examples_are_no_results(tmp_path: Path, heading: str) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        for n, tps in enumerate((412.375, 655.125, 871.5)):
            (tmp_path / name / f"c{n}.log").write_text(PGBENCH.format(clients=8 << n, tps=tps))
    table = "| test | 13 | 18 |\n|---|---|---|\n| rw | 1250.5 | 1387.2 |\n| ro | 8934.1 | 9876.5 |\n"
    real = "| test | 8 | 16 |\n|---|---|---|\n| rw | 412.4 | 655.1 |\n| ro | 871.5 | 9876.5 |\n"
    rule = "figure-not-in-results"
    assert [one.severity for one in found(tmp_path / "a", f"# It\n\n## {heading}\n\n{table}", rule)] == ["note"]
    assert not found(tmp_path / "b", f"# It\n\n## {heading}\n\n{real}", rule)
    assert not found(tmp_path / "c", f"# It\n\n## Usage\n\n{table}", rule)
