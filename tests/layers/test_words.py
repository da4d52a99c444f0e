"""Figures in sentences: a noun agrees with its number, thousands are set apart, and no message builds its own plural."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acidtest
from acidtest.words import agreeing, counted

SOURCE = Path(acidtest.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
TEMPLATES = sorted(SOURCE.rglob("*.j2"))

# What may stand behind a value and end with an s: verbs, whose value is a name; units of sizes that are never one; an
# option of dd.
NO_PLURALS = {
    "answers", "as", "asks", "bs", "bytes", "changes", "chooses", "comes", "connects", "contradicts", "counts", "differs",
    "does", "ends", "has", "holds", "is", "keeps", "lasts", "leaves", "makes", "matters", "microseconds", "ms", "needs", "places",
    "reads", "refuses", "repeats", "reports", "runs", "says", "sets", "stands", "stays", "updates", "was",
}  # fmt: skip
PLURAL = re.compile(
    r" (?:(?:more|other|such|different|whole|old|new|further|of its) )*([a-z]+s)\b(?! as (?:fast|far)| a second)"
)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 cells"), (1, "1 cell"), (2, "2 cells"), (-1, "-1 cells"), (999, "999 cells"), (50_000, "50,000 cells")],
)
def test_a_noun_agrees_with_its_number_and_thousands_are_set_apart(number: int, shown: str) -> None:
    assert counted(number, "cell") == shown


def test_a_plural_of_its_own_and_a_number_of_another_form() -> None:
    assert (counted(1, "entry", "entries"), counted(2, "entry", "entries")) == ("1 entry", "2 entries")
    assert counted(1, "row belongs", "rows belong") == "1 row belongs"
    # What is shown decides: a value that is only nearly one is shown as one.
    assert counted(1.0004, "doubling", spec=".3g") == "1 doubling"
    assert counted(1.5, "doubling", spec=".3g") == "1.5 doublings"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("12 rows, at least 1 commits acknowledged", "12 rows, at least 1 commit acknowledged"),
        ("50000 rows, 50001 wanted", "50,000 rows, 50,001 wanted"),
        ("of 1 warehouses 1 differ; warehouse 1: w_ytd 123456", "of 1 warehouse 1 differs; warehouse 1: w_ytd 123,456"),
        ("1 terminals' rows differ", "1 terminal's rows differ"),
        ("21 rows, 11 commits acknowledged, 1 unknown", "21 rows, 11 commits acknowledged, 1 unknown"),
        ("rows_1000 of v5.0.1234 take 1.25000 s", "rows_1000 of v5.0.1234 take 1.25000 s"),
    ],
)
def test_what_the_rig_counted_is_put_right(said: str, shown: str) -> None:
    assert agreeing(said) == shown


@given(st.text(alphabet="0123456789 ,.;_-rowscmitdf", max_size=40))
def test_what_is_right_stays_as_it_is(said: str) -> None:
    assert agreeing(agreeing(said)) == agreeing(said)


@cache
def f_strings(source: str) -> list[ast.JoinedStr]:
    """All but those that are ``written`` as another tool writes them."""
    nodes = list(ast.walk(ast.parse(source)))
    theirs = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "written"]
    theirs += [
        value
        for node in nodes
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "written"
    ]
    left_out = {id(node) for value in theirs for node in ast.walk(value)}
    return [node for node in nodes if isinstance(node, ast.JoinedStr) and id(node) not in left_out]


def is_plural(value: ast.expr) -> bool:
    """Whether its plural is known: that of a constant, {REPETITIONS_MIN} repetitions; of three digits, 1.00 commits."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "number":
        return True
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
    names += [node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)]
    return any(name.isupper() for name in names)


def own_plurals(source: str) -> Iterator[str]:
    """Nouns in the plural right behind a value, in the f-strings of a module."""
    for node in f_strings(source):
        for value, text in pairwise(node.values):
            if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant) and not is_plural(value.value):
                found = PLURAL.match(str(text.value))
                if found and found[1] not in NO_PLURALS:
                    yield f"line {node.lineno}: {{{ast.unparse(value.value)}}} {found[1]}"


def bare_counts(source: str) -> Iterator[str]:
    """Counts of ``len``, which may be thousands, shown without a comma between these."""
    for node in f_strings(source):
        for value in node.values:
            if isinstance(value, ast.FormattedValue) and value.format_spec is None:
                shown = value.value.left if isinstance(value.value, ast.BinOp) else value.value
                if (
                    isinstance(shown, ast.Call)
                    and isinstance(shown.func, ast.Name)
                    and shown.func.id == "len"
                    and "template-" not in ast.unparse(node)
                ):
                    yield f"line {node.lineno}: {{{ast.unparse(value.value)}}}"


def hunted(hunt: Callable[[str], Iterator[str]]) -> list[str]:
    return [f"{module.relative_to(SOURCE)}, {found}" for module in MODULES for found in hunt(module.read_text())]


def test_no_message_builds_its_own_plural_or_shows_a_count_without_commas() -> None:
    assert hunted(own_plurals) == hunted(bare_counts) == []


def test_no_page_builds_its_own_plural() -> None:
    found = [
        f"{template.name}: {match[0]}"
        for template in TEMPLATES
        for match in re.finditer(r"\}\}( (?:more )?[a-z]+s)\b(?! as )", template.read_text())
        if (noun := PLURAL.match(match[1])) and noun[1] not in NO_PLURALS
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "plurals", "counts"),
    [
        ('f"{len(x)} sides"', 1, 1),
        ('f"of {n:,} more kinds, {len(x) - 3} more"', 1, 1),
        ('f"{REPETITIONS_MIN} repetitions"', 0, 0),
        ('f"{name} holds {amount:.1f} ms"', 0, 0),
        ("f\"{counted(len(x), 'side')} differ, {len(y):,} more\"", 0, 0),
    ],
)
def test_the_hunts_find_what_they_are_for(line: str, plurals: int, counts: int) -> None:
    assert (len(list(own_plurals(line))), len(list(bare_counts(line)))) == (plurals, counts)
