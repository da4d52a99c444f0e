"""What survived, as a table in the terminal and on pages, and as JSON, with what each verdict rests on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis import files_left
from acidtest.analysis.expected_loss import PLUG, announcement, is_unannounced
from acidtest.analysis.survival import Survival, checker_names, controls, is_silent, survivals
from acidtest.doubts.unchecked import may_still_lose, of_cuts
from acidtest.journal.models import Header, Journal, Recording
from acidtest.report.failure_tables import (
    noticing,
    noticing_json,
    recovery,
    recovery_json,
    replication,
    replication_json,
)
from acidtest.report.numbers import attributes
from acidtest.report.table import (
    COUNT,
    NOTHING,
    STYLES,
    Cell,
    Column,
    Table,
    figure,
    of_levels,
    print_table,
    print_unchecked,
)
from acidtest.words import counted
from acidtest.workload import BY_KIND, transactions

REASONS_MAX = 2  # in a terminal
WHYS_MAX = 3  # on a page
WRITES_LATE = "Linux begins to write what nobody flushes after 30 s"
DRAWN = "moments are drawn from the whole load, so that of one of 60 s about half come too early: make several cuts"
LONGER, PACED = "duration_s = 60 in place of count", "count = 600 with rate_per_s = 10, which takes 60 s"
MORE_ITEMS = "more items under [program]"
# As measured, see docs/YOUR-PROGRAM.md: the journal's one transaction has the file's name in it.
HIDES_DIRECTORIES = (
    "On ext4 the fsync of a new file makes its name durable too, so that a missing fsync of its directory does not "
    "show (after a rename it does). fsync(2) promises no such thing, and xfs, btrfs and ext2 do not show it either."
)
ONE_BY_ONE = "acknowledgements-come-one-by-one"
IN_BURSTS = (
    "several items came in one write: how many were lost, how old they were and the items a second say little until "
    "load flushes each item (Python: flush=True, C: stdbuf -oL)"
)
# What a checker that tries the trial itself has seen where it survived.
CONTROLS = {
    "disk-loses-its-cache": "the disk loses what was not flushed",
    "holds-without-a-cut": "without a cut nothing is missing",
    "check-notices-an-empty-disk": "program.check noticed the loss of every item",
    "check-notices-a-planted-loss": "program.check noticed a planted loss",
    "comparison-notices-a-planted-loss": "the comparison noticed a planted loss",
    "machine-was-off": "the machine was off",
}
WITNESSES_MAX = 6


def worst_text(row: Survival) -> str:
    """Commits that the worst cut lost. Of a workload that does not number its commits nothing is known."""
    if not row.held and row.lost_commits_worst is None and row.lost_counted_worst:
        what = "damaged" if row.uncounted_damaged else "uncounted"
        return f"{row.lost_counted_worst:,}; {row.lost_uncounted:,} of {row.cuts:,} {what}"
    if row.held or row.lost_commits_worst is None:
        return "uncounted"
    return f"{row.lost_commits_worst:,}" if row.acknowledged or row.lost else NOTHING


def oldest_note(said: str, *, plug: bool) -> str:
    """What that column tells. Items count from when their lines were read, which may be later, and a plug is known to
    have been pulled after the last acknowledgement."""
    least = "at least " if said == "items" or plug else ""
    return f"oldest loss ms: for {least}how long the oldest of the missing {said} had been acknowledged before the cut."


def _flush_text(row: Survival) -> str:
    """What the engine did after a failed flush, over all cuts."""
    return ", ".join(f"{count:,} {what}" for what, count in row.after_failed_flush.items()) or NOTHING


def verdict(survival: Survival) -> Cell:
    """What came of the power cuts of a combination."""
    announced = " announced" if survival.said == "lost, as announced" else ""
    return Cell(survival.said, survival.verdict + announced)


def _survived(row: Survival) -> str:
    """Of how many states, where crash states were looked at; nothing where no commit was looked for."""
    return NOTHING if row.held else row.survived_of if row.states else f"{row.survived:,}"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}"


COMMITS = "commits"
FIGURES: dict[str, Callable[[Survival], str]] = {
    "cuts": figure("cuts", COUNT),
    "survived": _survived,
    "lost": figure("lost", COUNT),
    "unannounced": figure("losses_unannounced", COUNT),
    "damaged": figure("damaged", COUNT),
    "unknown": figure("unknown", COUNT),
    "after failed flush": _flush_text,
    "states": figure("states", COUNT),
    "outcomes": figure("outcomes", lambda many: f"{many:,}" if many else NOTHING),
    "exercised": figure("exercised_share", lambda part: f"{100 * part:.0f} %"),
    "a second": figure("states_per_s", lambda rate: f"{rate:,.1f}" if rate else NOTHING),
    "worst loss": worst_text,
    # For how long before the cut a commit had been acknowledged that is missing, at worst.
    "oldest loss ms": figure("lost_ms_worst", "{:,.0f}".format),
    "commits/s": figure("commits_per_s"),
    COMMITS: lambda row: f"{row.acknowledged:,}" if row.acknowledged else NOTHING,
    "torn": figure("torn", COUNT),
    "repaired": figure("repaired", COUNT),
    "mount ms": figure("filesystem_recovery_s", ms),
    "recovery ms": figure("engine_recovery_s", ms),
}
# Of the terminal and of the page, in order; in brackets those that stand only where they tell something of some row.
IN_TERMINAL = (
    "[unannounced]", "[damaged]", "[unknown]", "[after failed flush]", "[states]", "[outcomes]", "[exercised]",
    "[a second]", "worst loss", "[oldest loss ms]", "[commits/s]", COMMITS, "[torn]", "[repaired]", "mount ms",
    "recovery ms",
)  # fmt: skip
ON_PAGE = (
    "cuts", "survived", "lost", "unknown", "worst loss", COMMITS, "commits/s", "[unannounced]", "[damaged]",
    "[after failed flush]", "[states]", "[outcomes]", "[oldest loss ms]", "[torn]", "[repaired]", "mount ms",
    "recovery ms",
)  # fmt: skip


def _columns(rows: Sequence[Survival], heads: Sequence[str], said: str) -> list[Column]:
    """Of these ``heads``; ``said`` is what was acknowledged. The last are left out first."""
    shown = [
        (head.strip("[]"), FIGURES[head.strip("[]")])
        for head in heads
        if "[" not in head or any(FIGURES[head.strip("[]")](row) not in ("0", NOTHING) for row in rows)
    ]
    return [Column(head.replace(COMMITS, said), text, drop=n) for n, (head, text) in enumerate(shown, start=1)]


def _table(
    journal: Journal, rows: Sequence[Survival], columns: Sequence[Column], notes: Sequence[str], explained: str
) -> Table:
    answers = answering(noun(journal.recordings))
    return Table(
        of_levels(varied_of(journal.header), [Column("verdict", verdict, right=False, typed=True), *columns]),
        rows,
        "cuts",
        caption=f"Times are medians: the mount with the journal's replay, and the {answers}",
        conclusions=notes,
        page_explained=explained,
    )


def noun(recordings: Iterable[Recording]) -> str:
    """What was acknowledged: "items" of programs alone, or "commits"."""
    said = {transactions(str(recording.workload.get("kind"))) for recording in recordings}
    return said.pop() if said == {"items"} else "commits"


def print_survival(journal: Journal, console: Console) -> None:
    """One row a combination, then the worst cut of each that did not survive, with the command that makes it again."""
    rows = survivals(journal.recordings)
    varied = varied_of(journal.header)
    console.print()
    console.print(Text(journal.header.title, style="bold"))
    said = noun(journal.recordings)
    survived = Column("survived", lambda row: row.survived_of)
    print_table(_table(journal, rows, [survived, *_columns(rows, IN_TERMINAL, said)], (), ""), console, whole="")
    console.print(
        f"\n{said}: acknowledged before the cuts; worst loss: of those, missing after the worst cut.\n"
        f"{said}/s: the median, from the load's start to the cut{on_what(journal)}; no figure of acidtest run.\n"
        f"Times are medians as well: the mount with the journal's replay, the {answering(said)}.",
        style="dim",
        soft_wrap=True,
    )
    if any(row.lost_ms_worst is not None for row in rows):
        console.print(oldest_note(said, plug=is_plug(journal)), style="dim", soft_wrap=True)
    if any(row.exercised_share is not None for row in rows):
        exercised = "exercised: of the kinds of blocks pending at each flush, those of which a crash state lacked some."
        console.print(exercised, style="dim", soft_wrap=True)
    if note := uncounted(journal.recordings):
        console.print(note, style="dim", markup=False, soft_wrap=True)
    for note in [*lost_all(rows, varied, said, plug=is_plug(journal)), *trust(journal.recordings)]:
        console.print(note, markup=False, soft_wrap=True)
    for table in (noticing(journal, varied), replication(journal), recovery(journal, varied)):
        print_table(table, console)
    console.print()
    print_unchecked(of_cuts(journal.recordings), console)
    if missing := not_run(journal):
        console.print(f"\n{missing}", style="yellow", markup=False, soft_wrap=True)
    witnesses = witnessed(rows)
    for row in witnesses[:WITNESSES_MAX]:
        _print_witness(row, console, journal)
    if len(witnesses) > WITNESSES_MAX:
        console.print(f"\n{len(witnesses) - WITNESSES_MAX:,} more did not survive: --json has each.", style="dim")
    console.print(f"\n{tally(rows, announcers(journal), said)}", soft_wrap=True)


def on_what(journal: Journal) -> str:
    """What the power of which was cut."""
    return "" if is_plug(journal) else ", on the simulated disk"


def is_plug(journal: Journal) -> bool:
    """Whether the power was a real machine's."""
    return any(recording.cut and recording.cut.failure == PLUG for recording in journal.recordings) or _of_plug(
        journal.header
    )


