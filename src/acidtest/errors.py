"""The errors a user may meet. Each is one or two plain lines: what, where, what to do.

Exit codes are published in the README; anything else that reaches the top is a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LISTED_MAX = 50  # words in one line of an error


class AcidtestError(Exception):
    """An error for the user's eyes.

    ``message`` says what was being done, to what, and what went wrong; ``remedy`` what to do now.
    """

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class BadInput(AcidtestError):
    """The user's words cannot be followed (exit code 2)."""

    exit_code = 2


class Problems:
    """Collects what is wrong with the user's words, so that all of it can be said at once."""

    def __init__(self) -> None:
        self.errors: list[AcidtestError] = []

    def add(self, problem: AcidtestError) -> None:
        """One more, unless it is there."""
        if all((problem.message, problem.remedy) != (other.message, other.remedy) for other in self.errors):
            self.errors.append(problem)

    @contextmanager
    def gather(self) -> Iterator[None]:
        """What is raised within, as BadInput, is added."""
        try:
            yield
        except BadInput as problem:
            self.add(problem)

    def check(self) -> None:
        """Raise BadInput with all of them; nothing when there is none."""
        if self.errors:
            raise self.together()

    def together(self) -> BadInput:
        """All of them as one: each has a line of its own, with its remedy below it."""
        *others, last = self.errors
        lines = [line for one in others for line in (one.message, f"  {one.remedy}" if one.remedy else "") if line]
        return BadInput("\n".join([*lines, last.message]), last.remedy)


class CellFailed(AcidtestError):
    """A cell could not run (exit code 3)."""

    exit_code = 3


class MachineLacks(AcidtestError):
    """The machine lacks what was asked for (exit code 4)."""

    exit_code = 4


def nearest(word: str, allowed: Iterable[str]) -> str:
    """The allowed word most like ``word``, or "" when none is near."""
    close = difflib.get_close_matches(word.lower(), list(allowed), n=1, cutoff=0.6)
    return close[0] if close else ""


def not_among(what: str, word: str, allowed: Iterable[str]) -> str:
    """One line: ``what`` is ``word``; the nearest right word when there is one; what is allowed, unless it is much."""
    words = list(allowed)
    near = nearest(word, words)
    meant = f' (did you mean "{near}"?)' if near else ""
    listed = ", ".join(words) if len(words) <= LISTED_MAX else f"one of {len(words)} words"
    return f'{what} "{word}" is not known{meant}; allowed: {listed}'
