"""Fuzz for some minutes; every fault goes into the corpus."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz import folders, logs
from fuzz.harness import CORPUS, Search, keep

OTHERS = {"folders": folders, "logs": logs}  # workloads of the user's own, and what is replayed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="a run with one is the same again")
    parser.add_argument("--what", choices=("kits", *OTHERS), default="kits", help="kits for the audit, or else")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    search = Search(asked.seed)
    seen: set[str] = set()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        seconds, corpus = asked.minutes * 60, CORPUS
        found = search.run(Path(directory), seconds)
        if asked.what in OTHERS:
            of = OTHERS[asked.what]
            found, corpus = of.run(asked.seed, Path(directory), seconds), of.FAULTS
        for files, fault in found:
            cause = fault.__cause__
            where = traceback.extract_tb(cause.__traceback__)[-1] if cause else None
            place = f"{where.filename}:{where.lineno}" if where else str(fault).split()[0]
            if place not in seen:  # the same fault by other bytes is no other fault
                seen.add(place)
                print(f"{fault}\n  at {place}\n  kept in {keep(files, corpus)}", flush=True)
    if asked.what == "kits":
        print(f"{search.tried:,} kits, {len(search.reached.steps):,} steps of code reached")
    print(f"{len(seen)} faults (seed {asked.seed})")
    return 1 if seen else 0


sys.exit(main())
