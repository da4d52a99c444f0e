"""Brings a program of a Debian package with its libraries into a folder of its own, which runs on any Linux.

Nothing is installed into the system and nothing of the system is used: the folder has its own C library and dynamic
loader, so that a package of a newer or older Debian runs. What arrives is what Debian signed: the suite's ``InRelease``
is checked with Debian's keyring, the index of its packages by the sums in there, each package by the sum in the index.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from acidtest.engine.archives import fetch, reaching
from acidtest.errors import MachineLacks
from acidtest.files import fsync_path
from acidtest.formats import debian, elf
from acidtest.formats.debian import Index, Package, version_key
from acidtest.words import counted

ARCHIVE = "https://deb.debian.org/debian"
VARIABLE = "ACIDTEST_DEBIAN_ARCHIVE"
SUITES = ("stable", "testing", "unstable")
KEYRINGS = tuple(
    Path("/usr/share/keyrings") / f"debian-archive-keyring.{kind}" for kind in ("gpg", "pgp")
)  # the package has moved from one name to the other
ARCHITECTURES = {
    "x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el", "riscv64": "riscv64", "s390x": "s390x"
}  # by machine of uname(2)  # fmt: skip
LIBRARIES = ("libs", "oldlibs")  # sections that are followed; what else a package depends on serves its installation
MANIFEST = "debian.json"
UNWANTED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "etc/init.d/")
OTHER_WAYS = "take an engine of another series, or name an installation of this one by its path"
LOADERS = re.compile(r"ld-linux[-\w]*\.so\.\d+|ld64\.so\.\d+")
_READ: dict[tuple[str, str, str], Index] = {}  # by this process, for the engines that are brought after the first


@dataclass(frozen=True)
class Brought:
    """What lies in a folder: read back from it, so that it holds for recordings of later days."""

    suite: str
    packages: tuple[tuple[str, str, str], ...]  # name, Debian's version, sha256; first the one that was asked for
    asked: tuple[str, ...] = ()  # names of packages, also of those that the suite did not have

    @property
    def version(self) -> str:
        return self.packages[0][1]

    def lacks(self, wanted: Iterable[str]) -> list[str]:
        """Those of the packages ``wanted`` that an older acidtest did not ask for yet."""
        known = {*self.asked, *(name for name, _, _ in self.packages)}
        return [name for name in wanted if name not in known]

    @property
    def source(self) -> str:
        name, version, sha256 = self.packages[0]
        return f"Debian {self.suite}, {name} {version}, sha256 {sha256[:16]}"


def archive() -> str:
    """``$ACIDTEST_DEBIAN_ARCHIVE``, else the archive that apt is set up with, else Debian's own."""
    return (os.environ.get(VARIABLE) or _of_apt(Path("/etc/apt")) or ARCHIVE).rstrip("/")


def _of_apt(directory: Path) -> str | None:
    """The first archive of Debian itself in apt's sources; see sources.list(5)."""
    files = [directory / "sources.list", *sorted((directory / "sources.list.d").glob("*"))]
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        for line in lines:
            if match := re.match(r"\s*(?:deb\s+(?:\[[^\]]*\]\s*)?|URIs:\s*)(https?://\S+?/debian)/?(?:\s|$)", line):
                return match[1]
    return None


