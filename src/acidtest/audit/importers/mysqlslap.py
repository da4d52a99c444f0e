"""What mysqlslap (and mariadb-slap) prints, as text and under ``--csv``. See client/mysqlslap.cc (print_conclusions and
print_conclusions_csv): how long all queries of all clients took, of which the rate follows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidtest.audit.amounts import NUMBER
from acidtest.audit.bench import Published
from acidtest.audit.importers.file import Broken, File, Importer

# Those that copy it write "sec" for "seconds", and comment it out.
LINES = (
    ("engine", re.compile(r"[\s#>*-]{0,40}Running for engine (\w{1,40})")),
    ("mean", re.compile(rf"[\s#>*-]{{0,40}}Average number of seconds to run all queries: {NUMBER} sec")),
    ("min", re.compile(rf"[\s#>*-]{{0,40}}Minimum number of seconds to run all queries: {NUMBER} sec")),
    ("max", re.compile(rf"[\s#>*-]{{0,40}}Maximum number of seconds to run all queries: {NUMBER} sec")),
    ("clients", re.compile(r"[\s#>*-]{0,40}Number of clients running queries: (\d{1,9})")),
    ("each", re.compile(r"[\s#>*-]{0,40}Average number of queries per client: (\d{1,12})")),
)
HINT = "number of seconds to run all queries:"
CSV = re.compile(
    r"(\w{0,40}),(mixed|write|read|key|update|query|[\w-]{1,40}),(\d{1,9}\.\d{3}),(\d{1,9}\.\d{3}),(\d{1,9}\.\d{3}),(\d{1,9}),(\d{1,12})(?:,.{0,100})?"
)


def _text(file: File) -> Sequence[Published] | None:
    if not any(HINT in line for line in file.first_lines):
        return None
    published: list[Published] = []
    run: dict[str, str] = {}
    begun = 0
    for at, line in enumerate(file.stream(), start=1):
        for name, pattern in LINES:
            if match := pattern.match(line):
                begun = at if name == "mean" else begun
                run[name] = match[1]
        if "each" in run and "mean" in run:
            published.append(_result(file, begun, run))
            run = {}
    if not published:
        raise Broken("is mysqlslap's output that ends before its last line", begun or None)
    return published


def _csv(file: File) -> Sequence[Published] | None:
    lines = [line for line in file.first_lines if line.strip()]
    if not lines or not all(CSV.fullmatch(line.strip()) for line in lines):
        return None
    published = []
    for at, line in enumerate(file.stream(), start=1):
        if match := CSV.fullmatch(line.strip()):
            names = ("engine", "script", "mean", "min", "max", "clients", "each")
            published.append(_result(file, at, dict(zip(names, match.groups(), strict=True))))
    return published


def _result(file: File, at: int, run: dict[str, str]) -> Published:
    clients, each, took = int(run.get("clients", 0)), int(run["each"]), float(run["mean"])
    return Published(
        file.at(at),
        "mysqlslap",
        run.get("script") or run.get("engine") or file.base,
        rate=clients * each / took if took > 0 and clients * each else None,
        terminals=clients or None,
        unit="queries",
        script=run.get("script", ""),
        took_s=took,
        written=f"{run['mean']} seconds",
        parameters={name: value for name, value in run.items() if name in ("engine", "min", "max") and value},
    )


TEXT = Importer("mysqlslap output", _text)
ROWS = Importer("mysqlslap CSV", _csv)
