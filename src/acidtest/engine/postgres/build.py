"""A PostgreSQL of the user's own: an installation prefix, a distribution's folder, an unpacked archive, or a build tree
that was installed into its own ``tmp_install``, as its tests do."""

from __future__ import annotations

from pathlib import Path

from acidtest.engine import builds
from acidtest.engine.builds import BuildDetails, UserBuild, Wanted
from acidtest.engine.postgres.engine import Postgres
from acidtest.engine.postgres.instance import environment
from acidtest.engine.postgres.versions import VERSIONS, Version

DEEPEST = 6  # folders of tmp_install down to bin: usr/local/pgsql
OPTIONS = ("configure", "cc", "cflags", "ldflags")  # of pg_config(1)
SLOW = ("--enable-cassert", "cassert=true", "-O0")  # in what pg_config tells
CATALOG = "postgres.bki"  # of share; initdb begins with it
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]


class PostgresBuild(UserBuild, Postgres):
    """The server of one installation."""

    def __init__(self, wanted: Wanted) -> None:
        programs = _programs(wanted)
        self.libraries = _libraries(programs)
        details = _details(wanted, programs, self.libraries)
        version = Version(builds.numbers(details.release)[0], "")
        Postgres.__init__(self, version, programs.parent)
        self._programs = programs
        self.take(wanted, details)

    @property
    def programs(self) -> Path:
        return self._programs


def _programs(wanted: Wanted) -> Path:
    """The folder with ``postgres`` and ``initdb``."""
    path = wanted.path
    folders = [path / "bin", path]
    for depth in range(DEEPEST):
        folders += sorted((path / "tmp_install").glob("*/" * depth + "bin"))
    program = builds.first_file(folders, ["postgres"])
    if program is None:
        if (path / "src" / "backend" / "postgres").is_file() or (path / "src" / "backend" / "meson.build").is_file():
            raise wanted.refuse(
                f"{path} is a build tree from which nothing was installed",
                "make install there (or ninja install), and name the prefix",
            )
        raise builds.nothing_there(wanted, "there is no bin/postgres")
    builds.check_binary(wanted, program)
    if not (program.parent / "initdb").is_file():
        raise wanted.refuse(f"{program.parent} has no initdb", "install the whole of PostgreSQL there")
    return program.parent


def _libraries(programs: Path) -> Path | None:
    """The folder of the build's own libpq, which initdb asks for: a prefix may have been moved since it was built."""
    found = builds.first_file(
        [programs.parent / name for name in ("lib", "lib64", "lib/x86_64-linux-gnu")], ["libpq.so.5"]
    )
    return found.parent if found else None


def _details(wanted: Wanted, programs: Path, libraries: Path | None) -> BuildDetails:
    own = environment(libraries)
    # postgres (PostgreSQL) 19devel
    text = builds.said_by(wanted, [str(programs / "postgres"), "--version"], own).strip()
    release = text.partition("(PostgreSQL) ")[2].partition(" (")[0]
    numbers = builds.numbers(release)
    if not numbers:
        raise wanted.refuse(f'{programs / "postgres"} says "{text[:100]}", and no version of PostgreSQL')
    if numbers[0] < OLDEST.major:
        raise wanted.refuse(f"PostgreSQL {release} is older than any that acidtest can run ({OLDEST.major})")
    builds.said_by(wanted, [str(programs / "initdb"), "--version"], own)
    series = Version(min(numbers[0], NEWEST.major), "").id
    doubts = []
    if numbers[0] > NEWEST.major:
        doubts.append(builds.unknown_series(wanted, release, series, str(NEWEST.major), is_newer=True))
    options = []
    if (program := programs / "pg_config").is_file():
        for option in OPTIONS:
            options.append(f"{option}: {builds.said_by(wanted, [str(program), f'--{option}'], own).strip()}")
        share = Path(builds.said_by(wanted, [str(program), "--sharedir"], own).strip())
    else:
        share = programs.parent / "share"
    if how := next((how for how in SLOW if any(how in option for option in options)), None):
        doubts.append(builds.slow(wanted, how))
    _check_share(wanted, programs, share)
    return BuildDetails(programs / "postgres", release, builds.listed(options), series, tuple(doubts))


def _check_share(wanted: Wanted, programs: Path, share: Path) -> None:
    """Raise BadInput unless the catalogue is where PostgreSQL looks for it, seen from its programs."""
    prefix = programs.parent
    places = [share, prefix / "share", prefix / "share" / "postgresql"]
    places.append(prefix.parent.parent.parent / "share" / "postgresql" / prefix.name)  # as Debian has it
    if builds.first_file(places, [CATALOG]) is None:
        raise wanted.refuse(
            f"{prefix} has no share/{CATALOG}, which initdb begins with",
            "name an installation with its share folder: a copy needs it too",
        )
