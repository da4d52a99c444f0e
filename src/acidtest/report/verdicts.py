"""What stands beneath a table of verdicts: which difference would have been noticed, and why some rows cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidtest.analysis import power
from acidtest.analysis.compare import Judged
from acidtest.words import counted

REASONS_MAX = 3


def explained(judged: Iterable[Judged | None]) -> list[str]:
    """Sentences about the verdicts that name no winner; none where each does."""
    known = [one for one in judged if one is not None]
    said = []
    none = [one.smallest_ratio for one in known if one.verdict == "no difference shown" and one.smallest_ratio]
    if none:
        said.append(f"No difference shown: {found(none)} {power.NOTICED}.")
    reasons = list(dict.fromkeys(one.reason for one in known if one.verdict == "cannot tell"))
    if reasons:
        more = counted(len(reasons) - REASONS_MAX, "other reason")
        shown = [*reasons[:REASONS_MAX], *([f"{more} in --json"] if len(reasons) > REASONS_MAX else [])]
        said.append(f"Cannot tell: {'; '.join(shown)}.")
    return said


def found(ratios: Sequence[float]) -> str:
    """``a rate 12 % lower``, or of several rows ``a rate 8 to 14 % lower, by row``."""
    least, most = (f"{100 * (1 - ratio):.2g}" for ratio in (max(ratios), min(ratios)))
    if least == most or max(ratios) > 0.999:
        return power.in_words(min(ratios))
    return f"a rate {least} to {most} % lower, by row,"
