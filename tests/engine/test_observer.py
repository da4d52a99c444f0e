"""Real engines under observation: what they open, write and flush at a commit, and that strace counts the same."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidtest.analysis.calls import FileUse, uses
from acidtest.engine import Engine, Instance, catalogue
from acidtest.journal.protocol import KernelMeans, LoadPhase, Observe, Observed, StraceMeans
from acidtest.place import Ledger, leftovers, release_leftovers, tracing
from acidtest.place.cgroup import Launched
from rig_jobs import of, run, talk
from support import MYSQLS, POSTGRESES

Adopt = Callable[..., Instance]
COMMITS = 60


@contextmanager
def served(
    engine_id: str, durability: str, base: Path, ledger: Ledger, **settings: Any
) -> Iterator[tuple[Instance, list[int]]]:
    """A database with the workload's table, its engine started; with the processes of its server."""
    engine: Engine = catalogue.find(engine_id)
    template, cell = base / "template", base / "cell"
    template.mkdir()
    cell.mkdir()
    loading = engine.create(template, settings)
    try:
        loading.start(ledger)
        talk(loading, ledger, LoadPhase())
        loading.seal()
        for file in loading.database_files():
            file.rename(cell / file.name)
    finally:
        loading.release()
    launched = Launched(ledger, None)
    instance = engine.adopt(cell, settings, durability)
    try:
        instance.start(launched)
        yield instance, launched.pids()
    finally:
        instance.release()


def seen(
    instance: Instance,
    ledger: Ledger,
    processes: list[int],
    *,
    means: str = "kernel",
    commits: int = COMMITS,
    terminals: int = 1,
) -> Observed:
    """What the observer saw of so many commits."""
    id, name = ledger.begin_trace()  # noqa: A001
    how = KernelMeans(instance=name) if means == "kernel" else StraceMeans(program=tracing.strace() or "")
    observe = Observe(means=how, processes=processes, directory=str(instance.directory.resolve()))
    try:
        events = talk(instance, ledger, run(terminals, commits), observe=observe)
    finally:
        ledger.undo(id)
    (observed,) = of(Observed, events)
    assert observed.commits == commits
    assert observed.dropped == 0
    return observed


def of_role(observed: Observed, engine: str, role: str) -> FileUse:
    """All files of a role together."""
    found = [use for use in uses(observed, engine) if use.role == role]
    flushes: dict[str, int] = {}
    for use in found:
        for how, count in use.flushes.items():
            flushes[how] = flushes.get(how, 0) + count
    flags = tuple(sorted({flag for use in found for flag in use.flags}))
    return FileUse(role, role, flags, writes=sum(use.writes for use in found), flushes=flushes)


def test_sqlites_rollback_journal(tmp_path: Path, ledger: Ledger, engines_installed: None) -> None:
    with served("sqlite", "drive", tmp_path, ledger, journal_mode="delete") as (instance, processes):
        observed = seen(instance, ledger, processes)
    journal, database = (of_role(observed, "sqlite", role) for role in ("journal", "database"))
    # The journal's pages, then its head; the database; and its directory when the journal is made and when it goes.
    assert sum(journal.flushes.values()) == 2 * COMMITS
    assert sum(database.flushes.values()) == COMMITS
    assert sum(of_role(observed, "sqlite", "directory").flushes.values()) == 2 * COMMITS
    assert "O_RDWR|O_CREAT" in journal.flags
    assert not [file for file in observed.files if file.path == "?"], "every file is named, however short it was open"
    assert observed.tied_by == "thread"
    assert observed.per_commit is not None
    assert (observed.per_commit.commits, observed.per_commit.flushes.median) == (COMMITS, 5)
    assert observed.typical is not None
    calls = [(line.what, line.path) for line in observed.typical.lines if line.layer == "call" and line.own]
    assert [what for what, path in calls if path and path.endswith("-journal")][-1] == "unlink"
    assert all(0 <= line.at_us <= observed.typical.lasted_us for line in observed.typical.lines)


