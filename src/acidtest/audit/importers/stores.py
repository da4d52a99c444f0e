"""What a kit's programs, scripts and configurations set of when writes of a store are acknowledged: see
``audit.stores``. What a text tells of it is not read."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.stores import STORES
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 1_000
KEPT = 20  # of a file
KNOBS = [(name, linear.compile(store.knob, linear.I)) for name, store in STORES.items()]
UNLOGGED = linear.compile(r"^[^#]*\bCREATE\s+UNLOGGED\s+TABLE\b|^[^#]*\bSET\s+UNLOGGED\b", linear.I)
ANY = linear.Set([pattern for _, pattern in KNOBS])


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or known.is_prose(file.base):
        return None
    found: list[Statement] = []
    knobs = [KNOBS[n] for n in ANY.within(file.text)]
    for number, line in enumerate(file.lines if knobs else (), start=1):
        text = " ".join(line[:LINE_MAX].split())[:120]
        found += [Statement(file.at(number), "promise", text, store=name) for name, knob in knobs if knob.search(text)]
        if UNLOGGED.search(line[:LINE_MAX]):
            found.append(Statement(file.at(number), "unlogged", text))
    return found[:KEPT] or None


IMPORTER = Importer("", _read, beside=True)
