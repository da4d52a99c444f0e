"""A MySQL or MariaDB server by URL: its database for our tables, and its settings held against what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from acidtest.engine import tls
from acidtest.engine.base import SettingSpec
from acidtest.engine.foreign import (
    MARK,
    NOTHING_THERE,
    OF_SESSIONS,
    ForeignInstance,
    ForeignServer,
    held_against,
    others,
)
from acidtest.engine.instruments import Figures
from acidtest.engine.mysql import figures
from acidtest.engine.mysql.durability import AT_COMMIT, refuse_contradictions, sync_binlog_of
from acidtest.engine.mysql.inspection import quoted
from acidtest.engine.mysql.instance import MysqlTarget
from acidtest.engine.mysql.versions import (
    ISOLATION_VARIABLES,
    QUESTIONS,
    RECORDED,
    SETTINGS,
    TLS_SOURCE,
    TLS_STATUS,
    VERSIONS,
    encrypts,
    isolation_said,
    specs_of,
)
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings


def _of_any(specs: Iterable[SettingSpec]) -> SettingSpec:
    """One setting as any of the versions takes it: which one it is, only the server can tell."""
    first, *others = specs
    if first.allowed is None:
        lows, highs = ([getattr(one, end) for one in (first, *others)] for end in ("minimum", "maximum"))
        return replace(first, minimum=min(lows), maximum=max(highs))
    return replace(
        first, allowed=tuple(dict.fromkeys(value for one in (first, *others) for value in one.allowed or ()))
    )


def _specs() -> dict[str, SettingSpec]:
    having: dict[str, list[SettingSpec]] = {}
    for version in VERSIONS:
        for name, spec in specs_of(version).items():
            having.setdefault(name, []).append(spec)
    return {name: _of_any(of) for name, of in having.items()}


TABLE = "table"
# What a database may hold: its kind and its name, and where they stand.
HOLDINGS = (
    (f"'{TABLE}'", "table_name", "tables", "table_schema"),
    ("lower(routine_type)", "routine_name", "routines", "routine_schema"),
)


class MysqlByUrlInstance(ForeignInstance):
    def bare_target(self, statements: Sequence[str] = ()) -> MysqlTarget:
        return MysqlTarget(**self.engine.address.login(), setup=list(statements))

    def figures(self) -> Figures:
        return figures.of_engine(self.engine.id)

    def target(self) -> MysqlTarget:
        isolation = str(self.session["isolation"]).replace("_", " ")
        return self.bare_target([f"set session transaction isolation level {isolation}"])

    def holdings(self) -> list[Inspection]:
        """A row for each: what one value holds, group_concat cuts at 1,024 bytes."""
        return [
            Inspection(
                name="",
                sql=f"select concat({kind}, ' ', {name}), {kind} from information_schema.{table} "  # noqa: S608
                f"where {of} = database()",
            )
            for kind, name, table, of in HOLDINGS
        ]

    def unprepared(self, held: Mapping[str, str | None]) -> str | None:
        theirs = any(kind == TABLE and name != MARK for kind, name in _objects(held))
        return None if theirs else f"the database {NOTHING_THERE}"

    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        there = _objects(held)
        tables = [name for kind, name in there if kind == TABLE]
        if MARK in tables:
            return None
        if tables:
            return f"the database holds other tables ({others(','.join(tables))}): name one that is empty"
        if there:
            routines = ",".join(f"{kind} {name}" for kind, name in there)
            return f"the database holds other routines ({others(routines)}): name one that is empty"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        # The mark goes last and comes first: between the two everything in the database is ours.
        drop = [f"drop {kind} {quoted(name)}" for kind, name in _objects(held) if name != MARK]
        mark = f"drop table if exists {MARK}" if for_good else f"create table if not exists {MARK} (id integer)"
        return [*drop, mark]

    def inspections(self) -> list[Inspection]:
        return [Inspection(name="", sql=sql) for sql in QUESTIONS]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        variables = {name: (variable.name, variable.said) for name, variable in SETTINGS.items()}
        answered = {setting.name for answer in answers for setting in answer.values}
        isolation = next((name for name in ISOLATION_VARIABLES if name in answered), "transaction_isolation")
        variables["isolation"] = (isolation, isolation_said)
        asked = dict(self.asked)
        if asked["innodb_flush_log_at_trx_commit"] == AT_COMMIT["drive"] and _has_binary_log(answers):
            # A part of the commit, which MariaDB rolls back after a crash when its binary log has lost it.
            asked.setdefault("sync_binlog", sync_binlog_of("drive"))
        settings = held_against(asked, variables, RECORDED, "session variables", answers)
        told = {"tls": ("Ssl_cipher", encrypts)} | {name: (status, str) for status, name in TLS_STATUS.items()}
        seen = held_against({}, told, (), TLS_SOURCE, answers)
        return settings + tls.in_force(self.engine.address.tls, seen)


class MysqlByUrl(ForeignServer):
    family = "mysql"
    specs = _specs()
    demandable = frozenset({*SETTINGS, *OF_SESSIONS})
    instances = MysqlByUrlInstance

    def refuse_contradictions(self, level: str, settings: Mapping[str, Scalar]) -> None:
        # Whether there is a binary log, where nobody demands it, only the server can tell.
        refuse_contradictions(self.id, level, {"log_bin": True, **settings})

    def demands(self, level: str) -> dict[str, Scalar]:
        return {"innodb_flush_log_at_trx_commit": AT_COMMIT[level]}


def _objects(held: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Kind and name of what the answers to ``holdings`` tell, tables first."""
    return [(kind, name.removeprefix(f"{kind} ")) for name, kind in held.items() if kind]


def _has_binary_log(answers: Sequence[Settings]) -> bool:
    return any(
        SETTINGS["log_bin"].said(value.value or "") == "true"
        for of in answers
        for value in of.values
        if value.name == "log_bin"
    )
