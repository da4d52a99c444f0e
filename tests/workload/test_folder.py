"""A folder of the user's own is read as it is, and each mistake in it is one line that names the file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from acidtest.errors import BadInput
from acidtest.formats import regular
from acidtest.workload import folder as folders
from workloads import SHOP


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


def test_a_folder_is_read_whole(shop: Path) -> None:
    (shop / "buy.firebird.sql").write_text("select 1 from rdb$database;")
    (shop / "buy.postgresql.sql").write_text("select 1;")
    (shop / "README.md").write_text("A note.")
    (shop / ".gitignore").write_text("*~")
    read = folders.read(shop)
    assert read.title == "shop"
    assert set(read.transactions) == {"buy", "look"}
    assert read.weights == {"buy": 40.0, "look": 60.0}
    assert read.variables == {"scale": 1}
    assert set(read.parts) == {"schema", "indexes", "conditions"}
    assert [(variant[0], Path(variant[1]).name) for variant in read.transactions["buy"].variants] == [
        ("firebird", "buy.firebird.sql"),
        ("postgres", "buy.postgresql.sql"),
    ]
    country, customer, product = read.tables
    assert isinstance(country, folders.Csv)
    assert (country.held.columns, country.held.rows) == (("id", "name"), 5)
    assert isinstance(customer, folders.Generated)
    assert (customer.rows, customer.columns[0]) == ("1000 * :scale", ("id", ":row"))
    assert isinstance(product, folders.Generated)
    assert product.rows == "200"
    assert set(read.hashes) == {path.name for path in shop.iterdir()} - {"README.md", ".gitignore"}


def test_without_a_table_of_transactions_each_has_weight_1(shop: Path) -> None:
    (shop / "workload.toml").unlink()
    assert folders.read(shop).weights == {"buy": 1.0, "look": 1.0}


def test_a_byte_order_mark_of_sql_is_no_part_of_it(shop: Path) -> None:
    (shop / "look.sql").write_bytes(b"\xef\xbb\xbfselect 1;")
    assert folders.read(shop).transactions["look"].text == "select 1;"


def test_csv_files_that_are_named_are_loaded_at_their_turn(shop: Path) -> None:
    (shop / "country.csv").rename(shop / "lands.csv")
    toml = (shop / "workload.toml").read_text()
    (shop / "workload.toml").write_text(toml + '\n[load.country]\ncsv = "lands.csv"\n')
    assert [table.table for table in folders.read(shop).tables] == ["customer", "product", "country"]


def test_a_single_file_runs_over_the_database_of_another_folder(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text("select :x;")
    (tmp_path / "one.mysql.sql").write_text("select 2;")
    (tmp_path / "other.txt").write_text("nothing of ours")
    read = folders.read_script(tmp_path / "one.sql", shop)
    assert set(read.transactions) == {"one"}
    assert read.transactions["one"].variants[0][0] == "mysql"
    assert set(read.parts) == {"schema", "indexes", "conditions"}
    assert {"one.sql", "one.mysql.sql", "shop/schema.sql", "shop/country.csv"} <= set(read.hashes)


MISTAKES = {
    "a file without a meaning": ("notes.txt", b"x", "notes.txt: has no meaning in a workload's folder"),
    "a folder in it": ("more/buy.sql", b"select 1;", "more: has no meaning"),
    "an engine that is none": ("buy.oracle.sql", b"select 1;", 'buy.oracle.sql: engine "oracle" is not known'),
    "MariaDB": ("buy.mariadb.sql", b"select 1;", "allowed: firebird, mysql, postgresql, sqlite"),
    "two engines": ("buy.mysql.sqlite.sql", b"select 1;", "has more than one engine in its name"),
    "a variant of nothing": ("pay.mysql.sql", b"select 1;", "pay.sql: is missing, and there is"),
    "a name that is none": ("a b.sql", b"select 1;", "a transaction is named by letters"),
    "no UTF-8": ("look.sql", b"select 1;\n-- \xff", "look.sql: is not UTF-8 in line 2"),
    "a NUL": ("look.sql", b"select 1;\n\n\0", "look.sql: has a NUL byte in line 3"),
    "too large": ("look.sql", b"-" * (folders.SQL_BYTES_MAX + 1), "look.sql: is larger than 1,048,576 bytes"),
    "no weight": ("pay.sql", b"select 1;", "workload.toml: transactions: pay has no weight"),
    "no TOML": ("workload.toml", b"a = = 1", "workload.toml: not TOML: "),
    "nested too deeply": ("workload.toml", b"a = " + b"[" * 20_000, "workload.toml: not TOML: "),
    "too many digits": ("workload.toml", b"a = " + b"9" * 5_000, "workload.toml: not TOML: "),
    "hexadecimal digits": ("workload.toml", b"[variables]\na = 0x" + b"f" * 9_000, "needs more than 64 bits"),
    "a key that is none": ("workload.toml", b"weights = 1", 'key "weights" is not known; allowed: description'),
    "a description that is none": ("workload.toml", b"description = 1", "description: found 1, must be a text"),
    "a variable that is a list": ("workload.toml", b"[variables]\na = [1]", "variables.a: found a list, must be a number"),
    "a variable that is true": ("workload.toml", b"[variables]\na = true", "variables.a: found true, must be a number"),
    "a variable without end": ("workload.toml", b"[variables]\na = inf", "variables.a: found inf, must be finite"),
    "a variable's name": ("workload.toml", b"[variables]\n1a = 1", "variables.1a: a name has letters"),
    "a weight below 0": ("workload.toml", b"[transactions]\nbuy = -1", "transactions.buy: found -1, must be 0 to"),
    "all weights 0": ("workload.toml", b"[transactions]\nbuy = 0\nlook = 0", "transactions: all weights are 0"),
    "a weight of nothing": ("workload.toml", b"[transactions]\nbuy = 1\nlook = 1\nby = 1", 'transaction "by" is not known'),
    "no columns": ("workload.toml", b"[load.customer]\nrows = 1", "load.customer: columns is missing"),
    "an expression that is none": (
        "workload.toml",
        b"[load.customer]\nrows = 1\ncolumns = { id = [] }",
        "load.customer.columns.id: found a list, must be an expression in a text",
    ),
    "a column's name": ("workload.toml", b'[load.c]\nrows = 1\ncolumns = { "a b" = "1" }', '"a b" is no name of a column'),
    "a table's name": ("workload.toml", b"[load.'a b']\nrows = 1\ncolumns = { a = 1 }", "load.a b: a name has letters"),
    "rows and a file": ("workload.toml", b'[load.c]\nrows = 1\ncsv = "country.csv"', "has csv and rows or columns"),
    "a file elsewhere": ("workload.toml", b'[load.c]\ncsv = "../c.csv"', "must name a file of the folder"),
    "a file that is not there": ("workload.toml", b'[load.c]\ncsv = "c.csv"', "c.csv: is missing, and"),
    "a table that is made twice": ("customer.csv", b"id\n1\n", "load.customer: its rows are generated, and there is"),
    "a row that is short": ("country.csv", b"id,name\n1,a\n2\n", "country.csv: has 1 value in line 3"),
    "an empty line": ("country.csv", b"id,name\n\n1,a\n", "country.csv: has 0 values in line 2"),
    "an empty file": ("country.csv", b"", "country.csv: is empty: its first line names the columns"),
    "a line without end": ("country.csv", b"id,name\n1," + b"x" * (1 << 21), "country.csv: has more than 1,048,576 bytes in line 2"),
    "a quote that is open": ("country.csv", b'id,name\n1,"a', "country.csv: is no CSV in line 2"),
    "a column that is none": ("country.csv", b"id,na me\n1,a\n", 'country.csv: "na me" in its first line'),
    "a column twice": ("country.csv", b"id,ID\n1,a\n", "country.csv: names a column twice"),
    "a mark before the columns": ("country.csv", b"\xef\xbb\xbfid,name\n", "country.csv: begins with a byte order mark"),
    "a file that names no table": ("1country.csv", b"id\n", "1country.csv: is named after no table"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "said"), MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_told_in_one_line_with_its_file(shop: Path, name: str, content: bytes, said: str) -> None:
    (shop / name).parent.mkdir(exist_ok=True)
    (shop / name).write_bytes(content)
    with pytest.raises(BadInput) as caught:
        folders.read(shop)
    told = [problem for problem in caught.value.problems if said in problem.message]
    assert told, caught.value.message
    assert all(
        problem.message.startswith(str(shop)) and problem.message.isprintable() for problem in caught.value.problems
    )


def test_what_is_no_file_of_text_is_not_waited_for(shop: Path) -> None:
    os.mkfifo(shop / "pipe.sql")
    (shop / "circle.sql").symlink_to("circle.sql")
    (shop / "folder.sql").mkdir()
    (shop / "gone.csv").symlink_to("nowhere.csv")
    with pytest.raises(BadInput) as caught:
        folders.read(shop)
    told = {Path(problem.message.partition(": ")[0]).name: problem.message for problem in caught.value.problems}
    assert "is no regular file" in told["pipe.sql"]
    assert "symbolic links" in told["circle.sql"]
    assert "is no regular file" in told["folder.sql"]
    assert "is missing" in told["gone.csv"]


def test_a_folder_must_be_there_and_hold_a_transaction(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such folder"):
        folders.read(tmp_path / "nowhere")
    (tmp_path / "schema.sql").write_text("create table t (a integer);")
    with pytest.raises(BadInput, match="has no transaction"):
        folders.read(tmp_path)


def test_a_folder_of_other_things_is_not_read_through(tmp_path: Path) -> None:
    for number in range(folders.FILES_MAX + 1):
        (tmp_path / f"{number}.sql").touch()
    with pytest.raises(BadInput, match="holds more than 1,000 files"):
        folders.read(tmp_path)


def test_a_csv_file_is_counted_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b'a,b\r\n1,"two\r\nlines, and ""quotes"""\r\n2,\r\n')
    held = regular.rows(file)
    assert (held.columns, held.rows, held.bytes) == (("a", "b"), 2, file.stat().st_size)
