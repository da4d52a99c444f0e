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


PROSE = "# Pages\n\nWith 8 kB pages TPS = 11542, and with 16 kB pages TPS = 11234.\n\nLarge caches: TPS = 12351.\n"
OWN_OUTPUT = "engine one\nElapsed: 3.153s\nRate: 317175.758 inserts/sec\n\nengine two\nElapsed: 2.544s\n"
GO = "BenchmarkInsert-8   1000   48294 ns/op\nBenchmarkSelect-8   9000   1294 ns/op\n"
CELLS = "||1 disk|2 disks\n---|---|---\nrandom read|1246|1180\nrandom write|21856|15877\nread write|10229|12256\n"
ONCE = "| Setup | 1st (Mins) | 2nd (Mins) | 3rd (Mins) |\n|---|---|---|---|\n| a | 28 | | |\n| b | 22.4 | | |\n| c | 6 | 7 | 8 |\n"
THRICE = ONCE.replace("28 | | |", "28 | 27 | 29 |").replace("22.4 | | |", "22.4 | 21 | 23 |")


@pytest.mark.parametrize("text", [PROSE, OWN_OUTPUT, GO, CELLS, ONCE])
def test_figures_that_nobody_repeated(text: str, tmp_path: Path) -> None:
    said = found(tmp_path, "few-repetitions", README_md=text)
    assert [one.severity for one in said] == ["note"]  # nobody knows what they are: several may be repetitions
    assert said[0].certainty != "certain"
    assert {one.file for one in said[0].evidence} == {"README.md"}


@pytest.mark.parametrize(
    "disclosed",
    [
        {"NOTES_md": "Each figure is the median of five runs."},
        {"NOTES_md": "Jeder Wert ist der Median aus 5 Durchläufen, je 5 Durchläufe."},
        {"NOTES_md": "Каждый тест: 5 прогонов."},
        {"NOTES_md": "각 테스트는 5회 반복 실행했다."},
        {"NOTES_md": "geomean ~ (p=0.310 n=6)"},
        {"run_sh": "for n in 1 2 3 4 5; do\n  ./one $n\ndone\n"},
        {"run_sh": "REPEATS=${REPEATS:-5}\n"},
        {"Makefile_mk": "all:\n\tgo test -bench . -count=6\n", "bench_sh": "go test -bench . -count=6\n"},
        {"config_json": '{"rounds": 5, "clients": 8}'},
        {"out__run1_log": "TPS = 10", "out__run2_log": "TPS = 11", "out__run3_log": "TPS = 12"},
    ],
)
def test_repetitions_that_are_disclosed_anywhere(disclosed: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md=PROSE, **disclosed)


def test_columns_of_runs_count_where_they_are_filled(tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md=THRICE)


def test_one_figure_is_compared_with_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, "few-repetitions", README_md="# Pages\n\nIt reached TPS = 11542.\n")


@pytest.mark.parametrize(
    "stray", ["It is 5 times faster.", "Es ist 5 mal schneller.", "Быстрее в 5 раз.", "About 100–200 ms."]
)
def test_a_stray_number_discloses_nothing(stray: str, tmp_path: Path) -> None:
    assert found(tmp_path, "few-repetitions", README_md=PROSE + stray)


def test_a_text_may_call_its_figures_single_runs(tmp_path: Path) -> None:
    several = "Each test was run three times.\n\n" + PROSE
    assert not found(tmp_path / "several", "few-repetitions", README_md=several)
    said = found(
        tmp_path / "both", "few-repetitions", README_md=several, old_md="# Single five minute runs\n\n" + PROSE
    )
    assert [one.file for one in said[0].evidence] == ["old.md"]


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
    assert steps(tmp_path, text) == [("load", 0), ("caches", 1), ("run", 1)]


PYTHON = """
import subprocess

def prepare():
    subprocess.run(["pgbench", "-i", "-s", "100", "bench"])

def measure(clients):
    subprocess.run(["pgbench", "-c", str(clients),
                    "-T", "300", "bench"])

def main():
    prepare()
    for clients in (1, 8):
        measure(clients)

main()
"""


def test_a_program_in_python_is_its_steps_too(tmp_path: Path) -> None:
    assert steps(tmp_path, PYTHON, "run_py") == [("load", 0), ("run", 1)]


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


def test_a_text_may_say_that_each_run_begins_anew(tmp_path: Path) -> None:
    text = SCRIPT.format(first="load", within=":", how="")
    assert not found(tmp_path, "state-inherited", run_sh=text, README_md="The database is restored before each run.\n")


@pytest.mark.parametrize(
    ("within", "note", "told"),
    [
        (":", "", True),
        (":", "A warm-up of five minutes precedes each run.\n", False),
        ("pgbench -S -T 60 bench # warm-up", "", False),
        (":", "# Future work\n\n- Warm-up runs before measurement\n", True),
        (":", "There was no warm-up.\n", True),
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
