"""Settings in command lines: of servers, of what creates their databases, and of containers. Only words come in:
``shell`` makes them of scripts, units and logs, ``containers`` has them in lists."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from acidtest.audit.bench import Configuration, Database, EngineName, Mount, Setting, Source, Where
from acidtest.audit.importers import known
from acidtest.formats import linear

WORDS_MAX = 2000
DEPTH_MAX = 4  # of commands that hold commands, as "sh -c" and "pg_ctl -o" do
UNKNOWN = "\0"  # in a word: what a variable holds that nobody here knows
# What the programs are of which options are understood.
PROGRAMS = {
    name: kind
    for kind, names in {
        "mysqld": "mysqld mysqld_safe mysqld-debug mysqld-max mysqld_multi mysqld.exe mariadbd mariadbd-safe",
        "postgres": "postgres postmaster postgres.exe",
        "pg_ctl": "pg_ctl pg_ctl.exe pg_ctlcluster",
        "initdb": "initdb initdb.exe",
        "shell": "sh bash dash zsh ash cmd cmd.exe",
        "docker": "docker podman nerdctl",
        "gfix": "gfix",
        "mount": "mount",
    }.items()
    for name in names.split()
}
SERVERS = ("mysqld", "postgres")
# Options by which mysqld does something else than to serve, or which say where its settings are.
ACTS = re.compile(
    r"print_defaults|help|verbose|version|initialize.*|bootstrap|install.*|remove|(?:no_)?defaults.*|console"
)
# Words before a program that change nothing of what it is told.
BEFORE = frozenset(
    ("exec", "nohup", "time", "env", "eval", "doas", "chroot", "setsid", "then", "do", "else", "if", "while", "until",
     "!", "&&", "{", "(", "catchsegv", "command", "docker-entrypoint.sh", "/entrypoint.sh", "tini", "--", "$", "#", ">",
     "+", "++", "+++")
)  # fmt: skip
# Those that have options or arguments of their own before the program's name.
WRAPPERS = frozenset(
    ("numactl", "taskset", "nice", "ionice", "su", "runuser", "systemd-run", "chrt", "cgexec", "timeout", "sudo", "env",
     "strace", "gdb", "gosu", "su-exec")
)  # fmt: skip
POSTGRES_SHORT = {"B": "shared_buffers", "N": "max_connections", "p": "port", "S": "work_mem", "h": "listen_addresses"}
POSTGRES_FLAGS = {"F": "fsync=off", "l": "ssl=on", "i": "listen_addresses=*"}
POSTGRES_TAKES = frozenset("BcCdDfhkNoprStvW")
# Options of docker run that stand alone; all others take a value.
DOCKER_ALONE = re.compile(
    r"-[dit]{1,3}|-[Pq]|--(?:detach|interactive|tty|rm|privileged|init|read-only|publish-all|no-healthcheck|"
    r"oom-kill-disable|quiet|sig-proxy|disable-content-trust|replace)"
)
# The last part of an image's name; what stands before it is who made it.
IMAGES: tuple[tuple[EngineName, re.Pattern[str]], ...] = (
    ("mariadb", re.compile(r"mariadb(?:-\w+)*")),
    ("mysql", re.compile(
        r"(?:mysql(?:-server|-\d+.*|-debian|-community-server)?|percona(?:-server|-xtradb-cluster)?)")),
    ("postgresql", re.compile(
        r"(?:postgres(?:ql)?(?:-\d+.*|-server|-alpine)?|postgis|timescaledb(?:-ha)?|pgvector|citus|spilo-?\d*|pg_?\d+)")),
    ("firebird", re.compile(r"firebird(?:-?[\d.]+.*)?")),
)  # fmt: skip
OFFICIAL = re.compile(r"(?:docker\.io/)?(?:library/)?(?:mysql|mariadb|postgres)")
TAG = re.compile(r"v?(\d{1,3}(?:\.\d{1,3}){0,3}(?:-?(?:alpha|beta|rc)\d{0,3}(?![a-z\d]))?)(?:[-.a-z].*)?")


@dataclass(frozen=True)
class Image:
    """What a container's image is of. ``version`` is "" where its tag is none."""

    engine: EngineName
    version: str
    official: bool


