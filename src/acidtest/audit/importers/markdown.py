"""The settings in code blocks and tables of a text. Its sentences are not read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from acidtest.audit.bench import Configuration, Database, EngineName, Mount, Setting
from acidtest.audit.importers import blocks, dumps, known, shell, statements
from acidtest.audit.importers.file import File, Importer

TEXT_MAX = 2 << 20
LINE_MAX = 4000
PLAIN = (".rst", ".adoc", ".asciidoc")  # not Markdown: read line by line
# A heading of what one might set, and a sentence before a block of it: that is not what was in force.
ADVICE = re.compile(
    r"recommend|suggest|advice|\btips?\b|best practices?|troubleshoot|\bfaq\b|next steps?|future|to-?do\b|"
    r"further (?:work|tuning)|alternatives?\b|\bideas?\b|\boptional|for example\b|\be\.g\.|"
    r"you (?:could|might|should)\b|\bconsider\b|recomend|recommand|empfehl|sugerenc|sugest|\bdicas?\b|consejos?\b|"
    r"рекоменд|совет|建议|建議|推荐|推薦|推奨|권장",
    re.IGNORECASE,
)
# Columns that hold no value of the benchmark.
OTHER_HEAD = re.compile(
    r"\W*(?:default|standard|description|comment|notes?|why|reason|unit|meaning|описание)", re.IGNORECASE
)
VALUE_HEAD = re.compile(
    r"\W*(?:values?|valor|valeur|wert|settings?|current|configured|used|значение|값|值)", re.IGNORECASE
)
Part = Configuration | Mount | Database


def _parser() -> MarkdownIt:
    """Blocks and tables alone: what stands in a line is read by our patterns, and would take most of the time."""
    parser = MarkdownIt("commonmark", {"maxNesting": 20}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _prose(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield replace(part, prose=True) if isinstance(part, Configuration) else part


def _of_markdown(file: File) -> Iterator[Part]:
    tokens = _parser().parse("\n".join(file.text.splitlines()))
    heading, at = "", 0
    above: dict[str, str] = {}  # the headings that the text stands under, by level
    before = ""  # the last line above
    while at < len(tokens):
        token = tokens[at]
        line = token.map[0] + 1 if token.map else 1
        if token.type == "heading_open" and at + 1 < len(tokens):
            heading = tokens[at + 1].content[:300]
            title = not above  # of the whole text
            above = {level: text for level, text in above.items() if level < token.tag}
            above[token.tag] = "" if title else heading
            before = ""
        elif any(ADVICE.search(text) for text in above.values()):
            pass
        elif token.type in ("fence", "code_block") and ADVICE.search(before):
            before = ""
        elif token.type in ("fence", "code_block"):
            # A fence's content begins in the line after it.
            first = line + (token.type == "fence")
            yield from _prose(_of_block(token, file, first, heading))
        elif token.type == "table_open":
            end = next((n for n in range(at, len(tokens)) if tokens[n].type == "table_close"), len(tokens) - 1)
            yield from _of_table(tokens[at:end], file, heading)
            at = end
        elif (token.type == "inline" and tokens[at - 1].type != "heading_open") or token.type == "html_block":
            before = token.content.rpartition("\n")[2][-LINE_MAX:]
        at += 1


def _of_block(token: Token, file: File, first: int, heading: str) -> Iterator[Part]:
    """A code block: a dump, statements, commands or a configuration, by what it holds."""
    lines = token.content.split("\n")
    if not known.mentioned(token.content) and not shell.PROGRAM.search(token.content):
        return
    dumped = False
    for part in dumps.of_lines(lines, file):
        dumped = True
        yield _moved(part, first - 1)
    if dumped:
        return
    told = list(shell.of_lines(lines, file, first, heading))
    set_ = list(statements.of_lines(lines, file, first))
    yield from told
    yield from set_
    if not told and not set_:
        yield from blocks.of_lines(lines, file, first, heading)


def _moved(part: Part, lines: int) -> Part:
    """The part, read from a block, with its lines in the file."""
    where = replace(part.where, line=(part.where.line or 1) + lines)
    if isinstance(part, Configuration):
        moved = tuple(
            replace(one, where=replace(one.where, line=(one.where.line or 1) + lines)) for one in part.settings
        )
        return replace(part, where=where, settings=moved)
    if isinstance(part, Database):
        places = tuple((name, replace(at, line=(at.line or 1) + lines)) for name, at in part.places)
        return replace(part, where=where, places=places)
    return replace(part, where=where)


def _of_table(tokens: Sequence[Token], file: File, heading: str) -> Iterator[Configuration]:
    """Rows that begin with a setting's name; its value stands in the next column, or in one for each side."""
    rows: list[tuple[int, list[str]]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append((token.map[0] + 1 if token.map else 1, []))
        elif token.type == "inline" and rows:
            rows[-1][1].append(token.content.strip())
    if len(rows) < 2:
        return
    head = [cell[:200] for cell in rows[0][1]]
    yield from _rows(rows[1:], head, file, heading)
    # Turned around: a column a setting, a row a side.
    names = [known.spelled(known.value(cell)) for cell in head]
    if sum(known.owner(name) is not None for name in names) < 1:
        return
    for line, cells in rows[1:]:
        found = [(name, known.value(cell), line) for name, cell in zip(names, cells, strict=False)]
        label = known.value(cells[0]) if cells and known.owner(names[0]) is None else ""
        yield from _made(found, file, f"{heading} {label}", label if len(rows) > 2 else "")


def _rows(rows: Sequence[tuple[int, list[str]]], head: list[str], file: File, heading: str) -> Iterator[Configuration]:
    named = []
    for line, cells in rows:
        # Several names of one setting, or "name (unit)": the first word.
        first = re.match(r"[\w.-]+", known.value(cells[0])) if cells else None
        name = known.spelled(first[0]) if first else ""
        if known.owner(name) or any(known.has(engine, name) for engine in known.ENGINES):
            named.append((line, name, cells))
    if not any(known.owner(name) for _, name, _ in named):
        return
    columns = [n for n in range(1, len(head)) if not OTHER_HEAD.match(head[n])]
    for n in columns[:1] if len(columns) < 2 or VALUE_HEAD.match(head[columns[0]]) else columns[:8]:
        found = [(name, known.value(cells[n]), line) for line, name, cells in named if n < len(cells)]
        label = "" if len(columns) < 2 or VALUE_HEAD.match(head[n]) else known.value(head[n])
        yield from _made(found, file, f"{heading} {label}", label)


def _made(found: Sequence[tuple[str, str, int]], file: File, context: str, side: str) -> Iterator[Configuration]:
    """One configuration of what a column or a row holds; its ``side`` is what that is called."""
    votes: dict[EngineName, int] = defaultdict(int)
    for name, _, _ in found:
        if engine := known.owner(name):
            votes[engine] += 1
    if not votes:
        return
    engine = max(votes, key=votes.__getitem__)
    settings = tuple(
        Setting(name, value, file.at(line))
        for name, value, line in found
        if known.has(engine, name) and re.fullmatch(r"[^|<>{}$]{1,60}", value) and re.search(r"\w", value)
    )
    if settings:
        side = side if re.search(r"[^\W\d_]", side) and len(side) <= 40 else ""
        named = known.of_family(engine, context, file.name)
        yield Configuration(settings[0].where, named, "text", settings, source="environment", side=side, prose=True)


def _read(file: File) -> Sequence[Part] | None:
    if not known.is_prose(file.base) or file.size > TEXT_MAX or b"\0" in file.head:
        return None
    if not (file.once(known.mentioned_in) or file.once(shell.starts)):
        return None
    if file.base.endswith((*PLAIN, ".txt")):
        return [*_prose(shell.of_lines(file.lines, file)), *_prose(statements.of_lines(file.lines, file))] or None
    return list(_of_markdown(file)) or None


IMPORTER = Importer("settings in a text", _read, beside=True)
