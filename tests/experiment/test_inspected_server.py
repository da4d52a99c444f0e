"""The password of a server that is looked into: one variable may serve all commands."""

from __future__ import annotations

import pytest

from acidtest.experiment import server_of

URL = "postgresql://me@db.example/shop"


@pytest.mark.parametrize(
    ("variables", "url", "password"),
    [
        ({}, URL, None),
        ({"MINE": "of-run"}, URL, "of-run"),
        ({"INSPECT": "own", "MINE": "of-run"}, URL, "own"),
        ({"MINE": "of-run"}, URL.replace("me@", "me:given@"), "given"),
    ],
)
def test_the_password_of_run_serves_here_too(
    variables: dict[str, str], url: str, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MINE", "INSPECT"):
        monkeypatch.delenv(f"ACIDTEST_PASSWORD_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"ACIDTEST_PASSWORD_{name}", value)
    held = server_of(url, URL).password
    assert (held.get_secret_value() if held else None) == password
