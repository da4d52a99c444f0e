"""Folders of SQL to begin with, as ``acidtest init`` writes them: each a workload that runs as it is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources


def files(name: str) -> Mapping[str, str]:
    """The files of one, by name: ``new`` is an application of two tables, ``pgbench`` has pgbench's tables alone."""
    folder = resources.files(__name__) / name
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name: file.read_text(encoding="utf-8") for file in found if file.name.endswith((".sql", ".toml"))}
