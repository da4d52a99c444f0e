"""The settings in code blocks and tables of a text. Its sentences are not read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidtest.audit.bench import Configuration, Database, Mount, Setting
from acidtest.audit.importers import blocks, dumps, known, server_commands, shell, statements, tables
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

TEXT_MAX = 2 << 20
PLAIN = (".rst", ".adoc", ".asciidoc", ".txt")  # not Markdown: read line by line
# A heading of what one might set, and a line before a block of it: that is not what was in force.
ADVICE = linear.compile(
    r"recommend|suggest|advice|\btips?\b|best practices?|troubleshoot|\bfaq\b|next steps?|future|to-?do\b|"
    r"alternatives?\b|further (?:work|tuning)|\bideas?\b|\boptional|for example\b|\be\.g\.|\bconsider\b|"
    r"you (?:could|might|should)\b|empfehl|recomend|recommand|sugerenc|consejos?\b|"
    r"рекоменд|совет|建议|建議|推荐|推薦|推奨|권장",
    linear.IGNORECASE,
)
HEADING = linear.compile(r"\s{0,3}(#{1,6})\s+(.{1,300})")
INDENTED = ("    ", "\t")
# Columns that hold no value of the benchmark, and the one that holds all.
OTHER_HEAD = re.compile(r"\W*(?:default|standard|description|comment|notes?|why|reason|unit|meaning)", re.IGNORECASE)
VALUE_HEAD = re.compile(r"\W*(?:values?|settings?|current|configured|used)", re.IGNORECASE)
COLUMNS_MAX = 8
ARGUMENTS = linear.compile(r"\[(?:'[^'\n]*'|\"[^\"\n]*\")(?:,\s?(?:'[^'\n]*'|\"[^\"\n]*\"))+\]")
Part = Configuration | Mount | Database


def _shown(lines: Sequence[str]) -> list[bool]:
    """Of each line whether it stands under no advice."""
    shown = []
    above: dict[int, bool] = {}  # whether a heading is advice, by its level
    fenced = titled = before = False
    for line in lines:
        if tables.FENCE.match(line):
            fenced = not fenced
        elif not fenced and (match := HEADING.fullmatch(line)):
            level = len(match[1])
            advice = titled and ADVICE.search(match[2]) is not None  # the title is of the whole text
            above = {of: given for of, given in above.items() if of < level} | {level: advice}
            titled, before = True, False
        elif not fenced and line.strip() and not line.startswith(INDENTED):
            before = ADVICE.search(line[: tables.CELL_MAX * 10]) is not None
        shown.append(not before and not any(above.values()))
    return shown


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of each block, from 0: between fences, and those that are indented below an empty line."""
    fenced = list(tables.blocks(lines))
    yield from fenced
    inside = {at for begin, end in fenced for at in range(begin, end)}
    begin = None
    for at, line in enumerate([*lines, "end"]):
        goes_on = at not in inside and (line.startswith(INDENTED) or not line.strip())
        if begin is not None and not goes_on:
            yield begin, at
            begin = None
        elif begin is None and goes_on and line.strip() and not (at and lines[at - 1].strip()):
            begin = at


def _of_text(file: File) -> Iterator[Part]:
    lines, above, shown = file.lines, tables.headings(file.lines), _shown(file.lines)
    plain = file.base.endswith(PLAIN)
    spans = [] if plain else [span for span in _blocks(lines) if shown[min(span[0], len(lines) - 1)]]
    inside = {at for begin, end in spans for at in range(begin, end)}
    alone = lines if plain else [line if at in inside else "" for at, line in enumerate(lines)]
    found: list[Part] = [*dumps.of_lines(alone, file)]
    dumped = _lines(found)
    programs = (*shell.of_lines(alone, file), *statements.of_lines(alone, file), *_arguments(alone, file))
    found += [part for part in programs if dumped.isdisjoint(_lines([part]))]
    read = _lines(found)
    yield from found
    for begin, end in spans:
        if read.isdisjoint(range(begin + 1, end + 1)):
            yield from blocks.of_lines(lines[begin:end], file, begin + 1, above[min(begin, len(above) - 1)])
    for table in tables.of_file(file):
        if table.line - 1 not in inside and shown[table.line - 1]:
            yield from _of_table(table, file, above[table.line - 1])


