"""Stores that a kit starts, and what it sets of when their writes are acknowledged. See ``audit.stores``."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.stores import BY_WORD, STORES
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 1_000
KEPT = 20  # of a file
NAMES = "|".join(sorted(BY_WORD, key=len, reverse=True))
# An image's last part names the store: "mongo:7", "cockroachdb/cockroach:v24.1", "mongodb/mongodb-community-server".
IMAGE = linear.compile(
    rf"(?:^\s*(?:-\s+)?image:\s*[\"']?|\b(?:docker|podman) run\b.{{1,400}}\s)(?:[\w.-]+(?::\d+)?/){{0,4}}({NAMES})"
    r"(?:db|ql)?(?:-(?:community-)?server|-stack)?(?::[\w.-]+)?[\"']?\s*(?:#.*)?$",
    linear.I,
)
KNOBS = [(name, linear.compile(one.knob, linear.I)) for name, one in STORES.items()]
ANY = linear.Set([pattern for _, pattern in KNOBS])
HINT = linear.compile(r"image:|docker run|podman run", linear.I)
UNLOGGED = linear.compile(r"^[^#]*\bCREATE\s+UNLOGGED\s+TABLE\b|^[^#]*\bSET\s+UNLOGGED\b", linear.I)


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head:
        return None
    text = file.text
    starts = HINT.search(text) is not None
    sets = ANY.within(text)
    tables = "unlogged" in text.lower()
    found: list[Statement] = []
    for number, whole in enumerate(text.split("\n") if starts or sets or tables else (), start=1):
        line, told = whole[:LINE_MAX], " ".join(whole[:LINE_MAX].split())[:120]
        if starts and (match := IMAGE.search(line)) and not told.startswith("#"):
            found.append(Statement(file.at(number), "store", BY_WORD[match[1].lower()]))
        names = [name for name, pattern in (KNOBS[n] for n in sets) if pattern.search(line)]
        found += [Statement(file.at(number), "promise", told, store=name) for name in names]
        if tables and UNLOGGED.search(line):
            found.append(Statement(file.at(number), "unlogged", told))
        if len(found) >= KEPT:
            break
    return found or None


IMPORTER = Importer("", _read, beside=True)
