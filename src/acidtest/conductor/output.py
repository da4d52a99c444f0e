"""The directory that a run writes to: its journal, and which cells are in it already."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from acidtest import __version__
from acidtest.conductor.rig import DiskFull
from acidtest.errors import AcidtestError, BadInput, cannot_write, message_of
from acidtest.files import refuse_foreign_bytes
from acidtest.journal.models import Header, Journal, Recording
from acidtest.journal.reader import NAME, NAMES
from acidtest.journal.writer import JournalWriter, held
from acidtest.place.trees import is_full
from acidtest.plan import Cell, Plan


def _each(recordings: Sequence[Recording]) -> Collection[str]:
    return {recording.cell for recording in recordings}


@dataclass(frozen=True)
class Output:
    """Where recordings go, and which of those that are there already do not count."""

    directory: Path
    header: Header
    journal: str = NAME  # its file's name
    runs_again: Callable[[Recording], bool] = lambda recording: False
    ended: Callable[[Sequence[Recording]], Collection[str]] = _each  # ids of the cells of which nothing is left to run

    def held(self) -> Journal | None:
        """What is there already, only looked at; None before the first run. Raises BadInput."""
        return held(self.directory, self.header, self.journal, self.counts)

    @contextmanager
    def opened(self) -> Iterator[JournalWriter]:
        """The journal, begun where there is none. What ends the run meanwhile becomes an error for the user.

        Raises BadInput where a disk is full, AcidtestError for any other OSError, and as ``make_directory`` and
        ``JournalWriter``.
        """
        make_directory(self.directory)
        with (
            _fatal_for_users(self.directory),
            JournalWriter(self.directory, self.header, self.journal, self.counts) as writer,
        ):
            yield writer

    def counts(self, recording: Recording) -> bool:
        """Whether it is not run again."""
        return not self.runs_again(recording)

    def remaining(self, plan: Plan, journal: Journal | None) -> list[Cell]:
        """The cells of ``plan`` that ``journal`` does not hold, in their order."""
        ended = self.ended(self.counting(journal))
        return [cell for cell in plan.cells if cell.id not in ended]

    def counting(self, journal: Journal | None) -> list[Recording]:
        """The recordings of ``journal`` that are not run again."""
        return [recording for recording in (journal.recordings if journal else []) if self.counts(recording)]


@contextmanager
def _fatal_for_users(directory: Path) -> Iterator[None]:
    try:
        yield
    except DiskFull as error:
        raise BadInput(f"the disk is full: {error.message}", "free some space and run the same command again") from None
    except OSError as error:
        if is_full(error):
            raise BadInput(
                f"{error.filename or directory}: the disk is full",
                "free some space and run the same command again",
            ) from None
        if error.errno == errno.EBUSY:
            raise AcidtestError(
                f"{error.filename}: could not be released: {error.strerror}",
                "end what uses it, run acidtest clean, then the same command again",
            ) from None
        raise AcidtestError(message_of(error), "repair that, and run the same command again") from None


def header(plan: Plan) -> Header:
    """The first line of a new journal of ``plan``."""
    experiment = plan.experiment
    return Header(
        acidtest_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        experiment=experiment.model_dump(mode="json"),
        digest=experiment.digest(),
        factors={factor: [level.name for level in levels] for factor, levels in experiment.factors.items()},
        base=experiment.base,
        cells=len(plan.cells),
    )


def make_directory(out: Path) -> None:
    """Make ``out`` unless it is there. Raises BadInput where it cannot be written to, or holds what is not ours."""
    refuse_foreign_bytes(out.absolute())
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".acidtest-can-write"
        probe.write_bytes(b"1")
        probe.unlink()
    except FileExistsError:
        raise BadInput(f"{out}: is a file, not a directory", "give another --out") from None
    except OSError as error:
        if is_full(error):
            raise BadInput(f"{out}: the disk is full", "free some space, or give another --out") from None
        raise cannot_write(out, error, "give another --out", into=True) from None
    stranger = next((p for p in out.iterdir() if not _is_ours(p)), None)
    if stranger and not any((out / name).exists() for name in NAMES):
        raise BadInput(f"{out}: holds files that are not acidtest's ({stranger.name})", "give a new or empty --out")


def _is_ours(path: Path) -> bool:
    return path.name in (*NAMES, "report.html", "lost+found") or path.name.startswith("acidtest-")
