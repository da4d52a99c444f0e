"""The settings: pragmas. Data only."""

from __future__ import annotations

from acidtest.engine.base import SettingSpec

SPECS = {
    spec.name: spec
    for spec in (
        SettingSpec(
            "page_size", "bytes", (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536), default=4096, shapes_files=True
        ),
        SettingSpec(
            "journal_mode",
            "how a commit is made atomic",
            ("delete", "truncate", "persist", "memory", "wal", "off"),
            default="wal",
        ),
        SettingSpec(
            "synchronous",
            "when SQLite flushes",
            ("off", "normal", "full", "extra"),
            by_level=True,
        ),
        SettingSpec("cache_size_kb", "page cache of each session, KiB", None, 1, 1 << 30),
        SettingSpec("mmap_size_mb", "part of the file read through a memory map, MiB", None, 0, 1 << 20),
        SettingSpec("wal_autocheckpoint_pages", "pages in the log before a checkpoint", None, 0, 2_000_000_000),
        SettingSpec("busy_timeout_ms", "how long a session waits for a lock", None, 0, 3_600_000, default=60_000),
        SettingSpec("locking_mode", "exclusive keeps the file's locks", ("normal", "exclusive"), default="normal"),
    )
}
SYNCHRONOUS = ("off", "normal", "full", "extra")  # the pragma answers with the position
