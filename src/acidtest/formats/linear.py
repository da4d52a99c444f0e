"""Regular expressions whose matching takes time linear in the text, whatever the text is: RE2 instead of ``re``.

Whatever reads files of other people uses these. They are written as those of ``re`` are and answer as they do, but:
no lookaround and no back references; ``\\w``, ``\\d``, ``\\s`` and ``\\b`` are of ASCII; ``\\z`` instead of ``\\Z``;
``$`` is the very end (or, under MULTILINE, that of a line); a count is at most 1,000. A pattern that RE2 does not take
is an error when it is first used; ``tests/audit/test_patterns.py`` compiles all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, AnyStr, Generic

import re2

I = IGNORECASE = re.IGNORECASE  # noqa: E741 - as re calls it
M = MULTILINE = re.MULTILINE
S = DOTALL = re.DOTALL
LETTERS = {IGNORECASE: "i", MULTILINE: "m", DOTALL: "s"}
MEMORY_MAX = (
    4 << 20
)  # of one pattern's automata; where they need more it is slower by a hundred times, and linear all the same


ANYWHERE, AT_BEGIN, AS_WHOLE = (getattr(re2._Anchor, name) for name in ("UNANCHORED", "ANCHOR_START", "ANCHOR_BOTH"))
NO_SPAN = (-1, -1)


class Pattern(Generic[AnyStr]):
    """As ``re.Pattern``. Halves of surrogate pairs, which names of files and JSON may hold, are read as "?"."""

    __slots__ = ("_bare", "_of", "pattern", "whole")

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        if flags & ~sum(LETTERS):
            raise ValueError(f"RE2 has no such flag: {flags}")
        letters = "".join(letter for flag, letter in LETTERS.items() if flags & flag)
        before: Any = f"(?{letters})" if letters else ""
        self.pattern: AnyStr = pattern
        self.whole: AnyStr = (before.encode() if isinstance(pattern, bytes) else before) + pattern

    def __getattr__(self, name: str) -> Any:
        """Compiles it when it is first asked: all of them take longer than a small kit. Raises ValueError."""
        if name not in ("_of", "_bare"):
            raise AttributeError(name)
        options = re2.Options()
        options.max_mem, options.log_errors = MEMORY_MAX, False
        if isinstance(self.pattern, bytes):
            options.encoding = re2.Options.Encoding.LATIN1
        try:
            self._of = re2.compile(self.whole, options)
        except re2.error as error:
            raise ValueError(f"{self.pattern!r}: RE2 does not take it: {error}") from None
        # Most texts have no match, and most are ASCII: for both the module's own methods do much that is not needed.
        self._bare = self._of._regexp.Match
        return getattr(self, name)

    def search(self, text: AnyStr, begin: int = 0) -> re.Match[AnyStr] | None:
        return self._asked(self._of.search, ANYWHERE, text, begin)

    def match(self, text: AnyStr, begin: int = 0) -> re.Match[AnyStr] | None:
        return self._asked(self._of.match, AT_BEGIN, text, begin)

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        return self._asked(self._of.fullmatch, AS_WHOLE, text, 0)

    def _asked(
        self, ask: Callable[..., re.Match[AnyStr] | None], anchor: Any, text: AnyStr, begin: int
    ) -> re.Match[AnyStr] | None:
        if begin == 0:
            raw = text if isinstance(text, bytes) else text.encode(errors="replace")
            spans = self._bare(anchor, raw, 0, len(raw))
            if spans[0] == NO_SPAN:
                return None
            if len(raw) == len(text):  # so that a place among its bytes is one among its characters
                return re2._Match(self._of, text, 0, len(text), spans)  # type: ignore[no-any-return]
        return _asked(ask, text, begin) if begin else _asked(ask, text)  # type: ignore[no-any-return]

    def finditer(self, text: AnyStr) -> Iterator[re.Match[AnyStr]]:
        found: Iterator[re.Match[AnyStr]] = self._of.finditer(_encodable(text))
        return found

    def findall(self, text: AnyStr) -> list[Any]:
        found: list[Any] = _asked(self._of.findall, text)
        return found

    def split(self, text: AnyStr, maxsplit: int = 0) -> list[Any]:
        parts: list[Any] = _asked(self._of.split, text, maxsplit)
        return parts

    def sub(self, by: AnyStr | Callable[[re.Match[AnyStr]], AnyStr], text: AnyStr, count: int = 0) -> AnyStr:
        replaced: AnyStr = self._of.sub(by, _encodable(text), count)
        return replaced


class Set:
    """Several patterns, of which all that are somewhere in a text are found at once: faster than asking each."""

    def __init__(self, patterns: Iterable[Pattern[str]]) -> None:
        self._set = re2.Set.SearchSet()
        for pattern in patterns:
            self._set.Add(pattern.whole)
        self._set.Compile()

    def within(self, text: str) -> frozenset[int]:
        """The numbers of those that ``search`` finds, from 0, in the order in which they were given."""
        return frozenset(_asked(self._set.Match, text) or ())


def lines_with(pattern: Pattern[str], lines: Sequence[str]) -> frozenset[int]:
    """The numbers, from 0, of the lines in which the pattern is found, which must match no end of a line: it is looked
    for once in all of them together, and not in each."""
    text = "\n".join(lines)
    found: set[int] = set()
    number = counted = 0
    for match in pattern.finditer(text):
        number += text.count("\n", counted, match.start())
        counted = match.start()
        found.add(number)
    return frozenset(found)


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # noqa: A001 - as re calls it
    """Raises ValueError for what RE2 does not take."""
    return Pattern(pattern, flags)


escape = re.escape


def _asked(ask: Callable[..., Any], text: AnyStr, *rest: int) -> Any:
    try:
        return ask(text, *rest)
    except UnicodeEncodeError:
        return ask(_encodable(text), *rest)


def _encodable(text: Any) -> Any:
    return text if isinstance(text, bytes) or text.isascii() else text.encode(errors="replace").decode()
