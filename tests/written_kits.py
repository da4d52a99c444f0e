"""Kits that a test writes, and what is found in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from acidtest.audit import importers, judge
from acidtest.audit.bench import Bench

PGBENCH = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 50
query mode: simple
number of clients: 8
number of threads: 2
duration: 300 s
number of transactions actually processed: 120000
latency average = 20.000 ms
tps = {rate} (without initial connection time)
"""


def read(at: Path, files: Mapping[str, str]) -> Bench:
    """The kit of these texts, written there."""
    for name, text in files.items():
        file = at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return importers.read(at)


def found(at: Path, files: dict[str, str]) -> dict[str, str]:
    """The findings of a kit: their sentences by rule."""
    return {finding.rule.name: finding.text for finding in judge.of_bench(read(at, files))}
