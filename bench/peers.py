"""The same work on the same server by the rig and by a peer, in turn: processor time of the client a transaction, and
transactions a second.

The peer's statements, tables, durability and protocol are the rig's. Times of a client are user and system time of its
process, as the kernel accounts them. A ratio is of two runs one after the other, shown as median and range of all such
pairs; absolute figures are this machine's at this hour. With TLS both work on one server, without and with it in turn,
over TCP; neither verifies the server, as pgbench does not with sslmode=require.
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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from acidtest.conductor.foreign import asking
from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue
from acidtest.engine.mysql.target import MysqlTarget
from acidtest.engine.postgres.engine import SYSTEM
from acidtest.engine.postgres.target import PostgresTarget
from acidtest.errors import BadInput, CellFailed, MachineLacks
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    CheckPhase,
    ClosedLoop,
    Duration,
    Job,
    LoadPhase,
    Phase,
    Result,
    RunPhase,
    Target,
    Tls,
    WorkloadMessage,
)
from acidtest.place import Ledger
from acidtest.words import counted
from acidtest.workload.of_folder import SqlText, SqlTransaction
from acidtest.workload.oltp import OltpWorkload
from acidtest.workload.sql import SqlWorkload
from acidtest.workload.tpcb import TpcbWorkload

TCP, TLS = "TCP", "TLS"
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
    tls: bool = False


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
class Pair:
    """Two runs one after the other."""

    ours: Figures
    theirs: Figures


Pairs = dict[tuple[str, int], list[Pair]]  # by way to the server, and threads


@dataclass(frozen=True)
class Peer:
    """``run`` is given the server, how many sessions, in how many threads, how many seconds, and a directory."""

    name: str
    engine: str
    durability: str  # a level that flushes nothing
    settings: Mapping[str, Scalar]
    workload: WorkloadMessage
    run: Callable[[Target, int, int, int, Path], Figures]
    script: str = ""  # of the user's own, which the rig runs over the same tables in place of the workload
    has_threads: bool = True  # else each of its sessions has one, whatever the rig has
    # How a session of its was encrypted; None: it has no arm over TLS.
    encryption: Callable[[Target, Path], str] | None = None


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


ENCRYPTION = "select concat_ws(', ', version, cipher) as how from pg_stat_ssl where pid = pg_backend_pid() and ssl"


def pgbench(target: Target, terminals: int, threads: int, seconds: int, directory: Path) -> Figures:
    """``pgbench -M prepared``."""
    assert isinstance(target, PostgresTarget)
    asked = ["-M", "prepared", "-c", str(terminals), "-j", str(threads), "-T", str(seconds)]
    output, cpu_s = _pgbench(target, asked, TPCB, directory)
    # number of transactions actually processed: 31234
    # tps = 3904.123456 (without initial connection time)
    return Figures(
        int(_number(r"actually processed: (\d+)", output)), cpu_s, _number(r"tps = ([\d.]+) \(without", output)
    )


def pgbench_encryption(target: Target, directory: Path) -> str:
    """As the server saw it, which pgbench has it write down: it prints no rows."""
    assert isinstance(target, PostgresTarget)
    _pgbench(target, ["-t", "1"], f"create table seen as {ENCRYPTION};", directory)
    seen = _asked(target, "select * from seen")
    _pgbench(target, ["-t", "1"], "drop table seen;", directory)
    return seen


def _pgbench(target: PostgresTarget, asked: Sequence[str], sql: str, directory: Path) -> tuple[str, float]:
    """What it says, and its processor time in seconds."""
    # The program itself: Debian's /usr/bin/pgbench is a Perl script that looks for it.
    programs = sorted(SYSTEM.glob("*/bin/pgbench"))
    path = str(programs[-1]) if programs else shutil.which("pgbench")
    if path is None:
        raise MachineLacks("pgbench is missing", "apt-get install postgresql")
    script = directory / "script.sql"
    script.write_text(sql, encoding="utf-8")
    at = ["-h", target.host, "-p", str(target.port), "-U", target.user, target.database]
    environment = {"PGPASSWORD": target.password or "", "PGSSLMODE": "require" if target.tls else "disable"}
    return _timed([path, "-n", "-f", str(script), *asked, *at], environment)


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
PGBENCH = Peer(
    "pgbench",
    "postgresql-15",
    "os",
    {"autovacuum": False, "shared_buffers_mb": 512, "max_wal_size_mb": 8192, "checkpoint_timeout_s": 3600},
    TpcbWorkload(scale=SCALE),
    pgbench,
    encryption=pgbench_encryption,
)
PEERS = {
    "pgbench": PGBENCH,
    "scripts": replace(PGBENCH, script=TPCB, encryption=None),
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
    if plan.tls and peer.encryption is None:
        raise BadInput(f"{peer.name}: --tls compares pgbench only", "leave --tls out")
    widths = [plan.threads] if plan.threads else sorted({1, 2, plan.terminals})
    settings = {**peer.settings, "connection": "tcp", "tls": True} if plan.tls else peer.settings
    with closing(Ledger()) as ledger, _server(peer, engine or peer.engine, settings, ledger) as (instance, directory):
        ways = _ways(instance.target(), plan)
        for way, target in ways.items():
            if way == TLS and peer.encryption is not None:
                ours, theirs = _asked(target, ENCRYPTION), peer.encryption(target, directory)
                print(f"TLS: {ours or 'none'} of the rig, {theirs or 'none'} of {peer.name}")
        pairs = _in_turn(peer, ways, widths, plan, directory, ledger, instance.environment())
        _perform(peer.workload, instance.target(), [CheckPhase()], ledger, instance.environment())
    print(f"{instance.directory.name}, {plan.terminals} sessions, {plan.rounds} rounds of {plan.seconds} s\n")
    _show(peer, pairs)
    if plan.tls:
        _show_what_tls_costs(peer, pairs, widths)


def _ways(target: Target, plan: Plan) -> dict[str, Target]:
    """To one and the same server."""
    if not plan.tls:
        return {"": target}
    required = Tls(ca=None, identity=None)
    return {TCP: target.model_copy(update={"tls": None}), TLS: target.model_copy(update={"tls": required})}


def _in_turn(
    peer: Peer,
    ways: Mapping[str, Target],
    widths: Sequence[int],
    plan: Plan,
    directory: Path,
    ledger: Ledger,
    environment: Mapping[str, str],
) -> Pairs:
    def ours(target: Target, width: int) -> Figures:
        run = RunPhase(
            terminals=plan.terminals,
            threads=width,
            pacing=ClosedLoop(think_ms=0),
            warmup_s=WARMUP_S,
            extent=Duration(seconds=plan.seconds),
            retries=10,
        )
        (result,) = _perform(
            _scripted(peer.script) if peer.script else peer.workload, target, [run], ledger, environment
        )
        cpu_s = result.cpu.process_user_s + result.cpu.process_system_s
        return Figures(result.counts.committed, cpu_s, result.goodput_per_s)

    ours(next(iter(ways.values())), 1)  # finds everything cold
    pairs: Pairs = {(way, width): [] for way in ways for width in widths}
    for turn in range(plan.rounds):
        for way, width in pairs if turn % 2 else reversed(pairs):
            target = ways[way]
            theirs = partial(peer.run, target, plan.terminals, width, plan.seconds, directory)
            if turn % 2:
                pairs[way, width].append(Pair(ours(target, width), theirs()))
            else:
                of_peer = theirs()
                pairs[way, width].append(Pair(ours(target, width), of_peer))
    return pairs


def _scripted(script: str) -> SqlWorkload:
    """One script as a workload of the user's own, over tables that are there."""
    file = SqlText(path="script.sql", text=script, variants=())
    return SqlWorkload(
        title="script",
        variables=(),
        schema=None,
        load_sql=None,
        indexes=None,
        conditions=None,
        tables=(),
        transactions=(SqlTransaction(name="script", weight=1.0, file=file),),
    )


