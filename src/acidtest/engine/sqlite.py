"""SQLite, built into the rig. Settings are pragmas, set on every session and asked for again on every session."""

from __future__ import annotations

import platform
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from acidtest.engine import sqlite_statistics
from acidtest.engine.base import Ask, Durability, Engine, Forget, Instance, Offer, SettingSpec, filled
from acidtest.engine.compare import Answers, in_force, number_in_force
from acidtest.engine.reads import clearly, timed_reads
from acidtest.errors import BadInput
from acidtest.files import fsync_path
from acidtest.journal.models import DatabaseStatistics, EngineFacts, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings, SqliteTarget

FILE = "database.db"

SPECS = {
    spec.name: spec
    for spec in (
        SettingSpec(
            "page_size", "bytes", (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536), default=4096, shapes_files=True
        ),
        SettingSpec(
            "journal_mode",
            "how a commit is made atomic",
            ("delete", "truncate", "persist", "memory", "wal", "off"),
            default="wal",
        ),
        SettingSpec(
            "synchronous",
            "when SQLite flushes",
            ("off", "normal", "full", "extra"),
            by_level=True,
        ),
        SettingSpec("cache_size_kb", "page cache of each session, KiB", None, 1, 1 << 30),
        SettingSpec("mmap_size_mb", "part of the file read through a memory map, MiB", None, 0, 1 << 20),
        SettingSpec("wal_autocheckpoint_pages", "pages in the log before a checkpoint", None, 0, 2_000_000_000),
        SettingSpec("busy_timeout_ms", "how long a session waits for a lock", None, 0, 3_600_000, default=60_000),
        SettingSpec("locking_mode", "exclusive keeps the file's locks", ("normal", "exclusive"), default="normal"),
    )
}
SYNCHRONOUS = ("off", "normal", "full", "extra")  # the pragma answers with the position


