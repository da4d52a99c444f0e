"""Stored procedures and triggers in SQL scripts: what they draw at random, and which rows they change by it.

No parser of three dialects: statements are cut at their keywords, and a value is followed from the call that draws it
through variables to the condition or the column it ends in. What is not understood is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
DEFINITION_MAX = 2_000  # tokens of a table
DRAWS_MAX = 16  # that a variable is known to depend on; more say nothing more
PASSES_MAX = 8  # through a routine's assignments, until no variable learns more

KINDS: dict[str, Literal["procedure", "function", "trigger"]] = {
    "PROCEDURE": "procedure",
    "FUNCTION": "function",
    "TRIGGER": "trigger",
}
RANDOM = frozenset(("RAND", "RANDOM", "NEWID", "RANDOM_BYTES", "RANDOM_NORMAL"))
UNIQUE = frozenset(("GEN_UUID", "GEN_RANDOM_UUID", "UUID", "UUID_SHORT", "UUID_GENERATE_V4", "UUIDV4", "UUIDV7"))
CLOCK = frozenset(("NOW", "CLOCK_TIMESTAMP", "SYSDATE", "STATEMENT_TIMESTAMP", "TIMEOFDAY", "UNIX_TIMESTAMP"))
CLOCK_WORDS = frozenset(("CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIMESTAMP", "LOCALTIME"))
BOUNDARIES = frozenset(("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "END"))
CLOSED_BY_END = frozenset(("IF", "LOOP", "WHILE", "REPEAT", "FOR"))  # "END IF;" of SQL/PSM and PL/pgSQL
CLAUSES = frozenset(("FROM", "WHERE", "USING", "ORDER", "GROUP", "LIMIT", "DO", "STRICT"))
NO_NAME = Token("sign", "", 0)

Draws = frozenset[Draw]
NONE: Draws = frozenset()


def _read(file: File) -> Sequence[Routine] | None:
    if not file.base.endswith(SUFFIXES):
        return None
    if "\0" in file.text:
        raise Broken("is no SQL script: it holds what is no text")
    return list(_routines(file))


def _routines(file: File) -> Iterator[Routine]:
    lines = (line if len(line) <= LINE_MAX else "" for line in file.lines)
    tokens = list(sql.tokens("\n".join(lines)[:TEXT_MAX]))
    bodies, at = [], 0
    while at < len(tokens):
        named = _head(tokens, at)
        if named is None:
            at += 1
            continue
        end = _end(tokens, named)
        bodies.append((tokens[at].line, tokens[at:end], named - at))
        at = max(end, at + 1)
    # A function that draws is itself a draw to those that call it.
    drawing = frozenset(body[name].text for _, body, name in bodies if _answers(body, name))
    tables = _Tables.of(tokens)
    for line, body, name in bodies:
        yield _Reader(file, drawing, tables).routine(line, body, name)


@dataclass
class _Tables:
    """What a script says of its tables."""

    keys: dict[str, list[frozenset[str]]] = field(
        default_factory=dict
    )  # the columns that tell each row from all others
    temporary: set[str] = field(default_factory=set)  # whose rows no other session sees

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> _Tables:
        tables = cls()
        n = -1
        while (n := n + 1) < len(tokens):
            if _text(tokens, n) not in ("CREATE", "RECREATE", "ALTER", "DECLARE"):
                continue
            at = next((m for m in range(n + 1, min(n + 7, len(tokens))) if _text(tokens, m) == "TABLE"), None)
            if at is None or ";" in (_text(tokens, m) for m in range(n, at)):
                continue
            words = {_text(tokens, m) for m in range(n, at)}
            while _text(tokens, at + 1) in ("IF", "NOT", "EXISTS"):
                at += 1
            name, after = _table(tokens, at + 1)
            if words & {"TEMPORARY", "TEMP"}:
                tables.temporary.add(name)
            rest = tokens[after : after + DEFINITION_MAX]
            within, length = _to_semicolon(rest) if "ALTER" in words else _bracket(rest, 0)
            for part in _split(within):
                tables._learn(name, part)
            n = after + length - 1
        return tables

    def _learn(self, table: str, part: Sequence[Token]) -> None:
        """``part`` defines a column or is a constraint."""
        at = _find(part, "PRIMARY", "UNIQUE")
        if at == len(part):
            return
        named = next((n for n in range(at + 1, min(at + 5, len(part))) if _text(part, n) == "("), None)
        inner = _bracket(part, named)[0] if named is not None else []
        columns = [_text(one, 0) for one in _split(inner)] if inner else [_text(part, 0)]
        self.keys.setdefault(table, []).append(frozenset(columns))

    def identify(self, table: str) -> list[frozenset[str]]:
        """What tells a row of ``table`` from all others; where the script does not say it, ``ID`` does."""
        return self.keys.get(table, [frozenset(("ID",))])


def _to_semicolon(tokens: Sequence[Token]) -> tuple[list[Token], int]:
    end = next((n for n in range(len(tokens)) if _text(tokens, n) == ";"), len(tokens))
    return list(tokens[:end]), end


def _answers(body: Sequence[Token], name: int) -> bool:
    """Whether a routine returns something and draws."""
    returns = any(token.kind == "word" and token.text in ("RETURNS", "OUT") for token in body[name : name + 200])
    trigger = any(token.text == "TRIGGER" for token in body[: name + 200])
    return returns and not trigger and any(_drawn(body, n) for n in range(len(body)))


def _text(tokens: Sequence[Token], at: int) -> str:
    """The word or sign there; "" past either end and of a string."""
    return tokens[at].text if 0 <= at < len(tokens) and tokens[at].kind != "string" else ""


def _head(tokens: Sequence[Token], at: int) -> int | None:
    """Where the name stands when a routine's definition begins at ``at``."""
    if _text(tokens, at) not in ("CREATE", "ALTER", "RECREATE"):
        return None
    for n in range(at + 1, min(at + 14, len(tokens))):
        if tokens[n].text == ";":
            return None
        if tokens[n].text in KINDS:
            n += 1  # noqa: PLW2901
            while _text(tokens, n) in ("IF", "NOT", "EXISTS"):
                n += 1  # noqa: PLW2901
            while _text(tokens, n + 1) == ".":
                n += 2  # noqa: PLW2901
            return n if n < len(tokens) and tokens[n].kind == "word" else None
    return None


