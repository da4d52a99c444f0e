"""``acidtest report``: tables, page and exports from a journal alone."""

from __future__ import annotations

import json as json_
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from acidtest.errors import BadInput, not_among
from acidtest.journal import probe
from acidtest.journal.models import Journal
from acidtest.journal.reader import CUTS, NAME, read

if TYPE_CHECKING:
    from acidtest.report.results import Results

PAGE = "report.html"


@dataclass(frozen=True)
class Rendered:
    """A report that has been written."""

    results: Results
    page: Path


def render(
    directory: Path,
    down: str | None = None,
    across: str | None = None,
    waivers: Mapping[str, str] | None = None,
    predict: Sequence[str] = (),
) -> Rendered:
    """Compute the report of ``directory``'s journal and write its page."""
    from acidtest.experiment.sizes import bytes_of
    from acidtest.report.page import write_page
    from acidtest.report.results import results

    journal = read(directory / NAME)
    cuts = directory / CUTS
    for option, factor in (("--rows", down), ("--columns", across)):
        varied = [name for name, levels in journal.header.factors.items() if len(levels) > 1 and name != "workload"]
        if factor is not None and factor not in varied:
            raise BadInput(not_among(f"{option}: factor", factor, varied))
    if down is not None and down == across:
        raise BadInput(f"--rows and --columns both name {down}", "name two factors")
    sizes = [bytes_of(size) for size in predict]
    if sizes and not journal.header.experiment.get("growth"):
        raise BadInput("--predict: sizes are no factor of this experiment", "give it [growth], with sizes")
    held = read(cuts) if cuts.exists() else None
    run_results = results(journal, down=down, across=across, cuts=held, waivers=waivers, predict=sizes)
    page = directory / PAGE
    with _writing(page):
        write_page(run_results, page)
    return Rendered(run_results, page)


def show_cuts(journal: Journal, directory: Path, console: Console, *, json: bool) -> None:
    """Write the page of power cuts, and print the table, or JSON.

    Where ``directory`` holds a run of the same experiment too, the page is of both, and so is a table.
    """
    from acidtest.report.survival_page import write_survival_page
    from acidtest.report.survival_table import as_json, print_survival
    from acidtest.report.terminal import print_commit_costs

    rendered = render(directory) if (directory / NAME).exists() else None
    page = directory / PAGE
    if rendered is None:
        with _writing(page):
            write_survival_page(journal, page)
    if json:
        print(json_.dumps(as_json(journal), indent=2))
        return
    print_survival(journal, console)
    if rendered and rendered.results.commit_costs:
        print_commit_costs(rendered.results.commit_costs, console)
    console.print(f"\nPage: {page}", soft_wrap=True)


@contextmanager
def _writing(page: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"{page}: cannot be written: {error.strerror}", "free some space, or allow writing there"
        ) from None


def report(
    directory: Annotated[Path, typer.Argument(help="The directory that acidtest run wrote to.", metavar="DIR")],
    csv: Annotated[Path | None, typer.Option("--csv", help="Write one row for each cell as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Write one row for each cell as Parquet.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="The factor whose levels are the rows of a grid.")] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="The factor whose levels are its columns.")] = None,
    predict: Annotated[
        list[str] | None, typer.Option("--predict", help="Predict the rate at this size: 1.8TB. May be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Draw the tables and the page again from the journal; needs no engine and no root."""
    from acidtest.report.survival_table import print_survival
    from acidtest.report.terminal import print_results

    if (directory / probe.NAME).exists() and not (directory / NAME).exists():
        _report_probe(directory / probe.NAME, json)
        return
    console = Console(highlight=False)
    cuts = directory / CUTS
    if cuts.exists() and not (directory / NAME).exists():
        for option in (
            name for name, given in (("--rows", rows), ("--columns", columns), ("--predict", predict)) if given
        ):
            raise BadInput(f"{option}: power cuts have one table", f"leave {option} out")
        journal = read(cuts)
        _export(journal, csv, parquet)
        show_cuts(journal, directory, console, json=json)
        return
    rendered = render(directory, rows, columns, predict=predict or ())
    _export(rendered.results.journal, csv, parquet)
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
        return
    print_results(rendered.results, console)
    if rendered.results.cuts:
        print_survival(rendered.results.cuts, console)
    console.print(f"\nPage: {rendered.page}", soft_wrap=True)


def _export(journal: Journal, csv: Path | None, parquet: Path | None) -> None:
    if not (csv or parquet):
        return
    from acidtest.journal import export

    for path, write in ((csv, export.to_csv), (parquet, export.to_parquet)):
        if path:
            try:
                write(journal, path)
            except OSError as error:
                raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None


def _report_probe(path: Path, json: bool) -> None:
    from acidtest.report.probe import print_report
    from acidtest.report.probe import report as compute

    summary = compute(probe.read(path))
    if json:
        print(json_.dumps(summary.as_json(), indent=2))
    else:
        print_report(summary, Console(highlight=False))
