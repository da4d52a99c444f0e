"""Builds of the user's, made of what tests have anyway: engines that acidtest brings, and the source of the rig's SQLite.

The contract suites run over one of each family, see ``families``.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from acidtest.engine import Engine, catalogue, debian, install
from acidtest.engine.builds import Wanted
from acidtest.engine.firebird.server import FirebirdServer

SQLITE_OPTIONS = ("-DSQLITE_ENABLE_DBSTAT_VTAB", "-DSQLITE_THREADSAFE=1")  # dbstat for its statistics


@dataclass(frozen=True)
class Build:
    """``product`` and ``mode`` are as ``acidtest engines add`` takes them; ``path`` makes it where it is not there."""

    product: str
    path: Callable[[], Path]
    mode: str = ""

    def engine(self, name: str) -> Engine:
        """The engine that it is, under this name."""
        return catalogue.build(Wanted(name, self.product, self.path(), self.mode))


def brought(engine: str) -> Callable[[], Path]:
    """The folder of an engine that acidtest has brought."""
    return lambda: install.home(engine)


def installed(engine: str) -> Callable[[], Path]:
    """The folder of an engine that is here, the system's or brought."""
    return lambda: Path(catalogue.describe(engine).offer().path)


def sqlite_library(*options: str) -> Path:
    """A shared library of the SQLite whose source the rig is built from, with these options besides; made once."""
    source = sqlite_source()
    options = (*SQLITE_OPTIONS, *options)
    told = hashlib.sha256(f"{source} {source.stat().st_mtime_ns} {options}".encode()).hexdigest()[:16]
    library = _made() / f"libsqlite3-{told}.so"
    _once(library, ["cc", "-O0", "-g0", "-fPIC", "-shared", *options, str(source), "-lm"])
    return library


def sqlite_source() -> Path:
    """As Cargo has unpacked it."""
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    return max(cargo.glob("registry/src/*/libsqlite3-sys-*/sqlite3/sqlite3.c"))


def firebird_server() -> Path:
    """An installation as the Firebird project lays it out: the engine of the wheel, and Debian's server of the same
    release, which a program of three lines starts by the loader of its folder."""
    engine = catalogue.describe("firebird-4.0-server")
    assert isinstance(engine, FirebirdServer)
    prefix = _made() / "firebird-4.0"
    with (_made() / ".firebird-4.0.lock").open("w") as lock:  # nothing is linked anew beneath a server at work
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (prefix / "bin" / "firebird").is_file():
            _lay_out(engine, prefix)
    return prefix


def _lay_out(engine: FirebirdServer, prefix: Path) -> None:
    runtime, server = engine.client, engine.folder.resolve()
    for folder in ("lib", "plugins", "bin"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    for library in (*runtime.path.glob("*.so*"), *runtime.links.glob("*.so*")):
        _link(prefix / "lib" / library.name, library.resolve())
    for plugin in (runtime.path / "plugins").glob("*.so"):
        _link(prefix / "plugins" / plugin.name, plugin.resolve())
    for name in ("firebird.msg", "intl", "tzdata"):
        _link(prefix / name, (runtime.path / name).resolve())
    loader, _, libraries, program = debian.command(server, server / engine.program.relative_to(engine.folder))
    start = _made() / "firebird.c"
    libraries = f"{libraries}:{prefix / 'lib'}"
    start.write_text(
        "#include <unistd.h>\nint main(void) "
        f'{{ execl("{loader}", "firebird", "--library-path", "{libraries}", "{program}", (char *)0); return 1; }}\n'
    )
    _once(prefix / "bin" / "firebird", ["cc", "-O0", str(start)])


def _made() -> Path:
    """Beside the engines that all workers share."""
    made = (install.home("any").parent.resolve() / ".of-tests").resolve()
    made.mkdir(exist_ok=True)
    return made


def _once(target: Path, compiler: list[str]) -> None:
    with (target.parent / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_file():
            unfinished = target.with_name(f".{target.name}")
            subprocess.run([*compiler, "-o", str(unfinished)], check=True, capture_output=True, timeout=600)
            unfinished.rename(target)


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
