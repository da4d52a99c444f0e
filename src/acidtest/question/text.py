"""An experiment as text that is good to read: TOML with a comment over each key."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acidtest.keys import Scalar

WIDTH = 110
BARE = re.compile(r"[A-Za-z0-9_-]+")

Value = Scalar | Sequence["Value"] | Mapping[str, "Value"]


@dataclass(frozen=True)
class Line:
    """A key. ``offered``: it is commented out, for who wants it."""

    key: str
    value: Value
    comment: str = ""
    offered: bool = False


@dataclass(frozen=True)
class Table:
    """A table, or with ``repeated`` one of several of the same name; ``offered`` as of Line."""

    name: str
    lines: tuple[Line, ...]
    comment: str = ""
    repeated: bool = False
    offered: bool = False


@dataclass(frozen=True)
class Draft:
    """An experiment to be written."""

    lines: tuple[Line, ...]
    tables: tuple[Table, ...]

    def text(self, heading: Sequence[str]) -> str:
        """The TOML, below a comment of these paragraphs; one that begins with a space is kept as it is."""
        parts = ["\n".join(map(_comment, heading))]
        plain = [line for line in self.lines if not line.comment]
        parts.append("\n".join(_line(line) for line in plain))
        parts += [_line(line) for line in self.lines if line.comment]
        parts += [_table(table) for table in self.tables if table.lines]
        return "\n\n".join(part for part in parts if part) + "\n"


def toml(value: Value) -> str:
    """``value`` in one line, as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml, value))}]"
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else toml(key)


def _comment(text: str) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in text)
    if not shown or shown.startswith(" "):
        return f"#{shown}".rstrip()
    return "\n".join(textwrap.wrap(shown, WIDTH, initial_indent="# ", subsequent_indent="# "))


def _line(line: Line) -> str:
    text = f"{_key(line.key)} = {toml(line.value)}"
    many = isinstance(line.value, Sequence) and not isinstance(line.value, str)
    if many and (len(text) > WIDTH or any(isinstance(one, Mapping) for one in line.value)):  # type: ignore[union-attr]
        levels = "".join(f"  {toml(one)},\n" for one in line.value)  # type: ignore[union-attr]
        text = f"{_key(line.key)} = [\n{levels}]"
    if line.offered:
        text = textwrap.indent(text, "# ")
    return f"{_comment(line.comment)}\n{text}" if line.comment else text


def _table(table: Table) -> str:
    heading = f"[[{table.name}]]" if table.repeated else f"[{table.name}]"
    heading = f"# {heading}" if table.offered else heading
    lines = [heading, *map(_line, table.lines)]
    return "\n".join([_comment(table.comment), *lines] if table.comment else lines)
