"""What of a file holds figures or settings that nobody parsed. It is said, so that rules that are silent for want of it
are not taken for praise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest.audit import settings
from acidtest.audit.bench import Configuration, Database, LogEntry, Published
from acidtest.audit.finding import Evidence
from acidtest.audit.importers import tables
from acidtest.audit.importers.file import File, Part, Spent

LINES_MAX = 20_000
LINE_MAX = 2_000
# What computes or draws, and what a build needs: no figures of a run.
SOURCE = re.compile(
    r".*\.(?:py|pyi|pyx|js|mjs|cjs|jsx|ts|tsx|go|java|kt|scala|groovy|gradle|c|h|cc|cpp|cxx|hpp|cs|fs|vb|rs|rb|php|pl|pm|"
    r"lua|r|jl|swift|m|sql|psql|ddl|pls|pas|dpr|lpr|dfm|asm|css|scss|less|svg|vue|svelte|tcl|awk|sed|bat|cmd|ps1|sh|bash|"
    r"zsh|fish|tf|tfvars|hcl|bicep|gnuplot|gp|plt|tex|bib|lock|sum|mod|csproj|sln|xsd|xsl|xslt|proto|thrift|po|pot|ipynb|"
    r"map|toml|j2|tpl|tmpl|template|cmake|mk|dockerfile|editorconfig|gitignore|license)"
    r"|dockerfile.*|makefile.*|license.*|copying.*|notice.*|authors.*|changelog.*|vagrantfile|jenkinsfile|gemfile.*|"
    r"package(?:-lock)?\.json|tsconfig.*\.json|composer\.json|requirements.*\.txt|yarn\.lock|cmakelists\.txt|\.[a-z].*"
)
CONFIGURES = re.compile(r".*\.(?:ya?ml|conf|cnf|ini|cfg|env|properties|xml)(?:\.\w+)?")
PACKED = re.compile(r".*\.(?:log|csv|tsv|txt|json|out|jtl|res|result|dat)\.(?:gz|xz|bz2|zst|zip|7z)")
# By their first bytes: spreadsheets of Excel before 2007 and since, of OpenDocument; PDF; Parquet.
SHEETS: tuple[tuple[bytes, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "a spreadsheet or an old document of Office"),
    (b"%PDF-", "a PDF"),
    (b"PAR1", "a table in Parquet"),
)
IN_ZIP = ((b"xl/", "a spreadsheet"), (b"opendocument.spreadsheet", "a spreadsheet"), (b"word/", "a document"))
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
CELLS = re.compile(r"[\s|;,]{1,40}")
SPEAKS = re.compile(r"bench|result|qps|tps|latenc|throughput|seconds|iops|perf", re.IGNORECASE)
ROWS_NEEDED = 5
TIMES_NEEDED, SETTINGS_NEEDED = 3, 2


def of_file(file: File, kind: str, parts: Sequence[Part]) -> list[Evidence]:
    """What nobody parsed of one file; ``kind`` is what it was understood as, "" if as nothing."""
    try:
        return list(_of(file, kind, parts))
    except (OSError, Spent):
        return []  # it is said elsewhere that it was not read


def _of(file: File, kind: str, parts: Sequence[Part]) -> Iterator[Evidence]:
    figures = any(isinstance(part, Published | LogEntry | Configuration | Database) for part in parts)
    if tables.PROSE.fullmatch(file.base):
        yield from _in_prose(file, parts)
    elif figures or kind not in ("", "text") or SOURCE.fullmatch(file.base):
        return
    elif PACKED.fullmatch(file.base):
        yield Evidence("is packed, and was not looked into", file.name)
    elif sheet := _sheet(file):
        yield Evidence(f"is {sheet}, which is not read here", file.name)
    elif b"\0" not in file.head[:4096] or file.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield from _in_text(file)


def _sheet(file: File) -> str:
    head = file.head
    named = next((name for magic, name in SHEETS if head.startswith(magic)), "")
    if not named and head.startswith(b"PK\x03\x04"):
        named = next((name for inside, name in IN_ZIP if inside in head), "")
    return named


# ------------------------------------------------------------------------------------------------------------- texts


def _in_prose(file: File, parts: Sequence[Part]) -> Iterator[Evidence]:
    """Its tables of figures that no part was read from."""
    read = {part.where.line for part in parts if isinstance(part, Published | Configuration)}
    read |= {one.where.line for part in parts if isinstance(part, Configuration) for one in part.settings}
    for table in tables.of_file(file):
        if not any(line is not None and table.line <= line <= table.last for line in read) and _measures(table):
            yield Evidence(_shown("a table of figures", table), file.name, table.line)


def _in_text(file: File) -> Iterator[Evidence]:
    if found := _json(file):
        yield found
        return
    lines = file.first_lines[:LINES_MAX]
    table = next((one for one in tables.delimited(lines) if _measures(one)), None)
    if table is not None:
        yield Evidence(_shown("a table of figures", table), file.name, table.line)
        return
    if not CONFIGURES.fullmatch(file.base) and (figures := _rates(lines)):
        yield Evidence(f"holds figures: {figures[1]}", file.name, figures[0])
    elif not CONFIGURES.fullmatch(file.base) and (rows := _rows(lines, file.name)):
        yield Evidence(f"holds rows of figures: {rows[1]}", file.name, rows[0])
    if setting := _settings(lines):
        yield Evidence(f"holds settings: {setting[1]}", file.name, setting[0])


def _json(file: File) -> Evidence | None:
    text = file.head[: 1 << 16].decode(errors="replace")
    if text.lstrip()[:1] not in ("{", "["):
        return None
    found = KEYED.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return Evidence(f"holds figures: {' '.join(found[0].split())[:80]}…", file.name, line)


def _rates(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first line with a rate, or the first of several with a time."""
    first: tuple[int, str] | None = None
    timed = 0
    for number, line in enumerate(lines, start=1):
        bare = line[:LINE_MAX]
        if RATED.search(bare):
            return number, " ".join(bare.split())[:80]
        if TIMED.search(bare):
            timed += 1
            first = first or (number, " ".join(bare.split())[:80])
    return first if timed >= TIMES_NEEDED else None