def _of_plug(header: Header) -> bool:
    return (header.asked or [])[:1] == [PLUG]


def announcers(journal: Journal) -> str:
    """Who may announce a loss."""
    replicated = any(
        recording.cut and (recording.cut.replication or recording.cut.failure == "lost-disk")
        for recording in journal.recordings
    )
    return "the level, the drive or the replication" if replicated else "the level or the drive"


def tally(rows: Sequence[Survival], who: str, said: str) -> str:
    """In how many cuts something was lost, and whether it may be; ``said`` is what was acknowledged. The last line."""
    announced, unannounced = sum(row.losses_announced for row in rows), sum(row.losses_unannounced for row in rows)
    if not announced and not unannounced:
        return _none_found(rows)
    unknown = sum(row.unknown for row in rows)
    doubt = f" {counted(unknown, 'cut is', 'cuts are')} unknown." if unknown else ""
    all_, unit = sum(row.states or row.cuts for row in rows), "cut"
    if any(row.states for row in rows):
        unit = "crash state" if all(row.states for row in rows) else "cut or crash state"
    of = counted(all_, unit, unit.replace("cut", "cuts").replace("state", "states"))
    lost = f"acknowledged {said} were lost or damaged"
    doubt = _of_these(rows, announced + unannounced, said) + doubt
    if not unannounced:
        return f"In {announced:,} of {of} {lost}, as permitted by {who}.{doubt}"
    others = f"; in {announced:,} more, as permitted by {who}" if announced else ""
    return f"In {unannounced:,} of {of} {lost}, although nothing permits that{others}.{doubt}"