@pytest.mark.parametrize(("level", "flushes"), [("drive", 1), ("os", 0), ("none", 0)])
def test_sqlites_write_ahead_log(tmp_path: Path, ledger: Ledger, level: str, flushes: int) -> None:
    with served("sqlite", level, tmp_path, ledger) as (instance, processes):
        observed = seen(instance, ledger, processes)
    log = of_role(observed, "sqlite", "log")
    assert log.writes >= 2 * COMMITS  # a head and a page each
    # The head that the log begins with is flushed by itself.
    assert flushes * COMMITS <= sum(log.flushes.values()) <= flushes * COMMITS + 3
    assert observed.per_commit is not None
    assert observed.per_commit.flushes.median == flushes


@pytest.mark.parametrize(("level", "synced"), [("drive", True), ("os", False)])
def test_firebirds_forced_writes(
    tmp_path: Path, ledger: Ledger, engines_installed: None, level: str, synced: bool
) -> None:
    with served("firebird-5.0", level, tmp_path, ledger) as (instance, processes):
        observed = seen(instance, ledger, processes)
    database = of_role(observed, "firebird-5.0", "database")
    assert any("SYNC" in flags for flags in database.flags) == synced
    assert (sum(count for how, count in database.flushes.items() if "SYNC" in how) >= COMMITS) == synced


@pytest.mark.parametrize("engine", POSTGRESES)
@pytest.mark.parametrize(
    ("method", "how", "opened"),
    [("fdatasync", "fdatasync", ""), ("fsync", "fsync", ""), ("open_datasync", "O_DSYNC", "O_DSYNC"), ("open_sync", "O_SYNC", "O_SYNC")],
)  # fmt: skip
def test_postgresqls_ways_to_flush_its_log(
    tmp_path: Path, ledger: Ledger, engines_installed: None, engine: str, method: str, how: str, opened: str
) -> None:
    trace = tmp_path / "trace"
    with (
        served(engine, "drive", tmp_path, ledger, wal_sync_method=method) as (instance, processes),
        straced(processes, trace),
    ):
        observed = seen(instance, ledger, processes)
    log = of_role(observed, engine, "log")
    assert log.flushes.get(how, 0) >= COMMITS
    assert opened in "".join(log.flags)
    assert observed.tied_by == "time"
    agree(observed, trace, engine, "log")


@pytest.mark.covering
@pytest.mark.parametrize("engine", MYSQLS)
@pytest.mark.parametrize("method", ["fsync", "O_DSYNC", "O_DIRECT"])
def test_innodbs_ways_to_flush(
    tmp_path: Path, ledger: Ledger, engines_installed: None, engine: str, method: str
) -> None:
    trace = tmp_path / "trace"
    with (
        served(engine, "drive", tmp_path, ledger, innodb_flush_method=method) as (instance, processes),
        straced(processes, trace),
    ):
        observed = seen(instance, ledger, processes)
    log, database = (of_role(observed, engine, role) for role in ("log", "database"))
    assert sum(log.flushes.values()) >= COMMITS
    if method == "O_DSYNC":
        assert any("SYNC" in flags for flags in log.flags)
    if method == "O_DIRECT":
        assert any("O_DIRECT" in flags for flags in database.flags)
    agree(observed, trace, engine, "log")


