"""What a ``firebird.log`` says, each kind of message once, with how often it stands there.

``gds__log`` (Firebird's src/yvalve/gds.cpp) writes an entry as a line of host and date, then the message, its lines
indented. The one that a benchmark should fear comes from a statement under read consistency that met a conflict again
after each of ten and more restarts (src/dsql/dsql.cpp of 4.0, src/dsql/DsqlRequests.cpp of 5.0)::

    myhost  Sat Nov 21 10:31:00 2026
            Update conflict: unable to get a stable set of rows in the source tables
            after 10 attempts of restart.
            Query:
    update STOCK set ...
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from acidtest.families import FIREBIRD
from acidtest.journal.models import Integrity
from acidtest.words import counted

FOUND = "Validation finished:"
SOUND = f"{FOUND} 0 errors, 0 warnings, 0 fixed"
KINDS_MAX = 5
WIDTH = 200

# What a healthy server writes: sweeps (src/jrd/tra.cpp), an orderly end (src/jrd/jrd.cpp, src/remote).
ROUTINE = (
    "Validation started",
    "Validation finished: # errors, # warnings, # fixed",  # of one that found nothing, see SOUND
    "Sweep is started by",
    "Sweep is finished",
    "Shutting down the server with",
    "PID # engine shutdown is in progress",
    "INET/select_wait: client rundown complete, server exiting",
    "SERVER/process_packet: Multi-client server shutdown",
    "Info: Remote Buffer Size set to",
    "setsockopt: error setting IPV#_V#ONLY to #",  # it is bound to an address of IPv4 (src/remote/inet.cpp)
)
HEAD = re.compile(r"\S+\t\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}")  # ctime(3)
NUMBER = re.compile(r"\d[\d:]*")


def findings(path: Path) -> list[str]:
    """One sentence for each kind of message in the whole log at ``path``, the most frequent first, none for routine."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return summary(messages(file))
    except FileNotFoundError:
        return []


FINISHED = re.compile(r"Validation finished: (\d+) errors?, (\d+) warnings?, \d+ fixed")
ERROR = re.compile(r"^\s*Error: (.*)$", re.MULTILINE)
WARNING = re.compile(r"^\s*Warning: (.*)$", re.MULTILINE)


def validation(check: str, log: str, database: Path) -> Integrity:
    """What a validation of ``database`` wrote (src/jrd/validation.cpp), among entries about others.

    Warnings are mostly of pages that nobody uses: a crash may leave them.
    """
    ours = f"Database: {database}\n"
    log = "\n".join(entry for entry in HEAD.split(log) if ours in entry)
    finished = FINISHED.search(log)
    if finished is None:
        return Integrity(holds="unknown", check=check, said="it wrote no result to firebird.log")
    errors = [message.strip() for message in ERROR.findall(log)]
    if finished[1] != "0":
        return Integrity(holds="broken", check=check, said=" / ".join([finished[0], *errors[:3]]))
    warnings = [message.strip() for message in WARNING.findall(log)]
    known = [message for message in warnings if FIREBIRD.known_by(message)]  # first, for only three are kept
    text = "" if finished[2] == "0" else " / ".join([finished[0], *list(dict.fromkeys([*known, *warnings]))[:3]])
    return Integrity(holds="holds", check=check, said=text)


def messages(lines: Iterable[str]) -> Iterator[str]:
    """What each entry says: its first line, or the second where the first names the database, or both where it
    ends with a colon.

    What stands before the first entry is the server's own output, an entry a line.
    """
    entered, waiting, begun = False, True, ""
    for line in lines:
        if HEAD.fullmatch(line.rstrip()):
            entered, waiting, begun = True, True, ""
        elif waiting and (text := line.strip()) and not text.startswith("Database: "):
            if text.endswith(":"):
                begun += f"{text} "
                continue
            yield begun + text
            waiting, begun = not entered, ""


def worth_reading(log: str) -> str:
    """The log without entries of what a healthy server writes."""
    entries: list[list[str]] = []
    headed = False
    for line in log.splitlines():
        head = HEAD.fullmatch(line.rstrip()) is not None
        if head or not headed:
            entries.append([])
        headed = headed or head
        entries[-1].append(line)
    return "\n".join("\n".join(entry).rstrip() for entry in entries if not _is_routine(entry)).strip()


def _is_routine(entry: Iterable[str]) -> bool:
    return all(_kind(message).startswith(ROUTINE) for message in messages(entry))


def _kind(message: str) -> str:
    """Equal for messages that differ in numbers only; one that tells of damage is not a sound one."""
    return message if message.startswith(FOUND) and message != SOUND else NUMBER.sub("#", message)


def summary(entries: Iterable[str]) -> list[str]:
    """Messages that differ in numbers only are one kind, shown as it was first said."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for message in entries:
        kind = _kind(message)
        if not kind.startswith(ROUTINE):
            first.setdefault(kind, message)
            counts[kind] += 1
    lines = [_sentence(first[kind], count) for kind, count in counts.most_common(KINDS_MAX)]
    if rest := counts.most_common()[KINDS_MAX:]:
        logged = counted(sum(count for _, count in rest), "message")
        lines.append(f"The engine logged {logged} of {counted(len(rest), 'more kind')}")
    return lines


def _sentence(message: str, count: int) -> str:
    times = f" {counted(count, 'time')}" if count > 1 else ""
    return f"The engine logged{times}: {message[:WIDTH]}"
