"""The settings, which are pragmas of each session, and where the rig opens its sessions."""

from __future__ import annotations

from typing import Literal

from acidtest.engine.base import SettingSpec
from acidtest.journal.protocol import Target
from acidtest.keys import BYTES, KIB, MIB, MILLISECONDS, PAGES

SPECS = {
    spec.name: spec
    for spec in (
        SettingSpec(
            "page_size",
            "The database's pages have this size.",
            (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
            default=4096,
            shapes_files=True,
            unit=BYTES,
        ),
        SettingSpec(
            "journal_mode",
            "A commit is made atomic by such a journal.",
            ("delete", "truncate", "persist", "memory", "wal", "off"),
            default="wal",
        ),
        SettingSpec("synchronous", "SQLite flushes this often.", ("off", "normal", "full", "extra"), by_level=True),
        SettingSpec("cache_size_kb", "Each session has a page cache of this size.", None, 1, 1 << 30, unit=KIB),
        SettingSpec("mmap_size_mb", "This much of the file is read through a memory map.", None, 0, 1 << 20, unit=MIB),
        SettingSpec(
            "wal_autocheckpoint_pages",
            "A checkpoint is made when the log holds this many pages; with 0 none is made.",
            None,
            0,
            2_000_000_000,
            unit=PAGES,
        ),
        SettingSpec(
            "busy_timeout_ms",
            "A session waits this long for a lock.",
            None,
            0,
            3_600_000,
            default=60_000,
            unit=MILLISECONDS,
        ),
        SettingSpec(
            "locking_mode",
            'With "exclusive" a session keeps the file\'s locks between transactions.',
            ("normal", "exclusive"),
            default="normal",
        ),
    )
}
SYNCHRONOUS = ("off", "normal", "full", "extra")  # the pragma answers with the position


class SqliteTarget(Target):
    """Where the rig opens its sessions; the twin of the rig's own."""

    engine: Literal["sqlite"] = "sqlite"
    library: str | None = None  # to load; None: the one that is linked into the rig
    path: str
    setup: list[str]
    busy_timeout_ms: int