def _of_these(rows: Sequence[Survival], lost: int, said: str) -> str:
    """How many of so many that lost are damaged, and how many only lack commits; "" where one does not tell."""
    known = [row.damaged for row in rows if row.damaged is not None]
    if len(known) < len(rows):
        return ""
    damaged = sum(known)
    if damaged in (0, lost):
        return f" {counted(lost, 'is', 'are')} damaged." if damaged else f" None is damaged: {said} alone are missing."
    return f" Of these {damaged:,} {'is' if damaged == 1 else 'are'} damaged; from the others {said} alone are missing."


def _none_found(rows: Sequence[Survival]) -> str:
    """What is known where no cut is lost: of no combination more than its cuts have shown, and nothing of all of them
    where it is not known of one."""
    if all(row.is_dark for row in rows):
        return "Nothing is known of a loss: no cut has a verdict."
    if all(row.held == row.cuts for row in rows):
        return "No commit was looked for; the conditions held after each cut."
    held = sum(row.held for row in rows)
    but = f", and after {counted(held, 'cut')} no commit was looked for" if held else ""
    if unknown := sum(row.unknown for row in rows):
        cuts = counted(sum(row.cuts for row in rows), "cut")
        return f"Of {unknown:,} of {cuts} it is not known whether anything was lost; the others show no loss{but}."
    return f"No loss was found{but}.{_would_show(rows)}"