def _end(tokens: Sequence[Token], named: int) -> int:
    """One past the last token of the routine whose name is at ``named``."""
    body = parens = 0
    for n in range(named + 1, min(named + TOKENS_MAX, len(tokens))):
        text = _text(tokens, n)
        parens += (text == "(") - (text == ")")
        if tokens[n].kind == "dollar":
            if _text(tokens, n - 1) not in ("AS", "DO"):
                return n
            close = (m for m in range(n + 1, len(tokens)) if tokens[m] == Token("dollar", text, tokens[m].line))
            return next(close, len(tokens) - 1) + 1
        if text == "BEGIN":
            return _block_end(tokens, n)
        if text == "AS" and parens <= 0 and n + 1 < len(tokens) and tokens[n + 1].kind == "word":
            body = n
        if (text == ";" and not body) or _head(tokens, n) is not None:
            return n
        if (text == "SET" and _text(tokens, n + 1) == "TERM") or text == "DELIMITER":
            return n
    return min(named + TOKENS_MAX, len(tokens))


def _block_end(tokens: Sequence[Token], begin: int) -> int:
    """One past the END of the BEGIN at ``begin``."""
    depth = 0
    end = min(begin + TOKENS_MAX, len(tokens))
    for n in range(begin, end):
        text = _text(tokens, n)
        if text == "BEGIN" or (text == "CASE" and _text(tokens, n - 1) != "END"):
            depth += 1
        elif text == "END" and not _ends_other(tokens, n):
            depth -= 1
            if depth == 0:
                return n + 1
    return end


def _ends_other(tokens: Sequence[Token], n: int) -> bool:
    """Whether the END at ``n`` is of no BEGIN or CASE. After an END of PSQL an "IF (" may follow, no "IF;"."""
    return _text(tokens, n + 1) in CLOSED_BY_END and ";" in (_text(tokens, n + 2), _text(tokens, n + 3))


def _statements(body: Sequence[Token]) -> Iterator[list[Token]]:
    """Cut at semicolons and at the keywords that a statement follows; those within a CASE expression do not cut."""
    now: list[Token] = []
    cases = 0
    for token in body:
        word = token.text if token.kind == "word" else ""
        if word == "CASE" and now and now[0].text != "END":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif not cases and word in BOUNDARIES and not (word == "DO" and now and now[0].text in ("INSERT", "MERGE")):
            yield now
            now = []
            if word == "END":
                now = [token]
            continue
        elif (token.text == ";" and token.kind == "sign") or token.kind == "dollar":
            yield now
            now, cases = [], 0
            continue
        if now and now[0].text == "END":
            # What follows the END of a block in PSQL is a statement; of the others, its label or kind.
            now = []
        now.append(token)
    yield now


