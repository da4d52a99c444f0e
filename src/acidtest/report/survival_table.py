"""What survived, as a table in the terminal and on pages, and as JSON, with what each verdict rests on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from acidtest.analysis.survival import Survival, survivals
from acidtest.journal.models import Header, Journal, Recording
from acidtest.report.numbers import number

STYLES = {"survived": "green", "lost": "bold red", "unknown": "yellow"}
REASONS_MAX = 2
SOMETIMES = ("after failed flush", "states", "torn", "repaired")  # columns that most pages have no use for
WITNESSES_MAX = 6


@dataclass(frozen=True)
class Column:
    heading: str
    text: Callable[[Survival], str]
    always: bool = True


def worst_text(row: Survival) -> str:
    """Commits that the worst cut lost. Of a workload that does not number its commits nothing is known."""
    if row.acknowledged == 0 and not row.lost:
        return "–"
    return "uncounted" if row.lost_commits_worst is None else f"{row.lost_commits_worst:,}"


def commits_text(row: Survival) -> str:
    return f"{row.acknowledged:,}" if row.acknowledged else "–"


def flush_text(row: Survival) -> str:
    """What the engine did after a failed flush, over all cuts."""
    return ", ".join(f"{count:,} {what}" for what, count in row.after_failed_flush.items()) or "–"


COLUMNS = (
    Column("survived", lambda row: f"{row.survived} of {row.cuts}"),
    Column("unknown", lambda row: f"{row.unknown:,}", always=False),
    Column("after failed flush", flush_text, always=False),
    Column("states", lambda row: f"{row.states:,}", always=False),
    Column("a second", lambda row: f"{row.states_per_s:,.1f}" if row.states_per_s else "–", always=False),
    Column("worst loss", worst_text),
    Column("commits/s", lambda row: number(row.commits_per_s), always=False),
    Column("commits", commits_text),
    Column("torn", lambda row: f"{row.torn:,}", always=False),
    Column("repaired", lambda row: f"{row.repaired:,}", always=False),
    Column("mount ms", lambda row: ms(row.filesystem_recovery_s)),
    Column("recovery ms", lambda row: ms(row.engine_recovery_s)),
)


def print_survival(journal: Journal, console: Console) -> None:
    """One row a combination, then the worst cut of each that did not survive, with the command that makes it again."""
    rows = survivals(journal.recordings)
    varied = varied_of(journal.header)
    console.print()
    console.print(Text(str(journal.header.experiment.get("title") or journal.header.experiment["name"]), style="bold"))
    shown = [column for column in COLUMNS if column.always or any(column.text(row) not in ("0", "–") for row in rows)]
    left_out: list[str] = []
    unbounded = console.options.update_width(10_000)
    while Measurement.get(console, unbounded, _grid(rows, varied, shown)).maximum > console.width and len(shown) > 1:
        left_out.insert(0, shown.pop().heading)
    console.print(_grid(rows, varied, shown))
    if left_out:
        console.print(f"A wider terminal also shows {', '.join(left_out)}.", style="dim", soft_wrap=True)
    console.print(
        "\ncommits: acknowledged before the cuts; worst loss: of those, missing after the worst cut.\n"
        "commits/s: the median, from the load's start to the cut, on the simulated disk; no figure of acidtest run.\n"
        "Times are medians as well: the mount with the journal's replay, the engine from its start to its answer.",
        style="dim",
        soft_wrap=True,
    )
    if missing := not_run(journal):
        console.print(f"\n{missing}", style="yellow", markup=False, soft_wrap=True)
    witnesses = witnessed(rows)
    for row in witnesses[:WITNESSES_MAX]:
        _print_witness(row, console, journal)
    if len(witnesses) > WITNESSES_MAX:
        console.print(f"\n{len(witnesses) - WITNESSES_MAX} more did not survive: --json has each.", style="dim")


def page_tables(journal: Journal) -> dict[str, Any]:
    """What ``verdicts.html.j2`` shows."""
    rows = survivals(journal.recordings)
    extra = {
        column.heading: column.text
        for column in COLUMNS
        if column.heading in SOMETIMES and any(column.text(row) not in ("0", "–") for row in rows)
    }
    return {
        "rows": rows,
        "varied": varied_of(journal.header),
        "extra": extra,
        "witnessed": witnessed(rows),
        "reasons_of": reasons_of,
        "agreeing": agreeing_checkers,
        "worst_text": worst_text,
        "commits_text": commits_text,
        "again": partial(again, journal=journal),
    }


def witnessed(rows: Sequence[Survival]) -> list[Survival]:
    """Those that did not survive. A level that promises nothing may lose all: what is not expected comes first."""
    return sorted((row for row in rows if row.witness), key=lambda row: row.levels.get("durability") != "drive")


def reasons_of(recording: Recording) -> list[str]:
    """Why its verdict is not survived."""
    cut = recording.cut
    return cut.reasons if cut and recording.status == "done" else [recording.reason or "no reason was kept"]


def agreeing_checkers(recording: Recording) -> str:
    """The checkers that answered what its verdict is; "" where none is known, as in journals of older versions."""
    cut = recording.cut
    if cut is None or recording.status != "done":
        return ""
    return ", ".join(name for name, verdict in cut.checks.items() if verdict == cut.verdict)


def again(recording: Recording, journal: Journal) -> str:
    """The command that makes the cut again, or looks again at its crash state."""
    if (cut := recording.cut) and (state := cut.state or (cut.states and cut.states.shortest)):
        return shlex.join(["acidtest", "powercut", "--replay", state])
    combination, directory = recording.cell.rpartition("#")[0], Path(journal.path).parent
    file, *rest = journal.header.asked or ["FILE.toml"]  # journals of older versions do not tell
    command = [file, *(["--quick"] if "--quick" in rest else [])]
    command += ["--only", combination, "--seed", str(recording.seed), "--cuts", "3", "--out", f"{directory}-again"]
    return shlex.join(["acidtest", "powercut", *command])


def not_run(journal: Journal) -> str:
    """Of the cuts that were asked for, those that have not been made."""
    missing = journal.header.cells - len(journal.recordings)
    if missing <= 0:
        return ""
    asked = f" ({shlex.join(['acidtest', 'powercut', *journal.header.asked])})" if journal.header.asked else ""
    return f"{missing:,} of {journal.header.cells:,} cuts that were asked for{asked} have not been made yet."


def _grid(rows: Sequence[Survival], varied: Sequence[str], shown: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for factor in varied:
        table.add_column(factor.rpartition(".")[2], overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for column in shown:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(row.levels.get(factor, "") for factor in varied),
            Text(row.verdict, style=STYLES[row.verdict]),
            *(column.text(row) for column in shown),
        )
    return table


def _print_witness(row: Survival, console: Console, journal: Journal) -> None:
    if row.witness is None:
        return
    recording = row.witness
    cut = recording.cut
    verdict = cut.verdict if cut and recording.status == "done" else "unknown"
    console.print()
    console.print(Text(f"{verdict}: ", style=STYLES[verdict]).append(recording.cell, style="bold"))
    reasons = reasons_of(recording)
    for reason in reasons[:REASONS_MAX]:
        console.print(f"  {reason}", markup=False, soft_wrap=True)
    if len(reasons) > REASONS_MAX:
        console.print(f"  and {len(reasons) - REASONS_MAX} more", style="dim")
    if checkers := agreeing_checkers(recording):
        console.print(f"  checkers that answered {verdict}: {checkers}", style="dim", markup=False, soft_wrap=True)
    console.print(f"  again: {again(recording, journal)}", style="dim", markup=False, soft_wrap=True)


def as_json(journal: Journal) -> dict[str, Any]:
    """The same for programs: a row a combination, and every cut."""
    return {
        "experiment": journal.header.experiment["name"],
        "combinations": [
            {
                "levels": row.levels,
                "verdict": row.verdict,
                "cuts": row.cuts,
                "survived": row.survived,
                "lost": row.lost,
                "unknown": row.unknown,
                "after_failed_flush": row.after_failed_flush,
                "commits_per_s": row.commits_per_s,
                "commits_acknowledged": row.acknowledged,
                "commits_lost_worst": row.lost_commits_worst,
                "transactions_torn": row.torn,
                "filesystem_recovery_s": row.filesystem_recovery_s,
                "engine_recovery_s": row.engine_recovery_s,
                "filesystem_repaired": row.repaired,
                "filesystem_errors": row.filesystem_errors,
                "cycle_s": row.cycle_s,
                "crash_states": row.states,
                "crash_states_per_s": row.states_per_s,
            }
            for row in survivals(journal.recordings)
        ],
        "cuts": [
            {
                "cell": recording.cell,
                "seed": recording.seed,
                "status": recording.status,
                "reason": recording.reason,
                "cut": recording.cut.model_dump() if recording.cut else None,
            }
            for recording in journal.recordings
        ],
    }


def varied_of(header: Header) -> list[str]:
    varied = [factor for factor, levels in header.factors.items() if len(levels) > 1]
    return varied or ["engine", "durability"]


def ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:,.0f}"