@contextmanager
def _server(
    peer: Peer, engine_id: str, settings: Mapping[str, Scalar], ledger: Ledger
) -> Iterator[tuple[Instance, Path]]:
    """A private server with the peer's workload loaded, nothing flushed."""
    engine = catalogue.find(engine_id)
    with tempfile.TemporaryDirectory(prefix="acidtest-bench-") as name:
        template, directory = Path(name) / "template", Path(name) / engine_id
        template.mkdir()
        directory.mkdir()
        loading = engine.create(template, settings)
        try:
            loading.start(ledger)
            phases: list[Phase] = [LoadPhase(sessions=os.cpu_count() or 1)]
            _perform(peer.workload, loading.target(), phases, ledger, loading.environment())
            loading.seal()
        finally:
            loading.release()
        for file in loading.database_files():
            file.rename(directory / file.name)
        instance = engine.adopt(directory, settings, peer.durability)
        try:
            instance.start(ledger)
            yield instance, Path(name)
        finally:
            instance.release()


def _perform(
    workload: WorkloadMessage, target: Target, phases: list[Phase], ledger: Ledger, environment: Mapping[str, str]
) -> list[Result]:
    job = Job(seed=1, target=target, workload=workload, inspect=[], phases=phases)
    return [event for event in converse(job, ledger, environment) if isinstance(event, Result)]


