"""``acidtest report``: tables, page and exports from a journal alone."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from acidtest.cli import streams
from acidtest.cli.options import Json, Predict, option
from acidtest.errors import LEAVE_OUT, BadInput, cannot_write, not_among
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.finding import Finding
    from acidtest.journal.models import Journal, Recording
    from acidtest.journal.probe import ProbeRecording
    from acidtest.report.pictures import Picture
    from acidtest.report.probe import Report as ProbeReport
    from acidtest.report.results import Results
    from acidtest.report.search import SearchResults

PAGE = "report.html"


def opened(path: Path) -> Journal:
    """The journal ``path``, with a line on standard error for each line of it that is damaged. Raises BadInput."""
    from acidtest.journal import reader

    journal = reader.read(path)
    for line in journal.damaged:
        print(f"acidtest: {line.told}", file=sys.stderr)
    return journal


def could_not_run(what: str, recordings: Iterable[Recording]) -> str:
    """The last line about those that failed; it names --retry-failed only where some may run another time."""
    failed = [recording.reason or "" for recording in recordings if recording.status == "failed"]
    again = "" if all(LEAVE_OUT in reason for reason in failed) else "; --retry-failed runs them again"
    return f"Some {what} could not run: see above{again}."


@dataclass(frozen=True)
class Page:
    """The page of a report: where it is, or why it could not be written; and its charts."""

    path: Path
    unwritten: BadInput | None
    pictures: Sequence[Picture] = ()

    def draw(self, svg: Path | None, png: Path | None, base: str) -> None:
        """Write each chart as a file into these directories. Raises BadInput."""
        from acidtest.report import pictures

        for flag, directory, write in (("--svg", svg, pictures.write_svg), ("--png", png, pictures.write_png)):
            if directory is None:
                continue
            if not self.pictures:
                raise BadInput(f"{flag}: the page has no chart", "look at the tables, or run more cells first")
            try:
                files = write(self.pictures, directory, base)
            except OSError as error:
                raise cannot_write(directory, error, f"name another {flag}") from None
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
    for flag, factor in (("--rows", down), ("--columns", across)):
        varied = [name for name, levels in journal.header.factors.items() if len(levels) > 1 and name != "workload"]
        if factor is not None and factor not in varied:
            raise BadInput(not_among(f"{flag}: factor", factor, varied))
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
    for word in given:
        factor, equals, level = word.partition("=")
        if not equals:
            raise BadInput(f"--base {word}: is not FACTOR=LEVEL", "name both, as the experiment's base does")
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

    searches = results(journal, waivers, own_journal.compared_searches(journal))
    written = _written(directory, page, lambda path, drawn: write_search_page(searches, path, drawn))
    if json:
        print(json_.dumps(searches.as_json(), indent=2))
    else:
        print_searches(searches, console)
    written.show(console, json=json)
    return searches, written


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
    csv: Annotated[Path | None, option("--csv", "Write one row for each cell as CSV; - is standard output.")] = None,
    parquet: Annotated[Path | None, option("--parquet", "Write one row for each cell as Parquet.")] = None,
    describe: Annotated[
        bool, option("--describe", "Print type, unit and meaning of each column of --csv and --parquet.")
    ] = False,
    rows: Annotated[str | None, option("--rows", "The factor whose levels are the rows of a grid.")] = None,
    columns: Annotated[str | None, option("--columns", "The factor whose levels are its columns.")] = None,
    predict: Predict = None,
    base: Annotated[
        list[str] | None,
        option("--base", "Another base (= 100) than the experiment's: engine=sqlite. May be repeated.", "FACTOR=LEVEL"),
    ] = None,
    page: Annotated[
        Path | None, option("--page", "Write the page to this file, not to DIR/report.html.", "FILE")
    ] = None,
    svg: Annotated[Path | None, option("--svg", "Write each chart as SVG into this directory.", "DIR")] = None,
    png: Annotated[Path | None, option("--png", "Write each chart as PNG into this directory.", "DIR")] = None,
    json: Json = False,
) -> None:
    """Draw the tables and the page again from the journal; needs no engine, no root, and no right to write there."""
    from acidtest.journal import probe
    from acidtest.journal.reader import CUTS, NAME, SEARCH

    ran, probed, cuts, searched = ((directory / name).exists() for name in (NAME, probe.NAME, CUTS, SEARCH))
    files = {"--csv": csv, "--parquet": parquet, "--page": page, "--svg": svg, "--png": png}
    of_runs = {"--rows": rows, "--columns": columns, "--predict": predict}
    if probed and not ran:
        _refuse(files, "a probe has one table", "leave {} out, or use --json")
        show_probe(probe.read(directory / probe.NAME), Console(highlight=False), json=json)
        return
    console = Console(stderr=streams.is_taken(json=json, csv=csv, parquet=parquet, page=page), highlight=False)
    name = CUTS if cuts and not ran else SEARCH if searched and not ran else NAME
    if describe:
        _describe(_based(opened(directory / name), base or ()), console, json)
        return
    show: Callable[[], Page]
    if name == CUTS:
        _refuse({**of_runs, "--base": base}, "power cuts have one table")
        journal = opened(directory / CUTS)
        show = partial(show_cuts, journal, directory, console, json=json, page=page)
    elif name == SEARCH:
        _refuse(of_runs, "searches have one table")
        journal = _based(opened(directory / SEARCH), base or ())
        show = lambda: show_searches(journal, directory, console, json=json, page=page)[1]  # noqa: E731
    else:
        rendered = render(directory, rows, columns, predict=predict or (), page=page, base=base or ())
        journal, show = rendered.results.journal, partial(_show_run, rendered, console, json)
    _export(journal, csv, parquet)
    show().draw(svg, png, ", ".join(journal.header.base.values()) or "base")


def _refuse(options: Mapping[str, object], why: str, remedy: str = "leave {} out") -> None:
    """Raise BadInput where one of these options is given."""
    for flag, given in options.items():
        if given:
            raise BadInput(f"{flag}: {why}", remedy.format(flag))


def _show_run(rendered: Rendered, console: Console, json: bool) -> Page:
    from acidtest.report.survival_table import print_survival
    from acidtest.report.terminal import print_results

    if json:
        print(json_.dumps(rendered.results.as_json(), indent=2))
    else:
        print_results(rendered.results, console)
        if rendered.results.cuts:
            print_survival(rendered.results.cuts, console)
    rendered.page.show(console, json=json)
    return rendered.page


def _export(journal: Journal, csv: Path | None, parquet: Path | None) -> None:
    if not (csv or parquet):
        return
    from acidtest.report import export

    for flag, path, write in (("--csv", csv, export.to_csv), ("--parquet", parquet, export.to_parquet)):
        if path:
            with streams.written(path, flag) as file:
                write(journal, file)


def _describe(journal: Journal, console: Console, json: bool) -> None:
    from acidtest.report import export

    if json:
        print(json_.dumps(export.as_json(journal), indent=2))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("column", "type", "unit", "meaning"):
        table.add_column(head, overflow="fold", no_wrap=head == "column")  # names are to be typed
    for column in export.columns(journal):
        table.add_row(*map(Text, (column.name, export.TYPES[column.type], column.unit, column.says)))
    console.print(table)


def exit_if_severe(severe: Sequence[Finding]) -> None:
    """End the command with code 1 where a finding is severe, and name the rules."""
    if severe:
        names = ", ".join(dict.fromkeys(finding.rule.name for finding in severe))
        print(f"By these findings the figures are not reliable: {names}. See above.", file=sys.stderr)
        raise typer.Exit(1)


def show_probe(recording: ProbeRecording, console: Console, *, json: bool) -> ProbeReport | None:
    """Print a probe, or JSON; the report of it, None of a disk test."""
    from acidtest.report import disk_test, probe

    summary = None if recording.is_disk_test else probe.report(recording)
    if json:
        print(json_.dumps(summary.as_json() if summary else disk_test.as_json(recording), indent=2))
    elif summary:
        probe.print_report(summary, console)
    else:
        disk_test.print_disk_test(recording, console)
    return summary
