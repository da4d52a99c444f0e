"""Firebird, embedded and as Debian's server."""

from __future__ import annotations

from families.base import Family

FAMILY = Family(
    family="firebird",
    private=("firebird-3.0", "firebird-4.0", "firebird-5.0"),
    others=("firebird-3.0-server",),
    dialects=("firebird-3.0", "firebird-4.0", "firebird-5.0"),
    asked={
        "page_size": 16384, "page_buffers": 333, "lock_timeout_s": 7, "isolation": "snapshot", "server_mode": "Classic",
    },
    asked_of_newer={
        "read_consistency": {
            "isolation": "read_committed", "read_consistency": False, "use_file_system_cache": False,
            "server_mode": "SuperClassic", "deadlock_timeout_s": 3, "temp_cache_limit_mb": 9,
        },
    },
    # Classic and SuperClassic are alike in one process, and 3.0 cannot be asked.
    shown_nowhere={"firebird-3.0": ("server_mode",)},
    lie=("mon$forced_writes", "0"),
    contradiction={"forced_writes": False},
    always_conflicts=("firebird-3.0", "firebird-3.0-server"),  # a statement is not restarted before Firebird 4
)  # fmt: skip
