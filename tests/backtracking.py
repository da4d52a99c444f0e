"""How many steps Python's ``re`` takes for a pattern and a text, counted: a matcher that backtracks as it does, over the
tree that its own parser makes; and texts that make a pattern take as many as it can."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from re import _constants as op
from re import _parser as parser
from typing import Any

Node = tuple[Any, Any]
FAILS = "\x00"
IGNORECASE, MULTILINE = int(re.IGNORECASE), int(re.MULTILINE)


class TooMany(Exception):
    """More steps than anybody would wait for."""


class Steps:
    """Counts while it matches."""

    def __init__(self, pattern: re.Pattern[Any], most: int) -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self.tree: list[Node] = list(parser.parse(source, pattern.flags & ~re.DEBUG & ~re.UNICODE))
        self.flags = int(pattern.flags)
        self._lists: dict[int, list[Node]] = {}
        self._answers: dict[tuple[int, str], bool] = {}  # of a character at a node
        self.taken, self.most = 0, most

    def of(self, text: str, how: str) -> int:
        """The steps of ``search``, ``match`` or ``fullmatch``. Raises TooMany."""
        self.taken = 0
        for begin in range(len(text) + 1) if how == "search" else (0,):
            self._step()
            for end in self._sequence(self.tree, 0, text, begin):
                if how != "fullmatch" or end == len(text):
                    return self.taken
        return self.taken

    def _step(self) -> None:
        self.taken += 1
        if self.taken > self.most:
            raise TooMany

    def _sequence(self, nodes: Sequence[Node], n: int, text: str, at: int) -> Iterator[int]:
        if n == len(nodes):
            yield at
            return
        for end in self._node(nodes[n], text, at):
            yield from self._sequence(nodes, n + 1, text, end)

    def _node(self, node: Node, text: str, at: int) -> Iterator[int]:
        self._step()
        what, of = node
        if what in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from self._repeat(what, of, text, at)
        elif what is op.BRANCH:
            for branch in of[1]:
                yield from self._sequence(self._list(branch), 0, text, at)
        elif what is op.SUBPATTERN:
            yield from self._sequence(self._list(of[3]), 0, text, at)
        elif what is op.ATOMIC_GROUP:
            yield from [next(self._sequence(self._list(of), 0, text, at))][:1]
        elif what in (op.ASSERT, op.ASSERT_NOT):
            if self._looks(of, text, at) is (what is op.ASSERT):
                yield at
        elif what is op.GROUPREF:
            yield from (at, at + 1)  # as good as any, for the count
        elif what is op.AT:
            if self._stands(of, text, at):
                yield at
        elif at < len(text) and self._is(node, text[at]):
            yield at + 1

    def _looks(self, of: Any, text: str, at: int) -> bool:
        direction, nodes = of
        if direction > 0:
            return next(self._sequence(self._list(nodes), 0, text, at), None) is not None
        low, _ = nodes.getwidth()
        return at >= low and any(end == at for end in self._sequence(self._list(nodes), 0, text, at - low))

    def _stands(self, where: Any, text: str, at: int) -> bool:
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0 or (bool(self.flags & MULTILINE) and text[at - 1] == "\n")
        if where in (op.AT_END, op.AT_END_STRING):
            return at == len(text) or (bool(self.flags & MULTILINE) and text[at] == "\n")
        sides = [0 <= n < len(text) and (text[n].isalnum() or text[n] == "_") for n in (at - 1, at)]
        return (sides[0] != sides[1]) is (where is op.AT_BOUNDARY)

    def _repeat(self, what: Any, of: Any, text: str, at: int) -> Iterator[int]:
        low, high, nodes = of[0], of[1], self._list(of[2])
        if len(nodes) == 1 and nodes[0][0] in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN) and what is not op.MIN_REPEAT:
            end = at
            while end < len(text) and end - at < high and self._is(nodes[0], text[end]):
                self._step()
                end += 1
            for back in range(end, at + low - 1, -1):
                self._step()
                yield back
                if what is op.POSSESSIVE_REPEAT:
                    return
            return
        yield from self._again(nodes, low, high, text, at, 0, greedy=what is not op.MIN_REPEAT)

    def _again(
        self, nodes: Sequence[Node], low: int, high: int, text: str, at: int, done: int, *, greedy: bool
    ) -> Iterator[int]:
        self._step()
        if not greedy and done >= low:
            yield at
        if done < high:
            for end in self._sequence(nodes, 0, text, at):
                if end > at or done < low:
                    yield from self._again(nodes, low, high, text, end, done + 1, greedy=greedy)
        if greedy and done >= low:
            yield at

    def _list(self, nodes: Any) -> list[Node]:
        """Of a part of the tree, which is slow to go through as the parser has it."""
        found = self._lists.get(id(nodes))
        if found is None:
            found = self._lists[id(nodes)] = list(nodes)
        return found

    def _is(self, node: Node, one: str) -> bool:
        found = self._answers.get((id(node), one))
        if found is None:
            found = self._answers[id(node), one] = self._matches(node, one)
        return found

    def _matches(self, node: Node, one: str) -> bool:
        if self.flags & IGNORECASE:
            return any(_is(node, of, self.flags) for of in {one, one.lower(), one.upper()} if len(of) == 1)
        return _is(node, one, self.flags)


def _is(node: Node, one: str, flags: int) -> bool:
    what, of = node
    if what is op.LITERAL:
        return ord(one) == of
    if what is op.NOT_LITERAL:
        return ord(one) != of
    if what is op.ANY:
        return one != "\n" or bool(flags & re.DOTALL)
    if what is not op.IN:
        raise NotImplementedError(what)
    negated = of[0][0] is op.NEGATE
    return any(_in(part, one) for part in of[negated:]) is not negated


CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_NOT_DIGIT: lambda one: not one.isdecimal(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda one: not one.isspace(),
    op.CATEGORY_WORD: lambda one: one.isalnum() or one == "_",
    op.CATEGORY_NOT_WORD: lambda one: not (one.isalnum() or one == "_"),
}


def _in(part: Node, one: str) -> bool:
    what, of = part
    if what is op.LITERAL:
        return ord(one) == of
    if what is op.RANGE:
        return bool(of[0] <= ord(one) <= of[1])
    return CATEGORIES[of](one)


TRIED = "a1 0=x.,;:'\"-_/\\()[]{}<>|#$%&*+!?@^`~\tAZ9\n\u00e9"


def adversaries(pattern: re.Pattern[Any], length: int) -> list[str]:
    """Texts of about that length: each repetition of the pattern repeated, alone, after what leads to it, and with it;
    and at the end something that fits nothing."""
    tree = list(Steps(pattern, 1).tree)
    whole = _short(tree, pattern.flags)
    found = {" " * length, "a" * length, "1" * length, (whole or "a") * (length // max(len(whole), 1))}
    for before, body in _repeats(tree, "", pattern.flags):
        pump = body or "a"
        times = max(length // len(pump), 1)
        found |= {pump * times, before + pump * times, (before + pump) * max(length // len(before + pump), 1)}
    return [text + end for text in sorted(found) for end in (FAILS, "")]


def _repeats(nodes: Sequence[Node], before: str, flags: int) -> Iterator[tuple[str, str]]:
    """For each repetition: the shortest text that leads to it, and that of one turn."""
    for node in nodes:
        what, of = node
        if what in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            inner = list(of[2])
            if of[1] > 8:
                for body in _bodies(inner, flags):
                    yield before, body
            yield from _repeats(inner, before, flags)
        elif what is op.BRANCH:
            for branch in of[1]:
                yield from _repeats(list(branch), before, flags)
        elif what is op.SUBPATTERN:
            yield from _repeats(list(of[3]), before, flags)
        before += _short([node], flags)


def _bodies(nodes: Sequence[Node], flags: int) -> list[str]:
    """Texts of one turn, of several kinds of characters where it allows them."""
    if len(nodes) == 1 and nodes[0][0] in (op.IN, op.ANY, op.NOT_LITERAL):
        kinds = [one for one in "a1 .,'" if _is(nodes[0], one, flags)]
        return kinds or [_short(nodes, flags)]
    branches = [_short(list(branch), flags) for what, of in nodes if what is op.BRANCH for branch in of[1]]
    inner = [_short(list(of[3]), flags) for what, of in nodes if what is op.SUBPATTERN]
    for what, of in nodes:
        if what is op.SUBPATTERN:
            inner += _bodies(list(of[3]), flags)
    return [*dict.fromkeys((_short(nodes, flags), *branches, "".join(branches), *inner))]


def _short(nodes: Sequence[Node], flags: int) -> str:
    """The shortest text that these match, or nearly."""
    text = ""
    for what, of in nodes:
        if what in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            text += _short(list(of[2]), flags) * of[0]
        elif what is op.BRANCH:
            text += min((_short(list(branch), flags) for branch in of[1]), key=len)
        elif what is op.SUBPATTERN:
            text += _short(list(of[3]), flags)
        elif what is op.ATOMIC_GROUP:
            text += _short(list(of), flags)
        elif what in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            own = [chr(of)] if what is op.LITERAL else []
            own += [chr(part[1]) for part in of if part[0] is op.LITERAL] if what is op.IN else []
            text += next((one for one in (*own, *TRIED) if _is((what, of), one, flags)), "a")
    return text