class Sqlite(Engine):
    """The SQLite that the rig was built with."""

    id = "sqlite"
    family = "sqlite"
    embedded = True

    def offer(self) -> Offer:
        facts = self.facts()
        return Offer(self.id, True, facts.version, facts.architecture, facts.source, path="", remedy="")

    def facts(self) -> EngineFacts:
        return EngineFacts(
            id=self.id,
            version="",
            architecture=platform.machine().replace("_", "-"),
            source="built into acidtest-rig",
            mode="embedded",
        )

    def setting_specs(self) -> Mapping[str, SettingSpec]:
        return SPECS

    def durability_levels(self) -> tuple[str, ...]:
        return ("none", "os", "drive")

    def durability(self, level: str, settings: Mapping[str, Scalar]) -> Durability:
        """The level as a pair of journal_mode and synchronous; see https://sqlite.org/pragma.html#pragma_synchronous."""
        mode = str(settings.get("journal_mode", SPECS["journal_mode"].default))
        if level == "os" and mode != "wal":
            raise BadInput(
                f'sqlite: has no durability level os with journal_mode = "{mode}"',
                "with a rollback journal every setting but off flushes at each commit: use wal, or none or drive",
            )
        if level == "drive" and mode in ("memory", "off"):
            raise BadInput(
                f'sqlite: has no durability level drive with journal_mode = "{mode}"',
                "a power cut in a commit breaks such a database: use wal, delete, truncate or persist",
            )
        synchronous = synchronous_of(level, mode)
        asked = settings.get("synchronous")
        if asked is not None and asked != synchronous:
            raise BadInput(
                f'sqlite: synchronous = "{asked}" contradicts durability {level}, which means "{synchronous}" '
                f'with journal_mode = "{mode}"',
                "leave synchronous out, or ask for the level that it means",
            )
        loses = {
            "none": "never flushed: an OS crash or power cut may lose commits and break the database",
            "os": "handed to the OS at commit, flushed at checkpoints only: an OS crash or power cut may lose the last "
            "commits, the database stays whole",
            "drive": "flushed to the drive at each commit",
        }[level]
        return Durability(level, f"journal_mode={mode}, synchronous={synchronous}: {loses}")

    def create(self, directory: Path, settings: Mapping[str, Scalar]) -> Instance:
        return SqliteInstance(directory, settings, "none")

    def adopt(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> Instance:
        return SqliteInstance(directory, settings, durability)


def synchronous_of(level: str, journal_mode: str) -> str:
    """The ``synchronous`` that a level means.

    EXTRA with journal_mode=delete: the commit is the journal's removal from its directory, which FULL does not flush.
    """
    if level == "none":
        return "off"
    if level == "os":
        return "normal"
    return "extra" if journal_mode == "delete" else "full"


class SqliteInstance(Instance):
    def __init__(self, directory: Path, settings: Mapping[str, Scalar], durability: str) -> None:
        self.directory = directory
        self._settings = filled(SPECS, settings)
        self._settings["synchronous"] = synchronous_of(durability, str(self._settings["journal_mode"]))

    def database_files(self) -> list[Path]:
        return [self.directory / FILE]

    def target(self) -> SqliteTarget:
        asked = self._settings
        setup = [f"pragma page_size = {asked['page_size']}"]  # before the first table, and before wal
        if "wal_autocheckpoint_pages" in asked:
            setup.append(f"pragma wal_autocheckpoint = {asked['wal_autocheckpoint_pages']}")
        if "cache_size_kb" in asked:
            setup.append(f"pragma cache_size = -{asked['cache_size_kb']}")  # negative: KiB instead of pages
        if "mmap_size_mb" in asked:
            setup.append(f"pragma mmap_size = {int(str(asked['mmap_size_mb'])) << 20}")
        setup += [f"pragma {name} = {asked[name]}" for name in ("locking_mode", "journal_mode", "synchronous")]
        return SqliteTarget(
            path=str(self.directory / FILE), setup=setup, busy_timeout_ms=int(str(asked["busy_timeout_ms"]))
        )

    def environment(self) -> dict[str, str]:
        return {"SQLITE_TMPDIR": str(self.directory)}

    def inspections(self) -> list[Inspection]:
        names = (
            "page_size", "journal_mode", "synchronous", "cache_size", "mmap_size", "wal_autocheckpoint", "busy_timeout",
            "locking_mode", "fullfsync", "checkpoint_fullfsync", "auto_vacuum", "temp_store",
        )  # fmt: skip
        return [Inspection(name=name, sql=f"pragma {name}") for name in names]

    def settings_in_force(self, answers: Sequence[Settings]) -> list[SettingInForce]:
        given = Answers(answers)
        asked = {name: str(value) for name, value in self._settings.items()}

        def pragma(name: str, answer: str | None = None, said: Callable[[str], str] = str) -> SettingInForce:
            return given.compare(name, asked.get(name), f"PRAGMA {answer or name}", answer=answer, said=said)

        return [
            pragma("page_size"),
            pragma("journal_mode"),
            pragma("synchronous", said=lambda v: SYNCHRONOUS[int(v)] if v in ("0", "1", "2", "3") else v),
            pragma("cache_size_kb", "cache_size", lambda v: v[1:] if v.startswith("-") else f"{v} pages"),
            pragma("mmap_size_mb", "mmap_size", lambda v: str(int(v) >> 20)),
            pragma("wal_autocheckpoint_pages", "wal_autocheckpoint"),
            pragma("busy_timeout_ms", "busy_timeout"),
            pragma("locking_mode"),
            pragma("fullfsync"),
            pragma("checkpoint_fullfsync"),
            pragma("auto_vacuum"),
            pragma("temp_store"),
        ]

    def cache_bytes(self, settings: Sequence[SettingInForce], sessions: int) -> int | None:
        """Each session has a cache of its own; its size is in KiB, or in pages where nobody asked for one."""
        size, unit, _ = f"{in_force(settings, 'cache_size_kb')}  ".split(" ", 2)
        page_bytes = number_in_force(settings, "page_size")
        if not size.isdigit() or page_bytes is None:
            return None
        return int(size) * (page_bytes if unit == "pages" else 1024) * sessions

    def seal(self) -> None:
        database = sqlite3.connect(self.directory / FILE)
        try:
            database.execute("pragma wal_checkpoint(truncate)")
            database.execute("pragma journal_mode = delete")
        finally:
            database.close()
        fsync_path(self.directory / FILE)
        fsync_path(self.directory)

    def log(self) -> str:
        return ""

    def integrity(self, ask: Ask) -> Integrity:
        """With the lab's own SQLite, whose file format is the same; see https://sqlite.org/pragma.html."""
        check = "PRAGMA integrity_check"
        try:
            database = sqlite3.connect(self.directory / FILE)
            try:
                found = [str(row[0]) for row in database.execute("pragma integrity_check")]
            finally:
                database.close()
        except sqlite3.OperationalError as error:
            return Integrity(holds="unknown", check=check, said=str(error))
        except sqlite3.DatabaseError as error:  # "database disk image is malformed", "file is not a database"
            return Integrity(holds="broken", check=check, said=str(error))
        return Integrity(holds="holds" if found == ["ok"] else "broken", check=check, said=" / ".join(found[:3]))

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """By the rig's own SQLite, which has dbstat; its session's cache begins empty."""
        began = time.monotonic()
        ask = clearly("sqlite", ask)
        reads = timed_reads(partial(ask, sqlite_statistics.READ), forget)
        told = sqlite_statistics.of_dbstat(reads.answer, ask)
        return told.model_copy(
            update={
                "bytes": sum(file.stat().st_size for file in self.directory.glob(f"{FILE}*")),
                "took_s": time.monotonic() - began,
                "read_s_cold": reads.cold_s,
                "read_s_warm": reads.warm_s,
            }
        )

    def release(self) -> None:
        pass
