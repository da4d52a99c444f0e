"""Services of Windows as listings show them: exports of the registry, ``reg query``, ``sc qc``, WMI and PowerShell.
Their command line sets what holds; whom they run as is in ``machine`` where ``sc qc`` says it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Account, Configuration, Setting
from acidtest.audit.importers import known, server_commands
from acidtest.audit.importers.file import File, Importer

TEXT_MAX = 16 << 20
LINE_MAX = 8192
PATH = re.compile(
    r"\s*(?:\"?ImagePath\"?\s{0,20}(?:=|REG_(?:EXPAND_)?SZ)|BINARY_PATH_NAME\s{0,20}:|PathName\s{0,40}[:=])\s{0,20}(\S.*)",
    re.IGNORECASE,
)
NAME = re.compile(
    r"\s*(?:SERVICE_NAME\s{0,20}:|Name\s{0,40}[:=]|\[?HKEY_LOCAL_MACHINE\\.{1,60}\\Services\\)\s{0,9}+"
    r"([^\\\]]{1,100})\]?",
    re.IGNORECASE,
)
ACCOUNT = re.compile(
    r"\s*(?:\"?ObjectName\"?\s{0,20}(?:=|REG_SZ)|StartName\s{0,40}[:=])\s{0,20}\"?([^\"]{1,100})\"?", re.IGNORECASE
)
HEX = re.compile(r"hex\(2\):([0-9a-fA-F,\\\s]{1,20000})")
PROGRAM = re.compile(
    r"(?:mysqld|mariadbd|postgres|pg_ctl|firebird|fbserver|fb_inet_server)(?:[-_]\w+)?(?:\.exe)?", re.IGNORECASE
)


def _unhexed(text: str) -> str:
    """REG_EXPAND_SZ of an export: bytes of UTF-16 in hexadecimal."""
    match = HEX.match(text)
    if not match:
        return text
    digits = re.sub(r"[^0-9a-fA-F]", "", match[1])
    return bytes.fromhex(digits[: len(digits) & ~3]).decode("utf-16-le", errors="replace").rstrip("\0")


def _unescaped(text: str) -> str:
    """The string of an export, in which backslashes and quotes are escaped."""
    bare = text.strip()
    if bare[:1] == '"' and '\\"' in bare:
        return bare[1:].removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")
    return bare


def _words(text: str) -> list[str]:
    """The words of a command line of Windows, in which a backslash is no escape."""
    return [quoted or bare for quoted, bare in re.findall(r'"([^"]{0,2000})"|(\S{1,2000})', text)]


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines with those that a backslash at the end goes on in."""
    text, first = "", 0
    for number, line in enumerate(lines, start=1):
        first = first or number
        if line.endswith("\\") and "hex(" in (text or line)[:200] and len(text) < LINE_MAX * 4:
            text += line[:-1].strip()
            continue
        yield first, (text + line.strip() if text else line)[: LINE_MAX * 4]
        text, first = "", 0
    if text:
        yield first, text


def _parts(file: File) -> Iterator[Configuration | Account]:
    name, ours = "", False
    account: Account | None = None
    for number, line in _joined(file.lines):
        if match := PATH.match(line):
            words = _words(_unescaped(_unhexed(match[1])))
            program = server_commands.program(words[0]) if words else ""
            ours = PROGRAM.fullmatch(program) is not None
            if not ours:
                account = None
                continue
            if account:
                yield account
                account = None
            settings = _settings(program, words[1:], file, number)
            engine = _engine(program, words[0])
            if settings:
                yield Configuration(
                    file.at(number), engine, "Windows service", settings, source="command line", side=name[:60]
                )
        elif match := ACCOUNT.fullmatch(line[:400].strip()):
            found = Account(file.at(number), match[1].replace("\\\\", "\\"))
            if ours:
                yield found
            else:
                account = found  # its program may come after it
        elif match := NAME.fullmatch(line[:400].strip()):
            name, ours, account = match[1].strip(), False, None


def _engine(program: str, path: str) -> str:
    if program.startswith(("postgres", "pg_")):
        return "postgresql"
    return known.of_family("mysql", program, path) if program.startswith(("mysqld", "mariadbd")) else "firebird"


def _settings(program: str, words: Sequence[str], file: File, number: int) -> tuple[Setting, ...]:
    where = file.at(number)
    if program.startswith(("mysqld", "mariadbd")):
        # The last word, without "--", is the service's name.
        return server_commands.of_mysqld([word for word in words if word.startswith("--")], where)
    if program.startswith("pg_ctl"):
        inner = [one for key, one in itertools.pairwise(words) if key == "-o"]
        return tuple(setting for one in inner for setting in server_commands.of_postgres(_words(one), where))
    return server_commands.of_postgres(words, where) if program.startswith("postgres") else ()


def _read(file: File) -> Sequence[Configuration | Account] | None:
    if file.size > TEXT_MAX:
        return None
    head = file.head
    if b"\0" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return None
    if not any(mark in file.text for mark in ("ImagePath", "BINARY_PATH_NAME", "PathName")):
        return None
    parts = list(_parts(file))
    if file.base.endswith(".txt"):
        # ``machine`` has the accounts of "sc qc" already.
        parts = [part for part in parts if isinstance(part, Configuration) or "SERVICE_START_NAME" not in file.text]
    return parts or None


IMPORTER = Importer("services of Windows", _read, beside=True)
