"""The errors a user may meet. Each is one or two plain lines: what, where, what to do.

Exit codes are published in docs/COMMANDS.md; anything else that reaches the top is a bug.
"""

from __future__ import annotations

import difflib
import errno
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from acidtest.words import counted

LISTED_MAX = 50  # words in one line of an error
LEAVE_OUT = "leave that combination out by [[exclude]]"  # the remedy for what fails alike however often it is run
MENDED = {  # what lets a file be written that could not be
    errno.EROFS: "mount its file system writable",
    errno.EACCES: "allow writing there",
    errno.EPERM: "allow writing there",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, or raise the quota",
    errno.ENOENT: "make its directory",
}


class AcidtestError(Exception):
    """An error for the user's eyes.

    ``message`` says what was being done, to what, and what went wrong; ``remedy`` what to do now.
    """

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.problems: tuple[AcidtestError, ...] = (self,)  # where it is several errors at once, each of them


class BadInput(AcidtestError):
    """The user's words cannot be followed (exit code 2)."""

    exit_code = 2


class CellFailed(AcidtestError):
    """A cell could not run (exit code 3)."""

    exit_code = 3


class MachineLacks(AcidtestError):
    """The machine lacks what was asked for (exit code 4)."""

    exit_code = 4


class Problems:
    """Collects what is wrong with the user's words, or what the machine lacks, so that all is said at once."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, str], AcidtestError] = {}

    def __len__(self) -> int:
        return len(self._errors)

    def add(self, problem: AcidtestError) -> None:
        """One more, unless it is there."""
        for one in problem.problems:
            self._errors.setdefault((one.message, one.remedy), one)

    @contextmanager
    def gather(self) -> Iterator[None]:
        """What is raised within, as BadInput or MachineLacks, is added."""
        try:
            yield
        except (BadInput, MachineLacks) as problem:
            self.add(problem)

    def check(self) -> None:
        """Raise what ``together`` answers; nothing when there is no problem."""
        if self._errors:
            raise self.together()

    def together(self) -> AcidtestError:
        """All of them as one: each has a line of its own, with its remedy below it, and the last line tells how many.

        It is BadInput, unless all of them are what the machine lacks.
        """
        errors = tuple(self._errors.values())
        if len(errors) == 1:
            return errors[0]
        lines = [
            line for error in errors for line in (error.message, f"  {error.remedy}" if error.remedy else "") if line
        ]
        lacks = all(isinstance(error, MachineLacks) for error in errors)
        whole = (MachineLacks if lacks else BadInput)("\n".join([*lines, counted(len(errors), "error")]))
        whole.problems = errors
        return whole


def message_of(error: AcidtestError | OSError) -> str:
    """What went wrong, in one line that names the file."""
    if isinstance(error, AcidtestError):
        return error.message
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes | os.PathLike) else ""
    return f"{where}{error.strerror or error}"


class OutputLost(AcidtestError):
    """Standard output or error did not take what was to be shown (exit code 4), or nobody reads it any more (141)."""

    exit_code = 4

    def __init__(self, stream: str, error: OSError) -> None:
        super().__init__(f"{stream} cannot be written: {error.strerror or error}")
        self.is_closed = error.errno == errno.EPIPE
        if self.is_closed:
            self.exit_code = 128 + signal.SIGPIPE  # as the shell says of those that the signal ends


def cannot_write(path: os.PathLike[str], error: OSError, otherwise: str, *, into: bool = False) -> BadInput:
    """One line of a file, or, with ``into``, of a directory, that could not be written; with a remedy for this very
    error. ``otherwise`` is what else may be done about any."""
    message = f"{os.fspath(path)}: cannot be written{' to' if into else ''}: {error.strerror or error}"
    return BadInput(message, ", or ".join(filter(None, (MENDED.get(error.errno or 0), otherwise))))


def nearest(word: str, allowed: Iterable[str]) -> str:
    """The allowed word most like ``word``, or "" when none is near. Of "place.start" its last part counts as well."""
    whole = {one: one for one in allowed}
    whole = {last: one for one in whole if (last := one.rpartition(".")[2]).isidentifier()} | whole
    close = difflib.get_close_matches(word.lower(), whole, n=1, cutoff=0.6)
    return whole[close[0]] if close else ""


def not_among(what: str, word: str, allowed: Iterable[str]) -> str:
    """One line: ``what`` is ``word``; the nearest right word when there is one; what is allowed, unless it is much."""
    words = list(allowed)
    near = nearest(word, words)
    meant = f' (did you mean "{near}"?)' if near else ""
    listed = ", ".join(words) if len(words) <= LISTED_MAX else f"one of {counted(len(words), 'word')}"
    return f'{what} "{word}" is not known{meant}; allowed: {listed}'
