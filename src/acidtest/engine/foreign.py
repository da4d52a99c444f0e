"""A server that is not ours, reached by a connection URL: nothing of it is set, all of it is asked.

What it holds stays: tables go into a schema that acidtest makes and marks, or, on MySQL, into a database that holds
nothing else. A setting or a durability level named by the experiment is a demand: the server either answers with it or
the cell is invalid.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from acidtest.engine import postgres
from acidtest.engine.base import Durability, Engine, Instance, Offer, SettingSpec, filled
from acidtest.engine.compare import Answers
from acidtest.engine.mysql import versions as mysql
from acidtest.engine.mysql.durability import AT_COMMIT
from acidtest.errors import BadInput, not_among
from acidtest.journal.models import EngineFacts, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, MysqlTarget, PostgresTarget, Settings

MARK = "made_by_acidtest"
NOT_VERIFIED = (
    "The server is not acidtest's own: what its storage is, who else uses it, and whether its drive keeps what it "
    "acknowledges were not verified."
)


@dataclass(frozen=True)
class Address:
    """The parts of a connection URL."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    schema: str | None  # named by the user; None: there must be no tables at all beside acidtest's


class ForeignServer(Engine):
    """A server at an address. ``id`` is the name that the experiment gives it."""

    private = False
    levels: ClassVar[tuple[str, ...]] = ("none", "os", "drive")

    def __init__(self, name: str, address: Address) -> None:
        self.id = name
        self.address = address

    def offer(self) -> Offer:
        return Offer(self.id, True, "", "unknown", self.facts().source, "", "")

    def facts(self) -> EngineFacts:
        at = self.address
        url = f"{self.family}://{at.user}@{at.host}:{at.port}/{at.database}"
        return EngineFacts(id=self.id, version="", architecture="unknown", source=url, mode="server, not ours")

    def durability_levels(self) -> tuple[str, ...]:
        return self.levels

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        demanded = ", ".join(f"{name}={value}" for name, value in self.demands(level).items())
        return Durability(level, f"as the server is set; demanded: {demanded}")

    def check_settings(self, settings: Mapping[str, Scalar]) -> None:
        super().check_settings(settings)
        for name in settings:
            if name in self.setting_specs() and name in ("connection", "port"):
                raise BadInput(f"{self.id}: {self.family}.{name}: the URL says how to connect", f"leave {name} out")

    def create(self, directory: Path, settings: Mapping[str, Scalar]) -> Instance:
        raise NotImplementedError("a foreign server has no templates")

    @abstractmethod
    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> ForeignInstance:
        """The server, held against these settings and this durability."""

    @abstractmethod
    def demands(self, level: str) -> dict[str, Scalar]:
        """Settings that the server must have for a level."""


class ForeignInstance(Instance):
    """The schema on the server. The conductor asks ``holdings``, hands the answers to ``refusal``, and carries out
    ``clearing`` before each load and at the end."""

    def __init__(self, engine: ForeignServer, directory: Path, settings: Mapping[str, Scalar], durability: str) -> None:
        self.directory = directory
        self.engine = engine
        self.asked: dict[str, Scalar] = {**engine.demands(durability), **settings}
        own = filled({n: s for n, s in engine.setting_specs().items() if n in ("isolation", "pipeline")}, settings)
        self.session: dict[str, Scalar] = {name: value for name, value in own.items() if value is not None}
        self.asked |= self.session

    def database_files(self) -> list[Path]:
        return []

    def environment(self) -> dict[str, str]:
        return {}

    def seal(self) -> None:
        pass

    def log(self) -> str:
        return ""

    def release(self) -> None:
        pass

    @abstractmethod
    def bare_target(self, statements: Sequence[str] = ()) -> PostgresTarget | MysqlTarget:
        """The database itself, with ``statements`` carried out on opening it."""

    @abstractmethod
    def holdings(self) -> list[Inspection]:
        """Questions about what the server holds."""

    @abstractmethod
    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        """Why the answers to ``holdings`` forbid loading there; None when nothing does."""

    @abstractmethod
    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        """Statements that remove what acidtest made; then, unless ``for_good``, make and mark the place anew."""


def _others(tables: str) -> str:
    names = tables.split(",")
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# ------------------------------------------------------------------------------------------------ PostgreSQL


class ForeignPostgres(ForeignServer):
    family = "postgresql"

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return postgres.specs_of(postgres.VERSIONS[-1])

    def demands(self, level: str) -> dict[str, Scalar]:
        flushed, commit = postgres.LEVELS[level]
        # At level none a server that flushes a moment later is none the worse.
        return {"synchronous_commit": commit} | ({} if level == "none" else {"fsync": flushed})

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> ForeignInstance:
        return ForeignPostgresInstance(self, directory, settings, durability)


