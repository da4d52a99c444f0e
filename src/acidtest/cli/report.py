"""``acidtest report``: tables, page and exports from a journal alone."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from acidtest.cli import streams
from acidtest.cli.journals import opened
from acidtest.errors import BadInput, cannot_write, not_among
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.journal.models import Journal
    from acidtest.report.pictures import Picture
    from acidtest.report.results import Results
    from acidtest.report.search import SearchResults

PAGE = "report.html"


@dataclass(frozen=True)
class Page:
    """The page of a report: where it is, or why it could not be written; and its charts."""

    path: Path
    unwritten: BadInput | None
    pictures: Sequence[Picture] = ()

    def draw(self, svg: Path | None, png: Path | None, base: str) -> None:
        """Write each chart as a file into these directories. Raises BadInput."""
        from acidtest.report import pictures

        for option, directory, write in (("--svg", svg, pictures.write_svg), ("--png", png, pictures.write_png)):
            if directory is None:
                continue
            if not self.pictures:
                raise BadInput(f"{option}: the page has no chart", "look at the tables, or run more cells first")
            try:
                files = write(self.pictures, directory, base)
            except OSError as error:
                raise cannot_write(directory, error, f"name another {option}") from None
            print(f"{counted(len(files), 'chart')} in {directory}", file=sys.stderr)

    def show(self, console: Console, *, json: bool) -> None:
        """Say where it is, or, in one line on standard error, why it is not."""
        if self.unwritten:
            older = "; the page there is an older one" if self.path.exists() else ""
            print(f"acidtest: {self.unwritten.message}: {self.unwritten.remedy}{older}", file=sys.stderr)
        elif not json and self.path != streams.STDOUT:
            console.print(f"\nPage: {self.path}", soft_wrap=True)


@dataclass(frozen=True)
class Rendered:
    """A report that has been computed, with its page."""

    results: Results
    page: Page


def render(
    directory: Path,
    down: str | None = None,
    across: str | None = None,
    waivers: Mapping[str, str] | None = None,
    predict: Sequence[str] = (),
    page: Path | None = None,
    base: Sequence[str] = (),
) -> Rendered:
    """Compute the report of ``directory``'s journal and write its page: to ``page``, or beside the journal.

    ``base`` are factors and levels, ``FACTOR=LEVEL``, in place of the experiment's own.

    Raises BadInput where ``page`` cannot be written; beside the journal it need not be possible.
    """
    from acidtest.audit import own_journal
    from acidtest.experiment.sizes import bytes_of
    from acidtest.journal.reader import CUTS, NAME
    from acidtest.report.page import write_page
    from acidtest.report.results import results

    journal = _based(opened(directory / NAME), base)
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
    held = opened(cuts) if cuts.exists() else None
    compared = own_journal.compared(journal)
    run_results = results(
        journal, down=down, across=across, cuts=held, waivers=waivers, predict=sizes, compared_sides=compared
    )
    return Rendered(run_results, _written(directory, page, lambda path, drawn: write_page(run_results, path, drawn)))


def _based(journal: Journal, given: Sequence[str]) -> Journal:
    """The journal with this base in place of its own. Raises BadInput for factors and levels that it does not have."""
    base = {}
    for one in given:
        factor, equals, level = one.partition("=")
        if not equals:
            raise BadInput(f"--base {one}: is not FACTOR=LEVEL", "name both, as the experiment's base does")
        if factor not in journal.header.factors:
            raise BadInput(not_among("--base: factor", factor, journal.header.factors))
        if level not in journal.header.factors[factor]:
            raise BadInput(not_among(f"--base: {factor}", level, journal.header.factors[factor]))
        base[factor] = level
    return journal.model_copy(update={"header": journal.header.model_copy(update={"base": base})}) if base else journal


def show_cuts(journal: Journal, directory: Path, console: Console, *, json: bool, page: Path | None = None) -> Page:
    """Write the page of power cuts, as ``render`` does, and print the table, or JSON.

    Where ``directory`` holds a run of the same experiment too, the page is of both, and so is a table.
    """
    from acidtest.journal.reader import NAME
    from acidtest.report import commit_cost
    from acidtest.report.survival_page import write_survival_page
    from acidtest.report.survival_table import as_json, print_survival
    from acidtest.report.table import print_table

    rendered = render(directory, page=page) if (directory / NAME).exists() else None
    written = (
        rendered.page
        if rendered
        else _written(directory, page, lambda path, drawn: write_survival_page(journal, path, drawn))
    )
    if json:
        print(json_.dumps(as_json(journal), indent=2))
    else:
        print_survival(journal, console)
        if rendered:
            print_table(commit_cost.table(rendered.results.commit_costs), console)
    written.show(console, json=json)
    return written


def show_searches(
    journal: Journal,
    directory: Path,
    console: Console,
    *,
    json: bool,
    page: Path | None = None,
    waivers: Mapping[str, str] | None = None,
) -> tuple[SearchResults, Page]:
    """Write the page of searches for the highest rate, and print the tables, or JSON."""
    from acidtest.audit import own_journal
    from acidtest.report.search import results
    from acidtest.report.search_report import print_searches, write_search_page

    found = results(journal, waivers, own_journal.compared_searches(journal))
    written = _written(directory, page, lambda path, drawn: write_search_page(found, path, drawn))
    if json:
        print(json_.dumps(found.as_json(), indent=2))
    else:
        print_searches(found, console)
    written.show(console, json=json)
    return found, written


def _written(directory: Path, asked: Path | None, write: Callable[[Path, list[Picture]], None]) -> Page:
    """The page, written to the file that was asked for, or into ``directory``."""
    path = asked or directory / PAGE
    drawn: list[Picture] = []
    try:
        with streams.taken(path) as file:
            write(file, drawn)
    except OSError as error:
        if asked:
            raise cannot_write(path, error, "name another --page") from None
        elsewhere = f"acidtest report {directory} --page FILE writes it elsewhere"
        return Page(path, cannot_write(path, error, elsewhere), drawn)
    return Page(path, None, drawn)


def report(
    directory: Annotated[Path, typer.Argument(help="The directory that acidtest run wrote to.", metavar="DIR")],
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write one row for each cell as CSV; - is standard output.")
    ] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Write one row for each cell as Parquet.")] = None,
    describe: Annotated[
        bool, typer.Option("--describe", help="Print type, unit and meaning of each column of --csv and --parquet.")
    ] = False,
    rows: Annotated[str | None, typer.Option("--rows", help="The factor whose levels are the rows of a grid.")] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="The factor whose levels are its columns.")] = None,
    predict: Annotated[
        list[str] | None, typer.Option("--predict", help="Predict the rate at this size: 1.8TB. May be repeated.")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            "--base",
            help="Another base (= 100) than the experiment's: engine=sqlite. May be repeated.",
            metavar="FACTOR=LEVEL",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the page to this file, not to DIR/report.html.", metavar="FILE")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write each chart as SVG into this directory.", metavar="DIR")
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", help="Write each chart as PNG into this directory.", metavar="DIR")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Draw the tables and the page again from the journal; needs no engine, no root, and no right to write there."""
    from acidtest.journal import probe
    from acidtest.journal.reader import CUTS, NAME, SEARCH
    from acidtest.report.survival_table import print_survival
    from acidtest.report.terminal import print_results

    if (directory / probe.NAME).exists() and not (directory / NAME).exists():
        for option, given in (("--csv", csv), ("--parquet", parquet), ("--page", page), ("--svg", svg), ("--png", png)):
            if given:
                raise BadInput(f"{option}: a probe has one table", f"leave {option} out, or use --json")
        _report_probe(directory / probe.NAME, json)
        return
    console = Console(stderr=streams.is_taken(json=json, csv=csv, parquet=parquet, page=page), highlight=False)
    cuts = directory / CUTS
    searched = directory / SEARCH
    if searched.exists() and not (directory / NAME).exists() and not cuts.exists():
        for option in (
            name for name, given in (("--rows", rows), ("--columns", columns), ("--predict", predict)) if given
        ):
            raise BadInput(f"{option}: searches have one table", f"leave {option} out")
        journal = _based(opened(searched), base or ())
        if describe:
            _describe(journal, console, json)
            return
        _export(journal, csv, parquet)
        _, written = show_searches(journal, directory, console, json=json, page=page)
        written.draw(svg, png, _named(journal))
        return
    if describe:
        _describe(opened(directory / NAME if (directory / NAME).exists() or not cuts.exists() else cuts), console, json)
        return
    if cuts.exists() and not (directory / NAME).exists():
        for option in (
            name
            for name, given in (("--rows", rows), ("--columns", columns), ("--predict", predict), ("--base", base))
            if given
        ):
            raise BadInput(f"{option}: power cuts have one table", f"leave {option} out")
        journal = opened(cuts)
        _export(journal, csv, parquet)
        show_cuts(journal, directory, console, json=json, page=page).draw(svg, png, _named(journal))
        return
    rendered = render(directory, rows, columns, predict=predict or (), page=page, base=base or ())
    _export(rendered.results.journal, csv, parquet)
    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
    else:
        print_results(rendered.results, console)
        if rendered.results.cuts:
            print_survival(rendered.results.cuts, console)
    rendered.page.show(console, json=json)
    rendered.page.draw(svg, png, _named(rendered.results.journal))


