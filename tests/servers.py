"""Servers of acidtest's own that play a user's, reached by URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import Engine, Instance
from acidtest.engine.firebird.engine import FirebirdTarget
from acidtest.engine.mysql.instance import MysqlTarget
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Inspection, Job, Settings
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from acidtest.workload.commits import CommitsWorkload


class Own:
    """A server that plays the user's own, with one database and its user."""

    def __init__(self, instance: Instance, ledger: Ledger) -> None:
        self.instance = instance
        self.ledger = ledger
        target = instance.target()
        assert isinstance(target, PostgresTarget | MysqlTarget | FirebirdTarget)
        self.target = target
        self.family = {"postgres": "postgresql"}.get(target.engine, target.engine)
        at = target.remote if isinstance(target, FirebirdTarget) else target
        assert at is not None
        self.host, self.port, self.password = at.host, at.port, str(at.password)

    def url(self, password: str | None = None, database: str = "") -> str:
        who = f"{self.target.user}:{password or self.password}"
        return f"{self.family}://{who}@{self.host}:{self.port}/{database or self.target.database}"

    def ask(self, question: str, *statements: str) -> str | None:
        """Carry out ``statements`` and answer ``question``."""
        target = self.target.model_copy(update={"setup": list(statements)})
        inspect = [Inspection(name="answer", sql=question)]
        job = Job(seed=1, target=target, workload=CommitsWorkload(row_bytes=1), inspect=inspect, phases=[])
        events = converse(job, self.ledger, self.instance.environment())
        return next(event.values[0].value for event in events if isinstance(event, Settings))

    def carry_out(self, *statements: str) -> None:
        """In a session of their own."""
        target = self.target.model_copy(update={"setup": list(statements)})
        job = Job(seed=1, target=target, workload=CommitsWorkload(row_bytes=1), inspect=[], phases=[])
        list(converse(job, self.ledger, self.instance.environment()))

    def tables(self) -> str | None:
        if self.family == "firebird":
            return self.ask("select count(*) from rdb$relations where rdb$system_flag = 0")
        hidden = "('pg_catalog', 'information_schema')"
        which = f"table_schema not in {hidden}" if self.family == "postgresql" else "table_schema = database()"
        return self.ask(f"select count(*) from information_schema.tables where {which}")


@contextmanager
def started(
    engine: Engine,
    files: Sequence[Path],
    directory: Path,
    ledger: Ledger,
    settings: Mapping[str, Scalar],
) -> Iterator[Own]:
    """A server over copies of these files of a sealed database."""
    directory.mkdir()
    for path in files:
        copy_tree(path, directory / path.name)
    instance = engine.adopt(directory, settings, "drive")
    instance.start(ledger)
    try:
        yield Own(instance, ledger)
    finally:
        instance.release()
