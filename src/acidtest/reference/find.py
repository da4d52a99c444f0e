"""Finds the keys and tables that a user means, in whatever form they are named."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from acidtest.reference.key import Key, Table
from acidtest.reference.tables import keys, tables
from acidtest.workload import KINDS, OF_TABLES

QUICK = "quick"  # whose keys are those of the whole file
# Tables whose keys are factors: what stands behind them may be named without.
OF_FACTORS = ("factors", "exclude", "base")
NEAR_MAX = 3
ALIKE = 0.7  # from which share of equal characters on two names are alike (difflib)


@dataclass(frozen=True)
class Found:
    """What goes by a name: none, one or several of each."""

    keys: tuple[Key, ...] = ()
    tables: tuple[Table, ...] = ()


def find(asked: str) -> Found:
    """The keys and tables that ``asked`` names.

    It may be a key alone ("memory_mb"), with its table ("place.memory_mb", "workload.tpcc.warehouses"), as a factor
    ("firebird.page_size", "factors.terminals"), in the small size ("quick.repetitions"), below a name of the user's
    ("workload.mine.scale", "workload.scale"), with an entry of it ("variables.scale"), or a table ("[place]", "tpcc").
    Of keys of one name in several tables all are found.
    """
    parts = _parts(asked)
    if parts[:1] == [QUICK] and len(parts) > 1:
        parts = parts[1:]
    parts = next((parts[: at + 1] for at, part in enumerate(parts) if part in OF_TABLES), parts)
    if parts[:1] and parts[0] in OF_FACTORS and parts not in (_parts(table.name) for table in tables()):
        of_factor = _matching(parts[1:])
        if of_factor != Found():
            return of_factor
    return _matching(parts)


def near(asked: str, others: tuple[str, ...] = ()) -> list[str]:
    """Names most like one that nothing goes by, the nearest first; ``others`` are names beside keys and tables."""
    parts = _parts(asked)
    names = {key.name: key.name for key in keys()} | {table.name: table.name for table in tables() if table.path}
    bare = {key.bare: key.name for key in keys()}
    whole = difflib.get_close_matches(".".join(parts), [*names, *others], n=NEAR_MAX, cutoff=ALIKE)
    ends = difflib.get_close_matches(parts[-1] if parts else "", list(bare), n=NEAR_MAX, cutoff=ALIKE)
    return list(dict.fromkeys([*whole, *(bare[end] for end in ends)]))[:NEAR_MAX]


def _parts(asked: str) -> list[str]:
    return [part for part in re.sub(r"[\[\]\"'\s]", "", asked).lower().split(".") if part]


def _matching(asked: list[str]) -> Found:
    if not asked:
        return Found()
    of_any = tuple(key for key in keys() if asked[0] == "workload" and asked[1:] == [key.bare] and key.workloads)
    of_tables = tuple(table for table in tables() if _is_table(table.path, asked))
    if of_any:
        return Found(of_any, of_tables)
    # What a table says for the key that holds it need not be said twice.
    named = [
        key for key in keys() if _is_key(key.path, asked) and not any(t.says.startswith(key.says) for t in of_tables)
    ]
    return Found(tuple(named), of_tables)


def _is_key(path: tuple[str, ...], asked: list[str]) -> bool:
    """Whether ``path`` ends with what is asked for."""
    if len(asked) > len(path):
        return False
    of_path = path[-len(asked) :]
    if asked[0] == "workload" and len(asked) == 3 and asked[1] not in KINDS:
        return of_path[0] == asked[0] and of_path[2] == asked[2]  # a workload of the user's, of whichever kind
    return all(
        one == other or (one.isupper() and (position > 0 or other in KINDS))
        for position, (one, other) in enumerate(zip(of_path, asked, strict=True))
    )


def _is_table(path: tuple[str, ...], asked: list[str]) -> bool:
    """Whether ``asked`` is the table's path, its end, or its beginning before the user's own name."""
    if not path:
        return False
    if path[-1].isupper():
        return asked[0] == path[0] and len(asked) <= len(path) and not (len(asked) > 1 and asked[1] in KINDS)
    end = path[-len(asked) :]
    return len(end) == len(asked) and all(one == other or one.isupper() for one, other in zip(end, asked, strict=True))
