"""Debian's formats: the index of a suite's packages, relations between packages, versions, and .deb files.

Source: Debian Policy, chapters 5 (control files) and 7 (relations), 5.6.12 (versions); deb(5). The one
parser of all this for Python is under the GPL, which acidtest is not.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

AR_MAGIC = b"!<arch>\n"
AR_HEADER_BYTES = 60
NOTHING = ((0,), 0)  # of a version: a tilde is less than its end, everything else more


class NotDeb(ValueError):
    """The bytes are no .deb file, or one that is cut off or broken."""


@dataclass(frozen=True)
class Package:
    """One binary package of an index."""

    name: str
    version: str
    section: str
    filename: str  # below the archive's root
    sha256: str
    size: int  # bytes
    depends: tuple[tuple[str, ...], ...]  # each a choice of names; without versions, for a suite agrees with itself
    provides: tuple[str, ...]

    @property
    def upstream(self) -> str:
        """The version without Debian's epoch and revision: ``11.8.9+ds`` of ``1:11.8.9+ds-4``."""
        return _split(self.version)[1]


class Index:
    """The packages of a suite for one architecture, as ``Packages`` lists them. Each is parsed when it is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: dict[str, int] = {}
        for match in re.finditer(r"^Package: (\S+)$", text, re.MULTILINE):
            self._at.setdefault(match[1], match.start())
        self._providers: dict[str, list[str]] | None = None

    def get(self, name: str) -> Package | None:
        """The package of this name, or the first one that provides it."""
        if name in self._at:
            return self._package(name)
        if self._providers is None:
            self._providers = {}
            for match in re.finditer(r"^Provides: (.+)$", self._text, re.MULTILINE):
                # The name stands above, in the same paragraph.
                above = self._text.rfind("Package: ", 0, match.start()) + len("Package: ")
                of = self._text[above : self._text.index("\n", above)]
                for provided in _names(match[1]):
                    self._providers.setdefault(provided[0], []).append(of)
        providers = self._providers.get(name)
        return self._package(providers[0]) if providers else None

    def _package(self, name: str) -> Package:
        start = self._at[name]
        end = self._text.find("\n\n", start)
        fields = paragraph(self._text[start : end if end >= 0 else len(self._text)])
        return Package(
            name,
            fields.get("version", ""),
            fields.get("section", ""),
            fields.get("filename", ""),
            fields.get("sha256", ""),
            int(size) if (size := fields.get("size", "")).isdigit() else 0,
            tuple(_names(", ".join(filter(None, (fields.get("pre-depends"), fields.get("depends")))))),
            tuple(names[0] for names in _names(fields.get("provides", ""))),
        )


def paragraph(text: str) -> dict[str, str]:
    """Fields of one paragraph, by name in lower case; lines that go on keep their line breaks."""
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line[:1] in (" ", "\t"):
            if name:
                fields[name] += "\n" + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.lower()
            fields[name] = value.strip()
    return fields


def sums(release: str) -> dict[str, str]:
    """SHA-256 by path of the files that a suite's ``Release`` lists."""
    rows = (line.split() for line in paragraph(release).get("sha256", "").splitlines())
    return {row[2]: row[0] for row in rows if len(row) == 3}


def _names(relations: str) -> Iterator[tuple[str, ...]]:
    """``libc6 (>= 2.38), debconf | debconf-2.0`` as names; versions, architectures and qualifiers are left out."""
    for choice in relations.split(","):
        names = tuple(re.split(r"[ (:\[<]", one.strip(), maxsplit=1)[0] for one in choice.split("|"))
        if names[0]:
            yield tuple(filter(None, names))


def version_key(version: str) -> tuple[object, ...]:
    """Sorts versions as Debian compares them (Policy 5.6.12): a tilde comes before the end, letters before others."""
    epoch, upstream, revision = _split(version)
    return (int(epoch) if epoch.isdigit() else 0, _part_key(upstream), _part_key(revision))


def _split(version: str) -> tuple[str, str, str]:
    """Epoch, upstream's version and Debian's revision; the first and the last are "" where there are none."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "", version
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return epoch, upstream, revision


def _part_key(part: str) -> tuple[object, ...]:
    """Texts and numbers in turns. Nothing counts as the number 0, and the end as an empty text."""
    pairs = [((*map(_rank, text), 0), int(digits or 0)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", part)]
    while len(pairs) > 1 and pairs[-1] == NOTHING:  # the first one stays: only there may others go on after nothing
        pairs.pop()
    return tuple(piece for pair in (*pairs, NOTHING) for piece in pair)


def _rank(letter: str) -> int:
    if letter == "~":
        return -1
    return ord(letter) if letter.isalpha() else ord(letter) + 256


def data(file: IO[bytes]) -> tuple[str, IO[bytes]]:
    """The member of a .deb file with its contents: its name (``data.tar.xz``) and its bytes. Raises NotDeb."""
    if file.read(len(AR_MAGIC)) != AR_MAGIC:
        raise NotDeb("no ar archive")
    while header := file.read(AR_HEADER_BYTES):
        size = header[48:58].strip()
        if len(header) < AR_HEADER_BYTES or header[58:] != b"`\n" or not size.isdigit():
            raise NotDeb("a broken member")
        name = header[:16].decode(errors="replace").strip().rstrip("/")
        if name.startswith("data.tar"):
            content = file.read(int(size))
            if len(content) < int(size):
                raise NotDeb("cut off")
            return name, io.BytesIO(content)
        file.seek(int(size) + int(size) % 2, io.SEEK_CUR)
    raise NotDeb("no contents")
