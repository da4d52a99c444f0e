"""Programs that measure, or serve what is measured: errors of the database that are thrown away, or are a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 400
BLOCK_LINES = 8  # of a handler, in which it may make a result of an error
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


def _read(file: File) -> Sequence[Statement] | None:
    if not PROGRAM.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return list(_dropped(file, [line[:LINE_MAX] for line in file.lines])) or None


def _dropped(file: File, lines: Sequence[str]) -> Iterator[Statement]:
    clocked = any(CLOCK.search(line) for line in lines)
    go = file.base.endswith(".go") and any(GO_DRIVER.search(line) for line in lines)
    of_c = file.base.endswith((".c", ".cc", ".cpp", ".cxx"))
    works = clocked and any(STATEMENTS.search(line) for line in lines)
    for at, line in enumerate(lines):
        if works and HANDLER.search(line):
            for below in range(at + 1, min(at + 1 + BLOCK_LINES, len(lines))):
                if lines[below].strip() and _depth(lines[below]) <= _depth(line):
                    break
                if TIME_OF_NONE.search(lines[below]):
                    yield Statement(file.at(below + 1), "error-as-result", lines[below].strip())
                    break
        elif TAKEN.search(line) or (clocked and go and GO_ASIDE.search(line)):
            yield Statement(file.at(at + 1), "error-dropped", line.strip()[:200])
        elif (go and GO_DROPPED.search(line)) or (of_c and clocked and C_DROPPED.search(line)):
            written = line + (lines[at + 1] if at + 1 < len(lines) and not DATA.search(line) else "")
            if not PREPARES.search(written) and (DATA.search(written) or of_c):
                yield Statement(file.at(at + 1), "error-dropped", line.strip()[:200])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


IMPORTER = Importer("program", _read, beside=True)