def _drawn(tokens: Sequence[Token], n: int) -> tuple[str, Literal["random", "sequence", "clock"]] | None:
    """The call at ``n`` that answers differently each time, as it is written."""
    if tokens[n].kind != "word":
        return None
    word, called = tokens[n].text, _text(tokens, n + 1) == "("
    if word in RANDOM and called:
        return f"{word}()", "random"
    if word in UNIQUE and called:
        return f"{word}()", "sequence"
    if (word in CLOCK and called) or word in CLOCK_WORDS:
        return word, "clock"
    if word == "GEN_ID" and called and _text(tokens, n + 3) == "," and _text(tokens, n + 4) != "0":
        return f"GEN_ID({_text(tokens, n + 2)}, {_text(tokens, n + 4)})", "sequence"
    if word in ("NEXT", "PREVIOUS") and _text(tokens, n + 1) == "VALUE" and _text(tokens, n + 2) == "FOR":
        return f"NEXT VALUE FOR {_text(tokens, n + 3)}", "sequence"
    if word == "NEXTVAL" and called:
        name = tokens[n + 2].text.strip("'") if n + 2 < len(tokens) else ""
        return f"NEXTVAL({name})", "sequence"
    return None


def _split(tokens: Sequence[Token], sign: str = ",") -> list[list[Token]]:
    """At the commas that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == sign and depth == 0:
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


def _bracket(tokens: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """What is within the bracket that opens at ``at``, and where it ends; nothing where none does."""
    if _text(tokens, at) != "(":
        return [], at
    depth = 0
    for n in range(at, len(tokens)):
        depth += (_text(tokens, n) == "(") - (_text(tokens, n) == ")")
        if depth == 0:
            return list(tokens[at + 1 : n]), n + 1
    return list(tokens[at + 1 :]), len(tokens)


def _table(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The table named at ``at``, without its schema, and where the name ends."""
    while _text(tokens, at) in ("ONLY", "IGNORE", "LOW_PRIORITY", "INTO", "FROM"):
        at += 1
    while _text(tokens, at + 1) == ".":
        at += 2
    return _text(tokens, at), at + 1


