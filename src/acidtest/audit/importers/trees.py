"""JSON and YAML of other people: as a whole or refused, in time and memory within bounds.

Depth, size and the number of values are limited; those of a YAML document are counted as often as its aliases repeat
them (the "billion laughs").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from acidtest.audit.importers.file import Broken

JSON_VALUES_MAX = 1_000_000
YAML_CHARACTERS_MAX = 2 << 20
YAML_VALUES_MAX = 100_000
DEPTH_MAX = 200
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_json(text: str, begin: int = 0, line: int = 1) -> Any:
    """The value that begins there; what follows it is not looked at. Raises Broken; ``line`` is that of the text.

    >>> load_json('{"a": [1, 2]} and more')
    {'a': [1, 2]}
    """
    if sum(text.count(sign, begin) for sign in ",[{") > JSON_VALUES_MAX:
        raise Broken(f"is JSON of more than {JSON_VALUES_MAX:,} values", line)
    tail = text[begin:]
    begin += len(tail) - len(tail.lstrip())
    try:
        value = json.JSONDecoder().raw_decode(text, begin)[0]
    except json.JSONDecodeError as error:
        raise Broken(f"is no whole JSON: {error.msg}", line + error.lineno - 1) from None
    except RecursionError:
        value = None
    except ValueError:
        raise Broken("is JSON with a number of thousands of digits", line) from None
    if value is None or _is_deep(value):
        raise Broken("is JSON that is nested too deep", line)
    return value


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= DEPTH_MAX:
        within = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for of in within for child in of if isinstance(child, dict | list)]
        depth += 1
    return depth > DEPTH_MAX


class Scalar(str):
    """A value or a key of YAML as it is written, "off" and "0x10" alike, and its line, from 1. One that is not there
    is empty."""

    line: int

    def __new__(cls, text: str, line: int) -> Scalar:
        one = super().__new__(cls, text)
        one.line = line
        return one


class Items(list["Tree"]):
    line: int = 1


class Table(dict[str, "Tree"]):
    line: int = 1  # its keys are Scalars with theirs


Tree = Scalar | Items | Table


def load_yaml(text: str) -> list[Tree]:
    """Every document of a YAML stream. Tags are not looked at, "<<" merges. Raises Broken."""
    if len(text) > YAML_CHARACTERS_MAX:
        raise Broken(f"is YAML of more than {YAML_CHARACTERS_MAX:,} characters")
    depth = 0
    try:
        # Before any tree is built, which is done by recursion.
        events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        for count, event in enumerate(events):
            if count > 2 * YAML_VALUES_MAX:
                raise Broken(f"is YAML of more than {YAML_VALUES_MAX:,} values", event.start_mark.line + 1)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MAX:
                raise Broken("is YAML that is nested too deep", event.start_mark.line + 1)
        return [_tree(node, {})[0] for node in yaml.compose_all(text, Loader=LOADER)]
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        raise Broken(f"is no YAML: {error.problem}", at.line + 1 if at else None) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise Broken("is no YAML: it holds what is no text") from None


def _tree(node: Any, known: dict[Any, tuple[Tree, int] | None]) -> tuple[Tree, int]:
    """The tree, and how many values it has. ``known`` are those that were made, or are begun."""
    line = node.start_mark.line + 1
    if node in known:
        made = known[node]
        if made is None:
            raise Broken("is YAML with an alias of what has not ended", line)
        return made
    known[node] = None
    size = 1
    tree: Tree = Scalar(node.value, line) if isinstance(node, yaml.ScalarNode) else Items()
    if isinstance(node, yaml.SequenceNode):
        within = [_tree(one, known) for one in node.value]
        tree, size = Items(one for one, _ in within), 1 + sum(of for _, of in within)
    elif isinstance(node, yaml.MappingNode):
        tree = Table()
        for name, value in node.value:
            key = name.value if isinstance(name, yaml.ScalarNode) else ""
            held, of = _tree(value, known)
            size += of + 1
            for one in (held if isinstance(held, Items) else [held]) if key == "<<" else ():
                for inner, was in one.items() if isinstance(one, Table) else ():
                    tree.setdefault(inner, was)
            if key != "<<":
                tree[Scalar(key, name.start_mark.line + 1)] = held
    if size > YAML_VALUES_MAX:
        raise Broken(f"is YAML of more than {YAML_VALUES_MAX:,} values", line)
    tree.line = line
    known[node] = tree, size
    return tree, size
