"""Recordings that earlier versions made are read, and reported with the figures that those versions reported.

The journals of ``recorded_before/`` and the output of ``acidtest report --json`` beside them were made by the commit
7a35372 (2026-11-22): a grid of seven workloads on two engines and two file systems, two series of databases that
grow, and speeds, system calls and power cuts of the same levels.
"""

from __future__ import annotations

import gzip
import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import ACIDTEST

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent / "recorded_before"

# What later versions may say in other words, or judge by more rules; where a key has another name since.
WORDS = {"text", "remedy", "said", "reason", "reasons", "source", "findings", "evidence", "journal"}
RENAMED = {"prices": "commit_costs"}
CALLED = {"too few repetitions": "cannot tell"}  # verdicts


def figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, name and verdict in ``value``, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in WORDS:
                yield from figures(inner, f"{path}.{RENAMED.get(key, key)}")
    elif isinstance(value, list):
        yield f"{path}.count", len(value)
        for position, inner in enumerate(value):
            yield from figures(inner, f"{path}[{position}]")
    else:
        yield path, value


def same(before: Any, now: Any) -> bool:
    """Whether the figure is the same, but for what another processor rounds in another way."""
    if isinstance(before, float) and isinstance(now, float):
        return math.isclose(before, now, rel_tol=1e-6)
    return bool(before == now or (isinstance(before, str) and CALLED.get(before) == now))


@pytest.mark.parametrize("name", ["grid", "growth", "cuts"])
def test_recordings_of_before_are_reported_with_the_same_figures(name: str, tmp_path: Path) -> None:
    for file in KEPT.glob(f"{name}.*.jsonl.gz"):
        kept = file.name.removeprefix(f"{name}.").removesuffix(".gz")
        (tmp_path / kept).write_bytes(gzip.decompress(file.read_bytes()))
    shown = subprocess.run(
        [ACIDTEST, "report", tmp_path, "--json"], capture_output=True, text=True, check=False, timeout=300
    )
    assert shown.returncode in (0, 1), shown.stderr
    now = dict(figures(json.loads(shown.stdout)))
    before = dict(figures(json.loads(gzip.decompress((KEPT / f"{name}.figures.json.gz").read_bytes()))))
    assert len(before) > 200
    differing = {
        path: (value, now.get(path, "missing")) for path, value in before.items() if not same(value, now.get(path))
    }
    assert not differing
