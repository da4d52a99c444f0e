"""Two MariaDB servers as nodes of a Galera cluster, with an arbitrator, which votes and has no data.

Sources, below https://mariadb.com/docs/galera-cluster/: about-galera-replication for what a commit waits for;
high-availability/understanding-quorum-monitoring-and-recovery, recovering-a-primary-component and
resetting-the-quorum-cluster-bootstrap for what goes on by itself, and for safe_to_bootstrap and --wsrep-recover.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acidtest.engine import debian
from acidtest.engine.base import Ask, Engine, Instance, Launcher
from acidtest.engine.mysql.engine import Mysql
from acidtest.engine.mysql.instance import BINLOG, MysqlInstance
from acidtest.engine.mysql.origins import Installation
from acidtest.engine.replication import Chosen, Ends, Mode, Pair, Seen
from acidtest.engine.server import Ended, Server, listens
from acidtest.errors import CellFailed, MachineLacks

FIRST = (10, 4)  # the first MariaDB with Galera 4
# What the other node has got and certified it has in memory. By default nodes suspect one that is silent for 5 s
# (evs.suspect_timeout), and one that is alone then stops.
MODE = Mode(
    "galera",
    "wsrep_on = ON, an arbitrator (garbd) as the third vote",
    "arrival",
    stops_after_s=10.0,
)
GROUP_PORT = 4567
AGAIN_S = 60.0  # for a node to serve: by default others are suspected after 5 s, and given up after 15 s
STATE, VIEW = "grastate.dat", "gvwstate.dat"
PROVIDER, ARBITRATOR = "libgalera_smm.so", "garbd"
PROVIDER_FOLDERS = ("lib/galera", "lib64/galera-4", "lib/galera-4", "lib64/galera", "lib64", "lib")
# Nodes begin with the same data: what they lack are write sets alone.
TRANSFER = "acidtest"
SCRIPT = [sys.executable, "-P", str(Path(__file__).with_name("state_transfer.py"))]
# Unknown of a node that has never been in a cluster.
NOBODY = "00000000-0000-0000-0000-000000000000"
STATUS = {
    "wsrep_ready": "ON",
    "wsrep_cluster_size": "3",
    "wsrep_cluster_status": "Primary",
    "wsrep_local_state_comment": "Synced",
    "wsrep_provider_name": "Galera",
}
TOLD = ("wsrep_provider_version", "wsrep_cluster_state_uuid")  # beside these
FLUSHES = "innodb_flush_log_at_trx_commit"


@dataclass(frozen=True)
class Galera:
    """Where the files of Galera lie."""

    provider: Path
    arbitrator: tuple[str, ...]  # the command that starts it


def galera_of(files: Installation) -> Galera | None:
    """What belongs to the server of ``files``: that which came with it, else the system's; None without one."""
    own = _has_own_loader(files)
    bases = [files.base] if own else list(dict.fromkeys([files.base, Path("/usr")]))
    provider = _first(base / folder / PROVIDER for base in bases for folder in PROVIDER_FOLDERS)
    arbitrator = _first(base / folder / ARBITRATOR for base in bases for folder in ("bin", "sbin"))
    if arbitrator is None and not own and (found := shutil.which(ARBITRATOR)):
        arbitrator = Path(found)
    if provider is None or arbitrator is None:
        return None
    return Galera(provider, tuple(debian.command(files.base.parent, arbitrator) if own else [str(arbitrator)]))


def _has_own_loader(files: Installation) -> bool:
    """Then the libraries beside it are all that it finds."""
    return files.command[0] != str(files.program)


def _first(files: Iterable[Path]) -> Path | None:
    return next((file for file in files if file.is_file()), None)


def has_galera(engine: Engine) -> bool:
    """Whether a server of this series may be a node."""
    return isinstance(engine, Mysql) and engine.known_as.startswith("mariadb") and engine.version.begins >= FIRST


