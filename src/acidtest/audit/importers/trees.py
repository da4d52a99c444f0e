"""JSON and YAML of other people: as a whole or refused, in time and memory within bounds.

Depth, size and the number of values are limited; those of a YAML document are counted as often as its aliases repeat
them (the "billion laughs").
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import yaml

from acidtest.audit.importers.file import Broken

JSON_VALUES_MAX = 1_000_000
YAML_CHARACTERS_MAX = 2 << 20
YAML_VALUES_MAX = 100_000
DEPTH_MAX = 200
# That of C, of which only the events are taken: it builds its trees by recursion.
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
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        raise Broken(f"is no YAML: {error.problem}", at.line + 1 if at else None) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise Broken("is no YAML: it holds what is no text") from None
    return builder.documents


@dataclass
class _Open:
    """A list or mapping that has not ended."""

    tree: Items | Table
    anchor: str | None
    key: Scalar | None = None
    size: int = 1

    def add(self, value: Tree, line: int) -> None:
        if isinstance(self.tree, Items):
            self.tree.append(value)
        elif self.key is None:
            self.key = value if isinstance(value, Scalar) else Scalar("", line)
        elif self.key != "<<":
            self.tree[self.key], self.key = value, None
        else:
            self.key = None
            for one in value if isinstance(value, Items) else [value]:
                for key, of in one.items() if isinstance(one, Table) else ():
                    self.tree.setdefault(key, of)


@dataclass
class _Builder:
    documents: list[Tree] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Tree, int]] = field(default_factory=dict)  # with how many values they hold
    size: int = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self.anchors = {}
            case yaml.ScalarEvent():
                self._done(Scalar(event.value, line), 1, event.anchor, line)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                tree = Items() if isinstance(event, yaml.SequenceStartEvent) else Table()
                tree.line = line
                if len(self.open) >= DEPTH_MAX:
                    raise Broken("is YAML that is nested too deep", line)
                self.open.append(_Open(tree, event.anchor))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                ended = self.open.pop()
                self._done(ended.tree, ended.size, ended.anchor, line)
            case yaml.AliasEvent():
                if event.anchor not in self.anchors:
                    raise Broken("is YAML with an alias of nothing that has ended before", line)
                self._done(*self.anchors[event.anchor], None, line)

    def _done(self, tree: Tree, size: int, anchor: str | None, line: int) -> None:
        if anchor:
            self.anchors[anchor] = tree, size
        above: _Open | _Builder = self.open[-1] if self.open else self
        if self.open:
            self.open[-1].add(tree, line)
        else:
            self.documents.append(tree)
        above.size += size
        if above.size > YAML_VALUES_MAX:
            raise Broken(f"is YAML of more than {YAML_VALUES_MAX:,} values", line)
