"""The program that carries a Firebird journal to the replica: a file is there whole, or the primary keeps it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidtest.engine.firebird import carrier
from acidtest.engine.server import LOOPBACK, listens, port_for

PROGRAM = [sys.executable, "-P", carrier.__file__]


@pytest.fixture
def received(tmp_path: Path) -> Path:
    directory = tmp_path / "received"
    directory.mkdir()
    return directory


@pytest.fixture
def port(received: Path) -> Iterator[int]:
    """Of a receiver that runs."""
    number = port_for("carrier", None)
    process = subprocess.Popen([*PROGRAM, "receive", str(received), LOOPBACK, str(number)], stderr=subprocess.DEVNULL)
    while not listens(process.pid, number):
        assert process.poll() is None
        time.sleep(0.02)
    yield number
    process.kill()
    process.wait()


def send(file: Path, port: int) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "send", str(file), LOOPBACK, str(port)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_segment_arrives_whole_and_again_where_its_answer_was_lost(received: Path, port: int, tmp_path: Path) -> None:
    segment = tmp_path / "database.fdb_{0B}.journal-000000001"
    segment.write_bytes(bytes(range(256)) * 4096)
    for _ in range(2):
        assert send(segment, port).returncode == 0
        assert (received / segment.name).read_bytes() == segment.read_bytes()
    assert list(received.iterdir()) == [received / segment.name]


def test_what_came_in_part_is_no_segment(received: Path, port: int) -> None:
    with socket.create_connection((LOOPBACK, port)) as other:
        other.sendall(b"segment 1000\nnot all of it")
        other.shutdown(socket.SHUT_WR)
        assert b"not all of it came" in other.recv(1000)
    assert list(received.iterdir()) == []


@pytest.mark.parametrize("line", [b"../segment 3\nabc", b"segment\n", b"\n", b"segment -1\n"])
def test_a_name_that_leads_elsewhere_is_refused(line: bytes, received: Path, port: int) -> None:
    with socket.create_connection((LOOPBACK, port)) as other:
        other.sendall(line)
        other.shutdown(socket.SHUT_WR)
        assert b"no name and size" in other.recv(1000)
    assert list(received.parent.rglob("*segment*")) == []


def test_without_a_receiver_the_primary_is_told(tmp_path: Path) -> None:
    segment = tmp_path / "segment"
    segment.write_bytes(b"abc")
    ended = send(segment, port_for("carrier", None))
    assert ended.returncode == 1
    assert "was not sent to 127.0.0.1" in ended.stderr
