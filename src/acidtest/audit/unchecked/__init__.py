"""What an audit, a run or a power cut did not check: computed from what was there, and said in few words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Unchecked:
    """One thing that nothing here shows."""

    what: str  # "latencies", "whether commits survive a power cut"
    why: str  # "no result has any", "none was made here"

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}

    def __str__(self) -> str:
        return f"{self.what} ({self.why})"


def in_words(all_of: Iterable[Unchecked]) -> str:
    """All of it behind a heading of a word or two; "" where there is nothing."""
    return "; ".join(map(str, all_of))


def listed(names: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
