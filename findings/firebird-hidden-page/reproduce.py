"""Firebird: committed rows on a page that is marked as empty.

A table with some committed rows. Two connections of one process: A inserts and never commits, B inserts and commits.
Then the process is killed. With Forced Writes on every row of B must be there: its commit has returned. B's rows are
counted by a scan and by their keys.

    pip install firebird-driver
    python reproduce.py --version 5.0
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded

ROWS = 20  # of each side
STEP = 25  # more rows at first, for each kill


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--kills", type=int, default=1)
    options.add_argument("--filled", type=int, default=275, help="rows that are there at first; 25 more for each kill")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-hidden-page")
    if embedded.CHILD in os.environ:
        insert(os.environ[embedded.CHILD])
    from firebird.driver import connect

    kills = {"kills": 0, "hidden_from_scans": 0, "missing_by_key": 0}
    after_rows = []  # that were there at first, where rows were hidden
    version = ""
    for filled in range(asked.filled, asked.filled + asked.kills * STEP, STEP):
        database = Path(tempfile.mkdtemp(dir=work)) / "two-writers.fdb"
        create(database, filled)
        child_environment = {**os.environ, embedded.CHILD: str(database)}
        with subprocess.Popen([sys.executable, *sys.argv], env=child_environment, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            if child.stdout.readline() != b"committed\n":
                raise SystemExit("the writer ended before it had committed")
            child.send_signal(signal.SIGKILL)
        with connect(str(database), user="SYSDBA") as after, after.cursor() as cursor:
            version = after.info.firebird_version
            scanned = cursor.execute("select count(*) from t where id + 0 < 0").fetchone()[0]
            by_key = sum(
                cursor.execute("select count(*) from t where id = ?", (-n,)).fetchone()[0] for n in range(1, ROWS + 1)
            )
        kills["kills"] += 1
        after_rows += [filled] if scanned < by_key else []
        kills["hidden_from_scans"] += scanned < by_key
        kills["missing_by_key"] += by_key < ROWS
        database.unlink()
    print(json.dumps({"finding": "firebird-hidden-page", "version": version, **kills, "after_rows": after_rows}))
    return int(kills["hidden_from_scans"] > 0)


def create(database: Path, rows: int) -> None:
    """So many committed rows, so that pages beyond them are there already, marked as empty. Forced Writes are on."""
    from firebird.driver import create_database

    with create_database(str(database), user="SYSDBA") as first:
        first.execute_immediate("create table t (id integer primary key, filler char(200) character set octets)")
        first.commit()
        put(first, range(1, rows + 1))
        first.commit()


def put(connection: Any, ids: Sequence[int]) -> None:
    """Bytes that do not compress."""
    with connection.cursor() as cursor:
        cursor.executemany("insert into t values (?, ?)", [(n, secrets.token_bytes(200)) for n in ids])


def insert(database: str) -> None:
    """A leaves its transaction open; the parent kills us when B has committed."""
    from firebird.driver import connect

    one, other = (connect(database, user="SYSDBA") for _ in range(2))
    put(one, range(1_000_001, 1_000_001 + ROWS))
    put(other, range(-ROWS, 0))
    other.commit()
    print("committed", flush=True)
    signal.pause()


if __name__ == "__main__":
    sys.exit(main())
