"""What the generator itself costs (``generator``), the same work by it and by a peer (``pgbench``, ``scripts``:
script files of pgbench's, ``sysbench``, ``go-tpc``), a load by the rig, row by row, and by the server's own means
(``load``), the simulated disk beside a plain loop device (``disk``), the probe beside pg_test_fsync and fio
(``probe``), what watching system calls costs (``observer``), how long a power cut takes to its verdict, and crash
states a second (``cuts``), how long ``acidtest plan`` takes for so many cells (``plan``), what the auditor finds in
benchmarks of other people, and what it should (``audit``), or what it takes for directories that were made to break it
(``hostile``), the client of a fleet over simulated hosts (``fleet``), crash states a second by workers (``explore``),
and OLTP-EMUL by the rig and by its own sessions (``oltp-emul``)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from acidtest.cli.stop_signals import Stopped, handled
from acidtest.errors import AcidtestError
from bench import (
    audit,
    clients,
    cuts,
    disk,
    explore,
    fleet,
    generator,
    hostile,
    load,
    observer,
    oltp_emul,
    peers,
    planning,
    probe,
    scripts,
)
from bench.auditor.cases import HALVES
from bench.peer import Peer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    choices = [
        "generator",
        "load",
        "disk",
        "probe",
        "observer",
        "cuts",
        "plan",
        "audit",
        "hostile",
        "oltp-emul",
        "fleet",
        "explore",
        "scripts",
        *clients.NAMES,
    ]
    parser.add_argument("what", nargs="?", choices=choices, default="generator")
    parser.add_argument("--engine", help="the server to work on (default: the peer's own)")
    parser.add_argument("--terminals", type=int, default=8)
    parser.add_argument("--threads", type=int, help="of both (default: 1, 2, and one a session)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=8, help="of each run")
    parser.add_argument("--tls", action="store_true", help="of pgbench: over TCP without and with TLS")
    parser.add_argument("--warehouses", type=int, default=4, help="of the load, and of go-tpc")
    parser.add_argument(
        "--directory",
        type=Path,
        help="of the probe; or where hostile directories are made (default: where temporary files are)",
    )
    parser.add_argument("--journal-mode", default="delete", help="SQLite's, of the observer")
    parser.add_argument("--program", default="go-tpc", metavar="PATH", help="of go-tpc, where it is not on the PATH")
    of_scripts = parser.add_argument_group("of scripts")
    of_scripts.add_argument("--file", action="append", default=[], metavar="PATH[@WEIGHT]", help="of pgbench's")
    of_scripts.add_argument("-D", action="append", default=[], metavar="NAME=VALUE", help="a variable of theirs")
    of_scripts.add_argument("--schema", type=Path, metavar="FILE", help="makes tables by psql (default: pgbench -i)")
    of_scripts.add_argument("--fill", action="append", default=[], metavar="PATH[@TIMES]", help="fills them by pgbench")
    of_scripts.add_argument("--protocol", choices=("prepared", "extended", "simple"), default="prepared")
    parser.add_argument("--checkout", type=Path, metavar="DIR", help="of oltp-emul: a clone of FirebirdSQL/oltp-emul")
    of_audit = parser.add_argument_group("of audit and hostile")
    of_audit.add_argument("--snapshots", type=Path, metavar="DIR", help="has bare git directories named owner+name")
    of_audit.add_argument("--half", choices=HALVES, help="(default: both)")
    of_audit.add_argument("--only", default="", help="benchmarks or directories with this in their name")
    of_audit.add_argument("--details", action="store_true", help="print what was missed, what is false, what is silent")
    of_audit.add_argument("--jobs", type=int, default=1, help="how many at a time; then seconds mean less")
    of_audit.add_argument("--keep", type=Path, metavar="DIR", help="leave the files of the benchmarks there")
    asked = parser.parse_args()
    try:
        with handled():
            return _measure(asked)
    except Stopped as stopped:
        print(f"stopped by {stopped.name}: what was made is released", file=sys.stderr)
        return stopped.exit_code
    except AcidtestError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _measure(asked: argparse.Namespace) -> int:
    if asked.what == "generator":
        generator.main()
    elif asked.what == "disk":
        disk.main(asked.rounds)
    elif asked.what == "load":
        load.main(asked.engine, asked.warehouses, asked.rounds)
    elif asked.what == "probe":
        probe.main(asked.rounds, asked.seconds, asked.directory or Path())
    elif asked.what == "cuts":
        cuts.main(asked.rounds)
    elif asked.what == "plan":
        planning.main(asked.rounds)
    elif asked.what == "audit":
        audit.main(audit.plan(asked.snapshots, asked.half, asked.only, asked.details, asked.jobs, asked.keep))
    elif asked.what == "fleet":
        fleet.main()
    elif asked.what == "explore":
        explore.main(asked.rounds, asked.seconds)
    elif asked.what == "hostile":
        return hostile.main(asked.only, asked.directory, details=asked.details)
    elif asked.what == "oltp-emul":
        oltp_emul.main(asked.engine, asked.checkout, asked.rounds, asked.seconds, asked.terminals)
    elif asked.what == "observer":
        observer.main(asked.journal_mode, asked.rounds)
    else:
        plan = peers.Plan(asked.terminals, asked.threads, asked.rounds, asked.seconds, asked.tls)
        peers.compare(_peer(asked), asked.engine, plan)
    return 0


def _peer(asked: argparse.Namespace) -> Peer:
    if asked.what != "scripts":
        return clients.peers(asked.program, asked.warehouses)[asked.what]
    variables = dict(scripts.variable(text) for text in asked.D)
    files, fill = ([scripts.weighted(text) for text in texts] for texts in (asked.file, asked.fill))
    return scripts.peer(scripts.Asked(files, variables, asked.schema, fill, asked.protocol))


sys.exit(main())
