"""The same work on the same server by the rig and by a peer, in turn: processor time of the client a transaction, and
transactions a second.

The peer's statements, tables, durability and protocol are the rig's. Times of a client are user and system time of its
process, as the kernel accounts them. A ratio is of two runs one after the other, shown as median and range of all such
pairs; absolute figures are this machine's at this hour.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.engine.mysql.target import MysqlTarget
from acidtest.engine.postgres.engine import SYSTEM
from acidtest.engine.postgres.target import PostgresTarget
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import (
    CheckPhase,
    ClosedLoop,
    Duration,
    Job,
    LoadPhase,
    Phase,
    Result,
    RunPhase,
    Target,
    WorkloadMessage,
)
from acidtest.place import Ledger
from acidtest.workload.oltp import OltpWorkload
from acidtest.workload.tpcb import TpcbWorkload

WARMUP_S = 0.2
SCALE = 10
ROWS = 100_000


@dataclass(frozen=True)
class Plan:
    """How often and how long each client works, and with how many sessions."""

    terminals: int
    threads: int | None
    rounds: int
    seconds: int


@dataclass(frozen=True)
class Figures:
    """Of one run of one client."""

    transactions: int
    cpu_s: float
    per_s: float

    @property
    def cpu_us(self) -> float:
        return self.cpu_s * 1e6 / self.transactions


@dataclass(frozen=True)
class Peer:
    """``run`` is given the server, how many sessions, in how many threads, how many seconds, and a directory."""

    name: str
    engine: str
    durability: str  # a level that flushes nothing
    settings: Mapping[str, Scalar]
    workload: WorkloadMessage
    run: Callable[[Target, int, int, int, Path], Figures]
    has_threads: bool = True  # else each of its sessions has one, whatever the rig has


# ------------------------------------------------------------------------------------------------------ pgbench

# The statements of rig/workload/src/tpcb.rs. pgbench's own are the same but for a filler of history.
TPCB = f"""\
\\set aid random(1, 100000 * {SCALE})
\\set tid random(1, 10 * {SCALE})
\\set bid (:tid - 1) / 10 + 1
\\set delta random(-999999, 999999)
begin;
update accounts set abalance = abalance + :delta where aid = :aid;
select abalance from accounts where aid = :aid;
update tellers set tbalance = tbalance + :delta where tid = :tid;
update branches set bbalance = bbalance + :delta where bid = :bid;
insert into history (tid, bid, aid, delta, mtime, filler)
    values (:tid, :bid, :aid, :delta, current_timestamp, 'q7ZkV3xTnB0cJ5wYhR8dMf');
commit;
"""  # noqa: S608 - a number of ours


def pgbench(target: Target, terminals: int, threads: int, seconds: int, directory: Path) -> Figures:
    """``pgbench -M prepared``."""
    assert isinstance(target, PostgresTarget)
    script = directory / "tpcb.sql"
    script.write_text(TPCB, encoding="utf-8")
    command = [
        _pgbench(), "-n", "-M", "prepared", "-c", str(terminals), "-j", str(threads), "-T", str(seconds),
        "-f", str(script), "-h", target.host, "-p", str(target.port), "-U", target.user, target.database,
    ]  # fmt: skip
    output, cpu_s = _timed(command, {"PGPASSWORD": target.password or ""})
    # number of transactions actually processed: 31234
    # tps = 3904.123456 (without initial connection time)
    return Figures(
        int(_number(r"actually processed: (\d+)", output)), cpu_s, _number(r"tps = ([\d.]+) \(without", output)
    )


def _pgbench() -> str:
    # The program itself: Debian's /usr/bin/pgbench is a Perl script that looks for it.
    programs = sorted(SYSTEM.glob("*/bin/pgbench"))
    path = str(programs[-1]) if programs else shutil.which("pgbench")
    if path is None:
        raise MachineLacks("pgbench is missing", "apt-get install postgresql")
    return path


# ------------------------------------------------------------------------------------------------------ sysbench


def sysbench(target: Target, terminals: int, threads: int, seconds: int, directory: Path) -> Figures:
    """sysbench's ``oltp_read_write`` as it comes: prepared statements, rows by its distribution ``special``."""
    assert isinstance(target, MysqlTarget)
    program = shutil.which("sysbench")
    if program is None:
        raise MachineLacks("sysbench is missing", "apt-get install sysbench")
    command = [
        program, "oltp_read_write", f"--threads={terminals}", f"--time={seconds}", "--tables=1", f"--table-size={ROWS}",
        f"--mysql-socket={target.host}", f"--mysql-user={target.user}", f"--mysql-password={target.password}",
        f"--mysql-db={target.database}", "run",
    ]  # fmt: skip
    output, cpu_s = _timed(command, {})
    # transactions:                        2783   (693.81 per sec.)
    rate = _number(r"transactions: +\d+ +\(([\d.]+) per sec", output)
    return Figures(int(_number(r"transactions: +(\d+)", output)), cpu_s, rate)


