"""SQL scripts as tokens: Firebird's PSQL, PL/pgSQL, and SQL/PSM of MySQL and MariaDB.

Reads any text in time linear to its length. A script is not parsed: terminators (``SET TERM``, ``DELIMITER``) and
dollar quotes are tokens among others, so that the code within a quoted body is read like the code around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "string", "number", "sign", "dollar"]
# "/*!50003 … */" of a dump of MySQL holds code: its brackets are skipped, not what is between them.
PATTERN = r"""
  (?P<skip> \s+ | /\*!\d* | \*/ | --[^\n]* | /\*[\s\S]*?(?:\*/|\Z) {comment} )
| (?P<dollar> \$(?:[^\W\d]\w*)?\$ )
| (?P<string> '(?:[^'{escape}]|''{escaped})*'? )
| (?P<name> "[^"]*"? | `[^`]*`? )
| (?P<number> \d+(?:\.\d+)? )
| (?P<word> [^\W\d][\w$]* )
| (?P<sign> := | :: | <= | >= | <> | != | \|\| | \.\. | [\s\S] )
"""
ANY = re.compile(PATTERN.format(comment="", escape="", escaped=""), re.VERBOSE)
MYSQL = re.compile(PATTERN.format(comment=r"| \#[^\n]*", escape=r"\\", escaped=r"|\\[\s\S]"), re.VERBOSE)
SPEAKS_MYSQL = re.compile(r"^[ \t]*DELIMITER\s|^[ \t]*/\*!\d{5}|ENGINE ?= ?InnoDB", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str  # words and quoted names in upper case and without quotes
    line: int  # from 1


def tokens(text: str) -> Iterator[Token]:
    """The tokens of ``text``, without comments and space."""
    line = 1
    for match in (MYSQL if SPEAKS_MYSQL.search(text) else ANY).finditer(text):
        kind, raw = match.lastgroup, match[0]
        if kind == "word":
            yield Token("word", raw.upper(), line)
        elif kind == "name":
            yield Token("word", raw.strip('"`').upper(), line)
        elif kind == "number":
            yield Token("number", raw, line)
        elif kind == "string":
            yield Token("string", raw, line)
        elif kind == "dollar":
            yield Token("dollar", raw, line)
        elif kind == "sign":
            yield Token("sign", raw, line)
        line += raw.count("\n")
