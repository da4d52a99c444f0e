"""The highest rate, searched as a user does. What a busy machine serves nobody knows: only how it is told is asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import journal_lines

TEXT = """
name = "searched"
durability = "os"
repetitions = 1
engine = "sqlite"
[factors]
terminals = [1, 2]
[search]
limit = "p50 < 30 s"
runs_max = 10
step_percent = 20
[workload.commits]
duration_s = 0.3
"""
ENDINGS = {"limit", "saturated", "generator", "none", "open", "too few", "budget"}


def test_a_search_ends_and_is_told_again_without_another_run(acidtest: Any, tmp_path: Path) -> None:
    file, out = tmp_path / "searched.toml", tmp_path / "out"
    file.write_text(TEXT)
    planned = json.loads(acidtest("search", file, "--plan", "--json").stdout)
    assert planned["limit"] == "p50 < 30 s"
    assert planned["runs_each"] == {"least": 7, "typical": 10, "most": 10}
    ran = acidtest("search", file, "--out", out)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    held = (out / "search.jsonl").read_bytes()
    found = json.loads(acidtest("search", file, "--out", out, "--json").stdout)
    assert (out / "search.jsonl").read_bytes() == held
    assert [search["levels"]["terminals"] for search in found["searches"]] == ["1", "2"]
    for search in found["searches"]:
        assert search["ended"]
        assert search["limited_by"] in ENDINGS
        assert 6 <= len(search["runs"]) <= 10 or search["limited_by"] not in ("budget", "limit")
    assert {line["status"] for line in journal_lines(out, "search.jsonl")} == {"done"}
    again = json.loads(acidtest("report", out, "--json").stdout)
    assert again["searches"] == found["searches"]
    assert "Latency against load" in (out / "report.html").read_text()
    assert acidtest("audit", out).returncode in (0, 1)
    refused = acidtest("compare", out, out, code=2)
    assert f"{out}: holds searches for the highest rate" in refused.stderr


def test_what_is_wrong_with_a_search_is_one_plain_line(acidtest: Any, tmp_path: Path) -> None:
    file, broken = tmp_path / "searched.toml", tmp_path / "broken.toml"
    file.write_text(TEXT)
    broken.write_text(TEXT.replace('"p50 < 30 s"', '"p50 < 30"'))
    for words, said in (
        ([broken, "--plan"], 'search.limit: "p50 < 30": the time has no unit'),
        ([file, "--plan", "--limit", "p50 > 3 s"], 'found ">"'),
        ([file, "--plan", "--limit", "new_order p50 < 3 s"], "the limit names new_order"),
        ([tmp_path / "none.toml", "--plan"], "no such file"),
    ):
        refused = acidtest("search", *words, code=2)
        assert said in refused.stderr, refused.stderr
    assert "needs --out DIR" in acidtest("search", file).stderr
    ran = acidtest("run", file, "--out", tmp_path / "out", code=2)
    assert "acidtest search" in ran.stderr
