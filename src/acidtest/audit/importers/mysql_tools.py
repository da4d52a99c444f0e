"""What mysqlslap and mariadb-slap print. See client/mysqlslap.cc (print_conclusions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acidtest.audit.importers.file import File, Importer
from acidtest.audit.importers.outputs import N, Output, Row, Run

# Those that copy it write "sec" for "seconds", and comment it out.
COPIED = r"[#>*\s-]{0,40}"
QUERIES = "number of seconds to run all queries:"


def _slap(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    each, took = run.get("_each"), values.get("took_s")
    if each is not None and took is not None:
        done = (values.get("terminals") or 0) * each
        yield {
            "name": values.get("script") or values.get(":engine", ""),
            "rate": done / took if took and done else None,
            "terminals": values.get("terminals") or None,
            "written": f"{took:.3f} seconds",
        }


SLAP = Output(
    "mysqlslap",
    rf"{COPIED}(?:Average|Minimum|Maximum) {QUERIES}",
    (
        Row("head", rf"{COPIED}Running for engine (\w{{1,40}})", (":engine",)),
        Row("result", rf"{COPIED}Average {QUERIES} {N} sec", ("took_s",)),
        Row("value", rf"{COPIED}Minimum {QUERIES} {N} sec", (":min",)),
        Row("value", rf"{COPIED}Maximum {QUERIES} {N} sec", (":max",)),
        Row("value", rf"{COPIED}Number of clients running queries: (\d{{1,9}})", ("terminals",)),
        Row("value", rf"{COPIED}Average number of queries per client: (\d{{1,12}})", ("_each",)),
    ),
    {"unit": "queries"},
    _slap,
    "mysqlslap's output that ends before its last line",
)


SLAP_TEXT = Importer("mysqlslap output", SLAP.read, together=True)
