"""Declared claims: computed from the kit's own results, and what becomes of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidtest.audit import claims, importers, judge
from acidtest.audit.claims import Answer
from tables import rows
from written_kits import read

RUN = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: {clients}
number of threads: 8
duration: 900 s
number of transactions actually processed: 900000
latency average = {ms:.3f} ms
tps = {rate:.6f} (without initial connection time)
"""
SIDES = '[sides.a]\nengine = "postgresql 16.2"\nfiles = ["a"]\n[sides.b]\nengine = "postgresql 17.1"\nfiles = ["b"]\n'


def kit(
    at: Path,
    claim: str,
    first: float,
    second: float,
    runs: int = 6,
    more: dict[str, str] | None = None,
    clients: int = 8,
) -> Answer:
    """The answer to a claim of two sides with so many runs each, of rates about ``first`` and ``second``."""
    files = {"benchmark.toml": f'{SIDES}[[claim]]\nsides = ["a", "b"]\n{claim}\n', **(more or {})}
    for n in range(1, runs + 1):
        for side, rate, of in (("a", first, 8), ("b", second, clients)):
            files[f"{side}/run{n}.out"] = RUN.format(rate=rate * (1 + n / 1000), ms=8000 / rate, clients=of)
    bench = read(at, files)
    (answer,) = claims.answers(bench, judge.of_bench(bench))
    names = {finding.rule.name for finding in judge.of_bench(bench) if finding.severity == "invalid"}
    assert ("claim-does-not-follow" in names) == (answer.verdict == "does not follow")
    return answer


FSYNC = {"a/postgresql.conf": "fsync = off\n", "b/postgresql.conf": "fsync = on\n"}


@rows(
    ('is = "faster"', 1400, 1000, "follows", "", {}),
    ('is = "faster"', 1000, 1400, "does not follow", "", {}),
    ('is = "slower"', 1000, 1400, "follows", "", {}),
    ('is = "slower"', 1400, 1000, "does not follow", "", {}),
    ('is = "faster"\nby = 1.4', 1400, 1000, "follows", "", {}),
    ('is = "faster"\nby = 2', 1400, 1000, "does not follow", "", {}),
    ('is = "slower"\nby = 1.4', 1000, 1400, "follows", "", {}),
    ('is = "equal"', 1010, 1000, "follows", "", {}),
    ('is = "equal"', 1400, 1000, "does not follow", "", {}),
    ('is = "equal"\nby = 1.5', 1400, 1000, "follows", "", {}),
    ('is = "faster"\nmetric = "mean"', 1400, 1000, "follows", "", {}),
    ('is = "faster"\nmetric = "mean"', 1000, 1400, "does not follow", "", {}),
    ('is = "faster"\nmetric = "p99"', 1400, 1000, "cannot tell", "", {}),
    ('is = "faster"', 1400, 1000, "cannot tell", "too few repetitions", {"runs": 2}),
    ('is = "faster"', 1400, 1000, "cannot tell", "not the same work", {"clients": 64}),
    ('is = "faster"', 1400, 1000, "cannot tell", "not the same durability, by the rule durability-differs", {"more": FSYNC}),
)  # fmt: skip
def test_a_claim_is_computed(
    claim: str, first: float, second: float, verdict: str, why: str, of: dict[str, Any], tmp_path: Path
) -> None:
    answer = kit(tmp_path, claim, first, second, **of)
    assert (answer.verdict, why in answer.why) == (verdict, True)
    if answer.ratio and "metric" not in claim:
        assert answer.ratio.median == pytest.approx(second / first if "slower" in claim else first / second)


def test_rows_are_compared_by_their_names(tmp_path: Path) -> None:
    table = "| system | TPS |\n|---|---|\n| old | 1000 |\n| new | 1400 |\n"
    (tmp_path / "README.md").write_text(table)
    (tmp_path / "benchmark.toml").write_text('[[claim]]\nsides = ["new", "old"]\nis = "faster"\n')
    (answer,) = claims.answers(importers.read(tmp_path))
    assert answer.verdict == "cannot tell" and answer.ratio and answer.ratio.median == pytest.approx(1.4)


def test_a_result_of_no_side_or_of_several_is_of_none(tmp_path: Path) -> None:
    for n, place in enumerate(('"a"', '"a", "results"')):
        sides = "".join(
            f'[sides.{one}]\nengine = "postgresql 16.2"\nfiles = [{place.replace("a", one, 1)}]\n' for one in "ab"
        )
        files = {f"results/run{r}.out": RUN.format(rate=1000 + r, ms=8, clients=8) for r in range(1, 7)}
        claim = '[[claim]]\nsides = ["a", "b"]\nis = "faster"\n'
        (answer,) = claims.answers(read(tmp_path / str(n), {"benchmark.toml": sides + claim, **files}))
        assert (answer.verdict, answer.why) == ("cannot tell", "no result belongs to side a alone; add it to its files")


def test_without_a_result_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "benchmark.toml").write_text('[[claim]]\nsides = ["a", "b"]\nis = "equal"\npublished = "a talk"\n')
    (answer,) = claims.answers(importers.read(tmp_path))
    assert (answer.verdict, answer.text, answer.as_json()["published"]) == (
        "cannot tell",
        "a is as fast as b.",
        "a talk",
    )
