"""Sentences of a kit's texts that publish something: a rate, or that one is faster than another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Sentence
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

PROSE = linear.Pattern(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc)")
BYTES_MAX = 4 << 20  # of prose
LINE_MAX = 4_000
SENTENCE_MAX = 300  # characters that are kept of one
SENTENCES_MAX = 200  # of one file
FENCE = linear.Pattern(r"\s{0,12}(?:```|~~~)")
SKIPPED = linear.Pattern(r"\s{0,12}(?:\||#|<|\[\^?[\w -]{1,40}\]:|!\[|={3,}|-{3,}|\$ |    )")
MARKS = linear.Pattern(r"[*`]{1,3}|^\s{0,12}(?:[-+*>]|\d{1,3}[.)])\s+", linear.MULTILINE)
LINK = linear.Pattern(r"!?\[([^\[\]]{0,300})\]\([^()]{0,500}\)")
END = linear.Pattern(r"[.!?](?:\s+|$)")
COMPARES = linear.Pattern(
    r"\b(?:faster|slower|quicker|fastest|slowest|quickest|outperform(?:s|ed|ing)?|beats?|"
    r"(?:higher|lower|more|less|better|worse|best|worst|double|twice the|half the) "
    r"(?:throughput|latenc(?:y|ies)|performance|tps|qps|iops|rate|response times?)|"
    r"(?:throughput|latency|performance|tps|qps|iops) (?:gains?|improvements?|improves?|improved|increases?|increased|"
    r"drops?|dropped|doubles?|doubled|degrades?|degraded)|"
    r"\d[\d.,]{0,9} ?(?:%|x|×|times|percent) (?:\w+ )?(?:faster|slower|better|worse|more|less|higher|lower|improvement|"
    r"speed-?up|gain|as)|speed-?up of)\b",
    linear.IGNORECASE,
)  # fmt: skip
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
    for number, text in _prose(file.lines):
        for sentence in _sentences(text):
            if (COMPARES.search(sentence) or FIGURE.search(sentence)) and not UNCERTAIN.search(sentence):
                yield Sentence(file.at(number), sentence[:SENTENCE_MAX])
                count += 1
                if count == SENTENCES_MAX:
                    return


def _prose(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines of prose with their numbers: no blocks, tables, headings or pictures, nor the front matter."""
    fenced = False
    front = bool(lines) and lines[0].strip() in ("---", "+++")
    for number, line in enumerate(lines, start=1):
        if front:
            front = number == 1 or line.strip() != lines[0].strip()
        elif FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip() and not SKIPPED.match(line):
            yield number, line[:LINE_MAX]


def _sentences(line: str) -> Iterator[str]:
    bare = " ".join(MARKS.sub("", LINK.sub(r"\1", line)).split())
    begin = 0
    for end in END.finditer(bare):
        yield bare[begin : end.end()].strip()
        begin = end.end()
    if bare[begin:].strip():
        yield bare[begin:].strip()


IMPORTER = Importer("text", _read, beside=True)
