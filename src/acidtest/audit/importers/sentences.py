"""Sentences of a kit's texts that publish something: a rate, or that one is faster than another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Sentence
from acidtest.audit.importers import headings
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.texts import COMPARES, PROSE
from acidtest.formats import linear

BYTES_MAX = 4 << 20  # of prose
LINE_MAX = 4_000
SENTENCE_MAX = 300  # characters that are kept of one
SENTENCES_MAX = 200  # of one file
FENCE = linear.Pattern(r"\s{0,12}(?:```|~~~)")
SKIPPED = linear.Pattern(r"\s{0,12}(?:\||#|<|\[\^?[\w -]{1,40}\]:|!\[|={3,}|-{3,}|\$ |    )")
MARKS = linear.Pattern(r"[*`]{1,3}|^\s{0,12}(?:[-+*>]|\d{1,3}[.)])\s+", linear.MULTILINE)
LINK = linear.Pattern(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
ITEM = linear.Pattern(r"\s{0,12}(?:[-+*]|\d{1,3}[.)])\s")
DIGIT = linear.Pattern(r"\d")
ENGINE = linear.Pattern(
    r"\b(?:postgres(?:ql)?|mysql|mariadb|percona|innodb|myrocks|rocksdb|firebird|sqlite|oracle|sql server|mongo(?:db)?|"
    r"redis|valkey|cassandra|scylla(?:db)?|cockroach(?:db)?|tidb|yugabyte(?:db)?|duckdb|aurora|galera|ext4|xfs|zfs|btrfs)\b",
    linear.IGNORECASE,
)
PARAGRAPH_LINES_MAX = 200
END = linear.Pattern(r"[.!?](?:\s+|$)")
FIGURE = linear.Pattern(
    r"\b\d[\d.,' ]{0,20}k?M? ?(?:tps|qps|tpmC?|nopm|iops|rps|ops/s(?:ec)?|"
    r"(?:transactions|queries|operations|inserts|reads|writes|commits|requests|rows)(?: per |/| a )s(?:ec(?:ond)?)?)\b",
    linear.IGNORECASE,
)
# Not said to have been measured: a question, a plan, a condition, advice.
UNCERTAIN = linear.Pattern(
    r"\b(?:may|might|could|would|should|can be|if you|expect(?:ed)?|hopefully|todo|we (?:want|plan|will)|goal|target|"
    r"whether|how (?:fast|much|many)|to (?:compare|see|find out|measure))\b|\?\s{0,9}$",
    linear.IGNORECASE,
)


def _read(file: File) -> Sequence[Sentence] | None:
    if not PROSE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return list(_published(file)) or None


def _published(file: File) -> Iterator[Sentence]:
    count = 0
    above = headings.of_lines(file.prose)
    for lines in _paragraphs(file.prose):
        for number, sentence in _sentences(lines):
            if _publishes(sentence):
                yield Sentence(file.at(number), sentence[:SENTENCE_MAX], above[number - 1])
                count += 1
                if count == SENTENCES_MAX:
                    return


def _publishes(sentence: str) -> bool:
    """Whether it has a rate, or compares engines or by a figure."""
    if UNCERTAIN.search(sentence):
        return False
    compares = COMPARES.search(sentence) and (DIGIT.search(sentence) or ENGINE.search(sentence))
    return bool(compares or FIGURE.search(sentence))


def _paragraphs(lines: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Lines of prose with their numbers, those together that belong together: no blocks, tables, headings or pictures,
    nor the front matter. A list has a paragraph an item."""
    fenced = False
    front = bool(lines) and lines[0].strip() in ("---", "+++")
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        if front:
            front = number == 1 or line.strip() != lines[0].strip()
            continue
        is_fence = bool(FENCE.match(line))
        fenced = fenced != is_fence
        is_prose = not (fenced or is_fence) and bool(line.strip()) and not SKIPPED.match(line)
        if paragraph and (not is_prose or ITEM.match(line) or len(paragraph) == PARAGRAPH_LINES_MAX):
            yield paragraph
            paragraph = []
        if is_prose:
            paragraph.append((number, line[:LINE_MAX]))
    if paragraph:
        yield paragraph


def _sentences(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The sentences of a paragraph, each with the line in which it begins."""
    text, begins = "", []
    for number, line in lines:
        bare = " ".join(MARKS.sub("", LINK.sub(r"\1", line)).split())
        begins.append((len(text), number))
        text += f"{bare} "
    begin = 0
    for end in [*(one.end() for one in END.finditer(text)), len(text)]:
        sentence = text[begin:end].strip()
        if sentence:
            yield max((number for at, number in begins if at <= begin), default=begins[0][1]), sentence
        begin = end


IMPORTER = Importer("text", _read, beside=True)