def _named(journal: Journal) -> str:
    """The base, for a picture that stands alone."""
    return ", ".join(journal.header.base.values()) or "base"


def _export(journal: Journal, csv: Path | None, parquet: Path | None) -> None:
    if not (csv or parquet):
        return
    from acidtest.report import export

    for option, path, write in (("--csv", csv, export.to_csv), ("--parquet", parquet, export.to_parquet)):
        if path:
            try:
                with streams.taken(path) as file:
                    write(journal, file)
            except OSError as error:
                raise cannot_write(path, error, f"name another {option}") from None


def _describe(journal: Journal, console: Console, json: bool) -> None:
    from acidtest.report import export

    if json:
        print(json_.dumps(export.as_json(journal), indent=2))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("column", "type", "unit", "meaning"):
        table.add_column(head, overflow="fold", no_wrap=head == "column")  # names are to be typed
    for one in export.columns(journal):
        table.add_row(*map(Text, (one.name, export.TYPES[one.type], one.unit, one.says)))
    console.print(table)


def _report_probe(path: Path, json: bool) -> None:
    from acidtest.journal import probe
    from acidtest.report.probe import print_report
    from acidtest.report.probe import report as compute

    recording = probe.read(path)
    if recording.is_disk_test:
        from acidtest.report.disk_test import as_json, print_disk_test

        if json:
            print(json_.dumps(as_json(recording), indent=2))
        else:
            print_disk_test(recording, Console(highlight=False))
        return
    summary = compute(recording)
    if json:
        print(json_.dumps(summary.as_json(), indent=2))
    else:
        print_report(summary, Console(highlight=False))
