"""What was run: how often, on what was left, after what warm-up. Small kits of every kind, each told and each disclosed."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers, judge
from acidtest.audit.bench import Harness
from acidtest.finding import Finding


def kit(root: Path, **files: str) -> Path:
    """A directory with these files; "__" stands for "/" in a name, and "_" before its last part for ".\"."""
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        path = root / f"{stem.replace('__', '/')}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def found(root: Path, rule: str, **files: str) -> list[Finding]:
    return [one for one in judge.of_bench(importers.read(kit(root, **files))) if one.rule.name == rule]


TABLE = "# Pages\n\n| pages | TPS |\n|---|---|\n| 8 kB | 11542 |\n| 16 kB | 11234 |\n"
CELLS = "||1 disk|2 disks\n---|---|---\nrandom read|1246|1180\nrandom write|21856|15877\nread write|10229|12256\n"
ONCE = "| Setup | 1st (Mins) | 2nd (Mins) | 3rd (Mins) |\n|---|---|---|---|\n| a | 28 | | |\n| b | 22.4 | | |\n| c | 6 | 7 | 8 |\n"
THRICE = ONCE.replace("28 | | |", "28 | 27 | 29 |").replace("22.4 | | |", "22.4 | 21 | 23 |")


@pytest.mark.parametrize("text", [TABLE, CELLS, ONCE])
def test_figures_that_nobody_repeated(text: str, tmp_path: Path) -> None:
    said = found(tmp_path, "few-repetitions", README_md=text)
    assert [one.severity for one in said] == ["note"]  # nobody knows what they are: several may be repetitions
    assert {one.file for one in said[0].evidence} == {"README.md"}


@pytest.mark.parametrize(
    "disclosed",
    [
        {"run_sh": "for n in 1 2 3 4 5; do\n  ./one $n\ndone\n"},
        {"run_sh": "REPEATS=${REPEATS:-5}\n"},
        {"Makefile_mk": "all:\n\tgo test -bench . -count=6\n", "bench_sh": "go test -bench . -count=6\n"},
        {"config_json": '{"rounds": 5, "clients": 8}'},
        {"out__run1_log": "TPS = 10", "out__run2_log": "TPS = 11", "out__run3_log": "TPS = 12"},
    ],
)
def test_repetitions_that_are_disclosed_anywhere(disclosed: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md=TABLE, **disclosed)


def test_columns_of_runs_count_where_they_are_filled(tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md=THRICE)


def test_one_figure_is_compared_with_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md="# Pages\n\nIt reached TPS = 11542.\n")


def test_moments_in_names_tell_repetitions_apart_and_no_kinds(tmp_path: Path) -> None:
    text = "[OVERALL], RunTime(ms), 120000\n[OVERALL], Throughput(ops/sec), {}\n[READ], Operations, 1000\n"
    files = {
        f"out__{engine}__run_rep{n}_2026-01-0{n}_1{n}-07-2{n}_txt": text.format(1000 + n)
        for engine in ("a", "b")
        for n in (1, 2, 3)
    }
    assert not found(tmp_path, "few-repetitions", **files)


SCRIPT = """#!/bin/bash
DURATION=300
PGBENCH=/usr/lib/postgresql/17/bin/pgbench
load() {{
  $PGBENCH -i -s 100 bench
}}
{first}
for clients in 1 8 64; do
  {within}
  echo "running pgbench -i -s"
  $PGBENCH -c $clients -j 4 -T $DURATION {how} bench | tee out.$clients
done
"""


def steps(root: Path, text: str, name: str = "run_sh") -> list[tuple[str, int]]:
    read = importers.read(kit(root, **{name: text})).harnesses
    return [(step.kind, len(step.loops)) for one in read for step in one.steps]


def test_a_script_is_its_steps(tmp_path: Path) -> None:
    text = SCRIPT.format(first="load", within="echo 3 > /proc/sys/vm/drop_caches", how="")
    assert steps(tmp_path, text) == [("load", 0), ("run", 1)]


@pytest.mark.parametrize(
    ("first", "within", "how", "inherits"),
    [
        ("load", "", "", True),
        ("", "load", "", False),
        ("load", "", "-S", False),
        ("load", "createdb -T golden bench", "", False),
        ("load", "zfs rollback tank/db@loaded", "", False),
    ],
)
def test_runs_on_what_others_left(first: str, within: str, how: str, inherits: bool, tmp_path: Path) -> None:
    text = SCRIPT.format(first=first, within=within or ":", how=how)
    said = found(tmp_path, "state-inherited", run_sh=text)
    assert bool(said) == inherits
    assert all(one.evidence[0].line == 11 for one in said)


def test_a_script_that_loads_is_found_where_it_is_called(tmp_path: Path) -> None:
    outer = "for n in 1 2 3; do\n  ./fresh.sh\n  ./measure.sh\ndone\n"
    files = {"all_sh": outer, "measure_sh": "pgbench -c 8 -T 300 bench\n"}
    assert found(tmp_path / "kept", "state-inherited", **files, fresh_sh="echo nothing\n", **{"x__fresh_txt": ""}) == []
    assert not found(tmp_path / "anew", "state-inherited", **files, fresh_sh="pgbench -i bench\n")
    left = {**files, "all_sh": outer.replace("  ./fresh.sh\n", "")}
    assert found(tmp_path / "left", "state-inherited", **left)


@pytest.mark.parametrize(
    ("within", "note", "told"),
    [
        (":", "", True),
        ("pgbench -S -T 60 bench # warm-up", "", False),
    ],
)
def test_a_script_without_a_warm_up(within: str, note: str, told: bool, tmp_path: Path) -> None:
    text = SCRIPT.format(first="load", within=within, how="")
    assert bool(found(tmp_path, "no-warm-up", run_sh=text, README_md=f"# Tests\n\n{note}")) == told


@pytest.mark.parametrize(
    "text", ["", "#!/bin/bash\n", "done\n}\n" * 50, "f() {\n" * 200, "for x in y; do\n" * 500, "f() {\nf\n}\nf\n"]
)
def test_what_is_no_script_is_left(text: str, tmp_path: Path) -> None:
    read: list[Harness] = list(importers.read(kit(tmp_path, run_sh=text)).harnesses)
    assert read == []
