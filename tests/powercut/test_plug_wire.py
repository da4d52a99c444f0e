"""What the two machines of a plug say to each other: lines that are cut off, too long, or no message, and who is gone."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from acidtest.errors import AcidtestError, BadInput
from acidtest.journal.models import EngineFacts
from acidtest.powercut.plug.messages import VERSION, Forget, Greeting, Leaving, NotSaid, parsed
from acidtest.powercut.plug.wire import LOOPBACK, PORT, Address, Connection, Kept, Lost, connect, listener
from acidtest.powercut.plug.witness import Patience, Witness, admitted

LINE = b"0 1 0 1 1000 2000"
GREETING = Greeting(plug=VERSION, acidtest="0.3", digest="d", boot_id="b", uptime_s=1.5)


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    """One end as acidtest has it, and the other as anybody may have it."""
    with listener(Address(LOOPBACK, 0)) as listening:
        other = socket.create_connection(listening.getsockname())
        connected, _ = listening.accept()
    connection = Connection(connected, most=1_000)
    yield connection, other
    connection.close()
    other.close()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1", "127.0.0.1", PORT),
        ("192.0.2.7:80", "192.0.2.7", 80),
        ("cut.example.org", "cut.example.org", PORT),
        ("[2001:db8::7]:80", "2001:db8::7", 80),
        ("[::1]", "::1", PORT),
    ],
)
def test_an_address(text: str, host: str, port: int) -> None:
    address = Address.named(text, "--server")
    assert (address.host, address.port) == (host, port)
    assert Address.named(str(address), "--server") == address
    assert address.is_loopback == (host in ("127.0.0.1", "::1"))


@pytest.mark.parametrize(
    "text", ["", ":80", "192.0.2.7:", "192.0.2.7:65536", "192.0.2.7:x", "2001:db8::7", "a b", "h:1:2"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadInput, match="is no address"):
        Address.named(text, "--server")


def test_messages_and_acknowledgements_take_turns(ends: tuple[Connection, socket.socket]) -> None:
    connection, other = ends
    other.sendall(GREETING.model_dump_json().encode() + b"\n" + LINE + b"\n" + LINE[:5])
    assert connection.take(5) == GREETING
    assert connection.take(5) == LINE
    assert connection.take(0) is None  # the rest is still on its way
    other.sendall(LINE[5:] + b"\n")
    assert connection.take(5) == LINE
    of_a_program = LINE + ' {"say": "forget"} ä'.encode()
    other.sendall(of_a_program + b"\n")
    assert connection.take(5) == of_a_program


def test_a_line_that_was_cut_off_is_none(ends: tuple[Connection, socket.socket]) -> None:
    connection, other = ends
    other.sendall(LINE + b"\n" + LINE)
    other.close()
    assert connection.take(5) == LINE
    with pytest.raises(Lost, match="has closed the connection"):
        connection.take(5)
    with pytest.raises(Lost):  # it stays so
        connection.take(0)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET / HTTP/1.1",
        b"0 1 0 1 1000",
        b"0 1 0 1 1000 -1",
        b"0 1 0 1 1000 2000 ",
        b"0 1 0 1 1000 2000  item",
        b"0 1 0 1 1000 2000 \xff",
        b"0  1 0 1 1000 2000",
        b'{"say": "greeting"}',
        b'{"say": "obey"}',
        b"\xff\xfe",
        b"1" * 900,
    ],
)
def test_what_is_neither_a_message_nor_an_acknowledgement(ends: tuple[Connection, socket.socket], line: bytes) -> None:
    connection, other = ends
    other.sendall(line + b"\n")
    with pytest.raises(Lost, match="neither a message nor an acknowledgement"):
        connection.take(5)


def test_a_line_without_an_end(ends: tuple[Connection, socket.socket]) -> None:
    connection, other = ends
    other.sendall(b"1" * 1_001)
    with pytest.raises(Lost, match="a line of more than 1,000 bytes"):
        while connection.take(5) is None:
            pass


def test_what_is_said_arrives(ends: tuple[Connection, socket.socket]) -> None:
    connection, other = ends
    connection.say(Leaving(why="ends"), [LINE, LINE])
    found = b""
    while found.count(b"\n") < 3:
        found += other.recv(1_000)
    first, *lines = found.split(b"\n")[:-1]
    assert (parsed(first), lines) == (Leaving(why="ends"), [LINE, LINE])


def test_nobody_listens() -> None:
    with listener(Address(LOOPBACK, 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(BadInput, match="cannot be listened at"):
            listener(Address(LOOPBACK, port))
    with pytest.raises(Lost, match=f"{LOOPBACK}:{port}"):
        connect(Address(LOOPBACK, port), 1)


def test_a_message_has_no_more_than_its_fields() -> None:
    assert parsed(b'{"say": "forget"}') == Forget()
    with pytest.raises(NotSaid, match="Extra inputs"):
        parsed(b'{"say": "forget", "token": "../.."}')


def test_what_is_kept_is_whole_lines_on_the_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "acidtest-witness" / "cell", Mock(wraps=os.fsync)
    kept = Kept(path)
    monkeypatch.setattr(os, "fsync", synced)
    kept.add([LINE, LINE])
    synced.assert_called_once()
    with path.open("ab") as other:  # as a witness that lost its own power leaves it
        other.write(LINE[:-2])
    assert kept.lines() == [LINE, LINE]
    assert kept.count == 2
    kept.close()
    again = Kept(path)
    assert again.lines() == []
    again.close()


def served(*answers: bytes) -> tuple[Address, threading.Thread]:
    """Somebody at an address who gives each that comes one of the answers, and then closes."""
    listening = listener(Address(LOOPBACK, 0))
    address = Address(LOOPBACK, listening.getsockname()[1])

    def serve() -> None:
        with listening:
            for answer in answers:
                connected, _ = listening.accept()
                with connected:
                    connected.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return address, thread


def witness(address: Address, back_s: float = 5.0, cut_before: Sequence[EngineFacts] = ()) -> tuple[Witness, list[str]]:
    said: list[str] = []
    admit = partial(admitted, "d", lambda: cut_before, Path("till.toml"))
    return Witness(address, admit, None, Patience(0.0, back_s), Path("nowhere"), said.append), said


def greeting(**changes: object) -> bytes:
    return GREETING.model_copy(update=changes).model_dump_json().encode() + b"\n"


def test_the_witness_comes_again_until_the_machine_answers() -> None:
    """A machine that starts refuses connections, or closes them before it has said a word."""
    address, thread = served(b"", greeting()[:-5], b"HTTP/1.1 400 Bad Request\r\n", greeting())
    of, said = witness(address)
    of._reach()
    thread.join()
    assert of._seen is not None
    assert of._seen.greeting == GREETING
    assert len(said) == 1
    assert said[0].startswith("waiting for the machine: ")
    of.close()


def test_the_witness_does_not_wait_for_ever() -> None:
    address, thread = served()
    thread.join()
    with pytest.raises(AcidtestError, match="no machine answers"):
        witness(address, 0.3)[0]._reach()


def program(version: str, **files: str) -> EngineFacts:
    return EngineFacts(id="till", version=version, architecture="x86-64", source="load", mode="program", files=files)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"plug": VERSION + 1}, "its messages are others"),
        ({"digest": "other"}, "another experiment, or another text or size"),
        (
            {"program": program("1.1")},
            r"another version of the program: program.version printed 1.0, and now prints 1.1",
        ),
        ({"program": program("1.0", load="b")}, "another version of the program: load has changed"),
    ],
)
def test_a_machine_that_serves_something_else(changes: dict[str, object], why: str) -> None:
    address, thread = served(greeting(**changes))
    with pytest.raises(BadInput, match=why):
        witness(address, cut_before=[program("1.0", load="a")])[0]._reach()
    thread.join()


def test_a_machine_with_the_same_program_says_what_was_compared() -> None:
    address, thread = served(greeting(program=program("1.0")))
    of, said = witness(address, cut_before=[program("1.0")])
    of._reach()
    thread.join()
    assert said == [
        'Of the cuts in the journal: the program is taken for the same, for program.version prints "1.0" as it did.'
    ]
    of.close()
