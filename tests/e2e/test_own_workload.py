"""A folder of the user's own, run on every kind of engine, and what becomes of mistakes in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support import Run, journal_lines, times
from workloads import SHOP

# Firebird 3.0 loses updates now and then where terminals meet (docs/ENGINES.md), as conditions would find.
ENGINES = ["sqlite", "firebird-5.0", "postgresql-17", "mariadb-10.11", "firebird-4.0-server", "mysql-9.7"][
    : times(4, 6)
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


def experiment(tmp_path: Path, more: str = "", engine: object = ("sqlite",)) -> Path:
    file = tmp_path / "own.toml"
    file.write_text(
        f'name = "own"\nrepetitions = 1\ndurability = "os"\n[workload.shop]\nkind = "sql"\npath = "shop/"\n'
        f"terminals = 2\ncount = 200\n{more}\n"
        + ("" if "[factors]" in more else "[factors]\n")
        + f"engine = {json.dumps(list(engine))}\n"
    )
    return file


def test_it_runs_on_every_engine_with_its_conditions(acidtest: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, engine=ENGINES), "--out", out, code=0)
    recordings = journal_lines(out)
    assert len(recordings) == len(ENGINES)
    for recording in recordings:
        assert recording["status"] == "done", recording["reason"]
        assert recording["result"]["counts"]["committed"] == 200
        assert {kind["name"] for kind in recording["result"]["kinds"]} == {"buy", "look"}
        for checks in (recording["checks_before"], recording["checks_after"]):
            held = {condition["name"]: condition["holds"] for condition in checks["conditions"]}
            assert len(held) == 3
            assert all(held.values())
            assert "No stock is negative." in held
        assert recording["load"]["rows"] == 5 + 1000 + 200
        assert set(recording["workload"]["files"]) == {path.name for path in shop.iterdir()}
        assert [kind["name"] for kind in recording["workload"]["described"]["kinds"]] == ["buy", "look"]
    shutil.rmtree(shop)
    assert acidtest("report", out).returncode == 0
    assert "transactions/s" in acidtest("report", out).stdout


# As people write them for pgbench, for its own tables; with what its manual has beside \\set.
PGBENCH_SCRIPT = r"""
\set aid random_zipfian(1, 100000 * :scale, 1.2)
\set tid random(1, 10 * :scale)
\set bid (:tid - 1) / 10 + 1
\set delta random_gaussian(-5000, 5000, 3.0)
BEGIN;
SELECT abalance AS held FROM pgbench_accounts WHERE aid = :aid \gset
\if :held + :delta >= 0
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
\else
\set delta abs(:delta)
UPDATE pgbench_accounts
    SET abalance = abalance + :delta WHERE aid = :aid;
\endif
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
\sleep 100 us
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""


def test_a_script_of_pgbench_runs_as_it_is(acidtest: Run, tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(PGBENCH_SCRIPT)
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own"\nrepetitions = 1\ndurability = "os"\n[workload.script]\nkind = "sql"\npath = "script.sql"\n'
        f'database = "{SHOP.parent / "pgbench"}"\ncount = 100\n[factors]\nengine = {json.dumps(ENGINES)}\n'
    )
    acidtest("run", file, "--out", tmp_path / "out", code=0)
    recordings = journal_lines(tmp_path / "out")
    assert len(recordings) == len(ENGINES)
    for recording in recordings:
        assert recording["status"] == "done", recording["reason"]
        assert recording["result"]["counts"]["committed"] == 100
        assert len(recording["checks_after"]["conditions"]) == 2
        assert all(condition["holds"] for condition in recording["checks_after"]["conditions"])


def test_a_factor_of_a_variable_shapes_the_load(acidtest: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    acidtest("run", experiment(tmp_path, '[factors]\n"variables.scale" = [1, 3]\n'), "--out", out, code=0)
    rows = {line["levels"]["variables.scale"]: line["load"]["rows"] for line in journal_lines(out)}
    assert rows == {"1": 1205, "3": 3205}


def test_a_condition_that_does_not_hold_makes_the_cell_invalid(acidtest: Run, shop: Path, tmp_path: Path) -> None:
    buy = (shop / "buy.sql").read_text()
    (shop / "buy.sql").write_text(buy.replace("stock - :pieces", "stock - 1000001"))
    acidtest("run", experiment(tmp_path), "--out", tmp_path / "out", code=1)
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["status"] == "invalid"
    assert '"No stock is negative." does not hold' in recording["reason"]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("buy.sql", "\\set a 1\nselect :nowhere;\n", "buy.sql:2: unknown variable :nowhere"),
        ("look.sql", "select 1;\n\\endif\n", "look.sql:2: \\endif without an \\if"),
        ("look.sql", "\\set a random(1,\nselect 1;\n", "look.sql:"),
        ("workload.toml", '[load.product]\nrows = "10 *"\ncolumns = { id = ":row" }\n', "workload.toml: load.product"),
        ("workload.toml", '[load.product]\nrows = "10"\ncolumns = { id = "nothing(1)" }\n', "nothing is no function"),
    ],
)
def test_a_mistake_is_told_before_anything_is_made(
    acidtest: Run, shop: Path, tmp_path: Path, file: str, text: str, said: str
) -> None:
    (shop / file).write_text(text)
    for command in (("plan",), ("run", "--out", tmp_path / "out")):
        ran = acidtest(command[0], experiment(tmp_path), *command[1:], code=2)
        assert said in ran.stderr
        assert "Traceback" not in ran.stderr
    assert not (tmp_path / "out").exists()


def test_sql_that_the_engine_refuses_is_told_with_its_line(acidtest: Run, shop: Path, tmp_path: Path) -> None:
    (shop / "indexes.sql").write_text("create index a on purchase (customer_id);\ncreate index b on nowhere (x);\n")
    acidtest("run", experiment(tmp_path), "--out", tmp_path / "out", code=3)
    (recording,) = journal_lines(tmp_path / "out")
    assert recording["status"] == "failed"
    assert "indexes.sql:2: " in recording["reason"]


def test_a_run_goes_on_with_the_same_files_only(acidtest: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert acidtest("run", experiment(tmp_path), "--out", out).returncode == 0
    assert acidtest("run", experiment(tmp_path), "--out", out).returncode == 0
    assert len(journal_lines(out)) == 1
    (shop / "look.sql").write_text("select 1;\n")
    ran = acidtest("run", experiment(tmp_path), "--out", out, code=2)
    assert "holds the results of this experiment with other files: shop: look.sql" in ran.stderr
