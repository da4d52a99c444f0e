"""Under which heading each line of a text stands."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.formats import linear

WORDS_MAX = 200  # characters of one heading
FENCE = linear.Pattern(r"\s{0,12}(?:```|~~~)")
HEADING = linear.Pattern(r"\s{0,3}(?:#{1,6}\s+|(?:<details>\s{0,3})?<summary>)(.{1,400}?)(?:</summary>.{0,99})?")


def of_lines(lines: Sequence[str]) -> list[str]:
    """Of each line the heading above it; a line of a block that begins with "#" is none."""
    found, under, fenced = [], "", False
    for line in lines:
        begins = line.lstrip()[:1]  # by which most lines are known to be neither
        if begins in ("`", "~") and FENCE.match(line):
            fenced = not fenced
        elif begins in ("#", "<") and not fenced and (match := HEADING.fullmatch(line.rstrip())):
            under = match[1].strip("# \t")[:WORDS_MAX]
        found.append(under)
    return found
