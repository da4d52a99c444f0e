"""What the generator itself costs (``generator``), the same work by it and by a peer (``pgbench``, ``sysbench``), or a
load by the rig, row by row, and by the server's own means (``load``)."""

from __future__ import annotations

import argparse
import sys

from acidtest.errors import AcidtestError
from bench import generator, load, peers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["generator", "load", *peers.PEERS], default="generator")
    parser.add_argument("--engine", help="the server to work on (default: the peer's own)")
    parser.add_argument("--terminals", type=int, default=8)
    parser.add_argument("--threads", type=int, help="of both (default: 1, 2, and one a session)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8, help="of each run")
    parser.add_argument("--warehouses", type=int, default=4, help="of the load")
    asked = parser.parse_args()
    try:
        if asked.what == "generator":
            generator.main()
        elif asked.what == "load":
            load.main(asked.engine, asked.warehouses, asked.rounds)
        else:
            plan = peers.Plan(asked.terminals, asked.threads, asked.rounds, asked.seconds)
            peers.compare(peers.PEERS[asked.what], asked.engine, plan)
    except AcidtestError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


sys.exit(main())
