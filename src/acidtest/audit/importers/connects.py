"""Programs that connect anew for each piece of work: in what answers a request, or in a loop that also closes again."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
BODY_LINES = 60
KEPT = 5  # of a file
PROGRAM = linear.compile(r".*\.(?:go|py|js|mjs|cjs|ts|java|kt|rb|php)")
CONNECTS = linear.compile(
    r"\bpgx\.Connect\(|\bsqlx?\.(?:Open|Connect|MustConnect)\(|\bpsycopg2?\.connect\(|\bpymysql\.connect\(|"
    r"\b(?:mysql\.connector|MySQLdb|mariadb|sqlite3|fdb|firebird\.driver|aiosqlite|asyncpg)\.connect\(|"
    r"\bcreateConnection\(|\bnew (?:pg\.)?Client\(|\bnew (?:Database|MongoClient)\(|\bMongoClient\(|\bmongo\.Connect\(|"
    r"\bDriverManager\.getConnection\(|\bnew PDO\("
)
POOL = linear.compile(r"\bpool\w*\.(?:Acquire|getConnection|acquire|connect)\(|\bnew Pool\(|createPool\(", linear.I)
# What answers one request: of Go's net/http and its frameworks, of Flask, FastAPI, Express and the like.
HANDLER = linear.compile(
    r"\bfunc\b[^{]{0,120}(?:http\.ResponseWriter|echo\.Context|\*?gin\.Context|\*?fiber\.Ctx)|"
    r"^\s*@\w{1,30}\.(?:route|get|post|put|delete|patch)\(|"
    r"\b(?:app|router|server|fastify)\.(?:get|post|put|delete|patch)\(\s?[\"'`]/"
)
LOOP = linear.compile(r"^\s*(?:async )?(?:for|while)\b")
DEFINES = linear.compile(
    r"^(?:export )?(?:async )?(?:func|def|function) (\w{3,40})\s?\(|^const (\w{3,40}) = (?:async )?\("
)
CALLED = linear.compile(r"\b(\w{3,40})\(")
HELPER_LINES = 20
CLOSES = linear.compile(r"\.(?:Close|close|end|disconnect)\(")
WORKS = linear.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE)\b|\.(?:execute|query|Query|Exec|QueryRow|insertOne|InsertOne|"
    r"insert_one|find|run|prepare)\w{0,12}\("
)
STARTS = linear.compile(r"\bgo func\b|Thread\(|\.submit\(|\.spawn\(|create_task\(|new Worker\(|\.Go\(")


def _read(file: File) -> Sequence[Statement] | None:
    if not PROGRAM.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    if not CONNECTS.search(file.text):
        return None
    lines = [line[:LINE_MAX] for line in file.lines]
    connects = [
        at for at, line in enumerate(lines) if CONNECTS.search(line) and not POOL.search(line) and not _comment(line)
    ]
    # Functions of its own that connect do so for whoever calls them.
    names = {name for at in connects if (name := _function(lines, at))}
    calls = [
        at
        for at, line in enumerate(lines if names else ())
        if not DEFINES.search(line) and not _comment(line) and any(one[1] in names for one in CALLED.finditer(line))
    ]
    found = [at for at in (*connects, *calls)[: KEPT * 4] if _anew(lines, at)][:KEPT]
    return [Statement(file.at(at + 1), "connects-anew", lines[at].strip()[:120]) for at in found] or None


def _function(lines: Sequence[str], at: int) -> str:
    """The name of the function around a line, which is short; "" where there is none."""
    for above in range(at - 1, max(at - HELPER_LINES, -1), -1):
        if match := DEFINES.search(lines[above]):
            return match[1] or match[2]
    return ""


def _comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "#", "*", "/*", "--"))


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _anew(lines: Sequence[str], at: int) -> bool:
    """Whether the innermost loop around a line connects, works and closes, or a handler of requests is around it."""
    depth = _depth(lines[at])
    for above in range(at - 1, max(at - BODY_LINES, -1), -1):
        line = lines[above]
        if not line.strip() or _comment(line) or (_depth(line) >= depth and not line.lstrip().startswith("@")):
            continue
        handler = HANDLER.search(line) or (
            above and line.lstrip().startswith(("def ", "async def ")) and HANDLER.search(lines[above - 1])
        )
        if handler:
            return True
        depth = min(depth, _depth(line))
        if LOOP.match(line):
            body = _body(lines, above)
            text = "\n".join(body)
            return bool(WORKS.search(text) and CLOSES.search(text)) and not STARTS.search(text)
        if line.lstrip().startswith(("def ", "func ", "function ", "async function ", "export ")):
            return False
    return False


def _body(lines: Sequence[str], at: int) -> Sequence[str]:
    """The lines below ``at`` that are further in."""
    depth = _depth(lines[at])
    for end in range(at + 1, min(at + BODY_LINES, len(lines))):
        if lines[end].strip() and _depth(lines[end]) <= depth:
            return lines[at + 1 : end]
    return lines[at + 1 : at + BODY_LINES]


IMPORTER = Importer("", _read, beside=True)
