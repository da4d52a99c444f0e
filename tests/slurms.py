"""A Slurm for tests: munge and the controller on this machine, and a node in each of two network namespaces."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hosts import SshHost, address, inside, joined

NODES = ("n1", "n2")


class Slurm:
    """Its nodes, and what clients of it need."""

    names = NODES

    def __init__(self, directory: Path, listen: str, hosts: Sequence[SshHost]) -> None:
        self.directory, self.listen, self.hosts = directory, listen, list(hosts)
        self.conf = directory / "slurm.conf"
        self.environment = {"SLURM_CONF": str(self.conf)}  # in which Slurm's commands find it
        self._nodes: list[subprocess.Popen[bytes]] = []

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, env=os.environ | self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def fleet(self, path: Path, more: str = "") -> Path:
        """A fleet's file of both nodes."""
        tables = "\n".join(
            f'[hosts.{name}]\nhome = "{host.home}"' for name, host in zip(self.names, self.hosts, strict=True)
        )
        path.write_text(
            f'spread = "compare"\nlisten = "{self.listen}"\n{more}\n'
            f'[slurm]\nmachines = {len(self.hosts)}\nmemory = "800MB"\ninterface = "eth0"\npython = "{sys.executable}"\n'
            f'directives = ["--exclusive", "--output=/dev/null"]\n{tables}\n'
        )
        return path

    def start(self) -> None:
        for number in range(len(self.names)):
            self._nodes.append(self._node(number))
        self.start_controller()
        self.await_idle()

    def start_controller(self) -> None:
        self.controller = _daemon(
            ["slurmctld", "-D", "-f", self.conf], os.environ | self.environment, self.directory / "slurmctld.out"
        )
        _await(lambda: "UP" in subprocess.run(
            ["scontrol", "ping"], env=os.environ | self.environment, capture_output=True, text=True, check=False
        ).stdout, self.directory / "slurmctld.log")  # fmt: skip

    def _node(self, number: int) -> subprocess.Popen[bytes]:
        command = f"slurmd -D -N {self.names[number]} -f {self.conf}"
        return _daemon(
            inside(self.hosts[number], command), os.environ | self.environment, self.directory / f"slurmd-{number}.out"
        )

    def restart_node(self, number: int) -> None:
        """As when its power fails and comes back: all that runs there is killed, its daemon too."""
        self._nodes[number].kill()
        self._nodes[number].wait()
        self.hosts[number].power_off()
        self._nodes[number] = self._node(number)

    def clear(self) -> None:
        """End the jobs that a test has left."""
        for host in self.hosts:
            host.mend_link()
        self.run("scancel", "--user", "root")
        for host in self.hosts:
            host.clear()
        self.await_idle()

    def await_idle(self) -> None:
        def idle() -> bool:
            ran = subprocess.run(
                ["sinfo", "-h", "-N", "-o", "%N %T"],
                env=os.environ | self.environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            return sorted(ran.stdout.split("\n")) == sorted(["", *(f"{node} idle" for node in self.names)])

        _await(idle, self.directory / "slurmctld.log")

    def stop(self) -> None:
        for process in (*self._nodes, self.controller):
            _end(process)


@contextmanager
def slurm(directory: Path) -> Iterator[Slurm]:
    """A Slurm of two nodes, whose files lie in ``directory``."""
    directory.chmod(0o755)
    with ExitStack() as held:
        listen = held.enter_context(address())
        hosts = [held.enter_context(joined(directory, number)) for number in range(1, len(NODES) + 1)]
        made = Slurm(directory, listen, hosts)
        made.conf.write_text(_configuration(made))
        for node in NODES:
            (directory / f"spool-{node}").mkdir()
        (directory / "state").mkdir()
        _munge(directory, held)
        held.callback(made.stop)
        made.start()
        yield made


def _configuration(of: Slurm) -> str:
    name, directory = socket.gethostname(), of.directory
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={name} NodeAddr={host.address} CPUs=1 RealMemory=1000 State=UNKNOWN"
        for node, host in zip(of.names, of.hosts, strict=True)
    )
    return f"""ClusterName=acidtest
SlurmctldHost={name}({of.listen})
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
SlurmctldPort={free_port(of.listen)}
MpiDefault=none
ReturnToService=2
KillWait=30
{nodes}
PartitionName=all Nodes={",".join(of.names)} Default=YES MaxTime=INFINITE State=UP
"""


def _munge(directory: Path, held: ExitStack) -> None:
    """munged refuses a folder that others may write to, and runs as its own user."""
    user = pwd.getpwnam("munge")
    at = Path("/run") / f"acidtest-munge-{os.getpid()}"
    at.mkdir(mode=0o755)
    held.callback(shutil.rmtree, at, ignore_errors=True)
    (directory / "munge").symlink_to(at)
    (at / "key").write_bytes(os.urandom(128))
    (at / "key").chmod(0o600)
    for path in (at, at / "key"):
        os.chown(path, user.pw_uid, user.pw_gid)
    command = [
        "munged", "--foreground", f"--socket={at}/socket", f"--key-file={at}/key", f"--pid-file={at}/pid",
        f"--log-file={at}/log", f"--seed-file={at}/seed",
    ]  # fmt: skip
    held.callback(_end, _daemon(command, dict(os.environ), directory / "munged.out", user="munge"))
    _await((at / "socket").exists, at / "log")


def _daemon(
    command: Sequence[object], environment: Mapping[str, str], out: Path, user: str | None = None
) -> subprocess.Popen[bytes]:
    with out.open("ab") as file:
        return subprocess.Popen(
            list(map(str, command)), env=environment, stdout=file, stderr=file, user=user, start_new_session=True
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
        return
    process.kill()
    process.wait()


def _await(holds: Callable[[], bool], log: Path) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, log.read_text() if log.exists() else log
        time.sleep(0.1)


def free_port(at: str) -> int:
    with socket.socket() as one:
        one.bind((at, 0))
        return int(one.getsockname()[1])
