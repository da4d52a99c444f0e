"""The words that a shell completes. A shell waits for them at each tab: nothing here imports a model or an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from acidtest import registered_builds
from acidtest.cli import COMMANDS, shipped
from acidtest.families import PRODUCTS
from acidtest.files import state_directory
from acidtest.filesystems import FILESYSTEMS
from acidtest.reference.words import words

# Those of acidtest.question, whose import a shell would wait for.
QUESTIONS = (
    "engine", "file-system", "durability", "page-and-cache", "build", "growth", "highest-rate", "own-sql", "power-cut",
)  # fmt: skip
LIMITS = ("p99 < 10 ms", "p99.9 < 50 ms", "p90 < 1 s", "mean < 2 ms", "max < 1 s")  # of acidtest search
DISK_KEEPS = ("none", "torn", "reordered", "all")  # of ``disk_keeps`` in ``[place]``
SERVERS = ("firebird://", "postgresql://", "mysql://", "mariadb://")  # of acidtest.families, with their other names
EXPERIMENT_BYTES_MAX = 1 << 20
LOOKED_AT_MAX = 1_000  # files; a shell waits
A_WORKLOAD = re.compile(rb"^\s*\[?\s*workload\b", re.MULTILINE)


def engines(incomplete: str) -> list[str]:
    """Ids of engines, installed or not, and names of builds that were added."""
    return [*known_engines(incomplete), *(name for name in registered_builds.names() if name.startswith(incomplete))]


def known_engines(incomplete: str) -> list[str]:
    """Ids of engines, installed or not."""
    return [name for name in words("engines") if name.startswith(incomplete)]


def installed_engines(incomplete: str) -> list[str]:
    """Of these, those in a folder of acidtest's own, and builds that were added: those that can be removed."""
    added = registered_builds.names()
    return [name for name in engines(incomplete) if name in added or (state_directory() / "engines" / name).is_dir()]


def disks(incomplete: str) -> list[str]:
    """That stand; see ``acidtest.place.disk_service``, whose import a shell would wait for."""
    try:
        found = sorted(path.parent.name for path in (state_directory() / "disks").glob("*/disk.json"))
    except OSError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def filesystems(incomplete: str) -> list[str]:
    """Of a guest's disk."""
    return [name for name in FILESYSTEMS if name.startswith(incomplete)]


def filesystems_and_raw(incomplete: str) -> list[str]:
    """Of a disk that stands."""
    return [name for name in (*FILESYSTEMS, "raw") if name.startswith(incomplete)]


def disk_kinds(incomplete: str) -> list[str]:
    """Of ``disk`` in ``[place]``."""
    return [name for name in ("none", "rotating", "sata-ssd", "nvme") if name.startswith(incomplete)]


def disk_keeps(incomplete: str) -> list[str]:
    """Of ``disk_keeps`` in ``[place]``."""
    return [name for name in DISK_KEEPS if name.startswith(incomplete)]


def families(incomplete: str) -> list[str]:
    """Of builds."""
    return [name for name in PRODUCTS if name.startswith(incomplete)]


def rules(incomplete: str) -> list[str]:
    """``RULE=`` of every rule of the audit."""
    return [f"{name}=" for name in words("rules") if name.startswith(incomplete)]


def questions(incomplete: str) -> list[str]:
    """Of ``acidtest init``."""
    return [name for name in QUESTIONS if name.startswith(incomplete)]


def asked(incomplete: str) -> list[str]:
    """What ``acidtest help`` explains: commands, tables, keys, the last also without their tables; pages."""
    keys = words("keys")
    bare = [key.rpartition(".")[2] for key in keys]
    names = dict.fromkeys([*COMMANDS, *words("tables"), *bare, *keys, *shipped.pages()])
    return [name for name in names if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """Experiments in the directory that was begun, and in those below it; after ``@`` the shipped ones.

    Where there is none, the shell completes other files and directories by itself.
    """
    if incomplete.startswith(shipped.MARK):
        return [f"{shipped.MARK}{name}" for name in shipped_experiments(incomplete.removeprefix(shipped.MARK))]
    begun = incomplete[: incomplete.rfind("/") + 1]
    directory = Path(begun)
    names = (f"{begun}{path.relative_to(directory)}" for path in _toml_files(directory) if _is_experiment(path))
    return [name for name in names if name.startswith(incomplete)]


def shipped_experiments(incomplete: str) -> list[str]:
    """By their names alone."""
    return [name for name in shipped.experiments() if name.startswith(incomplete)]


def limits(incomplete: str) -> list[str]:
    """Limits of latency as they are written."""
    return [text for text in LIMITS if text.startswith(incomplete)]


def databases(incomplete: str) -> list[str]:
    """What begins the URL of a server; files are completed by the shell itself."""
    return [name for name in SERVERS if incomplete and name.startswith(incomplete)]


def _toml_files(directory: Path) -> Iterator[Path]:
    try:
        inside = sorted(directory.iterdir())
        for place in [directory, *(path for path in inside if path.is_dir() and not path.name.startswith("."))]:
            for number, path in enumerate(sorted(place.glob("*.toml"))):
                if number == LOOKED_AT_MAX:
                    break
                yield path
    except OSError:
        return


def _is_experiment(path: Path) -> bool:
    try:
        if path.stat().st_size > EXPERIMENT_BYTES_MAX:
            return False
        text = path.read_bytes()
        return b"durability" in text and bool(A_WORKLOAD.search(text))
    except OSError:
        return False
