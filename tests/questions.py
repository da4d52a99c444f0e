"""Answers for the tests of questions: engines as the catalogue has them, storages, and how a text is assessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acidtest import conductor, experiment
from acidtest.cli.init_answers import chosen
from acidtest.plan.search import typical_seconds
from acidtest.question import Answers, Assessed, Chosen, OwnSql, Storage

ONE_OF_FAMILY = {
    "sqlite": "sqlite", "firebird": "firebird-5.0", "postgresql": "postgresql-17", "mysql": "mariadb-10.11",
}  # fmt: skip
SERVER = "postgresql://me@db.example/test"
STORAGES = {
    "directory": Storage("directory"),
    "a path": Storage("directory", ("/mnt/data",)),
    "two paths": Storage("directory", ("/mnt/data", '/mnt/"odd\\ name\x7f"')),
    "loop": Storage("loop"),
    "loop at a path": Storage("loop", ("/mnt/data",)),
    "disk": Storage("disk"),
    "device": Storage("device", device="/dev/sdx"),
}
SHOP = OwnSql(("shop",), (str(Path(__file__).parents[1] / "workloads" / "shop"),), variables=(("scale", 1),))
FILESYSTEMS = ("ext4", "xfs", "btrfs", "ext3", "ext2")


def engines(*words: str) -> tuple[Chosen, ...]:
    return chosen([ONE_OF_FAMILY.get(word, word) for word in words])


def answers(*words: str, storage: str = "directory", seconds: float = 600, **more: Any) -> Answers:
    """For these engines, by id, by family or by URL."""
    given = {"time": f"{seconds:g}s", "file": "my.toml", "name": "my", "filesystems": FILESYSTEMS}
    return Answers(engines(*words), STORAGES[storage], seconds, **(given | more))


def assess(text: str) -> Assessed:
    planned = conductor.described(conductor.plan_of(experiment.parse(text, "my.toml")))
    is_search = planned.experiment.search is not None
    return Assessed(planned, typical_seconds(planned) if is_search else conductor.assumed_seconds(planned))
