"""One private server: its data directory, its configuration, and the settings in force.

The database is made without a server: ``initdb``, then PostgreSQL's own single-user mode for the role and the database
that the load uses, so that nobody ever logs in as superuser. What we set stands in ``postgresql.auto.conf``, which
PostgreSQL reads last; what belongs to one running instance (socket, port) on the command line.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from acidtest.engine import tls
from acidtest.engine.base import Ask, Forget, Launcher, filled
from acidtest.engine.compare import Answers, number_in_force, spoken
from acidtest.engine.foreign import held_against
from acidtest.engine.inspection import clearly, timed_reads
from acidtest.engine.instruments import Figures
from acidtest.engine.postgres import figures, inspection
from acidtest.engine.postgres.durability import LEVELS
from acidtest.engine.postgres.log import LINE_PREFIX, LOGGED, worth_reading
from acidtest.engine.postgres.versions import (
    PARAMETERS,
    QUESTIONS,
    RECORDED,
    Version,
    parameter,
    specs_of,
    variables,
)
from acidtest.engine.server import (
    LOG_BYTES,
    LOOPBACK,
    START_S,
    ServedInstance,
    Server,
    SocketDirectory,
    as_ordinary_user,
    empty_directory,
    password,
    port_for,
)
from acidtest.errors import CellFailed
from acidtest.files import fsync_path, kernel_text, sync_filesystem, tag
from acidtest.journal.models import DatabaseStatistics, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, Target, Tls

NAME = "acidtest"  # of the role and of its database
PASSWORD_FILE = "acidtest.password"  # noqa: S105 - a file's name; it lies in the data directory and is copied with it
ORPHANS_S = 60.0
SOCKET_PORT = 5432  # part of the socket's name; each instance has a directory of its own
FINDINGS_MAX = 5

# What pg_amcheck asks: every B-tree against its table, and every table. One line each, as single-user mode reads them;
# see https://www.postgresql.org/docs/current/amcheck.html.
CHECK_INDEXES = (
    "do $$ declare i oid; begin for i in select x.indexrelid from pg_index x join pg_class c on c.oid = x.indexrelid "
    "join pg_am a on a.oid = c.relam where a.amname = 'btree' and c.relpersistence <> 't' and x.indisready "
    "and x.indisvalid loop perform bt_index_check(i, true); end loop; end $$"
)
CHECK_HEAPS = (
    "do $$ declare t regclass; f record; begin for t in select oid from pg_class where relkind in ('r', 't', 'm') "
    "and relpersistence <> 't' loop for f in select * from verify_heapam(t) loop "
    "raise data_corrupted using message = format('%s, block %s: %s', t, f.blkno, f.msg); end loop; end loop; end $$"
)
FOUND_BROKEN = re.compile(r"\b(XX001|XX002)\b|could not read block|invalid page in block")

# Faster than any durability level, over a database that is thrown away when the machine crashes. wal_recycle: log
# segments are not kept for later, so that each copy of the template need not carry them.
LOADING = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "8GB",
    "wal_recycle": "off",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
    "jit": "off",
}


class PostgresTarget(Target):
    """Where the rig opens its sessions; the twin of the rig's own."""

    engine: Literal["postgres"] = "postgres"
    host: str
    port: int
    user: str
    password: str | None
    database: str
    setup: list[str]
    pipeline: bool
    tls: Tls | None


