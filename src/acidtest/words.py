"""Figures within sentences: nouns agree with their number, thousands are set apart."""

from __future__ import annotations

import re

# What the rig's details count, and "differ", which agrees with its number too.
_PLURALS = {
    "commits": "commit", "deliveries": "delivery", "differ": "differs", "districts": "district", "ids": "id",
    "reads": "read", "rows": "row", "terminals'": "terminal's", "terminals": "terminal", "updates": "update",
    "warehouses": "warehouse",
}  # fmt: skip
_ONE_OF_MANY = re.compile(rf"(?<![\w.,-])1 ({'|'.join(_PLURALS)})(?!\w)")
_THOUSANDS = re.compile(r"(?<![\w.,])\d{4,}(?![\w.])")


def counted(number: float, noun: str, plural: str = "", *, spec: str = ",") -> str:
    """``1 side``, ``2 sides``, ``50,000 cells``, ``1.5 doublings``.

    ``plural`` is for words that do not form it with an s, ``spec`` the format of the number, which decides: what is
    shown as 1 is one.
    """
    shown = f"{number:{spec}}"
    return f"{shown} {noun if shown == '1' else plural or f'{noun}s'}"


def agreeing(text: str) -> str:
    """What the rig counted, as ``counted`` has it: ``1 commits acknowledged, 12000 rows`` is put right.

    Its details are recorded as they come, also those of journals of older versions.
    """
    text = _ONE_OF_MANY.sub(lambda found: f"1 {_PLURALS[found[1]]}", text)
    return _THOUSANDS.sub(lambda found: f"{int(found[0]):,}", text)
