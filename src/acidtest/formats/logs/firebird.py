"""A trace of Firebird's as a log of what was asked; ``firebird_trace.py`` adds the same up, and has the form of it.

A transaction and its statements belong to an attachment. One that has several transactions open at a time is read as
several sessions, for a session of ours has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acidtest.formats import linear
from acidtest.formats.firebird_trace import (
    ATTACHMENT,
    FAILED,
    FETCHED,
    FULL,
    HEAD,
    PERFORMANCE,
    RULE,
    STATEMENT,
)
from acidtest.formats.logs.entries import LINE_BYTES_MAX, Entry, Line, time_us

CUT_SHORT = "the trace is cut short there, or a record is longer than 16 MiB"
NO_TEXT = "its bytes are no UTF-8"
ARGUMENTS_SKIPPED = "the trace left parameters out (max_arg_count)"
ARGUMENT_CUT = "the trace cut a parameter or the statement short (max_arg_length, max_sql_length)"
SUSPENDED = "the trace was suspended as its log was full: what ran meanwhile is missing"
BLOB = "a parameter is a blob, whose content a trace does not have"
TRANSACTION = linear.compile(r"\t\t\(TRA_(\d{1,18}), .*")
USER = linear.compile(r"\t.*\(ATT_\d{1,18}, ([^:,]{1,200})[:,].*")
OF_ENGINE = linear.compile(r"\t.*\(ATT_\d{1,18}, (?:Garbage Collector|Cache Writer|Sweeper)[:,].*")
PARAMETER = linear.compile(r'param(\d{1,5}) = ([a-z0-9 _(),]{1,80}?), (?:"(.*)"|<(NULL)>)', linear.DOTALL | linear.I)
FIRST_PARAMETER = linear.compile(r"param0 = .*")
MORE = linear.compile(r"\.\.\.\d{1,6} more arguments skipped\.\.\.")
PLAN = "^" * 79  # between a statement and its plan
ENDS = {
    "COMMIT_TRANSACTION": "commit",
    "COMMIT_RETAINING": "commit",
    "ROLLBACK_TRANSACTION": "rollback",
    "ROLLBACK_RETAINING": "rollback",
}
START = "START_TRANSACTION"
ATTACH, DETACH = ("ATTACH_DATABASE", "CREATE_DATABASE"), "DETACH_DATABASE"


class _State:
    def __init__(self) -> None:
        self.slots: dict[str, list[str | None]] = {}  # of an attachment, the transactions that are open

    def session(self, attachment: str, transaction: str) -> tuple[str, bool]:
        """The session of a transaction, and whether it is new there."""
        slots = self.slots.setdefault(attachment, [])
        if transaction in slots:
            return _name(attachment, slots.index(transaction)), False
        if None in slots:
            place = slots.index(None)
            slots[place] = transaction
        else:
            place = len(slots)
            slots.append(transaction)
        return _name(attachment, place), True

    def end(self, attachment: str, transaction: str) -> None:
        slots = self.slots.get(attachment, [])
        if transaction in slots:
            slots[slots.index(transaction)] = None


def _name(attachment: str, place: int) -> str:
    return attachment if place == 0 else f"{attachment}.{place + 1}"


def entries(file: Iterable[Line]) -> Iterator[Entry]:
    """The entries of a trace."""
    state = _State()
    first, parts, length, is_whole = 0, [b""], 0, True
    begun = False
    for line in file:
        content = line.content
        if content[4:5] == b"-" and HEAD.fullmatch(content.decode(errors="replace")):
            if begun:
                yield from _record(state, first, parts, is_whole)
            begun, first, parts, length, is_whole = True, line.number, [content], len(content), line.is_whole
        elif content.startswith(b"--- ") and FULL.fullmatch(content.decode(errors="replace")):
            yield Entry("", "unusable", 0, line.number, SUSPENDED)
        elif begun:
            length += len(content) + 1
            is_whole = is_whole and length <= LINE_BYTES_MAX
            if is_whole:
                parts.append(content)
    if begun:
        yield from _record(state, first, parts, is_whole)


def _record(state: _State, line: int, parts: list[bytes], is_whole: bool) -> Iterator[Entry]:
    try:
        lines = b"\n".join(parts).decode().split("\n")
    except UnicodeDecodeError:
        yield Entry("", "unusable", 0, line, NO_TEXT)
        return
    head = HEAD.fullmatch(lines[0])
    attached = ATTACHMENT.fullmatch(lines[1]) if len(lines) > 1 else None
    at_us = time_us(head[1]) if head else None
    if head is None or attached is None or at_us is None or OF_ENGINE.fullmatch(lines[1]):
        return  # of a service, of something that has no attachment, or of the engine's own
    event = head[2]
    bare = next((event.removeprefix(words) for words in FAILED if event.startswith(words)), event)
    failed = bare != event
    attachment = attached[1]
    user = USER.fullmatch(lines[1])

    def entry(session: str, act: str, text: str = "", **more: object) -> Entry:
        return Entry(session, act, at_us, line, text, user=user[1] if user else None, **more)  # type: ignore[arg-type]

    if not is_whole:
        yield entry(attachment, "unusable", CUT_SHORT)
        return
    if bare in ATTACH and not failed:
        yield entry(attachment, "open")
    elif bare == DETACH:
        for place in range(max(1, len(state.slots.pop(attachment, [])))):
            yield entry(_name(attachment, place), "close")
    transaction = next((match[1] for line in lines[2:5] if (match := TRANSACTION.fullmatch(line))), None)
    if transaction is None:
        return
    if bare == START:
        if not failed:
            session, _ = state.session(attachment, transaction)
            yield entry(session, "begin")
    elif bare in ENDS:
        session, is_new = state.session(attachment, transaction)
        if not is_new:
            yield entry(session, "rollback" if failed else ENDS[bare])
        if bare.endswith("RETAINING") and not failed:
            yield entry(session, "begin")
        else:
            state.end(attachment, transaction)
    elif bare == STATEMENT:
        session, is_new = state.session(attachment, transaction)
        one = _statement(lines)
        began_us = at_us - (one.took_us or 0)
        if is_new:
            yield Entry(session, "begin", began_us, line)
        one.session, one.line, one.at_us, one.failed, one.user = (
            session,
            line,
            began_us,
            failed,
            user[1] if user else None,
        )
        yield one


def _statement(lines: list[str]) -> Entry:
    """The statement of a record, without what its head tells."""
    found = Entry("", "statement", 0, 0)
    begin = next((place for place, line in enumerate(lines, start=1) if line == RULE), None)
    if begin is None:
        found.act, found.text = "unusable", CUT_SHORT
        return found
    timed = max(
        (place for place, line in enumerate(lines) if " ms" in line and PERFORMANCE.fullmatch(line)), default=None
    )
    end = len(lines) if timed is None or timed <= begin else timed
    if end < len(lines):
        performance = PERFORMANCE.fullmatch(lines[end])
        assert performance is not None
        found.took_us = int(performance[1]) * 1000
    if end > begin and (fetched := FETCHED.fullmatch(lines[end - 1])):
        found.rows, end = int(fetched[1]), end - 1
    text = lines[begin:end]
    if PLAN in text:
        at = text.index(PLAN)
        behind = text[at + 1 :]
        text = text[:at]
        first = next((place for place, line in enumerate(behind) if FIRST_PARAMETER.fullmatch(line)), len(behind))
        given = behind[first:]
    else:
        first = next(
            (place for place in range(1, len(text)) if not text[place - 1] and FIRST_PARAMETER.fullmatch(text[place])),
            len(text),
        )
        text, given = text[:first], text[first:]
    found.text = "\n".join(text).strip()
    given = "\n".join(given).strip("\n").split("\n")
    if found.text.endswith("..."):
        found.act, found.text = "unusable", ARGUMENT_CUT
    elif given != [""]:
        why, found.parameters = _parameters(given)
        if why:
            found.act, found.text = "unusable", why
    return found


def _parameters(lines: list[str]) -> tuple[str, tuple[str | None, ...] | None]:
    """Why they cannot be used, or their values."""
    wholes: list[list[str]] = []
    for line in lines:
        number = len(wholes)
        if line.startswith(f"param{number} = ") or MORE.fullmatch(line):
            wholes.append([line])
        elif wholes:
            wholes[-1].append(line)
    values: list[str | None] = []
    for whole in map("\n".join, wholes):
        if MORE.fullmatch(whole):
            return ARGUMENTS_SKIPPED, None
        match = PARAMETER.fullmatch(whole.rstrip("\n"))
        if match is None:
            return ARGUMENT_CUT, None
        kind, value = match[2], None if match[4] else match[3]
        if kind.startswith("blob") and value is not None:
            return BLOB, None
        if value is not None and value.endswith("..."):
            return ARGUMENT_CUT, None
        if value is not None and kind.startswith("timestamp"):
            value = value.replace("T", " ", 1)
        values.append(value)
    return "", tuple(values)
