"""Whether file system or engine noticed what storage did wrong, and what the engine served of it; pure.

Somebody notices who says so in words: an error to a session, a start that is refused, a line of the log, the answer of
a check. That data is right or wrong is told by what was acknowledged, never by the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from acidtest.journal.models import Notice, StorageFailure
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.evidence import CutEvidence

LINES_MAX = 5
SAID_MAX = 300
# What engines log of storage that does wrong: their own words, and the operating system's of errno.
WORDS = re.compile(
    r"checksum|corrupt|damaged|malformed|crashed|invalid page|not a valid database|wrong page type|consistency check"
    r"|bugcheck|missing pointer page|in the future|unreadable|I/O error|Input/output error|No space left"
    r"|No such device|No data available|Read-only file system|disk( is)? full|could not (read|write|extend|fsync|flush)"
    r"|(failed|unable) to (read|write|flush|extend)|error (reading|writing)|Operating system error|PANIC"
    r"|semaphore wait",
    re.IGNORECASE,
)
FULL = re.compile(r"No space left|disk( is)? full|is full|ENOSPC|errno.{0,3}28\b|error (number )?28\b", re.IGNORECASE)
Served = Literal["right", "wrong", "refused", "unknown"]
Outcome = Literal["noticed", "by check", "silent", "unnoticed", "unknown"]


def worth_noticing(log: str, usual: str = "") -> list[Notice]:
    """What of a log's new text tells that storage did wrong: each message once, the first few.

    What ``usual``, the log of a server whose storage did nothing wrong, has too but for its figures, tells nothing.
    """
    known = {_shape(line) for line in usual.splitlines()}
    told = {_shape(line): line.strip()[:SAID_MAX] for line in reversed(log.splitlines()) if WORDS.search(line)}
    lines = [line for shape, line in reversed(told.items()) if shape not in known]
    return [Notice(by="log", said=line) for line in lines[:LINES_MAX]]


def _shape(line: str) -> str:
    return re.sub(r"\d+", "0", line.strip())


def of_evidence(evidence: CutEvidence) -> list[Notice]:
    """What came out when it was read again."""
    told: list[tuple[str, str | None]] = [
        ("file system", evidence.mount_error),
        ("start", evidence.start_error),
        ("session", evidence.read_error),
    ]
    notices = [Notice(by=by, said=said[:SAID_MAX]) for by, said in told if said is not None]
    if evidence.integrity is not None and evidence.integrity.holds == "broken":
        notices.append(Notice(by="check", said=f"{evidence.integrity.check}: {evidence.integrity.said}"[:SAID_MAX]))
    if evidence.filesystem_check == "errors":
        notices.append(Notice(by="fsck", said=evidence.filesystem_message[:SAID_MAX]))
    return notices


def meets_full(notices: Iterable[Notice]) -> bool:
    """Whether somebody says that the file system is full."""
    return any(FULL.search(notice.said) for notice in notices)


def served(evidence: CutEvidence) -> Served:
    """What sessions got of what had been acknowledged."""
    if any(error is not None for error in (evidence.mount_error, evidence.start_error, evidence.read_error)):
        return "refused"
    if evidence.inspection_error is not None or evidence.checked is None:
        return "unknown"
    if any(not condition.holds for condition in evidence.checked.conditions):
        return "wrong"
    if evidence.fate is None:
        return "unknown" if evidence.is_numbered else "right"
    return "wrong" if evidence.fate.lost or evidence.fate.loaded_lost or evidence.fate.torn else "right"


def why_unstruck(found: StorageFailure) -> str:
    """Why nothing can be said of the engine: the fault did not reach what it was meant for; "" where it did."""
    if not found.struck:
        if not found.aimed_at:
            return "the fault did not strike: no request came after it"
        return f"the fault did not strike: nothing was asked of the drive there ({found.aimed_at})"
    if found.read_back == 0:
        return f"the spoiled block was never read again ({found.aimed_at})"
    return ""


def outcome(found: StorageFailure, evidence: CutEvidence, judgement: Judgement) -> tuple[Outcome, str]:
    """What it comes to, and of ``unknown`` why."""
    if judgement.verdict == "unknown" or found.served == "unknown":
        return "unknown", "; ".join(judgement.reasons) or "what the engine serves could not be compared"
    by = {notice.by for notice in found.notices}
    if by - {"check", "fsck"}:
        return "noticed", ""
    if by:
        return "by check", ""
    if evidence.integrity is None or evidence.integrity.holds == "unknown":
        return "unknown", "the engine's own check could not run"
    return ("silent" if found.served == "wrong" else "unnoticed"), ""