def bring(
    id: str,  # noqa: A002
    series: str,
    wanted: Sequence[str],
    work: Path,
    say: Callable[[str], None],
    architecture: str | None = None,
) -> Path:
    """Fill a folder below ``work`` with the packages ``wanted`` and the libraries that they need, and return it.

    ``series`` is what the first package's version begins with ("11.8"); of the suites that have it the one with the
    newest serves. ``architecture`` is Debian's name of one other than the machine's own, whose programs it runs too.
    Raises MachineLacks where none has it, where it cannot be brought, and where it is not what Debian signed.
    """
    root, architecture = archive(), architecture or _architecture(id)
    suite, index = _suite(id, root, architecture, series, wanted[0], work, say)
    packages = list(_closure(index, wanted))
    megabytes = sum(package.size for package in packages) / 1e6
    say(f"{id}: bringing {counted(len(packages), 'package')} ({megabytes:.0f} MB) of Debian {suite} from {root}")
    folder = work / "unpacked"
    for package in packages:
        file = work / "package.deb"
        if _fetched(id, f"{root}/{quote(package.filename)}", file) != package.sha256:
            raise MachineLacks(f"{id}: {package.filename} is not what Debian's index says", "try again")
        try:
            _unpack(file, folder)
        except (debian.NotDeb, tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise MachineLacks(f"{id}: {package.filename} is broken: {error}", "try again") from None
    brought = Brought(
        suite, tuple((package.name, package.version, package.sha256) for package in packages), tuple(wanted)
    )
    (folder / MANIFEST).write_text(json.dumps(asdict(brought), indent=1) + "\n", encoding="utf-8")
    fsync_path(folder / MANIFEST)
    return folder


def brought(folder: Path) -> Brought:
    """What was brought into ``folder``. Raises OSError where it does not say so."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        packages = tuple((str(name), str(version), str(sha256)) for name, version, sha256 in content["packages"])
        if not packages:
            raise ValueError("it names no package")
        return Brought(str(content["suite"]), packages, tuple(map(str, content.get("asked", ()))))
    except (ValueError, TypeError, KeyError) as error:
        raise OSError(f"{folder / MANIFEST} is broken: {error}") from None


def command(folder: Path, program: Path) -> list[str]:
    """How ``program`` of ``folder`` is started: by the folder's own dynamic loader, with its own libraries.

    Raises OSError where the loader is gone.
    """
    return [str(_loader(folder)), "--library-path", ":".join(map(str, library_folders(folder))), str(program)]


def library_folders(folder: Path) -> list[Path]:
    """Where the folder's libraries lie, and its loader."""
    return [place for top in ("usr/lib", "lib") for place in sorted((folder / top).glob("*-linux-gnu*"))]


@cache
def _loader(folder: Path) -> Path:
    for place in library_folders(folder):
        for file in sorted(place.iterdir()):
            if LOADERS.fullmatch(file.name) and file.is_file():
                return file
    raise FileNotFoundError(2, "no dynamic loader", str(folder))


def lacking(folder: Path, binaries: Iterable[Path]) -> list[str]:
    """Libraries that ``binaries``, or libraries that they need, ask for and the folder does not have."""
    places = library_folders(folder)
    pending, seen, lacks = list(binaries), set[str](), []
    while pending:
        for name in elf.read(pending.pop()).needed:
            if name in seen:
                continue
            seen.add(name)
            file = next((place / name for place in places if (place / name).is_file()), None)
            if file is None:
                lacks.append(name)
            else:
                pending.append(file)
    return lacks


def check(id: str, folder: Path, binaries: Iterable[Path]) -> None:  # noqa: A002
    """Raise MachineLacks unless the ``binaries`` are whole and the folder has every library that they ask for."""
    try:
        lacks = lacking(folder, binaries)
    except (OSError, elf.NotElf) as error:
        raise MachineLacks(f"{id}: what Debian's packages hold is not what it was: {error}", OTHER_WAYS) from None
    if lacks:
        raise MachineLacks(f"{id}: Debian's packages lack {', '.join(lacks)}", OTHER_WAYS)


def _architecture(id: str) -> str:  # noqa: A002
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise MachineLacks(f"{id}: Debian has no packages for {machine}", "name an installation by its path")
    return ARCHITECTURES[machine]


def _suite(
    id: str,  # noqa: A002
    root: str,
    architecture: str,
    series: str,
    name: str,
    work: Path,
    say: Callable[[str], None],
) -> tuple[str, Index]:
    """The suite with the newest package of the series, and its index."""
    offers: list[tuple[str, Index, Package]] = []
    seen: list[str] = []
    for suite in SUITES:
        index = _index(id, root, suite, architecture, work, say)
        package = index.get(name)
        if package is not None and package.name == name:
            seen.append(f"{suite} {package.upstream}")
            if package.upstream == series or package.upstream.startswith((f"{series}.", f"{series}+")):
                offers.append((suite, index, package))
    if not offers:
        others = f"; it has {name} in {', '.join(seen)}" if seen else ""
        raise MachineLacks(f"{id}: Debian no longer has {name} {series}{others}", OTHER_WAYS)
    suite, index, _ = max(offers, key=lambda offer: version_key(offer[2].version))
    return suite, index


def _index(
    id: str,  # noqa: A002
    root: str,
    suite: str,
    architecture: str,
    work: Path,
    say: Callable[[str], None],
) -> Index:
    if (root, suite, architecture) in _READ:
        return _READ[root, suite, architecture]
    release = _signed(id, root, suite, work, say)
    path = f"main/binary-{architecture}/Packages.xz"
    wanted = debian.sums(release).get(path)
    file = work / "Packages.xz"
    if wanted is None or _fetched(id, f"{root}/dists/{suite}/{path}", file) != wanted:
        raise MachineLacks(
            f"{id}: the index of Debian {suite} is not what its Release says", "the archive may be changing: try again"
        )
    _READ[root, suite, architecture] = Index(lzma.decompress(file.read_bytes()).decode(errors="replace"))
    return _READ[root, suite, architecture]


def _signed(id: str, root: str, suite: str, work: Path, say: Callable[[str], None]) -> str:  # noqa: A002
    """The suite's ``Release`` as Debian signed it."""
    keyring = next((path for path in KEYRINGS if path.is_file()), None)
    gpgv = shutil.which("gpgv")
    if keyring is None or gpgv is None:
        lacks = "gpgv" if gpgv is None else "debian-archive-keyring"
        raise MachineLacks(
            f"{id}: what Debian signed cannot be checked here: {lacks} is not installed",
            "apt-get install gpgv debian-archive-keyring (Debian, Ubuntu), or name an installation by its path",
        )
    file, text = work / "InRelease", work / "Release"
    _fetched(id, f"{root}/dists/{suite}/InRelease", file)
    text.unlink(missing_ok=True)
    ended = subprocess.run(
        [gpgv, "--status-fd", "1", "--keyring", str(keyring), "--output", str(text), str(file)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    # A suite is signed by several keys, of which an older keyring has only some.
    status = {line.split()[1] for line in ended.stdout.splitlines() if line.startswith("[GNUPG:] ")}
    if "GOODSIG" not in status or "BADSIG" in status or not text.is_file():
        raise MachineLacks(
            f"{id}: Debian's signature of {suite} could not be verified with {keyring}",
            "upgrade the package debian-archive-keyring, or name an archive that is Debian's in " + VARIABLE,
        )
    release = text.read_text(encoding="utf-8", errors="replace")
    until = debian.paragraph(release).get("valid-until", "")
    try:
        if until and (stale := parsedate_to_datetime(until)) < datetime.now(UTC):
            since = f"{stale.day} {stale:%B %Y}"
            say(f"{id}: the mirror of Debian {suite} is stale (since {since}); installing from it")
    except (TypeError, ValueError):
        pass
    return release


def _fetched(id: str, url: str, target: Path) -> str:  # noqa: A002
    """The SHA-256 of what ``url`` gave."""
    with reaching(f"{id}: {url} could not be brought", f"name an archive that has it in {VARIABLE}"):
        return fetch(url, target, "sha256")


def _closure(index: Index, wanted: Sequence[str]) -> Iterator[Package]:
    """The packages ``wanted``, then the libraries that they and those need."""
    pending, seen = list(wanted), set[str]()
    for number, name in enumerate(pending):  # it grows
        package = index.get(name)
        if package is None or package.name in seen:
            continue
        if number >= len(wanted) and package.section not in LIBRARIES:
            continue
        seen.add(package.name)
        yield package
        pending += [next((name for name in names if index.get(name)), names[0]) for names in package.depends]


def _unpack(file: Path, folder: Path) -> None:
    """Programs, libraries and what they read; no documentation, nothing that runs at an installation."""
    with file.open("rb") as deb:
        _, content = debian.data(deb)
        with tarfile.open(fileobj=content, mode="r:*") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                name = str(path)
                if f"{name}/".startswith(UNWANTED) or not name.startswith(("usr/", "lib", "etc/")):
                    continue
                if not (member.isreg() or member.issym() or member.islnk() or member.isdir()):
                    continue
                try:
                    tar.extract(member, folder, filter="data")
                except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
                    continue  # into the system that it is not installed into
