"""A Slurm of two nodes on this machine's loopback, for tests: its controller, a daemon a node, and munge."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NODES = ("n1", "n2")


@contextmanager
def slurm(directory: Path) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands find it. Its files lie in ``directory``."""
    directory.chmod(0o755)
    name = socket.gethostname()
    ports = free_ports(2 + len(NODES))
    conf = directory / "slurm.conf"
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=1000 State=UNKNOWN"
        for node, port in zip(NODES, ports[2:], strict=True)
    )
    conf.write_text(
        f"""ClusterName=acidtest
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={ports[0]}
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
MpiDefault=none
ReturnToService=2
KillWait=30
{nodes}
PartitionName=all Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""
    )
    for node in NODES:
        (directory / f"spool-{node}").mkdir()
    (directory / "state").mkdir()
    environment = os.environ | {"SLURM_CONF": str(conf)}
    with ExitStack() as held:
        _munge(directory, held)
        _daemon(["slurmctld", "-D", "-f", conf], environment, directory / "slurmctld.out", held)
        for node in NODES:
            command = ["slurmd", "-D", "-N", node, "-f", conf]
            _daemon(command, environment, directory / f"slurmd-{node}.out", held)
        _await_nodes(environment, directory)
        yield {"SLURM_CONF": str(conf)}
        subprocess.run(["scancel", "--user", "root"], env=environment, check=False, capture_output=True)


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
    _daemon(command, dict(os.environ), directory / "munged.out", held, user="munge")
    _await((at / "socket").exists, at / "log")


def _daemon(
    command: list[object], environment: dict[str, str], out: Path, held: ExitStack, user: str | None = None
) -> None:
    with out.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, command)), env=environment, stdout=file, stderr=file, user=user, start_new_session=True
        )

    def end() -> None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
            return
        process.kill()
        process.wait()

    held.callback(end)


def _await_nodes(environment: dict[str, str], directory: Path) -> None:
    def idle() -> bool:
        ran = subprocess.run(
            ["sinfo", "-h", "-N", "-o", "%N %T"], env=environment, capture_output=True, text=True, check=False
        )
        return sorted(ran.stdout.split("\n")) == sorted(["", *(f"{node} idle" for node in NODES)])

    _await(idle, directory / "slurmctld.log")


def _await(holds: object, log: Path) -> None:
    assert callable(holds)
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, log.read_text() if log.exists() else log
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
