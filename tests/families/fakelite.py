"""Fakelite, in the rig."""

from __future__ import annotations

from families.base import Family

FAMILY = Family(
    family="fakelite",
    others=("fakelite",),
    version="3.",
    dialects=("fakelite",),
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
