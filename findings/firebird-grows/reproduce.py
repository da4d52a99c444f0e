"""Firebird: with Forced Writes a commit of many rows waits for the drive once for each page that it writes.

One connection inserts rows of 1,000 bytes, so many a commit, under strace: with Forced Writes on, off, and off with
MaxUnflushedWrites = 0. Of each commit the writes and flushes of the database file are counted, and what kind of page is
written. Counts, no rates: they are the same on a slow or busy machine. Needs strace.

    pip install firebird-driver
    python reproduce.py --version 5.0
    python reproduce.py --version 5.0 --rows 1     (for comparison: one row a commit)
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded
from engine_writes import unhex

ROW_BYTES = 1000
# pag_type, the first byte of a page: src/jrd/ods.h
PAGES = {1: "header", 2: "page inventory", 3: "transaction inventory", 4: "pointer", 5: "data", 6: "index root",
         7: "index", 8: "blob", 9: "generator", 10: "page numbers"}  # fmt: skip
MODES = {"forced writes": "", "no forced writes": "", "no forced writes, MaxUnflushedWrites = 0": "0"}
CALLS = "trace=openat,pwrite64,fsync,fdatasync,fallocate,write"
CALL = re.compile(r"^\d+ +(\w+)\(")
PATH = re.compile(r"<([^>]*)>")
PLACE = re.compile(r", (\d+)(?:\)| <unfinished)")
BETWEEN, DONE = b"a commit begins\n", b"a commit has returned\n"


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--rows", type=int, default=1000, help="of a commit")
    options.add_argument("--commits", type=int, default=3, help="of which the first is not counted")
    options.add_argument("--page-size", type=int, default=8192)
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-grows")
    if embedded.CHILD in os.environ:
        insert(os.environ[embedded.CHILD], asked.rows, asked.commits)
    modes = {}
    for mode, unflushed in MODES.items():
        database = Path(tempfile.mkdtemp(dir=work)) / "growing.fdb"
        version = create(database, asked.page_size, forced=mode == "forced writes")
        configuration = Path(os.environ[embedded.BEGUN]) / "firebird.conf"
        configuration.write_text(f"MaxUnflushedWrites = {unflushed}\n" if unflushed else "")
        modes[mode] = watched(database, asked.commits)
    told = {"finding": "firebird-grows", "version": version, "rows": asked.rows, "page_size": asked.page_size}
    print(json.dumps({**told, "modes": modes}))
    return int(modes["forced writes"]["waits"] > 10)


def create(database: Path, page_size: int, *, forced: bool) -> str:
    from firebird.driver import create_database, driver_config

    driver_config.db_defaults.page_size.value = page_size
    driver_config.db_defaults.forced_writes.value = forced
    with create_database(str(database), user="SYSDBA") as first:
        first.execute_immediate(f"create table t (id integer not null primary key, s varchar({ROW_BYTES}))")
        first.commit()
        return str(first.info.firebird_version)


def insert(database: str, rows: int, commits: int) -> None:
    from firebird.driver import connect

    lot = random.Random(1)
    connection = connect(database, user="SYSDBA")
    cursor = connection.cursor()
    statement = cursor.prepare("insert into t values (?, ?)")
    for commit in range(commits):
        os.write(1, BETWEEN)
        for row in range(rows):
            cursor.execute(statement, (commit * rows + row, lot.randbytes(ROW_BYTES // 2).hex()))
        connection.commit()
        os.write(1, DONE)
    os._exit(0)  # without what the end of a connection writes


def watched(database: Path, commits: int) -> dict[str, Any]:
    """Of a commit in the mean, its rows' inserts included: writes, flushes, and kinds of pages; the first left out."""
    trace = database.with_suffix(".trace")
    strace = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-xx",
        "-s",
        "32",
        "-e",
        CALLS,
        "-o",
        str(trace),
        sys.executable,
        *sys.argv,
    ]
    environment = {**os.environ, embedded.CHILD: str(database)}
    subprocess.run(strace, env=environment, check=True, stdout=subprocess.DEVNULL)
    calls, pages, places = Counter[str](), Counter[str](), Counter[int]()
    returned, is_synchronous, between = 0, False, True
    for line in trace.read_text().splitlines():
        if not (call := CALL.match(line)):
            continue
        name = call[1]
        first = next((unhex(match) for match in re.findall(r'"([^"]*)"', line)), b"")
        if name == "write" and first in (BETWEEN, DONE):
            between = first == DONE
            returned += first == DONE
        path = next((unhex(match) for match in PATH.findall(line)), b"")
        if name == "openat" and first == bytes(database):
            is_synchronous = "O_DSYNC" in line or "O_SYNC" in line
        if path != bytes(database) or name in ("openat", "write") or returned == 0 or between:
            continue
        calls[name] += 1
        if name == "pwrite64":
            pages[PAGES.get(first[0], str(first[0]))] += 1
            places[int(PLACE.search(line)[1])] += 1
    counted = commits - 1
    waits = calls["fsync"] + calls["fdatasync"] + (calls["pwrite64"] if is_synchronous else 0)
    each = {name: round(many / counted, 1) for name, many in calls.items()}
    return {
        "opened": "O_DSYNC" if is_synchronous else "without O_DSYNC",
        "waits": round(waits / counted, 1),
        "calls": each,
        "pages": {name: round(many / counted, 1) for name, many in pages.most_common()},
        "written_again": round((calls["pwrite64"] - len(places)) / counted, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
