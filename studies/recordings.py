"""Recordings that are kept in the repository: a run's journal, compressed, without paths and names of its machine."""

from __future__ import annotations

import json
import lzma
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acidtest.errors import BadInput
from acidtest.files import state_directory
from acidtest.journal import probe, reader
from acidtest.journal.models import Explored, Journal
from acidtest.journal.probe import ProbeRecording
from acidtest.journal.reader import CUTS, NAME, read
from studies.study import ROOT, Command

KEPT = ROOT / "docs" / "studies" / "recordings"
FILES: dict[Command, str] = {"run": NAME, "powercut": CUTS}
LARGEST = 3_000_000  # bytes compressed: what is kept is to be small
# Directories that each Linux has; a path elsewhere is this machine's.
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr")
_PATH = re.compile(r"(?:^|(?<=[\s\"'`(=,;:\[]))/([A-Za-z_.][A-Za-z0-9_.-]*)(?:/[^\s\"'`;,)]*)?")


def path_of(study: str, experiment: str, command: Command = "run") -> Path:
    """Where the recordings of an experiment are kept."""
    return KEPT / study / experiment / f"{FILES[command]}.xz"


def kept(study: str, experiment: str, command: Command = "run") -> Journal | None:
    """The journal that is kept; None where none is."""
    path = path_of(study, experiment, command)
    if not path.exists():
        return None
    with _plain(path) as plain:
        return read(plain)


def explored(study: str, experiment: str) -> list[Explored]:
    """The crash states that the journal of power cuts, if one is kept, says were looked at."""
    path = path_of(study, experiment, "powercut")
    if not path.exists():
        return []
    with _plain(path) as plain:
        return [*reader.explored(plain)]


@contextmanager
def _plain(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / path.stem
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        yield plain


def disk_test(study: str, name: str) -> ProbeRecording | None:
    """The disk test that is kept; None where none is."""
    path = KEPT / study / name / probe.NAME
    return probe.read(path) if path.exists() else None


def keep_disk_test(study: str, name: str, directory: Path) -> Path:
    """Keep the disk test in ``directory``, without this machine's paths. Raises BadInput."""
    (line,) = _stripped(probe.read(directory / probe.NAME).model_dump_json(), directory)
    path = KEPT / study / name / probe.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line, encoding="utf-8")
    return path


def keep(study: str, experiment: str, command: Command, directory: Path) -> Path:
    """Keep the journal of a run in ``directory``, in place of the one that was kept. Raises BadInput where a line names
    something of this machine that cannot be taken out, or the journal is damaged or too large."""
    source = directory / FILES[command]
    journal = read(source)
    if journal.damaged:
        raise BadInput(journal.damaged[0].told)
    lines = [*_stripped(source.read_text(encoding="utf-8"), directory)]
    packed = lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    if len(packed) > LARGEST:
        raise BadInput(f"{source}: {len(packed):,} bytes, packed: too large to keep", "make the experiment smaller")
    path = path_of(study, experiment, command)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    return path


def _stripped(text: str, directory: Path) -> Iterator[str]:
    """The lines of a journal without this machine's paths. Raises BadInput where one stays, or its name does."""
    own = {str(directory.absolute()): "OUT", str(directory.resolve()): "OUT", str(ROOT): "REPOSITORY"}
    own |= {str(state_directory()): "STATE", tempfile.gettempdir(): "TMP"}
    ordered = sorted(own.items(), key=lambda item: -len(item[0]))
    for number, line in enumerate(text.splitlines(), start=1):
        value = _without(json.loads(line), ordered)
        for said in _strings(value):
            if found := told(said):
                raise BadInput(
                    f"line {number} names {found!r}, which is this machine's: {said[:120]!r}",
                    "run it with an --out in the repository's results/, or take the words out in studies/recordings.py",
                )
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def told(text: str) -> str:
    """What of ``text`` is some machine's own: a path outside of the directories that all have, or this host's name."""
    for match in _PATH.finditer(text):
        if match[1] not in SYSTEM:
            return match[0]
    name = socket.gethostname()
    if text == name or (len(name) > 3 and re.search(rf"\b{re.escape(name)}\b", text)):
        return name
    return ""


def _without(value: Any, own: list[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {_without(key, own): _without(of, own) for key, of in value.items()}
    if isinstance(value, list):
        return [_without(one, own) for one in value]
    if isinstance(value, str) and "/" in value:
        for path, word in own:
            value = value.replace(path, word)
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for of in value.values():
            yield from _strings(of)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, str):
        yield value
