"""The versions, and what each has: archives, settings and the server's parameters behind them. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from acidtest.engine import tls
from acidtest.engine.base import SettingSpec
from acidtest.engine.server import CONNECTION
from acidtest.journal.models import Scalar
from acidtest.keys import MIB, MICROSECONDS, SECONDS


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
    "huge_pages": "huge_pages",
}
# Read back, though they are no lines of the configuration.
READ_BACK = {"data_checksums": "data_checksums", "isolation": "transaction_isolation", "port": "port"}
RECORDED = (
    "server_version",
    "ssl",
    "wal_segment_size",
    "checkpoint_completion_target",
    "wal_writer_delay",
)
KIB = {"kB": 1, "8kB": 8, "MB": 1024}  # pg_settings.unit
YES_NO = (True, False)


def specs_of(version: Version) -> dict[str, SettingSpec]:
    """The settings that a version has."""
    compressions = ("off", "pglz", "lz4", "zstd") if version.major >= 15 else ("off", "pglz")
    specs = [
        SettingSpec(
            "shared_buffers_mb", "The server's page cache has this size.", None, 1, 1 << 20, unit=MIB
        ),
        SettingSpec(
            "work_mem_mb", "A sort takes this much memory before it goes to files.", None, 1, 2_097_151, unit=MIB
        ),
        SettingSpec(
            "maintenance_work_mem_mb", "Building an index takes this much memory.", None, 1, 2_097_151, unit=MIB
        ),
        SettingSpec(
            "wal_buffers_mb", "Log that is not written yet has this much memory.", None, 1, 2047, unit=MIB
        ),
        SettingSpec(
            "max_wal_size_mb", "This much log is written between two checkpoints.", None, 32, 1 << 20, unit=MIB
        ),
        SettingSpec(
            "checkpoint_timeout_s", "Checkpoints are no further apart than this.", None, 30, 86_400, unit=SECONDS
        ),
        SettingSpec("huge_pages", "The shared memory lies in huge pages.", ("try", "on", "off")),
        SettingSpec("data_checksums", "Every page has a checksum.", YES_NO, shapes_files=True),
        SettingSpec("fsync", "The server flushes to the drive at all.", YES_NO, by_level=True),
        SettingSpec("synchronous_commit", "A commit waits for its log.", ("on", "off"), by_level=True),
        SettingSpec(
            "wal_sync_method",
            "The log is flushed by this method.",
            ("fdatasync", "fsync", "open_datasync", "open_sync"),
            default="fdatasync",
        ),
        SettingSpec(
            "full_page_writes",
            "Each page goes whole into the log when it is first changed after a checkpoint, against torn pages.",
            YES_NO,
            default=True,
        ),
        SettingSpec("wal_level", "This much goes into the log.", ("minimal", "replica", "logical")),
        SettingSpec("wal_compression", "Pages in the log are compressed by this method.", compressions),
        SettingSpec(
            "commit_delay_us",
            "A flush of the log waits this long for further commits.",
            None, 0, 100_000, unit=MICROSECONDS,
        ),
        SettingSpec(
            "isolation",
            "The workload's transactions have this isolation.",
            ("read_committed", "repeatable_read", "serializable"),
            default="read_committed",
        ),
        SettingSpec("autovacuum", "The server cleans up in the background.", YES_NO),
        SettingSpec("jit", "The server compiles large queries.", YES_NO, default=False),
        SettingSpec(
            "max_connections",
            "The server takes this many sessions, which must be more than there are terminals.",
            None, 10, 20_000, default=1000,
        ),
        CONNECTION,
        SettingSpec(
            "port",
            "The server listens on this port of 127.0.0.1, where connection is tcp.",
            None, 1024, 65_535, unset="a free one",
        ),
        SettingSpec(
            "pipeline",
            "Statements that do not depend on each other's answers are sent together; that is not for comparisons.",
            YES_NO,
            default=False,
        ),
        tls.SPEC,
    ]  # fmt: skip
    if version.major >= 18:
        specs.append(SettingSpec("io_method", "Reads are issued by this method.", ("worker", "sync", "io_uring")))
    return {spec.name: spec for spec in specs}


# What of TLS the session of the question has, as lines of name and value.
_TLS_IN_FORCE = (
    "select of.name, of.value from pg_stat_ssl, lateral "
    "(values ('tls', ssl::text), ('tls_version', version), ('tls_cipher', cipher)) as of(name, value) "
    "where pid = pg_backend_pid()"
)


_NAMES = ", ".join(f"'{name}'" for name in (*PARAMETERS.values(), *READ_BACK.values(), *RECORDED))
QUESTIONS = (
    f"select name, setting || coalesce(' ' || unit, '') from pg_settings where name in ({_NAMES})",  # noqa: S608
    _TLS_IN_FORCE,
)


def variables(specs: Mapping[str, SettingSpec]) -> dict[str, tuple[str, Callable[[str], str]]]:
    """By our name the server's, and how its answer reads in our words; of the settings that there are."""
    return {
        name: (answer, partial(in_our_words, specs[name]))
        for name, answer in {**PARAMETERS, **READ_BACK}.items()
        if name in specs
    }


def parameter(name: str, value: Scalar) -> str:
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
        whole, rest = divmod(int(number) * KIB[unit], 1024)
        return f"{whole}" if not rest else f"{number} {unit}"
    return number if spec.name.endswith("_s") else value
