"""A Firebird server by URL: our tables in a database that holds no others, and its settings held against what was asked
for.

Sessions go through the newest of Firebird's client libraries that acidtest has brought, with a configuration of their
own, so that the machine's own Firebird has no say in them.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from acidtest.engine import install
from acidtest.engine.base import Launcher
from acidtest.engine.compare import Answers
from acidtest.engine.firebird import services, wire
from acidtest.engine.firebird.engine import LEVELS, FirebirdRemote, FirebirdTarget, refuse_contradictions
from acidtest.engine.firebird.instance import EITHER, ISOLATION_MODES, OF_DATABASE, columns, lock_timeout_said
from acidtest.engine.firebird.instruments import COUNTERS, SHARED_CACHE, figures_of_cache
from acidtest.engine.firebird.runtime import LIBRARY, Runtime
from acidtest.engine.firebird.versions import CONF, VERSIONS, config_said, flag, specs_of
from acidtest.engine.foreign import (
    MARK,
    NOTHING_THERE,
    OF_SESSIONS,
    ForeignInstance,
    ForeignServer,
    held_against,
    others,
)
from acidtest.engine.instruments import Counters, Figures
from acidtest.errors import MachineLacks
from acidtest.formats import gstat
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings

NEWEST = list(VERSIONS)[-1]

Said = Callable[[str], str]
# By our name the column with the answer, and how it reads in our words; as OF_DATABASE has them.
OF_TRANSACTIONS: Mapping[str, tuple[str, Said]] = {
    "isolation": ("mon$isolation_mode", lambda mode: {"1": "snapshot"}.get(mode, "read_committed")),
    "lock_timeout_s": ("mon$lock_timeout", lock_timeout_said),
}
# The same of the configuration's entries; the server's mode may have to be told otherwise.
OF_CONF: Mapping[str, tuple[str, Said]] = {
    name: (entry, partial(config_said, name)) for name, entry in CONF.items() if name != "server_mode"
}
# What is only recorded, with the table that it is read from.
RECORDED: Mapping[str, tuple[str, Said, str]] = {
    "ods": ("ods", str, "MON$DATABASE"),
    "sweep_interval": ("mon$sweep_interval", str, "MON$DATABASE"),
    "reserve_space": ("mon$reserve_space", flag, "MON$DATABASE"),
    "isolation_mode": ("mon$isolation_mode", lambda mode: ISOLATION_MODES.get(mode, mode), "MON$TRANSACTIONS"),
    "auth_method": ("mon$auth_method", str, "MON$ATTACHMENTS"),
    "client_version": ("mon$client_version", str, "MON$ATTACHMENTS"),
}

# What a user may have in a database: the system table, the column with its name, and what tells it from the system's.
# Those that our workloads make stand first, each before what it may depend on.
OURS = ("trigger", "procedure", "table", "sequence")
NOT_OF_PACKAGES = "rdb$package_name is null"
OBJECTS = {
    "trigger": ("rdb$triggers", "rdb$trigger_name", "rdb$relation_name is not null"),
    "procedure": ("rdb$procedures", "rdb$procedure_name", NOT_OF_PACKAGES),
    "table": ("rdb$relations", "rdb$relation_name", "rdb$view_blr is null"),
    "sequence": ("rdb$generators", "rdb$generator_name", ""),
    "view": ("rdb$relations", "rdb$relation_name", "rdb$view_blr is not null"),
    "function": ("rdb$functions", "rdb$function_name", NOT_OF_PACKAGES),
    "package": ("rdb$packages", "rdb$package_name", ""),
    "exception": ("rdb$exceptions", "rdb$exception_name", ""),
    "trigger of the database": ("rdb$triggers", "rdb$trigger_name", "rdb$relation_name is null"),
    "domain": ("rdb$fields", "rdb$field_name", "rdb$field_name not starting with 'RDB$'"),
}
MARK_TABLE = MARK.upper()  # as Firebird writes a name that is not quoted

# Firebird 4 and later tell their configuration, to administrators and the database's owner; others have no such table.
_ENTRIES = ", ".join(f"''{entry}''" for entry in CONF.values())
_TOLD = f"select rdb$config_name, rdb$config_value from rdb$config where rdb$config_name in ({_ENTRIES})"  # noqa: S608
CONFIGURATION = (
    "execute block returns (name varchar(63), said varchar(255)) as begin begin "
    f"for execute statement '{_TOLD}' into :name, :said do suspend; when any do begin end end end"
)
# Where the configuration is not told, what sessions show, to those who may see the sessions of others.
ADMINISTRATOR = "(current_user = 'SYSDBA' or current_role = 'RDB$ADMIN')"
SHOWN_MODE = f"select iif({SHARED_CACHE}, 'Super', iif({ADMINISTRATOR}, '{EITHER}', null)) from rdb$database"  # noqa: S608
VERSION = "select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database"


class FirebirdByUrlInstance(ForeignInstance):
    engine: FirebirdByUrl
    _root: Path | None = None  # of the client, since the start
    _made: tuple[Launcher, str] | None = None

    def start(self, launcher: Launcher) -> None:
        """Make the client's root, with a configuration that is the URL's."""
        root = Path(tempfile.gettempdir()).resolve() / f"acidtest-{uuid.uuid4().hex[:8]}"
        self._made = launcher, launcher.make_directory(root)
        for part in ("lock", "temp"):
            (root / part).mkdir()
        self.engine.client().furnish(root)
        asked = self.engine.address.wire
        entries = wire.entries(
            crypt=asked.crypt if asked else "Enabled", compression=asked.compression if asked else False
        )
        # Without the engine, which would look for a database of that name on this machine.
        lines = [f"{entry} = {value}\n" for entry, value in {"Providers": "Remote", **entries}.items()]
        (root / "firebird.conf").write_text("".join(lines), encoding="utf-8")
        (root / "databases.conf").touch()
        self._root = root

    def release(self) -> None:
        if self._made is not None:
            launcher, id_ = self._made
            launcher.remove_directory(id_)
        self._root = self._made = None

    def environment(self) -> dict[str, str]:
        if self._root is None:
            return {}
        root = str(self._root)
        return {
            "FIREBIRD": root,
            "FIREBIRD_LOCK": f"{root}/lock",
            "FIREBIRD_TMP": f"{root}/temp",
            "FIREBIRD_MSG": root,
            "LD_LIBRARY_PATH": root,
        }

    def bare_target(self, statements: Sequence[str] = ()) -> FirebirdTarget:
        at = self.engine.address
        waits = self.session["lock_resolution"] == "wait"
        return FirebirdTarget.model_validate(
            {
                "library": str(self.engine.client().path / LIBRARY),
                "database": at.database,
                "user": at.user,
                "remote": FirebirdRemote(host=at.host, port=at.port, password=at.password or ""),
                "isolation": self.session["isolation"],
                "lock_resolution": self.session["lock_resolution"],
                "lock_timeout_s": self.session.get("lock_timeout_s") if waits else None,
                "setup": list(statements),
            }
        )

    def gstat(self, limit_s: float) -> gstat.Output:
        """What the server's own gstat prints of the database, which its services run. Raises CellFailed with the
        server's words."""
        assert self._made is not None, "it was started"
        launcher, at = self._made[0], self.engine.address
        request = {
            "library": str(self.engine.client().path / LIBRARY),
            "database": at.database,
            "user": at.user,
            "remote": {"host": f"[{at.host}]" if ":" in at.host else at.host, "port": at.port, "password": at.password},
        }
        return services.take_statistics(launcher, self.environment(), request, limit_s)[1]

    def holdings(self) -> list[Inspection]:
        """Objects by kind and name, and what keeps us from making any."""
        each = [
            f"select '{kind} ' || trim({name}), '{kind}' from {table} "  # noqa: S608 - our words
            f"where coalesce(rdb$system_flag, 0) = 0{f' and {which}' if which else ''}"
            for kind, (table, name, which) in OBJECTS.items()
        ]
        return [
            *(Inspection(name="", sql=sql) for sql in each),
            *columns("mon$database", "", "mon$read_only", "mon$sql_dialect"),
            Inspection(name="", sql=wire.QUESTION),
        ]

    def unusable(self, held: Mapping[str, str | None]) -> str | None:
        asked = self.engine.address.wire
        # That it must be encrypted, the client library sees to.
        if asked and asked.compression and held.get(wire.COMPRESSION.name) == "FALSE":
            return "the URL demands wireCompression=true, and the server does not compress"
        if held.get("mon$read_only") == "1":
            return "the database is read-only"
        if held.get("mon$sql_dialect") == "1":
            return "the database is of SQL dialect 1: name one of dialect 3"
        return None

    def unprepared(self, held: Mapping[str, str | None]) -> str | None:
        theirs = any(kind == "table" and name != MARK_TABLE for kind, name in _objects(held))
        return None if theirs else f"the database {NOTHING_THERE}"

    def refusal(self, held: Mapping[str, str | None]) -> str | None:
        there = _objects(held)
        marked = ("table", MARK_TABLE) in there
        if foreign := [(kind, name) for kind, name in there if not marked or kind not in OURS]:
            tables = [name for kind, name in foreign if kind == "table"]
            what = "tables" if tables else "objects"
            named = tables or [f"{kind} {name}" for kind, name in foreign]
            return f"the database holds other {what} ({others(','.join(named))}): name one that is empty"
        return None

    def clearing(self, held: Mapping[str, str | None], *, for_good: bool) -> list[str]:
        # The mark goes last and comes first: between the two everything in the database is ours.
        there = _objects(held)
        drop = [_drop(*one) for kind in OURS for one in there if one[0] == kind and one[1] != MARK_TABLE]
        marked = ("table", MARK_TABLE) in there
        if for_good:
            return [*drop, *([_drop("table", MARK_TABLE)] if marked else [])]
        return [*drop, *([] if marked else [f"create table {MARK_TABLE} (id integer)"])]

    def inspections(self) -> list[Inspection]:
        return [
            Inspection(name="engine_version", sql=VERSION),
            Inspection(name="ods", sql="select mon$ods_major || '.' || mon$ods_minor from mon$database"),
            *columns("mon$database", "", *(column for column, _ in OF_DATABASE.values())),
            *columns("mon$database", "", "mon$sweep_interval", "mon$reserve_space"),
            *columns(
                "mon$transactions",
                " where mon$transaction_id = current_transaction",
                *(column for column, _ in OF_TRANSACTIONS.values()),
            ),
            *columns(
                "mon$attachments",
                " where mon$attachment_id = current_connection",
                "mon$auth_method",
                "mon$client_version",
            ),
            Inspection(name="", sql=CONFIGURATION),
            Inspection(name="shown_mode", sql=SHOWN_MODE),
            Inspection(name="", sql=wire.QUESTION),
        ]

    def counters(self) -> Counters:
        return COUNTERS

    def figures(self) -> Figures:
        return figures_of_cache(shared=False)  # whether it is, only the server can tell

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        version = given.compare("engine_version", None, "").in_force or ""
        waits = self.session["lock_resolution"] == "wait"
        timeout = self.session.get("lock_timeout_s", "without limit") if waits else "no wait"
        asked = {**self.asked, "lock_timeout_s": timeout}
        at = self.engine.address.wire
        of_wire = {
            wire.CRYPT.name: {"Required": True, "Disabled": False}.get(at.crypt) if at else None,
            wire.COMPRESSION.name: True if at and at.compression else None,
        }
        return [
            *held_against(asked, OF_DATABASE, (), "MON$DATABASE", answers),
            *held_against(asked, OF_TRANSACTIONS, (), "MON$TRANSACTIONS", answers),
            *self._mode(given, version),
            *(_unanswered(setting, version) for setting in held_against(asked, OF_CONF, (), "RDB$CONFIG", answers)),
            *(
                given.compare(name, None, source, answer=answer, translate=translate)
                for name, (answer, translate, source) in RECORDED.items()
            ),
            *wire.in_force(of_wire, given),
        ]

    def _mode(self, given: Answers, version: str) -> list[SettingInForce]:
        """Super, SuperClassic or Classic: as the configuration tells it, else as sessions show it."""
        asked = None if (mode := self.asked.get("server_mode")) is None else str(mode)
        told = given.compare("server_mode", asked, "RDB$CONFIG", answer=CONF["server_mode"])
        if told.in_force is not None:
            return [told]
        shown = given.compare("server_mode", asked, "MON$ATTACHMENTS", answer="shown_mode")
        if shown.in_force == EITHER and asked in ("Classic", "SuperClassic"):
            return [shown.model_copy(update={"agrees": None})]
        return [_unanswered(shown, version)] if shown.in_force or asked else []


