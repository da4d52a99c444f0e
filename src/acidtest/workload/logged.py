"""Statements of a log: what they do to a transaction, and which of them cannot be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from acidtest.families import FIREBIRD, MYSQL, POSTGRESQL
from acidtest.formats import linear

Effect = Literal["begin", "commit", "rollback", "chain", "two-phase", "autocommit-off", "autocommit-on", "defines", ""]

SPACE = linear.compile(r"(?:[\s;]+|--[^\n]*(?:\n|\z)|#[^\n]*(?:\n|\z))+")
SPACE_PLAIN = linear.compile(r"(?:[\s;]+|--[^\n]*(?:\n|\z))+")
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
    """Without the space and the comments that it begins with."""
    space = SPACE if family == MYSQL.name else SPACE_PLAIN
    at = 0
    while True:
        if match := space.match(text, at):
            at = match.end()
        if not text.startswith("/*", at) or text.startswith(("/*!", "/*M!"), at):
            return text[at:]
        end = text.find("*/", at + 2)
        if end < 0:
            return ""
        at = end + 2


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
        return ""  # its transactions are told apart from its statements
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
    begin = at = 0
    is_mysql = family == MYSQL.name
    while match := SPECIAL.search(text, at):
        sign, at = match[0], match.end()
        if sign == ";":
            yield text[begin : at - 1]
            begin = at
        elif sign in ("'", '"', "e'", "E'", "`"):
            escapes = sign in ("e'", "E'") or (is_mysql and sign != "`")
            at = _quote_end(text, at, sign[-1], escapes=escapes)
        elif sign == "--" or (sign == "#" and is_mysql):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif sign == "/*":
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 2
        elif sign.startswith("$") and family == POSTGRESQL.name:
            end = text.find(sign, at)
            at = len(text) if end < 0 else end + len(sign)
    yield text[begin:]


def _quote_end(text: str, at: int, quote: str, *, escapes: bool) -> int:
    """Behind the quote that ends what begins before ``at``; two of them within it are passed as two texts."""
    if not escapes:
        end = text.find(quote, at)
        return len(text) if end < 0 else end + 1
    while at < len(text):
        end = text.find(quote, at)
        if end < 0:
            return len(text)
        slash = text.find("\\", at, end)
        if slash < 0:
            return end + 1
        at = slash + 2
    return len(text)


def lacks_parameters(text: str, family: str) -> bool:
    """Whether a text that came without parameters has a place for one."""
    if family == POSTGRESQL.name:
        return PLACEHOLDER.search(text) is not None and _outside(text, family, PLACEHOLDER)
    return family == FIREBIRD.name and "?" in text and _outside(text, family, QUESTION)


def _outside(text: str, family: str, wanted: linear.Pattern[str]) -> bool:
    """Whether ``wanted`` stands somewhere outside of quotes and comments."""
    at = 0
    while match := SPECIAL.search(text, at):
        if wanted.search(text[at : match.start()]):
            return True
        sign, begin = match[0], match.end()
        if sign in ("'", '"', "e'", "E'", "`"):
            at = _quote_end(text, begin, sign[-1], escapes=sign in ("e'", "E'"))
        elif sign in ("--", "/*"):
            end = text.find("\n" if sign == "--" else "*/", begin)
            at = len(text) if end < 0 else end + len(sign) - 1
        elif sign.startswith("$") and family == POSTGRESQL.name:
            end = text.find(sign, begin)
            at = len(text) if end < 0 else end + len(sign)
        else:
            at = begin
    return wanted.search(text[at:]) is not None
