"""What a text says of repetitions counts for the figures that it is about, and not for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from written_kits import read

TABLE = "| clients | PostgreSQL (tps) | MySQL (tps) |\n|---|---|---|\n| 8 | 412 | 655 |\n| 16 | 871 | 902 |\n"
SMALL = "| | PostgreSQL | MySQL |\n|---|---|---|\n| {} | 1.25 | 2.5 |\n| {} | 3.75 | 4.5 |\n"


def severity(tmp_path: Path, files: dict[str, str]) -> str:
    bench = read(tmp_path, files)
    return next((one.severity for one in judge.of_bench(bench) if one.rule.name == "few-repetitions"), "")


@pytest.mark.parametrize(
    "line",
    [
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        "    Latency     5.07ms   10.46ms 152.19ms   88.00% +/- Stdev",
        "The latency has a standard deviation of 3 ms.",
        "events (avg/stddev):           10000.0000/12.00",
    ],
)
def test_a_spread_within_one_run_is_no_repetition(tmp_path: Path, line: str) -> None:
    assert severity(tmp_path, {"README.md": f"# It\n\n{TABLE}\n```\n{line}\n```\n"}) == "doubtful"


@pytest.mark.parametrize(
    "line",
    [
        "The standard deviation of 5 runs is 12 tps.",
        "| tps | 412 ± 9 |",
        "Over 10 repetitions the latency has a standard deviation of 3 ms.",
        "Error bars show the spread of the repetitions.",
    ],
)
def test_a_spread_of_runs_is_one(tmp_path: Path, line: str) -> None:
    assert not severity(tmp_path, {"README.md": f"# It\n\n{TABLE}\n{line}\n"})


def test_another_study_of_the_kit_tells_only_of_itself(tmp_path: Path) -> None:
    own, other = "Each was measured 5 times.\n", f"# One\n\n{TABLE}"
    assert severity(tmp_path / "a", {"one/README.md": other, "two/README.md": own}) == "note"
    assert not severity(tmp_path / "b", {"one/README.md": other + own, "two/README.md": own})
    assert not severity(tmp_path / "c", {"one/README.md": other, "README.md": own})
    assert not severity(tmp_path / "d", {"one/README.md": other, "docs/method.md": own})


def test_a_table_of_two_rows_is_compared_where_its_words_measure(tmp_path: Path) -> None:
    assert severity(tmp_path / "a", {"README.md": f"# It\n\n{SMALL.format('Insert', 'Select')}"}) == "note"
    assert not severity(tmp_path / "b", {"README.md": f"# It\n\n{SMALL.format('Stars', 'Forks')}"})


def test_the_best_of_cases_alone_is_told(tmp_path: Path) -> None:
    def told(name: str, text: str) -> list[str]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(text, encoding="utf-8")
        found = judge.of_bench(importers.read(tmp_path / name))
        return [one.severity for one in found if one.rule.name == "best-of"]

    assert told("a", "PostgreSQL is up to 3.2x faster than MySQL.\n") == ["note"]
    assert told("b", "Throughput improves by as much as 40 % with PostgreSQL.\n") == ["note"]
    assert not told("c", "PostgreSQL is up to 3.2x faster than MySQL.\n\nOn average it is 1.4x faster.\n")
    assert not told("d", "PostgreSQL is 3.2x faster than MySQL.\n")
    assert not told("e", "Faster, PostgreSQL has up to 80 % CPU usage.\n")
    assert not told("f", "PostgreSQL is faster with up to 64 clients.\n")
