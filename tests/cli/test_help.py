"""``acidtest help`` explains what a user names, in whatever form, and suggests what may be meant."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import acidtest as package
from acidtest import conductor
from acidtest.cli import shipped
from acidtest.errors import BadInput
from acidtest.experiment import parse
from acidtest.reference.find import find, near
from acidtest.reference.tables import keys, tables


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("place.memory_mb", ["place.memory_mb"]),
        ("memory_mb", ["place.memory_mb"]),
        ("MEMORY_MB", ["place.memory_mb"]),
        ("factors.place.memory_mb", ["place.memory_mb"]),
        ("quick.place.memory_mb", ["place.memory_mb"]),
        ('"place.memory_mb"', ["place.memory_mb"]),
        ("workload.tpcc.warehouses", ["workload.tpcc.warehouses"]),
        ("tpcc.warehouses", ["workload.tpcc.warehouses"]),
        ("warehouses", ["workload.tpcc.warehouses"]),
        ("workload.mine.warehouses", ["workload.tpcc.warehouses"]),
        ("commits.warehouses", []),
        ("terminals", ["workload.NAME.terminals", "workload.NAME.stages.terminals", "workload.NAME.classes.terminals"]),
        ("tpcc.terminals", ["workload.NAME.terminals"]),
        ("quick.workload.mine.terminals", ["workload.NAME.terminals"]),
        ("factors.terminals", ["workload.NAME.terminals", "workload.NAME.stages.terminals", "workload.NAME.classes.terminals"]),
        ("place.terminals", []),
        ("row_bytes", ["workload.commits.row_bytes", "workload.numbered.row_bytes"]),
        ("firebird.page_size", ["firebird.page_size"]),
        ("settings.firebird.page_size", ["firebird.page_size"]),
        ("page_size", ["workload.maintenance.page_size", "sqlite.page_size", "firebird.page_size"]),
        ("durability", ["durability", "program.durability"]),
        ("base.durability", ["durability", "program.durability"]),
        ("exclude.firebird.page_size", ["firebird.page_size"]),
        ("quick.repetitions", ["repetitions"]),
        ("quick", ["quick"]),
        ("servers.mine.url", ["servers.NAME.url"]),
        ("factors.mine.set", ["factors.NAME.set"]),
        ("growth.sizes", ["growth.sizes"]),
        ("old-build", []),
        ("", []),
        (".", []),
    ],
)  # fmt: skip
def test_a_key_is_found_by_every_name_that_a_user_would_write(asked: str, found: list[str]) -> None:
    assert [key.name for key in find(asked).keys] == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("place", ["place"]),
        ("[place]", ["place"]),
        ("tpcc", ["workload.tpcc"]),
        ("workload.tpcc", ["workload.tpcc"]),
        ("[quick.workload.tpcc]", ["workload.tpcc"]),
        ("workload", ["workload.NAME"]),
        ("workload.mine", ["workload.NAME"]),
        ("firebird", ["settings.firebird"]),
        ("[settings.firebird]", ["settings.firebird"]),
        ("growth", ["growth"]),
        ("servers", ["servers.NAME"]),
        ("servers.mine", ["servers.NAME"]),
        ("factors", ["factors.NAME"]),
        ("plase", []),
    ],
)
def test_a_table_is_found_too(asked: str, found: list[str]) -> None:
    assert [table.name for table in find(asked).tables] == found


def test_each_key_and_each_table_is_found_by_its_own_name_and_explained(acidtest) -> None:
    for key in keys():
        for name in (key.name, ".".join(key.path), key.bare, key.factor or key.bare):
            assert key in find(name).keys or any(key.says in table.says for table in find(name).tables), name
    for table in tables()[1:]:
        assert table in find(table.name).tables
        text = acidtest("help", table.name)
        assert [key.name for key in table.keys if f"\n  {key.bare}  not given: " not in text] == []


def test_a_key_is_explained_with_all_that_is_known_of_it(acidtest) -> None:
    text = acidtest("help", "memory_mb")
    assert text.splitlines()[0] == "place.memory_mb"
    for words in (
        "The engine and all that it caches", "whole number, MiB: 4 to 16,777,216", "no limit", "directory, loop",
        '"place.memory_mb" = […] in [factors]', "0.1",
    ):  # fmt: skip
        assert words in text
    several = acidtest("help", "page_size")
    assert "sqlite.page_size" in several
    assert "firebird.page_size" in several
    assert "as a factor  no" in acidtest("help", "seed")
    assert "acidtest help workload" in acidtest("help", "tpcb")


def test_a_command_is_explained_as_by_its_own_help(acidtest) -> None:
    assert acidtest("help", "plan") == acidtest("plan", "--help")
    assert acidtest("help", "engines", "settings") == acidtest("engines", "settings", "--help")
    both = acidtest("help", "growth")  # a table and a command
    assert "Databases of several sizes" in both
    assert both.endswith(acidtest("growth", "--help"))


def test_alone_it_lists_commands_and_tables_with_their_keys(acidtest) -> None:
    text = acidtest("help")
    for words in ("run ", "engines install", "Install engines", "[workload.tpcc]", "warehouse_percent", "memory_mb"):
        assert words in text
    listed = json.loads(acidtest("help", "--json"))
    assert {"run", "engines settings", "help"} <= {command["name"] for command in listed["commands"]}
    assert [table["name"] for table in listed["tables"]] == [table.name for table in tables()]


def test_programs_get_the_same(acidtest) -> None:
    answer = json.loads(acidtest("help", "firebird.page_size", "--json"))
    (key,) = answer["keys"]
    assert (key["name"], key["table"], key["unit"], key["default"]) == (
        "firebird.page_size",
        "settings.firebird",
        "bytes",
        8192,
    )
    assert [one["values"] for one in key["allowed"]] == [[4096, 8192, 16384], [4096, 8192, 16384, 32768]]
    assert (key["factor"], key["since"]) == ("firebird.page_size", "0.1")
    table = json.loads(acidtest("help", "growth", "--json"))
    assert [command["name"] for command in table["commands"]] == ["growth"]
    assert [key["key"] for key in table["keys"]] == ["sizes", "load", "statistics", "held_out"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("memroy_mb", "place.memory_mb"),
        ("place.memroy_mb", "place.memory_mb"),
        ("warehuoses", "workload.tpcc.warehouses"),
        ("commits.warehouses", "workload.tpcc.warehouses"),
        ("firebird.pagesize", "firebird.page_size"),
        ("plase", "place"),
        ("powercuts", "powercut"),
        ("durabilty", "durability"),
    ],
)
def test_what_is_unknown_is_refused_with_what_may_be_meant(acidtest, asked: str, meant: str) -> None:
    with pytest.raises(BadInput) as refused:
        acidtest("help", asked)
    assert meant in refused.value.message
    assert refused.value.exit_code == 2
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("firebird-5.0", "acidtest engines settings firebird-5.0"),
        ("old-build", "acidtest audit --rules lists them"),
        ("claim", "acidtest help docs/AUDIT.md"),
        ("ssh_options", "acidtest help docs/FLEET.md"),
        ("[ssh_options]", "acidtest help docs/FLEET.md"),
        ("ssh_options.client_keys", "acidtest help docs/FLEET.md"),
        ("machines.write_cache", "acidtest help docs/AUDIT.md"),
        ("xyzzyplugh", "acidtest help lists"),
    ],
)
def test_what_is_no_key_but_something_else_says_where_to_look(acidtest, asked: str, remedy: str) -> None:
    with pytest.raises(BadInput) as refused:
        acidtest("help", asked)
    assert refused.value.remedy.startswith(remedy)


def test_nothing_near_is_nothing() -> None:
    assert near("xyzzyplugh") == []
    assert near("fleet") == []  # not "level"


@pytest.mark.parametrize("name", ["fleet", "FLEET", "Fleet.md", "docs/fleet", "docs/FLEET.md", "docs/FLEET.md#slurm"])
def test_a_page_is_found_by_its_name_whatever_its_case(acidtest, name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "FLEET.md").read_text(encoding="utf-8")
    assert acidtest("help", name).strip() == page.strip()
    assert [one["name"] for one in json.loads(acidtest("help", name, "--json"))["pages"]] == ["docs/FLEET.md"]


def test_a_page_of_two_words_is_found_too() -> None:
    assert shipped.page_named("disk_compared") == shipped.page_named("Disk compared") == "docs/DISK-COMPARED.md"
    assert shipped.page_named("no-such-page") is None


LEAST = 'name = "t"\nengine = "sqlite"\ndurability = "drive"\n'
COMMITS = "[workload.commits]\ncount = 1\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LEAST + COMMITS + "[place]\nmemroy_mb = 5\n", "place"),
        (LEAST + COMMITS + "[place]\nmemory_mb = 1\n", "place.memory_mb"),
        (LEAST + '[workload.mine]\nkind = "tpcc"\ncount = 1\nwarehuoses = 1\n', "workload.NAME"),
        (LEAST + '[workload.mine]\nkind = "tpcc"\ncount = 1\nwarehouses = 0\n', "workload.tpcc.warehouses"),
        (LEAST + "[workload.tpcb]\n", "workload.tpcb"),
        (LEAST + COMMITS + "terminals = 0\n", "workload.NAME.terminals"),
        (LEAST + COMMITS + "[settings.sqlite]\npage_sise = 4096\n", "settings.sqlite"),
        (LEAST + COMMITS + "[settings.sqlite]\npage_size = 4097\n", "sqlite.page_size"),
        (LEAST + COMMITS + '[servers.mine]\nurl = "mysql://me@db/test"\nscheme = "x"\n', "servers.NAME"),
        (LEAST + COMMITS + '[factors]\nx = [{ name = "a", sets = { terminals = 2 } }]\n', "factors.NAME"),
        ("repetitions = 0\n" + LEAST + COMMITS, "repetitions"),
        ('seeds = 1\n' + LEAST + COMMITS, None),
        (LEAST + COMMITS + "[quick]\nseeds = 1\n", None),
    ],
)  # fmt: skip
def test_an_error_names_a_help_that_there_is(text: str, found: str | None) -> None:
    """``found`` is the key or table that it explains; None: the list of all."""
    with pytest.raises(BadInput) as refused:
        conductor.verify(conductor.plan_of(parse(text, "t.toml", quick="[quick]" in text)), Path("t.toml"))
    words = refused.value.remedy.split()
    assert words[:2] == ["acidtest", "help"]
    explained = find(".".join(words[2:]))
    assert [key.name for key in (*explained.keys, *explained.tables)] == ([found] if found else [])


PAGE = re.compile(r"(acidtest help )?\b(docs/[A-Z-]+\.md)")


def test_whoever_is_sent_to_a_page_can_print_it() -> None:
    """Also from the wheel, beside which no docs/ lies: by ``acidtest help``, in every text of the code."""
    for file in sorted(Path(package.__file__).parent.rglob("*.py")):
        if not PAGE.search(source := file.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(source)
        remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        for text in (text for text in texts if id(text) not in remarks):
            for by, page in PAGE.findall(text.value):
                assert by, f"{file}:{text.lineno}: write acidtest help {page}"
                assert page in shipped.pages(), f"{file}:{text.lineno}: {page} is not there"


def test_every_page_that_a_table_names_is_there() -> None:
    assert {f"docs/{page.partition('#')[0]}" for table in tables() for page in table.pages} <= shipped.pages().keys()
