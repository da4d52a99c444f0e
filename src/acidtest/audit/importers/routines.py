"""Stored procedures and triggers in SQL scripts: what they draw at random, and which rows they change by it.

No parser of three dialects: statements are cut at their keywords, and a value is followed from the call that draws it
through variables to the condition or the column it ends in. What is not understood is passed over, and so are rows that
a routine may have inserted itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from acidtest.audit.bench import Draw, Routine, Write
from acidtest.audit.importers.file import Broken, File, Importer
from acidtest.formats import sql
from acidtest.formats.sql import Token

SUFFIXES = (".sql", ".ddl", ".psql", ".pgsql", ".prc", ".trg")
TEXT_MAX = 4 << 20  # characters of a script, without the lines that are rows of a dump
LINE_MAX = 10_000
TOKENS_MAX = 20_000  # of one routine
HEAD_MAX = 14  # tokens from CREATE to the kind of routine
DRAWS_MAX = 16  # that a variable is known to depend on; more say nothing more
PASSES_MAX = 8  # through a routine's assignments, until no variable learns more

KINDS: dict[str, Literal["procedure", "function", "trigger"]] = {
    "PROCEDURE": "procedure",
    "FUNCTION": "function",
    "TRIGGER": "trigger",
}
RANDOM = frozenset(("RAND", "RANDOM", "NEWID", "RANDOM_BYTES", "RANDOM_NORMAL"))
BOUNDARIES = frozenset(("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "END"))
CLOSED_BY_END = frozenset(("IF", "LOOP", "WHILE", "REPEAT", "FOR"))  # "END IF;" of SQL/PSM and PL/pgSQL
LABELLED = frozenset(("BEGIN", "LOOP", "WHILE", "REPEAT", "FOR"))  # what a name and a colon before it are a label of
CLAUSES = frozenset(("FROM", "WHERE", "USING", "ORDER", "GROUP", "LIMIT", "DO", "STRICT"))
ASSIGN_NOTHING = frozenset(
    ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "WHILE", "IF", "ELSEIF", "ELSIF", "UNTIL", "WHEN", "SELECT",
     "EXIT")
)  # fmt: skip
COMPARISONS = frozenset(("<", "<=", ">", ">=", "<>", "!=", "="))

Draws = frozenset[Draw]
NONE: Draws = frozenset()


def _read(file: File) -> Sequence[Routine] | None:
    if not file.base.endswith(SUFFIXES):
        return None
    if "\0" in file.text:
        raise Broken("is no SQL script: it holds what is no text")
    lines = (line if len(line) <= LINE_MAX else "" for line in file.lines)
    tokens = list(sql.tokens("\n".join(lines)[:TEXT_MAX]))
    return [_Reader(file).routine(routine, name) for routine, name in _routines(tokens)]


def _routines(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], int]]:
    """The tokens of each routine, and where its name stands in them."""
    at = 0
    while at < len(tokens):
        name = _head(tokens, at)
        end = _end(tokens, name) if name else at + 1
        if name:
            yield list(tokens[at:end]), name - at
        at = max(end, at + 1)


def _text(tokens: Sequence[Token], at: int) -> str:
    """The word or sign there; "" past either end and of a string."""
    return tokens[at].text if 0 <= at < len(tokens) and tokens[at].kind != "string" else ""


def _head(tokens: Sequence[Token], at: int) -> int | None:
    """Where the name stands when a routine's definition begins at ``at``."""
    if _text(tokens, at) not in ("CREATE", "ALTER", "RECREATE"):
        return None
    for n in range(at + 1, min(at + HEAD_MAX, len(tokens))):
        if tokens[n].text == ";":
            return None
        if tokens[n].text in KINDS:
            name = _table(tokens, n + 1)[1] - 1
            return name if name < len(tokens) and tokens[name].kind == "word" else None
    return None


def _end(tokens: Sequence[Token], name: int) -> int:
    """One past the last token of the routine whose name is at ``name``."""
    declares = False
    last = min(name + TOKENS_MAX, len(tokens))
    for n in range(name + 1, last):
        text, before = _text(tokens, n), _text(tokens, n - 1)
        if tokens[n].kind == "dollar":
            if before not in ("AS", "DO"):
                return n
            close = (m for m in range(n + 1, len(tokens)) if tokens[m].kind == "dollar" and tokens[m].text == text)
            return next(close, len(tokens) - 1) + 1
        if text == "BEGIN":
            return _block_end(tokens, n)
        declares = declares or (before == "AS" and text == "DECLARE")
        if text == "DELIMITER" or (text == ";" and not declares) or _head(tokens, n) is not None:
            return n
    return last


