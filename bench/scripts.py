"""Script files of pgbench's, run as they are by the rig and by pgbench, in turn, on one private PostgreSQL.

Without files it is the script of ``pgbench`` here, read from a file by both. Files of other people stay where they
are: ``--file PATH[@WEIGHT]`` names them, ``-D NAME=VALUE`` sets their variables, ``--schema FILE`` (psql's) makes their
tables and ``--fill FILE[@TIMES]`` (pgbench's) fills them. Without a schema, pgbench itself makes its own tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.errors import BadInput
from acidtest.journal.protocol import Target
from acidtest.workload.of_folder import SqlText, SqlTransaction
from acidtest.workload.sql import SqlWorkload
from bench.clients import PGBENCH, SCALE, TPCB, connection, pgbench_figures, run_pgbench
from bench.peer import Figures, Peer, postgres_program, timed


@dataclass(frozen=True)
class Weighted:
    """A file, and how often it is drawn, or run."""

    path: Path
    weight: int


@dataclass(frozen=True)
class Asked:
    """What the command line says of scripts."""

    files: Sequence[Weighted]
    variables: Mapping[str, str]
    schema: Path | None
    fill: Sequence[Weighted]
    protocol: str  # pgbench's; the rig's statements are always prepared


def weighted(text: str) -> Weighted:
    """``PATH[@WEIGHT]``, as pgbench's ``-f`` takes it."""
    path, _, weight = text.rpartition("@")
    if not path or not weight.isdigit():
        path, weight = text, "1"
    if not Path(path).is_file():
        raise BadInput(f"{path}: there is no such file", "name a file, and perhaps its weight: PATH@40")
    return Weighted(Path(path), int(weight))


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise BadInput(f"-D {text}: is no variable", "write NAME=VALUE")
    return name, value


def peer(asked: Asked) -> Peer:
    """pgbench with these scripts, and the rig with the same. Raises BadInput."""
    if not asked.files:
        script = [_transaction("script", TPCB, "script.sql", 1)]
        return replace(PGBENCH, measured=_workload(script, {}), encryption=None)
    scripts = [
        _transaction(file.path.stem, file.path.read_text(encoding="utf-8"), str(file.path), file.weight)
        for file in asked.files
    ]
    variables = {"scale": str(SCALE), **asked.variables}
    # Whatever the scripts need is made beside an empty database.
    return replace(
        PGBENCH,
        workload=_workload([_transaction("nothing", "select 1;", "nothing.sql", 1)], {}),
        measured=_workload(scripts, variables),
        prepare=lambda target, _: _prepare(target, asked),
        run=lambda target, terminals, threads, seconds, _: _run(
            target, asked, variables, ["-c", str(terminals), "-j", str(threads), "-T", str(seconds)]
        ),
        encryption=None,
    )


def _prepare(target: Target, asked: Asked) -> None:
    assert isinstance(target, PostgresTarget)
    environment = {"PGPASSWORD": target.password or ""}
    if asked.schema is None:
        timed([postgres_program("pgbench"), "-i", "-q", "-s", str(SCALE), *connection(target)], environment)
    else:
        variables = [option for name, value in asked.variables.items() for option in ("-v", f"{name}={value}")]
        options = ["-q", "-X", "-v", "ON_ERROR_STOP=1", *variables, "-f", str(asked.schema), "-o", "/dev/null"]
        timed([postgres_program("psql"), *options, *connection(target)], environment)
    for file in asked.fill:
        run_pgbench(target, ["-f", str(file.path), "-t", str(file.weight), *_variables(asked.variables)])
    timed([postgres_program("psql"), "-q", "-X", "-c", "vacuum analyze", *connection(target)], environment)


def _run(target: Target, asked: Asked, variables: Mapping[str, str], options: Sequence[str]) -> Figures:
    assert isinstance(target, PostgresTarget)
    files = [option for file in asked.files for option in ("-f", f"{file.path}@{file.weight}")]
    output, cpu_s = run_pgbench(target, ["-M", asked.protocol, *options, *files, *_variables(variables)])
    return pgbench_figures(output, cpu_s)


def _variables(variables: Mapping[str, str]) -> list[str]:
    return [option for name, value in variables.items() for option in ("-D", f"{name}={value}")]


def _transaction(name: str, text: str, path: str, weight: float) -> SqlTransaction:
    return SqlTransaction(name=name, weight=float(weight), file=SqlText(path=path, text=text, variants=()))


def _workload(transactions: Sequence[SqlTransaction], variables: Mapping[str, str]) -> SqlWorkload:
    """Scripts as a workload of the user's own, over tables that are there."""
    return SqlWorkload(
        title="scripts",
        variables=tuple((name, _literal(value)) for name, value in variables.items()),
        schema=None,
        load_sql=None,
        indexes=None,
        conditions=None,
        tables=(),
        transactions=tuple(transactions),
    )


def _literal(value: str) -> str:
    """As the rig reads a variable's value: a number, or a text in quotes."""
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value):
        return value
    quoted = value.replace("'", "''")
    return f"'{quoted}'"
