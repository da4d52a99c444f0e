"""Reads a journal: the header, then each cell's recording, the last one of a cell if it was run again."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from acidtest.errors import BadInput
from acidtest.journal.models import FORMAT, Header, Journal, Recording

NAME = "journal.jsonl"
CUTS = "cuts.jsonl"  # of power cuts: beside the journal of a run of the same experiment, if there is one


def read(path: Path) -> Journal:
    """Read the journal file ``path``.

    A last line that a crash cut off is left out and counted in ``torn_bytes``; a broken line anywhere else
    means that something else wrote to the file, and raises BadInput, as does a missing or newer journal.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no journal here", "give the directory that acidtest run wrote to (--out)") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    whole, torn = split_torn(raw)
    lines = whole.splitlines()
    if not lines:
        raise BadInput(f"{path}: the journal is empty", "its run was stopped before it began; run it again")
    header = _header(path, lines[0])
    recordings: dict[str, Recording] = {}
    at: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            recording = Recording.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise BadInput(f"{path}, line {number}: not a recording ({where}: {first['msg']})") from None
        recordings.pop(recording.cell, None)
        recordings[recording.cell] = recording
        at[recording.cell] = number
    return Journal(path=str(path), header=header, recordings=list(recordings.values()), lines=at, torn_bytes=torn)


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
