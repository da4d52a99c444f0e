"""``python -m bench plan``: how long ``acidtest plan`` takes, from its start to its last line.

Experiments of several numbers of cells, each as few combinations that are repeated, and as many that are not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from acidtest.plan import CELLS_MAX
from bench.disk import spread

EXPERIMENT = """
name = "bench"
repetitions = {repetitions}
[factors]
engine = ["sqlite", "firebird-5.0", "postgresql-17", "mariadb-11.4"]
durability = ["os", "drive"]
terminals = {terminals}
row_bytes = {row_bytes}
[workload.commits]
count = 100
"""
BY_LEVELS = 8 * 125  # combinations for each number of terminals
CELLS = (1_000, 10_000, 100_000, CELLS_MAX)


def main(rounds: int) -> None:
    print(f"{'cells':>8} {'combinations':>13}{'acidtest plan, s':>26}{'--json, s':>26}")
    with tempfile.TemporaryDirectory() as directory:
        for cells in CELLS:
            for combinations in dict.fromkeys((max(BY_LEVELS, cells // 5), cells)):
                file = Path(directory) / f"{cells}-{combinations}.toml"
                file.write_text(experiment(cells, combinations), encoding="utf-8")
                shown, as_json = ([took(file, *more) for _ in range(rounds)] for more in ((), ("--json",)))
                print(f"{cells:>8,} {combinations:>13,}{spread(shown, 2):>26}{spread(as_json, 2):>26}")


def experiment(cells: int, combinations: int) -> str:
    return EXPERIMENT.format(
        repetitions=cells // combinations,
        terminals=list(range(1, combinations // BY_LEVELS + 1)),
        row_bytes=list(range(1, 126)),
    )


def took(file: Path, *more: str) -> float:
    """Seconds of the command."""
    command = [sys.executable, "-c", "from acidtest.cli import main; main()", "plan", str(file), *more]
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=dict(os.environ))
    return time.monotonic() - began
