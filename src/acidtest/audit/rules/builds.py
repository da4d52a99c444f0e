"""What is compared: word sizes, versions, builds, architectures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib import resources
from itertools import islice

from acidtest.audit.bench import Bench, Binary, Configuration, Side
from acidtest.audit.result_text import and_more
from acidtest.families import PRODUCTS
from acidtest.finding import FAIR, Evidence, Found, rule
from acidtest.settings import alike
from acidtest.words import first_of

DEBUG_VERSION = re.compile(
    r"\d-(?:\w+-)?debug\b", re.IGNORECASE
)  # as MySQL and MariaDB call theirs: "8.0.36-debug-log"
PRE_RELEASE = re.compile(r"\d[ ._-]?(?:alpha|beta|rc|milestone|devel)(?![a-z])", re.IGNORECASE)
GRACE = timedelta(days=60)  # who measures for weeks cannot change the build on the last day
NAMED_MAX = 4  # sides in a sentence
INVESTIGATION = "V. Khorsun, P. Zotov, A. Kovyazin: the investigation of a published Firebird 3 against 4 benchmark"


def named(side: Side, among: Iterable[Side] = ()) -> str:
    """A side as people call it; where another one of ``among`` is called the same, with its folder or file."""
    called = _called(side)
    alike = any(_called(one) == called and one.name != side.name for one in among)
    return f"{called} ({side.name})" if alike and side.engine else called


def _called(side: Side) -> str:
    return " ".join(word for word in (PRODUCTS[side.engine].title if side.engine else side.name, side.version) if word)


def all_named(sides: Iterable[Side], among: Iterable[Side] = ()) -> str:
    """Those sides, together where they are all that are called so."""
    wanted, others = list(sides), list(among)
    those = {side.name for side in wanted}
    apart = {_called(side) for side in others if side.name not in those}
    return listed(named(side, others) if _called(side) in apart else _called(side) for side in wanted)


def listed(names: Iterable[str]) -> str:
    """Each name once, of many the first: the evidence has each. Names of our rows have commas in them."""
    each = list(dict.fromkeys(names))
    return first_of(each, NAMED_MAX, "; " if any("," in name for name in each) else ", ")


@rule(
    "word-size",
    severity="invalid",
    says="Builds of different word size are compared as if they differed in version only.",
    remedy="Compare 64-bit builds with 64-bit builds.",
    disproved_by="a log or a version query of the measured servers that shows other builds",
    source=INVESTIGATION,
)
def word_size(bench: Bench) -> Iterator[Found]:
    servers = [(side, binary) for side in bench.sides for binary in side.servers]
    if len({binary.bits for _, binary in servers}) > 1:
        by_bits = [
            f"{bits}-bit {all_named((side for side, binary in servers if binary.bits == bits), bench.sides)}"
            for bits in dict.fromkeys(binary.bits for _, binary in servers)
        ]
        text = " against ".join(by_bits)
        evidence = tuple(binary.where.says(f"{binary.bits}-bit {binary.machine}") for _, binary in servers)
        yield Found(f"{text}.", evidence)


@dataclass(frozen=True)
class Release:
    """When a release came out, by its project's own release notes."""

    series: str
    version: str
    date: date


@cache
def _releases(engine: str | None) -> tuple[Release, ...]:
    """All of an engine, in order of time; a series is a version without its last number."""
    days = tomllib.loads(resources.files("acidtest.audit").joinpath("releases.toml").read_text(encoding="utf-8"))
    return tuple(
        Release(version.rpartition(".")[0], version, date.fromisoformat(day))
        for day, *versions in map(str.split, days.get(engine or "", "").splitlines())
        for version in versions
    )


def _release(engine: str | None, version: str) -> Release | None:
    """The release that ``version`` is, build number, "-MariaDB" and all; None for one that is not in the table."""
    known = (release for release in _releases(engine) if version.startswith(release.version))
    return next((release for release in known if not version[len(release.version) :][:1].isdigit()), None)


def _newest(engine: str | None, series: str, until: date | None) -> Release | None:
    """The last release of ``series`` that was out on a day."""
    known = (
        release for release in _releases(engine) if release.series == series and (not until or release.date <= until)
    )
    return max(known, key=lambda release: release.date, default=None)


