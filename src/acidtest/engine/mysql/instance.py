"""One private server: its configuration, its system tables, its user, and the settings in force."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from acidtest.engine import tls
from acidtest.engine.base import Ask, Forget, Launcher, filled
from acidtest.engine.compare import Answers, number_in_force, spoken
from acidtest.engine.inspection import clearly, timed_reads
from acidtest.engine.instruments import Figures
from acidtest.engine.mysql import figures, inspection
from acidtest.engine.mysql.durability import AT_COMMIT, sync_binlog_of
from acidtest.engine.mysql.origins import Installation
from acidtest.engine.mysql.versions import (
    ISOLATION_VARIABLES,
    NO_TLS,
    QUESTIONS,
    RECORDED,
    SETTINGS,
    TLS_SOURCE,
    TLS_STATUS,
    Version,
    encrypts,
    isolation_said,
    log_size,
    specs_of,
)
from acidtest.engine.server import (
    LOOPBACK,
    Ended,
    ServedInstance,
    Server,
    SocketDirectory,
    empty_directory,
    log_tail,
    password,
    port_for,
)
from acidtest.errors import CellFailed
from acidtest.files import sync_filesystem, tag
from acidtest.formats import innodb
from acidtest.journal.models import DatabaseStatistics, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, Target, Tls

DATABASE = USER = "acidtest"
SOCKET = "mysql.sock"
BINLOG = "binlog"
LOAD_POOL_MB = 1024  # or a quarter of the memory
BOOTSTRAP_S = 300
# Of --wsrep-recover: the cluster's UUID and the number of the last write set.
POSITION = re.compile(r"WSREP: Recovered position:? *([0-9a-f-]{36}:-?\d+)")
# A line of the log that a reader should see. MySQL 5.5's InnoDB has no [Warning] before its words.
SPEAKS = re.compile(
    r"\[(ERROR|Warning)\]|InnoDB: (Error|Warning|Fatal|Unable|Cannot|Unrecognized|Assertion|Operating system error)"
    r"|got signal|Assertion failure"
)
ROUTINE = re.compile(
    # The limit of open files is the machine's; what follows from it is among the settings.
    r"Could not increase number of max_open_files|Changed limits: |option '(table_open_cache|max_connections)'"
    # Our own look at whether it answers.
    r"|unauthenticated|This connection closed normally"
    # What this configuration means to do: its SQL mode, accounts by socket and address only, no keys and no TLS, or a
    # certificate whose CA only the sessions are told.
    r"|sql modes? (should be used with strict mode|was not set)|ignored in --skip-name-resolve mode"
    r"|RSA (private|public) key file not found|Failed to initialize TLS for channel"
    r"|SSL context is not usable without certificate and private key|Server certificate \S+ verification has failed"
    r"|Failed to validate certificate \S+ because unable to get local issuer"
    # A sealed database has no log, and an account of ours with another password.
    r"|New log files created|Following users were specified in CREATE USER IF NOT EXISTS but they already exist"
    # Of a database below /tmp.
    r"|Insecure configuration for --pid-file"
)


class MysqlTarget(Target):
    """Where the rig opens its sessions; the twin of the rig's own."""

    engine: Literal["mysql"] = "mysql"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]
    tls: Tls | None
    socket: str | None = None  # beside ``host``: where the server takes the password itself, if it asks for that