def _block_end(tokens: Sequence[Token], begin: int) -> int:
    """One past the END of the BEGIN at ``begin``."""
    depth = 0
    end = min(begin + TOKENS_MAX, len(tokens))
    for n in range(begin, end):
        text = _text(tokens, n)
        if text == "BEGIN" or (text == "CASE" and _text(tokens, n - 1) != "END"):
            depth += 1
        # After an END of PSQL an "IF (" may follow, no "IF;".
        elif text == "END" and not (
            _text(tokens, n + 1) in CLOSED_BY_END and ";" in (_text(tokens, n + 2), _text(tokens, n + 3))
        ):
            depth -= 1
            if depth == 0:
                return n + 1
    return end


def _statements(body: Sequence[Token]) -> Iterator[list[Token]]:
    """Cut at semicolons and at the keywords that a statement follows; those within a CASE expression do not cut."""
    now: list[Token] = []
    cases = 0
    for token in body:
        word = token.text if token.kind == "word" else ""
        first = now[0].text if now else ""
        if word == "CASE" and first not in ("", "END"):
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif not cases and word in BOUNDARIES and not (word == "DO" and first in ("INSERT", "MERGE")):
            yield now
            now = [token] if word == "END" else []
            continue
        elif (token.text == ";" and token.kind == "sign") or token.kind == "dollar":
            yield now
            now, cases = [], 0
            continue
        if first == "END":
            # What follows the END of a block in PSQL is a statement; of the others, its label or kind.
            now = []
        now.append(token)
    yield now


def _begins(tokens: Sequence[Token], n: int) -> bool:
    """Whether a head ends at ``n``: at AS, BEGIN, a dollar quote, or the only statement of a trigger of MySQL."""
    text = _text(tokens, n)
    row = text in ("UPDATE", "INSERT", "DELETE", "SET") and _text(tokens, n - 1) == "ROW"
    return tokens[n].kind == "dollar" or text in ("BEGIN", "AS") or row


def _split(tokens: Sequence[Token], mark: str = ",") -> list[list[Token]]:
    """At each ``mark`` that stands in no bracket."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _find(tokens: Sequence[Token], *words: str, start: int = 0) -> int:
    """The first of ``words`` that stands in no bracket; the length where there is none."""
    depth = 0
    for n in range(start, len(tokens)):
        text = _text(tokens, n)
        depth += (text == "(") - (text == ")")
        if depth == 0 and text in words:
            return n
    return len(tokens)


def _bracket(tokens: Sequence[Token], at: int) -> tuple[list[list[Token]], int]:
    """The parts within the bracket that opens at ``at``, and where it ends; none where none does."""
    if _text(tokens, at) != "(":
        return [], at
    close = _find(tokens, ")", start=at)
    return _split(tokens[at + 1 : close]), close + 1


def _table(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The name at ``at``, without its schema, and where it ends."""
    while _text(tokens, at) in ("ONLY", "IGNORE", "LOW_PRIORITY", "INTO", "FROM", "IF", "NOT", "EXISTS"):
        at += 1
    while _text(tokens, at + 1) == ".":
        at += 2
    return _text(tokens, at), at + 1