@pytest.mark.parametrize("engine", [*POSTGRESES, *MYSQLS])
@pytest.mark.parametrize("level", [pytest.param("none", marks=pytest.mark.long), "os"])
def test_servers_do_not_flush_their_log_at_each_commit_below_level_drive(
    tmp_path: Path, ledger: Ledger, engines_installed: None, engine: str, level: str
) -> None:
    with served(engine, level, tmp_path, ledger) as (instance, processes):
        observed = seen(instance, ledger, processes)
    flushes = sum(of_role(observed, engine, "log").flushes.values())
    assert flushes < (1 if engine in POSTGRESES and level == "os" else COMMITS // 2)


@contextmanager
def straced(processes: list[int], trace: Path) -> Iterator[None]:
    """strace beside the observer, over the same run."""
    pids = [word for pid in processes for word in ("-p", str(pid))]
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-y", "-o", str(trace), "-e", "trace=fsync,fdatasync,pwrite64", *pids]
    )
    try:
        end = time.monotonic() + 120
        while any("TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text() for pid in processes):
            assert time.monotonic() < end
            time.sleep(0.02)
        yield
    finally:
        tracer.terminate()
        tracer.wait()


def agree(observed: Observed, trace: Path, engine: str, role: str) -> None:
    """The calls on the files of a role, as the observer and as strace counted them.

    strace looks longer at either end, where a server does some things of its own accord.
    """
    paths = [
        file.path
        for file in observed.files
        if file.path in {use.path for use in uses(observed, engine) if use.role == role}
    ]
    for call in ("fsync", "fdatasync", "pwrite64"):
        ours = sum(one.count for file in observed.files if file.path in paths for one in file.calls if one.call == call)
        lines = trace.read_text().splitlines()
        theirs = sum(
            bool(found := re.search(rf"\b{call}\(\d+<([^>]*)>", line))
            and any(found[1].endswith(path) for path in paths)
            for line in lines
        )
        assert 0 <= theirs - ours < COMMITS // 2, f"{call}: the observer saw {ours}, strace {theirs}"


def test_strace_says_the_same(tmp_path: Path, ledger: Ledger) -> None:
    with served("sqlite", "drive", tmp_path, ledger, journal_mode="delete") as (instance, processes):
        by_kernel = seen(instance, ledger, processes)
    again = tmp_path / "again"
    again.mkdir()
    with served("sqlite", "drive", again, ledger, journal_mode="delete") as (instance, processes):
        by_strace = seen(instance, ledger, processes, means="strace")

    def counts(observed: Observed) -> dict[tuple[str, str, str], tuple[int, int]]:
        return {
            (file.path, call.call, call.how): (call.count, call.bytes)
            for file in observed.files
            for call in file.calls
            if file.path.startswith("data")
        }

    assert counts(by_kernel) == counts(by_strace)
    assert by_strace.typical is not None
    assert by_kernel.typical is not None
    assert len(by_strace.typical.lines) == len([line for line in by_kernel.typical.lines if line.layer == "call"])


def test_several_terminals(tmp_path: Path, ledger: Ledger, engines_installed: None) -> None:
    """A commit waits a while for others: they share its flush, however little of the processor each gets."""
    with served(POSTGRESES[0], "drive", tmp_path, ledger, commit_delay_us=20_000) as (instance, processes):
        observed = seen(instance, ledger, processes, terminals=8, commits=200)
    assert observed.tied_by == "shared_time"
    assert observed.per_commit is None
    assert observed.typical is not None
    log = of_role(observed, POSTGRESES[0], "log")
    assert 0 < sum(log.flushes.values()) < 200, "group commit: one flush for more than one commit"


LAB = """
import sys, uuid
from pathlib import Path
from acidtest.engine import catalogue
from acidtest.journal.protocol import *
from acidtest.workload.commits import CommitsWorkload
from acidtest.place import Ledger
from acidtest.conductor.rig import converse
ledger = Ledger()
instance = catalogue.find("sqlite").adopt(Path(sys.argv[1]), {}, "none")
run = RunPhase(terminals=1, pacing=ClosedLoop(think_ms=0), warmup_s=0, extent=Duration(seconds=60), retries=0)
id, name = ledger.begin_trace()
observe = Observe(means=KernelMeans(instance=name), processes=[], directory=sys.argv[1])
job = Job(seed=1, target=instance.target(), workload=CommitsWorkload(row_bytes=50), inspect=[],
          phases=[LoadPhase(), run], observe=observe)
for event in converse(job, ledger, {}):
    if isinstance(event, Loaded):
        print("begins", flush=True)
"""


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1, 0.5])
def test_a_killed_lab_leaves_no_trace_instance(tmp_path: Path, delay_s: float) -> None:
    lab = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LAB), tmp_path], stdout=subprocess.PIPE)
    assert lab.stdout is not None
    assert lab.stdout.readline() == b"begins\n"
    time.sleep(delay_s)
    lab.kill()
    lab.communicate()
    names = [left.what for left in leftovers() if left.kind == "trace"]
    assert len(names) == 1
    release_leftovers()
    assert leftovers() == []
    assert not tracing.remove(names[0]), "it was there still"
