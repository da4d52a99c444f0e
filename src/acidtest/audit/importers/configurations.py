"""Configuration files of the engines. What stands in a comment sets nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from acidtest.audit.bench import Configuration, EngineName, Setting
from acidtest.audit.importers.file import Broken, File, Importer, Part

LINES_MAX = 100_000
COMMENT = re.compile(r"\s*#(?=[A-Za-z]\w*\s*=)")  # "#Name = value": a default as its author shows it
FIREBIRD = re.compile(r"\s*([A-Za-z]\w*)\s*=\s*(.*?)\s*")
POSTGRESQL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=|\s)\s*('(?:[^']|'')*'|[^\s#]+)\s*(?:#.*)?")
MYSQL = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*")
MYSQL_SECTION = re.compile(r"\s*\[([\w.-]+)\]\s*")
SERVER_SECTIONS = re.compile(r"mysqld.*|mariadb.*|server|galera")


def _firebird(lines: Sequence[str], file: File) -> Iterator[Setting]:
    """See the head of any firebird.conf: "name = value", "#" begins a comment; databases.conf adds blocks in braces."""
    for number, line in enumerate(lines, start=1):
        if match := FIREBIRD.fullmatch(line.partition("#")[0]):
            yield Setting(match[1].lower(), match[2].strip('"'), file.at(number), match[1])


def _postgresql(lines: Sequence[str], file: File) -> Iterator[Setting]:
    for number, line in enumerate(lines, start=1):
        if match := POSTGRESQL.fullmatch(line):
            value = match[2]
            quoted = value[:1] == "'"
            yield Setting(match[1].lower(), value[1:-1].replace("''", "'") if quoted else value, file.at(number))


def _mysql(lines: Sequence[str], file: File) -> Iterator[Setting]:
    """Only what the server reads; "-" and "_" are the same in names."""
    section = ""
    for number, line in enumerate(lines, start=1):
        bare = re.split(r"\s[#;]|^[#;]", line)[0]
        if match := MYSQL_SECTION.fullmatch(bare):
            section = match[1].lower()
        elif SERVER_SECTIONS.fullmatch(section) and (match := MYSQL.fullmatch(bare)):
            value = "ON" if match[2] is None else match[2].strip("\"'")
            yield Setting(match[1].lower().replace("-", "_"), value, file.at(number))


Parse = Callable[[Sequence[str], File], Iterator[Setting]]
KINDS: tuple[tuple[re.Pattern[str], EngineName, str, Parse], ...] = (
    (re.compile(r"firebird\.conf|fbembed\.conf"), "firebird", "firebird.conf", _firebird),
    (re.compile(r"(databases|aliases)\.conf"), "firebird", "databases.conf", _firebird),
    (re.compile(r"postgresql(\.auto)?\.conf"), "postgresql", "postgresql.conf", _postgresql),
    (re.compile(r"(my|mysqld?|mariadb|\d*-?server)\.(cnf|ini)"), "mysql", "my.cnf", _mysql),
)


def _is_mariadb(file: File) -> bool:
    """By its name or folder, or a section that only MariaDB reads."""
    return "mariadb" in file.name.lower() or any(line.strip().lower().startswith("[mariadb") for line in file.lines)


def _read(file: File) -> Sequence[Part] | None:
    for pattern, of, kind, parse in KINDS:
        if pattern.fullmatch(file.base):
            if "\0" in file.text or len(file.lines) > LINES_MAX:
                raise Broken(f"is no {kind}: it holds what is no text")
            engine: EngineName = "mariadb" if of == "mysql" and _is_mariadb(file) else of
            bare = [COMMENT.sub("", line) if COMMENT.match(line) else "" for line in file.lines]
            return [Configuration(file.at(), engine, kind, tuple(parse(file.lines, file)), tuple(parse(bare, file)))]
    return None


IMPORTER = Importer("configuration", _read)
