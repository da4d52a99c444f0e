"""The memory side of one cell: its limit, how its file cache begins, the access hint, and what was seen of them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from acidtest.conductor.instruments import Instrument
from acidtest.conductor.recording import CellOutcome
from acidtest.engine import Instance
from acidtest.errors import CellFailed
from acidtest.experiment import PlaceSpec
from acidtest.journal.models import Memory, SettingInForce
from acidtest.journal.protocol import Event, Result, Settings
from acidtest.place import Ledger, filecache, hint
from acidtest.place import cgroup as cgroups
from acidtest.place.cgroup import Cgroup, Launched
from acidtest.place.filecache import Residency
from acidtest.place.hint import Hint
from acidtest.place.sampler import Sampler
from acidtest.words import counted

COLD_SHARE_MAX = 0.01  # of the database's pages that may be left: what a process has mapped cannot be dropped
READ_S = 3600.0


def admit(places: Iterable[PlaceSpec]) -> None:
    """Raise MachineLacks, with the command to give, for what no cell could have here."""
    for place in places:
        if place.memory_mb is not None:
            cgroups.here()
            if place.swap_mb:
                cgroups.may_swap(place.swap_mb << 20)
        if place.start == "cold-machine":
            filecache.may_drop_machine()
        if place.access != "as-engine":
            hint.may_hint()


def asked(place: PlaceSpec) -> list[str]:
    """The keys of this module that ``place`` sets."""
    default = PlaceSpec()
    return [key for key in ("memory_mb", "swap_mb", "start", "access") if getattr(place, key) != getattr(default, key)]


class CellMemory(Instrument):
    """One cell's memory: entered before its engine is made ready, left when that has ended.

    Where the place asks for none of it, nothing is made and nothing sampled, so that nothing is disturbed.
    """

    def __init__(self, place: PlaceSpec, ledger: Ledger, *, sessions: int = 1) -> None:
        """``sessions`` are the terminals', by which the engine's cache may grow."""
        self._place, self._sessions = place, sessions
        self._ledger = ledger
        self._cgroup: Cgroup | None = None
        self._limit_bytes: int | None = None
        self._swap: str | None = None
        self._swap_bytes: int | None = None  # that may be swapped out, as read back
        self._inside: set[int] = set()  # processes of the engine that were seen in the control group
        self._outside: set[int] = set()  # and those that were seen outside of it
        self._hint: Hint | None = None
        # Pages that the lab cached when it made the copy are not charged to the engine: they would be memory beyond
        # the limit, so with a limit they are dropped in any case.
        self._start = "cold" if place.memory_mb is not None and place.start == "as-left" else place.start
        self._asked = bool(asked(place))
        self._at_start: Residency | None = None
        self._sampler: Sampler | None = None
        self._instance: Instance | None = None
        self._ran: tuple[float, float] | None = None  # when the measurement began and ended
        self._peak_bytes: int | None = None
        self._killed = 0
        self.launched = Launched(ledger, None)  # starts the engine's processes

    def __enter__(self) -> CellMemory:
        if self._place.memory_mb is not None:
            self._cgroup = Cgroup(self._ledger, self._place.memory_mb << 20, swap_bytes=self._place.swap_mb << 20)
            self._limit_bytes, self._swap = self._cgroup.limit_bytes, self._cgroup.swap
            self._swap_bytes = self._cgroup.swap_bytes
            self.launched = Launched(self._ledger, self._cgroup)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()
        if self._cgroup:
            self._killed, self._peak_bytes = self._cgroup.killed, self._cgroup.peak_bytes
            self._cgroup.release()

    @property
    def stays_untouched(self) -> bool:
        """Whether nothing may read the database between start and run, for the file cache is as it was asked for."""
        return self._start != "as-left"

    def begin(self, instance: Instance) -> None:
        """Make the file cache as it was asked for, and watch. ``instance`` is ready and not started yet."""
        if not self._asked:
            return
        self._instance = instance
        paths = [path.resolve() for path in instance.database_files()]  # on a raw device it is a link to it
        files = filecache.files_below(paths)
        if self._start == "cold-machine":
            filecache.drop_machine()
        if self._start == "cold" or (self._cgroup and self._start == "warm"):
            filecache.drop(files)
        if self._start == "warm":
            self._read_inside(files) if self._cgroup else filecache.read_through(files)
        self._at_start = filecache.residency(files)
        if self._place.access != "as-engine":
            self._hint = Hint(self._place.access, paths)
        self._sampler = Sampler(paths, self.launched, self._cgroup, self._hint)
        self._sampler.start()

    def _read_inside(self, files: list[Path]) -> None:
        """Read the files by a process of the control group, so that their pages are charged to it."""
        with Path(os.devnull).open("wb") as nowhere:
            id, process = self.launched.start_process(  # noqa: A001
                ["cat", "--", *map(str, files)], environment=os.environ, stderr=nowhere, stdout=nowhere
            )
            try:
                if process.wait(timeout=READ_S) != 0:
                    raise CellFailed('place.start = "warm": the database could not be read into the file cache')
            except subprocess.TimeoutExpired:
                raise CellFailed(f'place.start = "warm": reading the database took over {READ_S:.0f} s') from None
            finally:
                self.launched.end_process(id, process)

    def look(self) -> None:
        """See which of the engine's processes are in the control group, while its sessions are open."""
        if self._cgroup:
            inside, outside = self.launched.seen()
            self._inside.update(inside)
            self._outside.update(outside)

    def hear(self, event: Event, outcome: CellOutcome) -> None:
        if isinstance(event, Settings):
            self.look()
        elif isinstance(event, Result):  # what follows is not sampled
            now = time.monotonic()
            self.look()
            self._ran = (now - event.measured_s, now)
            self._end()

    def _end(self) -> None:
        if self._sampler:
            self._sampler.stop()

    def record(self, outcome: CellOutcome) -> None:
        """Nothing where no memory was asked for, or the cell did not come so far."""
        outcome.out_of_memory, outcome.memory_settings = self.wrong(), self.settings()
        if self._sampler is None or self._at_start is None or self._instance is None:
            return
        outcome.memory = Memory(
            limit_bytes=self._limit_bytes if self._holds else None,
            limit_source=f"cgroup v{self._cgroup.version}" if self._cgroup else None,
            swap=self._swap,
            peak_bytes=self._peak_bytes,
            killed=self._killed,
            start=self._start,
            resident_bytes_at_start=self._at_start.resident_bytes,
            residency_source=self._at_start.source,
            pressure_source=self._sampler.pressure_source,
            access=self._place.access,
            hinted_descriptors=self._hint.descriptors if self._hint else 0,
            cache_bytes=self._instance.cache_bytes(outcome.settings, self._sessions),
            samples=self._sampler.samples(*self._ran) if self._ran else [],
        )

    def settings(self) -> list[SettingInForce]:
        """What was asked of the memory against what was read back."""
        settings = []
        if self._cgroup and self._place.memory_mb is not None:
            asked, in_force = str(self._place.memory_mb), self._limit_in_force()
            settings.append(
                _setting("memory_mb", asked, in_force, f"cgroup v{self._cgroup.version}", in_force == asked)
            )
        if self._cgroup and self._place.swap_mb:
            in_force = "unknown" if self._swap_bytes is None else f"{self._swap_bytes / (1 << 20):g}"
            asked = str(self._place.swap_mb)
            settings.append(_setting("swap_mb", asked, in_force, f"cgroup v{self._cgroup.version}", in_force == asked))
        if at := self._at_start:
            cached = f"{self._start} ({at.resident_bytes / 1e6:.3g} of {at.file_bytes / 1e6:.3g} MB in the file cache)"
            kept = self._start not in ("cold", "cold-machine") or at.share <= COLD_SHARE_MAX
            asked = self._place.start
            settings.append(_setting("start", asked if asked == self._start else None, cached, at.source, kept))
        if self._hint and self._ran:
            count = self._hint.descriptors
            given = f"{self._place.access}, on {counted(count, 'descriptor')}" if count else "on no descriptor"
            source = "posix_fadvise, which cannot be read back"
            settings.append(_setting("access", self._place.access, given, source, count > 0))
        return settings

    @property
    def _holds(self) -> bool:
        """Whether all of the engine's processes that were seen were in the control group."""
        return bool(self._inside) and not self._outside

    def _limit_in_force(self) -> str:
        if self._limit_bytes is None:
            return "no limit"
        if not self._inside:
            return "no limit: no process of the engine was seen in the control group"
        if self._outside:
            return f"no limit for {len(self._outside):,} of the engine's processes, seen outside of the group"
        return f"{self._limit_bytes / (1 << 20):g}"

    def wrong(self) -> str | None:
        """Why the cell's numbers must not be used whatever else became of it, or None."""
        if not self._killed:
            return None
        return (
            f"place.memory_mb = {self._place.memory_mb}: the kernel killed {self._killed:,} of the engine's "
            "processes: the engine needs more memory than that"
        )


def _setting(name: str, asked: str | None, in_force: str, source: str, agrees: bool) -> SettingInForce:
    return SettingInForce(name=f"place.{name}", asked=asked, in_force=in_force, agrees=agrees, source=source)
