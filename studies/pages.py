"""The pages of docs/studies/, made of kept recordings: the answer, a picture, then table after table of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2

from acidtest.audit import own_journal
from acidtest.cli.spans import span
from acidtest.doubts import judge
from acidtest.errors import BadInput
from acidtest.finding import Finding
from acidtest.journal.models import NOT_APPLICABLE, Explored, Journal, PlaceFacts, Recording
from acidtest.report import disk_test, growth_charts, pictures
from acidtest.report.growth import Growth
from acidtest.report.numbers import number
from acidtest.report.page import plots
from acidtest.report.probe import layer_text
from acidtest.report.results import Results, results
from acidtest.report.table import short
from acidtest.report.vega import Spec
from acidtest.words import counted
from studies import recordings, reports
from studies.figures import FIGURES, At, Figure, Shown, shown
from studies.study import Command, Experiment, Held, Kind, Ours, Picture, Published, Report, fits, names, read
from studies.study import Table as OfText

PAGES = recordings.KEPT.parent
AS_SAID = "as the text says"
NOT_YET = "not measured yet"
OF_AUDITOR = "What our own auditor says of these recordings"
AUDITOR = OF_AUDITOR.lower().replace(" ", "-")  # as GitHub names the place of a heading
CALLED = {"tpcb": "TPC-B-like", "tpcc": "TPC-C-like"}  # never the names of the TPC's own benchmarks
MADE = "<!-- Made by `make studies` from docs/studies/recordings: change studies/{name}/study.toml, not this page. -->"

ABOUT = "The text: {text}. Its figures are as printed there."
OF_OURS = """\
Figures of ours are of kept recordings, and nothing of them is typed. In brackets stands the 95 % interval, or the
number of runs where they are too few for one. Simulated drives take the same time on every machine; what lay on this
machine's own storage says so."""
TABLE_BY_TABLE = (
    """\
acidtest answers to five published texts. Each has a page, made of recordings that are kept beside it: the answer, a
picture, each table of the text beside ours, the command of each figure, and what our own auditor says of it.
`make studies` makes the pages again, `make studies STUDY=NAME` measures one from scratch;
[studies/README.md](../../studies/README.md) tells how a table is added.""",
    """\
This table says for each table and figure of the texts whether it is reproduced, what differs and why, that it cannot
be had here, or that it is not measured yet: then no recordings of it are kept.""",
)


class NotMeasured(Exception):
    """A figure is asked for whose recordings are not kept."""


@dataclass(frozen=True)
class Page:
    """A page as text, with its pictures by their names below docs/studies/pictures/."""

    name: str
    text: str
    pictures: Mapping[str, Spec]
    rows: Sequence[tuple[str, str, str]]  # of docs/studies/README.md: the text's table, what came out, experiments
    line: str  # the answer in one sentence, for docs/studies/README.md