def image(name: str) -> Image | None:
    """The engine in an image, by its name: "bitnami/postgresql:16.2", "mysql@sha256:…"; None of any other program."""
    bare = name.strip().strip("\"'").lower().partition("@")[0]
    if not re.fullmatch(r"[a-z0-9][\w./:-]{0,200}", bare):
        return None
    path, _, tag = bare.rpartition(":") if ":" in bare.rpartition("/")[2] else (bare, "", "")
    last = path.rpartition("/")[2]
    for engine, pattern in IMAGES:
        if len(last) < 60 and pattern.fullmatch(last):
            version = TAG.fullmatch(tag)
            if engine == "postgresql" and "timescaledb" in last and (of := re.search(r"pg(\d{1,2}(?:\.\d+)?)", tag)):
                return Image(engine, of[1], False)
            # Of PostgreSQL's relatives the tag begins with a version of theirs.
            own = engine != "postgresql" or last.startswith(("postgres", "postgis"))
            return Image(engine, version[1] if version and own else "", OFFICIAL.fullmatch(path) is not None)
    return None


def program(word: str) -> str:
    """The name of a program without its path, in lower case."""
    return re.split(r"[\\/]", word.strip("\"'"))[-1].lower()


def of_mysqld(words: Sequence[str], where: Where) -> tuple[Setting, ...]:
    """Options of mysqld: "--name=value", "--name value", "--name", "--skip-name"."""
    found = []
    waiting = list(reversed(words[:WORDS_MAX]))
    while waiting:
        word = waiting.pop()
        written, equals, value = word[2:].partition("=")
        name = known.spelled(written)
        bad = UNKNOWN in word or ACTS.fullmatch(name) or not re.fullmatch(r"[a-z][\w.]{1,63}", name)
        if not word.startswith("--") or bad:
            continue
        if not equals and waiting and waiting[-1][:1] not in ("", *"-|&;><") and known.has("mysql", name):
            value = waiting.pop()
        elif not equals:
            value = "ON"
            match = re.fullmatch(r"(skip|disable|enable)_(.+)", name)
            # "skip-log-bin" and the like are settings themselves.
            if match and (not known.has("mysql", name) or match[2].startswith("innodb_")):
                name, value = match[2], "ON" if match[1] == "enable" else "OFF"
        if UNKNOWN not in value:
            found.append(Setting(name, value.strip("\"'"), where, written))
    return tuple(found)


def of_postgres(words: Sequence[str], where: Where) -> tuple[Setting, ...]:
    """Options of postgres: "-c name=value", "-cname=value", "--name=value", "-B 16384", "-F"."""
    texts = []
    waiting = list(reversed(words[:WORDS_MAX]))
    while waiting:
        word = waiting.pop()
        letter, rest = word[1:2], word[2:]
        if word.startswith("--"):
            texts.append(rest)
        elif word[:1] == "-" and letter in POSTGRES_FLAGS and not rest:
            texts.append(POSTGRES_FLAGS[letter])
        elif word[:1] == "-" and letter in POSTGRES_TAKES:
            rest = rest or (waiting.pop() if waiting else "")
            texts.append(rest if letter == "c" else f"{POSTGRES_SHORT.get(letter, '')}={rest}")
    found = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        low = name.lower().replace("-", "_")
        if equals and UNKNOWN not in text and low != "config_file" and re.fullmatch(r"[a-z_][\w.]{1,63}", low):
            found.append(Setting(low, value.strip("\"'"), where, name if name != low else ""))
    return tuple(found)


