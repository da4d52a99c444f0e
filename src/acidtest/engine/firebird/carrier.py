"""Carries segments of a Firebird journal from a primary to its replica: the program that the engine leaves to others.

Run by its path it imports nothing else of ours. ``send FILE HOST PORT`` is a ``journal_archive_command``: it ends with
code 0 when the file is on the other end's drive, and only then. ``receive DIRECTORY ADDRESS PORT`` is the other end: a
file lies in its directory, from where the replica takes it, when all of it is on the drive.

One connection a file: a line with its name and size, its bytes, and the answer, a line that is empty or says why not.
"""

from __future__ import annotations

import os
import socket
import sys
from io import BufferedRWPair
from pathlib import Path

ANSWERS_S = 5.0  # a link that carries nothing gives no error
LINE_MAX = 4096


def send(file: Path, host: str, port: int) -> str:
    """Why the other end does not have it; "" where it does. Raises OSError."""
    content = file.read_bytes()
    with socket.create_connection((host, port), ANSWERS_S) as other, other.makefile("rwb") as stream:
        stream.write(b"%s %d\n" % (file.name.encode(), len(content)) + content)
        stream.flush()
        answer = stream.readline(LINE_MAX).decode(errors="replace")
        return answer.strip() if answer.endswith("\n") else "it gave no answer"


def receive(directory: Path, address: str, port: int) -> None:
    """One file after another, as long as it runs."""
    with socket.create_server((address, port)) as server:
        while True:
            other, _ = server.accept()
            other.settimeout(ANSWERS_S)
            with other, other.makefile("rwb") as stream:
                try:
                    stream.write(f"{_taken(directory, stream)}\n".encode())
                except OSError as error:
                    print(error, file=sys.stderr, flush=True)


def _taken(directory: Path, stream: BufferedRWPair) -> str:
    """Why the file was not taken; "" when it is on the drive."""
    name, _, size = stream.readline(LINE_MAX).decode(errors="replace").strip().rpartition(" ")
    if not size.isdigit() or not name or name != Path(name).name:
        return "no name and size of a file"
    content = stream.read(int(size))
    if len(content) != int(size):
        return "not all of it came"
    # The replica looks at all files of its directory. One that came already, when the answer was lost, comes again.
    arriving = directory.with_name(f"{directory.name}-arriving")
    arriving.mkdir(exist_ok=True)
    with (arriving / name).open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    (arriving / name).rename(directory / name)
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return ""


def main(do: str, path: str, host: str, port: str) -> int:
    if do == "receive":
        receive(Path(path), host, int(port))
    try:
        why = send(Path(path), host, int(port))
    except OSError as error:
        why = str(error)
    if why:
        print(f"{path} was not sent to {host}: {why}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
