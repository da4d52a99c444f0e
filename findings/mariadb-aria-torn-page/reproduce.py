"""MariaDB: a page of a system table that was written in part when the power failed.

A server with nothing but its system tables, which are Aria tables, is started, makes an InnoDB table and accounts, and
is stopped. strace kills it when it is about to write a file of Aria, its log or a table, for the n-th time. Of this
write only the first sector of the drive is put into the file, as a power cut leaves it that comes during the write.
Then a server is started on these files. The same is done with the whole write, and with nothing of it. Needs strace,
mariadbd and its scripts that make system tables; no client and no root.

    python3 reproduce.py
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

SCRIPTS = ("system_tables.sql", "system_tables_data.sql")  # behind mysql_ or mariadb_
ARIA = (".MAI", ".MAD")
KEPT = ("first sector", "everything", "nothing")
WRITE = re.compile(r'pwrite64\(\d+<([^>]*)>, "([^"]*)", (\d+), (\d+)')
ERROR = re.compile(r"\[ERROR\] (?:\S*(?:mariadbd|mysqld): )?(.*)")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mariadbd", default="/usr/sbin/mariadbd")
    options.add_argument("--argument", action="append", default=[], help="one more for mariadbd, such as --basedir=…")
    options.add_argument("--share", type=Path, default=Path("/usr/share/mysql"), help="where the scripts are")
    options.add_argument("--work", type=Path, help="a folder for the data directories; a new one if none is given")
    options.add_argument("--sector", type=int, default=4096, help="bytes that the drive writes whole")
    options.add_argument("--accounts", type=int, default=1, help="that are made, one after another")
    options.add_argument("--writes", type=int, default=200, help="at most so many are tried")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="aria-torn-page-", dir=asked.work) as work:
        server = Server([asked.mariadbd, "--no-defaults", *asked.argument], Path(work))
        server.bootstrap(asked.share)
        accounts = [f"create user u{n} identified by 'x';" for n in range(asked.accounts)]
        made = ["create database d;", "create table d.t (id int primary key) engine=innodb;", *accounts, "shutdown;"]
        started = {kept: Counter[str]() for kept in KEPT}
        refused, examples = Counter[str](), []
        for number in range(1, asked.writes + 1):
            if (write := server.killed_at(number, made)) is None:
                break
            file, at, data = write
            with (server.killed / file).open("rb") as left:
                left.seek(at)
                old = left.read(len(data))
            first = asked.sector - at % asked.sector  # so many of its bytes lie in the first sector
            # What would make the file longer is left out: a file system makes the new length durable after the bytes.
            torn = data[:first] + old[first:]
            if torn in (data[: len(torn)], old):
                continue
            for kept, bytes_left in zip(KEPT, (torn, data, b""), strict=True):
                said = server.start(file, at, bytes_left)
                started[kept]["starts" if said == "" else "does not start"] += 1
                if said and kept == KEPT[0]:
                    refused[file] += 1
                    examples += [{"write": number, "file": file, "at": at, "bytes": len(data), "said": said}]
        version = server.version()
    told = {"finding": "mariadb-aria-torn-page", "version": version, "sector": asked.sector}
    told |= {"torn_writes": sum(started[KEPT[0]].values()), "kept": started}
    print(json.dumps({**told, "refused": refused, "examples": examples[:3]}))
    return int(started["first sector"]["does not start"] > 0)


class Server:
    """``clean`` is a data directory that was stopped in order; each trial has a copy of it."""

    def __init__(self, command: list[str], work: Path) -> None:
        self._command, self._work = command, work
        self._clean, self.killed, self._tried = (work / name for name in ("clean", "killed", "tried"))

    def version(self) -> str:
        return subprocess.run([*self._command, "--version"], check=True, capture_output=True, text=True).stdout.strip()

    def bootstrap(self, share: Path) -> None:
        self._clean.mkdir()
        prefix = "mysql_" if (share / f"mysql_{SCRIPTS[0]}").exists() else "mariadb_"
        scripts = [(share / f"{prefix}{name}").read_text(errors="replace") for name in SCRIPTS]
        sql = "\n".join(["create database mysql;", "use mysql;", *scripts])
        ended = subprocess.run(
            [*self._options(self._clean), "--bootstrap"], check=False, input=sql, capture_output=True, text=True
        )
        if ended.returncode:
            raise SystemExit(f"no system tables: {ended.stderr[-1500:]}")

    def killed_at(self, number: int, sql: list[str]) -> tuple[str, int, bytes] | None:
        """File, place and bytes of the write that did not come about; None if no thread writes so often."""
        renewed(self._clean, self.killed)
        files = [file for file in self.killed.rglob("*") if file.suffix in ARIA or file.name.startswith("aria_log.")]
        trace = self._work / "trace"
        kill = f"inject=pwrite64:signal=SIGKILL:when={number}"
        strace = ["strace", "-f", "-y", "-xx", "-s", "10000000", "-e", "trace=pwrite64", "-e", kill, "-o", str(trace)]
        watched = [part for file in files for part in ("-P", str(file))]
        ended = self._run([*strace, *watched, *self._options(self.killed)], sql)
        if ended.returncode != -signal.SIGKILL:  # strace ends as what it traces has ended
            return None
        with trace.open() as lines:
            name, data, _, at = [write for line in lines if (write := WRITE.search(line))][-1].groups()
        return str(Path(os.fsdecode(unhex(name))).relative_to(self.killed)), int(at), unhex(data)

    def start(self, file: str, at: int, data: bytes) -> str:
        """Start on a copy of what the killed one left, with these bytes in the file; what it says when it fails."""
        renewed(self.killed, self._tried)
        with (self._tried / file).open("r+b") as left:
            left.seek(at)
            left.write(data)
        ended = self._run(self._options(self._tried), ["shutdown;"])
        return (
            "" if ended.returncode == 0 else " / ".join(ERROR.findall(ended.stdout)[:4]) or f"ended {ended.returncode}"
        )

    def _options(self, data: Path) -> list[str]:
        return [
            *self._command, f"--datadir={data}", f"--socket={self._work / 'socket'}", f"--tmpdir={self._work}",
            f"--pid-file={self._work / 'pid'}", "--skip-networking", "--user=root", "--innodb-log-file-size=10M",
            "--innodb-buffer-pool-size=32M",
        ]  # fmt: skip

    def _run(self, command: list[str], sql: list[str]) -> subprocess.CompletedProcess[str]:
        statements = self._work / "init.sql"
        statements.write_text("\n".join(sql) + "\n")
        return subprocess.run(
            [*command, f"--init-file={statements}"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def renewed(of: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(of, to)


if __name__ == "__main__":
    sys.exit(main())
