"""What a trace session of Firebird writes, added up: how often each statement ran, how long, and what it did.

The lines are those of ``TracePluginImpl.cpp`` in ``src/utilities/ntrace`` of Firebird's source, versions 3 to 5, with
``log_statement_finish``, ``log_transactions`` and ``print_perf``. It is read in pieces as they come, in time linear in
the bytes and with bounded memory, whatever they are: what is no record is counted and passed over.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from datetime import datetime

from acidtest.formats import linear

HEAD = linear.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4}) \(\d{1,10}:0x[0-9a-f]{1,16}\) ([A-Za-z_ ]{1,60})")
ATTACHMENT = linear.compile(r"\t.*\(ATT_(\d{1,18}),.*")
PERFORMANCE = linear.compile(
    r" *(\d{1,18}) ms(?:, (\d{1,18}) read\(s\))?(?:, (\d{1,18}) write\(s\))?(?:, (\d{1,18}) fetch\(es\))?"
    r"(?:, (\d{1,18}) mark\(s\))?"
)
FETCHED = linear.compile(r"(\d{1,18}) records fetched")
PARAMETER = linear.compile(r"param0 = .*")
FULL = linear.compile(r"--- Session \d{1,18} is suspended as its log is full ---")
RULE = "-" * 79  # above a statement's text
TABLES = "   Natural     Index    Update    Insert    Delete   Backout     Purge   Expunge"
COLUMN, COLUMNS = 10, 8

STATEMENT = "EXECUTE_STATEMENT_FINISH"
FAILED = ("FAILED ", "UNAUTHORIZED ")
OF_TRANSACTIONS = {
    "START_TRANSACTION": "start of a transaction",
    "COMMIT_TRANSACTION": "commit",
    "COMMIT_RETAINING": "commit retaining",
    "ROLLBACK_TRANSACTION": "rollback",
    "ROLLBACK_RETAINING": "rollback retaining",
}
COMMIT = OF_TRANSACTIONS["COMMIT_TRANSACTION"]

LINE_BYTES_MAX = 1 << 16  # the engine writes no longer record
LINES_MAX = 4096  # of one record
STATEMENTS_MAX = 500


@dataclass
class Figures:
    """Of one statement, or one kind of act on transactions, over all that were read."""

    count: int = 0
    failed: int = 0
    ms: int = 0  # the engine tells whole milliseconds, rounded down
    ms_max: int = 0
    reads: int = 0
    writes: int = 0
    fetches: int = 0
    marks: int = 0
    rows: int = 0  # fetched
    records: list[int] = field(default_factory=lambda: [0] * COLUMNS)  # in the order of TABLES


class Reader:
    """Takes the bytes of a trace; ``close`` makes the last record count."""

    def __init__(self, attachments: Container[int] | None = None, since: datetime | None = None) -> None:
        """Only of these attachments, and from this local time on; None: of all, from the beginning."""
        self._attachments, self._since = attachments, since
        self._line = bytearray()
        self._record: list[str] | None = None  # its lines, the first its head
        self.statements: dict[tuple[str, str], Figures] = {}  # by kind, "" of a statement, and text
        self.records = 0  # that were wanted and understood
        self.not_understood = 0
        self.left_out = 0  # records of statements beyond STATEMENTS_MAX
        self.suspended = 0  # times that the session's log was full: what ran meanwhile is missing

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        lines = data.split(b"\n")
        self._line += lines[0][: max(0, LINE_BYTES_MAX - len(self._line))]
        for line in lines[1:]:
            self._take(self._line)
            self._line = bytearray(line[:LINE_BYTES_MAX])

    def close(self) -> None:
        """There is no more."""
        self._take(self._line)
        self._line.clear()
        self._end_record()

    def _take(self, raw: bytearray) -> None:
        line = raw.decode(errors="replace")
        if line.startswith("--- ") and FULL.fullmatch(line):
            self.suspended += 1
        elif line[4:5] == "-" and HEAD.fullmatch(line):
            self._end_record()
            self._record = [line]
        elif self._record is not None and len(self._record) < LINES_MAX:
            self._record.append(line)

    def _end_record(self) -> None:
        lines, self._record = self._record, None
        if lines is None:
            return
        head = HEAD.fullmatch(lines[0])
        attachment = ATTACHMENT.fullmatch(lines[1]) if len(lines) > 1 else None
        if head is None or attachment is None or (at := _time(head[1])) is None:
            self.not_understood += 1
        elif (self._attachments is None or int(attachment[1]) in self._attachments) and (
            self._since is None or at >= self._since
        ):
            self._add(head[2], lines)

    def _add(self, event: str, lines: list[str]) -> None:
        bare = next((event.removeprefix(words) for words in FAILED if event.startswith(words)), event)
        if bare == STATEMENT:
            key = ("", _text(lines))
        elif bare in OF_TRANSACTIONS:
            key = (OF_TRANSACTIONS[bare], "")
        else:
            self.not_understood += 1
            return
        self.records += 1
        if key not in self.statements and len(self.statements) >= STATEMENTS_MAX:
            self.left_out += 1
            return
        figures = self.statements.setdefault(key, Figures())
        figures.count += 1
        figures.failed += bare != event
        _measure(figures, lines)


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{text}00")
    except ValueError:
        return None


def _text(lines: list[str]) -> str:
    """The statement, without its parameters; "" where the engine had none."""
    begin = next((place for place, line in enumerate(lines, start=1) if line == RULE), len(lines))
    fetched = (place for place, line in enumerate(lines) if line.endswith("fetched") and FETCHED.fullmatch(line))
    last = max(fetched, default=len(lines))
    text = lines[begin:last]
    parameters = next(
        (place for place in range(1, len(text)) if not text[place - 1] and PARAMETER.fullmatch(text[place])), len(text)
    )
    return "\n".join(text[:parameters]).strip()


def _measure(figures: Figures, lines: list[str]) -> None:
    """Add what stands behind the last line of times: before it, a statement's own text may look like one."""
    timed = (place for place, line in enumerate(lines) if " ms" in line and PERFORMANCE.fullmatch(line))
    place = max(timed, default=None)
    if place is None or (match := PERFORMANCE.fullmatch(lines[place])) is None:
        return
    ms, reads, writes, fetches, marks = (int(figure or 0) for figure in match.groups())
    figures.ms += ms
    figures.ms_max = max(figures.ms_max, ms)
    figures.reads += reads
    figures.writes += writes
    figures.fetches += fetches
    figures.marks += marks
    if fetched := FETCHED.fullmatch(lines[place - 1]):
        figures.rows += int(fetched[1])
    behind = lines[place + 1 :]
    header = next((at for at, line in enumerate(behind) if line.endswith(TABLES)), None)
    if header is None:
        return
    for line in behind[header + 2 :]:
        for column, count in enumerate(_counts(line)):
            figures.records[column] += count


def _counts(line: str) -> list[int]:
    """The counts of a table's line, whose name stands before them; none where they are all 0."""
    width = COLUMN * COLUMNS
    cells = [line[-width:][at : at + COLUMN].strip() for at in range(0, width, COLUMN)] if len(line) > width else []
    if not all(not cell or (cell.isascii() and cell.isdigit()) for cell in cells):
        return []
    return [int(cell or 0) for cell in cells]
