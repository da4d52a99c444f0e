"""Reads a journal: the header, then each cell's recording, the last one of a cell if it was run again."""

from __future__ import annotations

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from acidtest import journal as names
from acidtest.errors import BadInput
from acidtest.journal.models import (
    FORMAT,
    SIZE,
    DamagedLine,
    Explored,
    Forecast,
    Header,
    HostRecord,
    Journal,
    Recording,
)

NAME, CUTS, SEARCH, NAMES = names.NAME, names.CUTS, names.SEARCH, names.NAMES
CELL = re.compile(rb'"cell":("(?:[^"\\]|\\.)+")')
OF_HOST = b'{"kind":"host"'
OF_EXPLORED = b'{"kind":"explored"'
OF_FORECAST = b'{"kind":"forecast"'
TORN = "cut off while it was written"


def read(path: Path) -> Journal:
    """Read the journal file ``path``.

    A damaged line is left out and kept in ``damaged``, so is a last line that a crash cut off, which ``torn_bytes``
    counts too. Raises BadInput for a missing or newer journal, and for one without a header.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no journal here", "give the directory that acidtest run wrote to (--out)") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    whole, torn = split_torn(raw)
    if not whole:
        raise BadInput(f"{path}: the journal is empty", "its run was stopped before it began; run it again")
    lines = BytesIO(whole)  # taken one by one: many thousands of them side by side would be as much again
    header = _header(path, next(lines))
    recordings: dict[str, Recording] = {}
    at: dict[str, int] = {}
    damaged: list[DamagedLine] = []
    hosts: dict[str, HostRecord] = {}
    forecasts: dict[tuple[Any, ...], Forecast] = {}
    measured: set[tuple[Any, ...]] = set()  # sizes of series that have a figure by this line
    shared = _Shared()
    number = 1
    for number, read_line in enumerate(lines, start=2):
        line = read_line.removesuffix(b"\n")
        if line.startswith(OF_EXPLORED):
            continue  # many, and only who goes on with them needs them
        try:
            if line.startswith(OF_HOST):
                host = HostRecord.model_validate_json(line)
                hosts[host.name] = host
                continue
            if line.startswith(OF_FORECAST):
                forecast = Forecast.model_validate_json(line)
                key = (*forecast.levels.items(), forecast.size)
                if key not in measured:  # else it was no forecast
                    forecasts[key] = forecast
                continue
            recording = shared.of(Recording.model_validate_json(line))
        except ValidationError as error:
            damaged.append(_damaged(path, number, line, error))
            recordings.pop(damaged[-1].cell or "", None)  # an earlier one was run again, and does not count
            continue
        recordings.pop(recording.cell, None)
        recordings[recording.cell] = recording
        if recording.status == "done" and SIZE in recording.levels:
            series = ((name, level) for name, level in recording.levels.items() if name != SIZE)
            measured.add((*series, recording.levels[SIZE]))
        at[recording.cell] = number
    if torn:
        damaged.append(DamagedLine(file=str(path), line=number + 1, cell=_cell_of(raw[len(whole) :]), why=TORN))
    return Journal(
        path=str(path),
        header=header,
        recordings=list(recordings.values()),
        hosts=list(hosts.values()),
        forecasts=list(forecasts.values()),
        lines={cell: number for cell, number in at.items() if cell in recordings},
        torn_bytes=torn,
        damaged=[line for line in damaged if line.cell not in recordings],
    )


def explored(path: Path) -> Iterator[Explored]:
    """The crash states that the journal file ``path`` says were looked at, in its order; none where there is no file.

    Damaged lines are left out: their states may be looked at again.
    """
    with contextlib.suppress(FileNotFoundError), path.open("rb") as lines:
        for line in lines:
            if line.startswith(OF_EXPLORED):
                with contextlib.suppress(ValidationError):
                    yield Explored.model_validate_json(line)


class _Shared:
    """Parts that recordings of one run have alike are kept once: of many thousand cells they are most of the memory."""

    PARTS = ("machine", "engine", "place", "workload", "settings", "durability_means")
    LAST = 16  # different values of each, looked through for an equal one

    def __init__(self) -> None:
        self._last: dict[str, deque[Any]] = {name: deque(maxlen=self.LAST) for name in self.PARTS}

    def of(self, recording: Recording) -> Recording:
        """The recording, with what an earlier one has too."""
        update = {name: self._one(last, getattr(recording, name)) for name, last in self._last.items()}
        return recording.model_copy(update=update)

    @staticmethod
    def _one(last: deque[Any], value: Any) -> Any:
        for known in last:
            if known == value:
                return known
        last.append(value)
        return value


def _damaged(path: Path, number: int, line: bytes, error: ValidationError) -> DamagedLine:
    """What is wrong with a line that is no recording. Raises BadInput where a newer acidtest has written it."""
    errors = error.errors()
    where = ".".join(str(part) for part in errors[0]["loc"])
    if all(detail["type"] == "extra_forbidden" for detail in errors):
        raise BadInput(
            f"{path}, line {number}: has a field that this acidtest does not know ({where})", "use a newer acidtest"
        )
    words = ("not JSON",) if errors[0]["type"] == "json_invalid" else ("not a recording", where, errors[0]["msg"])
    return DamagedLine(file=str(path), line=number, cell=_cell_of(line), why=": ".join(filter(None, words)))


def _cell_of(line: bytes) -> str | None:
    """The cell that a damaged line still names."""
    found = CELL.search(line)
    try:
        return str(json.loads(found[1])) if found else None
    except ValueError:
        return None


def split_torn(raw: bytes) -> tuple[bytes, int]:
    """The whole lines of ``raw`` and the number of bytes after them.

    A line is written with its newline in one call, so only a crash leaves bytes after the last newline; a
    last line that has its newline but not its content (a crash of the machine may leave zeros) counts as torn.
    """
    end = raw.rfind(b"\n") + 1
    start = raw.rfind(b"\n", 0, max(end - 1, 0)) + 1
    if end:
        try:
            json.loads(raw[start:end])
        except ValueError:
            end = start
    return raw[:end], len(raw) - end


def _header(path: Path, line: bytes) -> Header:
    try:
        fields = json.loads(line)
        kind, version = fields.get("kind"), fields.get("format")
    except (ValueError, AttributeError):
        kind, version = None, None
    if kind != "header":
        raise BadInput(f"{path}: not an acidtest journal", "give the directory that acidtest run wrote to (--out)")
    if not isinstance(version, int) or version > FORMAT:
        raise BadInput(
            f"{path}: written in format {version}, this acidtest reads up to {FORMAT}", "use a newer acidtest"
        )
    try:
        return Header.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}, line 1: broken header ({where}: {first['msg']})") from None
