"""Values to ask for, of every key of a place: what tests try them with that go through all of them."""

from __future__ import annotations

from typing import Any

# Values other than the default. A new key of [place] must be given some here.
PLACE: dict[str, list[Any]] = {
    "path": ["/tmp"], "device": ["/dev/null"], "size_mb": [64], "sparse": [True], "filesystem": ["ext4", "xfs", "raw"],
    "mkfs": ["-v"], "mount": ["noatime"], "block_size": [4096], "stripe_kb": [64], "stripe_disks": [2],
    "disk_failure": ["failed-flush", "crash-states"], "replication": ["synchronous"], "disk_states": [7], "disk_states_s": [3.5], "disk_recovery_s": [30.0], "disk_keeps": ["torn"], "journal": ["external", "none"],
    "journal_mb": [8], "journal_path": ["/tmp"], "scheduler": ["bfq"], "scheduler_tunables": ["fifo_batch=8"],
    "queue": ["nomerges=2"], "read_ahead_kb": [0, 64], "nr_requests": [32], "write_cache": ["write through"],
    "drive_cache": ["off"], "disk": ["rotating"], "disk_parameters": ["rpm=5400"], "disk_cache_mb": [0, 4], "disk_battery": ["good", "dead"],
    "stack": ["dm-crypt", "md-raid1"],
    "disk_sector": [512],
    "disk_faults": ["lie-about-flush", "tear", "tear, reorder", "ignore-write-through"],
    "disk_medium": ["file"], "guest_memory_mb": [512],
    "guest_cpus": [1], "guest_accelerator": ["kvm"], "memory_mb": [64], "swap_mb": [16],
    "start": ["cold"], "access": ["random"],
}  # fmt: skip
