"""Statements of a log: what they do to a transaction, and which of them cannot be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from acidtest.families import FIREBIRD, MYSQL, POSTGRESQL
from acidtest.formats import linear

Effect = Literal["begin", "commit", "rollback", "chain", "two-phase", "autocommit-off", "autocommit-on", "defines", ""]

WORDS = linear.compile(r"[A-Za-z_@][\w@.]*(?:\s+[A-Za-z_@][\w@.]*){0,3}")
# What ends plain text: a quote, a comment, a dollar quote, the end of a statement.
SPECIAL = linear.compile(r"""[eE]'|'|"|`|--|#|/\*|\$(?:[A-Za-z_]\w*)?\$|;""")
PLACEHOLDER, QUESTION = linear.compile(r"\$\d"), linear.compile(r"\?")
OF_SESSION = linear.compile(
    r"set\s+(?:session\s+|@@(?:session\.)?)?autocommit\s*=\s*(0|1|on|off|true|false)\b.*", linear.I | linear.S
)

WITHOUT_PARAMETERS = "its parameters are not in the log"
TWO_PHASE = "two-phase commit: its transaction is rolled back"
COPY_DATA = "COPY FROM STDIN: its rows are not in the log"
FILES = "it reads or writes files of the server"
WHOLE_SERVER = "it acts on the whole server: users, databases, settings, processes"
LISTENS = "LISTEN: nobody waits for what comes"
CHARACTER_SET = "it sets the character set of its session, and the replay speaks UTF-8"
REPLICATION = "it is of replication or a distributed transaction"
TOO_SHORT = "it has no text"


@dataclass(frozen=True)
class Refusal:
    """A pattern of statements that are not replayed."""

    pattern: linear.Pattern[str]
    why: str


def _refusals(*pairs: tuple[str, str]) -> tuple[Refusal, ...]:
    return tuple(Refusal(linear.compile(pattern, linear.I | linear.S), why) for pattern, why in pairs)


OBJECTS = r"(?:create|alter|drop)\s+(?:or\s+replace\s+)?"
BY_FAMILY = {
    POSTGRESQL.name: _refusals(
        (r"copy\b.*\bfrom\s+stdin\b.*", COPY_DATA),
        (r"copy\b.*\b(?:from|to)\s+(?:program\s+)?(?:e?'|\$).*", FILES),
        (r".*\b(?:pg_read_(?:binary_)?file|pg_ls_\w+|pg_stat_file|pg_file_\w+|lo_import|lo_export)\s*\(.*", FILES),
        (r"(?:un)?listen\b.*", LISTENS),
        (r"(?:commit|rollback)\s+prepared\b.*", REPLICATION),
        (OBJECTS + r"(?:database|tablespace|role|user|group|subscription|publication)\b.*", WHOLE_SERVER),
        (r"alter\s+system\b.*", WHOLE_SERVER),
        (r".*\bpg_(?:terminate|cancel)_backend\s*\(.*", WHOLE_SERVER),
        (r"set\s+(?:session\s+|local\s+)?(?:client_encoding|names)\b.*", CHARACTER_SET),
    ),
    MYSQL.name: _refusals(
        (r"load\s+(?:data|xml)\b.*", FILES),
        (r".*\binto\s+(?:outfile|dumpfile)\b.*", FILES),
        (r".*\bload_file\s*\(.*", FILES),
        (OBJECTS + r"(?:database|schema|user|role|server|tablespace|logfile)\b.*", WHOLE_SERVER),
        (r"(?:grant|revoke|kill|shutdown|restart|flush|reset|purge|install|uninstall|clone)\b.*", WHOLE_SERVER),
        (r"set\s+(?:global|persist|password|@@global|@@persist)\b.*", WHOLE_SERVER),
        (r"(?:xa|change|start\s+(?:slave|replica|group)|stop\s+(?:slave|replica|group)|binlog)\b.*", REPLICATION),
        (r"set\s+(?:names|character\s+set|charset|(?:@@)?(?:session[\s.]+)?character_set_\w+)\b.*", CHARACTER_SET),
    ),
    FIREBIRD.name: _refusals(
        (OBJECTS + r"(?:user|database|shadow|role|mapping)\b.*", WHOLE_SERVER),
        (r"delete\s+from\s+mon\$\w+.*", WHOLE_SERVER),
    ),
}  # fmt: skip
# MySQL commits what is open before and after these; see "Statements That Cause an Implicit Commit" in its manual.
DEFINES = linear.compile(
    r"(?:create|alter|drop|rename|truncate|analyze|optimize|repair|check|lock\s+tables|unlock\s+tables|cache)\b.*",
    linear.I | linear.S,
)
ROUTINE = linear.compile(r"create\b.{0,400}?\b(?:function|procedure|trigger|event|package)\b.*", linear.I | linear.S)
TEMPORARY = linear.compile(r"(?:create|drop)\s+temporary\b.*", linear.I | linear.S)


