"""Firebird: updates that were rolled back stay.

One table, one row, value 0. Each thread has its own connection, adds 1 and rolls back, again and again. Nobody ever
commits, so the value must still be 0 at the end.

    pip install firebird-driver
    python reproduce.py --version 5.0 --seconds 20
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import embedded


def main() -> int:
    options = embedded.options(__doc__)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--threads", type=int, default=3)
    options.add_argument("--no-wait", action="store_true", help="an update conflict is an error at once")
    options.add_argument("--no-auto-undo", action="store_true", help="isc_tpb_no_auto_undo")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a line of firebird.conf")
    asked = options.parse_args()
    work = embedded.begun(asked, "firebird-rollback", dict(one.split("=", 1) for one in asked.set))
    from firebird.driver import TPB, Isolation, connect, create_database
    from firebird.driver.types import DatabaseError

    database = Path(tempfile.mkdtemp(dir=work)) / "one-row.fdb"
    with create_database(str(database), user="SYSDBA") as first:
        first.execute_immediate("create table one (id integer primary key, v integer)")
        first.commit()
        first.execute_immediate("insert into one values (1, 0)")
        first.commit()
        version = first.info.firebird_version
    begin = TPB(
        isolation=Isolation.READ_COMMITTED_RECORD_VERSION,
        lock_timeout=0 if asked.no_wait else -1,
        no_auto_undo=asked.no_auto_undo,
    ).get_buffer()
    counts = {"rollbacks": 0, "conflicts": 0}
    until, lock = time.monotonic() + asked.seconds, threading.Lock()

    def work_on_it() -> None:
        rollbacks = conflicts = 0
        with connect(str(database), user="SYSDBA") as own:
            while time.monotonic() < until:
                own.begin(begin)
                try:
                    own.execute_immediate("update one set v = v + 1 where id = 1")
                except DatabaseError:
                    conflicts += 1
                own.rollback()
                rollbacks += 1
        with lock:
            counts["rollbacks"] += rollbacks
            counts["conflicts"] += conflicts

    threads = [threading.Thread(target=work_on_it) for _ in range(asked.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with connect(str(database), user="SYSDBA") as last, last.cursor() as cursor:
        value = cursor.execute("select v from one where id = 1").fetchone()[0]
    asked_for = {"threads": asked.threads, "wait": not asked.no_wait, "auto_undo": not asked.no_auto_undo}
    print(
        json.dumps(
            {"finding": "firebird-rollback", "version": version, **asked_for, **counts, "value": value, "must_be": 0}
        )
    )
    return int(value != 0)


if __name__ == "__main__":
    sys.exit(main())
