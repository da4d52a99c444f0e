"""Lets a node join a Galera cluster by what it lacks alone: a state transfer script, which transfers no snapshot.

The server runs it as ``wsrep_sst_METHOD``; see https://galeracluster.com/library/documentation/ (scriptable state
snapshot transfers). A joiner says where it is to be reached and waits; the donor tells it the position from which on
it gets write sets, which must be the joiner's own. Where the donor no longer has them it would have to send a
snapshot: then the script fails on both sides, and the joiner does not come up.

    state_transfer.py --role joiner --address HOST[:PORT] --parent PID ...
    state_transfer.py --role donor --address HOST:PORT/ --gtid UUID:SEQNO [--bypass] ...
"""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

PORT = 4444
LINE_BYTES = 200
LOOK_S = 0.5
GIVE_UP_S = 60.0


def join(host: str, port: int, parent: int) -> str:
    """Wait for the donor. Returns what it has sent, "" of one that has no write sets to send, or of a parent that is
    gone."""
    with socket.create_server((host, port)) as server:
        server.settimeout(LOOK_S)
        print(f"ready {host}:{server.getsockname()[1]}/", flush=True)
        while Path(f"/proc/{parent}").exists():
            try:
                donor, _ = server.accept()
            except TimeoutError:
                continue
            with donor:
                donor.settimeout(GIVE_UP_S)
                return donor.makefile(encoding="ascii").readline(LINE_BYTES).strip()
    return ""


def donate(host: str, port: int, position: str) -> None:
    """Tell a joiner its position, or "" for none."""
    with socket.create_connection((host, port), timeout=GIVE_UP_S) as joiner:
        joiner.sendall(f"{position}\n".encode("ascii"))


def main() -> int:
    """As a state transfer script: what the server reads goes to standard output, all else to its log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--role", required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--parent", type=int, default=0)
    parser.add_argument("--gtid", default="")
    parser.add_argument("--bypass", action="store_true")
    asked, _ = parser.parse_known_args()
    host, _, port = asked.address.partition("/")[0].partition(":")
    if asked.role == "joiner":
        position = join(host, int(port or PORT), asked.parent)
        print(position, flush=True)
        return 0 if position else 1
    sys.stdin.read()  # accounts, which nothing here takes; a server whose script has ended before it reads them fails
    donate(host, int(port or PORT), asked.gtid if asked.bypass else "")
    if not asked.bypass:
        print("[ERROR] WSREP: the joiner needs a snapshot, which is not sent here", file=sys.stderr)
        return 1
    print(f"done {asked.gtid}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
