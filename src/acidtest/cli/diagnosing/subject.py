"""What a diagnosis is about: what it was asked for, the database in question, and an engine like the one beneath it."""

from __future__ import annotations

import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from acidtest.audit.importers.engines import ODS_SERIES
from acidtest.cli import init_answers
from acidtest.cli.spans import span
from acidtest.engine import Engine, catalogue
from acidtest.errors import BadInput
from acidtest.families import FIREBIRD, PRODUCTS, SQLITE, of_engine, of_word, product_of_engine
from acidtest.formats import firebird_header, sqlite_header
from acidtest.journal.diagnosis import Audited, Database, Inside, NotLooked
from acidtest.journal.models import Scalar

WAL = 2  # of byte 18 of the header: https://sqlite.org/fileformat.html, 1.3.3
DATA_DIRECTORIES = ("PG_VERSION", "ibdata1")  # what lies in the data directory of a server
LEAST_S = 3.0  # a probe, and what is left for cells to be worth the beginning


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    database: str | None
    config: Path | None
    place: Path | None
    minutes: float
    out: Path | None


@dataclass
class Course:
    """A diagnosis on its way: what was asked for, when it began, and what it could not look at."""

    asked: Asked
    database: Database | None
    place: Path | None
    console: Console
    began: float = field(default_factory=time.monotonic)
    not_looked: list[NotLooked] = field(default_factory=list)

    @property
    def left_s(self) -> float:
        return 60 * self.asked.minutes - (time.monotonic() - self.began)

    def say(self, line: str) -> None:
        self.console.print(f"{line}; {span(max(0.0, self.left_s))} left", markup=False, soft_wrap=True)

    def missing(self, what: str, why: str) -> None:
        self.not_looked.append(NotLooked(what=what, why=why))


def check_out(out: Path) -> None:
    """Raise BadInput where results cannot be kept."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"--out {out}: is there already and not empty", "name a new directory")
    if not out.parent.is_dir():
        raise BadInput(f"--out {out}: {out.parent} is no directory", "make it first, or name another directory")


def database_of(where: str) -> Database:
    """Of a file by its first page; of a server by its URL. Raises BadInput for what is neither."""
    if "://" in where:
        (chosen,) = init_answers.chosen([where])
        return Database(where=chosen.url, family=chosen.family, version="", bytes=None)
    path = Path(where)
    known = "name a database file of Firebird or SQLite, or a server by URL (postgresql://…, mysql://…)"
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            what = "a directory" if stat.S_ISDIR(mode) else "no ordinary file"
            raise BadInput(f"--database {where}: is {what}", known)
        with path.open("rb") as file:
            head = file.read(firebird_header.LENGTH)
        size = path.stat().st_size
    except OSError as error:
        raise BadInput(f"--database {where}: cannot be read: {error.strerror}", known) from None
    whole = str(path.resolve())
    if head.startswith(sqlite_header.MAGIC):
        with suppress(OSError):
            size += path.with_name(f"{path.name}-wal").stat().st_size
        facts: dict[str, Scalar] = {"page_size": sqlite_header.page_size(head)}
        facts["journal_mode"] = "wal" if head[18] == WAL else "delete"
        return Database(where=whole, family=SQLITE.name, version="", bytes=size, facts=facts)
    try:
        page_0 = firebird_header.parse(head)
    except firebird_header.NotAHeader:
        raise BadInput(f"--database {where}: is neither a Firebird nor a SQLite database", known) from None
    ods = page_0.ods_major, page_0.ods_minor
    facts = {"page_size": page_0.page_size, "forced_writes": page_0.forced_writes}
    if page_0.page_buffers:
        facts["page_buffers"] = page_0.page_buffers
    return Database(where=whole, family=FIREBIRD.name, version=ODS_SERIES.get(ods, ""), bytes=size, facts=facts)


def place_of(asked: Asked, database: Database | None) -> Path | None:
    """Where the scratch directory goes; None where nobody knows where the server has its files."""
    if asked.place is not None:
        if not asked.place.is_dir():
            if ":/" in str(asked.place):  # a path keeps one slash of a URL's two; there may be a password in it
                raise BadInput("the place is a URL, no directory", "give a server as --database URL")
            meant = f"did you mean --database {asked.place}? Else " if asked.place.is_file() else ""
            raise BadInput(f"{asked.place}: is no directory", f"{meant}name a directory on the drive in question")
        if file := next((name for name in DATA_DIRECTORIES if (asked.place / name).exists()), ""):
            raise BadInput(
                f"{asked.place}: is the data directory of a server, by its {file}: nothing is written there",
                "name a directory beside it, on the same file system",
            )
        return asked.place
    if database is None:
        return Path()
    return None if database.bytes is None else Path(database.where).parent


def product_of(course: Course, audited: Audited | None, inside: Inside | None) -> tuple[str, str]:
    """The engine in question as people name it, and its version; "" where it is not known."""
    version = audited.version if audited else ""
    is_server = course.database is not None and course.database.bytes is None
    if inside and is_server and (release := re.search(r"\d+(\.\d+)*", inside.looked_at)):
        version = release[0]  # it has answered itself
    version = version or (course.database.version if course.database else "") or _of_data(course.asked.config)
    if audited and audited.engine:
        return audited.engine, version
    if course.database is None:
        return "", ""
    if is_server:  # its scheme names the product
        word = course.database.where.partition("://")[0]
        return next((name for name in PRODUCTS if name == word), course.database.family), version
    return course.database.family, course.database.version


def _of_data(directory: Path | None) -> str:
    """The version that a data directory of PostgreSQL names; "" where it is none."""
    try:
        version = (directory / "PG_VERSION").read_text(encoding="ascii").strip() if directory else ""
    except (OSError, UnicodeDecodeError):
        return ""
    return version if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", version) else ""


def engine_of(product: str, version: str) -> tuple[Engine, bool | None]:
    """An engine of that product that can run here, of the user's version or the nearest; and whether it is that.

    Raises BadInput where there is none.
    """
    ready = [
        offer.id
        for offer in catalogue.offers()
        if offer.lack() is None and (one := product_of_engine(offer.id)) is not None and one.name == product
    ]
    if not ready:
        family = of_word(product)
        ready = [
            offer.id
            for offer in catalogue.offers()
            if offer.lack() is None and family is not None and of_engine(offer.id) is family
        ]
    if not ready:
        raise BadInput(f"no engine of {product} is installed: acidtest engines lists which can be")
    if version:
        same = [one for one in ready if f"{version}.".startswith(f"{_number(one)}.")]
        if same:
            return catalogue.find(same[0]), True
    wanted = _parts(version)

    def distance(id: str) -> tuple[list[int], list[int], int]:  # noqa: A002
        """Smaller is nearer; of two that are as near the newer one."""
        own = _parts(_number(id))
        return [abs(a - b) for a, b in zip(own, wanted, strict=False)], [-part for part in own], len(id)

    nearest = min(ready, key=distance)
    if product == SQLITE.name:
        return catalogue.find(nearest), None
    return catalogue.find(nearest), False if version else None


def _parts(number: str) -> list[int]:
    return [int(part) for part in number.split(".") if part.isdigit()]


def _number(id: str) -> str:  # noqa: A002
    """ "5.0" of "firebird-5.0-server"."""
    return ([*id.split("-"), ""])[1]
