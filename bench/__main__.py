"""What the generator itself costs (``generator``), the same work by it and by a peer (``pgbench``, ``sysbench``), a
load by the rig, row by row, and by the server's own means (``load``), the simulated disk beside a plain loop device
(``disk``), the probe beside pg_test_fsync and fio (``probe``), what watching system calls costs (``observer``), how
long a power cut takes to its verdict, and crash states a second (``cuts``), or how long ``acidtest plan`` takes for so
many cells (``plan``)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from acidtest.errors import AcidtestError
from bench import cuts, disk, generator, load, observer, peers, planning, probe


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    choices = ["generator", "load", "disk", "probe", "observer", "cuts", "plan", *peers.PEERS]
    parser.add_argument("what", nargs="?", choices=choices, default="generator")
    parser.add_argument("--engine", help="the server to work on (default: the peer's own)")
    parser.add_argument("--terminals", type=int, default=8)
    parser.add_argument("--threads", type=int, help="of both (default: 1, 2, and one a session)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8, help="of each run")
    parser.add_argument("--warehouses", type=int, default=4, help="of the load")
    parser.add_argument("--directory", type=Path, default=Path(), help="of the probe")
    parser.add_argument("--journal-mode", default="delete", help="SQLite's, of the observer")
    asked = parser.parse_args()
    try:
        if asked.what == "generator":
            generator.main()
        elif asked.what == "disk":
            disk.main(asked.rounds)
        elif asked.what == "load":
            load.main(asked.engine, asked.warehouses, asked.rounds)
        elif asked.what == "probe":
            probe.main(asked.rounds, asked.seconds, asked.directory)
        elif asked.what == "cuts":
            cuts.main(asked.rounds)
        elif asked.what == "plan":
            planning.main(asked.rounds)
        elif asked.what == "observer":
            observer.main(asked.journal_mode, asked.rounds)
        else:
            plan = peers.Plan(asked.terminals, asked.threads, asked.rounds, asked.seconds)
            peers.compare(peers.PEERS[asked.what], asked.engine, plan)
    except AcidtestError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


sys.exit(main())