@dataclass
class _Reader:
    """Reads one routine."""

    file: File
    drawing: frozenset[str]  # functions of the same script that draw
    tables: _Tables
    known: dict[str, Draws] = field(default_factory=dict)  # what each variable may hold
    numbers: dict[str, set[int]] = field(default_factory=dict)  # what numbers are assigned to it as such
    # Of each variable what it is set to, as far as it is set by values, and of which column of a row of its own.
    values: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    returned: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    colons: bool = False  # PSQL: a variable in a statement has a colon before it, a name without is a column

    def routine(self, line: int, tokens: Sequence[Token], named: int) -> Routine:
        kind = next(KINDS[t.text] for t in tokens[:named] if t.text in KINDS)
        begin = next((n for n in range(named, len(tokens)) if self._begins(tokens, n)), len(tokens))
        head = tokens[named:begin]
        table = calls = ""
        if kind == "trigger":
            table = next((_table(head, n + 1)[0] for n in range(len(head)) if self._is_for(head, n)), "")
            calls = next((_table(head, n + 2)[0] for n in range(len(head)) if self._calls(head, n)), "")
        body = list(tokens[begin:])
        self.colons = self._has_colons(tokens, body)
        statements = [one for one in _statements(body) if one]
        for _ in range(PASSES_MAX):
            before = dict(self.known)
            for statement in statements:
                self._assign(statement)
            if self.known == before:
                break
        draws = {self._draw(body, n) for n in range(len(body))} - {None}
        loop, loop_line = self._loop(statements)
        return Routine(
            where=self.file.at(line),
            name=_text(tokens, named),
            kind=kind,
            table=table,
            calls=calls,
            draws=tuple(sorted((d for d in draws if d and d.sort != "column"), key=_order)),
            writes=tuple(self._writes(statements)),
            loop=loop,
            loop_where=self.file.at(loop_line) if loop else None,
        )

    @staticmethod
    def _begins(tokens: Sequence[Token], n: int) -> bool:
        """Whether a head ends at ``n``: at AS, BEGIN, a dollar quote, or the only statement of a trigger of MySQL."""
        text = _text(tokens, n)
        row = text in ("UPDATE", "INSERT", "DELETE", "SET") and _text(tokens, n - 1) == "ROW"
        return tokens[n].kind == "dollar" or text in ("BEGIN", "AS") or row

    @staticmethod
    def _is_for(head: Sequence[Token], n: int) -> bool:
        """ "FOR table" of Firebird, "ON table" of all."""
        return head[n].text == "ON" or (head[n].text == "FOR" and _text(head, n + 1) != "EACH")

    @staticmethod
    def _calls(head: Sequence[Token], n: int) -> bool:
        """ "EXECUTE FUNCTION name()" of PostgreSQL, and what it was before 11."""
        return head[n].text == "EXECUTE" and _text(head, n + 1) in ("FUNCTION", "PROCEDURE")

    @staticmethod
    def _has_colons(tokens: Sequence[Token], body: Sequence[Token]) -> bool:
        """Whether a variable is used with a colon; one after a name at a statement's begin makes it a label."""
        if any(token.kind == "dollar" for token in tokens):
            return False
        return any(
            one.text == ":" and other.kind == "word" and other.text not in ("BEGIN", "LOOP", "WHILE", "REPEAT", "FOR")
            for one, other in pairwise(body)
        )

    def _draw(self, tokens: Sequence[Token], n: int) -> Draw | None:
        drawn = _drawn(tokens, n)
        if drawn:
            return Draw(self.file.at(tokens[n].line), *drawn)
        if tokens[n].kind == "word" and tokens[n].text in self.drawing and _text(tokens, n + 1) == "(":
            return Draw(self.file.at(tokens[n].line), f"{tokens[n].text}()", "random")
        if tokens[n].text == "NEW" and _text(tokens, n + 1) == ".":
            return Draw(self.file.at(tokens[n].line), _text(tokens, n + 2), "column")
        return None

    def _held(self, tokens: Sequence[Token], *, statement: bool = False) -> Draws:
        """What a value computed from ``tokens`` depends on; within a statement of SQL names may be columns."""
        draws: set[Draw] = set()
        for n in range(len(tokens)):
            if draw := self._draw(tokens, n):
                draws.add(draw)
            elif tokens[n].kind == "word" and self._is_variable(tokens, n, statement=statement):
                draws |= self.known.get(tokens[n].text, NONE)
        return frozenset(draws)

    def _is_variable(self, tokens: Sequence[Token], n: int, *, statement: bool) -> bool:
        before = _text(tokens, n - 1)
        return before == ":" or (before != "." and _text(tokens, n + 1) != "(" and not (statement and self.colons))

    def _learn(self, target: Sequence[Token], draws: Draws) -> None:
        """``target`` is a variable, with its sign before it and its type after it."""
        name = _variable(target)
        if name and name not in ("NEW", "OLD"):
            held = self.known.get(name, NONE)
            self.known[name] = held if len(held) >= DRAWS_MAX else held | draws

    def _assign(self, statement: Sequence[Token]) -> None:
        first = statement[0].text
        if first in ("UPDATE", "DELETE", "MERGE", "REPLACE"):
            return
        into = _find(statement, "INTO", "RETURNING_VALUES", start=1)
        if first == "INSERT":
            into = _find(statement, "INTO", start=_find(statement, "RETURNING"))
        if first == "FOR" and _text(statement, 2) == "IN":
            self._learn(statement[1:2], self._held(statement[3:], statement=True))
        elif first == "INSERT" and into < len(statement):
            self._return(statement, into)
        elif into < len(statement):
            end = _find(statement, *CLAUSES, start=into + 1)
            draws = self._held([*statement[:into], *statement[end:]], statement=True)
            targets = _split(statement[into + 1 : end])
            for target in targets:
                self._learn(target, draws)
            begin = _find(statement, "SELECT") + 1
            asked = _split(statement[begin : min(_find(statement, "FROM", start=begin), into)])
            for target, value in zip(targets, asked, strict=False):
                self._set_to(target, value)
        elif first == "SET":
            for part in _split(statement[1:]):
                self._set(part)
        elif first not in ("WHILE", "IF", "ELSEIF", "ELSIF", "UNTIL", "WHEN", "SELECT", "EXIT"):
            self._set(statement)

    def _return(self, statement: Sequence[Token], into: int) -> None:
        """Variables take columns of the row that was inserted: what was drawn for them, or what the engine gave it."""
        write = next(self._inserts(statement), None)
        columns = dict(write.columns) if write else {}
        given = _split(statement[_find(statement, "RETURNING") + 1 : into])
        for n, target in enumerate(_split(statement[into + 1 :])):
            column = _text(given[n], len(given[n]) - 1) if n < len(given) and given[n] else "*"
            drawn = columns.get(column, ()) if column != "*" else (one for of in columns.values() for one in of)
            self._learn(target, frozenset(drawn))
            self.returned.setdefault(_variable(target), set()).add((write.table if write else "", column))

    def _set_to(self, target: Sequence[Token], value: Sequence[Token]) -> None:
        held = self.values.setdefault(_variable(target), set())
        if len(held) < DRAWS_MAX:
            held.add(tuple(token.text for token in value[:DRAWS_MAX]))

    def _is_new(self, value: Sequence[Token], seen: set[str]) -> bool:
        """Whether a value is a number that nobody else gets, as it was drawn: no part of one, nothing computed.
        ``seen`` are variables that were looked into."""
        bare = [token for token in value if token.text not in (":", "@")]
        if not bare or len(seen) > DRAWS_MAX:
            return False
        drawn = _drawn(bare, 0)
        if drawn and drawn[1] == "sequence":
            end = _bracket(bare, 1)[1] if _text(bare, 1) == "(" else 4
            return len(bare) <= end
        if len(bare) > 1 or not self.values.get(bare[0].text):
            return False
        if bare[0].text in seen:
            return True
        seen.add(bare[0].text)
        words = ([Token("word", text, 0) for text in of] for of in self.values[bare[0].text])
        return all(self._is_new(one, seen) for one in words)

    def _set(self, part: Sequence[Token]) -> None:
        """``x = value``, and a declaration with a value."""
        at = _find(part, "=", ":=", "DEFAULT")
        if at in (0, len(part)):
            return
        value = part[at + 1 :]
        if value:
            self._learn(part[:at], self._held(value))
            self._set_to(part[:at], value)
        if len(value) == 1 and value[0].kind == "number" and value[0].text.isdecimal():
            name = next((t.text for t in part[:at] if t.kind == "word" and t.text not in ("DECLARE", "VARIABLE")), "")
            self.numbers.setdefault(name, set()).add(int(value[0].text[:9]))

    def _writes(self, statements: Sequence[Sequence[Token]]) -> Iterator[Write]:
        inserted: dict[str, Draws] = {}  # into a table: what is unique in it
        values: dict[str, list[dict[str, list[Token]]]] = {}  # and what each of its columns is
        for one in statements:
            for write in self._inserts(one):
                unique = (d for _, draws in write.columns for d in draws if d.sort == "sequence")
                inserted[write.table] = inserted.get(write.table, NONE) | frozenset(unique)
            if named := self._values(one):
                values.setdefault(named[0], []).append(named[1])
        for one in statements:
            for write in (*self._inserts(one), *self._changes(one, inserted, values)):
                yield replace(write, keys=()) if write.table in self.tables.temporary else write

    def _values(self, statement: Sequence[Token]) -> tuple[str, dict[str, list[Token]]] | None:
        """The table of an INSERT, and what each named column is set to."""
        into = next((n for n in range(min(len(statement), 4)) if statement[n].text == "INTO"), None)
        if into is None or statement[0].text not in ("INSERT", "REPLACE", "UPDATE"):
            return None
        table, at = _table(statement, into + 1)
        named, at = _bracket(statement, at)
        names = [_text(part, len(part) - 1) for part in _split(named)] if named else []
        while _text(statement, at) and _text(statement, at) not in ("VALUES", "SELECT", "VALUE", "WITH"):
            at += 1
        given: list[list[Token]] = []
        if _text(statement, at) in ("VALUES", "VALUE"):
            given = _split(_bracket(statement, at + 1)[0])
        elif _text(statement, at) == "SELECT":
            given = _split(statement[at + 1 : _find(statement, "FROM", start=at)])
        return table, {names[n] if n < len(names) else f"*{n}": value for n, value in enumerate(given)}

    def _inserts(self, statement: Sequence[Token]) -> Iterator[Write]:
        """INSERT, REPLACE and UPDATE OR INSERT: which columns get values that are drawn."""
        named = self._values(statement)
        if named is None:
            return
        table, values = named
        columns: dict[str, Draws] = {}
        new: Draws = NONE  # what is a number of its own in this row
        for column, value in values.items():
            if draws := self._held(value, statement=True):
                name = "*" if column.startswith("*") else column
                columns[name] = columns.get(name, NONE) | draws
                new |= draws if self._is_new(value, set()) else NONE
        where = self.file.at(statement[0].line)
        yield Write(where, "insert", table, columns=tuple((name, _sorted(of)) for name, of in columns.items()))
        if statement[0].text != "INSERT" or _upserts(statement):
            matching = _find(statement, "MATCHING")
            wanted = {t.text for t in statement[matching:]} if matching < len(statement) else set(columns)
            keys = frozenset(d for name, draws in columns.items() if name in wanted for d in draws if d.sort != "clock")
            yield Write(where, "update", table, keys=_sorted(keys - new))

    def _changes(
        self,
        statement: Sequence[Token],
        inserted: dict[str, Draws],
        values: Mapping[str, Sequence[Mapping[str, Sequence[Token]]]],
    ) -> Iterator[Write]:
        """UPDATE, DELETE, MERGE and SELECT … FOR UPDATE: what chooses their rows."""
        first = statement[0].text
        verb: Literal["update", "delete", "lock"] = "update"
        if (first == "UPDATE" and _text(statement, 1) != "OR") or (first == "MERGE"):
            table, _ = _table(statement, 1)
        elif first == "DELETE":
            table, verb = _table(statement, 1)[0], "delete"
        elif _find(statement, "SELECT") < len(statement) and self._locks(statement):
            table, verb = _table(statement, _find(statement, "FROM") + 1)[0], "lock"
        else:
            return
        where = _find(statement, "ON" if first == "MERGE" else "WHERE", start=1)
        end = _find(statement, "RETURNING", "WHEN", start=min(where + 1, len(statement)))
        condition = statement[where + 1 : end]
        keys = self._held(condition, statement=True) - inserted.get(table, NONE)
        if keys and not inserted.get(table, NONE).isdisjoint(self._held(condition, statement=True)):
            keys = NONE  # a row that it has inserted itself, whatever else is asked of it
        equal = self._equal(condition)
        if keys and self._is_own(table, equal, values.get(table, ())):
            keys = NONE
        of_row = any(
            all(column in equal and _words(equal[column]) == ["NEW", ".", column] for column in key)
            for key in self.tables.identify(table)
        )
        line = self.file.at(statement[0].line)
        always = self._always(statement, condition) if first == "UPDATE" else ""
        yield Write(line, verb, table, _sorted(keys), always=always, of_row=of_row)

    @staticmethod
    def _equal(condition: Sequence[Token]) -> dict[str, list[Token]]:
        """What each column has to be equal to; of a condition without OR."""
        if any(token.text == "OR" for token in condition):
            return {}
        parts: list[list[Token]] = [[]]
        for token in condition:
            if token.text == "AND":
                parts.append([])
            else:
                parts[-1].append(token)
        equal: dict[str, list[Token]] = {}
        for part in parts:
            at = _find(part, "=")
            for column, value in ((part[:at], part[at + 1 :]), (part[at + 1 :], part[:at])):
                name = _words(column)
                if name and (len(name) == 1 or (len(name) == 3 and name[1] == "." and name[0] not in ("NEW", "OLD"))):
                    equal.setdefault(name[-1], list(value))
        return equal

    def _is_own(
        self,
        table: str,
        equal: Mapping[str, Sequence[Token]],
        inserted: Sequence[Mapping[str, Sequence[Token]]],
    ) -> bool:
        """Whether a condition names a row of ``table`` that the routine has inserted itself: by its key, which is set
        to the same variable, or was returned by the insertion."""
        keys = self.tables.identify(table)
        for row in inserted:
            if any(all(_same(row.get(column, ()), equal.get(column, ())) for column in key) for key in keys):
                return True
        for column, value in equal.items():
            words = _words(value)
            known = self.returned.get(words[0], set()) if words else set()
            asked = column if len(words) == 1 else "*" if len(words) == 3 and words[2] == column else ""
            given = any(column in row for row in inserted)  # what the engine gives by itself is a number of its own
            if known == {(table, asked)} and (frozenset((column,)) in keys or not given):
                return True
        return False

    @staticmethod
    def _locks(statement: Sequence[Token]) -> bool:
        pairs = {(a.text, b.text) for a, b in pairwise(statement)}
        return bool(pairs & {("FOR", "UPDATE"), ("WITH", "LOCK")})

    def _always(self, statement: Sequence[Token], condition: Sequence[Token]) -> str:
        """Why an update is of one row each time: ``SET n = n + 1`` of all rows, or ``WHERE id = 1``."""
        if not condition:
            assigned = statement[_find(statement, "SET") + 1 :]
            target = _text(assigned, _find(assigned, "=") - 1)
            return "no condition" if target and target in (t.text for t in assigned[2:]) else ""
        parts: list[list[Token]] = [[]]
        for token in condition:
            if token.text == "AND":
                parts.append([])
            else:
                parts[-1].append(token)
        bare = [[t for t in part if t.text not in "()"] for part in parts]
        fixed = all(len(p) in (3, 5) and p[-2].text == "=" and p[-1].kind in ("number", "string") for p in bare)
        return f"{bare[0][-3].text} = {bare[0][-1].text}" if fixed else ""

    def _loop(self, statements: Sequence[Sequence[Token]]) -> tuple[int | None, int]:
        """The largest count of a loop that a number says, and its line."""
        most, line = 0, 0
        for before, one in zip([[NO_NAME], *statements], statements, strict=False):
            count = 0
            if one[0].text in ("WHILE", "UNTIL"):
                count = self._count(one[1:])
            elif one[0].text == "EXIT" and _text(one, 1) == "WHEN":
                count = self._count(one[2:])
            elif one[0].text in ("LEAVE", "EXIT", "BREAK") and before[0].text == "IF":
                count = self._count(before[1:])
            elif one[0].text == "FOR" and (at := _find(one, "..")) < len(one):
                ends = [int(t.text[:9]) for t in (one[at - 1], *one[at + 1 : at + 2]) if t.text.isdecimal()]
                count = abs(ends[1] - ends[0]) + 1 if len(ends) == 2 else 0
            if count > most:
                most, line = count, one[0].line
        return (most, line) if most else (None, 0)

    def _count(self, condition: Sequence[Token]) -> int:
        """How often a loop runs whose variable is compared with a number and starts from one."""
        bare = [t for t in condition if t.text not in ("(", ")", ":", "@")]
        if len(bare) != 3 or bare[1].text not in ("<", "<=", ">", ">=", "<>", "!=", "="):
            return 0
        names = [t.text for t in (bare[0], bare[2]) if t.kind == "word"]
        bounds = [int(t.text[:9]) for t in (bare[0], bare[2]) if t.kind == "number" and t.text.isdecimal()]
        starts = self.numbers.get(names[0], set()) if names else set()
        if len(bounds) != 1 or not starts:
            return 0
        return max(abs(start - bounds[0]) for start in starts) + (bare[1].text in ("<=", ">="))


def _words(tokens: Sequence[Token]) -> list[str]:
    """Without the signs of variables and the brackets around all."""
    return [token.text for token in tokens if token.text not in (":", "@", "(", ")")]


def _variable(target: Sequence[Token]) -> str:
    """The name of the variable that is assigned to or declared."""
    return next((t.text for t in target if t.kind == "word" and t.text not in ("VARIABLE", "DECLARE", "SET")), "")


def _same(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether both are the same variable."""
    words = [_words(one), _words(other)]
    return len(words[0]) == 1 and words[0] == words[1] and all(token.kind != "number" for token in one)


def _upserts(statement: Sequence[Token]) -> bool:
    """ON CONFLICT … DO UPDATE, ON DUPLICATE KEY UPDATE."""
    words = [t.text for t in statement if t.kind == "word"]
    return any(pair in (("DO", "UPDATE"), ("KEY", "UPDATE")) for pair in pairwise(words))


def _order(draw: Draw) -> tuple[int, str, str]:
    return draw.where.line or 0, draw.what, draw.sort


def _sorted(draws: Iterable[Draw]) -> tuple[Draw, ...]:
    return tuple(sorted(draws, key=_order))


IMPORTER = Importer("SQL script", _read)
