"""Data that lie in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from acidtest.audit import measured_sides
from acidtest.audit.bench import Bench, Mount, Side
from acidtest.audit.rules.builds import all_named
from acidtest.filesystems import IN_MEMORY
from acidtest.finding import Evidence, Found, rule

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


@rule(
    "data-in-container-layer",
    severity="note",
    says="The database lies in its container's own layer or in storage that goes with its pod: each write passes "
    "through the container's file system, and the drive below is whatever the node has.",
    remedy="Put the data directory on a volume of the storage that is meant, and name that.",
    disproved_by="a list of the container's mounts, with the data directory on a volume",
    source="Docker's manual, Storage drivers: writes into the container's layer are slower than into a volume",
)
def data_in_container_layer(bench: Bench) -> Iterator[Found]:
    if {"drive", "storage", "file system", "place"} & bench.factors:
        return
    evidence = [one.where.says(one.text) for one in bench.said("ephemeral")]
    for side in bench.sides:
        named = next((one for name in DIRECTORIES if (one := side.in_force(name)) and not one.contested), None)
        place = named.setting.value if named else ""
        if named and place.startswith("/") and (layer := _in_layer(side, PurePosixPath(place))):
            evidence += [named.setting.says(), layer]
    if evidence:
        yield Found(f"{evidence[0].text[:1].upper()}{evidence[0].text[1:]}.", tuple(dict.fromkeys(evidence)))


def _in_layer(side: Side, place: PurePosixPath) -> Evidence | None:
    """Where it is seen that a directory lies in the overlay at a container's root, and on none of its other mounts."""
    above = [one for one in side.mounts if PurePosixPath(one.point) in (place, *place.parents)]
    deepest = max(above, key=lambda one: len(PurePosixPath(one.point).parts), default=None)
    if deepest is None or deepest.filesystem not in ("overlay", "aufs") or deepest.point != "/":
        return None
    return deepest.where.says(f"{deepest.filesystem} at {deepest.point}, and nothing mounted at {place}")
