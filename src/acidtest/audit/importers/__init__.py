"""Reads a kit: a directory with somebody's benchmark. Whatever lies in it, the answer is a ``Bench``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from acidtest.audit import declared
from acidtest.audit.bench import Bench, Claim, Published, Routine, Sentence, Statement, TableRow
from acidtest.audit.finding import Evidence
from acidtest.audit.importers import configurations, declaration, engines, headings, left_over, tables
from acidtest.audit.importers.file import Broken, Budget, File, Importer, Part, Spent
from acidtest.audit.importers.walk import Walk
from acidtest.errors import BadInput


@cache
def importers() -> tuple[Importer, ...]:
    """Every ``Importer`` at the top of a module of this package."""
    known = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        known += [one for one in vars(importlib.import_module(module.name)).values() if isinstance(one, Importer)]
    return tuple(sorted({id(one): one for one in known}.values(), key=lambda one: one.last))


def read(root: Path) -> Bench:
    """The benchmark in the directory ``root``. Raises BadInput when there is none or it cannot be read."""
    if not root.is_dir():
        raise BadInput(f"{root}: no directory", "give the directory of a benchmark, or of a run of ours")
    parts: list[tuple[str, Part]] = []
    understood, unread = [], []
    broken: list[Evidence] = []
    not_understood: list[Evidence] = []
    files: dict[str, File] = {}
    walk = Walk(root, Budget())
    for file in walk.files():
        files[file.name] = File(file.path, file.name, budget=walk.budget)  # with nothing of it in memory
        try:
            kind, of_file = _import(file)
            not_understood += left_over.of_file(file, kind, of_file)
        except Broken as error:
            broken.append(Evidence(str(error), file.name, error.line))
        except OSError as error:
            broken.append(Evidence(f"cannot be read: {error.strerror}", file.name))
        except Spent:
            walk.passed.append(Evidence("was not read to its end: the audit has read as much as it may", file.name))
        else:
            if kind:
                understood.append((file.name, kind))
            else:
                unread.append(file.name)
            parts += [(file.name, part) for part in of_file]
        walk.passed += file.notes
    parts, included = configurations.follow(parts, files)
    understood += [(name, "configuration") for name in unread if name in included]
    unread = [name for name in unread if name not in included]
    not_understood = [one for one in not_understood if one.file not in included]
    bench = Bench(
        sides=engines.sides(parts),
        published=[part for _, part in parts if isinstance(part, Published)],
        routines=[part for _, part in parts if isinstance(part, Routine)],
        texts=[part for _, part in parts if isinstance(part, Statement)],
        claims=[part for _, part in parts if isinstance(part, Claim)],
        sentences=[part for _, part in parts if isinstance(part, Sentence)],
        rows=[part for _, part in parts if isinstance(part, TableRow)],
        read=understood,
        unread=unread,
        broken=[*broken, *walk.unreadable],
        passed=walk.passed,
        not_understood=not_understood,
    )
    said = declaration.read(file for name, file in files.items() if "/" not in name)
    if said is None:
        return bench
    mine = [name for one in said.sides for name in one.files]
    return declared.applied(
        bench,
        said,
        lambda names: engines.sides(
            [
                (name, part)
                for name, part in parts
                if declared.is_of(name, names) or (declared.shared(part) and not declared.is_of(name, mine))
            ]
        ),
    )


def _import(file: File) -> tuple[str, Sequence[Part]]:
    """What the file is and holds: of the first kind that it can be, and of each that is looked for beside any."""
    kind = other = ""
    parts: list[Part] = []
    for importer in importers():
        if kind and not importer.beside:
            continue
        of_kind = importer.read(file)
        if of_kind is None:
            continue
        parts += of_kind
        if importer.beside:
            other = other or importer.kind
        else:
            kind = importer.kind
    return kind or other, _placed(file, parts)


def _placed(file: File, parts: list[Part]) -> list[Part]:
    """The parts, results of a text with the headings that they stand under: what tells one from another there."""
    if not tables.PROSE.fullmatch(file.base) or not any(isinstance(one, Published) for one in parts):
        return parts
    above = headings.of_lines(file.lines)
    return [
        replace(one, under=above[one.where.line - 1])
        if isinstance(one, Published) and one.where.line and one.where.line <= len(above)
        else one
        for one in parts
    ]
