"""Which parts of a kit belong to one side.

A side begins with the folder of an engine (a program or a configuration file in it), or with the name that a file gives
to one of several (``Configuration.side``, as the services of a compose file). Several engines in one folder, or several
whole configurations of one, are several sides. What has no folder of its own then joins them:

- a named part the folder of its name or of the files that it ``reads``, or the only side of its engine;
- a command line, environment, statement or dump the side that its file lies in, or whose name its file's name holds;
  else every side of its engine, for nothing tells them apart by it. Dumps of several versions are several sides;
- a database or a log the only side that can have made it;
- facts of the machine every side, unless they lie in the folder of one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeVar

from acidtest import settings
from acidtest.audit.bench import (
    PARTS,
    Binary,
    Configuration,
    Database,
    EngineName,
    LogEntry,
    Mount,
    Side,
    of_one_series,
)
from acidtest.audit.declared import is_of
from acidtest.audit.importers.file import Part

# Folders of an installation that are never its root.
INNER = frozenset(
    ("bin", "sbin", "lib", "lib64", "plugins", "plugin", "etc", "conf", "conf.d", "mysql.conf.d", "intl", "data", "log", "logs", "share", "udf")  # noqa: E501
)  # fmt: skip
# Firebird's on-disk structure and the series that creates it; 4.0 and 5.0 share the major version.
ODS_SERIES = {
    (10, 1): "1.5", (11, 0): "2.0", (11, 1): "2.1", (11, 2): "2.5",
    (12, 0): "3.0", (12, 2): "3.0", (13, 0): "4.0", (13, 1): "5.0",
}  # fmt: skip
# A configuration that lies beside the one in force, and is none.
KEPT = re.compile(r".*(\.(bak|backup|orig|old|sample|example|dist|template|tmpl|rpmnew|rpmsave|dpkg-\w+)|~)")
FORKS = frozenset(("mysql", "mariadb"))  # one reads the other's files: only a program, a log or a name tells which
NAME_MIN = 3  # characters of a side's name that are looked for in the names of files

Owned = Binary | Configuration | Database | LogEntry
P = TypeVar("P")


@dataclass
class _Group:
    """What is known to belong together so far."""

    name: str
    engine: EngineName | None
    home: str  # "" of none
    parts: list[Part] = field(default_factory=list)

    @property
    def files(self) -> set[str]:
        return {part.where.file for part in self.parts}

    def side(self) -> Side:
        def of(kind: type[P]) -> tuple[P, ...]:
            return tuple(part for part in self.parts if isinstance(part, kind))

        versions = Counter(one.version for one in of(Binary) if one.version and not one.client)
        versions = versions or Counter(one.version for one in of(Binary) if one.version)
        told = [one.version for one in of(Configuration)]
        return Side(
            name=self.name,
            engine=self.engine,
            version=versions.most_common(1)[0][0] if versions else max(told, key=len, default=""),
            binaries=of(Binary),
            configurations=of(Configuration),
            databases=of(Database),
            log=of(LogEntry),
            mounts=of(Mount),
        )


def _homes(names: Iterable[str]) -> set[str]:
    """The folders that hold an engine, given the names of all programs and configurations."""
    folders = set()
    for name in names:
        home = PurePosixPath(name).parent
        while home.name.lower() in INNER and home.parent != home:
            home = home.parent
        folders.add(home)
    # One within another is a part of that installation; but the kit's own folder holds them all and is none of them.
    whole = {home for home in folders if not any(above in folders for above in home.parents if str(above) != ".")}
    return {str(home) for home in whole if str(home) != "." or len(whole) == 1}


def sides(parts: Sequence[tuple[str, Part]]) -> list[Side]:
    """The sides of a kit, in order of their names, given each part with the file that it was read from."""
    mine = [(name, part) for name, part in parts if isinstance(part, Owned | Mount)]
    roots = _homes(name for name, part in mine if isinstance(part, Binary) or _is_file(part))
    held: dict[str, list[Part]] = defaultdict(list)
    loose: list[Part] = []
    common: list[Part] = []  # beside the folders of engines
    named: list[Configuration] = []
    mounts: list[Mount] = []  # of named ones
    passing: list[Configuration] = []
    for name, part in mine:
        home = next((str(above) for above in PurePosixPath(name).parents if str(above) in roots), None)
        if isinstance(part, Configuration) and (part.side or not _is_file(part)):
            (named if part.side else passing).append(part)
        elif isinstance(part, Mount) and part.side:
            mounts.append(part)
        elif home is not None:
            held[home].append(part)
        else:
            (common if isinstance(part, Binary | Configuration) else loose).append(part)
    groups = [group for home in sorted(held) for group in _of_home(home, held[home], loose)]
    groups += _of_all(common, groups, loose)
    groups = _with_passing(_with_named(groups, named), passing)
    strays: dict[tuple[str, str], _Group] = {}
    known = [(group, group.side()) for group in groups]
    alike: dict[tuple[EngineName, str | None], list[_Group]] = {}
    for one in loose:
        if isinstance(one, Database | LogEntry):
            key = one.engine, _series(one)
            if key not in alike:
                alike[key] = [group for group, side in known if _made(side, *key)]
            file = one.where.file
            stray = _Group(file, one.engine, "")
            group = alike[key][0] if len(alike[key]) == 1 else strays.setdefault((file, one.engine), stray)
            group.parts.append(one)
    groups = [*sorted(groups, key=lambda group: group.name), *strays.values()]
    for group in groups:
        group.parts += [part for part in loose if isinstance(part, Mount)]
        called = {(part.where.file, part.side) for part in group.parts if isinstance(part, Configuration)}
        group.parts += [mount for mount in mounts if (mount.where.file, mount.side) in called]
    return [group.side() for group in groups]


def _is_file(part: Part) -> bool:
    return isinstance(part, Configuration) and part.source == "file" and not part.side and not part.prose


def _of_home(home: str, parts: Sequence[Part], loose: list[Part]) -> Iterator[_Group]:
    """The engines in one folder, and of each its configurations that cannot be in force together. What is of another
    engine there goes to ``loose``."""
    owned = [part for part in parts if isinstance(part, Owned)]
    # A ``my.cnf`` beside MariaDB's program is MariaDB's.
    sure = {part.engine for part in owned if isinstance(part, Binary | LogEntry) and part.engine in FORKS}
    fork = next(iter(sure)) if len(sure) == 1 else None
    engine_of = {part.engine: (part.engine in FORKS and fork) or part.engine for part in owned}
    anchors = dict.fromkeys(engine_of[part.engine] for part in owned if isinstance(part, Binary | Configuration))
    everywhere: list[Part] = [part for part in parts if isinstance(part, Mount)]
    for engine in anchors:
        of = [part for part in owned if engine_of[part.engine] == engine]
        clusters = _clusters([part for part in of if isinstance(part, Configuration)])
        for n, cluster in enumerate(clusters or [[]]):
            # One program serves each configuration, and each may have been run on the databases.
            shared = Binary | Database if n else Binary | Database | LogEntry
            mine = set(map(id, cluster))
            whole: list[Part] = [part for part in of if id(part) in mine or isinstance(part, shared)]
            alone = len(clusters) < 2 and len(anchors) == 1 and home not in ("", ".")
            name = home if alone else (cluster or whole)[0].where.file
            yield _Group(name, engine, home, whole + everywhere)
    loose += [part for part in owned if isinstance(part, Database | LogEntry) and engine_of[part.engine] not in anchors]


def _of_all(common: Sequence[Part], groups: Sequence[_Group], loose: list[Part]) -> list[_Group]:
    """What lies beside the folders of engines: of those of its engine that have no configuration, else a side."""
    new = []
    for group in _of_home(".", common, loose):
        bare = [
            one
            for one in groups
            if _same(one.engine, group.engine) and not any(isinstance(part, Configuration) for part in one.parts)
        ]
        for one in bare:
            one.parts += group.parts
        if not bare:
            new.append(group)
    return new


def _clusters(configurations: Sequence[Configuration]) -> list[list[Configuration]]:
    """Configurations of one engine in one folder, apart where they cannot be in force together: two whole ones that set
    the same names, but not all to the same."""
    # A file in "conf.d" is read with all others there.
    main: list[Configuration] = []
    beside: list[Configuration] = []
    for configuration in configurations:
        partial = configuration.kind in PARTS or PurePosixPath(configuration.where.file).parent.name.lower().endswith(
            ".d"
        )
        (beside if partial else main).append(configuration)
    real = [configuration for configuration in main if not KEPT.fullmatch(configuration.where.file.lower())] or main
    alike: dict[frozenset[tuple[str, str]], list[Configuration]] = defaultdict(list)
    for one in real:
        alike[frozenset({setting.name: setting.value for setting in one.settings}.items())].append(one)
    # What sets nothing joins any.
    clusters: list[tuple[dict[str, str], list[Configuration]]] = []
    for pairs, of in sorted(alike.items(), key=lambda one: not one[0]):
        values = dict(pairs)
        fits = next((cluster for cluster in clusters if cluster[0].keys().isdisjoint(values)), ({}, []))
        if not fits[1]:
            clusters.append(fits)
        fits[0].update(values)
        fits[1].extend(of)
    return [[*cluster, *beside] for _, cluster in clusters] or ([beside] if beside else [])


def _with_named(groups: list[_Group], named: Sequence[Configuration]) -> list[_Group]:
    """The groups, and those that files give a name to: each with what lies in the folder that is its own."""
    by_name: dict[tuple[str, str], list[Configuration]] = defaultdict(list)
    for configuration in named:
        by_name[str(PurePosixPath(configuration.where.file).parent), configuration.side].append(configuration)
    engines = Counter(of[0].engine for of in by_name.values())
    names = Counter(name for _, name in by_name)
    takers: dict[int, list[_Group]] = defaultdict(list)
    new: list[_Group] = []
    for (folder, name), of in by_name.items():
        engine = of[0].engine
        alike = [group for group in groups if _same(group.engine, engine)]
        own = [group for group in alike if _is_named(group, folder, name, of)]
        base = own[:1] or (alike if len(alike) == 1 and engines[engine] == 1 else [])
        group = _Group(name if names[name] == 1 else f"{folder}: {name}", engine, folder, list(of))
        (takers[id(base[0])] if base else new).append(group)
    for group in groups:
        of_it = takers[id(group)]
        if len(of_it) > 1:  # several servers are given one configuration
            new += [replace(taker, parts=[*group.parts, *taker.parts]) for taker in of_it]
        else:
            group.parts += [part for taker in of_it for part in taker.parts]
            new.append(group)
    return new


def _same(one: EngineName | None, other: EngineName | None) -> bool:
    return one == other or (one in FORKS and other in FORKS)


def _is_named(group: _Group, folder: str, name: str, of: Sequence[Configuration]) -> bool:
    """Whether a group is what a file in ``folder`` calls by this name."""
    if any(is_of(file, configuration.reads) for configuration in of for file in group.files):
        return True
    path = PurePosixPath(group.home)
    return path.name.lower() == name.lower() and (folder == "." or PurePosixPath(folder) in path.parents)


def _with_passing(groups: list[_Group], passing: Sequence[Configuration]) -> list[_Group]:
    """The groups, with what sets settings and has no folder of its own: command lines, statements, dumps."""
    for engine in dict.fromkeys(configuration.engine for configuration in passing):
        of = [configuration for configuration in passing if configuration.engine == engine]
        dumps = [one for one in of if one.source == "dump"]
        alike = [group for group in groups if _same(group.engine, engine)]
        if len(alike) == 1 and len(set(map(_says, dumps))) > 1:
            # They are of several servers, and nothing says of which one the rest is.
            groups.remove(alike[0])
            groups += _apart(dumps, alike[0].parts)
            of = [one for one in of if one.source != "dump"]
        elif not alike:
            begun = dumps or [one for one in of if one.source == "command line"]
            groups += _apart(begun, []) if begun else [_Group(of[0].where.file, engine, "")]
            of = [one for one in of if one not in begun]
        for one in of:
            # Of a fork's only where there is none of its own.
            fitting = [group for group in groups if group.engine == engine] or groups
            for group in _told_of(one, [group for group in fitting if _same(group.engine, engine)]):
                group.parts.append(one)
    return groups


def _apart(begun: Sequence[Configuration], shared: Sequence[Part]) -> list[_Group]:
    """A group for each file, those that say the same together."""
    by_file: dict[str, list[Configuration]] = defaultdict(list)
    for configuration in begun:
        by_file[configuration.where.file].append(configuration)
    groups: dict[object, _Group] = {}
    for file, of in by_file.items():
        groups.setdefault((*map(_says, of),), _Group(file, of[0].engine, "", list(shared))).parts += of
    return list(groups.values())


def _says(one: Configuration) -> tuple[str, frozenset[tuple[str, str]]]:
    """What two must have alike to be of one server. A dump has names and times in it that are never the same twice."""
    engine = settings.of(one.engine)
    of = [setting for setting in one.settings if one.source != "dump" or setting.name in engine.known]
    return one.version, frozenset((setting.name, engine.alike(setting.name, setting.value)) for setting in of)


def _told_of(one: Configuration, groups: Sequence[_Group]) -> Sequence[_Group]:
    """Which of these sides a configuration without a folder of its own is of; all, where nothing tells."""
    path = PurePosixPath(one.where.file)
    below = [group for group in groups if group.home not in ("", ".") and PurePosixPath(group.home) in path.parents]
    called = [group for group in groups if _name_in(group.name, one.where.file)]
    aged = [group for group in groups if of_one_series(group.side().version, one.version)]
    wholly = [group for group in below if group in called]
    found = wholly or below or called or aged
    if not found and one.source == "dump" and len(groups) > 1:
        # It would beat the files of all of them, and can be of one only.
        return [group for group in groups if not any(_is_file(part) for part in group.parts)]
    return found or groups


def _name_in(name: str, file: str) -> bool:
    """Whether the name of a file has that of a side in it: "run-pg15.sh", "pg15"."""
    last = PurePosixPath(name).name.lower()
    return len(last) >= NAME_MIN and re.search(rf"(?<![a-z0-9]){re.escape(last)}(?![a-z0-9])", file.lower()) is not None


def _series(part: Owned) -> str | None:
    """The series of Firebird that makes such a database."""
    return ODS_SERIES.get(part.ods) if isinstance(part, Database) and part.ods else None


def _made(side: Side, engine: EngineName, series: str | None) -> bool:
    """Whether a database or log of this engine and series, which lies elsewhere, can be of this side."""
    return engine == side.engine and (not series or not side.version or side.version.startswith(f"{series}."))