def of_initdb(words: Sequence[str], where: Where) -> tuple[Setting, ...]:
    """What initdb decides for good: checksums, the size of WAL segments; and since 16 any setting with -c."""
    found: list[Setting] = []
    for word, following in pairwise((*words[:WORDS_MAX], "")):
        name, equals, value = word.partition("=")
        value = value if equals else following
        if word in ("-k", "--data-checksums", "--no-data-checksums"):
            found.append(Setting("data_checksums", "off" if "no-" in word else "on", where, word))
        elif name == "--wal-segsize" and re.fullmatch(r"\d{1,5}", value):
            found.append(Setting("wal_segment_size", f"{value}MB", where, name))
        elif name in ("-c", "--set"):
            found += of_postgres(["-c", value], where)
    return tuple(found)


def split(text: str) -> list[str]:
    """The words of a command in one string; those that can be distinguished, if its quotes do not match."""
    text = text[: 1 << 16]
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.split()


def lexed(text: str) -> list[str]:
    """The words of a line of a shell, its operators as words of their own."""
    lexer = shlex.shlex(text[: 1 << 16], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return split(text)


def of(
    words: Sequence[str], where: Where, context: str = "", depth: int = 0
) -> Iterator[Configuration | Mount | Database]:
    """What one simple command sets. ``context`` is what may say that it is MariaDB's; the file's name counts too."""
    if depth > DEPTH_MAX:
        return
    words = list(words[:WORDS_MAX])
    at = _program_at(words)
    for word in words[: at or 20]:
        key, equals, value = word.partition("=")
        if equals and key == "PGOPTIONS":
            yield from _made(of_postgres(split(value), where), "postgresql", "PGOPTIONS", "environment", where)
        elif equals and " " in value and key.isidentifier():  # a command that is kept for later
            yield from of_script(value, where, context, depth + 1)
    if at is None:
        return
    name, rest = program(words[at]), words[at + 1 :]
    kind = PROGRAMS.get(name, "shell")  # of "su -c"
    if kind == "mysqld":
        engine = known.of_family("mysql", context, where.file, *words[: at + 1])
        yield from _made(of_mysqld(rest, where), engine, "command line", "command line", where)
    elif kind == "postgres":
        yield from _made(of_postgres(rest, where), "postgresql", "command line", "command line", where)
    elif kind == "pg_ctl":
        parse = of_initdb if {"init", "initdb"} & set(rest) else of_postgres
        for text in _options(rest, ("-o", "--options")):
            yield from _made(parse(split(text), where), "postgresql", "command line", "command line", where)
    elif kind == "initdb":
        yield from _made(of_initdb(rest, where), "postgresql", "initdb", "command line", where)
    elif kind == "shell":
        for text in _options(rest, ("-c", "-lc", "/c", "-ec", "-xc", "-exc")):
            yield from of_script(text, where, context, depth + 1)
    elif kind == "gfix":
        yield from _gfix(rest, where)
    elif kind == "mount":
        yield from _mount(rest, where)
    elif {"run", "create"} & set(rest[:4]):
        begin = next(at for at, word in enumerate(rest) if word in ("run", "create"))
        yield from _docker_run(rest[begin + 1 :], where, depth)
    elif "exec" in rest[:3]:
        inner = next((at for at, word in enumerate(rest) if PROGRAMS.get(program(word), "docker") != "docker"), None)
        if inner is not None:
            yield from of(rest[inner:], where, " ".join(rest[:inner]), depth + 1)


def placed(
    parts: Iterable[Configuration | Mount | Database], lines: Sequence[str], first: int
) -> Iterator[Configuration | Mount | Database]:
    """The same, with each setting in the line where its name stands: ``lines`` are those of the command, of which the
    first is the file's line ``first``."""
    heads = [line[:4096].lower() for line in lines[:1000]]
    for part in parts:
        if not isinstance(part, Configuration) or len(lines) < 2:
            yield part
            continue
        settings, after = [], 0
        for setting in part.settings:
            if setting.where.line != first:
                settings.append(setting)
                continue
            names = {(setting.written or setting.name).lower(), setting.name, setting.name.replace("_", "-")}
            order = (*range(after, len(heads)), *range(after))
            found = next((at for at in order if any(name in heads[at] for name in names)), 0)
            after = found
            settings.append(replace(setting, where=Where(setting.where.file, first + found)))
        yield replace(part, settings=tuple(settings))


def of_script(text: str, where: Where, context: str = "", depth: int = 0) -> Iterator[Configuration | Mount | Database]:
    """The commands of one string, as "sh -c" has it."""
    for part in re.split(r"&&|\|\||[;\n|]", text[: 1 << 16])[:100]:
        yield from of(split(part), where, context, depth)


def _program_at(words: Sequence[str]) -> int | None:
    """Where the name of the program stands, after assignments, "sudo" and the like."""
    wrapped = False
    for at, word in enumerate(words[:40]):
        name = program(word)
        before = words[at - 1] if at else ""
        whom = before in ("-u", "--user", "-g", "-", "-l", "--") or program(before) in ("gosu", "su-exec", "su")
        if (
            wrapped
            and whom
            and PROGRAMS.get(name) == "postgres"
            and at + 1 < len(words)
            and words[at + 1][:2] not in ("-c", "-D")
        ):
            continue  # the user
        if name in PROGRAMS or (name in ("su", "runuser") and "-c" in words):
            return at
        if name in WRAPPERS:
            wrapped = True
        elif name not in BEFORE and not wrapped and not re.match(r"[A-Za-z_]\w*=", word) and not word.endswith("#"):
            return None
    return None


def _made(
    settings: tuple[Setting, ...], engine: EngineName, kind: str, source: Source, where: Where
) -> Iterator[Configuration]:
    if settings:
        yield Configuration(where, engine, kind, settings, source=source)


def _options(words: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The values of an option that may stand apart from it or behind "="."""
    for at, word in enumerate(words):
        key, equals, value = word.partition("=")
        if key in names and equals:
            yield value
        elif word in names and at + 1 < len(words):
            yield words[at + 1]
        elif word[:2] in names and len(word) > 2 and word[1] != "-" and not equals:
            yield word[2:]


def _gfix(words: Sequence[str], where: Where) -> Iterator[Database]:
    """What gfix writes into a database's header."""
    buffers = next((v for v in _options(words, ("-buffers", "-b", "-bu")) if re.fullmatch(r"\d{1,9}", v)), None)
    write = next((v.lower() for v in _options(words, ("-write", "-w", "-wr")) if v.lower() in ("sync", "async")), None)
    paths = [word for word in words if re.search(r"\.[fg]db$", word, re.IGNORECASE) and UNKNOWN not in word]
    if (buffers or write) and paths:
        name, forced = re.split(r"[\\/:]", paths[-1])[-1], None if write is None else write == "sync"
        yield Database(where, name, "firebird", page_buffers=int(buffers) if buffers else None, forced_writes=forced)


def _mount(words: Sequence[str], where: Where) -> Iterator[Mount]:
    kind = next((value for value in _options(words, ("-t", "--types"))), "")
    options = [one for value in _options(words, ("-o", "--options")) for one in value.split(",")]
    takes = {at + 1 for at, word in enumerate(words) if word in ("-t", "-o", "--types", "--options")}
    bare = [word for at, word in enumerate(words) if word[:1] != "-" and at not in takes]
    point = bare[-1] if bare else ""
    if point.startswith("/") and UNKNOWN not in point and (kind or options) and len(words) < 20:
        yield Mount(where, point, kind, frozenset(option for option in options if UNKNOWN not in option))


def _docker_run(words: Sequence[str], where: Where, depth: int) -> Iterator[Configuration | Mount | Database]:
    """docker run: its own options, the image, what the image is told."""
    waiting = list(reversed(words))
    options = []
    while waiting and waiting[-1].startswith("-"):
        word = waiting.pop()
        key, equals, value = word.partition("=")
        if DOCKER_ALONE.fullmatch(key):
            continue
        if re.match(r"-[evpm].", word):
            options.append((word[:2], word[2:]))
        elif equals or waiting:
            options.append((key, value if equals else waiting.pop()))
    if not waiting:
        return
    of_image, told = waiting.pop(), list(reversed(waiting))

    def given(*names: str) -> list[str]:
        return [value for key, value in options if key in names]

    mounts = [Mount(where, value.partition(":")[0], "tmpfs", frozenset()) for value in given("--tmpfs")]
    mounts += [mount for value in given("-v", "--volume") for mount in volume(value, where)]
    for value in given("--mount"):
        fields = dict(part.partition("=")[::2] for part in value.split(","))
        target = next((fields[one] for one in ("target", "dst", "destination") if one in fields), "")
        if target.startswith("/"):
            mounts.append(Mount(where, target, fields.get("type", "volume"), frozenset()))
    bound = [source for value in given("-v", "--volume") if (source := _source(value))]
    reads = [path for source in bound if (path := in_kit(where.file, source))]
    environment = dict(value.partition("=")[::2] for value in given("-e", "--env"))
    name = next((value for value in given("--name") if UNKNOWN not in value), "")
    yield from container(
        of_image, [*given("--entrypoint"), *told], environment, mounts, where, name, depth, reads=reads,
        elsewhere=len(reads) < len(bound) or bool(given("--env-file")),
    )  # fmt: skip


def _source(text: str) -> str:
    """What a volume of a configuration is bound from: "./my.cnf:/etc/mysql/conf.d/my.cnf"."""
    source, _, target = text.partition(":")
    return source if re.match(r"[^:]{0,200}(?:\.cnf|\.conf|\.ini|/conf\.d/?|/etc/)", target) else ""


def in_kit(file: str, source: str) -> str:
    """The name below the kit of what a file calls ``source``, by the folder that it lies in; "" of what is elsewhere.
    The current directory ("$PWD", "$(pwd)") is taken for that folder."""
    bare = re.sub(r"^(?:\$\{?PWD\}?|\$\(pwd\)|\0)(?=/)", ".", source).replace("\\", "/")
    if bare.startswith(("/", "~")) or UNKNOWN in bare or "$" in bare or ":" in bare or not bare:
        return ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), bare))
    return "" if path.startswith("..") else path


