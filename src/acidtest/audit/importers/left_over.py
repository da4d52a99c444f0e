"""What of a file holds figures or settings that nobody parsed. It is said, so that rules that are silent for want of it
are not taken for praise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest import settings
from acidtest.audit.bench import Configuration, Database, LogEntry, Published
from acidtest.audit.importers import tables
from acidtest.audit.importers.file import File, Part, Spent
from acidtest.finding import Evidence
from acidtest.formats import linear

LINES_MAX = 20_000
COMMAND = "command of a benchmark"
REPORT = linear.compile(r".*\.(?:html?|json|log|out|res)")
LINE_MAX = 2_000
# What computes or draws, and what a build needs: no figures of a run.
SOURCE = linear.compile(
    r".*\.(?:py|pyi|pyx|js|mjs|cjs|jsx|ts|tsx|go|java|kt|scala|groovy|gradle|c|h|cc|cpp|cxx|hpp|cs|fs|vb|rs|rb|php|pl|pm|"
    r"lua|r|jl|swift|m|sql|psql|ddl|pls|pas|dpr|lpr|dfm|asm|css|scss|less|svg|vue|svelte|tcl|awk|sed|bat|cmd|ps1|sh|bash|"
    r"zsh|fish|tf|tfvars|hcl|bicep|gnuplot|gp|plt|tex|bib|lock|sum|mod|csproj|sln|xsd|xsl|xslt|proto|thrift|po|pot|ipynb|"
    r"map|toml|j2|tpl|tmpl|template|cmake|mk|dockerfile|editorconfig|gitignore|license)"
    r"|dockerfile.*|makefile.*|license.*|copying.*|notice.*|authors.*|changelog.*|vagrantfile|jenkinsfile|gemfile.*|"
    r"package(?:-lock)?\.json|tsconfig.*\.json|composer\.json|requirements.*\.txt|yarn\.lock|cmakelists\.txt|\.[a-z].*"
)
CONFIGURES = linear.compile(r".*\.(?:ya?ml|conf|cnf|ini|cfg|env|properties|xml)(?:\.\w+)?")
HEAD_OF_TEXT = 4_096
HEADING = linear.compile(r"\s*(?:#{1,6}\s.*|[=\-~^*]{3,}\s*|<!--.*-->\s*)?")
PACKED = linear.compile(
    r".*\.(?:log|csv|tsv|txt|json|out|jtl|res|result|dat)\.(?:gz|xz|bz2|zst|zip|7z)"
    r"|.*(?:bench|result|perf|log|report|output|sysbench|pgbench|fio|hammerdb|tpc|ycsb|iostat|vmstat|stats|raw|data).*"
    r"\.(?:tgz|tbz2?|txz|tar|tar\.\w{2,4}|zip|7z|rar|gz|xz|bz2|zst)"
)
# By their first bytes, or by what lies in a ZIP: documents of Office and of OpenDocument, PDF, Parquet.
SHEETS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\xd0\xcf\x11\xe0"), "a spreadsheet or an old document of Office"),
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"PAR1"), "a table in Parquet"),
    (re.compile(rb"PK\x03\x04(?s:.*)(?:xl/|opendocument\.spreadsheet)"), "a spreadsheet"),
    (re.compile(rb"PK\x03\x04(?s:.*)word/"), "a document"),
)  # fmt: skip
MEASURE = (
    r"tps|tpmc?|nopm|qps|rps|iops|ops|latenc(?:y|ies)|lat|throughput|percentile|p50|p9\d|p99[._]?9|median|stddev|"
    r"response[_ ]?time|elapsed|bandwidth|transactions?|queries|requests|duration[_ ]?m?s|runtime|avg|mean|"
    r"(?:ops|req|requests|queries|rows|transactions|operations|inserts|reads|writes|events)"
    r"[ _]?(?:/|per)[ _]?s(?:ec(?:ond)?)?"
)
HEADED = re.compile(
    rf"(?<![a-z0-9])(?:{MEASURE}|(?:time|latency|duration)[ _(\[]*(?:ms|us|µs|ns|s|sec|seconds)\b)(?![a-z])",
    re.IGNORECASE,
)
KEYED = re.compile(
    rf'"[^"\n]{{0,40}}(?<![a-z])(?:{MEASURE})(?![a-z])[^"\n]{{0,40}}"\s{{0,3}}:\s{{0,9}}"?-?\d', re.IGNORECASE
)
RATED = re.compile(
    r"(?<![\w.,])\d[\d.,]{0,20}+ ?[kKM]?(?:tps|tpmc?|nopm|qps|rps|iops|ops/s(?:ec)?|op/s|req(?:uests)?/s(?:ec)?|"
    r"(?:queries|rows|transactions|operations|inserts|messages|events|records)(?:/| per )s(?:ec(?:ond)?)?"
    r"|[KMG]i?B/s(?:ec)?)"
    r"(?![\w/])|(?<![\w.])(?:tps|qps|tpmc?|nopm|iops|rps|ops/s(?:ec)?|throughput)\s{0,9}[:=]\s{0,9}\d",
    re.IGNORECASE,
)
TIMED = re.compile(
    r"(?:latenc|average|avg|mean|median|p\d\d|took|elapsed|duration|time|total|max)[^\n\d]{0,40}\d[\d.,]{0,20} ?"
    r"(?:ms|µs|us|usecs?|msecs?|s|secs?|seconds)\b",
    re.IGNORECASE,
)
ASSIGNED = re.compile(
    r"[\s\-'\"*|`]{0,20}(?:loose[-_]|--)?([A-Za-z][\w.\-]{3,60})['\"`]?\s{0,20}[=:|]\s{0,20}['\"`]?[\w.\-/]"
)
TIMES_NEEDED, SETTINGS_NEEDED = 3, 2
TOLD_MAX = 50  # of a text


def of_file(file: File, kind: str, parts: Sequence[Part]) -> list[Evidence]:
    """What nobody parsed of one file; ``kind`` is what it was understood as, "" if as nothing."""
    try:
        return list(_of(file, kind, parts))[:TOLD_MAX]
    except (OSError, Spent):
        return []  # it is said elsewhere that it was not read


def only_words(file: File, kind: str, parts: Sequence[Part]) -> bool:
    """Whether a file that counts as a text is none, or an empty one: nothing but words was found in it, and whatever
    else it holds, nobody has read it."""
    if kind != "text" or _has_figures(parts):
        return False
    prose, readme = tables.PROSE.fullmatch(file.base), file.base.startswith("readme")
    headings_alone = file.size < HEAD_OF_TEXT and all(HEADING.fullmatch(line[:LINE_MAX]) for line in file.first_lines)
    return not file.size or bool(prose and not readme and headings_alone) or not (prose or file.base.endswith(".txt"))


def _has_figures(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, Published | LogEntry | Configuration | Database) for part in parts)


def _of(file: File, kind: str, parts: Sequence[Part]) -> Iterator[Evidence]:
    if tables.PROSE.fullmatch(file.base):
        yield from _in_prose(file, parts)
        return
    # Of a report nothing may be known but the command that it quotes.
    asked = kind == COMMAND and all(part.planned for part in parts if isinstance(part, Published))
    known = (_has_figures(parts) or kind not in ("", "text")) and not (asked and REPORT.fullmatch(file.base))
    if known or SOURCE.fullmatch(file.base):
        return
    if PACKED.fullmatch(file.base):
        yield Evidence("is packed, and was not looked into", file.name)
    elif sheet := next((name for begins, name in SHEETS if begins.match(file.head)), ""):
        yield Evidence(f"is {sheet}, which is not read here", file.name)
    elif b"\0" not in file.head[:4096] or file.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield from _in_text(file)


def _in_prose(file: File, parts: Sequence[Part]) -> Iterator[Evidence]:
    """Its tables and blocks of figures that no part was read from."""
    read = {part.where.line for part in parts if isinstance(part, Published | Configuration)}
    read |= {setting.where.line for part in parts if isinstance(part, Configuration) for setting in part.settings}
    read.discard(None)
    told: set[int] = set()  # lines of tables
    for table in tables.of_file(file):
        lines = range(table.line, table.last + 1)
        if read.isdisjoint(lines) and _measures(table):
            told.update(lines)
            yield _table(table, file)
    if file.base.endswith((".html", ".htm", ".xhtml")):
        if not read and not told and (keyed := _keyed(file)):
            yield keyed
        return
    lines_of_text = file.first_lines if file.size > len(file.head) else file.lines
    for begin, end in tables.blocks(lines_of_text):
        if (read | told).isdisjoint(range(begin, end + 2)):
            block = lines_of_text[begin:end]
            if found := _rates(block) or _settings(block):
                yield Evidence(f"a block of figures or settings: {found[1]}", file.name, begin + found[0])


def _in_text(file: File) -> Iterator[Evidence]:
    if file.head.lstrip()[:1] in (b"{", b"[") and (keyed := _keyed(file)):
        yield keyed
        return
    lines = file.first_lines[:LINES_MAX]
    if table := next((table for table in tables.delimited(lines) if _measures(table)), None):
        yield _table(table, file)
        return
    if not CONFIGURES.fullmatch(file.base) and (figures := _rates(lines)):
        yield Evidence(f"holds figures: {figures[1]}", file.name, figures[0])
    if setting := _settings(lines):
        yield Evidence(f"holds settings: {setting[1]}", file.name, setting[0])


def _keyed(file: File) -> Evidence | None:
    """The first figure that a key of JSON calls a measurement."""
    text = file.head[: 1 << 16].decode(errors="replace")
    found = KEYED.search(text)
    line = text.count("\n", 0, found.start()) + 1 if found else None
    return Evidence(f"holds figures: {_quoted(found[0])}…", file.name, line) if found else None


def _quoted(line: str) -> str:
    return " ".join(line[:LINE_MAX].split())[:80]


def _rates(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first line with a rate, or the first of several with a time."""
    timed = []
    for number, line in enumerate(lines, start=1):
        if RATED.search(line[:LINE_MAX]):
            return number, _quoted(line)
        if TIMED.search(line[:LINE_MAX]):
            timed.append((number, _quoted(line)))
    return timed[0] if len(timed) >= TIMES_NEEDED else None


def _settings(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first of several lines that set what an engine's manual knows."""
    engines = map(settings.of, ("firebird", "postgresql", "mysql", "mariadb"))
    known = {name.replace("-", "_") for engine in engines for name in engine.known}
    found = []
    for number, line in enumerate(lines, start=1):
        match = ASSIGNED.match(line[:LINE_MAX])
        if match and match[1].lower().replace("-", "_").removeprefix("loose_") in known:
            found.append((number, _quoted(line)))
    return found[0] if len(found) >= SETTINGS_NEEDED else None


def _measures(table: tables.Table) -> bool:
    """Whether it has figures, and words that measure something."""
    cells = [cell for row in table.rows for cell in row.cells[1:] if cell]
    numeric = sum(tables.is_numeric(cell.split(" ")[0]) for cell in cells)
    words = " ".join((*table.head, *(row.cells[0] for row in table.rows[:50] if row.cells))).replace("_", " ")
    return numeric >= 2 and 3 * numeric >= len(cells) and HEADED.search(words) is not None


def _table(table: tables.Table, file: File) -> Evidence:
    head = " | ".join(cell for cell in table.head if cell)[:100]
    return Evidence(f"a table of figures: {head}", file.name, table.line)
