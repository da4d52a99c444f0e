"""The command line: one file a command. Errors become one or two plain lines and a published exit code.

Only the command that is asked for is imported, and it imports analysis and report when it needs them: all together take
longer than most of them run.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from acidtest import __version__
from acidtest.cli.stop_signals import Stopped, goes_on, handled, left
from acidtest.cli.streams import abandon, guarded, in_utf8
from acidtest.errors import AcidtestError, OutputLost, message_of
from acidtest.words import harmless

COLLECTED_AFTER = 100_000  # new objects: with Python's 700, collections take a tenth of what the imports take
# Each is a module here with a function of its name, or with an ``app`` of commands of its own.
COMMANDS = (
    "init", "experiments", "plan", "run", "search", "powercut", "report", "compare", "growth", "audit", "inspect",
    "trace", "engines", "doctor", "clean", "probe", "diagnose", "disk", "plug", "help",
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

    def main(self, *arguments: Any, **options: Any) -> Any:
        if os.environ.get("_ACIDTEST_COMPLETE") == "complete_bash":
            _join_marks()
        return super().main(*arguments, **options)


def _join_marks() -> None:
    """Bash breaks words after an ``@`` as well, but replaces what it completes from there on as one word."""
    joined, marks = re.subn(r"(?<=\s)@\s(?=\S)", "@", os.environ["COMP_WORDS"])
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = joined, str(int(os.environ["COMP_CWORD"]) - marks)


app = typer.Typer(
    name="acidtest",
    cls=_Group,
    help="How fast a transactional database really is on the storage beneath it, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 done, and a loss was not announced by its level or drive, or a finding is severe (a "
    "cell is invalid, storage does not flush); 2 bad input; 3 a cell could not run; 4 the machine lacks what was asked "
    "for, or output could not be written; 129, 130, 143 ended by SIGHUP, Ctrl-C, SIGTERM; 141 nobody reads the output "
    "any more.",
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    if version:
        print(f"acidtest {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point of the ``acidtest`` command."""
    in_utf8()
    gc.set_threshold(COLLECTED_AFTER)
    with guarded(), handled():
        sys.exit(_outcome())


def _outcome() -> int:
    """The exit code, when all has been said."""
    try:
        try:
            app()
        except SystemExit as ended:
            sys.stdout.flush()
            return ended.code if isinstance(ended.code, int) else 0
        except Stopped as stopped:
            with suppress(OutputLost):
                if sys.stderr.isatty():
                    print(file=sys.stderr)  # the terminal's own ^C stands on the line
                _complain(f"stopped by {stopped.name}; {left()}")
            return stopped.exit_code
        except OSError as error:  # nothing that was foreseen: it is the machine's all the same
            raise AcidtestError(message_of(error), f"fix that; {left()}") from None
    except OutputLost as lost:
        abandon()
        with suppress(OutputLost):  # the other stream may be lost as well
            why = "nobody reads the output any more" if lost.is_closed else lost.message
            if goes_on() or not lost.is_closed:
                _complain(f"{why}; {left()}")
        return lost.exit_code
    except AcidtestError as error:
        with suppress(OutputLost):
            _complain(error.message, error.remedy)
        return error.exit_code
    return 0


def _complain(message: str, remedy: str = "") -> None:
    complaint = Console(stderr=True, soft_wrap=True, highlight=False)
    complaint.print(_lines(f"acidtest: {message}"), style="bold red", markup=False)
    if remedy:
        complaint.print(_lines(f"  {remedy}"), markup=False)


def _lines(text: str) -> str:
    return "\n".join(harmless(line) for line in text.split("\n"))