# A server as a command of a shell's line, and not as a host, a user or a database: "psql -h postgres".
STARTS = linear.compile(
    r"(?:^|[;&|(\n]\s*|\b(?:exec|then|do|sudo|nohup|gosu \w+|su-exec \w+|--)\s+)(?:/\S{0,200}/)?"
    r"(?:mysqld|mariadbd|postgres|firebird)(?:[_-]safe)?(?:[\s;&|\"']|$)|entrypoint"
)


# An option that names a file with settings, or that a variable stands for.
GIVEN = linear.compile(
    r"config[_-]file\s*=|--defaults-(?:extra-)?file|(?:^|\s)\$\{?\w|\$\w*(?:ARGS|OPTS|OPTIONS|PARAMS|FLAGS)"
)


def _serves(words: Sequence[str]) -> bool:
    """Whether a container's command starts the server, at once or by way of a shell."""
    name = program(words[0])
    if PROGRAMS.get(name) == "shell":
        return any(STARTS.search(word) for word in words[1:])
    return PROGRAMS.get(name) in SERVERS or name in ("firebird", "fbguard") or name.endswith(".sh")


def _told_to(words: Sequence[str], name: str) -> Image | None:
    """The engine of an image that somebody has made, by two options that only that engine's server has."""
    mysql = sum(known.owner(setting.name) == "mysql" for setting in of_mysqld(words, Where("")))
    postgresql = sum(known.owner(postgre.name) == "postgresql" for postgre in of_postgres(words, Where("")))
    if max(mysql, postgresql) < 2:
        return None
    return Image(known.of_family("mysql", name) if mysql > postgresql else "postgresql", "", official=False)