class MysqlInstance(ServedInstance):
    """``durability`` is None for a load: nothing is flushed at a commit, since a load that fails is thrown away."""

    _sockets: SocketDirectory

    def __init__(
        self,
        engine_id: str,
        version: Version,
        installation: Installation,
        directory: Path,
        settings: Mapping[str, Scalar],
        durability: str | None,
    ) -> None:
        self.directory = directory.absolute()
        self._id = engine_id
        self._version = version
        self._files = installation
        asked = {"connection": "tcp", **settings} if "port" in settings else settings
        self._settings = filled(specs_of(version), asked)
        if durability is None:
            self._settings.pop("tls", None)
            self._settings |= {"log_bin": False, "innodb_flush_log_at_trx_commit": 0, "innodb_doublewrite": False}
            self._settings |= {log_size(version): version.load_log_file_mb, "innodb_buffer_pool_mb": _load_pool_mb()}
        else:
            self._settings["innodb_flush_log_at_trx_commit"] = AT_COMMIT[durability]
            if self._settings["log_bin"]:
                self._settings.setdefault("sync_binlog", sync_binlog_of(durability))
        if not self._settings["log_bin"]:
            self._settings.pop("sync_binlog", None)
        self.data = self.directory / "data"
        self._temporary = self.directory / "tmp"
        self._configuration = self.directory / "my.cnf"
        self._server = Server(engine_id, self.directory / "server.log", _cause)
        self._sockets = SocketDirectory(self.directory, SOCKET)
        self._port = 0
        self._address = LOOPBACK
        self._password = password()
        self._tls: tls.Files | None = None  # since the start
        self._part: list[str] = []  # lines of the part that it plays among several servers
        self._listens: tuple[str, int] | None = None  # at this address beside its socket
        self._programs: Path | None = None
        self._carried_out: list[str] = []
        self._first: list[str] = []

    @property
    def account(self) -> str:
        """Of the load."""
        # One account for socket and TCP, where the server must know over TCP what it saw on its socket.
        anywhere = self._version.remembers or self._address != LOOPBACK
        host = "%" if anywhere else LOOPBACK if self._port else "localhost"
        return f"'{USER}'@'{host}'"

    def play(
        self, lines: Sequence[str], *, listens: tuple[str, int] | None = None, programs: Path | None = None
    ) -> None:
        """From the next start on its configuration has these lines too, it listens there beside its socket, and finds
        what it calls in the folder ``programs`` first."""
        self._part, self._listens, self._programs = list(lines), listens, programs

    def introduce(self, statements: Sequence[str], *, first: Sequence[str] = ()) -> None:
        """At each start these statements are carried out by nobody's account, which may do all; not into the binary
        log. ``first``: before our database and its user are made."""
        self._carried_out, self._first = list(statements), list(first)

    @property
    def files(self) -> Installation:
        return self._files

    def recovered_position(self, launcher: Launcher) -> str:
        """Where this node of a Galera cluster stopped, ``UUID:seqno``, as its own storage engine recovers it.

        Raises Ended where it does not recover, CellFailed where it does not end.
        """
        self._launcher = launcher
        self._sockets.make(launcher)
        self._write_configuration()
        said = self.directory / "position.log"
        with said.open("wb") as output:
            id, process = launcher.start_process(  # noqa: A001
                [*self._files.command, f"--defaults-file={self._configuration}", "--wsrep-recover"],
                environment=self.environment(),
                stderr=output,
                stdout=output,
            )
        try:
            process.wait(timeout=BOOTSTRAP_S)
        except subprocess.TimeoutExpired:
            raise CellFailed(f"{self._id}: --wsrep-recover did not end within {BOOTSTRAP_S} s") from None
        finally:
            launcher.end_process(id, process)
        text = said.read_text(encoding="utf-8", errors="replace")
        if (match := POSITION.search(text)) is None:
            raise Ended(f"{self._id}: --wsrep-recover told no position: {_cause(text) or text[-200:].strip()}")
        return match[1]

    def create(self) -> None:
        """Make the data directory with its system tables and no account at all."""
        empty_directory(self._id, self.data)
        self.configure()
        if self._version.initializes:
            introduction = self.directory / "user.sql"
            introduction.write_text(
                "delete from mysql.user where user = 'root';\ndelete from mysql.proxies_priv;\n", encoding="utf-8"
            )
            self._bootstrap("", "--initialize-insecure", f"--init-file={introduction}")
            introduction.unlink()
        elif self._version.scripts:
            scripts = [
                ((self._files.scripts or self._files.share) / name).read_text(encoding="utf-8", errors="replace")
                for name in self._version.scripts
            ]
            self._bootstrap("\n".join(["create database mysql;", "use mysql;", *scripts]), "--bootstrap")
        else:
            shutil.copytree(self._files.seed, self.data, dirs_exist_ok=True)
            # One statement a line, as a bootstrapping MySQL 5.5 reads them.
            self._bootstrap("delete from mysql.user;\ndelete from mysql.db;\n", "--bootstrap")

    def configure(self) -> None:
        """Write ``my.cnf`` for the settings and the durability."""
        if not self.data.is_dir():
            raise CellFailed(f"{self._id}: {self.data} is missing: there is no database to start from")
        self._write_configuration()

    def _write_configuration(self) -> None:
        self._temporary.mkdir(exist_ok=True)
        self._configuration.write_text("\n".join(["[mysqld]", *self._lines()]) + "\n", encoding="utf-8")

    def _lines(self) -> list[str]:
        files = self._files
        listens = self._listens or ((self._address, self._port) if self._port else None)
        lines = [
            f"basedir = {files.base}",
            f"lc_messages_dir = {files.share}",
            f"character_sets_dir = {files.charsets or files.share / 'charsets'}",
            f"datadir = {self.data}",
            f"tmpdir = {self._temporary}",
            f"pid_file = {self.directory / 'server.pid'}",
            f"socket = {self._sockets.path / SOCKET}",
            "skip_name_resolve",
            *(["user = root"] if os.geteuid() == 0 else []),
            *([f"bind_address = {listens[0]}", f"port = {listens[1]}"] if listens else ["skip_networking"]),
            f"max_connections = {_connections()}",
            "max_prepared_stmt_count = 1048576",
            "max_allowed_packet = 64M",
            "local_infile = 1",
            "default_storage_engine = InnoDB",
            "innodb_file_per_table = 1",
            "character_set_server = utf8mb4",
            "collation_server = utf8mb4_bin",
            "sql_mode = STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
            "log_bin_trust_function_creators = 1",
            "innodb_fast_shutdown = 0",
            *(line for line in self._version.options if self._tls is None or line != NO_TLS),
        ]
        if self._tls is not None:
            lines += [f"ssl_cert = {self._tls.certificate}", f"ssl_key = {self._tls.key}"]
        for name, variable in SETTINGS.items():
            if name == "log_bin":
                lines += self._binary_log_lines()
            elif name in self._settings:
                lines.append(variable.line(self._settings[name]))
        return lines + self._part

    def _binary_log_lines(self) -> list[str]:
        if not self._settings["log_bin"]:
            return ["skip_log_bin"] if self._version.has_binary_log else []
        # By statement, InnoDB would refuse to write at read committed.
        by_row = [] if self._version.initializes else ["binlog_format = ROW"]  # as they have it of themselves
        return [f"log_bin = {BINLOG}", *by_row]

    def _bootstrap(self, sql: str, *options: str) -> None:
        """Run the server without a socket over ``sql`` and wait until it has shut down."""
        try:
            ended = subprocess.run(
                [*self._files.command, f"--defaults-file={self._configuration}", *options],
                input=sql,
                env={**self.environment(), **tag(self.directory)},
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=BOOTSTRAP_S,
            )
        except subprocess.TimeoutExpired:
            raise CellFailed(f"{self._id}: could not set up {self.data} within {BOOTSTRAP_S} s") from None
        if ended.returncode != 0:
            cause = _cause(ended.stderr) or f"{self._files.program.name} ended with code {ended.returncode}"
            raise CellFailed(f"{self._id}: could not set up {self.data}: {cause}")

    def database_files(self) -> list[Path]:
        return [self.data]

    def data_files(self) -> list[Path]:
        return [self.data / DATABASE]

    def log_files(self) -> list[Path]:
        """The redo log: files of old versions and of MariaDB, a directory of new ones. Its size is fixed."""
        return [*sorted(self.data.glob("ib_logfile*")), *self.data.glob("#innodb_redo")]

    def listen_at(self, address: str) -> None:
        self._address = address

    def start(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._sockets.make(launcher)
        if self._settings["connection"] == "tcp":
            self._port = port_for(self._id, self._settings.get("port"))
        if self._settings.get("tls"):
            self._tls = tls.make(self.directory, self._address)
        self._write_configuration()
        introduction = self.directory / "user.sql"
        introduction.touch(mode=0o600)
        introduction.write_text(self._introduction(), encoding="utf-8")
        try:
            self._server.start(
                launcher,
                [
                    *self._files.command,
                    f"--defaults-file={self._configuration}",
                    f"--init-file={introduction}",
                ],
                environment=self.environment(),
                ready=self._answers,
            )
        finally:
            introduction.unlink()

    def _introduction(self) -> str:
        """Our database and its user, who may change nothing else; not into the binary log."""
        user = self.account
        identified = f"identified by '{self._password}'"
        if self._version.initializes:
            made = [f"create user if not exists {user} {identified}", f"alter user {user} {identified}"]
            granted = f"grant all privileges on {DATABASE}.* to {user}"
        else:
            made, granted = [], f"grant all privileges on {DATABASE}.* to {user} {identified}"
        statements = [
            *self._first,
            "set session sql_log_bin = 0",
            f"create database if not exists {DATABASE}",
            *made,
            granted,
            f"grant process on *.* to {user}",  # what it takes to see InnoDB's own tables
            *self._carried_out,
        ]
        return "".join(f"{statement};\n" for statement in statements)

    def _answers(self) -> bool:
        """Whether it greets: a packet of protocol version 10, not of an error."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            try:
                client.connect(str(self._sockets.path / SOCKET))
                return client.recv(5)[4:] == b"\x0a"
            except OSError:
                return False

    def target(self) -> MysqlTarget:
        return MysqlTarget(
            host=self._address if self._port else str(self._sockets.path / SOCKET),
            port=self._port,
            user=USER,
            password=self._password,
            database=DATABASE,
            setup=[f"set session transaction isolation level {str(self._settings['isolation']).replace('_', ' ')}"],
            tls=self._tls.trusting if self._tls else None,
            socket=str(self._sockets.path / SOCKET) if self._port and self._version.remembers else None,
        )

    def target_elsewhere(self) -> MysqlTarget:
        return self.target().model_copy(update={"socket": None})

    def environment(self) -> dict[str, str]:
        path = os.environ.get("PATH", os.defpath)
        environment = {"PATH": f"{self._programs}{os.pathsep}{path}" if self._programs else path}
        return environment | ({"LD_LIBRARY_PATH": str(self._files.libs)} if self._files.libs else {})

    def figures(self) -> Figures:
        return figures.of_engine(self._version.id)

    def inspections(self) -> list[Inspection]:
        return [Inspection(name="", sql=sql) for sql in QUESTIONS]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        lacks = self._version.lacks
        settings = []
        for name, variable in SETTINGS.items():
            if name in lacks:
                continue
            asked = spoken(self._settings[name]) if name in self._settings else None
            settings.append(
                given.compare(name, asked, f"@@{variable.name}", answer=variable.name, translate=variable.said)
            )
        (isolation,) = (name for name in ISOLATION_VARIABLES if name not in lacks)
        asked = spoken(self._settings["isolation"])
        settings.append(
            given.compare("isolation", asked, f"@@session.{isolation}", answer=isolation, translate=isolation_said)
        )
        connection = spoken(self._settings["connection"])
        settings.append(
            given.compare(
                "connection",
                connection,
                "@@skip_networking",
                answer="skip_networking",
                # One that listens for its replica alone is reached by its socket.
                translate=lambda v: {"ON": "socket", "OFF": "socket" if self._listens else "tcp"}.get(v, v),
            )
        )
        if connection == "tcp":
            settings.append(given.compare("port", str(self._port), "@@port"))
        asked = None if "tls" in lacks else spoken(self._settings.get("tls", False))
        seen = [given.compare("tls", asked, TLS_SOURCE, answer="Ssl_cipher", translate=encrypts)]
        seen += [given.compare(name, None, TLS_SOURCE, answer=status) for status, name in TLS_STATUS.items()]
        settings += tls.in_force(self._tls.trusting if self._tls else None, seen)
        settings += [given.compare(name, None, f"@@{name}") for name in RECORDED if name not in lacks]
        return settings

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        pool_mb = number_in_force(settings, "innodb_buffer_pool_mb")
        return pool_mb << 20 if pool_mb is not None else None

    def seal(self) -> None:
        self._server.stop()
        if self._version.makes_missing_log:
            for log in (*self.data.glob("ib_logfile*"), *self.data.glob("#innodb_redo/#ib_redo*")):
                log.unlink()
        else:
            # Small, so that a copy is quick: each cell gets a log of the size that it asks for when it starts.
            self._bootstrap("", "--bootstrap", f"--innodb-log-file-size={self._version.log_file_mb[0]}M")
        sync_filesystem(self.data)

    def stop(self) -> None:
        self._server.stop()

    def log(self) -> str:
        return "\n".join(worth_reading(log_tail(self._server.log)))

    def integrity(self, ask: Ask) -> Integrity:
        check = "CHECK TABLE EXTENDED"
        try:
            names = [
                row[0]
                for row in ask(
                    "select table_name from information_schema.tables "
                    "where table_schema = database() and table_type = 'BASE TABLE' order by table_name"
                )
            ]
            if not names:
                return Integrity(holds="unknown", check=check, said="there is no table")
            answers = ask(f"check table {', '.join(f'`{name}`' for name in names)} extended")
        except CellFailed as error:
            return Integrity(holds="unknown", check=check, said=error.message)
        # Table, "check", kind of message, message: the last of each table is its status.
        fine = sum(row[2:4] == ["status", "OK"] for row in answers)
        wrong = [": ".join(filter(None, (row[0], row[3]))) for row in answers if row[2:4] != ["status", "OK"]]
        holds = fine == len(names) and not wrong
        return Integrity(holds="holds" if holds else "broken", check=check, said=" / ".join(wrong[:3]))

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """What the server says of its tables, and the pages of their files after it has shut down and purged."""
        began = time.monotonic()
        ask = clearly(self._id, ask, self.died)
        tables = inspection.tables(ask)
        reads = timed_reads(partial(inspection.count, ask, tables), forget)
        answers = inspection.answers_of(ask, tables, reads.answer)
        self._server.stop()
        page_bytes = int(str(self._settings.get("innodb_page_size", 16384)))
        try:
            files = {
                table.name: innodb.read(self.data / DATABASE / f"{table.name}.ibd", page_bytes) for table in tables
            }
        except (OSError, innodb.Damaged) as error:
            raise CellFailed(f"{self._id}: could not take its statistics: {error}") from None
        return reads.time(inspection.of_innodb(answers, files, page_bytes), began)


def worth_reading(log: str) -> list[str]:
    return [line.strip() for line in log.splitlines() if SPEAKS.search(line) and not ROUTINE.search(line)]


def _cause(log: str) -> str:
    """Why a start failed. The first errors name it; the last say what followed."""
    return " / ".join(line for line in worth_reading(log)[:2] if not line.endswith("Aborting"))


def _load_pool_mb() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(LOAD_POOL_MB, memory // 4 >> 20)


def _connections() -> int:
    """As many as terminals may be, as far as the limit of open files bears it and leaves some for tables."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 10_100 if limit == resource.RLIM_INFINITY else max(100, min(10_100, limit // 3))
