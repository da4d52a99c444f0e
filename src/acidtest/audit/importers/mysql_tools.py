"""What mysqlslap (and mariadb-slap) and tpcc-mysql print. See client/mysqlslap.cc (print_conclusions), and tpcc-mysql's
src/main.c (thread_main, alarm_handler) in both of its forms: latencies as ``trx: 12920, 95%: 9.483, …``, and before
2016 as ``686(0):2.044|3.593``."""

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


def _tpcc(file: File, run: Run) -> Iterator[Mapping[str, Any]]:
    values = run.values
    counts = [[int(of) for of in values[name].split(", ")] for name in ("_good", "_late", "_failed") if name in values]
    measured = values.get("measured_s")
    done = sum(map(sum, counts[:2]))
    step = run.interval_s if len(run.series) > 1 else (run.series[0][0] if run.series else 0.0) or 10.0
    yield {
        **({"tpm": 60 * done / measured} if done and measured else {}),
        "errors": sum(counts[2]) if counts else None,
        "scale": values.get("warehouses"),
        "series": tuple(count / step for _, count in run.series),
        "interval_s": step,
        "written": f"{values['nopm']} TpmC" if "nopm" in values else "",
    }


TPCC = Output(
    "tpcc-mysql",
    r".{0,20}###easy### TPC-C Load Generator|.{0,20}<TpmC>",
    (
        Row("head", r".{0,20}###easy### TPC-C Load Generator|.{0,20}<Parameters>"),
        Row("value", r"\\?\[warehouse\]: (\d{1,9})", ("warehouses",)),
        Row("value", r"\\?\[connection\]: (\d{1,9})", ("terminals",)),
        Row("value", r"\\?\[rampup\]: (\d{1,9})", ("warmup_s",)),
        Row("value", r"\\?\[measure\]: (\d{1,9})", ("measured_s",)),
        # The percentiles are of an interval each; the longest of all is the run's.
        Row("interval", rf"(\d{{1,9}}), trx: (\d{{1,9}}), 95%: {N}, 99%: {N}, max_rt: {N}",
            ("at", "rate", "", "", "max^")),
        Row("interval", r"(\d{1,9}), (\d{1,9})\(\d{1,9}\):", ("at", "rate")),
        Row("value", r"\\?\[[0-4]\] sc:(\d{1,12}) +lt:(\d{1,12}) +rt:\d{1,12} +fl:(\d{1,12})",
            ("_good+", "_late+", "_failed+")),
        Row("result", rf"{N} TpmC\s*$", ("nopm",)),
    ),
    {"latency_from": "actual start", "script": "TPC-C"},
    _tpcc,
    "tpcc-mysql's output that ends before its result",
    tpc_word="TpmC",
)  # fmt: skip

SLAP_TEXT = Importer("mysqlslap output", SLAP.read, together=True)
TPCC_TEXT = Importer("tpcc-mysql output", TPCC.read, together=True)
