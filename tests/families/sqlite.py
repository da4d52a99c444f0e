"""SQLite, in the rig."""

from __future__ import annotations

from builds import Build, sqlite_library
from families.base import Family

FAMILY = Family(
    family="sqlite",
    others=("sqlite",),
    typical=("sqlite",),
    builds={"built-sqlite": Build("sqlite", sqlite_library)},
    version="3.",
    dialects=("sqlite",),
    asked={
        "page_size": 8192, "journal_mode": "delete", "cache_size_kb": 4321, "mmap_size_mb": 16,
        "wal_autocheckpoint_pages": 77, "busy_timeout_ms": 1234, "locking_mode": "exclusive",
    },
    asked_of_newer={},
    asked_once=("locking_mode",),
    lie=("synchronous", "0"),
    contradiction={"synchronous": "off"},
    discard="begin",
)  # fmt: skip
