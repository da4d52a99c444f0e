"""What of an experiment cannot get its load from several machines is refused, with the key and the remedy."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest import experiment, plan
from acidtest.conductor import verify
from acidtest.conductor.run import run
from acidtest.errors import BadInput

WHERE = Path("e.toml")
URL = '[servers.mine]\nurl = "postgresql://me@127.0.0.1/x"\n'
TPCB = "[workload.tpcb]\nterminals = 4\nduration_s = 2\n"


def text(engine: str = "mine", workload: str = TPCB, more: str = URL, machines: int = 2) -> str:
    return f'name = "e"\nengine = "{engine}"\ndurability = "drive"\n[load]\nmachines = {machines}\n{workload}\n{more}'


def refusal(written: str) -> str:
    with pytest.raises(BadInput) as error:
        verify(plan.make(experiment.parse(written, "e.toml")), WHERE)
    return " ".join(f"{problem.message} {problem.remedy}" for problem in error.value.problems)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (text("sqlite", more=""), ("engine sqlite is embedded in the rig", "[servers.NAME]")),
        (text("postgresql-15", more=""), ("sessions of other machines need TCP", 'connection = "tcp"')),
        (
            text("postgresql-15", more='[settings.postgresql]\nconnection = "tcp"\ntls = true\n'),
            ("postgresql.tls", "leave tls out"),
        ),
        (text("firebird-4.0-server", more=""), ("for its own machine alone", "[servers.NAME]")),
        (
            text(workload="[workload.tpcb]\nterminals = 4\ncount = 10\n"),
            ("workload.tpcb.count", "give duration_s instead"),
        ),
        (
            text(workload="[workload.tpcb]\nterminals = 2\nduration_s = 2\n", machines=3),
            ("workload.tpcb.terminals = 2", "at least 3 terminals"),
        ),
        (text(workload="[workload.scan]\nduration_s = 2\nterminals = 2\n"), ("one rig alone can drive scan",)),
        (text(more=f'{URL}[search]\nlimit = "p99 < 10 ms"\n'), ("acidtest search", "leave [search] out")),
        (
            text("sqlite", workload="[workload.tpcc]\nterminals = 4\nduration_s = 2\n", more='[growth]\nsizes = ["1 warehouse"]\n'),
            ("databases that grow", "leave [growth] out"),
        ),
        (text(machines=0), ("load.machines",)),
        (text().replace("machines", "machine"), ('load: key "machine" is not known',)),
    ],
)  # fmt: skip
def test_it_is_refused(written: str, words: tuple[str, ...]) -> None:
    said = refusal(written)
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    "written",
    [text(), text("postgresql-15", more='[settings.postgresql]\nconnection = "tcp"\n')],
    ids=["url", "private"],
)
def test_servers_are_accepted(written: str) -> None:
    verify(plan.make(experiment.parse(written, "e.toml")), WHERE)


def test_one_machine_is_refused_several_and_nothing_is_made(tmp_path: Path) -> None:
    made = plan.make(experiment.parse(text(), "e.toml"))
    with pytest.raises(BadInput, match="there is but this one") as error:
        run(made, WHERE, tmp_path / "out", Mock())
    assert "--fleet" in error.value.remedy
    assert not (tmp_path / "out").exists()


def test_one_machine_is_what_there_is_without_the_table() -> None:
    one = experiment.parse(text("sqlite", more="", machines=1), "e.toml")
    verify(plan.make(one), WHERE)
    assert one.machines == 1
    plain = experiment.parse(text("sqlite", more="").replace("[load]\nmachines = 2\n", ""), "e.toml")
    assert "load" not in plain.model_dump(mode="json")


def test_power_cuts_are_no_load_of_several_machines() -> None:
    written = text(
        "sqlite", workload="[workload.numbered]\nterminals = 4\ncount = 20\n", more='[place]\nkind = "disk"\n'
    )
    with pytest.raises(BadInput) as error:
        verify(plan.make(experiment.parse(written, "e.toml"), cuts=True), WHERE)
    assert "load.machines: the load of a power cut comes from one machine" in str(error.value.problems)