def _would_show(rows: Sequence[Survival]) -> str:
    """How rare a loss may be that so few cuts miss, of the combination that was cut least often."""
    drawn = [row.states_drawn for row in rows if row.states_survived and row.states_drawn]
    cuts = [row.survived for row in rows if row.survived and not row.states and not row.storage_failure]
    if not cuts and drawn:
        return (
            f" {counted(min(drawn), 'crash state')} drawn at random would have shown, at 95 %, a loss in "
            f"{100 * may_still_lose(min(drawn)):.2g} % of such states of the same load; a rarer one may be there."
        )
    if not cuts:
        return ""
    of = "each combination" if len(rows) > 1 else "it"
    return (
        f" {counted(min(cuts), 'cut')} of {of} would have shown, at 95 %, one that happens in "
        f"{100 * may_still_lose(min(cuts)):.2g} % of cuts; a rarer one may be there."
    )


def uncounted(recordings: Iterable[Recording]) -> str:
    """Of workloads whose lost commits cannot be counted: why, and what to write; "" where all can."""
    kinds = {str(recording.workload["name"]): str(recording.workload["kind"]) for recording in recordings}
    names = [name for name, kind in kinds.items() if kind not in BY_KIND or not BY_KIND[kind].CAN_BE_SURVEYED]
    return not_numbered(names)


def answering(said: str) -> str:
    """How the time until what was cut answers again is measured."""
    return "program from its start until it is ready" if said == "items" else "engine from its start to its answer"


def trust(recordings: Sequence[Recording]) -> list[str]:
    """What lets a reader believe "survived", and what he must not conclude from it."""
    return [*controls_text(recordings), *hides_directories(recordings)]


def controls_text(recordings: Sequence[Recording]) -> list[str]:
    """One line of the controls that held; nothing of journals that do not tell."""
    held = [
        f"{what} ({control.held:,} of {counted(control.tried, control.unit)})"
        for control in controls(recordings)
        if control.held and (what := CONTROLS.get(control.checker))
    ]
    return [f"Controls that held: {'; '.join(held)}."] if held else []


def hides_directories(recordings: Sequence[Recording]) -> list[str]:
    """One line where a program survived on a file system that hides one kind of mistake."""
    on_ext4 = [
        recording
        for recording in recordings
        if recording.promise is not None and recording.place.filesystem == "ext4" and recording.cut
    ]
    verdicts: dict[str, set[str]] = {}
    for recording in on_ext4:
        if recording.cut and recording.status == "done":
            verdicts.setdefault(recording.cell.rpartition("#")[0], set()).add(recording.cut.verdict)
    return [HIDES_DIRECTORIES] if {"survived"} in verdicts.values() else []


