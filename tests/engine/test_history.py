"""Histories on every engine: the model and the database agree, and what is planted in the database is noticed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    Event,
    LoadPhase,
    Phase,
    Surveyed,
    SurveyPhase,
)
from acidtest.place import Ledger
from acidtest.workload import BY_KIND
from rig_jobs import of, run, talk

HISTORY = BY_KIND["history"].model_validate({"terminals": 3, "rows": 30, "open_ms": 20, "count": 60})
CONDITIONS = set(HISTORY.conditions())
RUN = run(3, 60, retries=1000)
# What several roll back may stay in Firebird: findings/firebird-rollback.
ALONE = RUN.model_copy(update={"terminals": 1})
SQL = Path(__file__).parents[2] / "rig" / "workload" / "src" / "history"


def told(instance: Instance, ledger: Ledger, *phases: Phase, seed: int = 11) -> list[Event]:
    return talk(instance, ledger, *phases, workload=HISTORY.message(), seed=seed)


def checks(events: Sequence[Event]) -> list[dict[str, str]]:
    """Of each check, the conditions that do not hold, with what they say. None is left out."""
    checked = of(Checked, events)
    assert all({condition.name for condition in event.conditions} == CONDITIONS for event in checked)
    return [
        {condition.name: condition.detail for condition in event.conditions if not condition.holds} for event in checked
    ]


def broken(instance: Instance, ledger: Ledger, *questions: str) -> dict[str, str]:
    """What does not hold in another process after these statements, whose seed is another one too."""
    phases: list[Phase] = [AskPhase(questions=list(questions))] if questions else []
    return checks(told(instance, ledger, *phases, CheckPhase(at_least=[60]), seed=12))[0]


def statements(dialect: str) -> dict[str, list[str]]:
    """The statements of a file beside the workload, by name."""
    found: dict[str, list[str]] = {}
    for part in (SQL / f"{dialect}.sql").read_text().split("\n\n"):
        if name := re.search(r"^-- name: (\w+)$", part, re.MULTILINE):
            sql = "\n".join(line for line in part.splitlines() if not line.startswith("--"))
            found.setdefault(name[1], []).append(sql.strip())
    return found


@pytest.mark.one_of_a_family
def test_the_model_agrees_until_something_is_planted(engine: Engine, loading: Instance, ledger: Ledger) -> None:
    instance, work = loading, ALONE if engine.family == "firebird" else RUN
    phases = [LoadPhase(), CheckPhase(), work, CheckPhase(), work, CheckPhase(), SurveyPhase()]
    events = told(instance, ledger, *phases)
    assert checks(events) == [{}, {}, {}]
    (survey,) = of(Surveyed, events)
    counters = {terminal.terminal: terminal.counter for terminal in survey.terminals}
    assert sum(counter or 0 for counter in counters.values()) >= 120
    assert {terminal.terminal: terminal.whole for terminal in survey.terminals} == {
        of: [(0, n)] for of, n in counters.items()
    }
    # What another process has begun goes on as the history has it.
    assert checks(told(instance, ledger, work, CheckPhase(at_least=[180]), seed=13)) == [{}]
    if engine.family == "postgresql":
        paths_are_forced(instance, ledger)
    gone = "delete from history_rows where id in (select min(id) from history_rows group by owner)"
    if engine.family == "mysql":  # which reads no table that it changes
        gone = "delete from history_rows order by id limit 3"
    found = broken(instance, ledger, gone, "update history_shared set total = total + 1 where id = 1")
    assert "shared_rows_are_the_sum_of_commits" in found
    assert found.keys() & {"rows_are_those_of_the_history", "commits_are_whole"}, found
    assert found.keys() <= {
        "shared_rows_are_the_sum_of_commits", "rows_are_those_of_the_history", "commits_are_whole",
    }, found  # fmt: skip


def paths_are_forced(instance: Instance, ledger: Ledger) -> None:
    """A server that plans by cost follows the settings that stand before the statements."""
    texts = statements("postgres")
    natural = [*texts["naturally"], "explain " + texts["natural"][0]]
    names = {"by_key": "history_rows_key", "by_group": "history_rows_group", "by_unique": "history_rows_unique",
             "by_owner": "history_rows_owner", "entries": "history_rows_group"}  # fmt: skip
    by_index = [*texts["by_indexes"], *("explain " + texts[name][0] for name in names)]
    looked_up = "explain " + texts["looked_up"][0].format(ids=", ".join(map(str, range(200))))
    answers = [
        "\n".join(str(row[0]) for row in event.rows)
        for event in of(Answered, told(instance, ledger, AskPhase(questions=[*natural, *by_index, looked_up])))
        if event.rows
    ]
    assert "Seq Scan on history_rows" in answers[0]
    for (name, index), plan in zip(names.items(), answers[1:], strict=False):
        assert index in plan, (name, plan)
        assert "Seq Scan" not in plan
    assert "history_rows_key" in answers[-1]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_an_index_that_lacks_an_entry_is_noticed(loading: Instance, ledger: Ledger) -> None:
    """And a body with a wrong byte."""
    instance = loading
    assert checks(told(instance, ledger, LoadPhase(), RUN, CheckPhase())) == [{}]
    whole = "create index history_rows_group on history_rows (grp)"
    with closing(sqlite3.connect(next(iter(instance.database_files())))) as database:
        (missing,) = database.execute("select max(id) from history_rows").fetchone()
        (body,) = database.execute("select min(id) from history_rows where length(body) > 9").fetchone()
        database.execute("update history_rows set body = zeroblob(length(body)) where id = ?", (body,))
        database.execute("drop index history_rows_group")
        database.execute(f"{whole} where id <> {missing}")
        database.execute("pragma writable_schema = on")
        database.execute("update sqlite_master set sql = ? where name = 'history_rows_group'", (whole,))
        database.commit()
    found = broken(instance, ledger)
    assert found.keys() == {"every_path_finds_the_same", "texts_and_bodies_are_whole"}
    assert (
        f"row {missing} is found so by a natural scan and not by the index of grp" in found["every_path_finds_the_same"]
    )
    assert found["texts_and_bodies_are_whole"] == f"the body of row {body} is not the one that was written"
