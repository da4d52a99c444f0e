"""What the lab makes of what a rig says, and of how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acidtest.conductor.rig import DiskFull, Refused, converse
from acidtest.errors import CellFailed
from acidtest.journal.protocol import PROTOCOL, Done, Failed, Hello

HELLO = Hello(protocol=PROTOCOL, rig_version="0.1.0", pid=7, engine_version="3.50.4")
FULL = Failed(doing="loading", message="database or disk is full")


class Says:
    """A rig that says this, and ends so."""

    def __init__(self, *events: Any, code: int = 0) -> None:
        self._events, self._code = events, code

    def lines(self, silence_s: float) -> Iterator[bytes]:
        yield from (event if isinstance(event, bytes) else event.model_dump_json().encode() for event in self._events)

    def ended(self, limit_s: float) -> tuple[int, str]:
        return self._code, "its last words"

    def stop(self) -> None:
        pass


@pytest.mark.parametrize(
    ("rig", "kind", "words"),
    [
        (Says(HELLO, Done(), code=1), CellFailed, "the rig ended with code 1 after its work: its last words"),
        (Says(HELLO, code=-9), CellFailed, "the rig was killed by signal 9: its last words"),
        (Says(HELLO, b"{}"), CellFailed, "the rig wrote something that is no event: {}"),
        (Says(HELLO.model_copy(update={"protocol": PROTOCOL + 1})), CellFailed, "the rig and this acidtest are of different versions"),
        (Says(Done()), CellFailed, "the rig and this acidtest are of different versions"),
        (Says(HELLO, FULL), DiskFull, "loading: database or disk is full"),
        (Says(HELLO, FULL.model_copy(update={"message": "no such table"})), Refused, "loading: no such table"),
    ],
)  # fmt: skip
def test_a_rig_that_does_not_do_its_work_to_the_end_fails_its_cell(
    rig: Says, kind: type[CellFailed], words: str
) -> None:
    nobody: Any = None
    with pytest.raises(CellFailed) as failed:
        list(converse(HELLO, nobody, {}, lambda job, variables: rig))  # type: ignore[arg-type]
    assert type(failed.value) is kind
    assert words in failed.value.message


def test_a_rig_that_does_is_heard_to_the_end() -> None:
    nobody: Any = None
    assert list(converse(HELLO, nobody, {}, lambda job, variables: Says(HELLO, Done()))) == [HELLO, Done()]  # type: ignore[arg-type]
