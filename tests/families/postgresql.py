"""PostgreSQL, private servers."""

from __future__ import annotations

from builds import Build, brought
from families.base import Family

FAMILY = Family(
    family="postgresql",
    private=("postgresql-15", "postgresql-17"),  # Debian's, or brought as the other is
    typical=("postgresql-17",),
    builds={"built-postgresql-17": Build("postgresql", brought("postgresql-17"))},
    dialects=("postgresql-15",),
    asked={
        "shared_buffers_mb": 64, "work_mem_mb": 5, "wal_buffers_mb": 3, "max_wal_size_mb": 333, "checkpoint_timeout_s": 77,
        "data_checksums": True, "wal_sync_method": "open_datasync", "full_page_writes": False, "wal_level": "minimal",
        "wal_compression": "pglz", "commit_delay_us": 9, "isolation": "serializable", "autovacuum": False, "jit": True,
        "max_connections": 33, "connection": "tcp", "pipeline": True, "tls": True,
        "huge_pages": "off",
    },
    asked_of_newer={},
    lie=("fsync", "off"),
    contradiction={"fsync": False},
    discard="begin",
    empties=("drop owned by current_user",),
    rises="wal_bytes",
    untold={"postgresql-17": ("buffers_backend",), "built-postgresql-17": ("buffers_backend",)},
)  # fmt: skip
