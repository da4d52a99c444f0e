"""Figures within sentences: nouns agree with their number, thousands are set apart; and words of other people."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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


def three_digits(value: float) -> str:
    """``84.1``, ``12,300``: three significant digits, without zeros at the end."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def first_of(names: Sequence[str], most: int, between: str = ", ") -> str:
    """``a, b and 3 more``: the first names, and how many are left out."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def agreeing(text: str) -> str:
    """What the rig counted, as ``counted`` has it: ``1 commits acknowledged, 12000 rows`` is put right.

    Its details are recorded as they come, also those of journals of older versions.
    """
    text = _ONE_OF_MANY.sub(lambda found: f"1 {_PLURALS[found[1]]}", text)
    return _THOUSANDS.sub(lambda found: f"{int(found[0]):,}", text)


def harmless(text: str, most: int = 2_000) -> str:
    """Text of other people, a name of a file, a value, a line of a log, so that whatever shows it does not obey it.

    Control codes and what is invisible or turns the direction of writing become what Python writes for them, so does a
    byte of a name that is no UTF-8; other kinds of space become a space. Of more than ``most`` characters the middle is
    left out.

    >>> harmless("a\\x1b[2Jb\\u202ec")
    'a\\\\x1b[2Jb\\\\u202ec'
    """
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(one: str) -> str:
    if one.isprintable():
        return one
    if one == "\t" or unicodedata.category(one) == "Zs":
        return " "
    if "\udc80" <= one <= "\udcff":
        return f"\\x{ord(one) & 0xFF:02x}"
    return one.encode("unicode_escape").decode()
