"""One trial of a server with a replica, as an experiment: for the suites that look at what a replica gives back."""

from __future__ import annotations

EXPERIMENT = """
name = "contract"
engine = "{engine}"
durability = "drive"
repetitions = 1
[workload.numbered]
terminals = 2
count = 5
[place]
kind = "disk"
filesystem = "ext4"
size_mb = 384
replication = "{mode}"
disk_failure = "{failure}"
"""
