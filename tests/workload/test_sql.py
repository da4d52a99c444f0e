"""A folder of the user's own as a workload of an experiment: its keys, its factors, its message, its database."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from acidtest import conductor, workload
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse
from acidtest.plan import Cell
from workloads import DESCRIPTION, SHOP

HEAD = (
    'name = "t"\nengine = "sqlite"\ndurability = "drive"\nrepetitions = 1\n[workload.shop]\nkind = "sql"\ncount = 5\n'
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


def read(base: Path, text: str = "", path: str = "shop/") -> Experiment:
    return parse(f"{HEAD}path = {json.dumps(path)}\n{text}", "t.toml", base=base)


def cells(experiment: Experiment) -> list[Cell]:
    plan = conductor.plan_of(experiment, where="t.toml")
    conductor.verify(plan, Path("t.toml"))
    return list(plan.combinations())


def message(experiment: Experiment) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(experiment.workload["shop"].message().model_dump_json(by_alias=True))
    return made


def test_its_message_holds_the_files_and_what_the_experiment_sets(shop: Path, tmp_path: Path) -> None:
    (shop / "workload.toml").write_text('[variables]\nscale = 1\nshare = 0.5\nname = "it\'s"\n')
    made = message(read(tmp_path, "variables = { scale = 10 }\nweights = { look = 3 }\n"))
    assert made["name"] == "sql"
    assert made["title"] == "shop"
    assert made["variables"] == [["scale", "10"], ["share", "0.5"], ["name", "'it''s'"]]
    assert made["load_sql"] is None
    assert made["schema"]["path"] == str(shop / "schema.sql")
    assert made["conditions"]["text"] == (SHOP / "conditions.sql").read_text()
    assert [(transaction["name"], transaction["weight"]) for transaction in made["transactions"]] == [
        ("buy", 1.0),
        ("look", 3.0),
    ]
    assert made["tables"] == [
        {
            "source": "csv",
            "table": "country",
            "csv": str(shop / "country.csv"),
            "sha256": made["tables"][0]["sha256"],
            "rows": 5,
            "columns": ["id", "name"],
        }
    ]


def test_a_transaction_without_weight_is_never_drawn(shop: Path, tmp_path: Path) -> None:
    made = message(read(tmp_path, "weights = { look = 0 }\n"))
    assert [transaction["name"] for transaction in made["transactions"]] == ["buy"]


def test_variables_and_weights_are_factors(shop: Path, tmp_path: Path) -> None:
    text = """
    [factors]
    "variables.scale" = [1, 10]
    mix = [{ name = "reads", set = { weights = { buy = 0 } } }, { name = "both", set = { "weights.look" = 1.5 } }]
    """
    made = {
        tuple(cell.levels.values())[-2:]: cell.workload.message().model_dump() for cell in cells(read(tmp_path, text))
    }
    assert {(one["variables"], tuple(t["weight"] for t in one["transactions"])) for one in made.values()} == {
        ((("scale", "1"),), (60.0,)),
        ((("scale", "1"),), (40.0, 1.5)),
        ((("scale", "10"),), (60.0,)),
        ((("scale", "10"),), (40.0, 1.5)),
    }


def test_a_factor_of_one_workloads_variable_reaches_that_one_only(shop: Path, tmp_path: Path) -> None:
    text = '[workload.commits]\ncount = 5\n[factors]\n"variables.scale" = [1, 10]\n'
    assert [
        next(iter(cell.levels.values())) + cell.levels["variables.scale"] for cell in cells(read(tmp_path, text))
    ] == [
        "shop1",
        "shop10",
        "commits–",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("variables = { scal = 1 }", 'variables: variable "scal" is not known (did you mean "scale"?); allowed: scale'),
        ('variables = { scale = "1" }', 'variables.scale: found "1", must be a number, as its default 1'),
        ("variables = { scale = [1] }", "workload.shop.variables: scale: found a list, must be a number or a text"),
        ("variables = 1", "workload.shop.variables: found 1"),
        ("weights = { bye = 1 }", 'weights: transaction "bye" is not known (did you mean "buy"?)'),
        ("weights = { buy = true }", "workload.shop.weights: buy: found true, must be a number"),
        ("weights = { buy = 0, look = 0 }", "all transactions have weight 0"),
        ("files = {}", 'workload.shop: key "files" is not known'),
        ('database = "shop/"', "shop: is a folder, and database is for a single file"),
        ('[factors]\npath = ["a", "b"]', "factors.path, level 1: path cannot be set by a factor"),
        ("[factors]\nvariables = [1, 2]", "variables is a table, and a level sets one entry of it"),
        ('[factors]\n"variables.scal" = [1, 2]', 'no workload here has a variable of this name (did you mean "scale"?)'),
        ('[factors]\n"weights.by" = [1, 2]', 'no workload here has a weight of this name (did you mean "buy"?)'),
        ('[factors]\n"variables.scale" = [1, true]', "scale: found true, must be a number or a text"),
        ('[factors]\n"weights.buy" = [1, -2]', "buy: found -2, must be 0 to 1,000,000,000"),
        ('variables = { scale = 3 }\n[factors]\n"variables.scale" = [1, 2]', "workload.shop.variables.scale: factors.variables.scale sets it"),
    ],
)  # fmt: skip
def test_what_it_cannot_be_given_is_told(shop: Path, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        cells(read(tmp_path, text))
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("nowhere", "", "nowhere: there is no such folder"),
        ("nowhere.sql", 'database = "shop"', "nowhere.sql: there is no such file"),
        ("shop/buy.sql", "", "buy.sql: is a single transaction, and nothing says over which tables"),
        ("shop/buy.sql", 'database = "elsewhere"', "elsewhere: there is no such folder"),
        ("shop/country.csv", 'database = "shop"', "country.csv: is no folder, and no file whose name ends in .sql"),
        ("a\\u0000b", "", "its name has a NUL byte"),
    ],
)
def test_a_path_that_leads_nowhere_is_told(shop: Path, tmp_path: Path, path: str, text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(f'{HEAD}path = "{path}"\n{text}', "t.toml", base=tmp_path)
    assert said in caught.value.message


def test_a_single_file_takes_any_variable(shop: Path, tmp_path: Path) -> None:
    made = message(read(tmp_path, 'database = "shop"\nvariables = { extra = 2.5 }\n', path="shop/look.sql"))
    assert made["variables"] == [["scale", "1"], ["extra", "2.5"]]
    assert [transaction["name"] for transaction in made["transactions"]] == ["look"]
    assert made["schema"] is not None


def test_only_what_the_load_names_makes_another_database(shop: Path, tmp_path: Path) -> None:
    toml = (shop / "workload.toml").read_text()
    (shop / "workload.toml").write_text(toml.replace("[variables]", "[variables]\nskew = 1.5"))
    plain = read(tmp_path).workload["shop"].loaded_text()
    for text, same in (
        ("variables = { skew = 2.5 }", True),
        ("weights = { buy = 1 }", True),
        ("terminals = 3", True),
        ("variables = { scale = 2 }", False),
    ):
        assert (read(tmp_path, text).workload["shop"].loaded_text() == plain) == same, text
    (shop / "look.sql").write_text("select 1;")
    assert read(tmp_path).workload["shop"].loaded_text() == plain
    (shop / "country.csv").write_text("id,name\n1,Chile\n")
    assert read(tmp_path).workload["shop"].loaded_text() != plain


@pytest.mark.parametrize("name", ["look.sql", "country.csv", "conditions.sql", "workload.toml"])
def test_a_file_that_has_changed_makes_another_experiment(shop: Path, tmp_path: Path, name: str) -> None:
    before = read(tmp_path).digest()
    assert read(tmp_path).digest() == before
    (shop / name).write_text(
        (shop / name).read_text().replace("1000", "1001").replace("1,", "9,").replace("= :cust", "=:cust") + "\n"
    )
    if name == "country.csv":
        (shop / name).write_text("id,name\n1,Chile\n")
    assert read(tmp_path).digest() != before


def test_what_was_recorded_is_read_when_the_folder_is_gone(shop: Path, tmp_path: Path) -> None:
    experiment = read(tmp_path, "variables = { scale = 2 }\n")
    dumped = json.loads(experiment.model_dump_json())
    of_cell = {"name": "shop", **experiment.workload["shop"].with_description(DESCRIPTION).model_dump(mode="json")}
    shutil.rmtree(shop)
    assert Experiment.recorded(dumped).digest() == experiment.digest()
    held = workload.recorded(of_cell)
    assert held is not None
    assert (held.kind, held.may_write(), held.writing_kinds(), held.always_writes()) == ("sql", True, (), False)
    assert held.conditions() == DESCRIPTION.conditions
    assert set(of_cell["files"]) == {path.name for path in SHOP.iterdir()}


def test_its_size_and_time_follow_from_its_rows(shop: Path, tmp_path: Path) -> None:
    made = read(tmp_path).workload["shop"].with_description(DESCRIPTION)
    more = DESCRIPTION.model_copy(update={"loaded_rows": (("customer", 1_000_000),)})
    larger = made.with_description(more)
    assert larger.loaded_bytes() > 100 * made.loaded_bytes() > 0
    assert larger.load_s() > made.load_s() > 0
    reads = DESCRIPTION.model_copy(update={"kinds": DESCRIPTION.kinds[1:]})
    assert made.with_description(reads).transaction_bytes() == 0 < made.transaction_bytes()
