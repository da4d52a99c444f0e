"""Whether what is mounted into a database's container is where its image keeps the data.

The official images of Docker Hub declare a volume at their data directory, so that data beside every mount lie in an
anonymous one; in Kubernetes they lie in the container's ephemeral storage. See the Dockerfile of each image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

POSTGRESQL = "/var/lib/postgresql/data"
DATA = {
    "postgres": POSTGRESQL,
    "postgis": POSTGRESQL,
    "mysql": "/var/lib/mysql",
    "mysql-server": "/var/lib/mysql",
    "mariadb": "/var/lib/mysql",
    "percona": "/var/lib/mysql",
    "mongo": "/data/db",
    "mongodb-community-server": "/data/db",
    "mongodb-enterprise-server": "/data/db",
    "cassandra": "/var/lib/cassandra",
    "clickhouse-server": "/var/lib/clickhouse",
}
OWNERS = frozenset(("", "library", "postgis", "mysql", "percona", "mongodb", "clickhouse", "docker.io"))
# A variable or an option by which the data are kept elsewhere.
ELSEWHERE = re.compile(r"PGDATA|DATADIR|DATA_DIR|data_directory|datadir|dbpath|(?:^|\s)-D(?:\s|=|/)|--config|-f\s")
TAG = re.compile(r"\d{1,4}")
OF_18 = 18  # from which on PostgreSQL's image keeps data elsewhere


def data_of(image: str) -> str:
    """Where an official image keeps its data; "" of any other, and where its version decides and is not known."""
    name, _, tag = image.partition("@")[0].rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "")
    owner, _, base = name.rpartition("/")
    if owner.removeprefix("docker.io/").rpartition("/")[2] not in OWNERS:
        return ""
    place = DATA.get(base, "")
    if place == POSTGRESQL:
        version = TAG.match(tag)
        return place if version and int(version[0]) < OF_18 else ""
    return place


def beside(image: str, targets: Sequence[str], told: str) -> Iterator[tuple[str, str]]:
    """The places that are mounted above or below the data directory of an image, and the directory, where none is
    mounted at it. ``told`` is what else its variables and its command say."""
    place = data_of(image)
    if not place or ELSEWHERE.search(told):
        return
    data = PurePosixPath(place)
    points = [PurePosixPath(one) for one in targets if one.startswith("/")]
    if data in points:
        return
    for point in points:
        if data in point.parents or (point in data.parents and len(point.parts) > 1):
            yield str(point), place


def lacking(image: str, targets: Sequence[str], told: str) -> str:
    """The data directory of an image on which, or above which, nothing is mounted; "" where something is."""
    place = data_of(image)
    if not place or ELSEWHERE.search(told):
        return ""
    data = PurePosixPath(place)
    points = [PurePosixPath(one) for one in targets]
    return "" if any(point == data or point in data.parents or data in point.parents for point in points) else place
