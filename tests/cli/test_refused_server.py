"""A diagnosis of a server that answers and lets nobody in, and of one that does not answer."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from rich.console import Console

from acidtest.cli.diagnosing import making
from acidtest.cli.diagnosing.subject import Asked, Course
from acidtest.errors import CellFailed
from acidtest.journal.diagnosis import Database

URL = "postgresql://me@h/d"


def inside_of(message: str, monkeypatch: pytest.MonkeyPatch) -> Course:
    monkeypatch.setattr(making, "inspect", Mock(side_effect=CellFailed(message)))
    database = Database(where=URL, family="postgresql", version="", bytes=None)
    course = Course(Asked(URL, None, None, 1.0, None), database, None, Console(quiet=True))
    assert making._inside(course) is None
    return course


@pytest.mark.parametrize(
    "message",
    [
        'password authentication failed for user "me"',
        "Access denied for user 'me'@'h' (using password: NO)",
        "Your user name and password are not defined",
    ],
)
def test_a_refused_password_ends_no_diagnosis(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (missing,) = inside_of(message, monkeypatch).not_looked
    assert message in missing.why


def test_a_server_that_does_not_answer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CellFailed):
        inside_of("h:5432: Connection refused", monkeypatch)
