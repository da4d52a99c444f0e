"""One database. Settings are pragmas, set on every session and asked for again on every session."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from acidtest.engine.base import Ask, Forget, Instance, filled
from acidtest.engine.compare import Answers, in_force, number_in_force
from acidtest.engine.inspection import clearly, timed_reads
from acidtest.engine.sqlite import inspection
from acidtest.engine.sqlite.durability import synchronous_of
from acidtest.engine.sqlite.settings import SPECS, SYNCHRONOUS, SqliteTarget
from acidtest.errors import CellFailed
from acidtest.files import fsync_path
from acidtest.formats import sqlite_header
from acidtest.journal.models import DatabaseStatistics, Integrity, Scalar, SettingInForce
from acidtest.journal.protocol import Inspection, Settings
from acidtest.words import counted

FILE = "database.db"


class SqliteInstance(Instance):
    """``library`` is that of a build of the user's; None: the SQLite that is linked into the rig."""

    def __init__(
        self,
        engine_id: str,
        directory: Path,
        settings: Mapping[str, Scalar],
        durability: str,
        library: Path | None = None,
    ) -> None:
        self._id = engine_id
        self.directory = directory
        self._library = library
        self._settings = filled(SPECS, settings)
        if "page_size" not in settings and (bytes_ := sqlite_header.read_page_size(directory / FILE)):
            self._settings["page_size"] = bytes_  # where nobody has asked for one, a database that is there has its own
        self._settings["synchronous"] = synchronous_of(durability, str(self._settings["journal_mode"]))

    def database_files(self) -> list[Path]:
        return [self.directory / FILE]

    def log_files(self) -> list[Path]:
        return [self.directory / f"{FILE}-wal"] if self._settings["journal_mode"] == "wal" else []

    def log_limit_bytes(self, settings: Sequence[SettingInForce]) -> int | None:
        """A checkpoint is made at so many pages; with 0 never."""
        pages, page_bytes = (number_in_force(settings, name) for name in ("wal_autocheckpoint_pages", "page_size"))
        return pages * (page_bytes + inspection.FRAME_HEADER) if pages and page_bytes else None

    def target(self) -> SqliteTarget:
        settings = self._settings
        setup = [f"pragma page_size = {settings['page_size']}"]  # before the first table, and before wal
        if "wal_autocheckpoint_pages" in settings:
            setup.append(f"pragma wal_autocheckpoint = {settings['wal_autocheckpoint_pages']}")
        if "cache_size_kb" in settings:
            setup.append(f"pragma cache_size = -{settings['cache_size_kb']}")  # negative: KiB instead of pages
        if "mmap_size_mb" in settings:
            setup.append(f"pragma mmap_size = {int(str(settings['mmap_size_mb'])) << 20}")
        setup += [f"pragma {name} = {settings[name]}" for name in ("locking_mode", "journal_mode", "synchronous")]
        return SqliteTarget(
            library=str(self._library) if self._library else None,
            path=str(self.directory / FILE),
            setup=setup,
            busy_timeout_ms=int(str(settings["busy_timeout_ms"])),
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

        def pragma(name: str, answer: str | None = None, translate: Callable[[str], str] = str) -> SettingInForce:
            return given.compare(name, asked.get(name), f"PRAGMA {answer or name}", answer=answer, translate=translate)

        return [
            pragma("page_size"),
            pragma("journal_mode"),
            pragma("synchronous", translate=lambda v: SYNCHRONOUS[int(v)] if v in ("0", "1", "2", "3") else v),
            pragma("cache_size_kb", "cache_size", lambda v: v[1:] if v.startswith("-") else counted(int(v), "page")),
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

    def _own(self, pragma: str) -> list[str]:
        """What the lab's own SQLite, whose file format is the same, answers to a pragma. Raises sqlite3.Error."""
        with closing(sqlite3.connect(self.directory / FILE)) as database:
            return [str(row[0]) for row in database.execute(f"pragma {pragma}")]

    def seal(self) -> None:
        try:
            self._own("wal_checkpoint(truncate)")
            self._own("journal_mode = delete")
        except sqlite3.Error as error:  # of a build that writes another format
            raise CellFailed(f"{self.directory / FILE}: could not be sealed with Python's SQLite: {error}") from None
        fsync_path(self.directory / FILE)
        fsync_path(self.directory)

    def stop(self) -> None:
        """Nothing runs; what lies in its log is written into the database, as the end of the last session would do."""
        try:
            self._own("wal_checkpoint(truncate)")
        except sqlite3.Error as error:
            raise CellFailed(f"{self.directory / FILE}: {error}") from None

    def log(self) -> str:
        return ""

    def integrity(self, ask: Ask) -> Integrity:
        """See https://sqlite.org/pragma.html."""
        check = "PRAGMA integrity_check"
        try:
            messages = self._own("integrity_check")
        except sqlite3.OperationalError as error:
            return Integrity(holds="unknown", check=check, said=str(error))
        except sqlite3.DatabaseError as error:  # "database disk image is malformed", "file is not a database"
            return Integrity(holds="broken", check=check, said=str(error))
        return Integrity(holds="holds" if messages == ["ok"] else "broken", check=check, said=" / ".join(messages[:3]))

    def statistics(self, ask: Ask, forget: Forget | None = None) -> DatabaseStatistics:
        """By dbstat, which the rig's own SQLite has; its session's cache begins empty."""
        began = time.monotonic()
        ask = clearly(self._id, ask)
        try:
            reads = timed_reads(partial(ask, inspection.READ), forget)
        except CellFailed as error:
            if "no such table: dbstat" not in error.message:
                raise
            raise CellFailed(
                f"{self._id}: could not take its statistics: this build has no dbstat",
                "build it with SQLITE_ENABLE_DBSTAT_VTAB, or write statistics = false in [growth]",
            ) from None
        figures = inspection.of_dbstat(self._id, reads.answer, ask)
        figures.bytes = sum(file.stat().st_size for file in self.directory.glob(f"{FILE}*"))
        return reads.time(figures, began)

    def release(self) -> None:
        pass