class ForeignPostgresInstance(ForeignInstance):
    @property
    def schema(self) -> str:
        return self.engine.address.schema or "acidtest"

    def bare_target(self, statements: Sequence[str] = ()) -> PostgresTarget:
        at = self.engine.address
        return PostgresTarget(
            host=at.host,
            port=at.port,
            user=at.user,
            password=at.password,
            database=at.database,
            setup=list(statements),
            pipeline=bool(self.session["pipeline"]),
        )

    def target(self) -> PostgresTarget:
        isolation = str(self.session["isolation"]).replace("_", " ")
        return self.bare_target(
            [f"set search_path = {self.schema}", f"set default_transaction_isolation = '{isolation}'"]
        )

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

    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        if (mark := held.get("schema")) is not None and mark != MARK:
            return f"schema {self.schema} is there and was not made by acidtest: name another one"
        if self.engine.address.schema is None and (others := held.get("others")):
            return f"the database holds other tables ({_others(others)}): name the schema to load into"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        drop = [f"drop schema if exists {self.schema} cascade"]
        make = [f"create schema {self.schema}", f"comment on schema {self.schema} is '{MARK}'"]
        return drop if for_good else drop + make

    def inspections(self) -> list[Inspection]:
        names = (*postgres.PARAMETERS.values(), *postgres.READ_BACK.values(), *postgres.RECORDED)
        listed = ", ".join(f"'{name}'" for name in names)
        sql = f"select name, setting || coalesce(' ' || unit, '') from pg_settings where name in ({listed})"  # noqa: S608
        return [Inspection(name="", sql=sql)]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        specs = self.engine.setting_specs()
        variables = {
            name: (answer, partial(postgres.in_our_words, specs[name]))
            for name, answer in {**postgres.PARAMETERS, **postgres.READ_BACK}.items()
            if name in specs
        }
        return _held_against(self.asked, variables, postgres.RECORDED, "pg_settings", answers)


# ------------------------------------------------------------------------------------------------ MySQL


class ForeignMysql(ForeignServer):
    family = "mysql"

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        specs: dict[str, SettingSpec] = {}
        for version in mysql.VERSIONS:
            specs |= {name: spec for name, spec in mysql.specs_of(version).items() if name not in specs}
        return specs

    def demands(self, level: str) -> dict[str, Scalar]:
        return {"innodb_flush_log_at_trx_commit": AT_COMMIT[level]}

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> ForeignInstance:
        return ForeignMysqlInstance(self, directory, settings, durability)


class ForeignMysqlInstance(ForeignInstance):
    def bare_target(self, statements: Sequence[str] = ()) -> MysqlTarget:
        at = self.engine.address
        return MysqlTarget(
            host=at.host,
            port=at.port,
            user=at.user,
            password=at.password,
            database=at.database,
            setup=list(statements),
        )

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
            return f"the database holds other tables ({_others(tables)}): name one that is empty"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        # The mark goes last and comes first: between the two everything in the database is ours.
        tables = [name for name in (held.get("tables") or "").split(",") if name and name != MARK]
        drop = [f"drop table `{name}`" for name in tables]
        drop += [f"drop {routine}" for routine in (held.get("routines") or "").split(",") if routine]
        mark = f"drop table if exists {MARK}" if for_good else f"create table if not exists {MARK} (id integer)"
        return [*drop, mark]

    def inspections(self) -> list[Inspection]:
        names = [variable.name for variable in mysql.SETTINGS.values()]
        names += [*mysql.RECORDED, *mysql.ISOLATION_VARIABLES]
        listed = ", ".join(f"'{name}'" for name in names)
        return [Inspection(name="", sql=f"show session variables where variable_name in ({listed})")]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        variables = {name: (variable.name, variable.said) for name, variable in mysql.SETTINGS.items()}
        answered = {setting.name for answer in answers for setting in answer.values}
        isolation = next((name for name in mysql.ISOLATION_VARIABLES if name in answered), "transaction_isolation")
        variables["isolation"] = (isolation, mysql.isolation_said)
        return _held_against(self.asked, variables, mysql.RECORDED, "session variables", answers)


def _held_against(
    asked: Mapping[str, Scalar],
    variables: Mapping[str, tuple[str, Callable[[str], str]]],
    recorded: Sequence[str],
    source: str,
    answers: Sequence[Settings],
) -> list[SettingInForce]:
    given = Answers(answers)
    words = {name: mysql.spoken(value) for name, value in asked.items()}
    found = [
        given.compare(name, words.get(name), source, answer=answer, said=said)
        for name, (answer, said) in variables.items()
    ]
    return [
        # What this version does not have is no setting of it, unless it was asked for.
        *(setting for setting in found if setting.in_force is not None or setting.asked is not None),
        *(given.compare(name, None, source) for name in recorded),
    ]


FAMILIES: dict[str, type[ForeignPostgres | ForeignMysql]] = {
    "postgresql": ForeignPostgres,
    "mysql": ForeignMysql,
}


def server(name: str, family: str, address: Address) -> ForeignServer:
    """The server that an experiment names. Raises BadInput for a family that has no servers by URL."""
    if family not in FAMILIES:
        raise BadInput(not_among(f"servers.{name}: family", family, FAMILIES))
    return FAMILIES[family](name, address)