class FirebirdByUrl(ForeignServer):
    family = "firebird"
    levels = LEVELS
    specs = specs_of(VERSIONS[NEWEST]) | {spec.name: spec for spec in wire.SPECS}
    demandable = frozenset({*OF_DATABASE, *CONF, *OF_SESSIONS})
    instances = FirebirdByUrlInstance

    def client(self) -> Runtime:
        """The client library. Raises MachineLacks where acidtest has brought none."""
        for release in reversed(VERSIONS):
            embedded, server = install.home(f"firebird-{release}"), install.home(f"firebird-{release}-server")
            for home in (embedded, server / "client"):
                if (runtime := Runtime(home)).library.is_file():
                    return runtime
        raise MachineLacks(
            f"{self.id}: a Firebird server is reached by Firebird's client library, which is not here",
            f"acidtest engines install firebird-{NEWEST}",
        )

    def ready(self) -> None:
        lacking = self.client().missing_libraries()
        if lacking:
            libraries, packages = (" ".join(dict.fromkeys(column)) for column in zip(*lacking, strict=True))
            raise MachineLacks(
                f"{self.id}: Firebird's client library needs the system libraries {libraries}",
                f"install them: apt-get install {packages} (Debian)",
            )

    def refuse_contradictions(self, level: str, settings: Mapping[str, Scalar]) -> None:
        refuse_contradictions(self.id, level, settings)

    def demands(self, level: str) -> dict[str, Scalar]:
        return {"forced_writes": level == "drive"}


def _objects(held: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Kind and name of each object of the user's in the answers to ``holdings``."""
    return [(kind, name.removeprefix(f"{kind} ")) for name, kind in held.items() if kind in OBJECTS]


def _drop(kind: str, name: str) -> str:
    quoted = name.replace('"', '""')
    return f'drop {kind} "{quoted}"'


def _unanswered(setting: SettingInForce, version: str) -> SettingInForce:
    """With the reason where it was asked for and the server does not tell it."""
    if setting.in_force is not None or setting.asked is None:
        return setting
    old = version.startswith("3.")
    why = f"Firebird {version} cannot be asked for it" if old else "this user may not read it (RDB$CONFIG)"
    return setting.model_copy(update={"in_force": f"no answer: {why}"})
