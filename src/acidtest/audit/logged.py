"""What the engines' logs in our recordings say that a benchmark should fear, read as the logs of other people are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acidtest.audit.bench import EngineName, LogEntry, Where
from acidtest.audit.log_lines import MYSQL, POSTGRESQL, Kinds, of_firebird, of_server

SERVERS: Mapping[str, Kinds] = {"mysql": MYSQL, "mariadb": MYSQL, "postgresql": POSTGRESQL}
# A recording has each message of PostgreSQL once: "ERROR: invalid page in block 3 (2 times)".
POSTGRESQL_MESSAGE = re.compile(r"(?P<severity>[A-Z]+): +(?P<text>.*?)(?: \((?P<times>\d+) times\))?")
# Every message is a note on its row already, and conflicts are counted by the rig.
SAID_ELSEWHERE = ("error", "deadlock", "serialization")


def logged(engine: EngineName, logs: Iterable[tuple[str, Where]]) -> Iterator[LogEntry]:
    """One entry of each kind over all ``logs`` of one engine, each with the place of its recording."""
    by_kind: dict[str, LogEntry] = {}
    for text, where in logs:
        for one in _entries(engine, text.splitlines(), where):
            first = by_kind.setdefault(one.kind, replace(one, count=0))
            by_kind[one.kind] = replace(first, count=first.count + one.count)
    yield from (one for one in by_kind.values() if one.kind not in SAID_ELSEWHERE)


def _entries(engine: EngineName, lines: Sequence[str], where: Where) -> Iterable[LogEntry]:
    if engine == "firebird":
        return of_firebird(lines, lambda line: where)
    if engine == "postgresql":
        return [one for line in lines for one in _of_message(line, where)]
    return of_server(lines, lambda line: where, engine, SERVERS.get(engine, ()))


def _of_message(line: str, where: Where) -> Iterator[LogEntry]:
    """What a message of PostgreSQL is, with how often it stood in the log."""
    message = POSTGRESQL_MESSAGE.fullmatch(line)
    written = f"{message['severity']}:  {message['text']}" if message else line  # two spaces, as in the log itself
    for one in of_server([written], lambda line: where, "postgresql", POSTGRESQL):
        yield replace(one, count=int(message["times"] or 1) if message else 1)
