"""What an instance of Firebird embedded and one of a Firebird server share: a root, and the settings read back.

Each instance has its own root (``FIREBIRD``): the installed runtime, its own ``firebird.conf``, ``databases.conf`` and
``firebird.log``, its own lock and sort directories, so that instances never meet, nor the machine's own Firebird.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from acidtest.engine.base import Ask, Forget, Instance, Launcher, filled
from acidtest.engine.compare import Answers, in_force, number_in_force, spoken
from acidtest.engine.firebird import inspection, log, services, witness
from acidtest.engine.firebird.engine import Firebird, FirebirdTarget
from acidtest.engine.firebird.instruments import COUNTERS, SHARED_CACHE, figures_of_cache
from acidtest.engine.firebird.runtime import LIBRARY
from acidtest.engine.firebird.statement_trace import FirebirdTrace
from acidtest.engine.firebird.versions import CONF, PARALLEL_WORKERS, conf_value, config_said, flag
from acidtest.engine.instruments import Counters, Figures, StatementTrace
from acidtest.engine.server import log_tail
from acidtest.errors import CellFailed
from acidtest.files import fsync_path, tag
from acidtest.formats import firebird_header, gstat
from acidtest.journal.models import DatabaseStatistics, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings

FILE = "database.fdb"
USER = "SYSDBA"
ISOLATION_MODES = {  # MON$TRANSACTIONS.MON$ISOLATION_MODE
    "0": "consistency",
    "1": "snapshot",
    "2": "read committed, record version",
    "3": "read committed, no record version",
    "4": "read committed, read consistency",
}

# Of MON$DATABASE, by our name: the column with the answer, and how it reads in our words.
OF_DATABASE: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "page_size": ("mon$page_size", str),
    "page_buffers": ("mon$page_buffers", str),
    "forced_writes": ("mon$forced_writes", flag),
}

# The engine's words for pages that are not what they must be; other words may have other causes.
DAMAGED = re.compile(
    "corrupt|wrong page type|wrong record length|bugcheck|consistency check|not a valid database|checksum"
)

VALIDATION_S = 300

# Where attachments are short. The states of transactions are in shared memory, which whoever attaches first fills with
# zeros: 4 MiB by default, which is most of the time that it takes.
QUICK_TO_OPEN = {"TipCacheBlockSize": "64K"}

EITHER = "Classic or SuperClassic"  # where nothing tells one from the other


class FirebirdInstance(Instance):
    def __init__(
        self, engine: Firebird, directory: Path, settings: Mapping[str, Scalar], durability: str | None
    ) -> None:
        self._engine = engine
        # Firebird 4 compares a plugin's path with its real path: no link may stand in it.
        self.directory = directory.resolve()
        self._root = self.directory / "root"
        self._log = self._root / "firebird.log"
        self._launcher: Launcher | None = None
        self._validator: services.Validator | None = None
        self._many_looks = False
        self._seen = witness.Seen()
        specs = filled(engine.setting_specs(), settings)
        self._settings = {**specs, **self._as_it_is(settings), "forced_writes": durability == "drive"}
        for part in ("lock", "temp"):
            (self._root / part).mkdir(parents=True)
        self._furnish()
        workers = PARALLEL_WORKERS if engine.version.has_parallel_workers else {}
        asked = {
            entry: conf_value(name, self._settings[name]) for name, entry in CONF.items() if name in self._settings
        }
        self._entries = {**workers, **asked, **self._own_conf()}
        self._write_conf(self._entries)
        (self._root / "databases.conf").write_text("", encoding="utf-8")

    def _as_it_is(self, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Where nobody has asked for a size of pages, a database that is there has its own."""
        if "page_size" in settings:
            return {}
        try:
            return {"page_size": firebird_header.read(self.directory / FILE).page_size}
        except (OSError, firebird_header.NotAHeader):
            return {}

    @abstractmethod
    def _furnish(self) -> None:
        """Put the runtime's files into the root."""

    def _own_conf(self) -> dict[str, str]:
        """Entries of firebird.conf that no experiment decides."""
        return {}

    def _write_conf(self, entries: Mapping[str, str]) -> None:
        text = "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        (self._root / "firebird.conf").write_text(text, encoding="utf-8")

    def create(self) -> None:
        self._admin("create the database", page_size=self._settings["page_size"])

    def configure(self) -> None:
        """Write the header properties and make sure that they are in the file, and the file on the drive."""
        forced, buffers = bool(self._settings["forced_writes"]), self._settings.get("page_buffers")
        self._admin("configure the database", forced_writes=forced, page_buffers=buffers)
        fsync_path(self.directory / FILE)

    def start(self, launcher: Launcher) -> None:
        self._launcher = launcher

    def _admin(self, do: str, **request: Any) -> None:
        """Have a process of its own ``do`` it with the engine embedded; see admin.py."""
        environment = {**os.environ, **self.environment(), **tag(self.directory)}
        ended = subprocess.run(
            services.ADMIN,
            input=json.dumps({"do": do, **self._named(), **request}).encode(),
            env=environment,
            capture_output=True,
            check=False,
            timeout=300,
        )
        try:
            services.check(ended.returncode, ended.stderr)
        except CellFailed as error:
            raise CellFailed(f"{self._engine.id}: could not {do}: {error.message}") from None

    def _named(self) -> dict[str, Any]:
        """What each request to admin.py names."""
        return {"library": str(self._root / LIBRARY), "user": USER, "database": str(self.directory / FILE)}

    def database_files(self) -> list[Path]:
        return [self.directory / FILE]

    def target(self) -> FirebirdTarget:
        settings = self._settings
        timeout = settings.get("lock_timeout_s")
        return FirebirdTarget.model_validate(
            {
                "library": str(self._root / LIBRARY),
                "database": str(self.directory / FILE),
                "user": USER,
                "remote": None,
                "isolation": settings["isolation"],
                "lock_resolution": settings["lock_resolution"],
                "lock_timeout_s": timeout if settings["lock_resolution"] == "wait" else None,
                "setup": [],
            }
        )

    def environment(self) -> dict[str, str]:
        return {
            "FIREBIRD": str(self._root),
            "FIREBIRD_LOCK": str(self._root / "lock"),
            "FIREBIRD_TMP": str(self._root / "temp"),
            "FIREBIRD_MSG": str(self._root),
            "LD_LIBRARY_PATH": str(self._root),
        }

    def inspections(self) -> list[Inspection]:
        questions = [
            *columns("mon$database", "", "mon$page_size", "mon$page_buffers", "mon$forced_writes", "mon$sql_dialect"),
            *columns("mon$database", "", "mon$ods_major", "mon$ods_minor", "mon$sweep_interval", "mon$reserve_space"),
            *columns(
                "mon$transactions",
                " where mon$transaction_id = current_transaction",
                "mon$isolation_mode",
                "mon$lock_timeout",
            ),
        ]
        if self._engine.version.has_config_table:
            questions.append(Inspection(name="", sql="select rdb$config_name, rdb$config_value from rdb$config"))
        else:
            # Firebird 3 has no other way to be asked for its mode.
            mode = f"select iif({SHARED_CACHE}, 'Super', {self._unshared_mode()}) from rdb$database"  # noqa: S608
            questions.append(Inspection(name="server_mode", sql=mode))
        return questions

    def counters(self) -> Counters:
        return COUNTERS

    def figures(self) -> Figures:
        return figures_of_cache(shared=self._settings.get("server_mode", "Super") == "Super")

    def statement_trace(self) -> StatementTrace:
        return FirebirdTrace(self.target(), FILE, {**self.environment(), **tag(self.directory)})

    def witness(self, processes: Sequence[int]) -> bool:
        if not self._engine.version.has_config_table:
            self._seen = self._seen.or_else(witness.look(self._root / "lock", self.directory / FILE, processes))
        return self._engine.version.has_config_table or self._seen.is_all

    @abstractmethod
    def _unshared_mode(self) -> str:
        """SQL that tells Classic from SuperClassic, where sessions do not share a cache; EITHER where nothing does."""

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        asked = {name: spoken(value) for name, value in self._settings.items()}
        settings = [
            *(
                given.compare(name, asked.get(name), "MON$DATABASE", answer=column, translate=translate)
                for name, (column, translate) in OF_DATABASE.items()
            ),
            self._header(),
            given.compare(
                "isolation",
                self._isolation(),
                "MON$TRANSACTIONS",
                answer="mon$isolation_mode",
                translate=lambda v: ISOLATION_MODES.get(v, v),
            ),
            given.compare(
                "lock_timeout_s",
                self._lock_timeout(),
                "MON$TRANSACTIONS",
                answer="mon$lock_timeout",
                translate=lock_timeout_said,
            ),
            given.compare("sweep_interval", None, "MON$DATABASE", answer="mon$sweep_interval"),
            given.compare("reserve_space", None, "MON$DATABASE", answer="mon$reserve_space", translate=flag),
        ]
        for name, entry in CONF.items():
            if name not in self._engine.setting_specs():
                continue
            if self._engine.version.has_config_table:
                translate = partial(config_said, name)
                settings.append(given.compare(name, asked.get(name), "RDB$CONFIG", answer=entry, translate=translate))
            elif (setting := self._unanswered(name, asked.get(name), settings, given)) is not None:
                settings.append(setting)
        return settings

    def _unanswered(
        self, name: str, asked: str | None, settings: Sequence[SettingInForce], given: Answers
    ) -> SettingInForce | None:
        """A setting of a version that cannot be asked for its configuration: by what else shows it, or not verifiable;
        None where nothing was asked for and nothing is known."""
        if name == "server_mode":
            mode = given.compare(name, asked, "MON$ATTACHMENTS")
            either = mode.in_force == EITHER and asked in ("Classic", "SuperClassic")
            return mode.model_copy(update={"agrees": None}) if either else mode
        if name == "deadlock_timeout_s" and (seconds := self._seen.deadlock_timeout_s) is not None:
            in_force = str(seconds)
            agrees = asked in (None, in_force)
            return SettingInForce(name=name, asked=asked, in_force=in_force, agrees=agrees, source="the lock table")
        if asked is None:
            return None
        pages = number_in_force(settings, "page_buffers")
        if name == "file_system_cache_threshold_pages" and self._seen.direct is not None and pages is not None:
            agrees = self._seen.direct is (pages >= int(asked))
            source = "how the database file is open"
            how = f"the database file is {'' if self._seen.direct else 'not '}open with O_DIRECT"
            in_force = asked if agrees else f"another: {how} at {pages} page buffers"
            return SettingInForce(name=name, asked=asked, in_force=in_force, agrees=agrees, source=source)
        nothing = f"nothing: Firebird {self._engine.version.release} cannot be asked"
        return SettingInForce(name=name, asked=asked, in_force=None, agrees=None, source=nothing)

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        """Super shares one cache; in the other modes each attachment has its own."""
        pages, page_bytes = (number_in_force(settings, name) for name in ("page_buffers", "page_size"))
        if pages is None or page_bytes is None:
            return None
        return pages * page_bytes * (1 if in_force(settings, "server_mode") == "Super" else sessions)

    def _header(self) -> SettingInForce:
        """The header page in the file itself: what the next attachment will be told."""
        asked = spoken(self._settings["forced_writes"])
        try:
            in_file = spoken(firebird_header.read(self.directory / FILE).forced_writes)
        except (OSError, firebird_header.NotAHeader) as error:
            in_file = f"unreadable: {error}"
        return SettingInForce(
            name="forced_writes_in_header", asked=asked, in_force=in_file, agrees=in_file == asked, source="header page"
        )

    def _isolation(self) -> str | None:
        if self._settings["isolation"] == "snapshot":
            return ISOLATION_MODES["1"]
        if not self._engine.version.has_config_table:
            return ISOLATION_MODES["2"]
        # ReadConsistency is on by default from Firebird 4, and then read committed means read consistency.
        return ISOLATION_MODES["4" if self._settings.get("read_consistency", True) else "2"]

    def _lock_timeout(self) -> str:
        if self._settings["lock_resolution"] == "no_wait":
            return "no wait"
        return spoken(self._settings.get("lock_timeout_s", "without limit"))

    def seal(self) -> None:
        fsync_path(self.directory / FILE)
        fsync_path(self.directory)

    def log(self) -> str:
        return log_tail(self._log)

    def log_file(self) -> Path | None:
        return self._log

    def _validate(self) -> str:
        """See library_client.py; "" when the engine found nothing."""
        if self._validator is None:
            library = self._root / LIBRARY
            environment = {**self.environment(), **tag(self.directory)}
            self._validator = services.Validator(library, self.directory / FILE, USER, environment)
        try:
            return self._validator.validate(VALIDATION_S)
        finally:
            if not self._many_looks:
                self._end_validator()

    def _end_validator(self) -> None:
        if self._validator is not None:
            self._validator.end()
            self._validator = None

    def expect_looks(self, *, many: bool) -> None:
        self._many_looks = many
        self._end_validator()
        quick = QUICK_TO_OPEN if many and self._engine.version.has_config_table else {}
        self._write_conf({**self._entries, **quick})

    def scratch(self) -> list[Path]:
        return [self._root / "lock"]

    def lose_power(self) -> None:
        for file in (self._root / "lock").iterdir():
            file.unlink()

    def integrity(self, ask: Ask) -> Integrity:
        check = "gfix -validate -full"
        path = self._log
        before = path.stat().st_size if path.exists() else 0
        refused = self._validate()  # also when it ended and found something
        with path.open("rb") if path.exists() else io.BytesIO() as file:
            file.seek(before)
            database = (self.directory / FILE).resolve()
            validation = log.validation(check, file.read().decode(errors="replace"), database)
        if not refused or validation.holds != "unknown":
            return validation
        return Integrity(holds="broken" if DAMAGED.search(refused) else "unknown", check=check, said=refused)

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """gstat, which reads each data page and each leaf page of an index past the engine's own cache."""
        began = time.monotonic()
        cold_s = self._gstat(forget)[0] if forget else None
        warm_s, output = self._gstat()
        try:
            figures = inspection.of_gstat(output, f"gstat -a -r ({self._engine.facts().version})")
        except KeyError as missing:
            raise CellFailed(f"{self._engine.id}: gstat does not say {missing}: no statistics") from None
        return figures.model_copy(
            update={
                "bytes": (self.directory / FILE).stat().st_size,
                "took_s": time.monotonic() - began,
                "read_s_cold": cold_s,
                "read_s_warm": warm_s if forget else None,
            }
        )

    def _gstat(self, forget: Forget | None = None) -> tuple[float, gstat.Output]:
        """How long it took, and what it printed. Where the engine runs, so that a limit of memory holds for it too."""
        if self._launcher is None:
            raise CellFailed(f"{self._engine.id}: could not take its statistics: the engine was never started")
        if forget:
            forget()
        do = services.TAKE_STATISTICS
        try:
            seconds, output = services.take_statistics(self._launcher, self.environment(), self._named())
        except CellFailed as error:
            raise CellFailed(f"{self._engine.id}: could not {do}: {error.message}") from None
        if output.damaged:
            raise CellFailed(f"{self._engine.id}: could not {do}: gstat says: {output.damaged}")
        return seconds, output

    def log_findings(self) -> list[str]:
        return log.findings(self._log)

    def release(self) -> None:
        self._end_validator()


def columns(table: str, where: str, *names: str) -> list[Inspection]:
    """Each column of a table's one row ``where``."""
    return [Inspection(name=name, sql=f"select {name} from {table}{where}") for name in names]  # noqa: S608 - our words


def lock_timeout_said(value: str) -> str:
    """MON$LOCK_TIMEOUT in the words of the setting."""
    return {"-1": "without limit", "0": "no wait"}.get(value, value)
