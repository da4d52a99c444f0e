"""Firebird: a page that was written in part when the power failed.

One connection inserts rows and commits, Forced Writes on, under strace: it keeps every write of a page, in order, and
when each commit returned. Then for each write the file is built as a power cut leaves it that comes during this write:
all writes before it, and of its page only the first sector of the drive. The engine validates that file (as ``gfix
-validate -full -no_update``) and reads it by a natural scan, by its primary key and by another index. Needs strace.

    pip install firebird-driver
    python reproduce.py --version 5.0 --page-size 8192
    python reproduce.py --version 5.0 --page-size 8192 --kept all     (for comparison: no write is torn)
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded
import engine_writes
from engine_writes import Write

ROWS = 5  # of each transaction
LIMIT_S = 60  # for one state
KINDS = {1: "header", 2: "free space", 3: "transactions", 4: "pointer", 5: "data", 6: "index root", 7: "index"}


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--page-size", type=int, default=8192)
    options.add_argument("--sector", type=int, default=4096, help="bytes that the drive writes whole")
    options.add_argument("--kept", choices=("first", "last", "all"), default="first", help="sectors of the last write")
    options.add_argument("--transactions", type=int, default=100)
    options.add_argument("--states", type=int, default=0, help="at most so many, evenly chosen; 0 is every write")
    options.add_argument("--examples", type=int, default=2, help="damaged states that are told of in full")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-torn-page")
    if os.environ.get(embedded.CHILD) == "check":
        return check()
    if embedded.CHILD in os.environ:
        insert(os.environ[embedded.CHILD], asked.transactions)
        return 0
    files = Path(tempfile.mkdtemp(dir=work))
    database, state = files / "numbered.fdb", files / "state.fdb"
    create(database, asked.page_size)
    base = database.read_bytes()
    writes = record(database, asked.transactions)
    counted: Counter[str] = Counter(writes=len(writes), states=0, damaged=0, silent=0, acknowledged_missing=0)
    kinds, how = Counter[str](), Counter[str]()
    examples: list[dict[str, Any]] = []
    version, checker = "", Checker()
    found = tears(base, writes, asked.sector, asked.kept)
    every = -(-len(found) // asked.states) if asked.states else 1
    chosen = {number: found[number] for number in list(found)[::every]}
    for number, left, acknowledged, kind in states(base, writes, chosen):
        state.write_bytes(left)
        seen = checker.check(state)
        state.unlink()
        version = seen.pop("version", "") or version
        wrong = judge(seen, acknowledged)
        counted["states"] += 1
        if not wrong:
            continue
        silent = "error" not in seen and seen["validation"] == [0, 0]
        counted["damaged"] += 1
        counted["silent"] += silent
        counted["acknowledged_missing"] += any(what.startswith("acknowledged") for what in wrong)
        kinds[kind] += 1
        how.update(wrong)
        if len(examples) < asked.examples or (silent and len(examples) < 2 * asked.examples):
            said = {"error": seen["error"]} if "error" in seen else {}
            said |= {"rows_that_nobody_wrote": seen["never_written"]} if seen.get("never_written") else {}
            examples += [{"write": number, "page": kind, "wrong": wrong, "validation": seen["validation"], **said}]
    checker.end()
    shutil.rmtree(files)
    asked_for = {"page_size": asked.page_size, "sector": asked.sector, "kept": asked.kept}
    told = {"finding": "firebird-torn-page", "version": version, **asked_for, **counted}
    print(json.dumps({**told, "torn_pages": kinds, "wrong": how, "examples": examples}))
    return int(counted["damaged"] > 0)


def create(database: Path, page_size: int) -> None:
    """Forced Writes are on, as in every new database."""
    from firebird.driver import create_database, driver_config

    driver_config.db_defaults.page_size.value = page_size
    with create_database(str(database), user="SYSDBA") as first:
        first.execute_immediate(
            "create table t (id integer not null constraint by_id primary key, tx integer,"
            " filler char(200) character set octets)"
        )
        first.execute_immediate("create index by_tx on t (tx)")
        first.commit()


def filler(row: int) -> bytes:
    """Bytes that do not compress, the same each time."""
    return random.Random(row).randbytes(200)


def insert(database: str, transactions: int) -> None:
    from firebird.driver import connect

    with connect(database, user="SYSDBA") as connection, connection.cursor() as cursor:
        for tx in range(transactions):
            rows = range(tx * ROWS, (tx + 1) * ROWS)
            cursor.executemany("insert into t values (?, ?, ?)", [(row, tx, filler(row)) for row in rows])
            connection.commit()
            os.write(1, b"committed\n")


def record(database: Path, transactions: int) -> list[Write]:
    """Insert under strace; what was written to the database, in order, each with the commits before it."""
    environment = {**os.environ, embedded.CHILD: str(database)}
    return engine_writes.record([sys.executable, *sys.argv], environment, database, [b"committed"] * transactions)


def tears(base: bytes, writes: list[Write], sector: int, kept: str) -> dict[int, bytes]:
    """Of each write that ends neither as if whole nor as if it had not begun: what lies in its place afterwards."""
    image, found = bytearray(base), {}
    for number, (_, at, data) in enumerate(writes):
        image.extend(bytes(max(0, at + len(data) - len(image))))
        old = bytes(image[at : at + len(data)])
        torn = {"first": data[:sector] + old[sector:], "last": old[:-sector] + data[-sector:], "all": data}[kept]
        if data and (kept == "all" or torn not in (old, data)):
            found[number] = torn
        image[at : at + len(data)] = data
    return found


def states(base: bytes, writes: list[Write], found: dict[int, bytes]) -> Iterator[tuple[int, bytes, int, str]]:
    """Number of the write, file, commits acknowledged before it and kind of page."""
    image = bytearray(base)
    for number, (acknowledged, at, data) in enumerate(writes):
        image.extend(bytes(max(0, at + len(data) - len(image))))
        if number in found:
            left = bytes(image[:at]) + found[number] + bytes(image[at + len(data) :])
            yield number, left, acknowledged, KINDS.get(data[0], "other")
        image[at : at + len(data)] = data


def judge(seen: dict[str, Any], acknowledged: int) -> list[str]:
    """What is wrong with a state; warnings of a validation are pages that nobody uses, and no damage."""
    if "rows" not in seen:
        return ["not read"]
    natural, by_id, by_tx = (set(seen[path]) for path in ("rows", "by_id", "by_tx"))
    wrong = []
    if seen["never_written"]:
        wrong.append("row that nobody wrote")
    if natural != by_id or natural != by_tx:
        wrong.append("paths disagree")
    if len(natural) < len(seen["rows"]):
        wrong.append("row twice")
    committed = set(range(acknowledged * ROWS))
    if not committed <= natural:
        wrong.append("acknowledged row missing from the scan")
    if not committed <= by_id & by_tx:
        wrong.append("acknowledged row missing from an index")
    per_transaction = Counter(row // ROWS for row in natural)
    if any(many != ROWS for many in per_transaction.values()):
        wrong.append("transaction in part")
    if seen["validation"][0]:
        wrong.append("validation finds errors")
    return wrong


class Checker:
    """A process that opens one state after another; a new one when the engine has ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def check(self, state: Path) -> dict[str, Any]:
        if self._process is None:
            environment = {**os.environ, embedded.CHILD: "check"}
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen([sys.executable, *sys.argv], env=environment, **pipes)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{state}\n")
        self._process.stdin.flush()
        if answer := self._process.stdout.readline():
            return dict(json.loads(answer))
        code = self._process.wait()
        self._process = None
        return {"error": f"the engine's process ended with {code}", "validation": None}

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate()


def check() -> int:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a state that takes too long ends the process
    while state := sys.stdin.readline().rstrip():
        signal.alarm(LIMIT_S)
        print(json.dumps(examine(Path(state))), flush=True)
        signal.alarm(0)
    return 0


def examine(state: Path) -> dict[str, Any]:
    from firebird.driver import DatabaseError, connect

    seen = embedded.validated(state)
    try:
        with connect(str(state), user="SYSDBA") as connection, connection.cursor() as cursor:
            seen["version"] = connection.info.firebird_version
            rows = cursor.execute("select id, tx, filler from t plan (t natural)").fetchall()
            seen["never_written"] = sum(
                None in row or row[1] != row[0] // ROWS or row[2] != filler(row[0]) for row in rows
            )
            rows = [row for row in rows if row[0] is not None]
            for path, column in (("by_id", "id"), ("by_tx", "tx")):
                cursor.execute(f"select id from t where {column} >= 0 plan (t index ({path}))")
                seen[path] = [row[0] for row in cursor]
            seen["rows"] = [row[0] for row in rows]
    except DatabaseError as error:
        seen["error"] = " ".join(str(error).split())
    return seen


if __name__ == "__main__":
    sys.exit(main())
