"""The versions, and what each has: archives, settings and the server's parameters behind them. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from acidtest.engine.base import SettingSpec
from acidtest.journal.models import Scalar


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
YES_NO = (True, False)


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
        return f"{int(number) * KIB[unit] / 1024:g}"
    return number if spec.name.endswith("_s") else value
