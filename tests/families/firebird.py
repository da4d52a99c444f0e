"""Firebird, embedded and as Debian's server."""

from __future__ import annotations

from builds import Build, brought, firebird_server
from families.base import Family

FAMILY = Family(
    family="firebird",
    private=(
        "firebird-3.0", "firebird-4.0", "firebird-5.0", "firebird-3.0-server", "firebird-4.0-server",
        "firebird-3.0-server-i386",
    ),
    typical=("firebird-5.0", "firebird-4.0-server"),
    builds={
        "built-firebird-5.0": Build("firebird", brought("firebird-5.0")),
        "built-firebird-4.0-server": Build("firebird", firebird_server, "server"),
    },
    dialects=("firebird-3.0", "firebird-4.0", "firebird-5.0"),
    asked={
        "page_size": 16384, "page_buffers": 333, "lock_timeout_s": 7, "isolation": "snapshot", "server_mode": "Classic",
    },
    asked_of_newer={
        "read_consistency": {
            "isolation": "read_committed", "read_consistency": False, "use_file_system_cache": False,
            "server_mode": "SuperClassic", "deadlock_timeout_s": 3, "temp_cache_limit_mb": 9,
            "max_unflushed_writes": 50, "max_unflushed_write_time_s": -1,
        },
        "wire_crypt": {"wire_crypt": True, "wire_compression": True},
    },
    # Classic and SuperClassic are alike in one process, and 3.0 cannot be asked.
    shown_nowhere={"firebird-3.0": ("server_mode",)},
    architectures={"firebird-3.0-server-i386": "x86"},
    lie=("mon$forced_writes", "0"),
    contradiction={"forced_writes": False},
    counts={
        "inserted": "record_inserts", "updated": "record_updates", "deleted": "record_deletes", "fetched": "page_fetches",
    },
    rises="next_transaction",
    always_conflicts=("firebird-3.0", "firebird-3.0-server", "firebird-3.0-server-i386"),  # a statement is not restarted before Firebird 4
)  # fmt: skip
