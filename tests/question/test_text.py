"""What is written is TOML that says what was meant."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acidtest.question.text import WIDTH, Draft, Line, Table, toml

# What can stand in a file of UTF-8.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
SCALARS = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False, width=16), TEXTS)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(VALUES)
def test_a_value_is_read_as_it_was(value: Any) -> None:
    assert tomllib.loads(f"key = {toml(value)}")["key"] == value


@given(TEXTS, VALUES, TEXTS, TEXTS, st.booleans())
def test_a_comment_stays_one_whatever_it_holds(key: str, value: Any, comment: str, heading: str, offered: bool) -> None:
    line = Line(key, value, comment, offered=offered)
    draft = Draft((Line("name", "x"), line), (Table("table", (line,), comment), Table("many", (line,), repeated=True)))
    written = draft.text((heading, "", f" {heading}"))
    meant = {} if offered else {key: value}
    if key != "name" and key not in ("table", "many"):
        assert tomllib.loads(written) == {"name": "x", **meant, "table": meant, "many": [meant]}


def test_it_is_good_to_read() -> None:
    levels = [
        {"name": "4 KiB", "set": {"sqlite.page_size": 4096}},
        {"name": "8 KiB", "set": {"sqlite.page_size": 8192}},
    ]
    draft = Draft(
        (Line("name", "mine"), Line("repetitions", 5, "So often.")),
        (
            Table("factors", (Line("page", levels), Line("terminals", [1, 8], "Clients.")), "All of them."),
            Table("exclude", (Line("page", "8 KiB"), Line("terminals", 8)), repeated=True),
            Table("place", (Line("path", "/mnt", "Elsewhere.", offered=True),)),
            Table("settings.sqlite", ()),
        ),
    )
    assert draft.text(("A question? " + "word " * 30, "", "  acidtest plan mine.toml")) == (
        f"# A question? {'word ' * 18}word\n# {('word ' * 11).strip()}\n"
        """#
#  acidtest plan mine.toml

name = "mine"

# So often.
repetitions = 5

# All of them.
[factors]
page = [
  { name = "4 KiB", set = { "sqlite.page_size" = 4096 } },
  { name = "8 KiB", set = { "sqlite.page_size" = 8192 } },
]
# Clients.
terminals = [1, 8]

[[exclude]]
page = "8 KiB"
terminals = 8

[place]
# Elsewhere.
# path = "/mnt"
"""
    )
    assert max(map(len, draft.text(("word " * 90,)).splitlines())) <= WIDTH
