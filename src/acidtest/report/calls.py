"""An engine's system calls: of a commit in figures, its files, one commit line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis.calls import FileUse, role, uses
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import Recording
from acidtest.journal.protocol import ObservedCalls, ObservedLine, Spread, TypicalCommit
from acidtest.report.line import Line
from acidtest.report.numbers import number
from acidtest.report.statements import print_statements
from acidtest.report.table import Cell, Column, Table, print_table
from acidtest.words import counted, first_of

TIED = {
    "thread": "a commit's calls are those of its own thread",
    "time": "a commit's calls are those that the server made while it was under way",
    "shared_time": "several terminals at once: calls cannot be assigned to commits, so there are only averages",
}
LAYERS = {"file_system": "file system", "block": "block layer", "device": "disk"}
# Names of threads of the kernel that write for others: of journals, of file systems, of devices.
KERNELS = (
    *("jbd2/", "kworker/", "xfsaild/", "loop", "dmcrypt", "md", "ksoftirqd/", "swapper", "<"),
    *(f"{name}-" for name in FILESYSTEMS),
)
OTHERS_MAX = 6  # names of files that were only read or open


def print_calls(recording: Recording, console: Console) -> None:
    """Print what ``recording`` holds of calls; nothing else of it."""
    console.print()
    console.print(Text(" ".join(recording.levels.values()), style="bold"), soft_wrap=True)
    console.print(Text(recording.durability_means, style="dim"))
    calls = recording.calls
    if calls is None:
        console.print(Text(recording.reason or "its calls were not watched", style="red"), soft_wrap=True)
        return
    lost = f"{counted(calls.dropped, 'event')} lost: every count is a lower bound" if calls.dropped else "no event lost"
    means = {"kernel": "the kernel's tracing", "strace": "strace"}[calls.means]
    console.print(
        f"{counted(calls.commits, 'commit')}, {counted(calls.calls, 'call')} seen by {means}, {lost}; "
        f"{TIED[calls.tied_by]}."
    )
    if calls.commits == 0:
        return
    files = _uses(recording)
    console.print()
    print_table(files_table(recording), console)
    _print_others([use for use in files if not use.touched], console)
    for sentence in hints(recording):
        console.print(Text(sentence))
    _print_storage(calls, console)
    _print_commit(calls, console)
    if calls.typical:
        console.print()
        console.print(heading(calls.typical))
        print_table(typical_table(calls.typical), console)
    if recording.traced_statements:
        print_statements(recording.traced_statements, console)


def _uses(recording: Recording) -> list[FileUse]:
    """None where no commit was seen."""
    calls = recording.calls
    return [] if calls is None or not calls.commits else uses(calls, recording.known_as)


def files_table(recording: Recording) -> Table:
    """The files that were written or flushed, with what befell them for one commit."""
    commits = recording.calls.commits if recording.calls else 0

    def flushes(use: FileUse) -> str:
        kinds = ", ".join(f"{number(count / commits)} {how}" for how, count in sorted(use.flushes.items()))
        submitted = f"{number(use.submitted / commits)} handed over unseen" if use.submitted else ""
        return kinds or submitted or "none"

    columns = [
        Column("file", lambda use: use.path, right=False, typed=True),
        Column("role", lambda use: use.role, right=False),
        Column("opened with", lambda use: " or ".join(use.flags), right=False),
        Column("writes", lambda use: number(use.writes / commits)),
        Column("bytes", lambda use: number(use.write_bytes / commits)),
        Column("flushes", flushes, right=False),
        Column("µs each", lambda use: number(use.flush_us / use.flush_count) if use.flush_count else ""),
        Column("reads", lambda use: number(use.reads / commits)),
    ]
    what = "rites, bytes, flushes and reads: for each commit, on average"
    touched = [use for use in _uses(recording) if use.touched]
    return Table(columns, touched, "files", caption=f"W{what}", explained=f"w{what}")


def typical_table(typical: TypicalCommit) -> Table:
    """One commit, line by line."""

    def column(head: str, text: Callable[[ObservedLine], str], right: bool = True, typed: bool = False) -> Column:
        return Column(head, lambda line: Cell(text(line), "" if line.layer == "call" else "soft"), right, typed=typed)

    def call(line: ObservedLine) -> str:
        what = (
            f"{LAYERS[line.layer]}: {line.what}"
            if line.layer in LAYERS
            else " ".join(filter(None, (line.what, line.how)))
        )
        return what + (f": {line.error}" if line.error else "")

    columns = [
        column("at µs", lambda line: f"{line.at_us:,.1f}"),
        column("thread", lambda line: line.who, right=False),
        column("call", call, right=False),
        column("file", lambda line: line.path or "", right=False, typed=True),
        column("offset", lambda line: "" if line.offset is None else f"{line.offset:,}"),
        column("bytes", lambda line: "" if line.bytes is None else f"{line.bytes:,}"),
        column("took µs", lambda line: "" if line.lasted_us is None else f"{line.lasted_us:,.1f}"),
    ]
    left_out = f"{counted(typical.left_out, 'more line is', 'more lines are')} left out."
    notes = [of_others(typical), left_out if typical.left_out else ""]
    return Table(columns, shown_lines(typical), "commit", notes=[*filter(None, notes)])


def of_commits(lines: Sequence[Line]) -> Table:
    """The calls of a commit, of the rows that were watched."""
    watched = [line for line in lines if line.calls]
    columns = [
        Column("row", lambda line: line.label, right=False),
        Column("commits seen", lambda line: f"{line.calls.commits:,}"),
        Column("writes", lambda line: number(line.calls.writes)),
        Column("bytes", lambda line: number(line.calls.bytes)),
        Column("flushes", lambda line: number(line.calls.flushes)),
        Column(
            "by kind, on average",
            lambda line: ", ".join(f"{number(count)} {kind}" for kind, count in line.calls.by_kind.items()) or "none",
            right=False,
        ),
        Column("µs in flushes", lambda line: number(line.calls.flush_us)),
        Column("events lost", lambda line: Cell(f"{line.calls.dropped:,}", "bad" if line.calls.dropped else "")),
    ]
    average = any(line.calls.average for line in watched if line.calls)
    inseparable = ", or the average over all where the calls of several terminals of a server cannot be separated"
    explained = (
        f"What the engine asked of the operating system: of one commit, the median{inseparable if average else ''}. A "
        "write that is durable when it returns (O_DSYNC) counts as a flush too. Runs that are watched are slower than "
        "others."
    )
    return Table(columns, watched, "calls", page_title="Calls of a commit", page_explained=explained)


def _print_others(files: Sequence[FileUse], console: Console) -> None:
    if not files:
        return
    named = [f"{use.path} ({', '.join(filter(None, (use.role, *use.flags)))})" for use in files]
    console.print(Text(f"Open or read only: {first_of(named, OTHERS_MAX, '; ')}.", style="dim"))


def hints(recording: Recording) -> list[str]:
    """What the engine told the kernel about its files since its sessions opened: hints, and what it has mapped."""
    if recording.calls is None or not recording.calls.commits:
        return []
    files = _uses(recording)
    hinted = [f"{use.path} ({use.role}): {_counts(use.hints)}" for use in files if use.hints]
    mapped = [
        f"{use.path} ({use.role}): {_counts(use.mappings)}" for use in files if use.mappings and use.role != "other"
    ]
    return [
        f"Hints to the kernel: {'; '.join(hinted)}."
        if hinted
        else "No hint to the kernel was seen: no fadvise, madvise or readahead on a file.",
        *([f"Mapped into memory, so that reads and writes of it are no calls: {'; '.join(mapped)}."] if mapped else []),
    ]


def _counts(of: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} × {what}" for what, count in sorted(of.items()))


def _print_storage(calls: ObservedCalls, console: Console) -> None:
    if calls.means != "kernel":
        console.print(Text(beneath(calls), style="dim"))
    else:
        console.print(beneath(calls))


def beneath(calls: ObservedCalls) -> str:
    """What file system and block layer did for one commit, on average."""
    if calls.means != "kernel":
        return "What file system and block layer did, strace does not show."
    each = [
        f"{number(one.count / calls.commits)} {one.what}"
        + (f" ({number(one.bytes / calls.commits)} bytes)" if one.bytes else "")
        + (f" of {number(one.total_us / one.count)} µs" if one.total_us else "")
        for one in calls.storage
    ]
    return (
        f"Beneath, on this disk, by all programs of the machine together, for each commit: "
        f"{'; '.join(each) or 'nothing was seen'}."
    )


def _print_commit(calls: ObservedCalls, console: Console) -> None:
    if not (each := calls.per_commit):
        return

    def shown(spread: Spread, noun: str, plural: str = "") -> str:
        if spread.min == spread.max:
            return counted(spread.median, noun, plural)
        return f"{spread.median:,} ({spread.min:,} to {spread.max:,}) {plural or f'{noun}s'}"

    console.print(
        f"A commit: {shown(each.writes, 'write')} of {shown(each.bytes, 'byte')} together, "
        f"{shown(each.flushes, 'flush', 'flushes')}, {shown(each.flush_us, 'µs', 'µs')} in flushes of "
        f"{shown(each.whole_us, 'µs', 'µs')} in all; median and range."
    )


def heading(typical: TypicalCommit) -> str:
    asked = f", the commit asked for at {number(typical.commit_at_us)} µs" if typical.commit_at_us else ""
    return (
        f"One commit like most ({typical.alike:,} with as many writes and flushes), terminal {typical.terminal}, "
        f"{number(typical.lasted_us)} µs{asked}:"
    )


def shown_lines(typical: TypicalCommit) -> list[ObservedLine]:
    """The lines of the commit: without what other programs of the machine asked of the same disk meanwhile."""
    return [line for line in typical.lines if not _of_another(line, typical)]


def of_others(typical: TypicalCommit) -> str:
    """In one line what was left out of those lines; "" where nothing was."""
    others = [line for line in typical.lines if _of_another(line, typical)]
    if not others:
        return ""
    names = list(dict.fromkeys(line.who for line in others))
    written = sum(line.bytes or 0 for line in others if "write" in line.what)
    return (
        f"On the same disk meanwhile, by threads that made no call for this commit: {counted(len(others), 'request')}, "
        f"{counted(written, 'byte')} written ({first_of(names, OTHERS_MAX)})."
    )


def _of_another(line: ObservedLine, typical: TypicalCommit) -> bool:
    """Whether a thread of another program asked for it.

    Threads of the engine make calls that are watched. The kernel's own (``jbd2/…``, ``kworker/…``, of a disk) work for
    whoever waits, and what they do for this commit cannot be told from what they do for others.
    """
    if line.layer not in ("block", "file_system") or line.own:
        return False
    name = line.who.partition(" ")[0]
    engine = {line.who for line in typical.lines if line.layer == "call" or line.own}
    return line.who not in engine and not name.startswith(KERNELS)


def as_json(recording: Recording) -> dict[str, Any]:
    """The same for programs, each file with its role."""
    calls = recording.calls
    observed = calls.model_dump(mode="json") if calls else None
    for file in observed["files"] if observed else []:
        file["role"] = role(recording.known_as, file["path"])
    return {
        "cell": recording.cell,
        "levels": recording.levels,
        "status": recording.status,
        "reason": recording.reason,
        "engine": recording.engine.model_dump(mode="json") if recording.engine else None,
        "durability_means": recording.durability_means,
        "calls": observed,
        "traced_statements": (
            recording.traced_statements.model_dump(mode="json") if recording.traced_statements else None
        ),
    }
