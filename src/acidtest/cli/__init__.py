"""The command line: one file a command. Errors become one or two plain lines and a published exit code.

Only the command that is asked for is imported, and it imports analysis and report when it needs them: all together take
longer than most of them run.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from acidtest import __version__
from acidtest.errors import AcidtestError

# Each is a module here with a function of its name, or with an ``app`` of commands of its own.
COMMANDS = (
    "run", "plan", "powercut", "report", "compare", "growth", "audit", "trace", "engines", "doctor",
    "clean", "probe",
)  # fmt: skip


class _OnDemand(Mapping[str, Any]):
    """The commands, each imported when it is asked for."""

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "app"):
            command: Any = typer.main.get_group(module.app)
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(name)(getattr(module, name))
            command = typer.main.get_command(alone)
        command.name = name
        return command


class _Group(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _OnDemand()  # type: ignore[assignment]  # it is only read


app = typer.Typer(
    name="acidtest",
    cls=_Group,
    help="How fast a transactional database really is on the storage beneath it, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 done, and a verdict is lost or a finding is severe (a cell is invalid, storage does "
    "not flush); 2 bad input; 3 a cell could not run; 4 the machine lacks what was asked for.",
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    if version:
        print(f"acidtest {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point of the ``acidtest`` command."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except AcidtestError as error:
        complaint = Console(stderr=True, soft_wrap=True, highlight=False)
        complaint.print(f"acidtest: {error.message}", style="bold red", markup=False)
        if error.remedy:
            complaint.print(f"  {error.remedy}", markup=False)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("acidtest: stopped; what was measured is kept, and the same command goes on from there", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output is gone (| head); keep the interpreter from complaining about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