def lost_all(rows: Sequence[Survival], varied: Sequence[str], said: str, *, plug: bool) -> list[str]:
    """Where cuts or crash states came before anything had reached the disk: what they cannot show; a line for all of
    one kind."""
    what, where = ("item", "store") if said == "items" else ("commit", "database")
    lines = []
    for unit, longer in (("cuts", LONGER), ("states", PACED)):
        those = [row for row in rows if row.lost_all and bool(row.states) == (unit == "states")]
        if not those:
            continue
        names = "; ".join(", ".join(row.levels.get(factor, "") for factor in varied) or "this" for row in those)
        first = f"In each cut of {names}"
        if unit == "states":
            first = f"{names}: in each crash state either no {what} had been acknowledged yet, or"
        how = MORE_ITEMS if said == "items" else longer
        lines.append(
            f"{first} every acknowledged {what} was lost, and what is left is whole: such {unit} do not show whether "
            f"the {where} can be damaged. A longer load may ({how}): {WRITES_LATE}"
            f"{f', and {DRAWN}' if unit == 'cuts' and not plug else ''}."
        )
    return lines


def not_numbered(names: Sequence[str]) -> str:
    """What cannot be told of power cuts under workloads of these names, and what to write."""
    if not names:
        return ""
    who = f"workload {names[0]} does" if len(names) == 1 else f"workloads {', '.join(names)} do"
    return (
        f"uncounted: {who} not number transactions, so that only conditions are checked, and no commit is looked for: "
        "that they held does not say that nothing was lost. [workload.numbered] has its commits counted."
    )


def page_tables(journal: Journal) -> dict[str, Any]:
    rows, varied, said = survivals(journal.recordings), varied_of(journal.header), noun(journal.recordings)
    notes = [
        tally(rows, announcers(journal), said),
        uncounted(journal.recordings),
    ]
    notes += lost_all(rows, varied, said, plug=is_plug(journal))
    notes += trust(journal.recordings)
    oldest = oldest_note(said, plug=is_plug(journal)).capitalize()
    oldest_loss = f" {oldest}" if any(row.lost_ms_worst is not None for row in rows) else ""
    explained = (
        f"Worst loss: acknowledged {said} that were missing after the worst cut; “uncounted” where the "
        f"{'program' if said == 'items' else 'engine'} did not give its data back. One cut that lost makes its "
        "combination “lost”; a loss is “as announced” when the durability level, or a drive that gives up flushes, "
        "says that it may happen; “survived” needs every check of every cut to have run and to hold; “conditions "
        f"held” is said where the workload does not number its {said}, so that none was looked for; all else is "
        f"“unknown”.{oldest_loss}"
    )
    return {
        "verdicts": _table(journal, rows, _columns(rows, ON_PAGE, said), [*filter(None, notes)], explained),
        "noun": said,
        "is_plug": is_plug(journal),
        "witnesses": _witnesses(rows, journal),
        "unchecked_cuts": of_cuts(journal.recordings),
        "beside": [noticing(journal, varied), replication(journal), recovery(journal, varied)],
    }


def _witnesses(rows: Sequence[Survival], journal: Journal) -> Table:
    """The worst cut of each combination that did not survive, with the command that makes it again."""

    def why(row: Survival) -> Cell:
        assert row.witness is not None
        reasons = reasons_of(row.witness)[:WHYS_MAX]
        lines = [*reasons, *lost_files(row.witness)]
        return Cell("\n".join(lines), "command", more=_remarks(row.witness, WHYS_MAX))

    def again_kept(row: Survival) -> Cell:
        kept = [f"what {row.kept.cell} has left:", again(row.kept, journal)] if row.kept else []
        return Cell(again(row.witness, journal), "code", more=[*kept, *damaged_again(row)])  # type: ignore[arg-type]

    columns = [
        Column("cut", lambda row: row.witness.cell, right=False),
        Column("verdict", verdict, right=False),
        Column("why", why, right=False),
        Column("again", again_kept, right=False),
    ]
    return Table(columns, witnessed(rows), "witnesses")


def witnessed(rows: Sequence[Survival]) -> list[Survival]:
    """Those that did not survive; first those that lost what nobody announces."""
    return sorted((row for row in rows if row.witness), key=lambda row: not row.losses_unannounced)


def announced_text(recording: Recording) -> str:
    """Who announces what a cut has lost, and what; "" where it lost nothing, or nobody does."""
    lost = recording.cut is not None and recording.status == "done" and recording.cut.verdict == "lost"
    return announcement(recording).reason if lost and not is_unannounced(recording) else ""


