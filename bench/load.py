"""TPC-C-like load by the rig, row by row by the same program in one session, and by the server's own COPY or LOAD DATA
of the same rows from prepared files: how long each takes, keys and indexes included.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.engine.mysql.instance import MysqlTarget
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.protocol import Job, Loaded, LoadPhase
from acidtest.place import Ledger
from acidtest.workload.tpcc import TpccWorkload

ENGINES = ("postgresql-15", "mariadb-10.11")
TABLES = (
    "warehouse", "district", "customer", "history", "item", "stock", "orders", "new_order", "order_line",
)  # fmt: skip


def main(engine: str | None, warehouses: int, rounds: int) -> None:
    """Load into each engine in turn, each way in turn; print medians and ratios."""
    for id in (engine,) if engine else ENGINES:  # noqa: A001
        timings: dict[str, list[float]] = {"rig": [], "from files": [], "row by row": []}
        for number in range(rounds):
            with closing(Ledger()) as ledger, tempfile.TemporaryDirectory(prefix="acidtest-bench-") as work:
                timings["rig"].append(
                    _load(id, Path(work) / "rig", warehouses, ledger, from_files=timings["from files"])
                )
                if number == 0:  # by far the longest, and only to be far slower
                    timings["row by row"].append(_load(id, Path(work) / "one", warehouses, ledger, one_by_one=True))
        ours = statistics.median(timings["rig"])
        print(f"{id}, {warehouses} warehouses, medians of {rounds} loads (row by row: one)")
        for name, seconds in timings.items():
            middle = statistics.median(seconds)
            print(f"  {name:<12} {middle:7.1f} s   {middle / ours:6.2f} times the rig's")


def _load(
    id: str,  # noqa: A002
    directory: Path,
    warehouses: int,
    ledger: Ledger,
    *,
    one_by_one: bool = False,
    from_files: list[float] | None = None,
) -> float:
    directory.mkdir()
    instance = catalogue.find(id).create(directory, {})
    instance.start(ledger)
    try:
        job = Job(
            seed=1,
            target=instance.target(),
            workload=TpccWorkload(warehouses=warehouses, procedures=False, keying=False),
            inspect=[],
            phases=[LoadPhase(sessions=1 if one_by_one else os.cpu_count() or 1, one_by_one=one_by_one)],
        )
        (loaded,) = (e for e in converse(job, ledger, instance.environment()) if isinstance(e, Loaded))
        if from_files is not None:
            from_files.append(_from_files(instance, directory))
        return loaded.seconds
    finally:
        instance.release()


def _from_files(instance: Instance, directory: Path) -> float:
    """Seconds that the server's own way takes, by its own client: the loaded rows are written to files first."""
    files = directory / "files"
    files.mkdir()
    target = instance.target()
    if isinstance(target, PostgresTarget):
        return _copy(_psql(target), files)
    assert isinstance(target, MysqlTarget)
    return _load_data(_mariadb(target), files)


def _copy(sql: Callable[[str], str], files: Path) -> float:
    seconds = 0.0
    for table in TABLES:
        sql(f"\\copy {table} to '{files / table}'")
        indexes = sql(f"select indexdef from pg_indexes where tablename = '{table}'").splitlines()  # noqa: S608
        began = time.monotonic()
        sql(f"create table copy_{table} (like {table})")
        sql(f"\\copy copy_{table} from '{files / table}'")
        for index in indexes:
            # create unique index pk_item on public.item using btree (i_id)
            head, _, tail = index.partition(f".{table} ")
            sql(head.replace("INDEX ", "INDEX copy_") + f".copy_{table} " + tail)
        seconds += time.monotonic() - began
    return seconds


def _load_data(sql: Callable[[str], str], files: Path) -> float:
    seconds = 0.0
    for table in TABLES:
        rows = sql(f"select * from {table}")  # noqa: S608 - a table of ours
        (files / table).write_text("\n".join(_file_line(line) for line in rows.splitlines()) + "\n", encoding="utf-8")
        began = time.monotonic()
        sql(f"create table copy_{table} like {table}")
        sql(f"load data local infile '{files / table}' into table copy_{table}")
        seconds += time.monotonic() - began
    return seconds


def _file_line(line: str) -> str:
    # The client writes NULL in letters where a file has its own mark.
    return "\t".join("\\N" if field == "NULL" else field for field in line.split("\t"))


def _psql(target: PostgresTarget) -> Callable[[str], str]:
    command = [
        _program("psql", "postgresql-client"),
        "-X",
        "-q",
        "-A",
        "-t",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        target.host,
    ]
    command += ["-p", str(target.port), "-U", target.user, target.database]
    return lambda sql: _run([*command, "-c", sql], {"PGPASSWORD": target.password or ""})


def _mariadb(target: MysqlTarget) -> Callable[[str], str]:
    command = [_program("mariadb", "mariadb-client"), "--no-defaults", "--local-infile=1", "-B", "-N", "--quick"]
    command += ["-S", target.host, "-u", target.user, target.database]
    return lambda sql: _run([*command, "-e", sql], {"MYSQL_PWD": target.password or ""})


def _program(name: str, package: str) -> str:
    if (path := shutil.which(name)) is None:
        raise MachineLacks(f"{name} is missing", f"apt-get install {package}")
    return path


def _run(command: list[str], environment: dict[str, str]) -> str:
    ended = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if ended.returncode != 0:
        raise CellFailed(f"{command[0]}: {ended.stderr.strip()}")
    return ended.stdout
