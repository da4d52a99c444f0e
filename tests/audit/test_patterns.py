"""Patterns over what other people wrote take time linear in it: those of ``linear`` by construction; of each of ``re``
the steps are counted over texts made to cost it the most. Nothing here measures time."""

from __future__ import annotations

import ast
import dataclasses
import functools
import gc
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from acidtest import audit, families, formats, words
from acidtest.audit.importers.outputs import Output
from acidtest.formats import linear
from backtracking import Steps, TooMany, adversaries
from tables import rows

pytestmark = pytest.mark.slow

CHARACTERS = 240
STEPS_MAX = 100  # for each character
METHODS = {"findall": "search", "finditer": "search", "sub": "search", "split": "search"} | {
    name: name for name in ("search", "match", "fullmatch")
}


def modules() -> list[ModuleType]:
    found = [words, families]
    for package in (audit, formats):
        names = [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        found += map(importlib.import_module, names)
    return found


def held(value: object, seen: set[int]) -> Iterator[re.Pattern[Any]]:
    """Every pattern of ``re`` within it."""
    if id(value) in seen:
        return
    seen.add(id(value))
    within: Any = ()
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        within = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | list | set | frozenset):
        within = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        within = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    for one in within:
        yield from held(one, seen)


ASKED = re.compile(rf"(\w*)\.({'|'.join(METHODS)})\b(?! import)")


@functools.cache
def called(module: ModuleType) -> tuple[dict[str, set[str]], set[str]]:
    """How a module asks its patterns: those that it names, and all others together, which stand in tables."""
    named: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    for name, method in ASKED.findall(inspect.getsource(module)):
        if name.isupper():
            named[name].add(METHODS[method])
        elif name not in ("re", "linear") and method != "split":
            others.add(METHODS[method])
    return named, others


def patterns() -> dict[str, list[tuple[str, re.Pattern[Any], set[str]]]]:
    """Of each module its patterns, by the names of their tables, and how they are asked."""
    everywhere: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for name, ways in called(module)[0].items():
            everywhere[name] |= ways
    seen: set[int] = set()
    found: dict[str, list[tuple[str, re.Pattern[Any], set[str]]]] = defaultdict(list)
    for module in modules():
        named, others = called(module)
        for name, value in vars(module).items():
            ways = named.get(name) or everywhere.get(name) or others or {"search", "match", "fullmatch"}
            found[module.__name__.removeprefix("acidtest.")] += [(name, one, ways) for one in held(value, seen)]
    return {name: listed for name, listed in found.items() if listed}


def cost(pattern: re.Pattern[Any], way: str) -> tuple[float, str]:
    """Steps for a character of the text that costs it the most, and that text."""
    worst = 0.0, ""
    for text in adversaries(pattern, CHARACTERS):
        try:
            steps = Steps(pattern, most=CHARACTERS * STEPS_MAX * 2).of(text, way) / len(text)
        except TooMany:
            steps = 2.0 * STEPS_MAX
        worst = max(worst, (steps, text))
    return worst


@pytest.mark.parametrize("listed", [pytest.param(listed, id=name) for name, listed in patterns().items()])
def test_a_pattern_takes_few_steps_for_each_character(listed: list[tuple[str, re.Pattern[Any], set[str]]]) -> None:
    slow = [
        f"{name}, {way} in {text[:40]!r}…: compile it with acidtest.formats.linear, or bound it"
        for name, pattern, ways in listed
        for way in ways
        for steps, text in [cost(pattern, way)]
        if steps > STEPS_MAX
    ]
    assert not slow


SLOW = [
    (r"\s*([A-Za-z_]\w*)\s*(?:=|\s)\s*('(?:[^']|'')*'|[^\s#]+)\s*(?:#.*)?", "fullmatch"),
    (r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*", "fullmatch"),
    (r"(a|b|ab)*c", "match"),
    (r"\d+ rows", "search"),
    (r".*=.*=.*;", "match"),
    (r"a[^<>]{0,900}x", "search"),
]


@rows(*SLOW)
def test_the_count_finds_what_is_not_linear(pattern: str, way: str) -> None:
    assert cost(re.compile(pattern), way)[0] > STEPS_MAX


@rows((r"\d{1,9} rows", "search"), (r"\s*+name\s*+=\s*+(.*)", "fullmatch"), ("a.{0,9}b", "search"))
def test_the_count_lets_pass_what_is(pattern: str, way: str) -> None:
    assert cost(re.compile(pattern), way)[0] <= STEPS_MAX


def test_no_pattern_is_made_of_what_a_kit_says() -> None:
    """One that is put together where it is asked is in no table above: only of words of ours, or by ``linear``."""
    for module in modules():
        if module in (linear, families):
            continue
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
            if is_call and isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                asked = node.args[0]
                if isinstance(asked, ast.Attribute) and asked.attr == "pattern":
                    continue  # of one of the tables
                fixed = [
                    one
                    for one in ast.walk(asked)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str | bytes)
                ]
                assert fixed, f"{module.__name__}: {ast.unparse(node)}"
                for one in fixed:
                    assert cost(re.compile(one.value), METHODS[node.func.attr])[0] <= STEPS_MAX, ast.unparse(node)


@rows(r"\s*(\w+)\s*(?:=|\s)\s*(x*)\s*$", r"(?:a*)*b", r"(x+x+)+y")
def test_linear_is(pattern: str) -> None:
    """Half a million characters, of which a matcher that backtracks would never be done."""
    made = linear.compile(pattern)
    for text in (" " * 500_000, "a" * 500_000, "x" * 500_000, "a" + " " * 500_000 + "!"):
        made.search(text)
        made.fullmatch(text)


def test_linear_answers_as_re_does() -> None:
    text = "\u00e9 Cafe = 12, the = 7 and\ud800 x"
    made, of_re = linear.compile(r"(\w+) = (\d+)", linear.I), re.compile(r"(\w+) = (\d+)", re.ASCII | re.IGNORECASE)
    assert made.findall(text) == of_re.findall(text)
    assert [match.span() for match in made.finditer(text)] == [match.span() for match in of_re.finditer(text)]
    assert made.search(text, 6)[2] == of_re.search(text, 6)[2]  # type: ignore[index]
    assert made.sub("-", "a = 1; b") == of_re.sub("-", "a = 1; b")
    assert linear.compile(r",\s*").split("a, b,c") == ["a", "b", "c"]
    assert linear.compile(rb"\xff(.)").search(b"\x00\xff\xfe")[1] == b"\xfe"  # type: ignore[index]
    with pytest.raises(ValueError, match="RE2 does not take it"):
        linear.compile(r"a(?=b)").search("ab")


def test_each_pattern_is_one_that_re2_takes() -> None:
    """They are compiled at their first use, which may be long after the import."""
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, Output):
                value._any, value._known  # noqa: B018
    for pattern in [one for one in gc.get_objects() if isinstance(one, linear.Pattern)]:
        if pattern.pattern != r"a(?=b)":
            pattern.search(b"" if isinstance(pattern.pattern, bytes) else "")
