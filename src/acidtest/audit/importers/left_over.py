"""What of a file holds figures or settings that nobody parsed. It is said, so that rules that are silent for want of it
are not taken for praise."""

from __future__ import annotations

import re
from bisect import bisect_left
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
SOURCE = re.compile(
    r".*\.(?:py|pyi|pyx|js|mjs|cjs|jsx|ts|tsx|go|java|kt|scala|groovy|gradle|c|h|cc|cpp|cxx|hpp|cs|fs|vb|rs|rb|php|pl|pm|"
    r"lua|r|jl|swift|m|sql|psql|ddl|pls|pas|dpr|lpr|dfm|asm|css|scss|less|svg|vue|svelte|tcl|awk|sed|bat|cmd|ps1|sh|bash|"
    r"zsh|fish|tf|tfvars|hcl|bicep|gnuplot|gp|plt|tex|bib|lock|sum|mod|csproj|sln|xsd|xsl|xslt|proto|thrift|po|pot|ipynb|"
    r"map|toml|j2|tpl|tmpl|template|cmake|mk|dockerfile|editorconfig|gitignore|license)"
    r"|dockerfile.*|makefile.*|license.*|copying.*|notice.*|authors.*|changelog.*|vagrantfile|jenkinsfile|gemfile.*|"
    r"package(?:-lock)?\.json|tsconfig.*\.json|composer\.json|requirements.*\.txt|yarn\.lock|cmakelists\.txt|\.[a-z].*"
)
CONFIGURES = re.compile(r".*\.(?:ya?ml|conf|cnf|ini|cfg|env|properties|xml)(?:\.\w+)?")
PAGE_MAX = 4 << 20
PICTURE = linear.compile(r"[\w+/=]{100,}")  # as it stands in a page
HEAD_OF_TEXT = 4_096
# Headings of a table that a page's script makes.
HEADS = linear.compile(r"[\"'](?:tps|qps|nopm|tpm|throughput|latency(?:[ _]\w{1,12})?|ops/s(?:ec)?)[\"']", linear.I)
PACKED = linear.compile(
    r".*\.(?:log|csv|tsv|txt|json|out|jtl|res|result|dat)\.(?:gz|xz|bz2|zst|zip|7z)"
    r"|.*(?:bench|result|perf|log|report|output|sysbench|pgbench|fio|hammerdb|tpc|ycsb|iostat|vmstat|stats|raw|data).*"
    r"\.(?:tgz|tbz2?|txz|tar|tar\.\w{2,4}|zip|7z|rar|gz|xz|bz2|zst)"
)
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
CELLS = re.compile(r"[\s|;,│┃║]{1,40}")
SPEAKS = re.compile(r"bench|result|qps|tps|latenc|throughput|seconds|iops|perf", re.IGNORECASE)
# A label and one figure, as programs list what they have counted: "insert - first      -     1021".
LISTED = linear.compile(r"\s*[A-Za-z0-9][^\d\n]{0,80}[^\n]{0,120}[\s:=]\d[\d.,]{0,30} ?[A-Za-zµ/%]{0,8}\s*")
OF_RESULTS = re.compile(
    r"bench|result|perf|report|summary|output|measure|(?:^|[/_.-])(?:out|res|stats?)(?:[/_.-]|$)", re.IGNORECASE
)
README = re.compile(r"readme")
NO_TEXT_OF_RESULTS = re.compile(r"(?:requirements|constraints|robots|cmakelists|license|todo|manifest).*")
HEADING = linear.compile(r"\s*(?:#{1,6}\s.*|[=\-~^*]{3,}\s*|<!--.*-->\s*)?")
# What measures, where no unit stands: kinds of work and how many do it.
WORK = linear.compile(
    r"\b(?:reads?|writes?|inserts?|updates?|deletes?|selects?|scans?|quer(?:y|ies)|random|sequential|commits?|"
    r"threads?|clients?|connections?|terminals?|users|workloads?|oltp|tpc[-_]?[bch]|mixed|r/w|rw)\b",
    linear.I,
)
NO_FIGURES = linear.compile(
    r"\b(?:version|ports?|years?|dates?|price|cost|usd|default|recommended|parameters?|settings?|options?|id|type|"
    r"vcpus?|cores?|ram|memory|columns?|description|spec|value|unit)\b",
    linear.I,
)
ROWS_NEEDED, LISTED_NEEDED = 5, 8
TIMES_NEEDED, SETTINGS_NEEDED, RATES_NEEDED = 3, 2, 3
CELLS_NEEDED = 6  # figures of a table that says no unit
BLOCKS_MAX = 50  # of a text that are told of


def of_file(file: File, kind: str, parts: Sequence[Part]) -> list[Evidence]:
    """What nobody parsed of one file; ``kind`` is what it was understood as, "" if as nothing."""
    try:
        return list(_of(file, kind, parts))
    except (OSError, Spent):
        return []  # it is said elsewhere that it was not read


def only_words(file: File, kind: str, parts: Sequence[Part]) -> bool:
    """Whether a file that counts as a text is none, or an empty one: nothing but words was found in it, and whatever
    else it holds, nobody has read it."""
    if kind != "text" or _has_figures(parts):
        return False
    if not file.size or (tables.PROSE.fullmatch(file.base) and not README.match(file.base) and _is_bare(file)):
        return True
    return not (tables.PROSE.fullmatch(file.base) or file.base.endswith(".txt"))


def _is_bare(file: File) -> bool:
    """Whether a text has headings alone."""
    return file.size < HEAD_OF_TEXT and all(HEADING.fullmatch(line[:LINE_MAX]) for line in file.first_lines)


