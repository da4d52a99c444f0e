"""Who notices what storage does wrong: a table in the terminal and on pages, and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from acidtest.analysis.fault_detection import Noticed, noticed
from acidtest.journal.models import Journal
from acidtest.report.fitted import Column, print_combinations

TITLE = "Who notices"
OUTCOMES = {  # heading -> as in StorageFailure
    "noticed": "noticed",
    "by check": "by check",
    "WRONG": "silent",
    "right": "unnoticed",
    "unknown": "unknown",
}
COLUMNS = ("trials", "struck", *OUTCOMES, "told by", "served")
DROPPED = (0, 3, 0, 0, 0, 0, 0, 2, 1)  # as of ``fitted.Column``
WHYS_MAX = 4
EXPLAINED = (
    "Noticed: an error to a session, a refused start, a line of the log, a file system that cannot be mounted. "
    "By check: only the engine's own check says so, or the file system's, when it was asked. WRONG: sessions get what "
    "is not what was acknowledged, and nobody says so. Right: nobody notices, and what is served is right. Served: "
    "what sessions get in the end, from a medium that is read anew. A fault that struck nothing is unknown, neither "
    "noticed nor survived."
)


def counts(of: Mapping[str, int]) -> str:
    """``session 3, log 2``; "–" of nothing."""
    return ", ".join(f"{what} {count:,}" for what, count in of.items()) or "–"


def cells(row: Noticed) -> list[str]:
    """In the order of ``COLUMNS``."""
    outcomes = [f"{row.outcomes[name]:,}" if row.outcomes[name] else "–" for name in OUTCOMES.values()]
    return [f"{row.trials:,}", f"{row.struck:,}", *outcomes, counts(row.by), counts(row.served)]


def print_noticing(journal: Journal, varied: Sequence[str], console: Console) -> None:
    """Nothing where no storage did wrong."""
    rows = noticed(journal.recordings)
    if not rows:
        return
    columns = [
        Column(head, lambda row, at=at: cells(row)[at], drop=drop)  # type: ignore[misc]
        for at, (head, drop) in enumerate(zip(COLUMNS, DROPPED, strict=True))
    ]
    print_combinations(TITLE, varied, columns, rows, EXPLAINED, notes(rows), console)


def notes(rows: Sequence[Noticed]) -> list[str]:
    """Why trials are unknown, the most frequent reasons."""
    whys = list(dict.fromkeys(why for row in rows for why in row.whys))
    more = [f"Unknown: and {len(whys) - WHYS_MAX:,} reasons more; --json has each."] if len(whys) > WHYS_MAX else []
    return [*(f"Unknown: {why}." for why in whys[:WHYS_MAX]), *more]


def page_noticing(journal: Journal) -> dict[str, Any]:
    """What ``noticing.html.j2`` shows."""
    rows = noticed(journal.recordings)
    return {
        "noticings": [(row, cells(row)) for row in rows],
        "noticing_title": TITLE,
        "noticing_columns": COLUMNS,
        "noticing_explained": EXPLAINED,
        "noticing_notes": notes(rows),
    }


def noticing_json(journal: Journal) -> list[dict[str, Any]]:
    """For programs."""
    plain = ("levels", "failure", "trials", "struck", "outcomes", "by", "served", "after", "said", "whys")
    return [{name: getattr(row, name) for name in plain} for row in noticed(journal.recordings)]