def volume(text: str, where: Where) -> Iterator[Mount]:
    """ "source:target:options" of a volume or a bound directory."""
    match = re.fullmatch(r"(?:((?:[A-Za-z]:[\\/])?[^:]{0,300}):)?(/[^:]{1,300})(?::([\w,]{1,40}))?", text)
    if match and UNKNOWN not in match[2]:
        bound = (match[1] and match[1][:1] in "./~$" + UNKNOWN) or (match[1] and match[1][1:2] == ":")
        memory = (match[1] or "").startswith(("/dev/shm", "/run/shm"))  # noqa: S108
        options = frozenset(match[3].split(",")) if match[3] else frozenset()
        yield Mount(where, match[2], "tmpfs" if memory else "bind" if bound else "volume", options)


def container(
    of_image: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    mounts: Sequence[Mount],
    where: Where,
    side: str,
    depth: int = 0,
    places: Mapping[str, Where] | None = None,
    reads: Sequence[str] = (),
    *,
    elsewhere: bool = False,
) -> Iterator[Configuration | Mount | Database]:
    """What a container of an engine's image is told: its command, environment and mounts. Nothing of other images.

    There is always one configuration, empty where nothing is set: the image has the engine's defaults. ``places`` are
    the lines of the environment's variables; ``reads`` the files of the kit that it is given as its configuration;
    ``elsewhere`` says that it is given one that is not in the kit.
    """
    known_image = image(of_image) or _told_to(words, of_image)
    if known_image is None:
        return
    engine = known_image.engine
    words = [word for word in words if word]
    text = " ".join(words)
    elsewhere = elsewhere or UNKNOWN in text or (GIVEN.search(text) is not None and not reads)
    while words and program(words[0]) in ("docker-entrypoint.sh", "entrypoint.sh", "exec", "gosu", "tini", "--"):
        words = words[1:]
    if words and words[0][0] != "-" and not _serves(words):
        return  # a client that comes with the image
    found: list[Configuration] = []
    if words and words[0][0] != "-":
        found += [one for one in of(words, where, of_image, depth + 1) if isinstance(one, Configuration)]
    elif engine != "firebird":
        parse = of_postgres if engine == "postgresql" else of_mysqld
        found += _made(parse(words, where), engine, "command line", "command line", where)
    found += from_environment(known_image, environment, where, places or {})
    # A side must have a name, or the folder of the script would be one.
    side = side or of_image.strip("\"'").rpartition("/")[2][:60]
    whole = False if elsewhere else None
    base = Configuration(
        where, engine, "container", (), side=side, version=known_image.version, reads=tuple(reads), whole=whole
    )
    yield base
    for configuration in found:
        # The image says which product it is, its command does not.
        yield replace(configuration, engine=engine, side=side, version=known_image.version)
    for mount in mounts:
        if UNKNOWN not in mount.point:
            yield replace(mount, side=side)