# Nothing but the two clients and the server's own work is to vary.
PEERS = {
    "pgbench": Peer(
        "pgbench",
        "postgresql-15",
        "os",
        {"autovacuum": False, "shared_buffers_mb": 512, "max_wal_size_mb": 8192, "checkpoint_timeout_s": 3600},
        TpcbWorkload(scale=SCALE),
        pgbench,
    ),
    "sysbench": Peer(
        "sysbench",
        "mariadb-10.11",
        "none",
        # sysbench leaves the isolation level at the server's default.
        {"isolation": "repeatable_read", "innodb_buffer_pool_mb": 1024, "innodb_log_file_mb": 1024},
        OltpWorkload(tables=1, table_rows=ROWS),
        sysbench,
        has_threads=False,
    ),
}


# ------------------------------------------------------------------------------------------------------ both


def compare(peer: Peer, engine: str | None, plan: Plan) -> None:
    """Run the rig and the peer in turn, with as many threads each; print what each cost and the ratios.

    Without flushes, so that the drive takes no part.
    """
    widths = [plan.threads] if plan.threads else sorted({1, 2, plan.terminals})
    pairs: dict[int, list[tuple[Figures, Figures]]] = {width: [] for width in widths}
    with closing(Ledger()) as ledger, _server(peer, engine or peer.engine, ledger) as (instance, directory):
        target = instance.target()

        def ours(width: int) -> Figures:
            run = RunPhase(
                terminals=plan.terminals,
                threads=width,
                pacing=ClosedLoop(think_ms=0),
                warmup_s=WARMUP_S,
                extent=Duration(seconds=plan.seconds),
                retries=10,
            )
            (result,) = _perform(peer.workload, instance, [run], ledger)
            cpu_s = result.cpu.process_user_s + result.cpu.process_system_s
            return Figures(result.counts.committed, cpu_s, result.goodput_per_s)

        ours(1)  # finds everything cold
        for turn in range(plan.rounds):
            for width in widths:
                theirs = partial(peer.run, target, plan.terminals, width, plan.seconds, directory)
                if turn % 2:
                    pairs[width].append((ours(width), theirs()))
                else:
                    of_peer = theirs()
                    pairs[width].append((ours(width), of_peer))
        _perform(peer.workload, instance, [CheckPhase()], ledger)
    print(f"{instance.directory.name}, {plan.terminals} sessions, {plan.rounds} rounds of {plan.seconds} s\n")
    _show(peer, pairs)


@contextmanager
def _server(peer: Peer, engine_id: str, ledger: Ledger) -> Iterator[tuple[Instance, Path]]:
    """A private server with the peer's workload loaded, nothing flushed."""
    engine = catalogue.find(engine_id)
    with tempfile.TemporaryDirectory(prefix="acidtest-bench-") as name:
        template, directory = Path(name) / "template", Path(name) / engine_id
        template.mkdir()
        directory.mkdir()
        loading = engine.create(template, peer.settings)
        try:
            loading.start(ledger)
            _perform(peer.workload, loading, [LoadPhase(sessions=os.cpu_count() or 1)], ledger)
            loading.seal()
        finally:
            loading.release()
        for file in loading.database_files():
            file.rename(directory / file.name)
        instance = engine.adopt(directory, peer.settings, peer.durability)
        try:
            instance.start(ledger)
            yield instance, Path(name)
        finally:
            instance.release()


def _perform(workload: WorkloadMessage, instance: Instance, phases: list[Phase], ledger: Ledger) -> list[Result]:
    job = Job(seed=1, target=instance.target(), workload=workload, inspect=[], phases=phases)
    events = list(converse(job, ledger, instance.environment()))
    return [event for event in events if isinstance(event, Result)]


def _timed(command: list[str], environment: Mapping[str, str]) -> tuple[str, float]:
    """What a program says, and its processor time in seconds. Raises CellFailed when it ends badly."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise CellFailed(f"{Path(command[0]).name} ended with {process.returncode}: {text.strip()[-300:]}")
    return text, usage.ru_utime + usage.ru_stime


def _number(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if match is None:
        raise CellFailed(f"no {pattern!r} in what the peer said: {text.strip()[-300:]}")
    return float(match[1])


def _show(peer: Peer, pairs: Mapping[int, Sequence[tuple[Figures, Figures]]]) -> None:
    print(f"{'client':<22}{'CPU µs/transaction':>26}{'transactions/s':>30}")
    for width, of_width in pairs.items():
        for name, runs in (("rig", [ours for ours, _ in of_width]), (peer.name, [theirs for _, theirs in of_width])):
            of_client = width if peer.has_threads or name == "rig" else None
            costs, rates = [run.cpu_us for run in runs], [run.per_s for run in runs]
            print(f"{name + _threads(of_client):<22}{_spread(costs, '.1f'):>26}{_spread(rates, ',.0f'):>30}")
    print(f"\n{'rig / ' + peer.name:<22}{'CPU':>26}{'transactions/s':>30}")
    for width, of_width in pairs.items():
        costs = [ours.cpu_us / theirs.cpu_us for ours, theirs in of_width]
        rates = [ours.per_s / theirs.per_s for ours, theirs in of_width]
        print(f"{_threads(width)[2:]:<22}{_spread(costs, '.2f'):>26}{_spread(rates, '.2f'):>30}")


def _threads(count: int | None) -> str:
    return "" if count is None else ", 1 thread" if count == 1 else f", {count} threads"


def _spread(values: list[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"
