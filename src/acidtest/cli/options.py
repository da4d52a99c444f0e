"""The arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from acidtest.cli import complete, shipped

Completes = Callable[[str], list[str]]


def option(flag: str, says: str, metavar: str | None = None, completes: Completes | None = None, **more: Any) -> Any:
    """An option of Typer's; ``more`` is what else Typer takes."""
    return typer.Option(flag, help=says, metavar=metavar, autocompletion=completes, **more)


EXPERIMENT = typer.Argument(
    help="The experiment (.toml), or @NAME: a shipped one, as acidtest experiments list names it.",
    metavar="FILE.toml",
    autocompletion=complete.experiments,
    callback=shipped.experiment_file,
)
OUT = typer.Option("--out", "-o", help="Directory of journal and page. A second call resumes.", metavar="DIR")

ExperimentFile = Annotated[Path, EXPERIMENT]
PerhapsExperimentFile = Annotated[Path | None, EXPERIMENT]
Out = Annotated[Path, OUT]
PerhapsOut = Annotated[Path | None, OUT]
Quick = Annotated[bool, option("--quick", "Take the experiment at its small size.")]
RetryFailed = Annotated[bool, option("--retry-failed", "Also run what could not run before.")]
Cuts = Annotated[int | None, option("--cuts", "Cuts of each combination; by default the repetitions.", min=1, max=1000)]
Only = Annotated[list[str] | None, option("--only", "A combination, as the table names it; may be given again.")]
Predict = Annotated[list[str] | None, option("--predict", 'Predict the rate at this size: "1.8TB". May be repeated.')]
FleetFile = Annotated[
    Path | None,
    option("--fleet", "Use the machines of this file (acidtest help docs/FLEET.md).", "FLEET.toml"),
]
UseDevice = Annotated[
    list[str] | None,
    option("--use-device", "A real block device that may be written to.", "/dev/X"),
]
Erase = Annotated[
    list[str] | None,
    option("--erase", "One of these devices on which everything may be destroyed.", "/dev/X"),
]
Json = Annotated[bool, option("--json", "Print the answer as JSON; progress goes to standard error.")]
