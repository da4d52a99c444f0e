"""The parts that the experiments of several questions have in common: keys and tables, each with its comment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acidtest.analysis import REPETITIONS_FOR_INTERVAL
from acidtest.families import FAMILIES
from acidtest.keys import Scalar
from acidtest.question.answers import Answers, Chosen, OwnSql, Storage, listed
from acidtest.question.text import Line, Table

WARM_UP = 0.2  # of the measurement's length, before it
ENOUGH = REPETITIONS_FOR_INTERVAL
STEADY_S = 8.0  # from here on the results say whether a rate was steady
LEVELS = ("none", "os", "drive")  # of durability
# TPC-B-like: branches, terminals. Fewer branches load sooner; as many terminals as branches wait for each other less.
TPCB = ((10, 4), (4, 4), (1, 1))
IN_TURN = "Each combination is run so often, all of them in turn, in random order."


def repetitions(count: int, each: str = IN_TURN) -> Line:
    """How often ``each`` is done, and what that is good for."""
    if count >= ENOUGH:
        enough = f"From {ENOUGH} on a figure has an interval, and verdicts begin; among many rows they need more."
        return Line("repetitions", count, f"{each} {enough}")
    few = f"The time that was asked for allows no more: below {ENOUGH} there are medians, no intervals and no verdicts."
    return Line("repetitions", count, f"{each} {few}")


def read_against(levels: Mapping[str, str]) -> Line:
    """The base."""
    return Line("base", levels, "The rows that are 100; all others are read against them.")


def at_drive() -> Line:
    """The level of durability, where it is no question."""
    return Line(
        "durability", "drive", "A commit is acknowledged when the drive has it; os does not wait for the drive."
    )


def engines(answers: Answers) -> Line:
    """The factor of engines."""
    return Line(
        "engine",
        [engine.id for engine in answers.engines],
        'More of them, if you like: "acidtest engines" lists which there are.',
    )


def durabilities(answers: Answers, levels: Sequence[str] = LEVELS) -> list[str]:
    """Of these levels those that some engine has."""
    return [level for level in levels if any(level in engine.levels for engine in answers.engines)]


def shared(answers: Answers) -> tuple[str, ...]:
    """The durability levels that all engines have, weakest first."""
    return tuple(level for level in LEVELS if all(level in engine.levels for engine in answers.engines))


def breaking(engines: Sequence[Chosen]) -> dict[str, list[str]]:
    """By level, weakest first, the engines whose database may break there, as the level alone sets them."""
    by_level = {
        name: [engine.id for engine in engines if name in engine.levels and _breaks(engine, name)] for name in LEVELS
    }
    return {name: ids for name, ids in by_level.items() if ids}


def breaking_said(answers: Answers, levels: Sequence[str]) -> str:
    """A sentence for each of these levels at which more than commits may be lost."""
    return "".join(
        f" At {level} the database of {listed(tuple(ids))} may break, too."
        for level, ids in breaking(answers.engines).items()
        if level in levels
    )


def _breaks(engine: Chosen, name: str) -> bool:
    return bool(FAMILIES[engine.family].risk(name, {}).breaks)


def whole(engine: Chosen) -> Chosen:
    """The engine with those levels alone at which its database stays whole."""
    return replace(engine, levels=tuple(name for name in engine.levels if not _breaks(engine, name)))


def levels_said(answers: Answers, levels: Sequence[str]) -> str:
    """What these durability levels are."""
    meanings = {
        "none": "none: the engine still has it in its own hands (PostgreSQL: synchronous_commit = off).",
        "os": "os: it was handed to the operating system (PostgreSQL: fsync = off).",
        "drive": "drive: it was flushed to the drive.",
    }
    where = breaking_said(answers, levels) + " acidtest help docs/DURABILITY.md has each engine's settings."
    return "Where a commit is when it is acknowledged. " + " ".join(meanings[level] for level in levels) + where


def lacking(answers: Answers, levels: Sequence[str]) -> tuple[Table, ...]:
    """What leaves out levels that an engine does not have, or is not to have."""
    tables = []
    for level in levels:
        without = [engine.id for engine in answers.engines if level not in engine.levels]
        if without:
            lines = (Line("engine", without), Line("durability", level))
            tables.append(Table("exclude", lines, f"{listed(tuple(without))} without level {level}.", repeated=True))
    return tuple(tables)


def measured(seconds: float) -> tuple[Line, ...]:
    """Warm-up and length."""
    text = "Seconds that are not counted, and seconds that are."
    if seconds < STEADY_S:
        text += f" Below {STEADY_S:g} s it cannot be said whether a rate was steady: the results will say so."
    return (
        Line("warmup_s", round(seconds * WARM_UP, 1), text),
        Line("duration_s", seconds),
    )


def cache(family: str, megabytes: int, page_bytes: int, terminals: int) -> dict[str, Scalar]:
    """A page cache of so many MiB in the words of an engine family; where each session has one, a part of it."""
    setting = FAMILIES[family].cache
    mine = max(1, megabytes // terminals) if setting.each_session else megabytes
    return {setting.setting: setting.value(mine, page_bytes)}


def caches(answers: Answers, megabytes: int, terminals: int) -> tuple[Table, ...]:
    """The same page cache for every engine that acidtest starts."""
    text = f"A page cache of {megabytes} MiB for each engine. acidtest engines settings ENGINE shows all keys."
    if answers.found is not None:
        return in_force(answers)
    tables: list[Table] = []
    for family, page_bytes in {engine.family: engine.page_size for engine in answers.own}.items():
        settings = cache(family, megabytes, page_bytes, terminals)
        if FAMILIES[family].cache.unit_bytes is None:
            settings = {str(FAMILIES[family].page_size): page_bytes, **settings}
        lines = tuple(Line(key, value) for key, value in settings.items())
        tables.append(Table(f"settings.{family}", lines, "" if tables else text))
    return tuple(tables)


def in_force(answers: Answers, without: Sequence[str | None] = ()) -> tuple[Table, ...]:
    """The settings that were found, but for those that are factors."""
    held = answers.found.settings if answers.found else {}
    lines = tuple(Line(key, value) for key, value in held.items() if key not in without)
    return (Table(f"settings.{answers.families[0]}", lines, "As they were found."),) if lines else ()


def filesystem(answers: Answers) -> Line:
    """The one that is made where none is there."""
    first, *others = answers.filesystems or ("",)
    return Line("filesystem", first, f"Or {listed(tuple(others), 'or')}." if others else "")


def place(
    storage: Storage, filesystem: Line | None, more: Sequence[Line] = (), *, fixed: bool = True
) -> tuple[Table, ...]:
    """Where databases lie. ``filesystem`` is what is made on a loop, a device or a simulated disk.

    Unless the kind is ``fixed``, a factor sets it.
    """
    kind = storage.kind
    lines: list[Line] = []
    if kind != "directory" and fixed:
        lines.append(Line("kind", kind))
    if storage.device:
        lines.append(Line("device", storage.device))
    if kind == "disk":
        timing = 'Its timing: "rotating", "sata-ssd", "nvme"; or "none", which is as fast as this machine.'
        lines.append(Line("disk", "sata-ssd", timing))
    if filesystem is not None and kind != "directory":
        lines.append(filesystem)
    if storage.paths:
        lines.append(Line("path", storage.paths[0]))
    elif kind in ("directory", "loop"):
        lines.append(Line("path", "/mnt/drive-under-test", "Without a path they lie beside the results.", offered=True))
    said = {
        "directory": "Where the databases lie, on the file system that is there.",
        "loop": "Each cell gets a new image file with a file system on it. Needs root.",
        "device": "The device is formatted for each cell; if it holds anything, only with --erase. Needs root.",
        "disk": "Each cell gets a simulated disk with a file system: acidtest help docs/SIMULATED-DISK.md. "
        "Needs root and FUSE.",
    }[kind]
    return (Table("place", (*lines, *more), said),)


def servers(answers: Answers) -> tuple[Table, ...]:
    """Servers by URL; their passwords stand nowhere."""
    tables = []
    for server in answers.servers:
        password = f"A server of yours. Its password stands in the environment: ACIDTEST_PASSWORD_{server.id.upper()}."
        lines = [Line("url", server.url)]
        if FAMILIES[server.family].server_schemas:
            schema = "This schema is made, marked and removed again; nothing else there is touched."
            lines.append(Line("schema", "acidtest", schema))
        tables.append(Table(f"servers.{server.id}", tuple(lines), password))
    return tuple(tables)


def tpcb(scale: int, terminals: int, seconds: float) -> Table:
    """The workload that reads and changes rows all over a table, in transactions of a few statements."""
    return Table(
        "workload.tpcb",
        (
            Line("scale", scale, f"Branches with 100,000 accounts each: about {15 * scale} MB."),
            Line("terminals", terminals, "Clients at once."),
            *measured(seconds),
        ),
        "TPC-B-like: a transaction changes an account, a teller and a branch. Other workloads: "
        "acidtest help docs/WORKLOADS.md; SQL of your own: acidtest help docs/YOUR-WORKLOAD.md.",
    )


def rates(answers: Answers, cache_mb: int, scale: int, terminals: int, seconds: float) -> tuple[Table, ...]:
    """What is run, with which page caches and where, of a question about rates on one storage."""
    return (
        *workloads(answers, scale, terminals, seconds),
        *caches(answers, cache_mb, terminals),
        *(place(answers.storage, filesystem(answers)) if answers.own else ()),
        *servers(answers),
    )


def scripts(answers: Answers) -> tuple[Line, ...]:
    """The factor of the user's own scripts, where there are several."""
    if answers.sql is None or len(answers.sql.names) < 2:
        return ()
    return (Line("workload", list(answers.sql.names), "Each of your scripts has rows of its own."),)


def workloads(answers: Answers, scale: int, terminals: int, seconds: float) -> tuple[Table, ...]:
    """The user's own SQL where some is given, else TPC-B-like transactions at that scale."""
    own = answers.sql
    if own is None:
        return (tpcb(scale, terminals, seconds),)
    return tuple(
        _own_workload(own, name, path, terminals, seconds, first=not position)
        for position, (name, path) in enumerate(zip(own.names, own.paths, strict=True))
    )


def _own_workload(own: OwnSql, name: str, path: str, terminals: int, seconds: float, *, first: bool) -> Table:
    def said(comment: str) -> str:
        return comment if first else ""

    lines = [Line("kind", "sql"), Line("path", path, said("It begins at the directory of this file."))]
    if own.database:
        tables = said("The tables, rows and conditions are those of this folder.")
        lines.append(Line("database", own.database, tables))
    if own.variables:
        instead = said("In place of what workload.toml says.")
        lines.append(Line("variables", dict(own.variables), instead, offered=True))
    lines.append(Line("terminals", terminals, said("Clients at once.")))
    return Table(
        f"workload.{name}",
        (*lines, *measured(seconds)),
        said("Your SQL; acidtest help docs/YOUR-WORKLOAD.md tells how the folder works."),
    )
