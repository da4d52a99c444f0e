"""Lines of texts and outputs that tell a figure of a measurement, whoever wrote them and in whatever form.

They are no results that rules compute with: that is for the importers of tools and tables. They show that a kit
publishes figures at all, and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20
TEXT_MAX = 1 << 20  # characters of a file that are looked through
LINES_OF_A_FILE = 4
LINE_MAX = 300
TEXT = linear.compile(
    r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|txt|log|out|csv|tsv|html?|json|res|result|results|dat|"
    r"stats?|summary)|[^.]+"
)
NO_TEXT = linear.compile(
    r"(?:requirements|constraints|robots|cmakelists|todo|license|licence|copying|notice|changelog|"
    r"contributing|security|"
    r"code_of_conduct|package|package-lock|tsconfig|composer|renovate|makefile|justfile|dockerfile|"
    r"vagrantfile|jenkinsfile|gemfile|procfile|run|bench|install|setup)"
    r"(?:\..*)?"
)
WHAT = (
    r"transactions?|txn?s?|trx|queries|operations|rows|inserts?|updates?|deletes?|selects?|reads?|writes?|commits|"
    r"requests|records|documents|docs|messages|events|keys"
)
RATE = (
    r"(?:k?tps|tpm-?c?|nopm|k?qps|k?rps|k?iops|ops/s(?:ec)?|op/s|req/s|tx/s|txns?/s|"
    rf"(?:{WHAT}) ?(?:/|per) ?s(?:ec(?:ond)?)?)"
)
LASTED = (
    r"(?:took|takes|elapsed|duration|completed|total time|exec(?:ution)? time|run ?time|time taken|real|wall|average|"
    r"avg|mean|median|latency|lat|p5\d|p9\d|best|worst)"
)
FIGURE = linear.compile(
    rf"(?:^|[^\w.,/-])\d[\d.,' ]{{0,20}} ?[kKM]? ?{RATE}(?:[^\w/]|$)"
    rf"|(?:^|[^\w]){RATE}(?: ?\([^()\n]{{1,40}}\))?[*_`|\"' ]{{0,6}}(?:=|:|was|is|of|\|)[*_`|\"'~≈ ]{{0,9}}\d"
    rf"|(?:^|[^\w]){RATE} ?\([^()\n]{{1,40}}\)[*_`|\"' :=]{{0,6}}\d"
    r"|\d ns/op\b|\bsec/op\b|\b(?:avg|mean|median|p9\d|9\d(?:th)?)\s?[=:]\s?\d"
    r"|\b(?:throughput|avg_thr)[^\d\n]{0,40}\d|\b(?:IOPS|latency|bandwidth|"
        r"throughput)\b[^\n\d]{0,40}\n[^\n\d]{0,40}\d"
    rf"|(?:^|[^\w]){LASTED}(?:[^\w\d\n][^\d\n]{{0,30}}|[^\w\n]?)\d[\d.,]{{0,20}} ?(?:ns|µs|μs|us|ms|s|secs?|"
        rf"seconds|min|minutes)(?:[^\w/]|$)"
    r"|\d[\d.,]{0,12} ?(?:per sec\.?|/s|[KMG]i?B/s)(?:[^\w]|$)",
    linear.I | linear.M,
)  # fmt: skip


def _read(file: File) -> Sequence[Statement] | None:
    if not TEXT.fullmatch(file.base) or NO_TEXT.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return list(_lines(file)) or None


def _lines(file: File) -> Iterator[Statement]:
    text = file.text[:TEXT_MAX]
    number, counted, last = 1, 0, -1
    found = 0
    for match in FIGURE.finditer(text):
        at = match.start() + (text[match.start()] == "\n")
        begin = text.rfind("\n", 0, at) + 1
        if begin == last:
            continue
        last = begin
        number += text.count("\n", counted, begin)
        counted = begin
        yield Statement(file.at(number), "figure", " ".join(text[begin:].partition("\n")[0][:LINE_MAX].split())[:120])
        found += 1
        if found == LINES_OF_A_FILE:
            return


IMPORTER = Importer("", _read, beside=True, last=True)