@rule(
    "old-build",
    severity="doubtful",
    says="A build was months behind the newest one of its own series when the newest of the compared builds came out.",
    remedy="Take the newest build of each series.",
    disproved_by="a log or a version query of the measured servers that shows other builds",
    source=INVESTIGATION,
)
def old_build(bench: Bench) -> Iterator[Found]:
    dated = [(side, released) for side in bench.sides if (released := _release(side.engine, side.version))]
    newest = max((released.date for _, released in dated), default=None)
    for side, released in {(side.engine, side.version): (side, released) for side, released in dated}.values():
        later = _newest(side.engine, released.series, newest - GRACE) if newest else None
        if later and later.date > released.date:
            of: tuple[Binary | Configuration, ...] = (*side.binaries, *side.configurations)
            where = next((one.where for one in of if one.version == side.version), None)
            where = where or next((one.where for one in of), None)
            text = (
                f"{named(side)} is of {released.date}; {later.version} of the same series was out by {later.date}, and "
                f"the newest of what is compared is of {newest}."
            )
            yield Found(text, (where.says(f"version {side.version}"),) if where else (Evidence(text),))


def measured(bench: Bench, side: Side) -> Iterator[Evidence]:
    """The first rate that may be of this side: what falls, if the side is not what it should be."""
    of = (one for one in bench.published if one.rate and one.engine in (None, side.engine))
    for one in islice(of, 1):
        yield one.where.says(f"{one.name}: {one.rate:,.1f} a second")


@rule(
    "debug-build",
    severity="invalid",
    says="A debug build is measured: its assertions and missing optimization are what the figures show.",
    remedy="Measure release builds.",
    disproved_by="a log or a version query of the measured servers that shows other builds",
    source="Firebird's and MySQL's build manuals: debug builds are for developers of the engine",
)
def debug_build(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        evidence = tuple(_debug(side))
        if evidence:
            yield Found(f"{named(side, bench.sides)} is a debug build.", (*evidence, *measured(bench, side)))


def _debug(side: Side) -> Iterator[Evidence]:
    """Where it is seen: in a program, in what the server says of how it was built, in its log, in its version."""
    yield from (binary.where.says("a debug build") for binary in side.servers if binary.debug)
    built = side.in_force("debug_assertions")  # PostgreSQL's, which cannot be set
    if built and not built.contested and alike(built.setting.value) == "on":
        yield built.setting.says()
    yield from (entry.where.says(entry.text) for entry in side.log if entry.kind == "debug-build")
    for configuration in side.configurations:
        said = configuration.get("version") or configuration.get("server_version")
        if said and DEBUG_VERSION.search(said.value):
            yield said.says()
    if DEBUG_VERSION.search(side.version) and side.configurations:
        yield side.configurations[0].where.says(f"version {side.version}")


@rule(
    "same-build",
    severity="doubtful",
    says="Two builds that are compared are the same file: whatever differs between them is chance.",
    remedy="Name the other build by its own path. One that is measured twice shows how large chance is.",
    disproved_by="libraries beside that file which differ between the two",
    source=FAIR,
)
def same_build(bench: Bench) -> Iterator[Found]:
    by_identity: dict[str, dict[str, Evidence]] = {}
    for binary in (server for side in bench.sides for server in side.servers if server.identity):
        says = binary.where.says(f"{binary.called}: sha256 {binary.identity[:16]}")
        by_identity.setdefault(binary.identity, {}).setdefault(binary.called, says)
    for named_ in by_identity.values():
        if len(named_) > 1:
            yield Found(f"{' and '.join(named_)} are the same file.", tuple(named_.values()))


@rule(
    "version-mislabelled",
    severity="doubtful",
    says="The name of a result has another version than the server that made it says.",
    remedy="Name results by what the server says of itself.",
    disproved_by="a version query of the measured server with the version in the name",
    source=FAIR,
)
def version_mislabelled(bench: Bench) -> Iterator[Found]:
    wrong: dict[str, Evidence] = {}
    for one in bench.said("platform"):
        kind, _, said = one.text.partition(" ")
        if kind == "server" and (product := said.split()):
            named_ = re.findall(rf"{product[0]}[-_]?v?(\d{{1,2}}(?:\.\d{{1,3}}){{1,2}})", one.where.file, re.IGNORECASE)
            if named_ and not any(f"{product[1]}.".startswith(f"{name}.") for name in named_):
                wrong.setdefault(
                    f"{one.where.file} is called {named_[-1]}, and its server says {said}", one.where.says(said)
                )
    if wrong:
        yield Found(
            f"{next(iter(wrong))}{and_more(len(wrong) - 1, 'file', before='the like in ')}.", tuple(wrong.values())
        )


@rule(
    "pre-release",
    severity="note",
    says="A version before its release is measured: it may hold checks and lack work that the release has.",
    remedy="Measure the release, or say beside each figure that it is of a version before it.",
    disproved_by="a version query of the measured server that shows a release",
    source="PostgreSQL's developers on beta versions: not for production; MySQL's manual on milestone releases",
)
def pre_release(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        told = [(server.where, server.version) for server in side.servers]
        told += [(configuration.where, configuration.version) for configuration in side.configurations]
        if early := [where.says(version) for where, version in told if PRE_RELEASE.search(version)]:
            yield Found(f"{named(side, bench.sides)} is a version before its release.", tuple(early))
