"""Nodes of YAML and JSON by their paths, as compose files, manifests and playbooks are read. ``trees`` makes them and
bounds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acidtest.audit.importers import trees
from acidtest.audit.importers.file import File
from acidtest.audit.importers.trees import Node

TEXT_MAX = 2 << 20
# The first line that is no comment: a mapping's or a sequence's, or a template's.
BEGINS = re.compile(r"---|%YAML|- |[\"']?[\w./$-]{1,100}[\"']?\s{0,20}:(?:\s|$)|[\[{]|<<:")
TEMPLATE_LINE = re.compile(r"\s*\{\{-?[^{}]{0,500}-?\}\}\s*|\s*\{%-?.{0,500}%\}\s*")
TEMPLATE = re.compile(r"\{\{[^{}]{0,500}\}\}")


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
    return trees.load_yaml(text)


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
