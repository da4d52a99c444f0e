"""Containers as files describe them: compose files and Dockerfiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from acidtest.audit import stores
from acidtest.audit.bench import Configuration, Database, Mount, Source, Statement, Where
from acidtest.audit.importers import known, server_commands, trees
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.audit.importers.shell import resolved
from acidtest.audit.importers.trees import Node
from acidtest.families import PRODUCTS

HINTS = (*stores.BY_WORD, "mysql", "mariadb", "percona", "postg", "timescale", "pgvector", "citus", "spilo", "firebird")
CONTAINER = re.compile(
    r"^[ \t]{0,80}-?[ \t]{0,20}[\"']?(?:services|image|kind|containers)[\"']?[ \t]{0,20}:"
    r"|\"(?:services|image)\"[ ]{0,3}:",
    re.MULTILINE,
)
CONFIGURATION = re.compile(r"(?:.*[./](?:cnf|conf|ini)|.*/conf\.d|.*/mysql\.conf\.d|/etc/.*)/?")
CLOCK = ("/etc/localtime", "/etc/timezone", "/etc/ssl", "/etc/certs")  # mounted, and no settings
ENV_LINE = re.compile(r"\s*(?:export )?([A-Za-z_]\w{0,60})=(.{0,2000})")
ENV_BYTES_MAX = 1 << 16
FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)?(\S{1,200})(?:\s+AS\s+\S+)?\s*", re.IGNORECASE)
# A service of such a profile is only started by who asks for another purpose than to measure.
ASIDE = re.compile(
    r"(?:dev|development|debug|tests?|testing|tools?|admin|monitoring|ci|docs?|examples?)", re.IGNORECASE
)
# Where official images of Docker Hub keep the data; see the Dockerfile of each. Data beside every mount lie in an
# anonymous volume.
POSTGRESQL, MYSQL, MONGODB = "/var/lib/postgresql/data", "/var/lib/mysql", "/data/db"
DATA = {
    **dict.fromkeys(("postgres", "postgis"), POSTGRESQL),
    **dict.fromkeys(("mysql", "mysql-server", "mariadb", "percona"), MYSQL),
    **dict.fromkeys(("mongo", "mongodb-community-server", "mongodb-enterprise-server"), MONGODB),
    "cassandra": "/var/lib/cassandra",
    "clickhouse-server": "/var/lib/clickhouse",
}
OFFICIAL = re.compile(
    r"(?:docker\.io/)?(?:(?:library|postgis|mysql|percona|mongodb|clickhouse)/)?([\w-]+)(?::([^@]*))?(?:@.*)?"
)
# A variable or an option by which the data are kept elsewhere.
ELSEWHERE = re.compile(r"PGDATA|DATADIR|DATA_DIR|data_directory|datadir|dbpath|(?:^|\s)-D(?:\s|=|/)|--config|-f\s")
ACCESS = re.compile(r"USER|PASS|DATABASE|(?:^|_)DB(?:_|$)|HOST|PORT|^TZ$", re.IGNORECASE)
MOVED_IN = 18  # the version of PostgreSQL from which on its image keeps data elsewhere
Part = Configuration | Mount | Database | Statement


@dataclass
class _Container:
    """One container: what it is told, and where that stands."""

    image: str
    words: list[str]  # of its command
    environment: dict[str, str]
    places: dict[str, Where]  # of each variable

    def data(self) -> str:
        """Where its image keeps the data; "" where that is not known."""
        match = OFFICIAL.fullmatch(self.image)
        place = DATA.get(match[1], "") if match else ""
        if not match or ELSEWHERE.search(" ".join((*self.environment, *self.words))):
            return ""
        version = re.match(r"\d{1,4}", match[2] or "")
        return place if place != POSTGRESQL or (version and int(version[0]) < MOVED_IN) else ""

    def parts(self, node: Node, file: File, side: str, mounts: Sequence[Mount], **more: Any) -> Iterator[Part]:
        """What it sets, each setting of its command in the line where it stands."""
        last = max((below.line for _, below in trees.walk(node)), default=node.line)
        lines = file.lines[node.line - 1 : min(last + 40, node.line + 1000)]
        where = file.at((node.get("args") or node.get("command") or node).line)
        told = self.image, self.words, self.environment, mounts, where, side
        for part in server_commands.container(*told, places=self.places, **more):
            if isinstance(part, Configuration) and part.source == "command line":
                shifted = tuple(replace(setting, where=file.at(node.line)) for setting in part.settings)
                yield from server_commands.placed([replace(part, settings=shifted)], lines, node.line)
            else:
                yield part


def _container(node: Node, image: str, keys: Sequence[str], file: File, held: dict[str, str]) -> _Container:
    """``keys`` are those of its environment and of the two parts of its command."""
    words: list[str] = []
    for told in filter(None, map(node.get, keys[1:])):
        words += server_commands.split(resolved(told.text, held)) if told.text is not None else []
        words += [resolved(one.text, held) for one in told if one.text is not None]
    environment: dict[str, str] = {}
    places: dict[str, Where] = {}
    variables = node.get(keys[0])
    # A mapping, or a list of "NAME=value".
    pairs = [(key, pair.text or "", pair.line) for key, pair in variables.pairs.items()] if variables else []
    for variable in variables or ():
        name, _, value = (variable.text or "").partition("=")
        pairs.append((name, value, variable.line))
    for name, value, line in pairs:
        if name:
            environment[name], places[name] = resolved(value, held), file.at(line)
    return _Container(image, words, environment, places)


def _compose(root: Node, file: File) -> Iterator[Part]:
    services = root.get("services")
    # Version 1 had no "services": each key is one.
    of = services.pairs if services is not None else {k: v for k, v in root.pairs.items() if v.says("image")}
    beside = file.beside(".env")
    lines = beside.lines if beside is not None and beside.size <= ENV_BYTES_MAX else []
    held = {m[1]: m[2].strip().strip("\"'") for line in lines if (m := ENV_LINE.fullmatch(line))}
    for name, service in list(of.items())[:500]:
        image = resolved(service.says("image"), held)
        if "\0" in image or not image:
            # Built in the kit, or of a version that is only said elsewhere: its name says what it is.
            image = image.partition(":")[0] if image and "\0" not in image.partition(":")[0] else name
            if service.get("build") is None and not service.says("image"):
                continue
        one = _container(service, image, ("environment", "entrypoint", "command"), file, held)
        yield from _misplaced(service, one, file, held)
        yield from _store(root, service, one, file, held)
        profiles = [profile.text or "" for profile in service.get("profiles") or ()]
        if server_commands.image(image) is None or (profiles and all(map(ASIDE.fullmatch, profiles))):
            continue
        mounts, reads, elsewhere = _volumes(root, service, file, held)
        elsewhere = elsewhere or any(service.get(key) is not None for key in ("env_file", "extends", "configs"))
        yield from one.parts(service, file, name, mounts, reads=reads, elsewhere=elsewhere)


def _ends(volume: Node, held: dict[str, str]) -> tuple[str, str]:
    """What a volume of a service is, and where it is mounted."""
    if volume.text is None:
        return resolved(volume.says("source"), held), resolved(volume.says("target"), held)
    source, _, target = resolved(volume.text, held).partition(":")
    return source, target.partition(":")[0]


def _store(root: Node, service: Node, one: _Container, file: File, held: dict[str, str]) -> Iterator[Statement]:
    """The store that a service is; and if none of our engines, whether it is told nothing but who may connect."""
    where = file.at((service.get("image") or service).line)
    for store in sorted(stores.named_in(one.image.rpartition("/")[2])):
        yield Statement(where, "store", store)
        told = one.words or any(not ACCESS.search(name) for name in one.environment)
        given = any(service.get(key) is not None for key in ("build", "env_file", "extends", "configs"))
        if not (store in PRODUCTS or told or given or any(_volumes(root, service, file, held)[1:])):
            yield Statement(where, "as-it-comes", store)


def _misplaced(service: Node, one: _Container, file: File, held: dict[str, str]) -> Iterator[Statement]:
    """Volumes of a service that lie above or below the data of its image, where none is mounted at it."""
    place = one.data()
    targets = {PurePosixPath(_ends(volume, held)[1]): volume.line for volume in service.get("volumes") or ()}
    data = PurePosixPath(place)
    for point, line in targets.items() if place and data not in targets else ():
        if point.is_absolute() and (data in point.parents or (point in data.parents and len(point.parts) > 1)):
            text = f"a volume at {point}; {one.image} keeps its data in {place}"
            yield Statement(file.at(line), "volume-elsewhere", text)


def _volumes(root: Node, service: Node, file: File, held: dict[str, str]) -> tuple[list[Mount], list[str], bool]:
    """What is mounted into a service, which files of the kit are its configuration, and whether a configuration is
    mounted that is not in the kit."""
    tmpfs = service.get("tmpfs")
    mounts = [
        Mount(file.at(tmpf.line), tmpf.text.partition(":")[0], "tmpfs", frozenset())
        for tmpf in ((tmpfs if tmpfs.is_list else [tmpfs]) if tmpfs is not None else ())
        if tmpf.text
    ]
    reads: list[str] = []
    elsewhere = False
    for one in service.get("volumes") or ():
        source, target = _ends(one, held)
        if CONFIGURATION.fullmatch(target) and not target.startswith(CLOCK):
            if path := server_commands.in_kit(file.name, source):
                reads.append(path)
                continue
            elsewhere = True
        made: Iterable[Mount] = ()
        if one.text is not None:
            made = server_commands.volume(resolved(one.text, held), file.at(one.line))
        elif target.startswith("/"):
            made = [Mount(file.at(one.line), target, one.says("type") or "volume", frozenset())]
        in_memory = root.says("volumes", source, "driver_opts", "type") == "tmpfs"
        mounts += [replace(mount, filesystem="tmpfs") for mount in made] if in_memory else made
    return mounts, reads, elsewhere


def _dockerfile(file: File) -> Iterator[Part]:
    """An image that is made of an engine's: the last stage's command and variables. Whoever starts it is a side, and it
    none of its own; a configuration that is copied in lies in the kit."""
    one = _Container("", [], {}, {})
    line_of_command = 1
    for number, line in enumerate(file.lines[:5000], start=1):
        bare = line.strip()[:4000]
        word, _, text = bare.partition(" ")
        if match := FROM.fullmatch(bare):
            one, line_of_command = _Container(match[1], [], {}, {}), number
        elif word.upper() == "CMD":
            quoted = re.findall(r'"((?:[^"\\]|\\.){0,1000})"', text)
            one.words = quoted if text.lstrip()[:1] == "[" else server_commands.split(text)
            line_of_command = number
        elif word.upper() == "ENV":
            for key, equals, value in (pair.partition("=") for pair in server_commands.split(text)):
                if equals:
                    one.environment[key], one.places[key] = value, file.at(number)
    where = file.at(line_of_command)
    if one.image:
        for part in server_commands.container(one.image, one.words, one.environment, [], where, "", places=one.places):
            if isinstance(part, Configuration):
                source: Source = "environment" if part.source == "file" else part.source
                yield replace(part, side="", source=source)


def _read(file: File) -> Sequence[Part] | None:
    if file.size > trees.TEXT_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    text = file.text
    if not known.holds(file, HINTS):
        return None
    if re.search(r"^FROM\s", text, re.MULTILINE) and ("dockerfile" in file.base or not trees.looks(text)):
        return list(_dockerfile(file)) or None
    if not CONTAINER.search(text) or not trees.looks(text):
        return None
    try:
        roots = trees.of_file(file)
    except Broken:
        return None
    # Objects of Kubernetes are not read; what an operator is told stands in values.
    services = [root for root in roots if not (root.says("kind") and root.says("apiVersion"))]
    return [part for root in services for part in _compose(root, file)] or None


IMPORTER = Importer("containers", _read, beside=True)