def _has_figures(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, Published | LogEntry | Configuration | Database) for part in parts)


def _asks_alone(file: File, kind: str, parts: Sequence[Part]) -> bool:
    """Whether of a report nothing is known but the command that it quotes."""
    asked = all(part.planned for part in parts if isinstance(part, Published))
    return kind == COMMAND and asked and REPORT.fullmatch(file.base) is not None


def _of(file: File, kind: str, parts: Sequence[Part]) -> Iterator[Evidence]:
    if tables.PROSE.fullmatch(file.base):
        yield from _in_prose(file, parts)
    elif SOURCE.fullmatch(file.base) or (
        (_has_figures(parts) or kind not in ("", "text")) and not _asks_alone(file, kind, parts)
    ):
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
    """Its tables and blocks of figures that no part was read from, and what stands in its lines if nothing else was."""
    read = {part.where.line for part in parts if isinstance(part, Published | Configuration)}
    read |= {one.where.line for part in parts if isinstance(part, Configuration) for one in part.settings}
    known = sorted(line for line in read if line is not None)
    passed: list[tuple[int, int]] = []  # the lines of tables and blocks
    told = 0
    for table in tables.of_file(file):
        passed.append((table.line, table.last))
        if not _within(known, table.line, table.last) and (_measures(table) or _compares(table)):
            yield Evidence(_shown("a table of figures", table), file.name, table.line)
            told += 1
    if file.base.endswith((".html", ".htm", ".xhtml")):
        if not known and not told:
            yield from _in_page(file)
        return
    lines = file.first_lines if file.size > len(file.head) else file.lines
    for begin, end in _blocks(lines):
        inside = any(one[0] <= end and begin <= one[1] for one in passed if one[1] > one[0] and told)
        passed.append((begin, end))
        if told >= BLOCKS_MAX or inside or _within(known, begin, end):
            continue
        block = lines[begin : end - 1]
        found = _rates(block) or _rows(block, file.name) or _settings(block)
        if found:
            yield Evidence(f"a block of figures or settings: {found[1]}", file.name, begin + found[0])
            told += 1
    if not known and not told:
        yield from _in_lines(file, lines, passed)


def _in_lines(file: File, lines: Sequence[str], passed: Sequence[tuple[int, int]]) -> Iterator[Evidence]:
    """Of a text of which nothing was read: rates that its own lines give, and settings that they list."""
    outside = list(lines[:LINES_MAX])
    for begin, end in passed:
        outside[begin - 1 : end] = [""] * len(outside[begin - 1 : end])
    rated = [(at, line) for at, line in enumerate(outside, start=1) if RATED.search(line[:LINE_MAX])]
    if len(rated) >= RATES_NEEDED:
        yield Evidence(f"holds figures: {' '.join(rated[0][1][:LINE_MAX].split())[:80]}", file.name, rated[0][0])
    elif found := _rows(outside, file.name) or _settings(outside):
        yield Evidence(f"holds figures or settings: {found[1]}", file.name, found[0])


def _in_page(file: File) -> Iterator[Evidence]:
    """Of a page in HTML: what its scripts hold, and what its own words give."""
    text = PICTURE.sub(lambda match: " " * len(match[0]), file.text[:PAGE_MAX])
    if (match := KEYED.search(text) or HEADS.search(text)) is not None:
        yield Evidence(
            f"holds figures: {' '.join(match[0].split())[:80]}", file.name, text.count("\n", 0, match.start()) + 1
        )
    elif found := _rates([tables.ANY_TAG.sub(" ", line[:LINE_MAX]) for line in text.split("\n", LINES_MAX)]):
        yield Evidence(f"holds figures: {found[1]}", file.name, found[0])


def _within(known: Sequence[int], begin: int, end: int) -> bool:
    at = bisect_left(known, begin)
    return at < len(known) and known[at] <= end


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of each fence, from the first to the last."""
    begin: int | None = None
    for at, line in enumerate(lines, start=1):
        if tables.FENCE.match(line):
            if begin is not None and at - begin > 1:
                yield begin, at
            begin = at if begin is None else None
    if begin is not None and len(lines) > begin:
        yield begin, len(lines) + 1


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
    elif not CONFIGURES.fullmatch(file.base) and (listed := _listed(lines, file)):
        yield Evidence(f"holds a list of figures: {listed[1]}", file.name, listed[0])
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


def _listed(lines: Sequence[str], file: File) -> tuple[int, str] | None:
    """The first of many lines in a row with a label and a figure each, in a file that is named as results are."""
    if not OF_RESULTS.search(file.name) or NO_TEXT_OF_RESULTS.fullmatch(file.base):
        return None
    run = 0
    for number, line in enumerate(lines, start=1):
        run = run + 1 if LISTED.fullmatch(line[:LINE_MAX]) else 0
        if run >= LISTED_NEEDED:
            first = number - LISTED_NEEDED + 1
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


def _compares(table: tables.Table) -> bool:
    """Whether it is of figures alone, under or beside kinds of work: their unit stands somewhere else, or nowhere."""
    cells = [cell for row in table.rows for cell in row.cells[1:] if cell]
    numeric = sum(tables.is_numeric(cell) for cell in cells)
    if numeric < CELLS_NEEDED or 4 * numeric < 3 * len(cells):
        return False
    said = " ".join((*table.head, table.caption, *(row.cells[0] for row in table.rows[:50] if row.cells)))
    return WORK.search(said) is not None and NO_FIGURES.search(" ".join(table.head)) is None


def _shown(what: str, table: tables.Table) -> str:
    return f"{what}: {' | '.join(cell for cell in table.head if cell)[:100]}"
