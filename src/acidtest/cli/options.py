"""The arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acidtest.cli import complete, shipped

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
Quick = Annotated[bool, typer.Option("--quick", help="Take the experiment at its small size.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Also run what could not run before.")]
Cuts = Annotated[
    int | None, typer.Option("--cuts", help="Cuts of each combination; by default the repetitions.", min=1, max=1000)
]
Only = Annotated[
    list[str] | None, typer.Option("--only", help="A combination, as the table names it; may be given again.")
]
Predict = Annotated[
    list[str] | None, typer.Option("--predict", help='Predict the rate at this size: "1.8TB". May be repeated.')
]
FleetFile = Annotated[
    Path | None,
    typer.Option("--fleet", help="Use the machines of this file (acidtest help docs/FLEET.md).", metavar="FLEET.toml"),
]
UseDevice = Annotated[
    list[str] | None,
    typer.Option("--use-device", help="A real block device that may be written to.", metavar="/dev/X"),
]
Erase = Annotated[
    list[str] | None,
    typer.Option("--erase", help="One of these devices on which everything may be destroyed.", metavar="/dev/X"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON; progress goes to standard error.")]
