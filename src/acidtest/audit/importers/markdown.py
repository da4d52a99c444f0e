"""What a text of a kit says of settings: its code blocks, tables, lists and sentences. All of it is read from prose."""

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
from acidtest.audit.importers.values import undisputed

TEXT_MAX = 2 << 20
LINE_MAX = 4000
PLAIN = (".rst", ".adoc", ".asciidoc")  # not Markdown: read line by line
# "shared_buffers = 4GB" amid words; between name and value may stand quotes, marks, "to", "is".
SAID = re.compile(
    r"(?<![\w.$/{-])[`*\"']{0,3}(--)?([A-Za-z][\w-]{2,63})[`*\"']{0,3}\s{0,3}"
    r"(=|:|TO\b|to\b|is\b|set to\b|\u2192)\s{0,3}[`*\"']{0,3}"
    r"(-?\d{1,15}(?:[.,'\u00a0\u202f]\d{1,3}|[ ]\d{3}(?!\d)){0,5}"
    r"(?:[ \u00a0\u202f]?(?:[kKMGTmg]i?[Bbo]?|[кКМГТ][Бб]|bytes|ms|s|min|h|d|B|o)\b)?(?![^\W\d_])|"
    r"[A-Z][A-Z_-]{1,30}\b|[a-z]{2,20}\b)"
)
QUOTED = re.compile(r"`[a-z_]{4,40}=")
# A list of arguments as a text quotes it: "'-c', 'fsync=off'".
OPTION = re.compile(r"(?:^|[\s,\['\"])-c['\"]?[,\s]\s{0,3}['\"]?([a-z_]{2,63})=([\w.]{1,40})")
# SQLite's pragmas as options of somebody's own tool: "-journal-mode wal -synchronous normal".
PRAGMA = re.compile(r"(?<!\S)--?([a-z][a-z_-]{3,40})[= ]([\w-]{1,20})")
WORDS = re.compile(
    r"on|off|true|false|replica|minimal|logical|always|none|wal|full|normal|delete|memory|extra|read[- ]committed",
    re.IGNORECASE,
)
# What a manual has for a value: "--innodb-data-file-path=name".
PLACEHOLDERS = frozenset(
    ("name", "value", "path", "file", "dir", "size", "number", "string", "num", "the", "a", "an", "your")
)
# A sentence that asks, denies, advises or compares says not what was set.
OPEN = re.compile(
    r"\?|\b(?:not|never|no longer|without|would|could|should|if|unless|instead of|avoid|trade-?offs?|versus|vs|unlike"
    r"|rather than|recommend\w*|n't)\b|n't\b|\u2248",
    re.IGNORECASE,
)
# A heading of what one might set, and a sentence before a block of it: that is not what was in force.
ADVICE = re.compile(
    r"recommend|suggest|advice|\btips?\b|best practices?|troubleshoot|\bfaq\b|next steps?|future|to-?do\b|"
    r"further (?:work|tuning)|alternatives?\b|\bideas?\b|\boptional|for example\b|\be\.g\.|"
    r"you (?:could|might|should)\b|\bconsider\b|recomend|recommand|empfehl|sugerenc|sugest|\bdicas?\b|consejos?\b|"
    r"рекоменд|совет|建议|建議|推荐|推薦|推奨|권장",
    re.IGNORECASE,
)
SENTENCE_WORDS = 4
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
    said: list[tuple[int, str, str]] = []  # lines of sentences, with the heading above
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
            lines = token.content.split("\n")
            said += [(line + n, text, heading) for n, text in enumerate(lines)]
            before = lines[-1][-LINE_MAX:]
        at += 1
    yield from _sentences(said, file)


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
        whole = list(blocks.of_lines(lines, file, first, heading))
        yield from whole
        if not whole:
            yield from _sentences([(first + n, text, heading) for n, text in enumerate(lines)], file)


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


def _sentences(lines: Iterable[tuple[int, str, str]], file: File) -> Iterator[Configuration]:
    """Settings named in a sentence or a list with what they are set to; of the engine that alone has such a name."""
    groups: dict[EngineName, list[Setting]] = defaultdict(list)
    for number, line, heading in lines:
        head = line[:LINE_MAX]
        if OPEN.search(head) and len(head.split(None, SENTENCE_WORDS)) > SENTENCE_WORDS:
            continue
        found: list[tuple[str, str]] = []
        engines = set()
        for match in SAID.finditer(head):
            name, mark, written = known.spelled(match[2]), match[3], match[4]
            value = known.value(written)
            word = written[:1].isalpha()
            if value.lower() in PLACEHOLDERS:
                continue
            if word and mark != "=" and not WORDS.fullmatch(value):
                continue
            found.append((name, value))
            if (engine := known.owner(name)) and (mark == "=" or not word or "`" in head):
                engines.add(engine)
            # A name that others have too counts in backquotes beside the engine's.
            said = known.called(head[:300]) if mark == "=" and "`" in head else None
            if said and known.has(said, name):
                engines.add("mysql" if said == "mariadb" else said)
        options = [(known.spelled(m[1]), m[2]) for m in PRAGMA.finditer(head)] if "journal" in head else []
        if any(known.owner(name) == "sqlite" for name, _ in options):
            found += options
            engines.add("sqlite")
        for match in OPTION.finditer(head):
            if (engine := known.owner(match[1])) or known.has("postgresql", match[1]):
                found.append((match[1], match[2]))
                engines.add(engine or "postgresql")
        for engine in engines:
            taken = dict(found)
            for name, value in taken.items():
                if known.has(engine, name) and (known.owner(name) == engine or len(engines) == 1):
                    groups[known.of_family(engine, heading, head)].append(Setting(name, value, file.at(number)))
    for engine, told in groups.items():
        # Of a name that the text gives several values nobody can say which of them is meant.
        if settings := undisputed(told):
            yield Configuration(settings[0].where, engine, "text", settings, source="environment", prose=True)


def _read(file: File) -> Sequence[Part] | None:
    text = known.is_prose(file.base) or file.base.endswith(".txt")
    if not text or file.size > TEXT_MAX or b"\0" in file.head:
        return None
    if not (file.once(known.mentioned_in) or file.once(shell.starts) or QUOTED.search(file.text)):
        return None
    parts: list[Part] = []
    if file.base.endswith((*PLAIN, ".txt")):
        if known.is_prose(file.base):  # of others ``shell`` and ``statements`` read what they can
            parts += _prose(shell.of_lines(file.lines, file))
            parts += _prose(statements.of_lines(file.lines, file))
        parts += _sentences(((number, line, "") for number, line in enumerate(file.lines, start=1)), file)
    else:
        parts = list(_of_markdown(file))
    return parts or None


IMPORTER = Importer("settings in a text", _read, beside=True)