def from_environment(
    of_image: Image, environment: Mapping[str, str], where: Where, places: Mapping[str, Where]
) -> Iterator[Configuration]:
    """What variables of an image set; of the official ones, which have few, no others count."""
    settings: list[Setting] = []
    for key, value in environment.items():
        at, upper = places.get(key, where), key.upper()
        if UNKNOWN in value:
            continue
        if upper in ("POSTGRES_INITDB_ARGS", "POSTGRESQL_INITDB_ARGS"):
            settings += of_initdb(split(value), at)
        elif upper in ("PGOPTIONS", "POSTGRESQL_EXTRA_FLAGS"):
            settings += of_postgres(split(value), at)
        elif upper in ("MYSQL_EXTRA_FLAGS", "MARIADB_EXTRA_FLAGS"):
            settings += of_mysqld(split(value), at)
        elif upper.startswith("FIREBIRD_CONF_") and len(key) > 14:
            settings.append(Setting(key[14:].lower(), value, at, key))
        elif not of_image.official:
            name = re.sub(r"^(?:POSTGRES(?:QL)?|MYSQL|MARIADB|FIREBIRD|PG|DB)_", "", upper).lower()
            sure = known.owner(name) == of_image.engine
            said = name != key.lower() and known.has(of_image.engine, name)
            if sure or (said and name not in ("user", "port", "version", "socket", "datadir")):
                settings.append(Setting(name, value, at, key))
    if settings:
        yield Configuration(settings[0].where, of_image.engine, "environment", tuple(settings), source="environment")
