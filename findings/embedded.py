"""An embedded Firebird from its wheel, for a program that needs nothing else of it: ``firebird-embedded`` on PyPI.

``begun`` installs the wheel into a folder of its own, and starts the program anew with the environment that the engine
needs. From then on firebird-driver loads that engine.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WHEELS = {"5.0": "5.0.4.4", "4.0": "4.0.7.4", "3.0": "3.0.14.4"}
BEGUN = "FINDING_RUNTIME"
SCRATCH = "FINDING_SCRATCH"
FINISHED = re.compile(r"Validation finished: (\d+) errors, (\d+) warnings")
CHILD = "FINDING_CHILD"  # a process that the program starts and kills


def options(description: str | None) -> argparse.ArgumentParser:
    """Those that every such program has."""
    shared = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared.add_argument("--version", choices=WHEELS, default="5.0", help="the wheel that is installed")
    shared.add_argument("--runtime", help="a folder with libfbclient.so.2, instead of a wheel")
    shared.add_argument("--work", type=Path, help="a folder for wheels and databases; one in memory if none is given")
    return shared


def begun(asked: argparse.Namespace, name: str, settings: Mapping[str, str] | None = None) -> Path:
    """Where the program ``name`` works, once it has begun again with its engine, which firebird-driver then loads;
    ``settings`` are lines of firebird.conf."""
    work = asked.work or _scratch(f"{name}-")
    _start(asked.version, asked.runtime, work, settings or {})
    _load()
    return work


def _start(version: str, runtime: str | None, work: Path, settings: Mapping[str, str]) -> None:
    """Begin again in the engine's environment; ``runtime`` is a folder with libfbclient.so.2, instead of a wheel."""
    if BEGUN in os.environ:
        return
    folder = Path(runtime).resolve() if runtime else _wheel(version, work / "wheels")
    root = work / "root"
    # A copy, for the engine compares the real path of its plugins with the one that it was given.
    shutil.copytree(folder, root, symlinks=True, dirs_exist_ok=True)
    for name in ("lock", "temp", "lib"):
        (root / name).mkdir(exist_ok=True)
    (root / "firebird.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    # 3.0 and 4.0 ask for the older name of the library that Debian calls libtommath1.
    tommath = next(Path("/usr/lib").glob("*/libtommath.so.1"), None)
    if tommath and not (root / "lib" / "libtommath.so.0").exists():
        (root / "lib" / "libtommath.so.0").symlink_to(tommath)
    environment = {
        "FIREBIRD": str(root),
        "FIREBIRD_LOCK": str(root / "lock"),
        "FIREBIRD_TMP": str(root / "temp"),
        "FIREBIRD_MSG": str(root),
        "LD_LIBRARY_PATH": f"{root}:{root / 'lib'}",
        BEGUN: str(root),
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **environment})


def _scratch(prefix: str) -> Path:
    """A new folder in memory where there is one, so that the engine waits for no drive; removed at the end.

    The process begins anew in ``_start``, so its name travels in the environment.
    """
    kept = os.environ.get(SCRATCH)
    folder = Path(kept or tempfile.mkdtemp(prefix=prefix, dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    os.environ[SCRATCH] = str(folder)
    if BEGUN in os.environ and CHILD not in os.environ:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _load() -> None:
    """Tell firebird-driver which library it loads; after ``_start``."""
    from firebird.driver import driver_config  # its import must come after the environment

    driver_config.fb_client_library.value = str(Path(os.environ[BEGUN]) / "libfbclient.so.2")


def _wheel(version: str, under: Path) -> Path:
    folder = under / version
    if not folder.exists():
        wheel = f"firebird-embedded=={WHEELS[version]}"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), wheel]
        subprocess.run(install, check=True)
    return folder / "firebird" / "embedded" / "runtime"


def validated(database: Path) -> dict[str, Any]:
    """What ``gfix -validate -full -no_update`` says: errors and warnings as ``validation``, None where it did not end,
    and ``validation_said`` where it failed."""
    from firebird.driver import DatabaseError, SrvRepairFlag, connect_server

    said: dict[str, Any] = {"validation": None}
    log = Path(os.environ[BEGUN]) / "firebird.log"
    log.write_bytes(b"")
    try:
        with connect_server("", user="SYSDBA") as server:
            full = SrvRepairFlag.VALIDATE_DB | SrvRepairFlag.CHECK_DB | SrvRepairFlag.FULL
            server.database.repair(database=str(database), flags=full)
    except DatabaseError as error:
        said["validation_said"] = " ".join(str(error).split())
    if ended := FINISHED.search(log.read_text(errors="replace")):
        said["validation"] = [int(ended[1]), int(ended[2])]
    return said
