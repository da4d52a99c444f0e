"""What an experiment may call things: what is wrong with a name is said as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest import conductor, plan
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse
from acidtest.names import EXPERIMENT, SCHEMA, SHOWN
from acidtest.powercut import state_file

# Places where a name stands; what is refused of each is told at the end of the message.
PLACES = {
    "experiment": 'name = {}\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n',
    "level": 'name = "t"\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n'
    "[factors]\nterminals = [{{ name = {}, value = 2 }}]\n",
    "plain level": 'name = "t"\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n[factors]\n"place.path" = [{}]\n',
    "factor": 'name = "t"\nengine = "sqlite"\ndurability = "os"\n[workload.commits]\ncount = 1\n'
    '[factors]\n{} = [{{ name = "a", set = {{ terminals = 2 }} }}]\n',
    "workload": 'name = "t"\nengine = "sqlite"\ndurability = "os"\n[workload.{}]\nkind = "commits"\ncount = 1\n',
    "server": 'name = "t"\nengine = {0}\ndurability = "drive"\n[workload.commits]\ncount = 1\n'
    '[servers.{0}]\nurl = "postgresql://me@db/test"\n',
    "schema": 'name = "t"\nengine = "mine"\ndurability = "drive"\n[workload.commits]\ncount = 1\n'
    '[servers.mine]\nurl = "postgresql://me@db/test"\nschema = {}\n',
}  # fmt: skip
LONG = "a" * 250


def quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=True)


def read(place: str, name: str) -> Experiment:
    return parse(PLACES[place].format(quoted(name)), "t.toml")


def refused(place: str, name: str) -> str:
    with pytest.raises(BadInput) as caught:
        read(place, name)
    assert len(caught.value.problems) == 1, caught.value.message
    assert len(caught.value.message) < 300
    assert caught.value.message.isprintable()
    return caught.value.message


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("experiment", LONG, "must have at most 64 characters, and this has 250"),
        ("experiment", "", "must have at least one character"),
        ("experiment", "a/b", 'must be lower-case letters (a to z), digits, - and _, and this has "/" in it'),
        ("experiment", "größe", 'and this has "ö" in it'),
        ("experiment", "A", 'and this has "A" in it'),
        ("experiment", "a\x07", "and this has an unprintable character (U+0007) in it"),
        ("experiment", "-a", 'must begin with a letter or a digit, and this begins with "-"'),
        ("schema", LONG, "must have at most 63 characters, and this has 250"),
        ("schema", "1a", 'must begin with a letter or _, and this begins with "1"'),
        ("schema", "a-b", 'must be lower-case letters (a to z), digits and _, and this has "-" in it'),
        *[
            (place, name, said)
            for place in ("level", "plain level", "factor", "workload", "server")
            for name, said in (
                (LONG, "must have at most 80 characters, and this has 250"),
                ("a\nb", "must be printable characters, and this has an unprintable character (U+000A) in it"),
                ("a\u200bb", "an unprintable character (U+200B)"),
            )
        ],
        *[(place, "", "must have at least one character") for place in ("plain level", "factor", "workload", "server")],
        ("level", "–", '"–" stands for what a combination does not have'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_name_is_said_as_it_is(place: str, name: str, said: str) -> None:
    assert said in refused(place, name)


@pytest.mark.parametrize("place", ["level", "plain level", "factor", "workload", "server"])
@pytest.mark.parametrize("name", ["/mnt/größe", "two words", "日本", "a" * 80, "[bold]"])
def test_what_is_printable_is_taken(place: str, name: str) -> None:
    planned = conductor.plan_of(read(place, name))
    assert len(planned.cells) == 5


def test_a_long_value_is_told_how_to_have_a_short_name() -> None:
    with pytest.raises(BadInput) as caught:
        read("plain level", f"/{LONG}")
    assert caught.value.remedy == 'give the level a name: { name = "...", value = ... }'


@given(st.text())
def test_a_name_is_taken_or_something_is_wrong_with_it(name: str) -> None:
    for rule in (EXPERIMENT, SCHEMA, SHOWN):
        fits = 0 < len(name) <= rule.most and all(map(rule.takes, name)) and rule.begins_with(name[0]) and name != "–"
        assert (rule.complaint(name) == "") == fits
        assert rule.complaint(name).isprintable()


def test_a_server_has_no_name_of_an_engine() -> None:
    planned = conductor.plan_of(read("server", "sqlite"))
    with pytest.raises(BadInput, match=r"t\.toml: servers\.sqlite: acidtest has an engine of this name"):
        conductor.verify(planned, Path("t.toml"))


def test_two_combinations_of_one_name_are_refused_and_not_made_one() -> None:
    text = PLACES["level"].format('"x"') + (
        'first = [{ name = "a/b", set = { row_bytes = 1 } }, { name = "a", set = { row_bytes = 2 } }]\n'
        'second = [{ name = "c", set = { retries = 1 } }, { name = "b/c", set = { retries = 2 } }]\n'
    )
    with pytest.raises(BadInput, match=r't\.toml: "[^"]*/a/b/c" would name two different combinations') as caught:
        plan.make(parse(text, "t.toml"), where="t.toml")
    assert "give the levels other names" in caught.value.remedy


def test_a_cell_of_long_levels_has_a_file_name_of_its_own() -> None:
    ids = [f"numbered/sqlite/{'ö' * 80}/{'b' * 80}/{'c' * 80}/{last}#1" for last in "xy"]
    names = [state_file._file_name(one) for one in ids]
    assert len(set(names)) == 2
    assert all(len(name.encode()) <= 200 and "/" not in name for name in names)
    assert state_file._file_name("numbered/sqlite/drive#1") == "numbered-sqlite-drive#1"


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("[settings.mine]\nwork_mem_mb = 4\n", "settings.mine: settings are named after a family of engines, and mine is a server",
         "write [settings.firebird] or [settings.postgresql] or [settings.mysql], after the scheme of its URL"),
        ('[factors]\n"mine.work_mem_mb" = [4, 8]\n', "factors.mine.work_mem_mb: mine.work_mem_mb: settings are named after a family",
         "write firebird.work_mem_mb or postgresql.work_mem_mb or mysql.work_mem_mb, after the scheme of its URL"),
    ],
)  # fmt: skip
def test_settings_under_a_servers_name_are_told_where_they_belong(text: str, said: str, remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(PLACES["schema"].format('"ours"') + text, "t.toml")
    assert caught.value.message.startswith(f"t.toml: {said}")
    assert caught.value.remedy == remedy
