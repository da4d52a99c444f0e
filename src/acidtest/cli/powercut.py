"""``acidtest powercut``: cuts the power under loaded databases and shows what survived."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from acidtest import experiment
from acidtest import powercut as power_cuts
from acidtest.cli.report import show_cuts
from acidtest.cli.run import watching
from acidtest.conductor import plan_of
from acidtest.errors import BadInput


def powercut(
    file: Annotated[Path | None, typer.Argument(help="The experiment (.toml).", metavar="FILE.toml")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory of journal and page. A second call resumes.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take the experiment at its small size.")] = False,
    cuts: Annotated[
        int | None,
        typer.Option("--cuts", help="Cuts of each combination; by default the repetitions.", min=1, max=1000),
    ] = None,
    only: Annotated[str | None, typer.Option("--only", help="One combination, as the table names it.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Make the cut of this seed again.", min=0)] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Only inspect the disk in a state file again.", metavar="STATE.json")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON, progress on standard error.")
    ] = False,
) -> None:
    """Cut the power of a simulated disk under each engine, and count acknowledged commits that are lost."""
    from acidtest.audit import judge

    if replay is not None:
        _replay(replay, json=json)
        return
    if file is None or out is None:
        raise BadInput("powercut: needs an experiment and --out DIR", "or --replay STATE.json alone")
    read = experiment.read(file, quick=quick)
    judge.check_waivers(read.waive, f"{file}: waive")
    to_cut = read.to_cut()
    if cuts is not None or seed is not None:
        to_cut = to_cut.model_copy(update={"repetitions": cuts or 1})
    given = (("--cuts", cuts), ("--only", only), ("--seed", seed))
    command = [str(file), *(["--quick"] if quick else [])]
    command += [word for option, value in given if value is not None for word in (option, str(value))]
    console = Console(stderr=json, highlight=False)
    with watching(console) as watcher:
        outcome = power_cuts.cut_power(
            plan_of(to_cut, cuts=True), file, out, watcher, only=only, seed=seed, command=command
        )
    show_cuts(outcome.journal, out, console, json=json)
    recordings = outcome.journal.recordings
    if any(recording.status == "failed" for recording in recordings):
        print("Some cuts could not be made: see above.", file=sys.stderr)
        raise typer.Exit(3)
    if any(r.status == "invalid" or (r.cut is not None and r.cut.verdict == "lost") for r in recordings):
        raise typer.Exit(1)


def _replay(file: Path, *, json: bool) -> None:
    replayed = power_cuts.replay(file)
    judgement = replayed.judgement
    if json:
        fields = {
            "cell": replayed.cell,
            "verdict": judgement.verdict,
            "reasons": judgement.reasons,
            "checks": judgement.checks,
            "found": replayed.reasons_before,
            "fate": replayed.fate.model_dump() if replayed.fate else None,
        }
        print(json_.dumps(fields, indent=2))
    else:
        print(f"{judgement.verdict}: {replayed.cell}")
        for reason in judgement.reasons:
            print(f"  {reason}")
        checkers = [name for name, verdict in judgement.checks.items() if verdict == judgement.verdict]
        print(f"  checkers that answered {judgement.verdict}: {', '.join(checkers)}")
    if judgement.verdict == "lost":
        raise typer.Exit(1)