def promise_hint(recording: Recording) -> str:
    """Of a program that lost what its level does not announce: where to say that it may; "" of any other cut."""
    if recording.promise is None or not is_unannounced(recording):
        return ""
    level = recording.durability
    return f"if less is promised at level {level}, say so: may_lose under [program.durability.{level}]"


def reasons_of(recording: Recording) -> list[str]:
    """Why its verdict is not survived; behind the first reason, what a reader must know of it."""
    cut = recording.cut
    reasons = cut.reasons if cut and recording.status == "done" else [recording.reason or "no reason was kept"]
    in_bursts = cut is not None and cut.verdict == "lost" and cut.checks.get(ONE_BY_ONE) == "unknown"
    notes = [IN_BURSTS] if in_bursts else []
    return [*reasons[:1], *notes, *(warning.text for warning in recording.warnings), *reasons[1:]]


def _remarks(recording: Recording, reasons_max: int) -> list[str]:
    """What stands beneath so many reasons for which a cut is not survived."""
    more, announced = len(reasons_of(recording)) - reasons_max, announced_text(recording)
    checkers = agreeing_checkers(recording)
    remarks = [
        f"and {counted(more, 'more reason')}" if more > 0 else "",
        f"announced by {announced}" if announced else "",
        f"checkers that answered {_verdict_of(recording)}: {checkers}" if checkers else "",
        promise_hint(recording),
    ]
    return [*filter(None, remarks)]


def _verdict_of(recording: Recording) -> str:
    return recording.cut.verdict if recording.cut and recording.status == "done" else "unknown"


def agreeing_checkers(recording: Recording) -> str:
    """The checkers that answered what its verdict is; "" where none is known, as in journals of older versions."""
    cut = recording.cut
    if cut is None or recording.status != "done":
        return ""
    names = (name for name, verdict in cut.checks.items() if verdict == cut.verdict)
    return ", ".join(checker_names(names, of_program=recording.promise is not None))


def lost_files(recording: Recording) -> list[str]:
    """Which files are there after a cut that lost, and which are not."""
    cut = recording.cut
    return files_left.in_words(cut.files) if cut and cut.verdict == "lost" else []


def again(recording: Recording, journal: Journal) -> str:
    """The command that makes the cut again, or looks again at its crash state."""
    if (cut := recording.cut) and (state := cut.state or (cut.states and cut.states.shortest)):
        return shlex.join(replaying(state))
    combination, directory = recording.cell.rpartition("#")[0], Path(journal.path).parent
    if _of_plug(journal.header):  # no lot decides what a real drive loses, so that a seed makes nothing again
        again = ["--only", combination, "--cuts", "3", "--out", f"{directory}-again"]
        return shlex.join(["acidtest", *(journal.header.asked or []), *again])
    file, *rest = journal.header.asked or ["FILE.toml"]  # journals of older versions do not tell
    command = [file, *(["--quick"] if "--quick" in rest else [])]
    command += ["--only", combination, "--seed", str(recording.seed), "--cuts", "3", "--out", f"{directory}-again"]
    return shlex.join(["acidtest", "powercut", *command])


def damaged_again(row: Survival) -> list[str]:
    """Of a row whose worst crash state shows no damage: what another shows again that does, and the command for it."""
    if row.damaged_state is None or row.witness is None or not row.witness.cut or row.witness.cut.damage:
        return []
    damaged = counted(row.damaged or 0, "damaged state")
    return [f"the shortest of {damaged}, to look at again:", shlex.join(replaying(row.damaged_state))]


def replaying(state: str) -> list[str]:
    """The command that looks again at what is in this state file."""
    return ["acidtest", "powercut", "--replay", state]


def not_run(journal: Journal) -> str:
    """Of the cuts that were asked for, those that have not been made."""
    missing = journal.header.cells - len(journal.recordings)
    if missing <= 0:
        return ""
    words = ["acidtest", *([] if _of_plug(journal.header) else ["powercut"]), *(journal.header.asked or [])]
    asked = f" ({shlex.join(words)})" if journal.header.asked else ""
    cuts = counted(journal.header.cells, "cut that was asked for", "cuts that were asked for")
    return f"{missing:,} of {cuts}{asked} {'has' if missing == 1 else 'have'} not been made yet."


