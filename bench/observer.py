"""``python -m bench observer``: what watching an engine's system calls costs a commit, beside strace.

SQLite, ``commits``, level ``none``, one terminal, a database in memory (tmpfs): the most calls a second that there are.
Each round runs bare, watched by the rig's observer, and under ``strace -f --seccomp-bpf`` with the same calls, one
after the other in an order that turns; the cost is what a commit takes longer than in the round's bare run: the median
commit, which other work on the machine seldom meets, and the average one, which bears all of that too.
What is told is the ratio of the costs' medians over the rounds, with its 95 % interval: rounds are drawn anew, whole.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from acidtest.analysis.latency import percentile
from acidtest.conductor.rig import converse
from acidtest.engine import catalogue
from acidtest.errors import MachineLacks
from acidtest.files import find_rig
from acidtest.journal.protocol import (
    ClosedLoop,
    Count,
    Job,
    KernelMeans,
    LoadPhase,
    Observe,
    Observed,
    Result,
    RunPhase,
)
from acidtest.place import Ledger, tracing
from acidtest.workload.commits import CommitsWorkload
from bench.generator import MEMORY, spread

COMMITS = 10_000
COMMITS_UNDER_STRACE = 1_000
# What the observer watches; of fcntl it takes some commands only, which strace cannot.
CALLS = (
    "open,creat,openat,openat2,close,close_range,dup,dup2,dup3,fcntl,lseek,read,readv,pread64,preadv,preadv2,write,"
    "writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,sync_file_range,msync,sync,syncfs,ftruncate,fallocate,unlink,"
    "unlinkat,rename,renameat,renameat2,io_submit"
)
RESAMPLES, SEED = 9999, 1
HOWS = ("bare", "watched", "strace")


def main(journal_mode: str, rounds: int) -> None:
    if lacks := tracing.kernel_lacks():
        raise MachineLacks(f"the kernel's tracing is not to be had: {lacks}", "run as root")
    if not shutil.which("strace"):
        raise MachineLacks("strace is not installed", "apt-get install strace (Debian)")
    costs: dict[str, dict[str, list[float]]] = {of: {"watched": [], "strace": []} for of in ("median", "average")}
    dropped = calls = commits = 0
    ledger = Ledger()
    try:
        for turn in range(rounds):
            each_us: dict[str, dict[str, float]] = {}
            for how in HOWS[turn % 3 :] + HOWS[: turn % 3]:
                each_us[how], observed = one(how, journal_mode, ledger)
                if observed:
                    dropped, calls, commits = (
                        dropped + observed.dropped,
                        calls + observed.calls,
                        commits + observed.commits,
                    )
            for of, by_how in costs.items():
                for how, more_us in by_how.items():
                    more_us.append(each_us[how][of] - each_us["bare"][of])
    finally:
        ledger.close()
    print(f"SQLite, journal_mode = {journal_mode}, level none: {calls / commits:.1f} calls a commit, {rounds} rounds")
    print(f"  {dropped} events lost")
    for of, by_how in costs.items():
        low, ratio, high = ratio_of_medians(by_how["strace"], by_how["watched"])
        print(f"  the {of} commit, µs more: {spread(by_how['watched'])} watched by the kernel's tracing,")
        print(f"    {spread(by_how['strace'])} by strace -f --seccomp-bpf")
        print(f"    strace costs {ratio:.1f} times as much (95 %: {low:.1f} to {high:.1f}); at least 20 are asked for")


def ratio_of_medians(over: Sequence[float], under: Sequence[float]) -> tuple[float, float, float]:
    """Low, ratio and high of the medians of paired rounds: a percentile bootstrap of the rounds."""
    pairs = np.array([over, under])
    drawn = np.random.default_rng(SEED).integers(0, len(over), (RESAMPLES, len(over)))
    medians = np.median(pairs[:, drawn], axis=2)
    low, high = np.percentile(medians[0] / medians[1], [2.5, 97.5])
    return float(low), statistics.median(over) / statistics.median(under), float(high)


def one(how: str, journal_mode: str, ledger: Ledger) -> tuple[dict[str, float], Observed | None]:
    """Microseconds a commit of one run, the median and the average one, and what was seen of it."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as temporary:
        directory = Path(temporary)
        settings = {"journal_mode": journal_mode}
        instance = catalogue.find("sqlite").adopt(directory, settings, "none")
        count = COMMITS_UNDER_STRACE if how == "strace" else COMMITS
        run = RunPhase(
            terminals=1, pacing=ClosedLoop(think_ms=0), warmup_s=0, extent=Count(transactions=count), retries=0
        )
        id, name = ledger.begin_trace()  # noqa: A001
        observe = Observe(means=KernelMeans(instance=name), processes=[], directory=str(directory))
        job = Job(
            seed=1,
            target=instance.target(),
            workload=CommitsWorkload(row_bytes=100),
            inspect=[],
            phases=[LoadPhase(), run],
            observe=observe if how == "watched" else None,
        )
        own = os.environ.get("ACIDTEST_RIG")
        if how == "strace":
            os.environ["ACIDTEST_RIG"] = str(traced(directory))
        try:
            events = list(converse(job, ledger, instance.environment()))
        finally:
            os.environ.pop("ACIDTEST_RIG", None)
            if own is not None:
                os.environ["ACIDTEST_RIG"] = own
            ledger.undo(id)
        instance.release()
    (result,) = [event for event in events if isinstance(event, Result)]
    observed = next((event for event in events if isinstance(event, Observed)), None)
    median_ms = percentile(result.latency, 0.5).value_ms
    assert median_ms is not None
    return {"median": median_ms * 1e3, "average": result.measured_s * 1e6 / result.counts.committed}, observed


def traced(directory: Path) -> Path:
    """A rig that runs under strace."""
    script = directory / "rig"
    script.write_text(
        f"#!/bin/sh\nexec strace -f --seccomp-bpf -qq -o /dev/null -e trace='{CALLS}' {find_rig()} \"$@\"\n",
        encoding="utf-8",
    )
    script.chmod(0o700)
    return script
