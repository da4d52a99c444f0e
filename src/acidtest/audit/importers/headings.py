"""What the lines of a text stand under: the heading of their section and what leads their paragraph or list."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.formats import linear

LINE_MAX = 1_000
WORDS_MAX = 200  # characters of one heading
FENCE = linear.Pattern(r"\s{0,12}(?:```|~~~)")
HEADING = linear.Pattern(r"\s{0,12}#{1,6}\s+(.{1,400})")
RULED = linear.Pattern(r"\s{0,3}(?:={4,}|-{4,})\s*")
LEAD = linear.Pattern(r"\s{0,12}(?:[-*+] )?(?:\*\*|__)([^*_]{2,200}?):?(?:\*\*|__):?\s*")
TAG = linear.Pattern(r"<(?:summary|h[1-6])[^<>]{0,200}>(.{1,400}?)(?:</|$)", linear.IGNORECASE)
MARKS, RULES, LEADS = "`~", "=-", "-*+_"
LABEL = linear.Pattern(r"\s{0,12}\[([^\[\]()]{2,200})\]\s{0,9}(?:[-–:].{0,80})?")


def of_lines(lines: Sequence[str]) -> list[str]:
    """Of each line, the heading above it and the words in bold, or the label, that lead what it is in."""
    found: list[str] = []
    section = lead = before = ""
    fenced = False
    for line in (whole[:LINE_MAX] for whole in lines):
        begins = line.lstrip()[:1]  # by which most lines are known to be none of these
        if begins in MARKS and begins and FENCE.match(line):
            fenced = not fenced
        elif fenced:
            pass
        elif match := (begins == "#" and HEADING.match(line)) or ("<" in line and TAG.search(line)) or None:
            section, lead = match[1].strip("# \t")[:WORDS_MAX], ""
        elif begins in RULES and begins and before.strip() and "|" not in before and RULED.fullmatch(line):
            section, lead = before.strip()[:WORDS_MAX], ""
        elif (
            match := (begins in LEADS and begins and LEAD.fullmatch(line))
            or (begins == "[" and LABEL.fullmatch(line))
            or None
        ):
            lead = match[1].strip()[:WORDS_MAX]
        before = line
        found.append(f"{section}: {lead}" if section and lead else section or lead)
    return found
