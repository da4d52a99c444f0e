"""DiskCache: values of 32 KiB and more are not flushed, whatever ``synchronous`` says.

A cache with ``sqlite_synchronous = 2`` (FULL) stores a small value and a large one. strace tells which files are
flushed before each ``set`` returns: the database's log is; the file that the large value lies in is not.

    apt-get install strace python3-diskcache      (or: pip install diskcache)
    python3 reproduce.py
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STORE = """
import diskcache, sys
cache = diskcache.Cache(sys.argv[1], sqlite_synchronous=2)
for name, size in (("small", 1000), ("large", int(sys.argv[2]))):
    print(f"begins {name}", flush=True)
    cache.set(name, b"x" * size)
    print(f"returned {name}", flush=True)
print(f"version {diskcache.__version__}", flush=True)
"""
CALL = re.compile(r"(fsync|fdatasync|sync_file_range|syncfs|msync)\(\d+<([^>]*)>")
SAID = re.compile(r'write\(1<[^>]*>, "(begins|returned|version) ([^\\"]*)')


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", default="/usr/bin/python3", help="one that has diskcache")
    options.add_argument("--work", type=Path, help="a folder for the cache; one that is removed if none is given")
    options.add_argument("--bytes", type=int, default=100_000, help="of the large value")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="diskcache-", dir=asked.work) as work:
        trace, cache = Path(work) / "trace", Path(work) / "cache"
        calls = "trace=write,fsync,fdatasync,sync_file_range,syncfs,sync,msync"
        traced = ["strace", "-f", "-y", "-s", "80", "-e", calls, "-o", str(trace)]
        command = [*traced, asked.python, "-c", STORE, str(cache), str(asked.bytes)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        values = list(cache.rglob("*.val"))
        if sum(file.stat().st_size for file in values) < asked.bytes:
            raise SystemExit(f"no value lies in a file of its own: {asked.bytes:,} bytes are too few")
        flushed: dict[str, list[str]] = {"small": [], "large": []}
        setting, version = "", ""
        for line in trace.read_text(errors="replace").splitlines():
            if said := SAID.search(line):
                setting = said[2] if said[1] == "begins" else ""
                version = said[2] if said[1] == "version" else version
            elif setting and (call := CALL.search(line)):
                flushed[setting].append(Path(call[2]).suffix or Path(call[2]).name)
    of_values = flushed["large"].count(".val")
    found = {"finding": "diskcache-large-values", "version": version, "synchronous": "FULL", "bytes": asked.bytes}
    print(json.dumps({**found, "flushes": flushed, "flushes_of_the_value": of_values}))
    return int(of_values == 0 and bool(flushed["large"]))


if __name__ == "__main__":
    sys.exit(main())
