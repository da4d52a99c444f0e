"""Firebird: NULL in a column that is NOT NULL, written by a statement that was prepared before the column was added.

A prepares an insert. B adds a column, not null and with a default, and commits. A inserts again by its old statement:
the new column has the default, as it must. Then A prepares any other statement on the table, and inserts a third time
by the old one. Nobody is killed, and everything commits.

    pip install firebird-driver
    python reproduce.py --version 5.0
    python reproduce.py --version 5.0 --without-another     (for comparison: A prepares nothing in between)
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded

DEFAULT = 7


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--without-another", action="store_true", help="A prepares no other statement")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-not-null")
    from firebird.driver import DatabaseError, connect, create_database

    database = str(Path(tempfile.mkdtemp(dir=work)) / "one-table.fdb")
    with create_database(database, user="SYSDBA") as first:
        first.execute_immediate("create table t (id integer not null primary key)")
        first.commit()
        version = first.info.firebird_version
    one, other = (connect(database, user="SYSDBA") for _ in range(2))
    inserting = one.cursor()
    insert = inserting.prepare("insert into t (id) values (?)")
    inserting.execute(insert, (1,))
    one.commit()
    other.execute_immediate(f"alter table t add v integer default {DEFAULT} not null")
    other.commit()
    inserting.execute(insert, (2,))
    one.commit()
    if not asked.without_another:
        with one.cursor() as another:
            another.execute("select * from t").fetchall()
        one.commit()
    inserting.execute(insert, (3,))
    one.commit()
    with connect(database, user="SYSDBA") as later, later.cursor() as cursor:
        rows = dict(cursor.execute("select id, v from t order by id").fetchall())
        try:
            cursor.execute("update t set id = id + 10 where id = 3")
            update = "done"
        except DatabaseError as error:
            update = " ".join(str(error).split())
        later.rollback()
    told = {"finding": "firebird-not-null", "version": version, "another": not asked.without_another}
    print(json.dumps({**told, "rows": rows, "must_be": DEFAULT, "update_of_the_last": update}), flush=True)
    code = int(any(value != DEFAULT for value in rows.values()))
    inserting.close()
    one.close()
    other.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
