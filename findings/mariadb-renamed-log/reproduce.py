"""MariaDB: the redo log that is made anew at a start is renamed, and the renaming is not made durable.

A server is stopped in order, and started again with another innodb_log_file_size, on the same mounted file system. It
makes the log anew beside the old one and renames it over it. One row is inserted and committed
(innodb_flush_log_at_trx_commit = 1), and the power is cut at once. If the old log is back after that, the row is gone.
The drive is ../fuse_disk.py. Needs root, mkfs of the file system, and mariadbd; SQL goes through --init-file.

    sudo python reproduce.py --cuts 10
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from fuse_disk import Disk

SIZE = 448 << 20
CREATE = "create database d; create table d.t (id int primary key) engine=innodb;"
INSERT = "insert into d.t values (1);"
READY = b"ready for connections"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mariadbd", type=Path, default=Path("/usr/sbin/mariadbd"))
    options.add_argument("--argument", action="append", default=[], help="one more for mariadbd, such as --basedir=…")
    options.add_argument("--filesystem", default="ext4")
    options.add_argument("--cuts", type=int, default=10)
    options.add_argument("--same-size", action="store_true", help="start with the same log size: no log is made anew")
    options.add_argument("--remount", action="store_true", help="unmount and mount between the stop and the start")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="renamed-log-") as work:
        return measure(asked, Path(work))


def measure(asked: argparse.Namespace, work: Path) -> int:
    server = [str(asked.mariadbd), "--no-defaults", *asked.argument]
    version = subprocess.run([*server, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    image, mounted = work / "empty.img", work / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE)
    mkfs = ["mkfs." + asked.filesystem, "-f" if asked.filesystem in ("xfs", "btrfs") else "-q", str(image)]
    subprocess.run(mkfs, check=True, capture_output=True)
    empty = image.read_bytes()
    rows = Counter[str]()
    for _ in range(asked.cuts):
        after = b""
        with Disk(work / "disk", SIZE, empty) as disk:
            mount(disk.device, mounted, asked.filesystem)
            try:
                run(server, mounted, work, "48M", CREATE).stop()
                subprocess.run(["sync"], check=True)
                if asked.remount:
                    unmount(mounted)
                    mount(disk.device, mounted, asked.filesystem)
                begun = run(server, mounted, work, "48M" if asked.same_size else "96M", INSERT)
                after = disk.cut()
                begun.kill()
            finally:
                unmount(mounted)
        image.write_bytes(after)
        mount(str(image), mounted, asked.filesystem, "-o", "loop")
        told = work / "rows.txt"
        told.unlink(missing_ok=True)
        try:
            run(server, mounted, work, "96M", f"select count(*) into outfile '{told}' from d.t;").stop()
        finally:
            unmount(mounted)
        rows["kept" if told.exists() and told.read_text().strip() == "1" else "lost"] += 1
    image.unlink()
    said = {"finding": "mariadb-renamed-log", "version": version, "kernel": platform.release()}
    asked_for = {"filesystem": asked.filesystem, "same_size": asked.same_size, "remount": asked.remount}
    print(json.dumps({**said, **asked_for, "cuts": asked.cuts, "committed_row": rows}))
    return int(rows["lost"] > 0)


class run:
    """A server that has executed ``sql`` and takes connections."""

    def __init__(self, server: list[str], mounted: Path, work: Path, log_size: str, sql: str) -> None:
        data, statements, log = mounted / "data", work / "init.sql", work / "server.log"
        data.mkdir(exist_ok=True)
        statements.write_text(sql.replace("; ", ";\n") + "\n")
        log.write_bytes(b"")
        told = log.open("ab")
        self._process = subprocess.Popen(
            [
                *server, f"--datadir={data}", f"--init-file={statements}", f"--innodb-log-file-size={log_size}",
                f"--socket={work / 'socket'}", f"--pid-file={work / 'pid'}", f"--tmpdir={work}",
                "--skip-networking", "--skip-grant-tables", "--user=root", "--innodb-flush-log-at-trx-commit=1",
                "--innodb-buffer-pool-size=32M", "--secure-file-priv=",
            ],
            stdout=told, stderr=told,
        )  # fmt: skip
        told.close()
        while READY not in log.read_bytes():
            if self._process.poll() is not None:
                raise SystemExit(f"mariadbd ended: {log.read_text(errors='replace')[-1500:]}")
            time.sleep(0.005)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def mount(device: str, mounted: Path, filesystem: str, *options: str) -> None:
    subprocess.run(["mount", "-t", filesystem, *options, device, str(mounted)], check=True)


def unmount(mounted: Path) -> None:
    for _ in range(1200):
        if not subprocess.run(["umount", str(mounted)], check=False, capture_output=True).returncode:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
