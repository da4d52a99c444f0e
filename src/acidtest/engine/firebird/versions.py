"""The generations, and what each has: settings and the entries of firebird.conf behind them. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from acidtest.engine.base import SettingSpec
from acidtest.engine.compare import spoken
from acidtest.journal.models import Scalar


@dataclass(frozen=True)
class Version:
    """What one Firebird generation has."""

    release: str  # "3.0"
    page_sizes: tuple[int, ...]
    has_config_table: bool  # RDB$CONFIG, and with it ReadConsistency and UseFileSystemCache: Firebird 4


VERSIONS = {
    version.release: version
    for version in (
        Version("3.0", (4096, 8192, 16384), False),
        Version("4.0", (4096, 8192, 16384, 32768), True),
        Version("5.0", (4096, 8192, 16384, 32768), True),
    )
}

# Setting of ours -> entry of firebird.conf.
CONF = {
    "server_mode": "ServerMode",
    "read_consistency": "ReadConsistency",
    "use_file_system_cache": "UseFileSystemCache",
    "file_system_cache_threshold_pages": "FileSystemCacheThreshold",
    "deadlock_timeout_s": "DeadlockTimeout",
    "temp_cache_limit_mb": "TempCacheLimit",
}


def specs_of(version: Version) -> dict[str, SettingSpec]:
    """The settings that a version has."""
    pages = version.page_sizes
    specs = [
        SettingSpec("page_size", "bytes", pages, default=8192, shapes_files=True),
        SettingSpec("page_buffers", "page cache in pages, written to the database header", None, 50, 131_072_000),
        SettingSpec(
            "server_mode",
            "Super shares one cache, SuperClassic and Classic have one for each attachment",
            ("Super", "SuperClassic", "Classic"),
            default="Super",
        ),
        SettingSpec("forced_writes", "write through at each page", (True, False), by_level=True),
        SettingSpec(
            "file_system_cache_threshold_pages",
            "page caches of this size and more bypass the OS file cache",
            None, 0, 2_147_483_647,
        ),
        SettingSpec(
            "isolation", "of the workload's transactions", ("read_committed", "snapshot"), default="read_committed"
        ),
        SettingSpec("lock_resolution", "what a transaction does at a lock", ("wait", "no_wait"), default="wait"),
        SettingSpec("lock_timeout_s", "how long a waiting transaction waits", None, 1, 32_767),
        SettingSpec("deadlock_timeout_s", "how long before a deadlock is looked for", None, 1, 32_767),
        SettingSpec("temp_cache_limit_mb", "memory for sorting before it goes to files, MiB", None, 1, 1_048_576),
    ]  # fmt: skip
    if version.has_config_table:
        specs += [
            SettingSpec("read_consistency", "read committed sees one state a statement", (True, False)),
            SettingSpec("use_file_system_cache", "false reads and writes past the OS file cache", (True, False)),
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