def _rows(lines: Sequence[str], name: str) -> tuple[int, str] | None:
    """The first of several lines that are mostly figures, in a file that speaks of a measurement."""
    run = 0
    for number, line in enumerate(lines, start=1):
        cells = CELLS.split(line[:LINE_MAX].strip(" |\t"))
        numeric = sum(map(tables.is_numeric, cells))
        run = run + 1 if numeric >= 2 and 2 * numeric >= len(cells) else 0
        if run >= ROWS_NEEDED:
            said = f"{name}\n" + "\n".join(one[:LINE_MAX] for one in lines[:200])
            if not SPEAKS.search(said):
                return None
            first = number - ROWS_NEEDED + 1
            return first, " ".join(lines[first - 1][:LINE_MAX].split())[:80]
    return None


def _settings(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first of several lines that set what an engine's manual knows."""
    known = {
        name.replace("-", "_")
        for engine in ("firebird", "postgresql", "mysql", "mariadb")
        for name in settings.of(engine).known
    }
    first: tuple[int, str] | None = None
    count = 0
    for number, line in enumerate(lines, start=1):
        match = ASSIGNED.match(line[:LINE_MAX])
        if match and match[1].lower().replace("-", "_").removeprefix("loose_") in known:
            count += 1
            first = first or (number, " ".join(line.split())[:80])
    return first if count >= SETTINGS_NEEDED else None


def _measures(table: tables.Table) -> bool:
    """Whether it has figures, and words that measure something."""
    filled = [cell for row in table.rows for cell in row.cells[1:] if cell]
    numeric = sum(tables.is_numeric(cell.split(" ")[0]) for cell in filled)
    if numeric < 2 or 3 * numeric < len(filled):
        return False
    said = " ".join(
        (
            *table.head,
            table.caption.splitlines()[-1] if table.caption else "",
            *(row.cells[0] for row in table.rows[:50] if row.cells),
        )
    )
    return HEADED.search(said.replace("_", " ")) is not None


def _shown(what: str, table: tables.Table) -> str:
    return f"{what}: {' | '.join(cell for cell in table.head if cell)[:100]}"
