"""An engine's system calls in a terminal: its files, each commit in figures, one commit line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from acidtest.analysis.calls import FileUse, role, uses
from acidtest.filesystems import FILESYSTEMS
from acidtest.journal.models import Recording
from acidtest.journal.protocol import ObservedCalls, ObservedLine, Spread, TypicalCommit
from acidtest.report.numbers import number
from acidtest.report.statements import print_statements
from acidtest.words import counted

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
    files = uses(calls, recording.engine.known_as if recording.engine else "")
    console.print()
    console.print(_files([use for use in files if use.touched], calls.commits))
    _print_others([use for use in files if not use.touched], console)
    for sentence in hints(recording):
        console.print(Text(sentence))
    _print_storage(calls, console)
    _print_commit(calls, console)
    if calls.typical:
        _print_typical(calls.typical, console)
    if recording.traced_statements:
        print_statements(recording.traced_statements, console)


def _grid(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def _files(files: Sequence[FileUse], commits: int) -> Table:
    table = _grid(
        ("file", "left"), ("role", "left"), ("opened with", "left"), ("writes", "right"), ("bytes", "right"),
        ("flushes", "left"), ("µs each", "right"), ("reads", "right"),
    )  # fmt: skip
    table.caption = "writes, bytes, flushes and reads: for each commit, on average"
    table.caption_justify = "left"
    for use in files:
        table.add_row(*file_row(use, commits))
    return table


def file_row(use: FileUse, commits: int) -> tuple[str, ...]:
    """Path, role, flags; then of one commit writes, bytes, flushes by kind, µs of each flush, reads."""
    flushes = ", ".join(f"{number(count / commits)} {how}" for how, count in sorted(use.flushes.items()))
    submitted = f"{number(use.submitted / commits)} handed over unseen" if use.submitted else ""
    return (
        use.path,
        use.role,
        " or ".join(use.flags),
        number(use.writes / commits),
        number(use.write_bytes / commits),
        flushes or submitted or "none",
        number(use.flush_us / use.flush_count) if use.flush_count else "",
        number(use.reads / commits),
    )


def _print_others(files: Sequence[FileUse], console: Console) -> None:
    if not files:
        return
    named = [f"{use.path} ({', '.join(filter(None, (use.role, *use.flags)))})" for use in files[:OTHERS_MAX]]
    more = f" and {len(files) - OTHERS_MAX:,} more" if len(files) > OTHERS_MAX else ""
    console.print(Text(f"Open or read only: {'; '.join(named)}{more}.", style="dim"))


def hints(recording: Recording) -> list[str]:
    """What the engine told the kernel about its files since its sessions opened: hints, and what it has mapped."""
    calls = recording.calls
    if calls is None or not calls.commits:
        return []
    files = uses(calls, recording.engine.known_as if recording.engine else "")
    told = [f"{use.path} ({use.role}): {_counts(use.hints)}" for use in files if use.hints]
    mapped = [
        f"{use.path} ({use.role}): {_counts(use.mappings)}" for use in files if use.mappings and use.role != "other"
    ]
    return [
        f"Hints to the kernel: {'; '.join(told)}."
        if told
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


def _print_typical(typical: TypicalCommit, console: Console) -> None:
    console.print()
    console.print(heading(typical))
    table = _grid(
        ("at µs", "right"), ("thread", "left"), ("call", "left"), ("file", "left"), ("offset", "right"),
        ("bytes", "right"), ("took µs", "right"),
    )  # fmt: skip
    for line in shown_lines(typical):
        table.add_row(*line_row(line), style="" if line.layer == "call" else "dim")
    console.print(table)
    if others := of_others(typical):
        console.print(others)
    if typical.left_out:
        console.print(f"{counted(typical.left_out, 'more line is', 'more lines are')} left out.")


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
    more = f" and {len(names) - OTHERS_MAX:,} more" if len(names) > OTHERS_MAX else ""
    written = sum(line.bytes or 0 for line in others if "write" in line.what)
    return (
        f"On the same disk meanwhile, by threads that made no call for this commit: {counted(len(others), 'request')}, "
        f"{counted(written, 'byte')} written ({', '.join(names[:OTHERS_MAX])}{more})."
    )


def _of_another(line: ObservedLine, typical: TypicalCommit) -> bool:
    """Whether a thread of another program asked for it.

    Threads of the engine make calls that are watched. The kernel's own (``jbd2/…``, ``kworker/…``, of a disk) work for
    whoever waits, and what they do for this commit cannot be told from what they do for others.
    """
    if line.layer not in ("block", "file_system") or line.own:
        return False
    name = line.who.partition(" ")[0]
    engine = {one.who for one in typical.lines if one.layer == "call" or one.own}
    return line.who not in engine and not name.startswith(KERNELS)


def line_row(line: ObservedLine) -> tuple[str, ...]:
    """When, thread, call, file, offset, bytes, how long."""
    what = (
        " ".join(filter(None, (line.what, line.how))) if line.layer == "call" else f"{LAYERS[line.layer]}: {line.what}"
    )
    return (
        f"{line.at_us:,.1f}",
        line.who,
        what + (f": {line.error}" if line.error else ""),
        line.path or "",
        "" if line.offset is None else f"{line.offset:,}",
        "" if line.bytes is None else f"{line.bytes:,}",
        "" if line.lasted_us is None else f"{line.lasted_us:,.1f}",
    )


def as_json(recording: Recording) -> dict[str, Any]:
    """The same for programs, each file with its role."""
    calls = recording.calls
    observed = calls.model_dump(mode="json") if calls else None
    for file in observed["files"] if observed else []:
        file["role"] = role(recording.engine.known_as if recording.engine else "", file["path"])
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


def touched(recording: Recording) -> list[tuple[str, ...]]:
    """A row for each file that was written or flushed."""
    calls = recording.calls
    if calls is None or not calls.commits:
        return []
    files = uses(calls, recording.engine.known_as if recording.engine else "")
    return [file_row(use, calls.commits) for use in files if use.touched]
