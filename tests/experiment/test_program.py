"""``[program]``: what follows from it, and what is wrong with one that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import conductor, experiment
from acidtest.conductor.engines import describe
from acidtest.errors import BadInput, Problems

PROGRAM = """
name = "mine"
[program]
name = "kv"
load = "sh load"
check = "sh check"
items = 30
"""
LEVELS = """
[program.durability.safe]
environment = { FSYNC = "yes" }
[program.durability.fast]
may_lose = "the last second"
"""
DISK = '[place]\nkind = "disk"\nfilesystem = "ext4"\n'


def test_a_program_stands_where_an_engine_does_and_its_levels_are_cut(tmp_path: Path) -> None:
    read = experiment.parse(PROGRAM + LEVELS + DISK, "mine.toml", base=tmp_path)
    assert {name: [level.name for level in levels] for name, levels in read.factors.items()} == {
        "workload": ["program"], "engine": ["kv"], "durability": ["safe", "fast"],
    }  # fmt: skip
    assert read.program is not None
    assert (read.program.folder, read.workload["program"].count) == (str(tmp_path.absolute()), 30)
    plan = conductor.planned(read, Path("mine.toml"), Problems(), cuts=True)
    assert {cell.id.partition("#")[0] for cell in plan.cells} == {"program/kv/safe", "program/kv/fast"}
    engine = describe(read, "kv")
    assert engine.durability("safe", {}).means == ("FSYNC=yes: nothing that was acknowledged may be lost, by [program]")
    assert "may lose the last second, the store stays whole" in engine.durability("fast", {}).means


def test_the_folder_is_no_part_of_what_tells_experiments_apart(tmp_path: Path) -> None:
    one = experiment.parse(PROGRAM + DISK, "mine.toml", base=tmp_path)
    other = experiment.parse(PROGRAM + DISK, "mine.toml", base=tmp_path / "elsewhere")
    assert one.digest() == other.digest()
    assert [level.name for level in one.factors["durability"]] == ["as-it-is"]
    changed = experiment.parse(PROGRAM.replace("sh check", "sh other") + DISK, "mine.toml", base=tmp_path)
    assert changed.digest() != one.digest()


def test_factors_name_some_of_its_levels() -> None:
    factors = '[factors]\ndurability = ["fast"]\n"place.filesystem" = ["ext4", "xfs"]\n'
    read = experiment.parse(PROGRAM + LEVELS + DISK.replace('filesystem = "ext4"\n', "") + factors, "mine.toml")
    assert [level.name for level in read.factors["durability"]] == ["fast"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PROGRAM.replace('load = "sh load"\n', ""), "program.load: is missing"),
        (PROGRAM.replace('"sh check"', "3"), "program.check: found 3, must be a text"),
        (PROGRAM.replace("items", "item"), 'program: key "item" is not known (did you mean "items"?)'),
        (PROGRAM.replace("30", "0"), "program.items: found 0, must be at least 1"),
        (PROGRAM.replace('"kv"', '"K V"'), 'program.name: found "K V", must be lower-case letters'),
        (PROGRAM + 'start = "serve"\n', "program.start: nothing says when the server answers"),
        (PROGRAM + 'stop = "halt"\n', "program.stop: there is no server without start"),
        (PROGRAM + "environment = { A = 1 }\n", "program.environment.A: found 1, must be a text"),
        (PROGRAM + 'environment = { ACIDTEST_DATA = "x" }\n', 'program.environment: "ACIDTEST_DATA" cannot be set'),
        (PROGRAM + "[workload.tpcb]\ncount = 1\n", "workload: with [program] the program stands in its place"),
        (PROGRAM + '[factors]\nengine = ["sqlite"]\n', "factors.engine: with [program] there is one, the program"),
        (PROGRAM + '[program.durability."A b"]\n', "program.durability.A b: the name must be lower-case letters"),
        (PROGRAM + "[program.durability.safe]\nmay_loose = 1\n", 'program.durability.safe: key "may_loose"'),
        ('name = "mine"\nprogram = 3\n', "program: found 3, must be a table"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        experiment.parse(text, "mine.toml")
    assert f"mine.toml: {said}" in str(refused.value), str(refused.value)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ('durability = ["slow"]', 'durability "slow" is not known'),
        ("terminals = [1, 4]", "factors.terminals"),
    ],
)
def test_what_a_program_does_not_have_is_refused(factors: str, said: str) -> None:
    read = experiment.parse(f"{PROGRAM}{LEVELS}{DISK}[factors]\n{factors}\n", "mine.toml")
    with pytest.raises(BadInput) as refused:
        conductor.planned(read, Path("mine.toml"), Problems(), cuts=True)
    assert said in str(refused.value)


def test_no_rate_is_measured_of_it_and_no_engine_has_its_name() -> None:
    read = experiment.parse(PROGRAM + DISK, "mine.toml")
    with pytest.raises(BadInput, match=r"\[program\] is for power cuts, and no rate is measured of a program"):
        conductor.planned(read, Path("mine.toml"), Problems(), cuts=False)
    named = experiment.parse(PROGRAM.replace('"kv"', '"sqlite"') + DISK, "mine.toml")
    with pytest.raises(BadInput, match=r"program\.name: acidtest has an engine of this name"):
        conductor.planned(named, Path("mine.toml"), Problems(), cuts=True)
