"""The machines of a load from several: the same cells in the terminal and on the page, and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from acidtest.analysis import generators
from acidtest.analysis.generators import LATE_MS, STILL_MAX, HostOfLoad
from acidtest.report.fitted import Column, print_fitted
from acidtest.report.numbers import number
from acidtest.report.shapes import Cell

if TYPE_CHECKING:
    from acidtest.report.results import Line, Table

TITLE = "Machines of the load"
UNKNOWN = "–"
EXPLAINED = (
    "Busy is the processor time of the generator's process over what its threads could have had; its own share is the "
    "part of a transaction's time that the generator itself takes. Late is how long after its time an arrival began "
    "that a free terminal had waited for; still is how long the process did not come to what it does ten times a "
    "second. All machines were to begin at one moment: begun late is by their own clocks, which may be wrong by the "
    "clock's error. Figures are medians of the repetitions; lateness, stillness and errors the worst."
)


@dataclass(frozen=True)
class Of:
    """One machine of one row."""

    line: Line
    host: HostOfLoad


def of_table(table: Table) -> list[Of]:
    """Every machine of every row; none of loads from one machine."""
    return [Of(line, host) for line in table.lines for host in generators.of_row(line.row)]


def _percent(value: Callable[[HostOfLoad], float | None]) -> Callable[[Of], str]:
    def text(one: Of) -> str:
        share = value(one.host)
        return UNKNOWN if share is None else f"{share:.0%}"

    return text


def _ms(value: Callable[[HostOfLoad], float | None]) -> Callable[[Of], str]:
    return lambda one: number(value(one.host))


COLUMNS = (
    Cell("terminals", lambda one: f"{one.host.terminals:,}", drop=3),
    Cell("commits/s", lambda one: number(one.host.commits_per_s)),
    Cell("busy", _percent(lambda host: host.busy)),
    Cell("own share", _percent(lambda host: host.own_share), drop=5),
    Cell("late p99 ms", _ms(lambda host: host.lateness_ms_p99)),
    Cell("late max ms", _ms(lambda host: host.lateness_ms_max), drop=2),
    Cell("still max ms", _ms(lambda host: host.stood_still_ms_max), drop=1),
    Cell("begun late ms", _ms(lambda host: host.began_late_ms), drop=4),
    Cell("clock ± ms", _ms(lambda host: host.clock_error_ms), drop=6),
)


def sentences(line: Line) -> list[str]:
    """Which machine was the slowest, and what the server's did."""
    found = []
    hosts = generators.of_row(line.row)
    if (slow := generators.slowest(hosts)) is not None:
        late = slow.lateness_ms_max
        what = (
            f"which stood still for up to {number(slow.stood_still_ms_max)} ms"
            if slow.stood_still > STILL_MAX
            else f"which began arrivals up to {number(late)} ms late (p99 {number(slow.lateness_ms_p99)} ms)"
            if late is not None and late >= LATE_MS
            else f"with {number(slow.commits_per_s / slow.terminals)} commits a second of each terminal"
        )
        busy = f"its threads were busy {slow.busy:.0%} of the time"
        found.append(f"{line.label}: the slowest of the machines was {slow.host}, {what}; {busy}.")
    if (server := generators.server_of(line.row)) is not None:
        disk = (
            f", {server.device} was busy {server.device_busy:.0%} of the time and took "
            f"{number(server.write_mb_per_s)} MB/s of writes"
            if server.device is not None and server.device_busy is not None
            else ""
        )
        found.append(
            f"{line.label}: the server's machine {server.host} had its processors busy {server.busy:.0%} of the time "
            f"(at most {server.busy_max:.0%} of a second), {server.io_wait:.0%} waiting for storage, and never less "
            f"than {server.available_bytes_min / 1e9:,.1f} GB of memory available{disk}."
        )
    return found


def print_generators(table: Table, console: Console) -> None:
    """Nothing where loads came from one machine."""
    if not (rows := of_table(table)):
        return
    console.print()
    console.print(Text(TITLE, style="bold"))
    first = [
        Column("row", lambda one: one.line.label, right=False),
        Column("host", lambda one: one.host.host, right=False, typed=True),
    ]
    print_fitted([*first, *(Column(one.head, one.text, drop=one.drop) for one in COLUMNS)], rows, console)
    for line in table.lines:
        for sentence in sentences(line):
            console.print(Text(sentence))
    console.print(Text(EXPLAINED, style="dim"))


def as_json(line: Line) -> list[dict[str, Any]] | None:
    """For programs."""
    hosts: Sequence[HostOfLoad] = generators.of_row(line.row)
    return [asdict(one) for one in hosts] or None


def server_as_json(line: Line) -> dict[str, Any] | None:
    """For programs."""
    server = generators.server_of(line.row)
    return asdict(server) if server else None
