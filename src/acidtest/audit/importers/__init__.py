"""Reads a kit: a directory with somebody's benchmark. Whatever lies in it, the answer is a ``Bench``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from acidtest.audit import declared
from acidtest.audit.bench import EMPTY, Bench, Harness, Mount, Published, Routine, Side, Statement, TableRow
from acidtest.audit.importers import configurations, declaration, dumps, engines, known, left_over, named, tables, used
from acidtest.audit.importers.file import Broken, Budget, File, Importer, Part, Spent
from acidtest.audit.importers.walk import Walk
from acidtest.errors import BadInput
from acidtest.finding import Evidence
from acidtest.words import counted

P = TypeVar("P")
WORDS = "text"  # the kind of importers that look through the words of a file
OUTPUT_BYTES = 1 << 16
PROSE = "is prose, which is not read: what it says is declared in benchmark.toml ([[claim]], [machines.NAME])"
SEARCHED_BYTES = 2 << 20  # of a file that any importer looks through which does not know it by its beginning


@cache
def importers() -> tuple[Importer, ...]:
    """Every ``Importer`` at the top of a module of this package."""
    found = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found += [var for var in vars(importlib.import_module(module.name)).values() if isinstance(var, Importer)]
    # A tool's output is known before its words are looked through.
    return tuple(sorted({id(one): one for one in found}.values(), key=lambda one: (one.last, one.beside)))


def read(root: Path) -> Bench:
    """The benchmark in the directory ``root``. Raises BadInput when there is none or it cannot be read."""
    if not root.is_dir():
        inspects = f"; a database is for acidtest inspect {root}" if root.is_file() else ""
        raise BadInput(f"{root}: is no directory", f"give the directory of a benchmark, or of a run of ours{inspects}")
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
        except Spent as error:
            walk.passed.append(Evidence(str(error), file.name))
        else:
            if kind and not left_over.only_words(file, kind, of_file):
                understood.append((file.name, kind))
            elif file.notes:
                pass  # they say why
            elif not file.size:
                walk.passed.append(Evidence(EMPTY, file.name))
            elif known.is_prose(file.base):
                walk.passed.append(Evidence(PROSE, file.name))
            elif ours := declaration.of_acidtest(file):
                walk.passed.append(Evidence(ours, file.name))
            elif file.size > SEARCHED_BYTES:
                walk.passed.append(Evidence(f"too large for a file of an unknown kind: {file.size:,} bytes", file.name))
            else:
                unread.append(file.name)
            parts += [(file.name, part) for part in _counted(file, of_file)]
        walk.passed += file.notes
    parts, included = configurations.follow(parts, files)
    understood += [(name, "configuration") for name in unread if name in included]
    unread = [name for name in unread if name not in included]
    not_understood = [evidence for evidence in not_understood if evidence.file not in included]
    everything, parts = parts, used.left(parts)

    def of(kind: type[P]) -> list[P]:
        return [part for _, part in parts if isinstance(part, kind)]

    bench = Bench(
        sides=engines.sides(parts),
        published=of(Published),
        routines=of(Routine),
        facts=of(Statement),
        rows=of(TableRow),
        harnesses=of(Harness),
        read=understood,
        texts=sorted(
            (name for name, file in files.items() if known.is_prose(file.base)), key=lambda one: one.count("/")
        ),
        unread=unread,
        broken=[*broken, *walk.unreadable],
        passed=walk.passed,
        not_understood=not_understood,
    )
    said = declaration.read(files.get(declaration.NAME))
    if said is None:
        return bench
    declaration.check_published(said, files)
    mine = [name for side in said.sides for name in side.files]

    def sides_of(names: Sequence[str]) -> list[Side]:
        return engines.sides(
            [
                (name, part)
                for name, part in everything
                if declared.is_of(name, names)
                or (isinstance(part, Mount) and not declared.is_of(name, mine))  # facts of the machine
            ]
        )

    return declared.applied(bench, said, sides_of)


def _counted(file: File, parts: Sequence[Part]) -> Sequence[Part]:
    """As many of the parts as the budget still has; that there were more is noted."""
    most = max(file.budget.parts, 0)
    file.budget.parts -= len(parts)
    if len(parts) > most:
        held = counted(len(parts), "result or setting", "results and settings")
        file.left_out(f"holds more than an audit can judge: {held}, of which {most:,} count")
    return parts[:most]


def _import(file: File) -> tuple[str, Sequence[Part]]:
    """What the file is and holds: of the first kind that it can be, and of each that is looked for beside any."""
    kind = other = ""
    together = False
    parts: list[Part] = []
    # What a tool wrote may be too long for anybody's words to stand in it. This raises what concerns all importers.
    output = file.size > OUTPUT_BYTES and not tables.PROSE.fullmatch(file.base)
    for importer in importers():
        fits = (importer.beside or (importer.together and together)) and not (importer.kind == WORDS and output)
        if kind and not fits:
            continue
        try:
            of_kind = file.once(importer.read)
        except Spent as error:
            file.left_out(str(error))
            continue
        if of_kind is None:
            continue
        # A line of a result is one result, whoever else could read it.
        lines = {part.where.line for part in parts if isinstance(part, Published) and not part.planned}
        parts += [one for one in of_kind if not (isinstance(one, Published) and one.where.line in lines - {None})]
        if importer.beside:
            other = other or importer.kind
        else:
            kind, together = kind or importer.kind, importer.together
    # What an engine says of a setting is no figure that was measured.
    said = dumps.lines(parts)
    parts = [part for part in parts if not (isinstance(part, Published) and part.where.line in said)]
    return kind or other, _placed(file, parts)


def _placed(file: File, parts: list[Part]) -> list[Part]:
    """The parts, results with what names tell of them, and those of a text with the headings that they stand under:
    what tells one from another there."""
    if not any(isinstance(part, Published) for part in parts):
        return parts
    above = tables.headings(file.lines) if tables.PROSE.fullmatch(file.base) else []
    placed = (
        replace(part, under=above[part.where.line - 1])
        if isinstance(part, Published) and part.where.line and part.where.line <= len(above)
        else part
        for part in parts
    )
    return [named.filled(one) if isinstance(one, Published) and not one.planned else one for one in placed]