@dataclass(frozen=True)
class Kept:
    """What is kept of one experiment."""

    name: str
    experiment: Experiment
    journals: Mapping[Command, Journal]
    explored: Sequence[Explored] = ()

    @cached_property
    def results(self) -> Results | None:
        if "run" not in self.journals:
            return None
        return results(self.journals["run"], cuts=self.journals.get("powercut"), waivers={})

    def part(self, where: Mapping[str, str | list[str]]) -> Results | None:
        """The results of those recordings alone that have the levels of ``where``."""
        if not where or self.results is None:
            return self.results
        cuts = self.results.cuts
        return results(_part(self.results.journal, where), cuts=_part(cuts, where) if cuts else None, waivers={})

    @property
    def recordings(self) -> list[Recording]:
        return [recording for journal in self.journals.values() for recording in journal.recordings]

    @property
    def planned(self) -> int:
        return sum(journal.header.cells for journal in self.journals.values())

    @property
    def took_s(self) -> float:
        """Of all cells together, without the loads before them."""
        return sum(
            (datetime.fromisoformat(recording.ended_at) - datetime.fromisoformat(recording.started_at)).total_seconds()
            for recording in self.recordings
        )

    @property
    def storage(self) -> str:
        """What the databases lay on, one a line; "" where nothing was measured."""
        return "<br>".join(
            dict.fromkeys(storage_of(recording) for recording in self.recordings if recording.result or recording.cut)
        )

    @property
    def storage_in_short(self) -> str:
        """The same in a few words."""
        kinds = Counter(
            "a simulated drive" if one.startswith("a simulated drive") else one for one in self.storage.split("<br>")
        )
        return " and ".join(counted(n, "simulated drive") if n > 1 else kind for kind, n in kinds.items())

    @property
    def waived(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for journal in self.journals.values():
            found |= journal.header.experiment.get("waive", {})
        return found

    def findings(self) -> list[Finding]:
        """All that our auditor says, whatever the experiment sets aside."""
        of: dict[Command, Callable[[Journal], list[Finding]]] = {"run": _of_run, "powercut": judge.of_cuts}
        return [one for command, journal in self.journals.items() for one in of[command](journal)]


def _of_run(journal: Journal) -> list[Finding]:
    return [*judge.findings(journal), *own_journal.compared(journal)]


@dataclass
class Making:
    """One study on its way to a page."""

    held: Held
    kept: Mapping[str, Kept]
    pictures: dict[str, Spec] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str) -> Making:
        held = read(name)
        kept = {}
        for experiment, one in held.study.experiments.items():
            found = {command: recordings.kept(name, experiment, command) for command in one.commands}
            journals = {command: journal for command, journal in found.items() if journal}
            kept[experiment] = Kept(experiment, one, journals, recordings.explored(name, experiment))
        return cls(held, kept)

    def page(self) -> Page:
        study = self.held.study
        text = "\n\n".join(part for part in self._parts() if part) + "\n"
        rows = [(table.name, self._came_out(table), self._experiments(table)) for table in study.tables]
        said = self._said(study.line) or study.line_without or NOT_YET
        line = f"- [{study.title.rstrip('?')}]({self.held.name}.md): {' '.join(said.split()).rstrip('.')}."
        return Page(self.held.name, text, self.pictures, rows, line)

    def _parts(self) -> Iterator[str]:
        study = self.held.study
        yield MADE.format(name=self.held.name)
        yield f"# {study.title}"
        yield self._said(study.answer) or study.without.strip()
        if study.picture:
            yield self._picture(study.picture, self.held.name)
        yield " ".join([*([ABOUT.format(text=study.text)] if study.text else []), OF_OURS])
        for position, table in enumerate(study.tables, start=1):
            yield from self._table(table, f"{self.held.name}-{position}")
        yield from self._audit()
        yield "## How to measure it again"
        yield self._how()
        yield from self._machines()

    # One table of the text

    def _table(self, table: OfText, picture: str) -> Iterator[str]:
        yield f"## {table.name[0].upper()}{table.name[1:]}"
        theirs = self.held.text.get(table.theirs)
        place = theirs.place if theirs else table.place
        came_out = self._came_out(table)
        yield f"**{came_out[0].upper()}{came_out[1:].rstrip('.')}.**"
        if place:
            yield f"In the text: {place.rstrip('.')}."
        if table.cannot:
            if theirs:
                yield _beside(theirs, [], {})
            return
        if table.picture:
            yield self._picture(table.picture, picture)
        yield from self._figures(table, theirs)
        if table.disk_test:
            yield from self._disk_test(table.disk_test)
        said = self._said(table.says)
        if said:
            yield said
        if table.used:
            yield self._measured_by([self.kept[name] for name in table.used])

    def _figures(self, table: OfText, theirs: Published | None) -> Iterator[str]:
        """The text's beside ours, where these are one table; those of ours that have one title are."""
        labels = {**self.held.study.labels, **{level: name for our in table.ours for level, name in our.labels.items()}}
        grouped = [(title, [*of]) for title, of in groupby(table.ours, lambda ours: ours.title)]
        drawn = [(title, [column for ours in of for column in self._ours(ours)]) for title, of in grouped]
        if theirs and drawn and drawn[0][1] and not drawn[0][0]:
            yield _beside(theirs, drawn.pop(0)[1], labels)
        elif theirs:
            yield f"The text ({theirs.unit}):" if theirs.unit else "The text:"
            yield _beside(theirs, [], labels)
        for title, columns in drawn:
            if columns:
                if title:
                    yield f"{title}:"
                yield _alone(columns, labels)
        for report in table.report:
            yield from self._report(report)

    def _report(self, asked: Report) -> Iterator[str]:
        found = self._of_report(asked.experiment, asked.kind)
        if found and found.rows:
            if asked.title:
                yield f"{asked.title}:"
            yield _markdown(found.heads, found.rows)
            yield found.explained

    def _of_report(self, experiment: str, kind: Kind) -> reports.Shown | None:
        source = reports.REPORTS[kind]
        kept = self.kept[experiment]
        journal = kept.journals.get(source.command)
        return source.of(journal, kept.explored) if journal else None

    def _disk_test(self, name: str) -> Iterator[str]:
        """Its table; "not measured yet" where no recording is kept."""
        command = f"`{' '.join(self.held.study.disk_tests[name].command())}`"
        recording = recordings.disk_test(self.held.name, name)
        if recording is None:
            yield f"Not measured yet. {command}."
            return
        lines = ["| access | past the file cache, MB/s | through it, MB/s | through / past |", "|---|---|---|---|"]
        for access in disk_test.accesses(recording):
            ratio = f"{shown(access.absorbed).text} ×" if access.absorbed else "–"
            lines.append(f"| {access.name} | {shown(access.past).text} | {shown(access.through).text} | {ratio} |")
        yield "Reads and writes of the drive alone, without a database:"
        yield "\n".join(lines)
        storage = "; ".join(layer_text(layer) for layer in recording.layers)
        yield f"Measured by {command}, on this machine's own storage ({storage})."

    def _came_out(self, table: OfText) -> str:
        if table.cannot:
            return f"cannot be had here: {table.cannot}"
        if table.disk_test:
            is_kept = recordings.disk_test(self.held.name, table.disk_test) is not None
            return (self._said(table.came_out) or "measured") if is_kept else (table.elsewhere or NOT_YET)
        used = [self.kept[one] for one in table.used]
        if table.elsewhere and not any(one.journals for one in used):
            return table.elsewhere
        if not any(one.journals for one in used):
            return NOT_YET
        said = self._said(table.came_out) or "measured"
        part = [one for one in used if one.journals and len(one.recordings) < one.planned]
        if part:
            said += f" ({len(part[0].recordings):,} of {counted(part[0].planned, 'cell')} so far)"
        if not all(one.journals for one in used):
            said += " (in part; the rest is not measured yet)"
        return said

    def _experiments(self, table: OfText) -> str:
        files = dict.fromkeys(Path(self.held.study.experiments[one].file).name for one in table.used)
        return ", ".join(f"`{file}`" for file in files) or "–"

    def _ours(self, ours: Ours) -> list[Column]:
        kept = self.kept[ours.experiment]
        found = kept.results
        if found is None:
            return []
        columns: list[Column] = []
        labels = CALLED | self.held.study.labels | ours.labels
        for table in found.tables:
            lines = [line for line in table.lines if fits(line.levels, ours.where)]
            if not lines:
                continue  # a workload of others
            across = [*dict.fromkeys(line.levels.get(ours.columns, "") for line in lines)] if ours.columns else [""]
            across = [one for one in across if one != NOT_APPLICABLE] or across
            for level in across:
                among = [
                    line
                    for line in lines
                    if not ours.columns or line.levels.get(ours.columns) in (level, NOT_APPLICABLE)
                ]
                for name in ours.figures:
                    figure = _figure(name)
                    cells = {
                        line.levels.get(ours.rows, ""): figure.of(At(line, among, table, found)) for line in among
                    }  # fmt: skip
                    part = [labels.get(level, level)] if level else []
                    heading = ", ".join([*part, figure.called(found)])
                    columns.append(Column(heading, short(ours.rows), cells))
        return columns

    # Sentences

    def _said(self, template: str) -> str:
        """With its figures in place; "" where one of them is not measured."""
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
        environment.filters |= {"number": number, "times": lambda ratio: number(ratio, 2)}
        environment.globals |= {"value": self._value, "shown": self._shown, "rows": self._rows}
        environment.globals |= {"reported": self._reported, "kept": lambda name: bool(self.kept[name].journals)}
        try:
            return environment.from_string(template.strip()).render()
        except NotMeasured:
            return ""
        except (jinja2.TemplateError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{self.held.name}: {template.strip()[:60]!r}: {error}", "mend its study.toml") from error

    def _at(self, experiment: str, where: Mapping[str, str]) -> Iterator[At]:
        kept = self.kept[experiment]
        for table in kept.results.tables if kept.results else ():
            for line in table.lines:
                if line.row.done and fits(line.levels, where):
                    yield At(line, table.lines, table, kept.results)  # type: ignore[arg-type]

    def _cell(self, experiment: str, figure: str, where: Mapping[str, str]) -> Shown:
        at = next(self._at(experiment, where), None)
        if at is None:
            raise NotMeasured
        return _figure(figure).of(at)

    def _value(self, experiment: str, figure: str, where: Mapping[str, str] | None = None, **levels: str) -> float:
        """The figure of the first row with these levels, as a number."""
        value = self._cell(experiment, figure, {**(where or {}), **levels}).value
        if value is None:
            raise NotMeasured
        return value

    def _shown(self, experiment: str, figure: str, where: Mapping[str, str] | None = None, **levels: str) -> str:
        """The same as in a table, with its interval."""
        return self._cell(experiment, figure, {**(where or {}), **levels}).text

    def _rows(self, experiment: str, *where: Mapping[str, str], **levels: str) -> list[dict[str, Any]]:
        """All rows with these levels: their levels, rate, rate relative to the base, verdict against it, and the
        smallest difference that would have been found, as a part of the higher rate."""
        asked = {factor: level for one in (*where, levels) for factor, level in one.items()}
        found = [*self._at(experiment, asked)]
        if not found:
            raise NotMeasured
        return [_row(at) for at in found]

    def _reported(self, experiment: str, kind: Kind, **levels: str) -> list[Any]:
        """What the rows with these levels are of, in a table of a report."""
        found = self._of_report(experiment, kind)
        rows = [one for one in found.found if fits(one.levels, levels)] if found else []
        if not rows:
            raise NotMeasured
        return rows

    # Pictures

    def _picture(self, picture: Picture, name: str) -> str:
        found = self.kept[picture.experiment].part(picture.where)
        if found is None:
            return ""
        charts = plots(found)
        for position, table in enumerate(found.tables):
            if picture.workload in ("", table.workload):
                chart = next(
                    (c for key, c in charts.items() if c.panels and _chart_named(key, picture.chart, position)), None
                )
                if chart:
                    self.pictures[name] = pictures.specification(chart, ", ".join(found.base.values()) or "base")
                    by_size = "time" not in picture.chart
                    says = self._said(picture.says) + (_marked(table.growth) if by_size else "")
                    return f"![{says.replace(chr(10), ' ')}](pictures/{name}.svg)\n\n{says}"
        return ""

    # How it was measured

    def _how(self) -> str:
        lines = ["| experiment | command | cells | time | storage |", "|---|---|---|---|---|"]
        for one in self.kept.values():
            size = one.experiment.full
            full = f"; full size: [{Path(size).name}](../../{size})" if size else ""
            cells = f"{len(one.recordings):,} of {one.planned:,}" if one.journals else NOT_YET
            took = span(one.took_s) if one.journals else "–"
            storage = one.storage or "–"
            link = f"[{one.name}](../../{one.experiment.file}){full}"
            lines.append(f"| {link} | {_commands(one)} | {cells} | {took} | {_cell_text(storage)} |")
        again = f"`{studies_command(self.held.name)}` measures all of it from scratch and makes this page."
        kept = f"The recordings are in docs/studies/recordings/{self.held.name}." if _any_kept(self.kept) else ""
        return "\n".join([*lines, "", f"{again} {kept}".rstrip()]) if self.kept else ""

    def _measured_by(self, used: Sequence[Kept]) -> str:
        lines = []
        for kept in used:
            if kept.journals:
                took = f"{counted(len(kept.recordings), 'cell')} in {span(kept.took_s)}, on {kept.storage_in_short}"
                lines.append(f"Measured by {_commands(kept)}: {took}. {self._doubts(kept)}")
        if missing := [_commands(kept) for kept in used if not kept.journals]:
            lines.append(f"Not measured yet: {', '.join(missing)}.")
        return "\n\n".join(lines)

    @staticmethod
    def _doubts(one: Kept) -> str:
        """What our auditor says of it, by the names of its rules; the page's end has the words."""
        found = Counter((finding.severity, finding.rule.name) for finding in one.findings())
        notes = sum(severity == "note" for severity, _ in found)
        lines = [
            f"{severity} `{rule}`{f' ({n})' if n > 1 else ''}"
            for (severity, rule), n in found.items()
            if severity != "note"
        ]
        lines += [counted(notes, "note")] if notes else []
        return f"Our auditor, [whose words stand below](#{AUDITOR}): {', '.join(lines) or 'nothing'}."

    def _audit(self) -> Iterator[str]:
        if not _any_kept(self.kept):
            return
        yield f"## {OF_AUDITOR}"
        yield "All of it, whatever an experiment sets aside; its reason stands behind."
        for one in self.kept.values():
            if one.journals:
                yield "\n".join([f"**{one.name}**", "", *self._findings(one)])

    @staticmethod
    def _findings(one: Kept) -> Iterator[str]:
        found = one.findings()
        if not found:
            yield "- nothing."
        for of in {finding.rule.name: finding for finding in found}.values():
            alike = [finding for finding in found if finding.rule.name == of.rule.name]
            more = f" (and {len(alike) - 1:,} more of this rule)" if len(alike) > 1 else ""
            reason = one.waived.get(of.rule.name)
            aside = f" *The experiment sets it aside: {reason.rstrip('.')}.*" if reason else ""
            yield f"- {of.severity}, `{of.rule.name}`: {_prose(alike[0].text)}{more}{aside}"

    def _machines(self) -> Iterator[str]:
        machines = {
            f"{m.cpu_count} × {m.cpu_model}, {m.memory_bytes / (1 << 30):.0f} GiB of memory, "
            f"{_kernel(m.kernel)}, {m.os}, {m.virtualization}": None
            for one in self.kept.values()
            for m in (recording.machine for recording in one.recordings)
        }
        engines = {
            f"{e.id} {e.version} ({e.mode}, {e.source})": None
            for one in self.kept.values()
            for e in (recording.engine for recording in one.recordings)
            if e
        }
        if machines:
            yield "## The machine and the engines"
            yield "\n".join(f"- {machine}" for machine in [*machines, *engines])
            yield "Other programs may have been at work on the machine; cells were interleaved and shuffled."


def _part(journal: Journal, where: Mapping[str, str | list[str]]) -> Journal:
    return journal.model_copy(
        update={"recordings": [recording for recording in journal.recordings if fits(recording.levels, where)]}
    )


@dataclass(frozen=True)
class Column:
    """One column of a table of ours."""

    heading: str
    rows: str  # what its rows are
    cells: Mapping[str, Shown]


def _row(at: At) -> dict[str, Any]:
    against = at.line.against_base
    return {
        "levels": dict(at.line.levels),
        "rate": at.line.goodput.median,
        "relative": at.line.relative.median if at.line.relative else None,
        "verdict": at.line.verdict,
        "smallest": 1 - against.smallest_ratio if against and against.smallest_ratio is not None else None,
    }


def _marked(growth: Growth | None) -> str:
    """What the lettered lines of a picture of databases that grow are."""
    marks = growth_charts.marks(growth) if growth else []
    return f" Dashed lines: {'; '.join(f'{mark.letter} {mark.words}' for mark in marks)}." if marks else ""


def _figure(name: str) -> Figure:
    try:
        return FIGURES[name]
    except KeyError:
        raise ValueError(f'no figure "{name}"; there are: {", ".join(FIGURES)}') from None


def _chart_named(key: str, chart: str, position: int) -> bool:
    return key == f"{chart}-{position}" or key.startswith(f"{chart}-{position}-") or key == chart


def _any_kept(kept: Mapping[str, Kept]) -> bool:
    return any(one.journals for one in kept.values())


def _commands(kept: Kept) -> str:
    return " and ".join(f"`{' '.join(kept.experiment.command(what))}`" for what in kept.experiment.commands)


def studies_command(name: str) -> str:
    return f"make studies STUDY={name}"


def storage_of(recording: Recording) -> str:
    """What it lay on: a drive that is described, or this machine's own storage."""
    place: PlaceFacts = recording.place
    if place.kind == "disk":
        return f"a simulated drive ({place.disk.replace(', sectors of 4096 bytes', '')})"
    if place.kind == "guest":
        return "this machine's own storage, in a guest"
    how = {"loop": "a loop device on ", "raw": "a loop device on "}.get(place.kind, "")
    return f"{how}this machine's own storage"


def _kernel(text: str) -> str:
    """Without what a builder has added to its number."""
    return "-".join(text.split("-")[:1])


def _beside(theirs: Published, ours: Sequence[Column], labels: Mapping[str, str]) -> str:
    """A row for each of the text's and of ours; the text's columns first."""
    rows = [*theirs.rows, *(row for column in ours for row in column.cells if row not in theirs.rows)]
    unit = f", {theirs.unit}" if theirs.unit else ""
    heads = ["", *("the text" if column == AS_SAID else f"text: {column}{unit}" for column in theirs.columns)]
    heads += [f"here: {column.heading}" for column in ours]
    lines = [[labels.get(row, row), *(_figure_text(f) for f in theirs.rows.get(row, ["–"] * len(theirs.columns))),
              *(column.cells[row].text if row in column.cells else "–" for column in ours)]
             for row in dict.fromkeys(rows)]  # fmt: skip
    return _markdown(heads, lines)


def _alone(ours: Sequence[Column], labels: Mapping[str, str]) -> str:
    rows = dict.fromkeys(row for column in ours for row in column.cells)
    lines = [[labels.get(row, row), *(column.cells[row].text if row in column.cells else "–" for column in ours)]
             for row in rows]  # fmt: skip
    return _markdown([ours[0].rows, *(column.heading for column in ours)], lines)


def _figure_text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[_cell_text(one) for one in row] for row in (heads, *rows)]
    return "\n".join(["| " + " | ".join(lines[0]) + " |", "|---" * len(heads) + "|",
                      *("| " + " | ".join(row) + " |" for row in lines[1:])])  # fmt: skip


