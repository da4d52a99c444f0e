"""Scripts, systemd units, transcripts and listings of processes: the command lines in them, and the configurations
that a script writes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Configuration, Database, Mount
from acidtest.audit.importers import blocks, known, server_commands
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

TEXT_MAX = 4 << 20
LINE_MAX = 1 << 16
LINE_SHORT = 2000  # of one that is no command
DEPTH_MAX = 3  # of here-documents within here-documents
JOINED_MAX = 400  # lines of one command
FOUND_MAX = 2000  # commands of one file that set something
LEXED_MAX = 10_000  # lines of one file that are taken apart
# Only a line with one of these is taken apart.
PROGRAM = re.compile(
    r"(?<![\w.-])(?:mysqld(?:_safe|-debug|\.exe)?|mariadbd(?:-safe)?|postgres|postmaster|"
    r"pg_ctl(?:cluster)?|initdb|docker|DOCKER|podman|nerdctl|gfix|mount|PGOPTIONS)(?![\w-])"
)
# The names alone, by which the lines are found that may have one.
CALLED = linear.compile(
    r"mysqld|mariadbd|postgres|postmaster|pg_ctl|initdb|docker|DOCKER|"
    r"podman|nerdctl|gfix|mount|PGOPTIONS"
)
CONFIGURED = ".conf"
WRITES = linear.compile(r"<<|>>|sed |tee ")  # into a file
COMMAND = re.compile(r"ExecStart=[-@:+!]{0,3}|CMD |ENTRYPOINT |RUN ")
# What stands before a command in a transcript: a prompt, the marks of "set -x", the columns of ps.
PROMPT = re.compile(r"\s*+(?:[@-]{1,2}(?=[a-z/])|\++ |(?:[\w.@:~/\[\] -]{0,60})[$#>] )")
PS = re.compile(r"(?:\S{1,40}+ ++)?\d{1,8} ++.{1,120}? (?:\d{1,6}:\d\d(?:\.\d\d|:\d\d)? +){1,2}(?=\S)")
ASSIGNED = re.compile(
    r"\s*(?:\[{1,2} .{1,80}? \]{1,2} && )?(?:export |readonly |local |declare (?:-\w+ )?|set |\$env:)?"
    r"([A-Za-z_]\w{0,60}) ?[?:]?= ?(.{0,2000})"
)
DEFAULTED = re.compile(r"\s*: \"?\$\{([A-Za-z_]\w{0,60}):=([^{}$\"]{0,300})\}\"?\s*")  # : "${T:=60}"
LOOPS = ("for ", "read ", "select ")
LOOP = re.compile(r"\s*(?:for|read|select) +(?:-\w+ +)*([A-Za-z_]\w{0,60})\b")
VARIABLE = re.compile(
    r"\$(?:(\w{1,60})|\{(\w{1,60})(?::?([-=])([^{}$]{0,300}))?\})|%(\w{1,60})%|\$\(([A-Z_]{1,60})\)|\$\(|`|\$\{|\$[@*#?!]"
)
WORD = re.compile(r"\w{1,40}")
QUOTED = re.compile(
    r"(?:[^'\"#\\]|\\.|'[^']*+'|\"(?:[^\"\\]|\\.)*+\")*+", re.DOTALL
)  # what stands before an open quote
HEREDOC = re.compile(r"<<-?\s{0,3}([\"']?)(\w{1,40})\1")
ECHO = re.compile(
    r"\b(?:echo|printf)\s++(?:-[en]++\s++)?(\"[^\"]{1,500}\"|'[^']{1,500}'|[^\s>|;][^>|;]{0,79}+)\s*+(?:>>?|\|\s*(?:sudo\s+)?tee)"
)
SED = re.compile(r"\bs([/|#,@!])((?:(?!\1).){1,200})\1((?:(?!\1).){1,300})\1")


def assignments(line: str, held: dict[str, str]) -> None:
    """Takes down what a line assigns to a variable; what is not plain is unknown from there on."""
    if line.lstrip().startswith(LOOPS) and (match := LOOP.match(line)):
        held[match[1]] = server_commands.UNKNOWN
    elif "${" in line and (match := DEFAULTED.fullmatch(line)):
        held.setdefault(match[1], match[2])
    elif "=" in line and (match := ASSIGNED.fullmatch(line)):
        value = resolved(match[2].partition(" #")[0].strip().rstrip(";"), held)
        words = server_commands.split(value) if len(value) < 500 else []
        held[match[1]] = words[0] if len(words) == 1 else server_commands.UNKNOWN if words or "(" in value else ""


def resolved(text: str, held: dict[str, str], *, keep: bool = False) -> str:
    """``text`` with the variables that are known; with ``keep`` the others as they are written, else as what nobody
    knows."""

    def put(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[5] or match[6]  # the last of a Makefile
        value = held.get(name or "", server_commands.UNKNOWN)
        if server_commands.UNKNOWN not in value:
            return value
        if name not in held and match[3]:
            return match[4]
        return match[0] if keep or (match[5] and name not in held) else server_commands.UNKNOWN

    return VARIABLE.sub(put, text)[: LINE_MAX * 2] if "$" in text or "%" in text or "`" in text else text


def _joined(lines: Sequence[str], at: int) -> tuple[str, int]:
    """The command that begins in a line: with those that it goes on in, by a mark at the end or an open quote."""
    text, end = lines[at][:LINE_MAX].rstrip(), at + 1
    while end < len(lines) and end - at < JOINED_MAX and len(text) < LINE_MAX:
        mark = text[-1:]
        if mark in ("\\", "^") or (mark == "`" and text.count("`") % 2):
            text = text[:-1] + " " + lines[end].strip()
        elif _open(text):
            text += "\n" + lines[end].strip()
        else:
            break
        end += 1
    return text, end


def _open(text: str) -> bool:
    """Whether a quote is open at the end, outside of a comment."""
    closed = QUOTED.match(text[:8192])
    return closed is not None and text[closed.end() : closed.end() + 1] in ("'", '"')


def of_lines(
    lines: Sequence[str], file: File, first: int = 1, context: str = "", depth: int = 0
) -> Iterator[Configuration | Mount | Database]:
    """What the commands in ``lines`` set; the first of them is the file's line ``first``."""
    held: dict[str, str] = {}
    ends: dict[str, list[int]] = defaultdict(list)  # lines of one word, which may end a here-document
    for number, one in enumerate(lines) if any("<<" in line for line in lines) else ():
        if len(one) < 60 and WORD.fullmatch(bare := one.strip()):
            ends[bare].append(number)
    called = linear.lines_with(CALLED, lines)
    at = found = lexed = 0
    while at < len(lines) and found < FOUND_MAX and lexed < LEXED_MAX:
        line, begin = lines[at], at
        head = line[:LINE_SHORT]
        match = HEREDOC.search(head) if "<<" in head else None
        words_alone = ends[match[2]] if match else []
        place = bisect_right(words_alone, at)
        if match and place < len(words_alone):
            end = words_alone[place]
            body = [resolved(line[:LINE_SHORT], held) if not match[1] else line for line in lines[at + 1 : end]]
            written = list(blocks.of_lines(body, file, first + at + 1, context=line[:LINE_SHORT]))
            yield from written
            if not written and depth < DEPTH_MAX:
                yield from of_lines(body, file, first + at + 1, context, depth + 1)
            command = resolved(head.replace(match[0], " "), held)
            at = end + 1
        elif (
            at in called
            and PROGRAM.search(line[:LINE_MAX])
            and not line.lstrip().startswith(("#", "//", "REM ", "rem ", "::"))
        ):
            text, at = _joined(lines, at)
            command = resolved(text, held)
            assignments(head, held)
            yield from _changed(command[:LINE_SHORT], file, first + begin)
        else:
            assignments(head, held)
            yield from _changed(resolved(head, held), file, first + at)
            at += 1
            continue
        lexed += 1
        for words in _simple(command):
            told = server_commands.of(words, file.at(first + begin), context)
            for part in server_commands.placed(told, lines[begin:at], first + begin):
                found += 1
                yield part