def check(engine: Engine) -> None:
    """Raise MachineLacks where the server is here, and Galera is not."""
    assert isinstance(engine, Mysql)
    files = engine.installation()
    if files is not None and galera_of(files) is None:
        again, packages = f"acidtest engines install {engine.id}", "install galera-4 and galera-arbitrator-4 (Debian)"
        raise MachineLacks(
            f"{engine.id}: place.replication galera needs {PROVIDER} and {ARBITRATOR}, which are not there",
            again if _has_own_loader(files) else packages,
        )


class GaleraPair(Pair):
    """``primary`` is the node that the load goes to; as nodes they are alike."""

    chooses = True
    instances = MysqlInstance
    primary: MysqlInstance
    replica: MysqlInstance

    def __init__(self, primary: Instance, replica: Instance, mode: Mode, ends: Ends) -> None:
        super().__init__(primary, replica, mode, ends)
        galera = galera_of(self.primary.files)
        if galera is None:
            raise CellFailed(f"{PROVIDER} and {ARBITRATOR} are not there any more")
        self._galera = galera
        self._beside, self._programs = (primary.directory / name for name in ("arbitrator", "programs"))
        self._arbitrator = Server(ARBITRATOR, primary.directory / "arbitrator.log")

    def prepare(self) -> None:
        """The primary begins the cluster, so that a copy of its files says where in its history it was made."""
        self._beside.mkdir()
        self._programs.mkdir()
        script = self._programs / f"wsrep_sst_{TRANSFER}"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(SCRIPT)} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        for instance in (self.primary, self.replica):
            # What an init file does is the node's own.
            instance.introduce([], first=["set session wsrep_on = OFF"])
        self._play(self.primary, "wsrep_new_cluster")
        self.primary.configure()

    def replicate(self) -> None:
        for instance in (self.primary, self.replica):
            for file in instance.data.glob(f"{BINLOG}.*"):
                file.unlink()
        self.join()
        for instance in (self.primary, self.replica):
            instance.configure()

    def join(self) -> None:
        for instance in (self.primary, self.replica):
            self._play(instance)

    def _play(self, instance: MysqlInstance, *more: str) -> None:
        name, address = ("primary", self.ends.primary) if instance is self.primary else ("replica", self.ends.replica)
        lines = [
            "wsrep_on = ON",
            f"wsrep_provider = {self._galera.provider}",
            "wsrep_cluster_name = acidtest",
            f"wsrep_cluster_address = gcomm://{self.ends.primary},{self.ends.replica}",
            f"wsrep_node_name = {name}",
            f"wsrep_node_address = {address}",
            f"wsrep_sst_method = {TRANSFER}",
            # Of its cache of write sets, which it makes as large as this on the disk.
            'wsrep_provider_options = "gcache.size=16M"',
            "binlog_format = ROW",
            "innodb_autoinc_lock_mode = 2",
        ]
        instance.play([*lines, *more], programs=self._programs)

    def start(self, primary: Launcher, replica: Launcher, arbitrator: Launcher | None) -> None:
        """A cluster is begun by the primary, and joined by the others."""
        assert arbitrator is not None
        self.end_beside()
        for node in (self.primary, self.replica):
            (node.data / VIEW).unlink(missing_ok=True)  # of the cluster before
        self._bootstrap(self.primary, primary)
        (self._beside / VIEW).unlink(missing_ok=True)
        self._arbitrator.start(
            arbitrator,
            [
                *self._galera.arbitrator,
                f"--address=gcomm://{self.ends.primary},{self.ends.replica}",
                "--group=acidtest",
                "--name=arbitrator",
                f"--options=base_dir={self._beside};gmcast.listen_addr=tcp://{self.ends.arbitrator}:{GROUP_PORT}",
            ],
            environment=self.primary.environment(),
            ready=lambda: listens(self._arbitrator.pid, GROUP_PORT),
        )
        self._begin(self.replica, replica)

    def end_beside(self) -> None:
        self._arbitrator.kill()

    def _begin(self, node: MysqlInstance, launcher: Launcher, *more: str) -> None:
        self._play(node)
        position = node.recovered_position(launcher)
        self._play(node, f"wsrep_start_position = {position}", *more)
        node.start(launcher)

    def _bootstrap(self, node: MysqlInstance, launcher: Launcher) -> None:
        """Begin a cluster with what this node has."""
        state = node.data / STATE
        if state.exists():
            text = state.read_text(encoding="utf-8", errors="replace")
            state.write_text(text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"), encoding="utf-8")
        self._begin(node, launcher, "wsrep_new_cluster")

    def seen(self, ask_primary: Ask, ask_replica: Ask, *, loaded: bool) -> Seen:
        nodes = {"primary": _status(ask_primary), "replica": _status(ask_replica)}
        told = []
        for name, status in nodes.items():
            words = ", ".join(f"{variable} {status.get(variable)}" for variable in (*STATUS, TOLD[0], FLUSHES))
            told.append(f"{name}: {words}")
        in_force = all(
            status.get(variable) == wanted for status in nodes.values() for variable, wanted in STATUS.items()
        )
        alike = all(len({status.get(name) for status in nodes.values()}) == 1 for name in (*TOLD, FLUSHES))
        return Seen("; ".join(told), in_force=in_force and alike)

    def choose(self, primary: Launcher, replica: Launcher) -> Chosen:
        """The node that has the last write set, as each node's own recovery tells; of two that are alike the one that
        was written to."""
        self.end_beside()
        self.join()
        of_primary, of_replica = _recovered(self.primary, primary), _recovered(self.replica, replica)
        (history, last), (other, others_last) = _position(of_primary), _position(of_replica)
        if NOBODY not in (history, other) and history != other:
            raise CellFailed(f"the nodes have different histories: {of_primary} and {of_replica}")
        text = f"--wsrep-recover: primary {of_primary}, replica {of_replica}"
        return Chosen("replica" if others_last > last else "primary", text)

    def start_alone(self, launcher: Launcher, ask: Ask) -> None:
        self.end_beside()
        self.replica.lose_power()
        self._bootstrap(self.primary, launcher)
        _await_service(ask, size=1)

    def take_over(self, launcher: Launcher, ask: Ask) -> None:
        """A node that has the arbitrator's vote goes on by itself when it has noticed that the other one is gone. What
        was sent before is applied before the new size of the cluster is told."""
        if self.replica.runs:
            _await_service(ask, size=2)
        else:
            self.serve(launcher, ask)

    def serve(self, launcher: Launcher, ask: Ask) -> None:
        self._bootstrap(self.replica, launcher)
        _await_service(ask, size=1)


def _status(ask: Ask) -> Mapping[str, str]:
    names = ", ".join(f"'{name}'" for name in (*STATUS, *TOLD))
    rows = ask(f"show global status where variable_name in ({names})")
    rows += ask(f"show global variables where variable_name = '{FLUSHES}'")
    return {str(row[0]): str(row[1]) for row in rows}


def _recovered(node: MysqlInstance, launcher: Launcher) -> str:
    """Of a node whose storage engine does not recover nothing is to be had."""
    try:
        return node.recovered_position(launcher)
    except Ended:
        return f"{NOBODY}:-1"


def _position(said: str) -> tuple[str, int]:
    """UUID of the cluster's history, and the number of the last write set; -1 where there is none."""
    history, _, last = said.partition(":")
    return history, int(last)


def _await_service(ask: Ask, *, size: int) -> None:
    """Until a node serves in a cluster of this size. Raises CellFailed."""
    wanted = {**STATUS, "wsrep_cluster_size": str(size)}
    said = ""
    end = time.monotonic() + AGAIN_S
    while time.monotonic() < end:
        try:
            status = _status(ask)
            if all(status.get(name) == value for name, value in wanted.items()):
                return
            said = ", ".join(f"{name} {status.get(name)}" for name in wanted)
        except CellFailed as error:  # while it decides it may refuse
            said = error.message
        time.sleep(0.1)
    raise CellFailed(f"the node did not serve within {AGAIN_S:.0f} s: {said}")
