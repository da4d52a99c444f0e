"""Logs of engines, made by having the rig drive a workload on an instance of ours whose logging is on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance
from acidtest.engine.firebird import statement_trace
from acidtest.engine.firebird.statement_trace import FirebirdTrace
from acidtest.engine.mysql.instance import MysqlInstance
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    Job,
    LoadPhase,
    Phase,
    Replayed,
    Result,
)
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload import WorkloadSpec
from acidtest.workload.replay import Replay
from acidtest.workload.sql import Sql

SHOP = Path(__file__).parents[1] / "workloads" / "shop"
TABLES = ("customer", "product", "purchase", "purchase_line")
CONTENT = [f"select * from {table} order by 1" for table in TABLES]
POSTGRES = {
    "logging_collector": "on",
    "log_destination": "csvlog,jsonlog",
    "log_directory": "log",
    "log_filename": "postgresql.log",
    "log_connections": "on",
    "log_disconnections": "on",
    "log_rotation_age": "0",
}
FIREBIRD = """database = %[\\\\/]database.fdb
{
enabled = true
log_connections = true
log_transactions = true
log_statement_finish = true
log_initfini = false
print_perf = true
time_threshold = 0
max_sql_length = 60000
max_arg_count = 1000
max_arg_length = 60000
}"""


@dataclass
class Ran:
    """What the rig answered."""

    result: Result | None = None
    replayed: Replayed | None = None
    content: list[list[list[str | None]]] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)


def shop(folder: Path = SHOP, **keys: Any) -> Sql:
    """The shop, driven by three terminals."""
    table = {"kind": "sql", "path": str(folder), "terminals": 3, "count": 60, **keys}
    return Sql.model_validate(Sql.completed(table, folder))


def replay(paths: Sequence[Path], folder: Path = SHOP, **keys: Any) -> Replay:
    """A replay over the shop."""
    table = {"kind": "replay", "path": [str(path) for path in paths], "database": str(folder), **keys}
    return Replay.model_validate(Replay.completed(table, folder))


def drive(workload: WorkloadSpec, instance: Instance, ledger: Ledger, phases: Sequence[Phase]) -> Ran:
    """Have the rig do some phases."""
    job = Job(seed=5, target=instance.target(), workload=workload.message(), inspect=[], phases=list(phases))
    ran = Ran()
    with closing(converse(job, ledger, instance.environment())) as events:
        for event in events:
            if isinstance(event, Result):
                ran.result = event
            elif isinstance(event, Replayed):
                ran.replayed = event
            elif isinstance(event, Checked):
                ran.checks.append(event)
            elif isinstance(event, Answered):
                ran.content.append(event.rows)
    return ran


@contextmanager
def logging(instance: Instance, family: str, into: Path, **settings: str) -> Iterator[Callable[[], list[Path]]]:
    """Have an instance that is not started log what it is asked; the answer copies its logs when it has ended."""
    into.mkdir(parents=True, exist_ok=True)
    if family == "postgresql":
        lines = {**POSTGRES, "log_statement": "all", "log_duration": "on", **settings}
        with (instance.directory / "data" / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in lines.items())
        yield lambda: [
            Path(shutil.copy(path, into)) for path in sorted((instance.directory / "data" / "log").glob("*.[cj]s*"))
        ]
    elif family == "mysql":
        assert isinstance(instance, MysqlInstance)
        # Files of the server's own, where it may write.
        general, slow = (instance.directory / "data" / name for name in ("general.log", "slow.log"))
        more = {
            "general_log_file": f"'{general}'", "slow_query_log_file": f"'{slow}'", "long_query_time": "0",
            "general_log": "1", "slow_query_log": "1", **settings,
        }  # fmt: skip
        plain = instance._introduction
        asked = "".join(f"set global {name} = {value};\n" for name, value in more.items())
        setattr(instance, "_introduction", lambda: plain() + asked)  # noqa: B010 - mypy takes it for a method
        yield lambda: [Path(shutil.copy(path, into)) for path in (general, slow)]
    else:
        yield lambda: [into / "trace.txt"]


@contextmanager
def traced(instance: Instance, into: Path) -> Iterator[None]:
    """Write the trace of a Firebird that has started."""
    target: Any = instance.target()
    trace = FirebirdTrace(target, "database.fdb", instance.environment())
    plain = statement_trace.CONFIGURATION
    statement_trace.CONFIGURATION = FIREBIRD.replace("{", "{{").replace("}", "}}")
    try:
        trace.begin()
    finally:
        statement_trace.CONFIGURATION = plain
    assert not trace._why, trace._why
    process = trace._process
    assert process is not None
    assert process.stdout is not None
    stream = process.stdout
    with (into / "trace.txt").open("wb") as file:
        reading = threading.Thread(target=lambda: shutil.copyfileobj(stream, file))
        reading.start()
        try:
            yield
        finally:
            trace._tell("stop\n")
            assert trace._answer() == "stopped"
            reading.join(60)
            trace.end()


def recorded(engine: Engine, directory: Path, ledger: Ledger, workload: Sql, **settings: str) -> tuple[list[Path], Ran]:
    """The logs of a workload on a loaded database, whose load is not in them, and what was there afterwards."""
    loaded, working = directory / "loaded", directory / "recorded"
    for made in (loaded, working):
        made.mkdir(parents=True)
    instance = engine.create(loaded, {})
    try:
        instance.start(ledger)
        drive(workload, instance, ledger, [LoadPhase()])
        instance.seal()
        for path in instance.database_files():
            copy_tree(path, working / path.name)
    finally:
        instance.release()
    instance = engine.adopt(working, {}, "os")
    try:
        with logging(instance, engine.family, directory / "logs", **settings) as copied:
            instance.start(ledger)
            phases: list[Phase] = [workload.run_phase()]
            if engine.family == "firebird":
                with traced(instance, directory / "logs"):
                    drive(workload, instance, ledger, phases)
            else:
                drive(workload, instance, ledger, phases)
            logs = copied()
            return logs, drive(workload, instance, ledger, [CheckPhase(), AskPhase(questions=list(CONTENT))])
    finally:
        instance.release()


def replayed(engine: Engine, directory: Path, ledger: Ledger, workload: Replay) -> Ran:
    """The replay on another new instance."""
    directory.mkdir(parents=True)
    instance = engine.create(directory, {})
    try:
        instance.start(ledger)
        asked = AskPhase(questions=list(CONTENT))
        phases: list[Phase] = [LoadPhase(), CheckPhase(), workload.run_phase(), CheckPhase(), asked]
        return drive(workload, instance, ledger, phases)
    finally:
        instance.release()


def row(message: str, *, detail: str = "", severity: str = "LOG", statement: str = "", session: str = "6b04.1",
        at: str = "00:00.100", database: str = "shop") -> str:  # fmt: skip
    """A line of a csvlog."""

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if text else ""

    return (
        f'2026-11-23 22:{at} UTC,"me","{database}",7,"[local]",{session},1,"x",2026-11-23 22:00:00 UTC,3/1,0,{severity},00000,'
        f'{quoted(message)},{quoted(detail)},,,,,{quoted(statement)},,,"","client backend",,0\n'
    )
