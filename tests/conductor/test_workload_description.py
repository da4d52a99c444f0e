"""What is in a workload of the user's own is asked of the rig before anything is made."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidtest import conductor
from acidtest.conductor import workload_description
from acidtest.errors import AcidtestError, BadInput, Problems
from acidtest.experiment import parse
from acidtest.plan import Plan
from workloads import DESCRIPTION, SHOP

TEXT = f"""
name = "t"
engine = "sqlite"
durability = "drive"
repetitions = 2
[workload.commits]
count = 5
[workload.shop]
kind = "sql"
path = {json.dumps(str(SHOP))}
count = 5
[factors]
"variables.scale" = [1, 10]
"""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what the rig answers, and gives the messages that it was asked about."""

    def answers(output: object, code: int = 0, words: str = "") -> Path:
        asked = tmp_path / "asked"
        asked.write_text("")
        program = tmp_path / "rig"
        written = output if isinstance(output, str) else json.dumps(output)
        program.write_text(
            f"#!{sys.executable}\nimport sys\nassert sys.argv[1:] == ['describe']\n"
            f"open({str(asked)!r}, 'a').write(sys.stdin.read() + '\\n')\n"
            f"print({written!r})\nprint({words!r}, file=sys.stderr)\nsys.exit({code})\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("ACIDTEST_RIG", str(program))
        return asked

    return answers


def planned() -> Plan:
    return conductor.plan_of(parse(TEXT, "t.toml"))


def test_each_workload_is_asked_about_once_and_its_cells_know_the_answer(rig: Any) -> None:
    asked = rig(DESCRIPTION.model_dump(mode="json"))
    plan = workload_description.described(planned())
    messages = [json.loads(line) for line in asked.read_text().splitlines()]
    assert sorted(message["variables"][0][1] for message in messages) == ["1", "10"]
    assert all(not cell.workload.needs_description for cell in plan.cells)
    of_shop = {id(cell.workload): cell.workload for cell in plan.cells if cell.workload_name == "shop"}
    assert len(of_shop) == 2
    assert {one.conditions() for one in of_shop.values()} == {DESCRIPTION.conditions}
    assert workload_description.described(plan) is plan
    assert len(asked.read_text().splitlines()) == 2


def test_what_the_rig_finds_wrong_is_bad_input_line_by_line(rig: Any) -> None:
    wrong = ("shop/buy.sql:3: unknown variable :x", "shop/look.sql:1: \\endif without an \\if\x1b[2J\n at all")
    rig(DESCRIPTION.model_copy(update={"errors": wrong}).model_dump(mode="json"))
    with pytest.raises(BadInput) as caught:
        conductor.planned(parse(TEXT, "t.toml"), Path("t.toml"), Problems())
    assert caught.value.exit_code == 2
    assert [problem.message for problem in caught.value.problems] == [
        "shop/buy.sql:3: unknown variable :x",
        "shop/look.sql:1: \\endif without an \\if\\x1b[2J at all",
    ]


def test_what_an_engine_of_the_plan_cannot_do_is_bad_input(rig: Any) -> None:
    refused = (("firebird", "shop/buy.sql:2: begin read only"), ("sqlite", "shop/buy.sql:1: begin deferred"))
    rig(DESCRIPTION.model_copy(update={"refused": refused}).model_dump(mode="json"))
    with pytest.raises(BadInput) as caught:
        conductor.planned(parse(TEXT, "t.toml"), Path("t.toml"), Problems())
    assert [problem.message for problem in caught.value.problems] == ["shop/buy.sql:1: begin deferred"]


def test_a_plan_of_our_own_workloads_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACIDTEST_RIG", "/nowhere")
    plan = planned()
    own = replace(plan, cells=tuple(cell for cell in plan.cells if cell.workload_name == "commits"))
    assert workload_description.described(own) is own


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        ("no JSON", 0, "of different versions"),
        ({"kinds": []}, 0, "of different versions"),
        ("", 2, "ended with code 2: broken"),
    ],
)
def test_a_rig_that_cannot_answer_is_told(rig: Any, output: object, code: int, said: str) -> None:
    rig(output, code, "broken")
    with pytest.raises(AcidtestError, match=said):
        workload_description.described(planned())
