"""The command of docs/FIRST-STEPS.md that makes an exit code of two builds' results, as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import factory
from acidtest.report.results import results

PAGE = Path(__file__).parents[2] / "docs" / "FIRST-STEPS.md"
PASSES, SLOWER, CANNOT_TELL = 0, 1, 4
CALM = (1.0, 1.01, 0.99, 1.02, 0.98)
NOISY = (1.0, 1.6, 0.7, 1.3, 0.8)


def gated(text: str) -> int:
    (command,) = re.findall(
        r"^jq -nr '(.*?)' results\.json$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return subprocess.run(["jq", "-nr", command], input=text, text=True, capture_output=True, check=False).returncode


def report(patched: Sequence[float], spread: Sequence[float] = CALM, repetitions: int = 5) -> str:
    """Of two builds, at two levels between which the rate differs tenfold; ``patched`` is its rate at each over the
    base's."""
    recordings = [
        factory.recording(
            {"workload": "tpcb", "engine": engine, "durability": level},
            repetition,
            found=factory.result(rate=rate * ratio * spread[(repetition + shift) % len(spread)]),
        )
        for level, rate, of_patched in zip(("os", "drive"), (1000.0, 100.0), patched, strict=True)
        for engine, ratio, shift in (("sqlite", 1.0, 0), ("firebird-5.0", of_patched, 2))
        for repetition in range(1, repetitions + 1)
    ]
    return json.dumps(results(factory.journal(recordings, {"engine": "sqlite"})).as_json())


def test_a_build_that_is_as_fast_passes_and_one_that_is_shown_to_be_slower_fails() -> None:
    assert gated(report((1.0, 1.0))) == PASSES
    assert gated(report((1.3, 1.0))) == PASSES
    assert gated(report((1.0, 0.75))) == SLOWER
    assert gated(report((0.75, 1.0))) == SLOWER


def test_a_slower_build_whose_rates_vary_much_is_no_pass() -> None:
    verdicts = {one["verdict"] for one in json.loads(report((0.75, 0.75), NOISY))["comparisons"] if one["is_base"]}
    assert "slower" not in verdicts
    assert gated(report((0.75, 0.75), NOISY)) == CANNOT_TELL
    assert gated(report((1.0, 1.0), NOISY)) == CANNOT_TELL


def test_what_was_not_compared_is_no_pass() -> None:
    assert gated(report((1.0, 1.0), repetitions=3)) == CANNOT_TELL  # no interval
    assert gated(json.dumps({**json.loads(report((1.0, 1.0))), "comparisons": []})) == CANNOT_TELL
    assert gated("") == CANNOT_TELL  # the run wrote nothing
