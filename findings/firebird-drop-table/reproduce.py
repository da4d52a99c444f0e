"""Firebird: a table that is being dropped is gone before the drop has committed.

A table has committed rows. One connection drops it and commits, Forced Writes on, under strace, which keeps every write
to the database, in order. Then for each write the file is built as a kill (or a power cut) leaves it right after this
write: all writes up to it, and none after. A transaction takes place or does not, so the table must be there with all
its rows, or not be there. Needs strace.

    pip install firebird-driver
    python reproduce.py --version 5.0
    python reproduce.py --version 5.0 --do delete     (for comparison: all rows are deleted instead)
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded
import engine_writes

ROWS = 50
SAID = [b"committing", b"committed"]
DOES = {"drop": "drop table t", "delete": "delete from t"}
WHOLE, GONE, EMPTY, UNREADABLE, IN_PART = "whole", "gone", "empty", "cannot be read", "in part"


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--do", choices=DOES, default="drop", help="what the transaction does")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-drop-table")
    if embedded.CHILD in os.environ:
        end(os.environ[embedded.CHILD], DOES[asked.do])
        return 0
    files = Path(tempfile.mkdtemp(dir=work))
    database = files / "one-table.fdb"
    version = create(database)
    image = bytearray(database.read_bytes())
    environment = {**os.environ, embedded.CHILD: str(database)}
    writes = engine_writes.record([sys.executable, *sys.argv], environment, database, SAID)
    counted, examples, states = Counter[str](), [], ""
    for number, (said, at, data) in enumerate(writes, start=1):
        image.extend(bytes(max(0, at + len(data) - len(image))))
        image[at : at + len(data)] = data
        if said == 0:
            continue  # the statement, before its commit is asked for
        state = files / f"{number}.fdb"
        state.write_bytes(image)
        seen = examine(state)
        counted[seen["table"]] += 1
        states += {WHOLE: "w", GONE: "g", EMPTY: "e"}.get(seen["table"], "!")
        if seen["table"] in (UNREADABLE, IN_PART) and len(examples) < 2:
            examples.append({"after_write": number, **seen})
        state.unlink()
    wrong = counted[UNREADABLE] + counted[IN_PART]
    told = {"finding": "firebird-drop-table", "version": version, "do": asked.do, "states": sum(counted.values())}
    print(json.dumps({**told, "table": counted, "in_order": states, "wrong": wrong, "examples": examples}))
    return int(wrong > 0)


def create(database: Path) -> str:
    """A table with committed rows; Forced Writes are on, as in every new database. Answers the engine's version."""
    from firebird.driver import create_database

    with create_database(str(database), user="SYSDBA") as first, first.cursor() as cursor:
        first.execute_immediate("create table t (id integer not null primary key, filler char(200))")
        first.commit()
        cursor.executemany("insert into t values (?, ?)", [(row, f"row {row}") for row in range(ROWS)])
        first.commit()
        return str(first.info.firebird_version)


def end(database: str, statement: str) -> None:
    from firebird.driver import connect

    with connect(database, user="SYSDBA") as connection:
        connection.execute_immediate(statement)
        os.write(1, SAID[0] + b"\n")
        connection.commit()
        os.write(1, SAID[1] + b"\n")
        os._exit(0)  # as a kill, without what the end of a connection writes


def examine(state: Path) -> dict[str, Any]:
    """What has become of the table, and what ``gfix -validate -full -no_update`` says of the database."""
    from firebird.driver import DatabaseError, connect

    seen = embedded.validated(state)
    try:
        with connect(str(state), user="SYSDBA") as connection, connection.cursor() as cursor:
            named = "select rdb$relation_id from rdb$relations where rdb$relation_name = 'T'"
            found = cursor.execute(named).fetchone()
            if found is None:
                return {"table": GONE, **seen}
            pages = f"select count(*) from rdb$pages where rdb$relation_id = {found[0]}"
            seen["rows_of_rdb_pages"] = cursor.execute(pages).fetchone()[0]
            try:
                rows = cursor.execute("select count(*) from t").fetchone()[0]
            except DatabaseError as error:
                seen |= {"table": UNREADABLE, "error": " ".join(str(error).split())}
            else:
                seen["table"] = {ROWS: WHOLE, 0: EMPTY}.get(rows, IN_PART)
    except DatabaseError as error:  # after a consistency check the connection does not end in order either
        seen.setdefault("table", UNREADABLE)
        seen.setdefault("error", " ".join(str(error).split()))
    return seen


if __name__ == "__main__":
    sys.exit(main())