class PostgresInstance(ServedInstance):
    """``programs`` is the directory of ``postgres`` and ``initdb``."""

    _sockets: SocketDirectory

    def __init__(
        self,
        engine_id: str,
        version: Version,
        programs: Path,
        directory: Path,
        settings: Mapping[str, Scalar],
        durability: str | None,
        *,
        libraries: Path | None = None,
    ) -> None:
        self._id = engine_id
        self._environment = environment(libraries)
        self._version = version
        self._programs = programs
        self._specs = specs_of(version)
        self.directory = directory.absolute()
        self.data = self.directory / "data"
        flushed, commit = LEVELS[durability] if durability else (False, "off")
        self._settings = filled(self._specs, {"fsync": flushed, **settings, "synchronous_commit": commit})
        if durability is None:
            self._settings["tls"] = False
        self._tls: tls.Files | None = None  # since the start
        self._server = Server(engine_id, self.directory / "postgresql.log")
        self._sockets = SocketDirectory(self.directory, ".s.PGSQL.65535")
        self._port = SOCKET_PORT
        self._address = LOOPBACK
        self._shared: set[Path] = set()
        self._memory: str | None = None  # System V shared memory, by its number
        self._part: dict[str, str] = {}  # parameters of the part that it plays among several servers
        self._listens = ""  # at this address beside its socket

    def play(self, parameters: Mapping[str, str], *, commit: str, listens: str = "") -> None:
        """From the next ``configure`` and ``start`` on it has these parameters too, and this synchronous_commit, and
        listens at this address beside its socket."""
        self._part, self._listens = dict(parameters), listens
        self._settings["synchronous_commit"] = commit

    def carry_out(self, statement: str) -> None:
        """A statement of the superuser's, while the server does not run. Raises CellFailed."""
        self._alone("postgres", statement)

    def let_in(self, line: str) -> None:
        """Add a line to ``pg_hba.conf``."""
        with (self.data / "pg_hba.conf").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def promote(self) -> None:
        """Make a server of its own of a standby that runs, and wait for it; see pg_ctl(1). Raises CellFailed."""
        ended = self._ran("pg_ctl", "promote", "-w", "-t", str(int(START_S)), "-D", str(self.data), stdin="")
        if ended.returncode != 0:
            text = " / ".join((ended.stderr or ended.stdout).split("\n")).strip(" /")
            raise CellFailed(f"{self._id}: the standby could not be promoted: {text or ended.returncode}")

    def create(self) -> None:
        empty_directory(self._id, self.data)
        checksums = self._settings.get("data_checksums")
        self._run(
            "initdb", "--no-sync", "--username=postgres", "--auth=scram-sha-256", "--pwfile=/dev/stdin",
            "--locale=C", "--encoding=UTF8",
            *(["--data-checksums"] if checksums else []),
            # Off is the default, and there is no option for it, before 18.
            *(["--no-data-checksums"] if checksums is False and self._version.major >= 18 else []),
            "-D", str(self.data), stdin=password(),
        )  # fmt: skip
        (self.data / "pg_hba.conf").write_text(
            f"local {NAME} {NAME} scram-sha-256\nhost {NAME} {NAME} 127.0.0.1/32 scram-sha-256\n", encoding="utf-8"
        )
        self._write(LOADING)
        secret = self.data / PASSWORD_FILE
        secret.touch(mode=0o600)
        secret.write_text(password(), encoding="utf-8")
        role = f"create role {NAME} login password '{secret.read_text(encoding='utf-8')}'"
        # What the server's own processes do is not told to everybody; see figures.py.
        self._alone("postgres", role, f"grant pg_read_all_stats to {NAME}", f"create database {NAME} owner {NAME}")

    def configure(self) -> None:
        """Write the settings and make sure that they are on the drive."""
        named = {entry: name for name, entry in PARAMETERS.items() if name in self._settings}
        parameters = {entry: parameter(name, self._settings[name]) for entry, name in named.items()}
        if self._settings.get("wal_level") == "minimal":
            parameters["max_wal_senders"] = "0"
        self._write(parameters | self._part)
        fsync_path(self.data / "postgresql.auto.conf")
        fsync_path(self.data)

    def _write(self, parameters: Mapping[str, str]) -> None:
        # When one process crashes the server would end all others, start them anew and go on: it is to end instead.
        lines = {**parameters, "restart_after_crash": "off", "log_line_prefix": LINE_PREFIX, **LOGGED}
        (self.data / "postgresql.auto.conf").write_text(
            "".join(f"{name} = '{value}'\n" for name, value in lines.items()), encoding="utf-8"
        )

    def _alone(self, database: str, *statements: str) -> None:
        """Carry out statements in single-user mode, which nobody else can enter; see postgres(1)."""
        self._run("postgres", *self._single(database), stdin="\n".join(statements) + "\n")

    def _single(self, database: str) -> list[str]:
        return ["--single", "-D", str(self.data), "-c", "exit_on_error=on", "-c", "log_checkpoints=off", database]

    def _ran(self, program: str, *arguments: str, stdin: str) -> subprocess.CompletedProcess[str]:
        command = as_ordinary_user([str(self._programs / program), *arguments])
        return subprocess.run(
            command,
            input=stdin,
            env={**self._environment, **tag(self.directory)},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )

    def _run(self, program: str, *arguments: str, stdin: str = "") -> None:
        ended = self._ran(program, *arguments, stdin=stdin)
        if ended.returncode != 0:
            raise CellFailed(f"{self._id}: {program} could not make the database: {_why(ended)}")

    def listen_at(self, address: str) -> None:
        self._address = address
        self.let_in(f"host {NAME} {NAME} all scram-sha-256")

    def start(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._server.kill()  # strikes off one that died
        tcp = self._settings["connection"] == "tcp"
        port = self._settings.get("port")
        if tcp:
            self._port = port_for(self._id, port)
        else:
            self._port = int(str(port or SOCKET_PORT))
            self._sockets.make(launcher)
        self._wait_for_orphans(_memory_of(self._pid_file()))
        sockets = str(self._sockets.path).replace('"', '""')
        options = {
            "port": self._port,
            "listen_addresses": self._address if tcp else self._listens,
            "unix_socket_directories": "" if tcp else f'"{sockets}"',
        }
        if self._settings["tls"]:
            self._tls = tls.make(self.directory, self._address)
            options |= {"ssl": "on", "ssl_cert_file": self._tls.certificate, "ssl_key_file": self._tls.key}
        command = [str(self._programs / "postgres"), "-D", str(self.data)]
        command += [f"--{name}={value}" for name, value in options.items()]
        self._server.start(launcher, as_ordinary_user(command), environment=self._environment, ready=self._answers)
        self._shared = _shared_memory(self._server.pid)
        self._memory = _memory_of(self._pid_file())

    def _answers(self) -> bool:
        """Whether the server says in its ``postmaster.pid`` that it takes connections; pg_ctl(1) waits for the same."""
        lines = self._pid_file()
        takes = len(lines) > 7 and lines[7].strip() in ("ready", "standby")  # a standby's sessions may only read
        return takes and lines[0] == str(self._server.pid)

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _wait_for_orphans(self, memory: str | None) -> None:
        """Wait until the processes of a server that was killed are gone: while they live, none can be started anew.

        They are attached to the ``memory`` that it named in ``postmaster.pid``; see proc_sysvipc(5).
        """
        end = time.monotonic() + ORPHANS_S
        while memory and time.monotonic() < end:
            rows = (row.split() for row in kernel_text(Path("/proc/sysvipc/shm")).splitlines()[1:])
            if not any(row[1] == memory and row[6] != "0" for row in rows):
                return
            time.sleep(0.02)

    def database_files(self) -> list[Path]:
        return [self.data]

    def data_files(self) -> list[Path]:
        # A directory for each database, by its number; ours was made last.
        return [max((self.data / "base").glob("[0-9]*"), key=lambda path: int(path.name))]

    def log_files(self) -> list[Path]:
        return [self.data / "pg_wal"]

    def log_limit_bytes(self, settings: Sequence[SettingInForce]) -> int | None:
        megabytes = number_in_force(settings, "max_wal_size_mb")
        return megabytes << 20 if megabytes is not None else None

    def target(self) -> PostgresTarget:
        isolation = str(self._settings["isolation"]).replace("_", " ")
        return PostgresTarget(
            host=self._address if self._settings["connection"] == "tcp" else str(self._sockets.path),
            port=self._port,
            user=NAME,
            password=(self.data / PASSWORD_FILE).read_text(encoding="utf-8"),
            database=NAME,
            setup=[f"set default_transaction_isolation = '{isolation}'"],
            pipeline=bool(self._settings["pipeline"]),
            tls=self._tls.trusting if self._tls else None,
        )

    def environment(self) -> dict[str, str]:
        return {}

    def inspections(self) -> list[Inspection]:
        connection = "select case when inet_client_addr() is null then 'socket' else 'tcp' end"
        return [
            *(Inspection(name="", sql=sql) for sql in QUESTIONS),
            Inspection(name="connection", sql=connection),
        ]

    def figures(self) -> Figures:
        return figures.of_version(self._version.major)

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        asked = {name: spoken(value) for name, value in self._settings.items()}
        settings = held_against(self._settings, variables(self._specs), (), "pg_settings", answers)
        settings.append(given.compare("connection", asked["connection"], "inet_client_addr()"))
        # What the rig was told is what it does.
        pipeline = asked["pipeline"]
        settings.append(
            SettingInForce(name="pipeline", asked=pipeline, in_force=pipeline, agrees=True, source="the rig's job")
        )
        seen = held_against({"tls": self._settings["tls"]}, {"tls": ("tls", str)}, tls.RECORDED, "pg_stat_ssl", answers)
        settings += tls.in_force(self._tls.trusting if self._tls else None, seen)
        return settings + [given.compare(name, None, "pg_settings") for name in RECORDED]

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        shared_mb = number_in_force(settings, "shared_buffers_mb")
        return shared_mb << 20 if shared_mb is not None else None

    def seal(self) -> None:
        """Stop the server in order; leave tables with statistics and nothing for autovacuum to do, all on the drive."""
        self._server.stop(signal.SIGINT)  # "fast": ends sessions, writes everything
        self._alone(NAME, "vacuum (freeze, analyze)")
        sync_filesystem(self.data)

    def log(self) -> str:
        return "\n".join(self._worth_reading()).encode()[-LOG_BYTES:].decode(errors="ignore")

    def log_findings(self) -> list[str]:
        return [f"The engine wrote to its log: {line[:200]}" for line in self._worth_reading()[:FINDINGS_MAX]]

    def _worth_reading(self) -> list[str]:
        try:
            with self._server.log.open(encoding="utf-8", errors="replace") as file:
                return worth_reading(file)
        except FileNotFoundError:
            return []

    def stop(self) -> None:
        self._server.stop(signal.SIGINT)  # "fast": ends sessions, writes everything

    def lose_power(self) -> None:
        super().lose_power()
        for segment in self._shared:
            segment.unlink(missing_ok=True)
        self._shared = set()

    def integrity(self, ask: Ask) -> Integrity:
        """What pg_amcheck asks, in single-user mode: every B-tree against its table, and from 14 on every table."""
        check = "amcheck"
        try:
            self._server.stop(signal.SIGINT)
        except CellFailed as error:
            return Integrity(holds="unknown", check=check, said=error.message)
        heaps = [CHECK_HEAPS] if self._version.major >= 14 else []
        questions = ["create extension if not exists amcheck", CHECK_INDEXES, *heaps]
        ended = self._ran("postgres", *self._single(NAME), stdin="\n".join(questions) + "\n")
        if ended.returncode == 0:
            return Integrity(holds="holds", check=check, said="")
        is_broken = FOUND_BROKEN.search(ended.stderr)
        return Integrity(holds="broken" if is_broken else "unknown", check=check, said=_why(ended))

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """By pgstattuple, which is made available in single-user mode: the role of the load may not.

        The server is started anew, so that its own cache is empty too. Our role then sees what others hold back.
        """
        began = time.monotonic()
        self._server.stop(signal.SIGINT)
        ended = self._ran("postgres", *self._single(NAME), stdin="\n".join(inspection.PREPARE) + "\n")
        if ended.returncode != 0:
            message = _why(ended)
            raise CellFailed(
                f"{self._id}: could not take its statistics: {message}",
                "install PostgreSQL's contrib modules, which hold pgstattuple" if "extension" in message else "",
            )
        if self._launcher is None:
            raise CellFailed(f"{self._id}: could not take its statistics: the server was never started")
        self.start(self._launcher)
        ask = clearly(self._id, ask, self.died)
        reads = timed_reads(partial(ask, inspection.READ), forget)
        return reads.time(inspection.of_pgstattuple(reads.answer, ask), began)

    def release(self) -> None:
        try:
            if self._server.died() is None:
                self._server.stop(
                    signal.SIGQUIT
                )  # "immediate": nothing is written any more, shared memory is given back
        finally:
            super().release()
            # Of a server that was killed. The next directory may get the inode of this one, and PostgreSQL would take
            # what still runs here for its own.
            self._wait_for_orphans(self._memory)
            for segment in self._shared:
                segment.unlink(missing_ok=True)


def _why(ended: subprocess.CompletedProcess[str]) -> str:
    """The first of its words that are worth reading."""
    return next(iter(worth_reading(ended.stderr.splitlines())), f"it ended with code {ended.returncode}")


def _memory_of(pid_file: Sequence[str]) -> str | None:
    """The number of the System V shared memory that a ``postmaster.pid`` names."""
    return pid_file[6].split()[-1] if len(pid_file) > 6 and pid_file[6].split() else None


def _shared_memory(pid: int | None) -> set[Path]:
    """POSIX shared memory that a process has mapped: a server that is killed leaves it behind; see proc_pid_maps(5)."""
    try:
        maps = kernel_text(Path(f"/proc/{pid}/maps"))
    except OSError:
        return set()
    return {Path(path) for path in re.findall(r"/dev/shm/PostgreSQL\.\d+", maps)}  # noqa: S108 - its names, not ours


def environment(libraries: Path | None) -> dict[str, str]:
    """Ours without what would turn PostgreSQL's programs to somebody's own server (``PGDATA``, ``PGPORT`` ...); with
    the folder of ``libraries`` that they are to find first."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return ours | ({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})
