"""The command line: one file a command. Errors become one or two plain lines and a published exit code.

Commands import analysis and report when they need them: those take two seconds, which --help must not.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import typer
from rich.console import Console

from acidtest import __version__
from acidtest.cli import clean, compare, doctor, engines, plan, report, run
from acidtest.errors import AcidtestError

app = typer.Typer(
    name="acidtest",
    help="How fast a transactional database really is on the storage beneath it, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 done, and a finding is severe (a cell is invalid); 2 bad input; "
    "3 a cell could not run; 4 the machine lacks what was asked for.",
)
app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.add_typer(engines.app, name="engines")
app.command("doctor")(doctor.doctor)
app.command("clean")(clean.clean)


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
