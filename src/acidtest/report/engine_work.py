"""What engines themselves counted, as a table: a column for each counter that is not 0 in every row."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.analysis.counters import EngineWork
from acidtest.report.fitted import Column
from acidtest.report.numbers import number
from acidtest.report.results import Line
from acidtest.words import counted

WHAT = "Counted by the engine itself for each commit"
# Of a table that is too wide, the first columns stay.
FIRST = ("page_reads", "page_writes", "page_fetches", "page_marks")


def told(lines: Sequence[Line]) -> list[tuple[Line, EngineWork]]:
    """Lines with figures."""
    return [(line, line.engine_work) for line in lines if line.engine_work and line.engine_work.counted]


def names(lines: Sequence[Line]) -> list[str]:
    """Counters that some line has and that some line counted."""
    works = [work for _, work in told(lines)]
    all_names = dict.fromkeys(name for work in works for name in work.units)
    return [name for name in all_names if any(work.sessions[name] or work.database[name] for work in works
                                              if name in work.units)]  # fmt: skip


def columns(lines: Sequence[Line]) -> list[Column]:
    """For a table of ``told``: what the terminals' sessions did."""

    def figure(name: str, drop: int) -> Column:
        return Column(head(name), lambda of: number(of[1].sessions.get(name)), drop=drop)

    return [
        Column("row", lambda of: of[0].label, right=False),
        *(figure(name, 0 if name in FIRST else drop) for drop, name in enumerate(names(lines), start=1)),
    ]


def head(name: str) -> str:
    """A counter's name as a heading."""
    return name.replace("_", " ").replace("seq reads", "sequential reads").replace("idx reads", "indexed reads")


def not_counted(lines: Sequence[Line]) -> list[str]:
    """A sentence for each line of which figures are missing."""
    found = []
    for line in lines:
        if (work := line.engine_work) and work.not_counted is not None:
            part = "not in every repetition" if work.counted else "not counted"
            found.append(f"{line.label}: {part}: {work.not_counted}.")
    return found


def explained(lines: Sequence[Line]) -> str:
    """What the figures are, and how sure."""
    works = [work for _, work in told(lines)]
    sources = "; ".join(dict.fromkeys(work.source for work in works))
    committed = sum(work.committed for work in works)
    most = max(work.uncertain for work in works)
    unsure = f", of which up to {most * 100:.2g} % in a repetition were under way at the first reading" if most else ""
    return f"By the sessions of the terminals ({sources}), over {counted(committed, 'commit')}{unsure}."