@dataclass
class _Reader:
    """Reads one routine."""

    file: File
    known: dict[str, Draws] = field(default_factory=dict)  # what each variable may hold
    numbers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # that are assigned to it as such
    colons: bool = False  # PSQL: a variable in a statement has a colon before it, a name without is a column

    def routine(self, tokens: Sequence[Token], name: int) -> Routine:
        kind = next(KINDS[t.text] for t in tokens[:name] if t.text in KINDS)
        begin = next((n for n in range(name, len(tokens)) if _begins(tokens, n)), len(tokens))
        table = calls = ""
        for n in range(name, begin) if kind == "trigger" else ():
            # "FOR table" of Firebird, "ON table" of all; "EXECUTE FUNCTION name()" of PostgreSQL.
            pair = _text(tokens, n), _text(tokens, n + 1)
            if pair[0] == "ON" or (pair[0] == "FOR" and pair[1] != "EACH"):
                table = table or _table(tokens, n + 1)[0]
            elif pair in (("EXECUTE", "FUNCTION"), ("EXECUTE", "PROCEDURE")):
                calls = _table(tokens, n + 2)[0]
        body = tokens[begin:]
        self.colons = not any(token.kind == "dollar" for token in tokens) and any(
            one.text == ":" and other.kind == "word" and other.text not in LABELLED for one, other in pairwise(body)
        )
        statements = [statement for statement in _statements(body) if statement]
        for _ in range(PASSES_MAX):
            before = dict(self.known)
            for statement in statements:
                self._assign(statement)
            if self.known == before:
                break
        loop, line = max(((self._count(statement), -statement[0].line) for statement in statements), default=(0, 0))
        return Routine(
            where=self.file.at(tokens[0].line),
            name=tokens[name].text,
            kind=kind,
            table=table,
            calls=calls,
            writes=tuple(self._writes(statements)),
            loop=loop or None,
            loop_where=self.file.at(-line) if loop else None,
        )

    def _draw(self, tokens: Sequence[Token], n: int) -> Draw | None:
        word, after, where = _text(tokens, n), _text(tokens, n + 1), self.file.at(tokens[n].line)
        if word in RANDOM and after == "(":
            return Draw(where, f"{word}()", "random")
        return Draw(where, _text(tokens, n + 2), "column") if (word, after) == ("NEW", ".") else None

    def _held(self, tokens: Sequence[Token], *, statement: bool = True) -> Draws:
        """What a value computed from ``tokens`` depends on; within a statement of SQL names may be columns."""
        draws: set[Draw] = set()
        for n, token in enumerate(tokens):
            before = _text(tokens, n - 1)
            if draw := self._draw(tokens, n):
                draws.add(draw)
            elif before == ":" or (before != "." and _text(tokens, n + 1) != "(" and not (statement and self.colons)):
                draws |= self.known.get(token.text, NONE)
        return frozenset(draws)

    def _learn(self, target: Sequence[Token], draws: Draws) -> str:
        """``target`` is a variable, with its sign before it and its type after it; its name."""
        words = (t.text for t in target if t.kind == "word" and t.text not in ("VARIABLE", "DECLARE", "SET"))
        name = next(words, "")
        held = self.known.get(name, NONE)
        if name and name not in ("NEW", "OLD") and len(held) < DRAWS_MAX:
            self.known[name] = held | draws
        return name

    def _assign(self, statement: Sequence[Token]) -> None:
        first = statement[0].text
        into = _find(statement, "INTO", "RETURNING_VALUES", start=1)
        if first == "FOR" and _text(statement, 2) == "IN":
            self._learn(statement[1:2], self._held(statement[3:]))
        elif into < len(statement) and first not in ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"):
            end = _find(statement, *CLAUSES, start=into + 1)
            draws = self._held([*statement[:into], *statement[end:]])
            for target in _split(statement[into + 1 : end]):
                self._learn(target, draws)
        elif first == "SET":
            for part in _split(statement[1:]):
                self._set(part)
        elif first not in ASSIGN_NOTHING:
            self._set(statement)

    def _set(self, part: Sequence[Token]) -> None:
        """``x = value``, and a declaration with a value."""
        at = _find(part, "=", ":=", "DEFAULT")
        value = part[at + 1 :]
        if at and value:
            name = self._learn(part[:at], self._held(value, statement=False))
            if len(value) == 1 and value[0].text.isdecimal():
                self.numbers[name].add(int(value[0].text[:9]))

    def _writes(self, statements: Sequence[Sequence[Token]]) -> Iterator[Write]:
        inserts = [list(self._inserts(statement)) for statement in statements]
        own: dict[str, set[Draw]] = defaultdict(set)  # what is drawn for the rows that are inserted into a table
        for insert in (one for of in inserts for one in of):
            own[insert.table].update(draw for _, draws in insert.columns for draw in draws)
        for statement, of in zip(statements, inserts, strict=True):
            yield from of or self._changes(statement, own)

    def _inserts(self, statement: Sequence[Token]) -> Iterator[Write]:
        """INSERT, REPLACE and UPDATE OR INSERT: which columns get values that are drawn."""
        first = statement[0].text
        into = next((n for n in range(min(len(statement), 4)) if statement[n].text == "INTO"), None)
        if into is None or first not in ("INSERT", "REPLACE", "UPDATE"):
            return
        table, at = _table(statement, into + 1)
        named, at = _bracket(statement, at)
        at = _find(statement, "VALUES", "VALUE", "SELECT", start=at)
        given = _bracket(statement, at + 1)[0]
        if _text(statement, at) == "SELECT":
            given = _split(statement[at + 1 : _find(statement, "FROM", start=at)])
        columns: dict[str, Draws] = {}
        for n, value in enumerate(given):
            if draws := self._held(value):
                name = _text(named[n], len(named[n]) - 1) if n < len(named) else "*"
                columns[name] = columns.get(name, NONE) | draws
        where = self.file.at(statement[0].line)
        yield Write(where, "insert", table, columns=tuple((name, _sorted(of)) for name, of in columns.items()))
        updates = any(pair in (("DO", "UPDATE"), ("KEY", "UPDATE")) for pair in pairwise(t.text for t in statement))
        if first != "INSERT" or updates:
            # Without a list of the key's columns, only what is drawn for all columns is drawn for the key.
            key = _bracket(statement, _find(statement, "MATCHING", "CONFLICT") + 1)[0]
            chosen = {_text(column, 0) for column in key} or (set(columns) if len(columns) == len(given) else set())
            keys = (draw for name in chosen for draw in columns.get(name, NONE))
            yield Write(where, "update", table, keys=_sorted(keys))

    def _changes(self, statement: Sequence[Token], own: dict[str, set[Draw]]) -> Iterator[Write]:
        """UPDATE, DELETE, MERGE and SELECT … FOR UPDATE: what chooses their rows."""
        first = statement[0].text
        locks = {("FOR", "UPDATE"), ("WITH", "LOCK")} & set(pairwise(t.text for t in statement))
        verb: Literal["update", "delete", "lock"] = "update"
        table = _table(statement, 1)[0]
        if first == "DELETE":
            verb = "delete"
        elif _find(statement, "SELECT") < len(statement) and locks:
            table, verb = _table(statement, _find(statement, "FROM") + 1)[0], "lock"
        elif first not in ("UPDATE", "MERGE"):
            return
        where = _find(statement, "ON" if first == "MERGE" else "WHERE", start=1)
        condition = statement[where + 1 : _find(statement, "RETURNING", "WHEN", start=min(where + 1, len(statement)))]
        texts = [one.text for one in condition]
        of_row = "OR" not in texts and any(
            text == "=" and texts[n + 1 : n + 4] == ["NEW", ".", *texts[n - 1 : n]] for n, text in enumerate(texts)
        )
        keys = _sorted(self._held(condition) - own[table])
        yield Write(self.file.at(statement[0].line), verb, table, keys, of_row=of_row)

    def _count(self, statement: Sequence[Token]) -> int:
        """How often a loop runs: "FOR i IN 1..100", or until a variable that starts from a number reaches one."""
        first = statement[0].text
        if first == "FOR" and (at := _find(statement, "..")) < len(statement):
            ends = [t.text[:9] for t in (statement[at - 1], *statement[at + 1 : at + 2]) if t.text.isdecimal()]
            return abs(int(ends[1]) - int(ends[0])) + 1 if len(ends) == 2 else 0
        until = first == "EXIT" and _text(statement, 1) == "WHEN"
        bare = [t.text for t in statement[2 if until else 1 :] if t.text not in ("(", ")", ":", "@")]
        if not (until or first in ("WHILE", "UNTIL")) or len(bare) != 3 or bare[1] not in COMPARISONS:
            return 0
        name, bound = sorted((bare[0], bare[2]), key=str.isdecimal)
        if name.isdecimal() or not bound.isdecimal():
            return 0
        away = (abs(start - int(bound[:9])) for start in self.numbers.get(name, ()))
        return max((far + (bare[1] in ("<=", ">=")) for far in away), default=0)


def _sorted(draws: Iterable[Draw]) -> tuple[Draw, ...]:
    return tuple(sorted(draws, key=lambda draw: (draw.where.line or 0, draw.what, draw.sort)))


IMPORTER = Importer("SQL script", _read)
