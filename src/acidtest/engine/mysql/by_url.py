"""A MySQL or MariaDB server by URL: its database for our tables, and its settings held against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.engine.base import SettingSpec
from acidtest.engine.foreign import MARK, ForeignInstance, ForeignServer, held_against, others
from acidtest.engine.mysql.durability import AT_COMMIT
from acidtest.engine.mysql.target import MysqlTarget
from acidtest.engine.mysql.versions import (
    ISOLATION_VARIABLES,
    RECORDED,
    SETTINGS,
    VERSIONS,
    isolation_said,
    specs_of,
)
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings


class MysqlByUrl(ForeignServer):
    family = "mysql"

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        specs: dict[str, SettingSpec] = {}
        for version in VERSIONS:
            specs |= {name: spec for name, spec in specs_of(version).items() if name not in specs}
        return specs

    def demands(self, level: str) -> dict[str, Scalar]:
        return {"innodb_flush_log_at_trx_commit": AT_COMMIT[level]}

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> ForeignInstance:
        return MysqlByUrlInstance(self, directory, settings, durability)


class MysqlByUrlInstance(ForeignInstance):
    def bare_target(self, statements: Sequence[str] = ()) -> MysqlTarget:
        return MysqlTarget(**self.engine.address.login(), setup=list(statements))

    def target(self) -> MysqlTarget:
        isolation = str(self.session["isolation"]).replace("_", " ")
        return self.bare_target([f"set session transaction isolation level {isolation}"])

    def holdings(self) -> list[Inspection]:
        def all_of(what: str, table: str, of: str) -> str:
            return f"select group_concat({what}) from information_schema.{table} where {of} = database()"  # noqa: S608

        return [
            Inspection(name="tables", sql=all_of("table_name", "tables", "table_schema")),
            Inspection(
                name="routines", sql=all_of("concat(routine_type, ' ', routine_name)", "routines", "routine_schema")
            ),
        ]

    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        tables = held.get("tables")
        if tables and MARK not in tables.split(","):
            return f"the database holds other tables ({others(tables)}): name one that is empty"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        # The mark goes last and comes first: between the two everything in the database is ours.
        tables = [name for name in (held.get("tables") or "").split(",") if name and name != MARK]
        drop = [f"drop table `{name}`" for name in tables]
        drop += [f"drop {routine}" for routine in (held.get("routines") or "").split(",") if routine]
        mark = f"drop table if exists {MARK}" if for_good else f"create table if not exists {MARK} (id integer)"
        return [*drop, mark]

    def inspections(self) -> list[Inspection]:
        names = [variable.name for variable in SETTINGS.values()]
        names += [*RECORDED, *ISOLATION_VARIABLES]
        listed = ", ".join(f"'{name}'" for name in names)
        return [Inspection(name="", sql=f"show session variables where variable_name in ({listed})")]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        variables = {name: (variable.name, variable.said) for name, variable in SETTINGS.items()}
        answered = {setting.name for answer in answers for setting in answer.values}
        isolation = next((name for name in ISOLATION_VARIABLES if name in answered), "transaction_isolation")
        variables["isolation"] = (isolation, isolation_said)
        return held_against(self.asked, variables, RECORDED, "session variables", answers)
