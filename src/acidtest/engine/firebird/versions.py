"""The generations, and what each has: settings and the entries of firebird.conf behind them. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from acidtest.engine.base import SettingSpec
from acidtest.engine.compare import spoken
from acidtest.journal.models import Scalar
from acidtest.keys import BYTES, MIB, PAGES, SECONDS


@dataclass(frozen=True)
class Version:
    """What one Firebird generation has."""

    release: str  # "3.0"
    page_sizes: tuple[int, ...]
    has_config_table: bool  # RDB$CONFIG, and with it ReadConsistency and UseFileSystemCache: Firebird 4
    has_parallel_workers: bool  # of backups, restores and sweeps: Firebird 5


VERSIONS = {
    version.release: version
    for version in (
        Version("3.0", (4096, 8192, 16384), False, False),
        Version("4.0", (4096, 8192, 16384, 32768), True, False),
        Version("5.0", (4096, 8192, 16384, 32768), True, True),
    )
}

# As many as an operation may ask for: the most that firebird.conf takes. Each has one unless it asks for more.
PARALLEL_WORKERS = {"MaxParallelWorkers": "64"}

# Setting of ours -> entry of firebird.conf.
CONF = {
    "server_mode": "ServerMode",
    "read_consistency": "ReadConsistency",
    "use_file_system_cache": "UseFileSystemCache",
    "file_system_cache_threshold_pages": "FileSystemCacheThreshold",
    "deadlock_timeout_s": "DeadlockTimeout",
    "temp_cache_limit_mb": "TempCacheLimit",
    "max_unflushed_writes": "MaxUnflushedWrites",
    "max_unflushed_write_time_s": "MaxUnflushedWriteTime",
}


def specs_of(version: Version) -> dict[str, SettingSpec]:
    """The settings that a version has."""
    pages = version.page_sizes
    specs = [
        SettingSpec(
            "page_size", "The database's pages have this size.", pages, default=8192, shapes_files=True, unit=BYTES
        ),
        SettingSpec(
            "page_buffers",
            "The page cache holds this many pages; the number is written to the database header.",
            None, 50, 131_072_000, unit=PAGES,
        ),
        SettingSpec(
            "server_mode",
            "Attachments share one page cache (Super), or each has its own (SuperClassic, Classic).",
            ("Super", "SuperClassic", "Classic"),
            default="Super",
        ),
        SettingSpec("forced_writes", "Each page is written through to the drive.", (True, False), by_level=True),
        SettingSpec(
            "file_system_cache_threshold_pages",
            "Page caches of this size and more bypass the file cache of the operating system.",
            None, 0, 2_147_483_647, unit=PAGES,
        ),
        SettingSpec(
            "isolation",
            "The workload's transactions have this isolation.",
            ("read_committed", "snapshot"),
            default="read_committed",
        ),
        SettingSpec(
            "lock_resolution", "A transaction does this at another one's lock.", ("wait", "no_wait"), default="wait"
        ),
        SettingSpec(
            "lock_timeout_s", "A waiting transaction waits no longer than this.", None, 1, 32_767, unit=SECONDS
        ),
        SettingSpec(
            "deadlock_timeout_s",
            "A transaction waits this long before the engine looks for a deadlock.",
            None, 1, 32_767, unit=SECONDS,
        ),
        SettingSpec(
            "temp_cache_limit_mb",
            "Sorts take this much memory before they go to files.",
            None, 1, 1_048_576, unit=MIB,
        ),
        SettingSpec(
            "max_unflushed_writes",
            "Without Forced Writes the file is flushed after so many writes, at the next commit; with -1 never.",
            None, -1, 2_147_483_647,
        ),
        SettingSpec(
            "max_unflushed_write_time_s",
            "Without Forced Writes the file is flushed after this long, at the next commit; with -1 never.",
            None, -1, 2_147_483_647, unit=SECONDS,
        ),
    ]  # fmt: skip
    if version.has_config_table:
        specs += [
            SettingSpec(
                "read_consistency", "A statement of a read committed transaction sees one state.", (True, False)
            ),
            SettingSpec(
                "use_file_system_cache",
                "Pages are read and written through the file cache of the operating system.",
                (True, False),
            ),
        ]
    return {spec.name: spec for spec in specs}


def flag(value: str) -> str:
    """The 1 or 0 of a monitoring table or of RDB$CONFIG in the words of a setting."""
    return {"1": "true", "0": "false"}.get(value, value)


def conf_value(name: str, value: Scalar) -> str:
    """A setting's value as firebird.conf takes it."""
    if name == "temp_cache_limit_mb":
        return f"{value}M"
    if name == "read_consistency":
        return "1" if value else "0"
    return spoken(value)


def config_said(name: str, value: str) -> str:
    """A value of RDB$CONFIG in the words of the setting."""
    if name == "temp_cache_limit_mb":
        return value.removesuffix("M") if value.endswith("M") else str(int(value) >> 20) if value.isdigit() else value
    return flag(value) if name in ("read_consistency", "use_file_system_cache") else value
