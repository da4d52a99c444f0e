"""``acidtest inspect``: statistics and health of any database, without a write to it."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from acidtest.cli import complete
from acidtest.cli.spans import seconds_of, span

LIMIT = "10m"


def inspect(
    where: Annotated[
        str,
        typer.Argument(
            help="A Firebird or SQLite database file, or a server: firebird://, postgresql://, mysql:// or "
            "mariadb://USER@HOST/DATABASE.",
            metavar="WHERE",
            autocompletion=complete.databases,
        ),
    ],
    read: Annotated[
        bool | None,
        typer.Option(
            "--read/--no-read",
            help="Read it whole, cold and warm, to time that; by default unless another program has the file open.",
        ),
    ] = None,
    limit: Annotated[str, typer.Option("--limit", help="The longest that each of the two readings takes.")] = LIMIT,
    json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Tell what a database looks like inside, what is unusual in it and what to do. Nothing is written to it.

    The password of a server may stand in ACIDTEST_PASSWORD_INSPECT, or in ACIDTEST_PASSWORD_MINE as for acidtest run.
    Exit code 1: something unusual is severe.
    """
    from acidtest.analysis.health import signs
    from acidtest.conductor.inspect import Options
    from acidtest.conductor.inspect import inspect as look
    from acidtest.report.inspection import as_json, print_inspection

    limit_s = seconds_of(limit)
    console = Console(highlight=False)
    with _Watcher(Console(stderr=True, highlight=False)) as watcher:
        inspected = look(where, Options(read, limit_s), watcher.show)
    if json:
        print(json_.dumps(as_json(inspected), indent=2))
    else:
        print_inspection(inspected, console)
    if any(sign.severity == "severe" for sign in signs(inspected)):
        raise typer.Exit(1)


class _Watcher:
    """Progress for a person; a log needs none of what ends within minutes."""

    def __init__(self, console: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task("looking", total=1.0, left="")

    def __enter__(self) -> _Watcher:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, what: str, fraction: float | None, left_s: float | None) -> None:
        left = f"{span(left_s)} left" if left_s is not None else ""
        self._bars.update(self._task, description=what, completed=fraction or 0.0, left=left)