def _arguments(lines: Sequence[str], file: File) -> Iterator[Configuration]:
    """What a server was started with, as a program prints the list: "args: ['-c', 'autovacuum=off']"."""
    for number, line in enumerate(lines, start=1):
        if match := ARGUMENTS.search(line[: 1 << 14]):
            settings = server_commands.of_postgres(re.findall(r"['\"]([^'\"]{1,300})['\"]", match[0]), file.at(number))
            if any(known.owner(setting.name) == "postgresql" for setting in settings):
                yield Configuration(file.at(number), "postgresql", "command line", settings, source="command line")


def _lines(parts: Sequence[Part]) -> set[int]:
    """Where they and their settings stand."""
    places = {part.where.line for part in parts}
    places |= {setting.where.line for part in parts if isinstance(part, Configuration) for setting in part.settings}
    return {line for line in places if line is not None}


def _of_table(table: tables.Table, file: File, heading: str) -> Iterator[Configuration]:
    """Rows that begin with a setting's name: its value stands in the next column, or in one for each side. Or a column
    for each setting, and a row for each side."""
    named = []
    for row in table.rows:
        first = re.match(r"[\w.-]+", row.cells[0]) if row.cells else None  # several names, or "name (unit)"
        name = known.spelled(first[0]) if first else ""
        if any(known.has(engine, name) for engine in known.ENGINES):
            named.append((row, name))
    if any(known.owner(name) for _, name in named):
        columns = [n for n in range(1, len(table.head)) if not OTHER_HEAD.match(table.head[n])]
        one_side = len(columns) < 2 or VALUE_HEAD.match(table.head[columns[0]]) is not None
        for n in columns[: 1 if one_side else COLUMNS_MAX]:
            found = [Setting(name, row.cells[n], file.at(row.line)) for row, name in named if n < len(row.cells)]
            yield from _made(found, file, heading, "" if one_side else table.head[n])
    names = [known.spelled(known.value(cell)) for cell in table.head]
    if any(map(known.owner, names)):
        for row in table.rows:
            settings = [Setting(name, cell, file.at(row.line)) for name, cell in zip(names, row.cells, strict=False)]
            label = row.cells[0] if row.cells and known.owner(names[0]) is None else ""
            yield from _made(settings, file, f"{heading} {label}", label if len(table.rows) > 1 else "")


def _made(found: Sequence[Setting], file: File, context: str, side: str) -> Iterator[Configuration]:
    """One configuration of what a column or a row holds; its ``side`` is what that is called."""
    votes = Counter(engine for setting in found if (engine := known.owner(setting.name)))
    engine = votes.most_common(1)[0][0] if votes else None
    settings = tuple(
        replace(setting, value=value)
        for setting in found
        if engine and known.has(engine, setting.name) and re.fullmatch(r"[^|<>{}$]*\w[^|<>{}$]*", setting.value[:61])
        if len(value := known.value(setting.value)) <= 60
    )
    if engine and settings:
        side = known.value(side) if re.search(r"[^\W\d_]", side) and len(side) <= 40 else ""
        engine = known.of_family(engine, f"{context} {side}", file.name)
        yield Configuration(settings[0].where, engine, "text", settings, source="environment", side=side)


def _read(file: File) -> Sequence[Part] | None:
    if not known.is_prose(file.base) or file.size > TEXT_MAX or b"\0" in file.head:
        return None
    if not (file.once(known.mentioned_in) or file.once(shell.starts)):
        return None
    parts = _of_text(file)
    return [replace(part, prose=True) if isinstance(part, Configuration) else part for part in parts] or None


IMPORTER = Importer("settings in a text", _read, beside=True)
