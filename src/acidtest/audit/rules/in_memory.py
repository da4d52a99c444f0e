"""Data that lie in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from acidtest.audit import measured_sides
from acidtest.audit.bench import Bench, Mount, Side
from acidtest.audit.rules.builds import all_named
from acidtest.filesystems import IN_MEMORY
from acidtest.finding import Found, rule

# Where engines and their images keep their data when nobody says otherwise.
USUAL = tuple(
    map(PurePosixPath, (
        "/var/lib/postgresql", "/var/lib/pgsql", "/var/lib/mysql", "/var/lib/mariadb", "/var/lib/firebird",
        "/firebird/data", "/bitnami", "/data/db", "/var/lib/mongodb", "/var/lib/cassandra", "/cockroach/cockroach-data",
    ))
)  # fmt: skip
DIRECTORIES = ("data_directory", "datadir", "pgdata", "databaseaccess")
SAID = re.compile(r"tmpfs|ram ?dis[ck]|in[- ]memory|/dev/shm", re.IGNORECASE)


@rule(
    "data-on-tmpfs",
    severity="doubtful",
    says="The database lies in memory: flushes cost nothing, and what is compared is not how engines write.",
    remedy="Put the data on the drive that matters, or call the figures those of a database in memory.",
    disproved_by="a list of the server's mounts, or its data directory, on a drive",
    source="tmpfs(5); Docker's manual, tmpfs mounts: nothing is written to the host's storage",
)
def data_on_tmpfs(bench: Bench) -> Iterator[Found]:
    if {"drive", "storage", "file system", "place"} & bench.factors or any(
        SAID.search(one.text) for one in bench.said("drive")
    ):
        return
    found = [
        (side, mount)
        for side in measured_sides.in_use(bench, bench.sides)
        for mount in side.mounts
        if _holds_data(side, mount)
    ]
    if found:
        names = all_named(dict.fromkeys(side for side, _ in found)) if all(side.engine for side, _ in found) else ""
        where = f" of {names}" if names else ""
        points = ", ".join(dict.fromkeys(mount.point for _, mount in found))
        evidence = dict.fromkeys(mount.where.says(f"{mount.filesystem} at {mount.point}") for _, mount in found)
        yield Found(
            f"The data{where} lie in memory ({points}), and benchmark.toml does not declare it.", tuple(evidence)
        )


def _holds_data(side: Side, mount: Mount) -> bool:
    if mount.filesystem not in IN_MEMORY:
        return False
    point = PurePosixPath(mount.point)
    named = [PurePosixPath(one.setting.value) for name in DIRECTORIES if (one := side.in_force(name))]
    if any(point == place or point in place.parents for place in named):
        return True
    if named:
        return False
    # In a list of a whole machine's mounts a folder above the usual places is its own business.
    return any(point == place or place in point.parents or (mount.side and point in place.parents) for place in USUAL)
