"""Numbers that a text tells of a run, held against scripts, results and other texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.finding import Finding


def found(tmp_path: Path, files: dict[str, str]) -> dict[str, Finding]:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return {one.rule.name: one for one in judge.of_bench(importers.read(tmp_path))}


TOLD = [
    ("- **Runs**: 10 of each\n", "bench.py", "RUNS = 3\n"),
    ("* Warm-up: 10,000 iterations\n", "run.sh", "WARMUP_ITERATIONS=${WARMUP_ITERATIONS:-100}\n"),
    ("| Parameter | Value |\n|---|---|\n| Iterations | 50k |\n", "bench.js", "const iterations = 5_000;\n"),
    ("- Repetitions: 5\n", "conf/plan.yml", "plan:\n  repetitions: 1\n"),
    ("It has defaults (20 clients, 60 duration).\n", "bench.sh", "CLIENTS=${CLIENTS:-8}\nDURATION=${DURATION:-10}\n"),
    (
        "`--num-clients` sets them (default: 64).\n",
        "bench.py",
        'p.add_argument("--num-clients", type=int, default=16)\n',
    ),
]


@pytest.mark.parametrize(("told", "name", "text"), TOLD)
def test_another_number_in_the_script(tmp_path: Path, told: str, name: str, text: str) -> None:
    one = found(tmp_path, {"README.md": f"# Bench\n\n{told}", name: text})["claim-against-claim"]
    assert one.severity == "doubtful"
    assert {said.file for said in one.evidence} == {"README.md", name}


@pytest.mark.parametrize(
    ("told", "name", "text"),
    [
        ("- **Runs**: 10 (quick mode: 3)\n", "bench.py", "RUNS = 3\n"),  # one of them is
        ("- **Runs**: 10\n", "bench.py", "RUNS = 3\nFULL = 4\nTOTAL_RUNS = 10\n"),
        ("- Warm-up: 10,000 iterations\n", "run.sh", "WARMUP_SECONDS=30\nITERATIONS=5\n"),  # of something else
        ("- Max connections: 200\n", "bench.py", "connections = 50\n"),  # a server's
        ("- Inserts: 10,548 ops/sec\n", "bench.py", "INSERTS = 500\n"),  # a rate
        ("- Inserts: 70-75 slower\n", "bench.py", "INSERTS = 500\n"),
        ("- Clients: 10% of all\n", "bench.py", "clients = 8\n"),
        ("- Iterations: 10k\n", "bench.py", "ITERATIONS = 10_000\n"),  # the same number
        ("- Duration: 5 minutes\n", "bench.py", "DURATION_SECONDS = 300\n"),
        ("- Iterations: 10\n", "bench.py", "".join(f"iterations = {n}\n" for n in range(20, 30))),  # a series
        ("- Throughput: 10\n", "bench.py", "throughput = 20\n"),
        ("- Runs: 10\n", "package-lock.json", '{\n "runs": 3\n}\n'),
    ],
)
def test_numbers_that_may_agree(tmp_path: Path, told: str, name: str, text: str) -> None:
    assert "claim-against-claim" not in found(tmp_path, {"README.md": f"# Bench\n\n{told}", name: text})


def test_a_count_that_a_script_may_vary_is_a_note(tmp_path: Path) -> None:
    files = {"README.md": "- Clients: 64\n", "bench.py": "clients = 16\n"}
    assert found(tmp_path, files)["claim-against-claim"].severity == "note"


def test_results_tell_what_they_were_made_with(tmp_path: Path) -> None:
    result = '{\n "iterations": 5000,\n "mean_us": 12.5\n}\n'
    other = found(tmp_path / "a", {"README.md": "- Iterations: 50,000\n", "results/a.json": result})
    assert other["claim-against-figures"].severity == "doubtful"
    same = found(tmp_path / "b", {"README.md": "- Iterations: 5,000\n", "results/a.json": result})
    assert "claim-against-figures" not in same


def test_two_texts_that_tell_another_number(tmp_path: Path) -> None:
    files = {"README.md": "- Runs: 5\n", "docs/method.md": "| Setting | Value |\n|---|---|\n| Runs | 3 |\n"}
    assert found(tmp_path / "a", files)["claim-against-claim"].severity == "note"
    apart = {"a/README.md": "- Runs: 5\n", "b/README.md": "- Runs: 3\n"}  # studies of their own
    assert "claim-against-claim" not in found(tmp_path / "b", apart)


def test_results_that_agree_with_a_text_count_before_the_script_of_today(tmp_path: Path) -> None:
    result = '{\n "iterations": 5000,\n "mean_us": 12.5\n}\n'
    files = {"README.md": "- Iterations: 5,000\n", "results/a.json": result, "bench.py": "ITERATIONS = 50_000\n"}
    assert not found(tmp_path, files).keys() & {"claim-against-figures", "claim-against-claim"}