def _asked(target: Target, question: str) -> str:
    """The answer's first value; "" where there is none."""
    with closing(Ledger()) as ledger:
        job = asking(target, phases=[AskPhase(questions=[question])])
        rows = next(event.rows for event in converse(job, ledger, {}) if isinstance(event, Answered))
    return str(rows[0][0]) if rows and rows[0][0] else ""


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


def _show(peer: Peer, pairs: Pairs) -> None:
    print(f"{'client':<28}{'CPU µs/transaction':>26}{'transactions/s':>30}")
    for (way, width), runs in pairs.items():
        for name, of_client in (("rig", [pair.ours for pair in runs]), (peer.name, [pair.theirs for pair in runs])):
            threads = width if peer.has_threads or name == "rig" else None
            costs, rates = [run.cpu_us for run in of_client], [run.per_s for run in of_client]
            print(f"{_words(name, way, _threads(threads)):<28}{_spread(costs, '.1f'):>26}{_spread(rates, ',.0f'):>30}")
    print(f"\n{'rig / ' + peer.name:<28}{'CPU':>26}{'transactions/s':>30}")
    for (way, width), runs in pairs.items():
        _show_ratios(_words(way, _threads(width)), [(pair.ours, pair.theirs) for pair in runs])


def _show_what_tls_costs(peer: Peer, pairs: Pairs, widths: Sequence[int]) -> None:
    """Each client against itself: two runs of one round, with and without."""
    print(f"\n{f'{TLS} / {TCP}':<28}{'CPU':>26}{'transactions/s':>30}")
    for width in widths:
        plain, encrypted = pairs[TCP, width], pairs[TLS, width]
        both = list(zip(encrypted, plain, strict=True))
        _show_ratios(_words("rig", _threads(width)), [(one.ours, other.ours) for one, other in both])
        _show_ratios(_words(peer.name, _threads(width)), [(one.theirs, other.theirs) for one, other in both])


def _show_ratios(head: str, runs: Sequence[tuple[Figures, Figures]]) -> None:
    costs = [one.cpu_us / other.cpu_us for one, other in runs]
    rates = [one.per_s / other.per_s for one, other in runs]
    print(f"{head:<28}{_spread(costs, '.2f'):>26}{_spread(rates, '.2f'):>30}")


def _words(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _threads(count: int | None) -> str:
    return "" if count is None else counted(count, "thread")


def _spread(values: list[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"
