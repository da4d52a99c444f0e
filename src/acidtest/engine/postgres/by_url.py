"""A PostgreSQL server by URL: its schema for our tables, and its settings held against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidtest.engine import tls
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
from acidtest.engine.postgres import durability as levels
from acidtest.engine.postgres import figures
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.engine.postgres.versions import (
    PARAMETERS,
    QUESTIONS,
    READ_BACK,
    RECORDED,
    VERSIONS,
    specs_of,
    variables,
)
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings


class PostgresByUrlInstance(ForeignInstance):
    @property
    def schema(self) -> str:
        return self.engine.address.schema or "acidtest"

    def bare_target(self, statements: Sequence[str] = ()) -> PostgresTarget:
        return PostgresTarget(
            **self.engine.address.login(), setup=list(statements), pipeline=bool(self.session["pipeline"])
        )

    def figures(self) -> Figures:
        return figures.of_version(None)

    def target(self) -> PostgresTarget:
        isolation = str(self.session["isolation"]).replace("_", " ")
        # In a database of the user's the server's own path holds, unless a schema is named.
        named = self.engine.address.schema if self.is_prepared else self.schema
        path = [f"set search_path = {named}"] if named else []
        return self.bare_target([*path, f"set default_transaction_isolation = '{isolation}'"])

    def holdings(self) -> list[Inspection]:
        ours = f"'{self.schema}'"
        return [
            Inspection(
                name="schema",
                sql="select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace "  # noqa: S608
                f"where nspname = {ours}",
            ),
            Inspection(
                name="others",
                sql="select string_agg(schemaname || '.' || tablename, ',') from pg_tables where schemaname not in "  # noqa: S608
                f"('pg_catalog', 'information_schema', {ours})",
            ),
        ]

    def unprepared(self, held: Mapping[str, str | None]) -> str | None:
        if (named := self.engine.address.schema) is None:
            return None if held.get("others") else f"the database {NOTHING_THERE}"
        if (there := held.get("schema")) not in (None, MARK):
            return None
        return f"schema {named} {'is not there' if there is None else 'was made by acidtest'}: name one of yours"

    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        if (mark := held.get("schema")) is not None and mark != MARK:
            return f"schema {self.schema} is there and was not made by acidtest: name another one"
        if self.engine.address.schema is None and (there := held.get("others")):
            return f"the database holds other tables ({others(there)}): name the schema to load into"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        drop = [f"drop schema if exists {self.schema} cascade"]
        make = [f"create schema {self.schema}", f"comment on schema {self.schema} is '{MARK}'"]
        return drop if for_good else drop + make

    def inspections(self) -> list[Inspection]:
        return [Inspection(name="", sql=sql) for sql in QUESTIONS]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        settings = held_against(self.asked, variables(self.engine.specs), RECORDED, "pg_settings", answers)
        seen = held_against({}, {"tls": ("tls", str)}, tls.RECORDED, "pg_stat_ssl", answers)
        return settings + tls.in_force(self.engine.address.tls, seen)


class PostgresByUrl(ForeignServer):
    family = "postgresql"
    specs = specs_of(VERSIONS[-1])
    demandable = frozenset({*PARAMETERS, *READ_BACK, *OF_SESSIONS})
    instances = PostgresByUrlInstance

    def refuse_contradictions(self, level: str, settings: Mapping[str, Scalar]) -> None:
        levels.refuse_contradictions(self.id, level, settings)

    def demands(self, level: str) -> dict[str, Scalar]:
        return levels.settings_of(level)
