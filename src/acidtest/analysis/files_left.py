"""Which files a power cut has left of those that were there before it, and which are shorter; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from acidtest.journal.models import FilesLeft
from acidtest.words import counted, harmless

KEPT_MAX = 20  # files of each kind that a recording names
NAMED_MAX = 3  # in one line
Before = Literal["power failed", "load", "every write"]
WORDS: Mapping[Before, str] = {
    "power failed": "when power failed",
    "load": "seen under load before and after that moment",
    "every write": "with every write up to then",
}


def compare(left: Mapping[str, int], before: Mapping[str, int], than: Before) -> FilesLeft:
    """Both have the bytes of each file by its path below the mount point; ``than`` says what ``before`` is."""
    gone = [(name, size) for name, size in sorted(before.items()) if name not in left]
    shorter = [(name, left[name], size) for name, size in sorted(before.items()) if left.get(name, size) < size]
    return FilesLeft(
        count=len(left),
        bytes={harmless(name): size for name, size in sorted(left.items())[:KEPT_MAX]},
        than=than,
        missing_count=len(gone),
        missing={harmless(name): size for name, size in gone[:KEPT_MAX]},
        shorter_count=len(shorter),
        shorter={harmless(name): (now, size) for name, now, size in shorter[:KEPT_MAX]},
    )


def in_words(files: FilesLeft | None) -> list[str]:
    """Two lines: the files that are there, and what is missing or shorter; nothing where nobody could look."""
    if files is None:
        return []
    there = _listed([f"{name} ({counted(size, 'byte')})" for name, size in files.bytes.items()], files.count)
    missing = [f"{name} ({counted(size, 'byte')})" for name, size in files.missing.items()]
    shorter = [f"{name} ({now:,} of {counted(size, 'byte')})" for name, (now, size) in files.shorter.items()]
    amiss = [
        f"{what} {_listed(names, count)}"
        for what, names, count in (
            ("missing", missing, files.missing_count),
            ("shorter", shorter, files.shorter_count),
        )
        if count
    ]
    return [
        f"files left: {there or 'none'}",
        f"beside those {WORDS[files.than]}: {'; '.join(amiss) or 'none is missing or shorter'}",
    ]


def _listed(names: Sequence[str], count: int) -> str:
    more = [f"{count - NAMED_MAX:,} more"] if count > NAMED_MAX else []
    return ", ".join([*names[:NAMED_MAX], *more])
