"""What the kit's texts say, and what they do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from acidtest.audit.bench import Bench, Sentence, Statement, StatementKind
from acidtest.audit.repeated import repetitions
from acidtest.audit.said import and_more, between, called, rate
from acidtest.audit.told import best_taken
from acidtest.finding import Evidence, Found, rule
from acidtest.formats import linear
from acidtest.words import counted

# "Up to 3x faster", "as much as 40 % more".
UP_TO = linear.Pattern(
    r"\b(?:up to|as much as|as high as|bis zu|jusqu['’]à|hasta|até|до)\s(?:a |an |~|\+)?\d{1,6}(?:[.,]\d{1,3})?\s?"
    r"(?:%|percent\b|x\b|×|times\b|-?fold\b)",
    linear.IGNORECASE,
)
NOT_AHEAD = linear.Pattern(
    r"\b(?:cpu|memory|disk|utili[sz]ation|usage|slower|worse|noise|variance|load|limit)\b", linear.I
)
AHEAD = linear.Pattern(r"\d\s?(?:%|percent\b|x\b|×|times\b|-?fold\b)", linear.IGNORECASE)

DISCLOSE = "B. Schwartz et al., High Performance MySQL, chapter 2: what a benchmark has to document"


def _statements(bench: Bench, kind: StatementKind) -> list[Statement]:
    return list(dict.fromkeys(bench.said(kind)))


@rule(
    "best-of",
    severity="doubtful",
    over=Bench,
    says="The best of several runs is reported: more runs make it better, and it is nobody's usual day.",
    remedy="Report the median with an interval.",
    disproved_by="the figures of all runs, of which the published one is the median",
    source="G. Fleming, J. Wallace: How not to lie with statistics (CACM 1986); Kalibera and Jones (ISMM 2013)",
)
def best_of(bench: Bench) -> Iterator[Found]:
    said = _statements(bench, "best-of")
    for sentences in _by_file(said):
        yield Found(_all_said(sentences, "{}"), tuple(one.where.says(one.text) for one in sentences))
    yield from _of_cases(bench)
    if said:
        return
    repeated = [of for of in repetitions(bench).values() if len(of) > 1]
    taken = list(best_taken([one for one in bench.others if one.told], repeated))
    if len(taken) > 1:  # one may be so for another reason
        told, of = taken[0]
        text = f"{called(told)} is {rate(told)}, the best of {counted(len(of), 'run')}: they lie between {between(of)}"
        more = and_more(len(taken) - 1, "figure", before="the like in ")
        evidence = [one.where.says(rate(one)) for told, of in taken for one in (told, *of)]
        yield Found(f"{text}{more}.", tuple(dict.fromkeys(evidence)))


def _of_cases(bench: Bench) -> Iterator[Found]:
    """Texts that publish only by how much the best of their cases is ahead."""
    best: dict[str, list[Sentence]] = defaultdict(list)
    others: set[str] = set()
    for one in bench.sentences:
        if UP_TO.search(one.text) and not NOT_AHEAD.search(one.text):
            best[one.where.file].append(one)
        elif AHEAD.search(one.text):
            others.add(one.where.file)
    for file, sentences in best.items():
        if file not in others:
            more = and_more(len(sentences) - 1, "sentence", before="the like in ")
            evidence = tuple(one.where.says(one.text) for one in sentences)
            text = f"Of its cases the text tells by how much the best is ahead, and of no other: “{sentences[0].text}”"
            yield Found(f"{text}{more}.", evidence, "read from prose", noted=True)


def _by_file(said: Sequence[Statement]) -> Iterator[list[Statement]]:
    for _, of in groupby(said, key=lambda one: one.where.file):
        yield list(of)


def _all_said(said: Sequence[Statement], of: str) -> str:
    """One sentence for whatever was said of a kind, for it has one cause."""
    more = and_more(len(said) - 1, "line", before="the like on ")
    return f"The text says {of.format(f'“{said[0].text}”')}{more}."


@rule(
    "base-missing",
    severity="doubtful",
    over=Bench,
    says="A relative figure stands without what it is relative to.",
    remedy="Give both rates, and which of them is the base.",
    disproved_by="a sentence that names the base and its rate",
    source="G. Heiser, Systems Benchmarking Crimes: relative numbers only",
)
def base_missing(bench: Bench) -> Iterator[Found]:
    for said in _by_file(_statements(bench, "relative")):
        yield Found(_all_said(said, "{}, and not than what"), tuple(one.where.says(one.text) for one in said))


@rule(
    "tpc-words",
    severity="doubtful",
    over=Bench,
    says="A word is used that the TPC reserves for audited results.",
    remedy='Say "new orders a minute" (NOPM) and "derived from TPC-C, not comparable with TPC results".',
    disproved_by="an audited result in the TPC's list",
    source="TPC Policies, section 8 (fair use); TPC-C clause 8; HammerDB's manual on the term tpmC",
)
def tpc_words(bench: Bench) -> Iterator[Found]:
    used = _statements(bench, "tpc-word")
    if used and not _statements(bench, "not-tpc"):
        words = ", ".join(sorted({one.text.partition(":")[0] for one in used}))
        yield Found(
            f"{words}: of a result that no text calls unaudited.", tuple(one.where.says(one.text) for one in used)
        )


@rule(
    "drive-undisclosed",
    severity="note",
    over=Bench,
    says="The kit's texts do not state on what kind of drive it ran, which decides every durable commit.",
    remedy="Name drive, controller and write cache.",
    disproved_by="a text that names it in words that are not known here",
    source=DISCLOSE,
    about="place",
)
def drive_undisclosed(bench: Bench) -> Iterator[Found]:
    if bench.published and _statements(bench, "text") and not _statements(bench, "drive"):
        yield Found("No text of the kit names a drive.", tuple(_texts(bench)))


@rule(
    "file-system-undisclosed",
    severity="note",
    over=Bench,
    says="The kit's texts do not state on which file system the databases lay.",
    remedy="Name file system and mount options.",
    disproved_by="a text that names it in words that are not known here",
    source=DISCLOSE,
    about="place",
)
def file_system_undisclosed(bench: Bench) -> Iterator[Found]:
    if bench.published and _statements(bench, "text") and not _statements(bench, "file-system"):
        yield Found("No text of the kit names a file system.", tuple(_texts(bench)))


def _texts(bench: Bench) -> Iterator[Evidence]:
    return (one.where.says(one.text) for one in _statements(bench, "text"))