def bare(text: str, family: str) -> str:
    """Without the space, the comments and the empty statements that it begins with."""
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == ";":
            at += 1
        elif text.startswith("--", at) or (text[at] == "#" and family == MYSQL.name):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at) and not text.startswith(("/*!", "/*M!"), at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
        else:
            break
    return text[at:]


def refusal(text: str, family: str) -> str:
    """Why a statement, without what it begins with, is not replayed; "" of one that is."""
    if not text:
        return TOO_SHORT
    return next((one.why for one in BY_FAMILY.get(family, ()) if one.pattern.fullmatch(text)), "")


def effect(text: str, family: str) -> Effect:
    """What a single statement, without what it begins with, does to its session's transaction."""
    match = WORDS.match(text)
    words = match[0].upper().split() if match else []
    first, second = (*words, "", "")[:2]
    answer: Effect = ""
    if family == FIREBIRD.name:
        return ""  # its transactions are distinguished from its statements
    if (first == "BEGIN" and (family != MYSQL.name or second in ("", "WORK"))) or (first, second) == (
        "START",
        "TRANSACTION",
    ):
        answer = "begin"
    elif first in ("COMMIT", "" if family == MYSQL.name else "END") and first and second != "PREPARED":
        answer = "chain" if "CHAIN" in words and "NO" not in words else "commit"
    elif first in ("ROLLBACK", "ABORT") and second != "PREPARED" and "TO" not in words:
        answer = "chain" if "CHAIN" in words and "NO" not in words else "rollback"
    elif (first, second) == ("PREPARE", "TRANSACTION"):
        answer = "two-phase"
    elif family == MYSQL.name and first == "SET" and (match := OF_SESSION.fullmatch(text)):
        answer = "autocommit-off" if match[1].lower() in ("0", "off", "false") else "autocommit-on"
    elif family == MYSQL.name and DEFINES.fullmatch(text) and not TEMPORARY.fullmatch(text):
        answer = "defines"
    return answer


def pieces(text: str, family: str) -> list[str]:
    """The statements of a text that has several, in time linear in it."""
    if family == FIREBIRD.name or ";" not in text.rstrip("; \t\r\n") or ROUTINE.fullmatch(text):
        return [text]
    return [piece for piece in _pieces(text, family) if bare(piece, family)]


def _pieces(text: str, family: str) -> Iterator[str]:
    begin = 0
    for sign, _, place in _plain_signs(text, family):
        if sign == ";":
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _plain_signs(text: str, family: str) -> Iterator[tuple[str, int, int]]:
    """Each sign that ends plain text, with where that text begins and ends."""
    at = 0  # behind quotes and comments
    for match in SPECIAL.finditer(text):
        if match.start() < at:
            continue
        sign = match[0]
        if (sign == "#" and family != MYSQL.name) or (sign[0] == "$" and family != POSTGRESQL.name):
            continue
        yield sign, at, match.start()
        at = match.end()
        if sign in ("'", '"', "e'", "E'", "`"):
            escapes = sign in ("e'", "E'") or (family == MYSQL.name and sign != "`")
            at = _quote_end(text, at, sign[-1], escapes=escapes)
        elif sign != ";":
            closing = {"--": "\n", "#": "\n", "/*": "*/"}.get(sign, sign)
            end = text.find(closing, at)
            at = len(text) if end < 0 else end + len(closing)
    yield "", min(at, len(text)), len(text)


def _quote_end(text: str, at: int, quote: str, *, escapes: bool) -> int:
    """Behind the quote that ends what begins before ``at``; two of them within it are passed as two texts."""
    end = text.find(quote, at)
    while escapes and end >= 0:
        slash = text.find("\\", at, end)
        if slash < 0:
            break
        at = slash + 2
        if end < at:
            end = text.find(quote, at)
    return len(text) if end < 0 else end + 1


def lacks_parameters(text: str, family: str) -> bool:
    """Whether a text that came without parameters has a place for one, outside of quotes and comments."""
    wanted = {POSTGRESQL.name: PLACEHOLDER, FIREBIRD.name: QUESTION}.get(family)
    if wanted is None or wanted.search(text) is None:
        return False
    return any(wanted.search(text[begin:end]) for _, begin, end in _plain_signs(text, family))
