"""The programs that the rig is compared with, and how each is run.

A peer's statements, tables, durability and protocol are the rig's, as far as it can be told them. Times of a client
are user and system time of its process, as the kernel accounts them. With TLS neither client verifies the server, as
pgbench does not with sslmode=require.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from acidtest.engine.mysql.instance import MysqlTarget
from acidtest.engine.postgres.instance import PostgresTarget
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.protocol import Target
from acidtest.workload.oltp import OltpWorkload
from acidtest.workload.tpcb import TpcbWorkload
from acidtest.workload.tpcc import TpccWorkload
from bench.peer import Figures, Peer, asked, number, postgres_program, timed

SCALE = 10
ROWS = 100_000


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
    options = ["-M", "prepared", "-c", str(terminals), "-j", str(threads), "-T", str(seconds)]
    output, cpu_s = _pgbench(target, options, TPCB, directory)
    return pgbench_figures(output, cpu_s)


def pgbench_encryption(target: Target, directory: Path) -> str:
    """As the server saw it, which pgbench has it write down: it prints no rows."""
    assert isinstance(target, PostgresTarget)
    _pgbench(target, ["-t", "1"], f"create table seen as {ENCRYPTION};", directory)
    seen = asked(target, "select * from seen")
    _pgbench(target, ["-t", "1"], "drop table seen;", directory)
    return seen


def _pgbench(target: PostgresTarget, options: Sequence[str], sql: str, directory: Path) -> tuple[str, float]:
    """What it says, and its processor time in seconds."""
    script = directory / "script.sql"
    script.write_text(sql, encoding="utf-8")
    return run_pgbench(target, ["-f", str(script), *options])


def run_pgbench(target: PostgresTarget, options: Sequence[str]) -> tuple[str, float]:
    """What pgbench says, and its processor time in seconds."""
    environment = {"PGPASSWORD": target.password or "", "PGSSLMODE": "require" if target.tls else "disable"}
    return timed([postgres_program("pgbench"), "-n", *options, *connection(target)], environment)


def connection(target: PostgresTarget) -> list[str]:
    """Options that name the server and its database, as PostgreSQL's programs take them."""
    return ["-h", target.host, "-p", str(target.port), "-U", target.user, target.database]


def pgbench_figures(output: str, cpu_s: float) -> Figures:
    # number of transactions actually processed: 31234
    # tps = 3904.123456 (without initial connection time)
    transactions = int(number(r"actually processed: (\d+)", output))
    return Figures(transactions, cpu_s, number(r"tps = ([\d.]+) \(without", output))


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
    output, cpu_s = timed(command, {})
    # transactions:                        2783   (693.81 per sec.)
    rate = number(r"transactions: +\d+ +\(([\d.]+) per sec", output)
    return Figures(int(number(r"transactions: +(\d+)", output)), cpu_s, rate)


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
SYSBENCH = Peer(
    "sysbench",
    "mariadb-10.11",
    "none",
    # sysbench leaves the isolation level at the server's default.
    {"isolation": "repeatable_read", "innodb_buffer_pool_mb": 1024, "innodb_log_file_mb": 1024},
    OltpWorkload(tables=1, table_rows=ROWS),
    sysbench,
    has_threads=False,
)


# ------------------------------------------------------------------------------------------------------ go-tpc


def go_tpc(program: str, warehouses: int) -> Peer:
    """go-tpc's TPC-C over PostgreSQL: as many warehouses, no keying and no thinking, in a schema of its own."""
    schema = "go_tpc"

    def ask(target: Target, action: str, options: Sequence[str]) -> tuple[str, float]:
        assert isinstance(target, PostgresTarget)
        path = shutil.which(program)
        if path is None:
            raise MachineLacks(f"{program} is missing", "name go-tpc's program: --program PATH")
        command = [
            path, "tpcc", action, "--driver=postgres", f"--host={target.host}", f"--port={target.port}",
            f"--user={target.user}", f"--password={target.password}", f"--db={target.database}",
            f"--conn-params=sslmode=disable&search_path={schema}", f"--warehouses={warehouses}", "--output=json",
            *options,
        ]  # fmt: skip
        return timed(command, {})

    def prepare(target: Target, directory: Path) -> None:
        asked(target, f"create schema {schema}")
        ask(target, "prepare", [f"--threads={os.cpu_count() or 1}", "--no-check"])
        asked(target, "vacuum analyze")

    def run(target: Target, terminals: int, threads: int, seconds: int, directory: Path) -> Figures:
        length = [f"--time={seconds}s", f"--interval={2 * seconds}s"]
        output, cpu_s = ask(target, "run", [f"--threads={terminals}", f"--max-procs={threads}", *length])
        # {"Count":"1234", ..., "Operation":"NEW_ORDER", "Prefix":"[Summary] ", "TPM":"7404.0", ...}
        lines = [line for line in output.splitlines() if '"[Summary] "' in line]
        kinds = [kind for line in lines for kind in json.loads(line) if "Count" in kind]
        failed = [kind for kind in kinds if kind["Operation"].endswith("_ERR")]
        kinds = [kind for kind in kinds if kind not in failed]
        # What is under way when the time is up is cut off, and counted as failed.
        if not kinds or sum(int(kind["Count"]) for kind in failed) > terminals:
            raise CellFailed(f"go-tpc's transactions fail: {failed or output.strip()[-300:]}")
        rate = sum(float(kind["TPM"]) for kind in kinds) / 60
        return Figures(sum(int(kind["Count"]) for kind in kinds), cpu_s, rate)

    def ways(target: Target) -> Mapping[str, Target]:
        return {
            way: target.model_copy(update={"pipeline": pipeline})
            for way, pipeline in (("statements together", True), ("one by one", False))
        }

    return Peer(
        "go-tpc",
        "postgresql-15",
        "os",
        {**PGBENCH.settings, "connection": "tcp"},
        TpccWorkload(warehouses=warehouses, procedures=False, keying=False),
        run,
        prepare=prepare,
        ways=ways,
    )


def peers(program: str, warehouses: int) -> Mapping[str, Peer]:
    """By their names; ``program`` is that of a peer which no package brings."""
    return {
        "pgbench": PGBENCH,
        "go-tpc": go_tpc(program, warehouses),
        "sysbench": SYSBENCH,
    }


NAMES = tuple(peers("", 1))