def _changed(line: str, file: File, number: int) -> Iterator[Configuration]:
    """A setting that is appended to a configuration by echo, or put there by sed."""
    if "=" not in line:
        return
    for text in (*(m[1] for m in ECHO.finditer(line)), *(m[3] for m in SED.finditer(line) if "sed" in line)):
        bare = text.strip().strip("\"'").replace("\\n", "\n").replace("\\", "")
        yield from blocks.of_lines(bare.split("\n")[:50], file, number, context=line, same_line=True)


def _simple(text: str) -> Iterator[list[str]]:
    """The words of each command in a line of server_commands."""
    bare = text
    if match := COMMAND.match(bare.lstrip()):
        bare = bare.lstrip()[match.end() :]
        if bare.lstrip()[:1] == "[":  # CMD ["mysqld", "--x"]
            yield re.findall(r'"((?:[^"\\]|\\.){0,2000})"', bare)
            return
    elif match := PROMPT.match(bare) or PS.match(bare):
        bare = bare[match.end() :]
    words = server_commands.lexed(bare)
    begin = 0
    for at, word in enumerate(words):
        if word in (";", "&&", "||", "|", "&", "(", ")", ";;"):
            if at > begin:
                yield words[begin:at]
            begin = at + 1
    if begin < len(words):
        yield words[begin:]


def starts(file: File) -> bool:
    """Whether its text names a program that is started anywhere."""
    return CALLED.search(file.text) is not None and PROGRAM.search(file.text) is not None


def _read(file: File) -> Sequence[Configuration | Mount | Database] | None:
    if file.size > TEXT_MAX or known.is_prose(file.base) or b"\0" in file.head:
        return None
    if not file.once(starts) and not (
        WRITES.search(file.text) and (CONFIGURED in file.text or file.once(known.mentioned_in))
    ):
        return None
    return list(of_lines(file.lines, file)) or None


IMPORTER = Importer("command line", _read, beside=True)
