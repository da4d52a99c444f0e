"""Commands, called in this process: a process of its own for each would take longer than most of them run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import typer

from acidtest.cli import app

Run = Callable[..., str]


@pytest.fixture
def acidtest(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command and returns what it printed on standard output. Raises what it raises but for an ordinary end."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> str:
        capsys.readouterr()
        typer.main.get_command(app).main([*words], prog_name="acidtest", standalone_mode=False)
        return capsys.readouterr().out

    return run
