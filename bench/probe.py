"""The probe beside ``pg_test_fsync`` and ``fio``: durable blocks of 8 KiB a second by one writer over a preallocated
file of the same directory, ours and theirs right after one another, in an order drawn at random.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine.postgres.engine import SYSTEM
from acidtest.errors import CellFailed, MachineLacks
from acidtest.journal.protocol import DirectoryTarget, Duration, FlushMethod, Probed, ProbeJob, ProbeStep
from acidtest.place import Ledger

BLOCK, FILE = 8192, 4 << 20
# Its open_datasync opens with O_DIRECT where it can.
POSTGRES: Mapping[str, FlushMethod] = {"fsync": "fsync", "fdatasync": "fdatasync", "open_datasync": "direct_dsync"}
FIO: Mapping[FlushMethod, tuple[str, ...]] = {
    "plain": (),
    "direct": ("--direct=1",),
    "fsync": ("--fsync=1",),
    "fdatasync": ("--fdatasync=1",),
    "dsync": ("--sync=dsync",),
    "direct_dsync": ("--direct=1", "--sync=dsync"),
}
Rates = dict[FlushMethod, float]
Peer = Callable[[Path, int, Sequence[FlushMethod]], Rates]


def main(rounds: int, seconds: int, directory: Path) -> None:
    """Run each beside ours; print our median a second, and of each peer the median of its ratios to ours."""
    pairs: list[tuple[str, Peer, Sequence[FlushMethod]]] = [
        ("pg_test_fsync", _postgres, tuple(POSTGRES.values())),
        *(("fio", _fio, (method,)) for method in FIO),
    ]
    ours: dict[FlushMethod, list[float]] = {}
    ratios: dict[tuple[FlushMethod, str], list[float]] = {}
    for number in range(rounds):
        for name, peer, methods in pairs:
            with tempfile.TemporaryDirectory(prefix="acidtest-bench-", dir=directory) as work:
                both: list[Peer] = [_ours, peer]
                random.Random(f"{number} {name} {methods}").shuffle(both)
                by_peer = {peer: peer(Path(work), seconds, methods) for peer in both}
            for method in methods:
                ours.setdefault(method, []).append(by_peer[_ours][method])
                ratios.setdefault((method, name), []).append(by_peer[peer][method] / by_peer[_ours][method])
    print(f"{directory}: blocks of {BLOCK} bytes a second, {rounds} pairs of runs of {seconds} s; theirs over ours")
    for method, rates in ours.items():
        words = [f"{method:<13} {statistics.median(rates):9,.0f}"]
        for (of, name), shares in ratios.items():
            if of == method:
                words.append(f"{name} {statistics.median(shares):.2f} ({min(shares):.2f} - {max(shares):.2f})")
        print("   ".join(words))


def _ours(directory: Path, seconds: int, methods: Sequence[FlushMethod]) -> Rates:
    place = directory / "probe"
    place.mkdir()
    steps = [
        ProbeStep(
            method=method,
            pattern="overwrite",
            block_bytes=BLOCK,
            writers=1,
            one_file=False,
            extent=Duration(seconds=seconds),
        )
        for method in methods
    ]
    target = DirectoryTarget(path=str(place))
    job = ProbeJob(seed=1, target=target, overwrite_bytes=FILE, append_bytes=FILE, steps=steps)
    with closing(Ledger()) as ledger:
        probed = [event for event in converse(job, ledger, {}) if isinstance(event, Probed)]
    return {methods[event.step]: event.writes_per_s for event in probed}


def _postgres(directory: Path, seconds: int, methods: Sequence[FlushMethod]) -> Rates:
    programs = sorted(SYSTEM.glob("*/bin/pg_test_fsync"))
    program = str(programs[-1]) if programs else shutil.which("pg_test_fsync")
    if program is None:
        raise MachineLacks("pg_test_fsync is missing", "apt-get install postgresql")
    rates: Rates = {}
    # It goes on to other sizes and methods; it is ended when it has told what is compared.
    with subprocess.Popen(
        [program, "-s", str(seconds), "-f", directory / "pg"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match = re.match(r"\s+(\w+)\s+([\d.]+) ops/sec", line)
            if match and match[1] in POSTGRES:
                rates[POSTGRES[match[1]]] = float(match[2])
            if len(rates) == len(POSTGRES):
                break
        process.kill()
    if len(rates) < len(POSTGRES):
        raise CellFailed(f"pg_test_fsync told no rate of {', '.join(POSTGRES.keys() - rates.keys())}")
    return rates


def _fio(directory: Path, seconds: int, methods: Sequence[FlushMethod]) -> Rates:
    if shutil.which("fio") is None:
        raise MachineLacks("fio is missing", "apt-get install fio")
    rates: Rates = {}
    for method in methods:
        command = [
            "fio", "--name=probe", f"--filename={directory / 'fio'}", "--ioengine=psync", "--rw=write", f"--bs={BLOCK}",
            f"--size={FILE}", "--overwrite=1", "--time_based", f"--runtime={seconds}", "--output-format=json",
            *FIO[method],
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if ran.returncode != 0:
            raise CellFailed(f"fio: {ran.stderr.strip()}")
        rates[method] = float(json.loads(ran.stdout)["jobs"][0]["write"]["iops"])
    return rates
