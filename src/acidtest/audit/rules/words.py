"""What the kit's texts say, and what they do not."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, Statement, StatementKind
from acidtest.audit.finding import Evidence, Found, rule

DISCLOSE = "B. Schwartz et al., High Performance MySQL, chapter 2: what a benchmark has to document"


def _statements(bench: Bench, kind: StatementKind) -> list[Statement]:
    return [one for one in bench.texts if one.kind == kind]


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
    for one in _statements(bench, "best-of"):
        yield Found(f"The text says: {one.text}.", (one.where.says(one.text),))


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
    for one in _statements(bench, "relative"):
        yield Found(f"The text says “{one.text}”, and not than what.", (one.where.says(one.text),))


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
