"""Programs that measure, or serve what is measured: those in which an error of the database is thrown away or is a
result, and those that connect anew for each piece of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
BLOCK_LINES = 8  # of a handler, in which it may make a result of an error
BODY_LINES = 60  # of a loop
KEPT = 5  # places of a file in which it connects anew
PROGRAM = linear.compile(r".*\.(?:go|py|java|kt|js|mjs|cjs|ts|cs|rs|rb|php|c|cc|cpp|cxx|scala)")
CLOCK = linear.compile(
    r"\bperf_counter|\btime\.(?:time|monotonic)\(|\bnanoTime\(|\bcurrentTimeMillis\(|\btime\.Now\(|\bInstant::now\("
    r"|\bperformance\.now\(|\bDate\.now\(|\bclock_gettime\(|_clock::now\(|\bStopwatch\b|\bmicrotime\(|\bhrtime\b"
    r"|\btesting\.B\b|\bbenchmark::State\b|\bProcess\.clock_gettime"
)
HANDLER = linear.compile(r"^\s*(?:\}\s*)?(?:except\b.*:|catch\b.*\{|rescue\b.*|if err != nil \{)\s*(?:#.*|//.*)?$")
# A time of nothing: "return 0.0", "duration = 0", "times.append(0)".
TIME_OF_NONE = linear.compile(
    r"^\s*(?:return \(?0(?:\.0+)?(?:, ?(?:None|nil|null|0|\[\]|\{\}|\w+))*\)?;?"
    r"|(?:\w+\.)?\w*(?:duration|elapsed|latency|latencies|took|time|times)\w*(?:\[\w+\])?"
    r"(?: ?= ?\(?0(?:\.0+)?(?:, ?\w+)*\)?|\.(?:append|push|add)\(0(?:\.0+)?\));?)\s*(?:#.*|//.*)?$",
    linear.I,
)
STATEMENTS = linear.compile(r"\.execute\w*\(|\.(?:query|exec)\w*\(|\bcursor\b|statement|execute|\.commit\(", linear.I)
# What prepares or tidies up may fail: a table that is there already, one that is not.
PREPARES = linear.compile(
    r"[\"'`]\s*(?:DROP|CREATE|TRUNCATE|ALTER|PRAGMA|VACUUM|ANALYZE|BEGIN|COMMIT|ROLLBACK|SET|GRANT|RESET|CHECKPOINT)\b"
)
DATA = linear.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE|UPSERT)\b", linear.I)
GO_DRIVER = linear.compile(r"\"(?:database/sql|github\.com/(?:jackc/pgx|jmoiron/sqlx|lib/pq|go-sql-driver)[\w./-]*)\"")
GO_DROPPED = linear.compile(r"^\s*(?:_(?:, _)? :?= )?(?:\w+\.)+(?:Exec|ExecContext|Query|QueryContext)\(")
GO_ASIDE = linear.compile(r"^\s*_ = (?:err\s*$|errors\.(?:Is|As)\()")
C_DROPPED = linear.compile(
    r"^\s*(?:SQLExecDirect[AW]?|SQLExecute|mysql_(?:real_)?query|sqlite3_exec|sqlite3_step|isc_dsql_exec\w*"
    r"|PQclear\(PQexec\w*)\(.*\);\s*(?://.*)?$"
)
# A check of a load generator that takes a server's error for an answer.
TAKEN = linear.compile(r"\bstatus\s*={2,3}\s*2\d\d\s*\|\|.*\bstatus\s*={2,3}\s*5\d\d")
CONNECTS = linear.compile(
    r"\bpgx\.Connect\(|\bsqlx?\.(?:Open|Connect|MustConnect)\(|\bpsycopg2?\.connect\(|\bpymysql\.connect\(|"
    r"\b(?:mysql\.connector|MySQLdb|mariadb|sqlite3|fdb|firebird\.driver|aiosqlite|asyncpg)\.connect\(|"
    r"\bcreateConnection\(|\bnew (?:pg\.)?Client\(|\bnew Database\(|\bDriverManager\.getConnection\(|\bnew PDO\("
)
COMMENT = linear.compile(r"\s*(?://|#|\*|/\*|--)")
# What answers one request: of Go's net/http and its frameworks, of Flask, FastAPI, Express and the like.
ANSWERS = linear.compile(
    r"\bfunc\b[^{]{0,120}(?:http\.ResponseWriter|echo\.Context|\*?gin\.Context|\*?fiber\.Ctx)|"
    r"^\s*@\w{1,30}\.(?:route|get|post|put|delete|patch)\(|"
    r"\b(?:app|router|server|fastify)\.(?:get|post|put|delete|patch)\(\s?[\"'`]/"
)
LOOP = linear.compile(r"^\s*(?:async )?(?:for|while)\b")
DEFINES = linear.compile(r"^\s*(?:export )?(?:async )?(?:func|def|function)\b(?: (\w{3,40})\s?\()?")
CALLED = linear.compile(r"\b(\w{3,40})\(")
HELPER_LINES = 20  # of a function that connects for others
CLOSES = linear.compile(r"\.(?:Close|close|end|disconnect)\(")
WORKS = linear.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|MERGE)\b|\.(?:execute|query|Query|Exec|QueryRow|run|prepare)\w{0,12}\("
)
STARTS = linear.compile(r"\bgo func\b|Thread\(|\.submit\(|\.spawn\(|create_task\(|new Worker\(|\.Go\(")


def _read(file: File) -> Sequence[Statement] | None:
    if not PROGRAM.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    lines = [line[:LINE_MAX] for line in file.lines]
    anew = [at for at in _connects(lines) if _anew(lines, at)][:KEPT] if CONNECTS.search(file.text) else []
    found = [Statement(file.at(at + 1), "connects-anew", lines[at].strip()[:120]) for at in anew]
    return [*found, *_dropped(file, lines)] or None


def _connects(lines: Sequence[str]) -> list[int]:
    """The lines that connect, and those that call a short function of the file that does."""
    code = [(at, line) for at, line in enumerate(lines) if not COMMENT.match(line)]
    connects = [at for at, line in code if CONNECTS.search(line)]
    helpers = set()
    for at in connects:
        defined = (DEFINES.match(lines[above]) for above in range(at - 1, max(at - HELPER_LINES, -1), -1))
        helpers.add(next((match[1] for match in defined if match), None))
    helpers.discard(None)
    calls = (at for at, line in code if helpers and not DEFINES.match(line) and helpers & set(CALLED.findall(line)))
    return [*connects, *calls][: KEPT * 4]


def _dropped(file: File, lines: Sequence[str]) -> Iterator[Statement]:
    clocked = any(CLOCK.search(line) for line in lines)
    go = file.base.endswith(".go") and any(GO_DRIVER.search(line) for line in lines)
    of_c = file.base.endswith((".c", ".cc", ".cpp", ".cxx"))
    works = clocked and any(STATEMENTS.search(line) for line in lines)
    for at, line in enumerate(lines):
        if works and HANDLER.search(line):
            block = range(at + 1, _end(lines, at, BLOCK_LINES))
            if (none := next((below for below in block if TIME_OF_NONE.search(lines[below])), None)) is not None:
                yield Statement(file.at(none + 1), "error-as-result", lines[none].strip())
        elif TAKEN.search(line) or (clocked and go and GO_ASIDE.search(line)):
            yield Statement(file.at(at + 1), "error-dropped", line.strip()[:200])
        elif (go and GO_DROPPED.search(line)) or (of_c and clocked and C_DROPPED.search(line)):
            written = line + (lines[at + 1] if at + 1 < len(lines) and not DATA.search(line) else "")
            if not PREPARES.search(written) and (DATA.search(written) or of_c):
                yield Statement(file.at(at + 1), "error-dropped", line.strip()[:200])


def _end(lines: Sequence[str], at: int, most: int) -> int:
    """Where the block below a line ends, which is further in."""
    last = min(at + 1 + most, len(lines))
    return next((n for n in range(at + 1, last) if lines[n].strip() and _depth(lines[n]) <= _depth(lines[at])), last)


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _anew(lines: Sequence[str], at: int) -> bool:
    """Whether the innermost loop around a line connects, works and closes, or what answers a request is around it."""
    depth = _depth(lines[at])
    for above in range(at - 1, max(at - BODY_LINES, -1), -1):
        line = lines[above]
        if not line.strip() or COMMENT.match(line) or _depth(line) >= depth:
            continue
        depth = _depth(line)
        if ANSWERS.search(line) or (DEFINES.match(line) and above and ANSWERS.search(lines[above - 1])):
            return True
        if LOOP.match(line):
            text = "\n".join(lines[above + 1 : _end(lines, above, BODY_LINES)])
            return bool(WORKS.search(text) and CLOSES.search(text)) and not STARTS.search(text)
        if DEFINES.match(line):
            return False
    return False


IMPORTER = Importer("program", _read, beside=True)
