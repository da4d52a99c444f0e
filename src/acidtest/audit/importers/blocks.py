"""Text of a configuration that stands in something else, or under any name: recognised by its sections and names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Configuration, EngineName, Setting, Source
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File

LINE_MAX = 2000
SECTION = re.compile(r"\s*\[([\w.-]{1,60})\]\s*")
SERVERS = re.compile(r"(?:loose[_-])?(?:mysqld.{0,40}|mariadb.{0,40}|server|galera)")
CLIENTS = re.compile(r"client.{0,30}|mysql|mysqldump|mysqladmin|mysqlhotcopy|isamchk|myisamchk|embedded")
ASSIGNED = re.compile(
    r"\s*([A-Za-z_][\w.-]{1,63})\s{0,40}+(?:=|(?<=\s))\s{0,40}+"
    r"('(?:[^']|''){0,1000}'|\"[^\"]{0,1000}\"|[^#;=\s][^#;=]{0,1000}?)?\s{0,40}+(?:[#;].*|(?<=\s)-- .*)?"
)
REMARK = re.compile(r"(?<=[\w\"'])\s{1,9}[(*].{0,200}")  # "3221225472 (3G) * (Default: 128M)"
BARE = re.compile(r"\s*([A-Za-z][\w-]{1,63})\s*")


def of_lines(
    lines: Sequence[str],
    file: File,
    first: int = 1,
    context: str = "",
    *,
    same_line: bool = False,
    source: Source = "command line",
) -> Iterator[Configuration]:
    """The configurations in ``lines``, of which the first is the file's line ``first``; ``same_line``: all of them are.

    With a section of a MySQL server all below it is set. Without one, lines count only if most of them set something
    and one of the names is of one engine alone, or ``context`` says the engine.
    """
    engine: EngineName | None
    sections = [m[1].lower() for line in lines if (m := SECTION.fullmatch(line[:80]))]
    if any(SERVERS.fullmatch(name) for name in sections):
        settings = tuple(_mysql(lines, file, first, same_line))
        engine = known.of_family("mysql", context, *sections)
        yield Configuration(file.at(first), engine, "my.cnf", settings, source=source)
        return
    if any(CLIENTS.fullmatch(name) for name in sections):
        return
    set_: list[Setting] = []
    apart: list[Setting] = []
    other = 0
    options = False
    for offset, line in enumerate(lines):
        bare = line[:LINE_MAX].strip().removeprefix("export ")
        if not bare or bare[0] in "#;" or SECTION.fullmatch(bare):
            continue
        if bare.startswith("--"):  # of a command of which only these lines are shown
            options, bare = True, bare[2:].rstrip("\\\"' ")
        match = ASSIGNED.fullmatch(bare)
        if match is None or not match[2]:
            other += 1
            continue
        written, value = match[1], REMARK.sub("", match[2]).replace("''", "'").strip("'\"").strip()
        where = file.at(first if same_line else first + offset)
        set_.append(Setting(known.spelled(written), value, where, written))
        if "=" not in bare[: match.start(2)]:
            apart.append(set_[-1])
    votes = Counter(owner for setting in set_ if (owner := known.owner(setting.written)))
    engine = votes.most_common(1)[0][0] if votes else None if options else known.called(context)
    if other > len(set_) or engine is None:
        return
    # Only PostgreSQL has values without a "=": "wal_level minimal". "FLUSH PRIVILEGES" sets nothing.
    mine = (
        setting
        for setting in set_
        if known.has(engine, setting.name) and (engine == "postgresql" or setting not in apart)
    )
    settings = tuple(one for one in mine if not re.search(r"[\0{}$]", one.value))
    if settings:
        kind = {"postgresql": "postgresql.conf", "mysql": "my.cnf", "firebird": "firebird.conf"}.get(engine, "settings")
        yield Configuration(settings[0].where, known.of_family(engine, context), kind, settings, source=source)


def _mysql(lines: Sequence[str], file: File, first: int, same_line: bool) -> Iterator[Setting]:
    section = ""
    for offset, line in enumerate(lines):
        bare = re.split(r"\s[#;]|^\s{0,40}[#;]", line[:LINE_MAX], maxsplit=1)[0]
        where = file.at(first if same_line else first + offset)
        if match := SECTION.fullmatch(bare):
            section = match[1].lower()
        elif SERVERS.fullmatch(section):
            name, equals, value = bare.partition("=")
            if BARE.fullmatch(name) and not re.search(r"[\0{}$]", value):
                written = name.strip()
                yield Setting(
                    known.spelled(written), value.strip().strip("\"'") if equals else "ON", where, written, section
                )
