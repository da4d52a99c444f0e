"""Configuration files of the engines, by their names or, under any other, by what they hold. What stands in a comment
sets nothing. ``follow`` puts what a file includes where it includes it, once all files of a kit are known."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath

from acidtest import settings
from acidtest.audit.bench import Configuration, EngineName, Include, Setting
from acidtest.audit.importers.file import Broken, File, Importer, Part, Spent

# Firebird's security databases and its example, by file or alias: nobody's benchmark.
OWN_DATABASE = re.compile(r"security\d*\.(?:db|fdb|gdb)|employee(?:\.fdb|\.gdb)?")
LINES_MAX = 100_000
LINE_MAX = 10_000
OTHER_BYTES_MAX = 1 << 20  # of a file of another name
INCLUDED_MAX = 1_000  # files, of all configurations of a kit
DEPTH_MAX = 10  # as PostgreSQL and MySQL have it
KNOWN_MIN = 3  # names of settings by which a file of another name is known
KNOWN_SHARE = 0.5  # of what it sets
COMMENT = re.compile(r"#(?=[A-Za-z]\w*\s*=)")  # "#Name = value": a default as its author shows it
NAME = re.compile(r"[A-Za-z_][\w.-]*")
ALIAS = re.compile(r"[^\s={}#]+")
# See "Setting Parameters" in PostgreSQL's manual: "name = value" or "name value", values in quotes or bare.
PARAMETER = re.compile(r"([A-Za-z_][\w.]*)(?:\s*=\s*|\s+|(?='))(?:'((?:[^'\\]|\\.|'')*)'|([^\s#'=][^\s#]*))\s*(?:#.*)?")
SECTION = re.compile(r"\[([\w.-]+)\]")
# Groups that a server reads, see "Server Command-Line Options" and mysqld_multi; not those of clients and mysqld_safe.
SERVER = re.compile(r"(?:mysqld|mariadb|mariadbd)(?:-\d[\d.]*)?|server|client-server|galera|mysqld\d+")
INSTANCE = re.compile(r"mysqld\d+")  # of mysqld_multi
TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{|\$[A-Z_]{2,}|@[A-Z_]{2,}@")  # a value that is filled in later
INCLUDES = {"include": False, "include_if_exists": False, "include_dir": True}  # whether it is of a folder
MACRO = re.compile(r"\$\((?:this|root|install|dir_\w+)\)/?", re.IGNORECASE)
FORMS = {"skip_": "OFF", "disable_": "OFF", "enable_": "ON"}

Line = Setting | Include


def _firebird(lines: Sequence[str], file: File) -> Iterator[Line]:
    """See the head of any firebird.conf: "name = value", "#" begins a comment, "include" reads another file."""
    for number, line in enumerate(lines, start=1):
        bare = line.partition("#")[0].strip()
        word, _, rest = bare.partition(" ")
        name, equals, value = (part.strip() for part in bare.partition("="))
        if word.lower() == "include" and rest.strip() and not rest.lstrip().startswith("="):
            yield Include(file.at(number), rest.strip().strip('"'))
        elif equals and ALIAS.fullmatch(name):
            yield Setting(name.lower(), value.strip('"'), file.at(number), name)


def _databases(lines: Sequence[str], file: File) -> Iterator[Line]:
    """Of databases.conf nothing: an alias sets nothing, and what stands in braces after one is of that database."""
    return iter(())


def _sets_of_databases(lines: Sequence[str]) -> bool:
    """Whether something is set for a database alone that may be measured."""
    text = "\n".join(line.partition("#")[0] for line in lines)
    aliases = (before.rpartition("\n}")[2].strip().rpartition("\n")[2] for before in text.split("{")[:-1])
    return not all(OWN_DATABASE.fullmatch(alias.partition("=")[0].strip().lower()) for alias in aliases)


def _postgresql(lines: Sequence[str], file: File) -> Iterator[Line]:
    for number, line in enumerate(lines, start=1):
        if not (match := PARAMETER.fullmatch(line.strip())):
            continue
        value = match[3] if match[2] is None else re.sub(r"''|\\'", "'", match[2])
        if match[1].lower() in INCLUDES:
            yield Include(file.at(number), value, INCLUDES[match[1].lower()])
        else:
            yield Setting(match[1].lower(), value, file.at(number), match[1])


def _mysql(lines: Sequence[str], file: File) -> Iterator[Line]:
    """Only what the server reads; "-" and "_" are the same in names. See "Using Option Files"."""
    section = ""
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        if bare[:1] in ("#", ";"):
            continue
        if bare.startswith(("!includedir", "!include")):
            word, _, path = bare.partition(" ")
            yield Include(file.at(number), path.strip(), word == "!includedir")
            continue
        comment = re.search(r"\s#", bare)
        bare = bare[: comment.start()].strip() if comment else bare
        if match := SECTION.fullmatch(bare):
            section = match[1].lower()
            continue
        name, equals, value = (part.strip() for part in bare.partition("="))
        if SERVER.fullmatch(section) and NAME.fullmatch(name):
            key, meant = mysql_option(name, value.strip("\"'") if equals else None)
            yield Setting(key, meant, file.at(number), name, section)


def mysql_option(name: str, value: str | None) -> tuple[str, str]:
    """What an option of MySQL or MariaDB sets, and to what: "loose-", "skip-", "disable-" and "enable-" are forms of
    it. See "Program Option Modifiers". None where it has no value."""
    key = name.lower().replace("-", "_").removeprefix("loose_")
    known = settings.of("mysql").known
    for form, meant in FORMS.items():
        if key.startswith(form) and key.removeprefix(form) in known:
            return key.removeprefix(form), meant
    return key, "ON" if value is None else value


@dataclass(frozen=True)
class Kind:
    """One kind of configuration file."""

    name: str
    engine: EngineName
    names: re.Pattern[str]  # of files that are of this kind whatever they hold
    parse: Callable[[Sequence[str], File], Iterator[Line]]
    suffix: str = ""  # of the files that are read where a folder is included


KINDS = (
    Kind("firebird.conf", "firebird", re.compile(r"firebird\.conf|fbembed\.conf"), _firebird),
    Kind("databases.conf", "firebird", re.compile(r"(databases|aliases)\.conf"), _databases),
    Kind("postgresql.auto.conf", "postgresql", re.compile(r"postgresql\.auto\.conf"), _postgresql),
    Kind("postgresql.conf", "postgresql", re.compile(r"postgresql\.conf"), _postgresql, ".conf"),
    Kind("my.cnf", "mysql", re.compile(r"(my|mysqld?|mariadb|\d*-?server)\.(cnf|ini)"), _mysql, ".cnf"),
)
BY_NAME = {kind.name: kind for kind in KINDS}
# Names that a configuration may have; and those of other kinds of files, which may show one.
OTHER_NAMES = re.compile(
    r".*\.(conf|cnf|ini|cfg|config|properties|auto|tuned|default)(?![a-z]).*|(my|pg|postgres(ql)?|mysql|mariadb|firebird)[._-][^.]*",
    re.DOTALL,
)
NOT_ONE = re.compile(
    r".*(?<!\.conf)(?<!\.cnf)(?<!\.ini)\.txt|.*\.(md|rst|adoc|html?|ya?ml|json|toml|sql|sh|py|rb|pl|js|go|bat|ps1|log|out|err|csv|tsv|xml)"
)


def _lines(file: File) -> list[str]:
    return [line if len(line) <= LINE_MAX else "" for line in file.lines]


def _fork(file: File, lines: Sequence[Line]) -> EngineName:
    """MySQL or MariaDB, as the last part of its name says that names one of them; else by its groups."""
    parts = file.name.lower().split("/")
    for at in range(len(parts) - 1, -1, -1):
        of_system = parts[at] in ("mysql", "mysql.conf.d") and "etc" in parts[max(at - 2, 0) : at]
        if ("mariadb" in parts[at]) != ("mysql" in parts[at]) and not of_system:
            return "mariadb" if "mariadb" in parts[at] else "mysql"
    groups = [line.section for line in lines if isinstance(line, Setting)]
    return "mariadb" if any(group.startswith("mariadb") for group in groups) else "mysql"


def _made(kind: Kind, file: File) -> Iterator[Configuration]:
    """The file as one of this kind; of an option file for several servers (mysqld_multi), one for each."""
    lines = _lines(file)
    read = list(kind.parse(lines, file))
    shown = [bare[1:] if COMMENT.match(bare := line.lstrip()) else "" for line in lines]
    comments = tuple(one for one in kind.parse(shown, file) if isinstance(one, Setting))
    engine = _fork(file, read) if kind.engine == "mysql" else kind.engine
    of = {id(one): one.section for one in read if isinstance(one, Setting) and INSTANCE.fullmatch(one.section)}
    for instance in sorted(set(of.values())) or [""]:
        mine = [one for one in read if of.get(id(one), instance) == instance]
        made = replace(_of_lines(file, engine, kind, mine), comments=comments, side=instance)
        of_databases = kind.parse is _databases and _sets_of_databases(lines)
        yield replace(made, whole=False) if of_databases else made


def _of_lines(file: File, engine: EngineName, kind: Kind, lines: Sequence[Line]) -> Configuration:
    values: list[Setting] = []
    includes: list[Include] = []
    filled_in = False
    for line in lines:
        if isinstance(line, Include):
            includes.append(replace(line, at=len(values)))
        elif TEMPLATE.search(line.value):
            filled_in = True
        else:
            values.append(line)
    return Configuration(
        file.at(), engine, kind.name, tuple(values), includes=tuple(includes), whole=False if filled_in else None
    )


def _is_one(kind: Kind, file: File) -> bool:
    """Whether the content of a file of another name leaves no doubt."""
    lines = _lines(file)
    filled = [bare for line in lines if (bare := line.strip()) and bare[0] not in "#;"]
    set_ = [one for one in kind.parse(lines, file) if isinstance(one, Setting)]
    engine = settings.of(kind.engine)
    known = {one.name for one in set_ if engine.has(one.name)}
    if kind.name == "my.cnf":
        sections = {match[1].lower() for bare in filled if (match := SECTION.fullmatch(bare))}
        return bool(known or not set_) and any(
            SERVER.fullmatch(section) and section != "server" for section in sections
        )
    told = kind.engine in file.base or (kind.engine == "postgresql" and file.base.startswith(("pg", "postgres")))
    neutral = {one.name for one in set_ if engine.neutral.fullmatch(one.name)}
    share = len(known | neutral) / max(len(filled), 1)
    return len(known) >= (1 if told else KNOWN_MIN) and share >= KNOWN_SHARE


def _read(file: File) -> Sequence[Part] | None:
    kind = next((kind for kind in KINDS if kind.names.fullmatch(file.base)), None)
    if kind is None:
        if not OTHER_NAMES.fullmatch(file.base) or NOT_ONE.fullmatch(file.base):
            return None
        if file.size > OTHER_BYTES_MAX or b"\0" in file.head or len(file.lines) > LINES_MAX:
            return None
        others = (BY_NAME[name] for name in ("my.cnf", "firebird.conf", "postgresql.conf"))
        kind = next((other for other in others if _is_one(other, file)), None)
    elif "\0" in file.text:
        raise Broken(f"is no {kind.name}: it holds what is no text")
    elif len(file.lines) > LINES_MAX:
        raise Broken(f"has more lines than a {kind.name} that is read: {len(file.lines):,}")
    return list(_made(kind, file)) if kind else None


@dataclass
class _Follower:
    """Puts the files that configurations include in their places."""

    files: Mapping[str, File]  # of the kit, by name
    used: set[str] = field(default_factory=set)  # those that were included
    left: int = INCLUDED_MAX

    def __post_init__(self) -> None:
        self.folders: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.files):
            self.folders[posixpath.dirname(name) or "."].append(name)
        self.parsed = lru_cache(maxsize=INCLUDED_MAX)(self._parsed)

    def whole(self, one: Configuration, above: tuple[str, ...] = ()) -> Configuration:
        """It, with all that it includes and that is in the kit."""
        values: list[Setting] = []
        missing: list[Include] = []
        filled_in = one.whole
        at = 0
        for include in one.includes:
            values += one.settings[at : include.at]
            at = include.at
            self.left -= 1
            found = self._targets(include, one) if self.left > 0 and len(above) < DEPTH_MAX else []
            missing += [] if found else [include]
            for name in found:
                self.left -= 1
                if name in (*above, one.where.file) or self.left < 0:
                    continue
                self.used.add(name)
                inner = self.whole(self.parsed(name, one.kind, one.engine), (*above, one.where.file))
                values += inner.settings
                missing += inner.includes
                filled_in = False if inner.whole is False else filled_in
        values += one.settings[at:]
        return replace(one, settings=tuple(values), includes=tuple(missing), whole=filled_in)

    def _parsed(self, name: str, kind: str, engine: EngineName) -> Configuration:
        file = self.files[name]
        try:
            fits = file.size <= OTHER_BYTES_MAX and b"\0" not in file.head
            lines = _lines(file)[:LINES_MAX] if fits else []
        except (OSError, Spent):  # ``read`` has said so of this file
            return Configuration(file.at(), engine, kind, (), whole=False)
        return _of_lines(file, engine, BY_NAME[kind], list(BY_NAME[kind].parse(lines, file)))

    def _targets(self, include: Include, of: Configuration) -> list[str]:
        """The files that it stands for, in the order in which they are read; none where they are not in the kit. They
        may lie where it says, or below a folder that was the root when it was collected."""
        path = MACRO.sub("", include.path.replace("\\", "/")).rstrip("/")
        path += f"/*{BY_NAME[of.kind].suffix}" if include.folder else ""
        home = posixpath.dirname(of.where.file)
        candidates = [posixpath.join(home, path)] if not path.startswith("/") and ":" not in path else []
        parts = [one for one in path.split("/") if one not in ("", ".", "..") and not one.endswith(":")][-DEPTH_MAX:]
        above = [home, *map(str, PurePosixPath(home).parents)] if home else [""]
        for begin in range(len(parts) - include.folder):
            candidates += [posixpath.join(folder, *parts[begin:]) for folder in above[:DEPTH_MAX]]
        for candidate in map(posixpath.normpath, candidates):
            names = self.folders.get(posixpath.dirname(candidate) or ".", [])
            if found := fnmatch.filter(names, candidate):
                return found
        return []


def follow(parts: Sequence[tuple[str, Part]], files: Mapping[str, File]) -> tuple[list[tuple[str, Part]], set[str]]:
    """The parts, each configuration with what it includes and no longer beside it; and the names of what was
    included. ``files`` are all of the kit."""
    follower = _Follower(files)
    whole = [
        (name, follower.whole(part) if isinstance(part, Configuration) and part.includes else part)
        for name, part in parts
    ]
    used = follower.used
    return [
        (name, part)
        for name, part in whole
        if not isinstance(part, Configuration) or part.where.file not in used or part.side
    ], used


IMPORTER = Importer("configuration", _read)
