"""Experiments: what is read, and the one clear line that bad input gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse

GOOD = """
name = "t"
engine = "sqlite"
durability = "drive"
[workload.commits]
count = 10
"""


def read(text: str, *, quick: bool = False) -> Experiment:
    return parse(text, "t.toml", quick=quick)


def test_short_form_becomes_factors_with_one_level() -> None:
    experiment = read(GOOD)
    assert {f: [level.name for level in levels] for f, levels in experiment.factors.items()} == {
        "workload": ["commits"],
        "engine": ["sqlite"],
        "durability": ["drive"],
    }
    assert experiment.workload["commits"].terminals == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "t.toml: not TOML: Invalid value (at end of document)"),
        (GOOD.replace("name", "nmae"), 't.toml: key "nmae" is not known (did you mean "name"?)'),
        ("zzz = 1\n" + GOOD, 't.toml: key "zzz" is not known; allowed: '),
        (GOOD.replace("count = 10", "cuont = 10"), 't.toml: workload.commits: key "cuont" is not known (did you mean "count"?)'),
        (GOOD + "terminals = 0", "t.toml: workload.commits.terminals: found 0, must be at least 1"),
        (GOOD.replace("count = 10", "duration_s = -1"), "t.toml: workload.commits.duration_s: found -1, must be above 0"),
        (GOOD.replace("count = 10", "duration_s = inf"), "t.toml: workload.commits.duration_s: found inf"),
        (GOOD + "duration_s = 1", 't.toml: workload.commits: give either "duration_s" or "count"'),
        (GOOD.replace("count = 10", ""), 't.toml: workload.commits: give either "duration_s" or "count"'),
        (GOOD + "terminals = true", "t.toml: workload.commits.terminals: found true"),
        (GOOD.replace('engine = "sqlite"', ""), "t.toml: no engine"),
        (GOOD.replace("[workload.commits]", "[workload.comits]"), 'workload "comits" is not known (did you mean "commits"?)'),
        ('repetitions = 0\n' + GOOD, "t.toml: repetitions: found 0, must be at least 1"),
        (GOOD + "[factors]\nengin = ['a']", 't.toml: factors.engin: no such factor (did you mean "engine"?)'),
        (GOOD + "[factors]\nread_ahead_kb = [1]", 'factors.read_ahead_kb: no such factor (did you mean "place.read_ahead_kb"?)'),
        (GOOD + "[factors]\nscale = []", "t.toml: factors.scale: found an empty list, must be a list of at least one level"),
        (GOOD + "[factors]\nscale = [1, 1]", 't.toml: factors.scale: level "1" stands twice'),
        (GOOD + '[factors]\n"postgress.x" = [1]', 'engine family "postgress" is not known'),
        (GOOD + "[settings.sqlit]\na = 1", 'key "sqlit" is not known (did you mean "sqlite"?)'),
        (GOOD + "[place]\ndisc = 'nvme'", 't.toml: place: key "disc" is not known (did you mean "disk"?)'),
        (GOOD + "[search]\nlimt = 'p99 < 1 ms'", 't.toml: search: key "limt" is not known (did you mean "limit"?)'),
        (GOOD + "[load]\nmachine = 2", 't.toml: load: key "machine" is not known (did you mean "machines"?)'),
        (GOOD + "[base]\nengine = 'firebird'", 't.toml: base: engine "firebird" is not known; allowed: sqlite'),
        (GOOD + "[[exclude]]\nengne = 'sqlite'", 't.toml: exclude 1: factor "engne" is not known (did you mean "engine"?)'),
        (GOOD.replace('name = "t"', 'name = "T t"'), 't.toml: name: found "T t", must be lower-case'),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line_with_key_and_remedy(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text)
    assert said in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("without", "remedy"),
    [
        ('engine = "sqlite"', 'write engine = "sqlite" above the first table, or engine = ["sqlite", "firebird-5.0"] under [factors]'),
        ('durability = "drive"', 'write durability = "drive" above the first table, or durability = ["os", "drive"] under [factors]'),
        ('name = "t"', "t.toml: name: is missing; write name = … above the first table"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_with_where_to_write_it(without: str, remedy: str) -> None:
    assert without in GOOD
    with pytest.raises(BadInput) as refused:
        parse(GOOD.replace(without, ""), "t.toml")
    assert remedy in (refused.value.message, refused.value.remedy)


def test_quick_is_laid_over_and_changes_the_digest() -> None:
    text = "repetitions = 9\n" + GOOD + "[quick]\nrepetitions = 2\n[quick.workload.commits]\ncount = 3\n"
    small = read(text, quick=True)
    assert (small.repetitions, small.workload["commits"].count) == (2, 3)
    assert small.digest() != read(text).digest()


def test_exclude_may_name_levels_that_the_small_size_lacks() -> None:
    text = (
        GOOD
        + "[factors]\nterminals = [1, 2, { name = 'four', value = 4 }]\n[[exclude]]\nterminals = [LEFT]\n[quick.factors]\nterminals = [1, 2]\n"
    )
    assert read(text.replace("LEFT", "2, 'four'"), quick=True).exclude == [{"terminals": ["2"]}]
    assert read(text.replace("LEFT", "'four'"), quick=True).exclude == [{"terminals": []}]
    with pytest.raises(BadInput, match='terminals "5" is not known'):
        read(text.replace("LEFT", "5"), quick=True)


def test_title_does_not_make_another_experiment() -> None:
    assert read('title = "a"\n' + GOOD).digest() == read('title = "b"\n' + GOOD).digest()


def test_levels_with_names_of_their_own() -> None:
    experiment = read(
        GOOD + '[factors]\nvariant = [{ name = "first" }, { name = "big", set = { "sqlite.cache_size_kb" = 4000 } }]'
    )
    assert [level.set for level in experiment.factors["variant"]] == [{}, {"sqlite.cache_size_kb": 4000}]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except BadInput as refused:
        assert refused.message.startswith("t.toml: ")


@given(
    st.sampled_from(["seed", "repetitions", "base", "factors", "exclude", "workload", "settings", "place", "quick"]),
    st.sampled_from(
        ["1", "-1", '"x"', "[]", "{}", "[1]", "[{}]", "{ a = 1 }", "true", "nan", "1e300", '{ name = "x" }']
    ),
    st.booleans(),
)
def test_any_value_under_any_key_is_read_or_refused(key: str, value: str, quick: bool) -> None:
    try:
        read(f"{key} = {value}\nengine = 'sqlite'\ndurability = 'drive'", quick=quick)
    except BadInput as refused:
        assert refused.message.startswith("t.toml: ")
