"""What is shipped beside the code: experiments with the folders that they name, and the pages of docs/.

``acidtest/shipped`` holds them as files in the wheel, and as links to the directories of the checkout here. A shell
waits for these names: nothing here imports a model.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acidtest.errors import BadInput

ROOT = Path(__file__).parents[1] / "shipped"
MARK = "@"  # before the name of a shipped experiment, in place of a file
NEAR_MAX = 3


def experiments() -> dict[str, Path]:
    """By name, the file of each."""
    return {
        file.stem: file for folder in ("experiments", "programs") for file in sorted((ROOT / folder).glob("*.toml"))
    }


def pages() -> dict[str, Path]:
    """By name, as messages give it: "docs/PLACES.md"."""
    return {f"docs/{file.name}": file for file in sorted((ROOT / "docs").glob("*.md"))}


def page_named(name: str) -> str | None:
    """Which page of docs/ goes by ``name``, in whatever case, with or without its folder and its ending."""

    def bare(text: str) -> str:
        return re.sub(r"[_\s]", "-", text.partition("#")[0].lower().removeprefix("docs/").removesuffix(".md"))

    return next((page for page in pages() if bare(page) == bare(name)), None)


def experiment_file(file: Path | None) -> Path | None:
    """The file that a user named: their own, or, of ``@NAME``, the shipped one. Raises BadInput for an unknown name."""
    if file is None or not str(file).startswith(MARK) or file.exists():
        return file
    name, known = str(file).removeprefix(MARK), experiments()
    if name in known:
        return known[name]
    near = [f"{MARK}{match}" for match in difflib.get_close_matches(name.lower(), known, n=NEAR_MAX, cutoff=0.5)]
    meant = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise BadInput(f"{file}: no experiment of this name is shipped{meant}", "acidtest experiments list shows them all")


def parts(name: str) -> dict[Path, Path]:
    """Where each file of the shipped experiment ``name`` stands below ROOT, and the file: its own and those that it
    names by a path, alone or as a word of a command."""
    file = experiment_file(Path(f"{MARK}{name.removeprefix(MARK)}"))
    assert file is not None
    found = [file]
    for word in (word for text in _texts(tomllib.loads(file.read_text(encoding="utf-8"))) for word in text.split()):
        path = Path(os.path.normpath(file.parent / word))  # of the links: what they lead to lies elsewhere
        if "/" in word and path.is_relative_to(ROOT) and len(path.relative_to(ROOT).parts) > 1:
            found += sorted(path.rglob("*")) if path.is_dir() else [path]
    return {one.relative_to(ROOT): one for one in found if one.is_file()}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
