"""``acidtest report``: tables, page and exports from a journal alone."""

from __future__ import annotations

import json as json_
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.errors import BadInput, not_among
from acidtest.journal.reader import NAME, read

if TYPE_CHECKING:
    from acidtest.report.results import Results

PAGE = "report.html"


@dataclass(frozen=True)
class Rendered:
    """A report that has been written."""

    results: Results
    page: Path


def render(directory: Path, down: str | None = None, across: str | None = None) -> Rendered:
    """Compute the report of ``directory``'s journal and write its page."""
    from acidtest.report.page import write_page
    from acidtest.report.results import results

    journal = read(directory / NAME)
    for option, factor in (("--rows", down), ("--columns", across)):
        varied = [name for name, levels in journal.header.factors.items() if len(levels) > 1 and name != "workload"]
        if factor is not None and factor not in varied:
            raise BadInput(not_among(f"{option}: factor", factor, varied))
    if down is not None and down == across:
        raise BadInput(f"--rows and --columns both name {down}", "name two factors")
    found = results(journal, down=down, across=across)
    page = directory / PAGE
    try:
        write_page(found, page)
    except OSError as error:
        raise BadInput(
            f"{page}: cannot be written: {error.strerror}", "free some space, or allow writing there"
        ) from None
    return Rendered(found, page)


def report(
    directory: Annotated[Path, typer.Argument(help="Where acidtest run wrote to.", metavar="DIR")],
    csv: Annotated[Path | None, typer.Option("--csv", help="Write one row a cell as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Write one row a cell as Parquet.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="The factor whose levels go down a grid.")] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="And the one whose levels go across.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Draw the tables and the page again from the journal; needs no engine and no rights."""
    from acidtest.journal import export
    from acidtest.report.terminal import print_results

    rendered = render(directory, rows, columns)
    for path, write in ((csv, export.to_csv), (parquet, export.to_parquet)):
        if path:
            try:
                write(rendered.results.journal, path)
            except OSError as error:
                raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
        return
    console = Console(highlight=False)
    print_results(rendered.results, console)
    console.print(f"\nPage: {rendered.page}", soft_wrap=True)