def _print_witness(row: Survival, console: Console, journal: Journal) -> None:
    assert row.witness is not None
    announced, verdict = announced_text(row.witness), _verdict_of(row.witness)
    said, tone = ("lost, as announced", "lost announced") if announced else (verdict, verdict)
    console.print()
    console.print(Text(f"{said}: ", style=STYLES[tone]).append(row.witness.cell, style="bold"))
    for reason in reasons_of(row.witness)[:REASONS_MAX]:
        console.print(f"  {reason}", markup=False, soft_wrap=True)
    for line in lost_files(row.witness):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    remarks = _remarks(row.witness, REASONS_MAX)
    if row.witness.cut and is_silent(row.witness.cut):
        where = "in this state " if row.witness.cut.states else ""
        remarks.append(f"{where}the engine noticed nothing: it starts, answers, and its own check holds")
    remarks.append(f"again:\n  {again(row.witness, journal)}")
    if row.kept:
        remarks.append(f"what {row.kept.cell} has left, to look at again:\n  {again(row.kept, journal)}")
    if damaged := damaged_again(row):
        remarks.append("\n  ".join(damaged))
    for remark in remarks:
        console.print(f"  {remark}", style="dim", markup=False, soft_wrap=True)


def as_json(journal: Journal) -> dict[str, Any]:
    """The same for programs: a row a combination, and every cut."""
    rows = survivals(journal.recordings)
    return {
        "experiment": journal.header.experiment["name"],
        "losses": {
            "announced": sum(row.losses_announced for row in rows),
            "unannounced": sum(row.losses_unannounced for row in rows),
        },
        "combinations": [_row_json(row) for row in rows],
        "recoveries": recovery_json(journal),
        "replication": replication_json(journal),
        "storage_failures": noticing_json(journal),
        "not_checked": [cut.as_json() for cut in of_cuts(journal.recordings)],
        "controls": {
            control.checker: {"held": control.held, "of": control.tried} for control in controls(journal.recordings)
        },
        "cuts": [
            attributes(recording, "cell", "seed", "status", "reason")
            | {
                "announced_by": announced_text(recording) or None,
                "unannounced": is_unannounced(recording),
                "cut": recording.cut.model_dump() if recording.cut else None,
            }
            for recording in journal.recordings
        ],
        "damaged": [one.model_dump() for one in journal.damaged],
    }


def _row_json(row: Survival) -> dict[str, Any]:
    return {
        **attributes(row, "levels", "verdict", "cuts", "survived"),
        "conditions_held": row.held,
        **attributes(row, "lost", "losses_announced", "losses_unannounced", "damaged", "lost_silently", "unknown"),
        **attributes(row, "after_failed_flush", "commits_per_s"),
        "commits_acknowledged": None if row.held else row.acknowledged,
        "commits_lost_worst": None if row.held else row.lost_commits_worst,
        "lost_ms_worst": row.lost_ms_worst,
        "transactions_torn": row.torn,
        **attributes(row, "filesystem_recovery_s", "engine_recovery_s"),
        "filesystem_repaired": row.repaired,
        **attributes(row, "filesystem_errors", "cycle_s"),
        "crash_states": row.states,
        "crash_states_undemanded": row.states_undemanded,
        "crash_states_per_s": row.states_per_s,
        "crash_state_images": row.images,
        "crash_state_outcomes": row.outcomes,
        "crash_states_drawn": row.states_drawn,
        "crash_states_drawn_outcomes_once": row.drawn_outcomes_once,
        "crash_states_exercised": row.exercised,
        "crash_states_legal_log10": row.legal_log10,
    }


def varied_of(header: Header) -> list[str]:
    varied = [factor for factor, levels in header.factors.items() if len(levels) > 1]
    return varied or (["durability"] if header.experiment.get("program") else ["engine", "durability"])
