"""What a program writes to a file, in order, as strace sees it; and between them the lines that it says itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

CALLS = "trace=pwrite64,fallocate,ftruncate,write"
CALL = re.compile(r"^\d+ +(pwrite64|fallocate|ftruncate|write)\(\d+<([^>]*)>, (?:\"([^\"]*)\", )?([^)<]*)")
Write = tuple[int, int, bytes]  # lines that had been said before it, place in the file, bytes; none: it is made longer


def record(command: Sequence[str], environment: Mapping[str, str], file: Path, says: Sequence[bytes]) -> list[Write]:
    """Run the program to its end; ``says`` are the lines that it says, each by one write. Needs strace."""
    trace = file.with_suffix(".trace")
    strace = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", CALLS, "-o", str(trace)]
    said = subprocess.run([*strace, *command], env=environment, check=True, stdout=subprocess.PIPE).stdout
    if said.splitlines() != list(says):
        raise SystemExit(f"the program was to say {list(says)}, and said {said!r}")
    writes, lines_said = [], 0
    with trace.open() as lines:
        for line in lines:
            if not (call := CALL.match(line)):
                continue
            path, data = unhex(call[2]), unhex(call[3] or "")
            numbers = [int(number) for number in re.findall(r"\d+", call[4])]
            if call[1] == "write":
                lines_said += data.endswith(b"\n") and data[:-1] in says
            elif path != bytes(file):
                continue
            elif call[1] == "pwrite64":
                writes.append((lines_said, numbers[1], data))
            else:
                writes.append((lines_said, sum(numbers), b""))
    trace.unlink()
    return writes


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