def _cell_text(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _prose(text: str) -> str:
    return text.replace("<", "&lt;").replace("\n", " ")


def readme(pages: Sequence[Page]) -> str:
    """docs/studies/README.md: a sentence for each study, and a row for each table of the texts."""
    about, about_table = TABLE_BY_TABLE
    lines = [
        MADE.format(name="NAME"),
        "# The five studies, table by table",
        about,
        "\n".join(page.line for page in pages),
        about_table,
    ]
    rows = ["| text, table or figure | here | experiment |", "|---|---|---|"]
    for page in pages:
        study = read(page.name).study
        rows.append(f"| **[{study.text or study.title}]({page.name}.md)** | | |")
        rows += [
            f"| {_cell_text(name)} | {_cell_text(said)} | {experiments} |" for name, said, experiments in page.rows
        ]
    return "\n\n".join([*lines, "\n".join(rows)]) + "\n"


def made(only: Sequence[str] = ()) -> list[Page]:
    """The pages of these studies, or of all."""
    return [Making.of(name).page() for name in only or names()]


def write(pages: Sequence[Page]) -> None:
    """Write pages and pictures; a picture only if it shows something else than the one that is there."""
    for page in pages:
        (PAGES / f"{page.name}.md").write_text(page.text, encoding="utf-8")
        for name, spec in page.pictures.items():
            path = PAGES / "pictures" / f"{name}.svg"
            path.parent.mkdir(exist_ok=True)
            if not path.exists() or pictures.made_of(path) != pictures.fingerprint(spec):
                path.write_text(pictures.svg(spec), encoding="utf-8")
        for path in (PAGES / "pictures").glob(f"{page.name}*.svg"):
            if path.stem not in page.pictures:
                path.unlink()
    every = made() if len(pages) < len(names()) else pages
    (PAGES / "README.md").write_text(readme(every), encoding="utf-8")
