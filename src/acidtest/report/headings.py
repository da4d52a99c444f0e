"""What columns of factors are called: short, and no two columns of a table alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence


def headings(factors: Sequence[str], beside: Collection[str] = ()) -> list[str]:
    """A heading for each factor: its name without its family, where nothing else is called so.

    ``beside`` are the headings of the table's other columns.
    """
    short = [factor.rpartition(".")[2] for factor in factors]
    count = Counter([*short, *beside])
    whole = [name if count[name] == 1 else factor for factor, name in zip(factors, short, strict=True)]
    return [f"factor {name}" if name in beside else name for name in whole]
