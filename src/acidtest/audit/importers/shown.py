"""How figures are written: two ways of writing decimals in one file, tables of figures without any unit, and links from
a text to results that nobody can follow."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from acidtest.audit.bench import Statement
from acidtest.audit.importers import tables
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINES_MAX = 20_000
LINE_MAX = 2_000
LINKS_MAX = 200
AROUND = 30  # lines before a table and a few behind it that may say its unit
FIGURES_LEAST = 6
DATA = linear.compile(r".*\.(?:csv|tsv|txt|dat|log|out)")
# Decimals that cannot be thousands: "8,68", "0,2145", "12.5", "34.37425".
COMMA = linear.compile(r"-?\d{1,12},(?:\d{1,2}|\d{4,17})")
POINT = linear.compile(r"-?\d{1,12}\.(?:\d{1,2}|\d{4,17})")
UNIT = linear.compile(
    r"%|\b(?:ms|msec|sec|secs|seconds?|s|us|usec|ns|nsec|min|minutes?|µs|μs|(?:milli|micro|nano)seconds?|tps|qps|"
    r"rps|iops|ops|tpmc?|nopm|hz|[kmgt]i?b(?:/s|ps)?|bytes|mb|gb|kb)\b|/ ?s(?:ec)?\b|\bper (?:second|minute|sec)\b"
    r"|[µμ]s|\b(?:requests|transactions|queries|operations|inserts|reads|writes|rows)(?:/| per )"
    r"|\b\d+(?:\.\d+)?[kmg]?s\b"
    r"|(?:초|秒|сек|мс)",
    linear.I,
)
WORK = linear.compile(
    r"\b(?:reads?|writes?|inserts?|updates?|deletes?|selects?|quer(?:y|ies)|scans?|commits?|load)\b", linear.I
)
COUNTED = linear.compile(
    r"\b(?:count|number|rows|size|version|id|port|score|rank|points|year|date|users|tables|warehouses|percent|ratio|"
    r"times|factor|throughput|rate|operations|transactions|latency|cost|price)\b",
    linear.I,
)
LINK = linear.compile(
    r"\]\(\s*<?([^()\s<>#?:]{3,300}\.(?:md|csv|tsv|json|txt|log|html|xlsx?|ods|pdf|out|dat))>?[^()]{0,100}\)", linear.I
)
# A file of results that is called by its name: in backquotes, in a tree of folders, behind an arrow of a shell.
NAMED = linear.compile(
    r"(?:`|[├└│─] {0,3}|\s>{1,2}\s{0,3}|\btee (?:-a )?)((?:[\w.-]{1,60}/){0,6}[\w.-]{2,80}\."
    r"(?:csv|tsv|jsonl?|txt|log|html|xlsx?|ods|out|dat|parquet))(?:`|\s|$)",
    linear.I,
)
OF_RESULTS = linear.compile(
    r"results?[-_.\d/]|results?$|output|(?:^|[-_./])raw|measure|latenc|timings?|metrics|summary|(?:bench|perf)\w{0,10}[-_](?:out|log|data|runs?)"
    r"|(?:tps|qps|throughput)",
    linear.I,
)
PATTERN_OF_NAMES = linear.compile(r"yyyy|xxx|timestamp|example|sample|template|schema|config|settings", linear.I)
RESULTS = linear.compile(r"result|bench|report|analys|compar|measure|raw|perf|run|summary|finding", linear.I)


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head:
        return None
    if tables.PROSE.fullmatch(file.base):
        return [*_links(file), *_named(file), *_without_unit(file)] or None
    return list(_mixed(file)) or None if DATA.fullmatch(file.base) else None


def _mixed(file: File) -> Iterator[Statement]:
    """The first cell with a decimal comma and the first with a decimal point, of a file that has both."""
    separator = next((one for one in (";", "\t") if one in file.head.decode(errors="replace").split("\n", 1)[0]), None)
    if separator is None:
        return
    first: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(file.lines[:LINES_MAX], start=1):
        for cell in line[:LINE_MAX].split(separator):
            bare = cell.strip().strip('"')
            kind = "comma" if COMMA.fullmatch(bare) else "point" if POINT.fullmatch(bare) else ""
            if kind:
                first.setdefault(kind, (number, bare))
        if len(first) > 1:
            for at, bare in sorted(first.values()):
                yield Statement(file.at(at), "decimals-mixed", bare)
            return


def _without_unit(file: File) -> Iterator[Statement]:
    """Tables of work that is done, in which and around which nothing says in what the figures count."""
    lines = file.lines
    for table in tables.of_file(file):
        cells = [cell for row in table.rows for cell in row.cells[1:] if cell]
        figures = [cell for cell in cells if tables.is_numeric(cell)]
        labels = " ".join((*table.head, *(row.cells[0] for row in table.rows)))
        if len(figures) < FIGURES_LEAST or 2 * len(figures) < len(cells) or len(set(WORK.findall(labels.lower()))) < 2:
            continue
        around = lines[max(0, table.line - 1 - AROUND) : table.last + 5]
        said = "\n".join(line[:LINE_MAX] for line in around)
        if not UNIT.search(said) and not COUNTED.search(labels):
            yield Statement(file.at(table.line), "unit-missing", " | ".join(filter(None, table.head))[:200])


def _links(file: File) -> Iterator[Statement]:
    """Links to files of results below the kit, by their names from its top."""
    seen: set[str] = set()
    for number, line in enumerate(file.lines, start=1):
        for match in LINK.finditer(line[:LINE_MAX]):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file.name), unquote(match[1])))
            if not target.startswith(("..", "/")) and RESULTS.search(target) and target not in seen:
                seen.add(target)
                yield Statement(file.at(number), "link", target)
                if len(seen) == LINKS_MAX:
                    return


def _named(file: File) -> Iterator[Statement]:
    """Files of results that the text calls by name, but for patterns of names."""
    seen: set[str] = set()
    for number, line in enumerate(file.lines, start=1):
        for match in NAMED.finditer(line[:LINE_MAX]):
            name = posixpath.basename(match[1])
            if name not in seen and OF_RESULTS.search(match[1]) and not PATTERN_OF_NAMES.search(match[1]):
                seen.add(name)
                yield Statement(file.at(number), "named result", name)
                if len(seen) == LINKS_MAX:
                    return


IMPORTER = Importer("text", _read, beside=True)
