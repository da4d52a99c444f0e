"""JSON and YAML of other people: as a whole or refused, in time and memory within bounds.

Depth, size and the number of values are limited; those of a YAML document are counted as often as its aliases repeat
them (the "billion laughs").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from acidtest.audit.importers.file import Broken, File

JSON_VALUES_MAX = 1_000_000
YAML_CHARACTERS_MAX = 2 << 20
YAML_VALUES_MAX = 100_000
DEPTH_MAX = 200
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TEXT_MAX = 2 << 20
# The first line that is no comment: a mapping's or a sequence's, or a template's.
BEGINS = re.compile(r"---|%YAML|- |[\"']?[\w./$-]{1,100}[\"']?\s{0,20}:(?:\s|$)|[\[{]|<<:")
TEMPLATE_LINE = re.compile(r"\s*\{\{-?[^{}]{0,500}-?\}\}\s*|\s*\{%-?.{0,500}%\}\s*")
TEMPLATE = re.compile(r"\{\{[^{}]{0,500}\}\}")


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
        within = (
            child.values() if isinstance(child, dict) else child for child in level if isinstance(child, dict | list)
        )
        level = [child for of in within for child in of if isinstance(child, dict | list)]
        depth += 1
    return depth > DEPTH_MAX


class Node:
    """A scalar of YAML as it is written, "off" and "0x10" alike ("text"; empty where nothing is), a mapping ("pairs")
    or a sequence ("items"), and the line that it begins in, from 1."""

    def __init__(self, line: int, text: str | None = None) -> None:
        self.line = line
        self.text = text
        self.pairs: dict[str, Node] = {}
        self.items: list[Node] = []
        self.is_list = False

    def get(self, *keys: str) -> Node | None:
        """What lies at a path of keys; None where there is nothing."""
        node: Node | None = self
        for key in keys:
            node = node.pairs.get(key) if node is not None else None
        return node

    def says(self, *keys: str) -> str:
        """The scalar at a path; "" of anything else."""
        node = self.get(*keys)
        return (node.text if node is not None else None) or ""

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)


def load_yaml(text: str) -> list[Node]:
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
        return [_node(node, {})[0] for node in yaml.compose_all(text, Loader=LOADER)]
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        raise Broken(f"is no YAML: {error.problem}", at.line + 1 if at else None) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise Broken("is no YAML: it holds what is no text") from None


def _node(node: Any, known: dict[Any, tuple[Node, int] | None]) -> tuple[Node, int]:
    """What is made of a node, and how many values it has. ``known`` are those that were made, or are begun."""
    line = node.start_mark.line + 1
    if node in known:
        before = known[node]
        if before is None:
            raise Broken("is YAML with an alias of what has not ended", line)
        return before
    known[node] = None
    made, size = Node(line, node.value if isinstance(node, yaml.ScalarNode) else None), 1
    made.is_list = isinstance(node, yaml.SequenceNode)
    for one in node.value if made.is_list else ():
        held, of = _node(one, known)
        made.items.append(held)
        size += of
    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        key = name.value if isinstance(name, yaml.ScalarNode) else ""
        held, of = _node(value, known)
        size += of + 1
        if key != "<<":
            made.pairs[key] = held
            continue
        for item in held.items or [held]:
            made.pairs = item.pairs | made.pairs
    if size > YAML_VALUES_MAX:
        raise Broken(f"is YAML of more than {YAML_VALUES_MAX:,} values", line)
    known[node] = made, size
    return made, size


def table(value: Any) -> dict[str, Any]:
    """``value`` if it is an object; an empty one if not."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def looks(text: str) -> bool:
    """Whether the text may be YAML or JSON."""
    for line in text[:4096].splitlines():
        bare = line.strip()
        if bare and bare[0] != "#" and not TEMPLATE_LINE.fullmatch(bare):
            return BEGINS.match(bare) is not None
    return False


def of_file(file: File) -> list[Node]:
    """The documents of a file, of a template with its insertions left out. Raises Broken."""
    text = file.text
    if "{{" in text or "{%" in text:
        text = "\n".join(_plain(line) for line in text.split("\n"))
    return load_yaml(text)


def _plain(line: str) -> str:
    if TEMPLATE_LINE.fullmatch(line[:1200]):
        return ""
    return TEMPLATE.sub("\0", line).replace("\0", "__template__") if "{{" in line else line


def walk(root: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Each mapping and sequence below ``root`` with the keys above it, parents first. What aliases repeat is walked
    once: they cannot make more of it than is written."""
    stack: list[tuple[tuple[str, ...], Node]] = [((), root)]
    seen: set[int] = set()
    while stack:
        above, node = stack.pop()
        if id(node) in seen or node.text is not None:
            continue
        seen.add(id(node))
        yield above, node
        below = [((*above, key), value) for key, value in node.pairs.items()]
        below += [(above, item) for item in node]
        stack += reversed(below)
