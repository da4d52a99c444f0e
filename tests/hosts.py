"""Hosts for tests of fleets: network namespaces, joined to ours by pairs of virtual interfaces, with an sshd in each.

Each has a home of acidtest's and a /run/lock of its own, as a machine has. Nothing of it is reached from elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSED_ON = ("PYTHONPATH", "ACIDTEST_RIG", "PATH", "PYENV_VERSION")


def run(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=60).stdout


@dataclass
class SshHost:
    """One host, as a client of ssh sees it."""

    namespace: str
    ours: str  # our address on the pair of interfaces that joins it
    address: str
    home: Path

    def cut_link(self) -> None:
        run("ip", "link", "set", self.interface, "down")

    def mend_link(self) -> None:
        run("ip", "link", "set", self.interface, "up")

    @property
    def interface(self) -> str:
        return f"v{self.namespace[-8:]}"

    def processes(self) -> dict[int, str]:
        """The command lines of what runs in the namespace, by process."""
        found = {}
        for pid in map(int, run("ip", "netns", "pids", self.namespace).split()):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[pid] = line.strip()
        return found

    def find(self, words: str) -> list[int]:
        return [pid for pid, line in self.processes().items() if words in line]

    def left(self) -> list[str]:
        """What is there of acidtest's: ledgers with something in them, and what its runs keep."""
        ledgers = [str(path) for path in self.home.glob("ledger/*.jsonl")]
        return ledgers + [str(path) for path in self.home.glob("fleet/*")]


class SshHosts:
    """Some of them, and what a client needs to reach them."""

    def __init__(self, hosts: Sequence[SshHost], listen: str, key: Path, known: Path) -> None:
        self.hosts, self.listen, self.key, self.known = hosts, listen, key, known

    def fleet(self, path: Path, more: str = "") -> Path:
        """A fleet's file of all of them."""
        names = ", ".join(f'"{host.address}"' for host in self.hosts)
        tables = "\n".join(
            f'[hosts."{host.address}"]\nhome = "{host.home}"\nlisten = "{host.address}"\npython = "{sys.executable}"\n'
            for host in self.hosts
        )
        path.write_text(
            f'ssh = [{names}]\nlisten = "{self.listen}"\n{more}\n'
            f'[ssh_options]\nusername = "root"\nclient_keys = ["{self.key}"]\nknown_hosts = "{self.known}"\n{tables}'
        )
        return path


@contextmanager
def ssh_hosts(directory: Path, count: int) -> Iterator[SshHosts]:
    """``count`` hosts for as long as the block goes on; their files lie in ``directory``."""
    key, of_host = directory / "key", directory / "host-key"
    for path in (key, of_host):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
    (directory / "authorized").write_text(key.with_suffix(".pub").read_text())
    (directory / "authorized").chmod(0o600)
    Path("/run/sshd").mkdir(exist_ok=True)
    hosts: list[SshHost] = []
    # An address of ours that all of them reach, by whichever pair.
    listen = f"{_network()}.1"
    with ExitStack() as held:
        run("ip", "addr", "add", f"{listen}/32", "dev", "lo")
        held.callback(run, "ip", "addr", "del", f"{listen}/32", "dev", "lo")
        for number in range(1, count + 1):
            hosts.append(held.enter_context(_host(directory, number, of_host)))
        known = directory / "known"
        public = of_host.with_suffix(".pub").read_text().split()[:2]
        known.write_text("".join(f"{host.address} {' '.join(public)}\n" for host in hosts))
        yield SshHosts(hosts, listen, key, known)


def _network() -> str:
    """Of 198.18.0.0/15, which RFC 2544 gives to tests; by chance, for tests run side by side."""
    taken = run("ip", "-4", "addr")
    while (net := f"198.{random.choice((18, 19))}.{random.randrange(256)}") in taken:
        pass
    return net


@contextmanager
def _host(directory: Path, number: int, key: Path) -> Iterator[SshHost]:
    name = f"acidtest-{uuid.uuid4().hex[:8]}"
    net = _network()
    home = directory / f"home-{number}"
    home.mkdir()
    host = SshHost(name, f"{net}.1", f"{net}.2", home)
    engines = Path(os.environ["ACIDTEST_HOME"]) / "engines"
    (home / "engines").symlink_to(engines.resolve())
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", host.interface, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "addr", "add", f"{host.ours}/30", "dev", host.interface)
        run("ip", "link", "set", host.interface, "up")
        # Hosts reach each other through ours; no other interface forwards anything for that.
        Path(f"/proc/sys/net/ipv4/conf/{host.interface}/forwarding").write_text("1")
        for device, address in (("lo", None), ("eth0", host.address)):
            if address:
                run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", name, "route", "add", "default", "via", host.ours)
        conf = directory / f"sshd-{number}.conf"
        passed = " ".join(f'{key}="{os.environ[key]}"' for key in PASSED_ON if key in os.environ)
        conf.write_text(
            f"ListenAddress {host.address}\nHostKey {key}\nAuthorizedKeysFile {directory}/authorized\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nStrictModes no\nUsePAM no\n"
            f"PidFile none\nMaxStartups 100\nSetEnv {passed}\n"
        )
        inner = f"mount -t tmpfs tmpfs /run/lock && exec /usr/sbin/sshd -D -e -f {conf}"
        command = ["ip", "netns", "exec", name, "unshare", "--mount", "sh", "-c", inner]
        with (directory / f"sshd-{number}.log").open("wb") as log:
            process = subprocess.Popen(command, stderr=log, stdout=log)
        try:
            _await_sshd(host, process, log.name)
            yield host
        finally:
            for pid in host.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(30)
    finally:
        subprocess.run(["ip", "link", "del", host.interface], check=False, capture_output=True)
        run("ip", "netns", "del", name)


def _await_sshd(host: SshHost, process: subprocess.Popen[bytes], log: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None, Path(log).read_text()
        if f"Server listening on {host.address}" in Path(log).read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"no sshd in {host.namespace}: {Path(log).read_text()}")
