"""Every command prints JSON where it is asked to, and nothing but JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from acidtest.cli import app
from acidtest.engine import catalogue

ROOT = typer.main.get_command(app)


def commands(group: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything that can be called, with the words that call it."""
    for name in group.list_commands(typer.Context(group)):
        command = group.get_command(typer.Context(group), name)
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))
            if not command.invoke_without_command:
                continue
        yield (*path, name), command


COMMANDS = dict(commands())


def test_commands_below_groups_are_among_them() -> None:
    assert {("run",), ("engines",), ("engines", "settings"), ("help",)} <= COMMANDS.keys()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_it_as_a_flag(words: tuple[str, ...]) -> None:
    option = next((param for param in COMMANDS[words].params if "--json" in param.opts), None)
    assert option is not None, f"acidtest {' '.join(words)} has no --json"
    assert option.is_flag
    assert option.help


@pytest.mark.parametrize("engine", catalogue.known())
def test_settings_of_an_engine(acidtest, engine: str) -> None:
    answer = json.loads(acidtest("engines", "settings", engine, "--json"))
    specs = catalogue.describe(engine).setting_specs()
    assert [setting["name"] for setting in answer["settings"]] == [f"{answer['family']}.{name}" for name in specs]
    assert [one["level"] for one in answer["durability"]] == list(catalogue.describe(engine).durability_levels())
    for setting in answer["settings"]:
        assert setting["values"] or setting["minimum"] < setting["maximum"]
        assert (setting["default"] is None) == bool(setting["unset"])


def test_it_may_stand_before_the_command_of_a_group_too(acidtest) -> None:
    assert acidtest("engines", "--json", "settings", "sqlite") == acidtest("engines", "settings", "sqlite", "--json")


def test_engines_that_are_installed_and_removed(acidtest, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    (installed,) = json.loads(acidtest("engines", "install", "sqlite", "--json"))
    assert (installed["id"], installed["installed"]) == ("sqlite", True)
    assert installed in json.loads(acidtest("engines", "--json"))
    (tmp_path / "engines" / "mysql-5.5").mkdir(parents=True)
    typer.main.get_command(app).main(["engines", "--json", "remove", "mysql-5.5"], "acidtest", standalone_mode=False)
    printed = capsys.readouterr()
    (removed,) = json.loads(printed.out)
    assert (removed["id"], removed["installed"]) == ("mysql-5.5", False)
    assert removed["remedy"] == "acidtest engines install mysql-5.5"
    assert printed.err.startswith("removed ")
    assert list((tmp_path / "engines").iterdir()) == []


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ("[workload.commits]\ncount = 1\n", "2 repetitions, runs interleaved)"),
        ("[workload.numbered]\ncount = 1\n", "2 repetitions, cuts one combination after another)"),
    ],
)
def test_a_plan_says_in_which_order(acidtest, tmp_path: Path, workload: str, said: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(f'name = "t"\nengine = "sqlite"\ndurability = "os"\nrepetitions = 2\n{workload}')
    assert said in " ".join(acidtest("plan", str(file)).split())


def test_a_plan_and_what_would_be_released(acidtest, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        'name = "t"\nengine = "sqlite"\ndurability = "os"\nrepetitions = 2\n[workload.commits]\ncount = 1\n'
    )
    assert len(json.loads(acidtest("plan", str(file), "--json"))["cells"]) == 2
    assert json.loads(acidtest("clean", "--dry-run", "--json")) == {"would_release": []}
    assert json.loads(acidtest("audit", "--rules", "--json"))
