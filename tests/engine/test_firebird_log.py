"""A firebird.log as findings: every kind of message once, counted over the whole log, routine left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.engine.firebird.log import findings, worth_reading

CONFLICT = "Update conflict: unable to get a stable set of rows in the source tables"


def entry(text: str, at: str = "Sat Nov 21 10:31:00 2026") -> str:
    """As gds__log writes it; the date ends with the line break of ctime."""
    return f"\nmy-host\t{at}\n\t{text}\n\n"


def restarted(attempts: int) -> str:
    query = "update STOCK\n\nset QUANTITY = 7\nwhere ID = ?"
    return entry(f"{CONFLICT}\n\tafter {attempts} attempts of restart.\n\tQuery:\n{query}\n")


def told(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return findings(path)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "firebird.log"


def test_no_log_and_an_empty_one_tell_nothing(log: Path) -> None:
    assert findings(log) == []
    assert told(log, "") == []


def test_conflicts_are_counted_over_the_whole_log(log: Path) -> None:
    text = "".join(restarted(10 + n % 3) for n in range(1234))
    assert len(text) > 100 * 1024
    assert told(log, text) == [f"The engine logged 1,234 times: {CONFLICT}"]


@pytest.mark.parametrize(
    "text",
    [
        'Sweep is started by SYSDBA\n\tDatabase "/d/a.fdb" \n\tOIT 1, OAT 2, OST 2, Next 3',
        'Sweep is finished\n\tDatabase "/d/a.fdb" \n\tOIT 2, OAT 3, OST 3, Next 4',
        "Shutting down the server with 3 active connection(s) to 1 database(s), 0 active service(s)",
        "PID 4711: engine shutdown is in progress with no database(s) attached",
        "INET/select_wait: client rundown complete, server exiting",
        "SERVER/process_packet: Multi-client server shutdown",
        " Info: Remote Buffer Size set to 8192",
    ],
)
def test_routine_is_left_out(log: Path, text: str) -> None:
    assert told(log, entry(text)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fatal lock manager error: lock manager out of room, errno: 12",) * 2,
        (
            "Database: /d/a.fdb\n\tAllocated 50 page buffers of 100000 requested",
            "Allocated 50 page buffers of 100000 requested",
        ),
        (
            "Database: /d/a.fdb\n\tinternal Firebird consistency check (can't continue after bugcheck)",
            "internal Firebird consistency check (can't continue after bugcheck)",
        ),
        ("Authentication error\n\tNo matching plugins on server", "Authentication error"),
    ],
)
def test_what_is_not_routine_is_told_in_the_engines_words(log: Path, text: str, said: str) -> None:
    assert told(log, entry(text)) == [f"The engine logged: {said}"]


def test_messages_that_differ_in_numbers_are_one_kind_and_the_most_frequent_comes_first(log: Path) -> None:
    read = [entry(f"INET/inet_error: read errno = {errno}", "Sun Nov  1 00:00:00 2026") for errno in (104, 9)]
    assert told(log, read[0] + restarted(10) * 3 + read[1]) == [
        f"The engine logged 3 times: {CONFLICT}",
        "The engine logged 2 times: INET/inet_error: read errno = 104",
    ]


def test_rare_kinds_are_summed_up(log: Path) -> None:
    text = "".join(entry(word) for word in (*"abcdefg", "f", "g"))
    assert told(log, text)[:2] == ["The engine logged 2 times: f", "The engine logged 2 times: g"]
    assert told(log, text)[5:] == ["The engine logged 2 messages of 2 more kinds"]


def test_what_a_server_prints_before_its_first_entry_is_told(log: Path) -> None:
    printed = "bad address\ncannot listen\n"
    assert told(log, printed + entry("startup:INET_connect:\n\tUnable to listen")) == [
        "The engine logged: bad address",
        "The engine logged: cannot listen",
        "The engine logged: startup:INET_connect: Unable to listen",
    ]


def test_what_a_healthy_server_writes_is_not_worth_reading() -> None:
    head = "host\tSat Nov 21 10:31:00 2026\n"
    healthy = f"{head}\tsetsockopt: error setting IPV6_V6ONLY to 0\n\n{head}\tShutting down the server with 3 active\n"
    assert worth_reading(healthy) == ""
    assert worth_reading(f"{healthy}\n{head}\tDatabase: /x\n\tpage 9 is corrupt\n\n{healthy}") == (
        f"{head}\tDatabase: /x\n\tpage 9 is corrupt"
    )
    assert worth_reading("cannot bind\n") == "cannot bind"
    assert worth_reading("") == ""
