"""What of a kit nobody understood. It is a finding, so that silence is not taken for praise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from acidtest.audit.bench import Bench
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

PROSE = frozenset(("text", "listing of a machine"))
NAMED = 3  # folders in the sentence
READABLE = "acidtest help docs/RESULT-FILES.md lists what is read; a result without its unit can be read by nobody"


@rule(
    "unknown-results",
    severity="doubtful",
    says="Figures or settings of the kit were not understood: what is wrong with them is not known.",
    remedy="Give them in a form that is read, with their unit, or look at them yourself.",
    disproved_by="a reading of these files in which nothing is wrong",
    source=READABLE,
)
def unknown_results(bench: Bench) -> Iterator[Found]:
    if bench.not_understood:
        by_folder: dict[str, list[Evidence]] = defaultdict(list)
        for one in bench.not_understood:
            by_folder[one.file.rpartition("/")[0]].append(one)
        files = len({one.file for one in bench.not_understood})
        folders = sorted(by_folder, key=lambda name: (-len(by_folder[name]), name))
        told = ", ".join(
            f"{name or 'the kit itself'} ({len({one.file for one in by_folder[name]}):,})" for name in folders[:NAMED]
        )
        more = f" and {counted(len(folders) - NAMED, 'more folder')}" if len(folders) > NAMED else ""
        # One of each folder first, so that a reader sees them all.
        evidence = [by_folder[name][0] for name in folders]
        evidence += [one for name in folders for one in by_folder[name][1:]]
        yield Found(
            f"{counted(files, 'file')} with figures or settings that are not understood, in {told}{more}.",
            tuple(evidence),
        )
    elif bench.read and all(kind in PROSE for _, kind in bench.read) and not _understood(bench):
        text = "Nothing but prose was understood: no result, no configuration, no log."
        unread = tuple(Evidence("is of an unknown kind", name) for name in bench.unread)
        yield Found(text, unread or (Evidence("prose", bench.read[0][0]),))


def _understood(bench: Bench) -> bool:
    """Whether anything was read that is no prose; a text may hold results and settings too."""
    return bool(bench.published or bench.sides or bench.routines)
