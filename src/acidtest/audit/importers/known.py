"""Which engine has a setting of what name, and how people write its value, wherever they write it."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib import resources

from acidtest import settings
from acidtest.audit.bench import EngineName
from acidtest.audit.importers.file import File
from acidtest.families import PRODUCTS

ENGINES = ("postgresql", "mysql", "sqlite", "firebird")  # MariaDB's names are MySQL's
NAME_MAX = 64
PROSE = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".asciidoc")  # how the names of texts end
# What a key, a heading, an image or a file is called that is of an engine.
CALLED: tuple[tuple[EngineName, re.Pattern[str]], ...] = (
    ("mariadb", re.compile(r"maria[-_ ]?db", re.IGNORECASE)),
    ("mysql", re.compile(r"mysql|percona|(?<![a-z])(?:innodb|my\.cnf|pxc)(?![a-z])", re.IGNORECASE)),
    (
        "postgresql",
        re.compile(r"postgres|patroni|pgsql|timescale|postgis|(?<![a-z])(?:cnpg|citus|pg)(?![a-z])", re.IGNORECASE),
    ),
    ("sqlite", re.compile(r"sqlite", re.IGNORECASE)),
    ("firebird", re.compile(r"firebird|(?<![a-z])fb(?=[ _-]?\d)|interbase", re.IGNORECASE)),
)
AMOUNT = re.compile(r"(\d{1,15}(?:[.,'\u2019\u00a0\u202f ]\d{1,3}){0,5})[ \u00a0\u202f]?([^\W\d_]{0,5})")
GROUPED = re.compile(r"\d{1,3}(?:([.,'\u2019\u00a0\u202f ])\d{3})(?:\1\d{3}){0,4}")


def is_prose(base: str) -> bool:
    """Whether a file of this name, in lower case, is a text that people read."""
    return base.endswith(PROSE) or base.partition(".")[0] in ("readme", "readme_first") or base == "readme.txt"


def spelled(name: str) -> str:
    """The name as settings are kept: lower case, "_" for "-"; of MySQL without what only says how strict it is."""
    return name.strip().lower().replace("-", "_").removeprefix("loose_").removeprefix("maximum_")


@cache
def _patterns(engine: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    with resources.files("acidtest.audit").joinpath("setting_names.toml").open("rb") as file:
        table = tomllib.load(file)[engine]
    distinct, common = ("".join(table[key].split()) for key in ("distinct", "common"))
    defaults = "|".join(map(re.escape, settings.of(engine).known))
    return re.compile(distinct, re.IGNORECASE), re.compile(f"{common}|{defaults}", re.IGNORECASE)


PREFIX = re.compile(r"(?:global_)?(?:mysqld?|mariadb|percona|postgres(?:ql)?|pgsql|pg|sqlite|firebird)_")
UNIT = re.compile(r"_(kb|mb|gb|sec|min|ms)$")


def holds(file: File, words: tuple[str, ...]) -> bool:
    """Whether one of the words, in lower case, stands in its text. It looks before any pattern does, and is fast."""
    return any(word in file.low for word in words)


WORD = re.compile(r"[A-Za-z][\w.-]{3,63}")


def mentioned(text: str) -> bool:
    """Whether a distinct name of a setting stands anywhere in ``text``, alone or in a variable's name."""
    return any(owner(word) or owner(stripped(word)[0]) for word in set(WORD.findall(text)))


def mentioned_in(file: File) -> bool:
    return mentioned(file.text)


def stripped(name: str) -> tuple[str, str]:
    """The setting in a variable's name, and the unit that it ends in: of "pg_max_wal_size_gb" max_wal_size, "gb"."""
    low = spelled(name)
    if owner(low) is None and (match := PREFIX.match(low)):
        low = low[match.end() :]
    if owner(low) is None and (match := UNIT.search(low)) and owner(low[: match.start()]):
        return low[: match.start()], match[1]
    return low, ""


@lru_cache(maxsize=1 << 16)
def owner(name: str) -> EngineName | None:
    """The only engine with a setting of this name; None of a name that others may have too."""
    low = spelled(name)
    if len(low) > NAME_MAX:
        return None
    return next((engine for engine in ENGINES if _patterns(engine)[0].fullmatch(low)), None)


def has(engine: EngineName, name: str) -> bool:
    """Whether the engine has, as far as is known here, a setting of this name."""
    low = spelled(name)
    patterns = _patterns("mysql" if engine == "mariadb" else engine)
    return len(low) <= NAME_MAX and any(pattern.fullmatch(low) for pattern in patterns)


PRODUCTS_BY_WORD = {
    word: product.name for product in PRODUCTS.values() for word in (product.name, *product.words, f"{product.name}sql")
}


def product(text: str) -> EngineName | None:
    """The only product that the words of ``text`` name; None where they name none, or several."""
    named = {PRODUCTS_BY_WORD[word] for word in re.findall(r"[a-z]+", text.lower()) if word in PRODUCTS_BY_WORD}
    return named.pop() if len(named) == 1 else None


@lru_cache(maxsize=1 << 14)
def called(text: str) -> EngineName | None:
    """The only engine that ``text`` names; None where it names none, or several."""
    head = text[:300]
    named = [engine for engine, pattern in CALLED if pattern.search(head)]
    if named == ["mariadb", "mysql"]:  # "MariaDB, a fork of MySQL"; "mariadb: MYSQL_ROOT_PASSWORD"
        return "mariadb"
    return named[0] if len(named) == 1 else None


def of_family(engine: EngineName, *texts: str) -> EngineName:
    """MariaDB for MySQL, where a text beside it says so."""
    return "mariadb" if engine == "mysql" and any(called(text) == "mariadb" for text in texts) else engine


def value(written: str) -> str:
    """A value without quotes and marks, its number as engines write it: "4 GB", "1.024 MB" and "0,9" are "4GB",
    "1024MB" and "0.9". What is no number stays as it is."""
    bare = written.strip("`*_\"' ;\n\t")
    match = AMOUNT.fullmatch(bare) if len(bare) <= 40 else None
    if not match:
        return bare
    number, unit = match[1], match[2]
    if grouped := GROUPED.fullmatch(number):
        # "0.125" is no group of thousands, and neither is "1.024" where no unit or other group follows.
        sure = grouped[1] not in ".," or number.count(grouped[1]) > 1
        if sure or (number[0] != "0" and (grouped[1] == "," or unit)):
            number = re.sub(r"\D", "", number)
    number = re.sub(r"^(\d+),(\d+)$", r"\1.\2", number)
    return f"{number}{unit}" if re.fullmatch(r"\d+(?:\.\d+)?", number) else bare
