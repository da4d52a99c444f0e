"""Firebird: two columns are added at the same time, one of them is refused, and rows inserted later cannot be read.

A and B add a column each to the same table, before either commits. A commits; B's commit is refused with "update
conflicts with concurrent update", as it may be, and B rolls back. Then C and A insert a row each, and commit. Nobody is
killed. Then everybody disconnects, and the database is validated and read anew.

    pip install firebird-driver
    python reproduce.py --version 5.0
    python reproduce.py --version 5.0 --in-turn      (for comparison: B begins when A has committed)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded

ADDS = {"A": "alter table t add a integer", "B": "alter table t add b varchar(100)"}
ROWS = [1, 2, 3]  # the ids that were committed
FORMATS = (
    "select f.rdb$format from rdb$formats f join rdb$relations r on r.rdb$relation_id = f.rdb$relation_id "
    "where r.rdb$relation_name = 'T' order by 1"
)


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--in-turn", action="store_true", help="B begins when A has committed")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-two-alters")
    if embedded.CHILD in os.environ:
        read(os.environ[embedded.CHILD])
    from firebird.driver import DatabaseError, connect, create_database

    database = Path(tempfile.mkdtemp(dir=work)) / "one-table.fdb"
    with create_database(str(database), user="SYSDBA") as first:
        first.execute_immediate("create table t (id integer not null primary key, s varchar(20))")
        first.commit()
        version = first.info.firebird_version
    connections = {name: connect(str(database), user="SYSDBA") for name in "ABC"}
    refused = None

    def insert(name: str, row: int) -> None:
        connections[name].execute_immediate(f"insert into t (id, s) values ({row}, 'row')")
        connections[name].commit()

    insert("C", 1)
    connections["A"].execute_immediate(ADDS["A"])
    if asked.in_turn:
        connections["A"].commit()
    connections["B"].execute_immediate(ADDS["B"])
    if not asked.in_turn:
        connections["A"].commit()
    try:
        connections["B"].commit()
    except DatabaseError as error:
        refused = " ".join(str(error).split())
        connections["B"].rollback()
    insert("C", 2)
    insert("A", 3)
    with connections["C"].cursor() as cursor:
        formats = [row[0] for row in cursor.execute(FORMATS).fetchall()]
    for connection in connections.values():
        connection.close()
    told = {"finding": "firebird-two-alters", "version": version, "in_turn": asked.in_turn, "refused": refused}
    told |= {"rdb_formats": formats, **embedded.validated(database)}
    # A process of its own, for a consistency check is no orderly end.
    environment = {**os.environ, embedded.CHILD: str(database)}
    command = [sys.executable, *sys.argv]
    reading = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
    found = json.loads(reading.stdout) if reading.stdout else {"error": f"ended with {reading.returncode}"}
    print(json.dumps({**told, **found}))
    return int(found != {"rows": ROWS})


def read(database: str) -> None:
    from firebird.driver import DatabaseError, connect

    try:
        cursor = connect(database, user="SYSDBA").cursor()
        found = {"rows": [row[0] for row in cursor.execute("select * from t order by id").fetchall()]}
    except DatabaseError as error:
        found = {"error": " ".join(str(error).split())}
    print(json.dumps(found), flush=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
