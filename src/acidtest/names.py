"""What an experiment may call things, and what is wrong with a name that it may not give."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass

from acidtest.journal.models import NOT_APPLICABLE
from acidtest.words import counted


@dataclass(frozen=True)
class NameRule:
    """A kind of name."""

    most: int  # characters
    takes: Callable[[str], bool]  # a character
    begins_with: Callable[[str], bool]
    words: str  # which characters it takes
    first_words: str = ""

    def complaint(self, name: str) -> str:
        """What ``name`` must be instead, and why it is not; "" when it is right."""
        if not name:
            return "must have at least one character"
        if len(name) > self.most:
            return f"must have at most {counted(self.most, 'character')}, and this has {len(name):,}"
        if name == NOT_APPLICABLE:
            return f'must be another: "{NOT_APPLICABLE}" stands for what a combination does not have'
        stranger = next((character for character in name if not self.takes(character)), None)
        if stranger is not None:
            return f"must be {self.words}, and this has {_described(stranger)} in it"
        if not self.begins_with(name[0]):
            return f"must begin with {self.first_words}, and this begins with {_described(name[0])}"
        return ""


def _described(character: str) -> str:
    return f'"{character}"' if character.isprintable() else f"an unprintable character (U+{ord(character):04X})"


def _among(characters: str) -> Callable[[str], bool]:
    return frozenset(characters).__contains__


LETTERS, DIGITS = string.ascii_lowercase, string.digits
EXPERIMENT = NameRule(
    64,
    _among(LETTERS + DIGITS + "-_"),
    _among(LETTERS + DIGITS),
    "lower-case letters (a to z), digits, - and _",
    "a letter or a digit",
)
BUILD = NameRule(  # it stands in ids of cells, and names a file
    64,
    _among(LETTERS + DIGITS + "-_."),
    _among(LETTERS + DIGITS),
    "lower-case letters (a to z), digits, -, _ and .",
    "a letter or a digit",
)
SCHEMA = NameRule(
    63,
    _among(LETTERS + DIGITS + "_"),
    _among(LETTERS + "_"),
    "lower-case letters (a to z), digits and _",
    "a letter or _",
)
# Of levels, factors, workloads and servers: they stand in tables, and in the ids of cells.
SHOWN = NameRule(80, str.isprintable, lambda character: True, "printable characters")
