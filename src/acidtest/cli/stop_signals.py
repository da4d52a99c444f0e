"""A command that is told to stop: it releases what it has made, says what it leaves, and has the signal's code."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
BEGINS_ANEW = "nothing is lost, and the same command begins anew"
GOES_ON = "nothing that was measured is lost, and the same command goes on"
NOTHING_KEPT = "nothing of it is kept, and the same command begins anew"


class Stopped(BaseException):
    """The user or the system has told the command to end. No exception of Python's, which Typer would take for its own.

    ``exit_code`` is the one by which shells tell a program that the signal has ended.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = signal.Signals(number)
        self.exit_code = 128 + number

    @property
    def name(self) -> str:
        return NAMES[self.number]


class _Command:
    """The command at work, as far as its end goes."""

    def __init__(self) -> None:
        self.leaves = BEGINS_ANEW
        self.signals = 0


_command = _Command()


@contextmanager
def handled() -> Iterator[None]:
    """A first signal raises Stopped; a second one, while all is released, says so; a third one ends at once.

    A signal that is ignored, as of a program in the background or behind nohup, stays ignored.
    """
    global _command  # noqa: PLW0603 - signals are the process's
    _command = _Command()
    before = {number: signal.getsignal(number) for number in NAMES}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def leaving(words: str) -> Iterator[None]:
    """If the command is ended within, this is what it leaves."""
    before, _command.leaves = _command.leaves, words
    yield
    _command.leaves = before  # not where it is ended: who tells of it asks later


def goes_on() -> bool:
    """Whether the command has kept what it did so far."""
    return _command.leaves == GOES_ON


def left() -> str:
    """What the command leaves, and how it goes on."""
    return f"{_command.leaves}: {shlex.join(['acidtest', *sys.argv[1:]])}"


def _handle(number: int, frame: FrameType | None) -> None:
    _command.signals += 1
    if _command.signals == 1:
        raise Stopped(number)
    if _command.signals == 2:
        _say("still releasing what was made; a third signal ends at once and leaves the rest to acidtest clean")
        return
    _say("ended at once; acidtest clean releases what is left")
    os._exit(128 + number)


def _say(words: str) -> None:
    """Past Python's own buffers: the signal may have come while they were at work."""
    with suppress(OSError):
        os.write(2, f"acidtest: {words}\n".encode("ascii", "replace"))
