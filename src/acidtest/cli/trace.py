"""``acidtest trace``: what each combination of an experiment asks of the operating system at its commits."""

from __future__ import annotations

import json as json_
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer
from rich.console import Console

from acidtest.cli import complete, planning, stop_signals
from acidtest.cli.options import Erase, ExperimentFile, Json, Quick, UseDevice, option
from acidtest.cli.progress import watching
from acidtest.errors import BadInput, not_among

if TYPE_CHECKING:
    from acidtest import experiment, plan
    from acidtest.journal.models import Recording


def trace(
    file: ExperimentFile,
    quick: Quick = False,
    engine: Annotated[
        list[str] | None,
        option("--engine", "This engine only.", "ID", complete.engines),
    ] = None,
    cell: Annotated[list[str] | None, option("--cell", "This combination only.", "ID")] = None,
    transactions: Annotated[int, option("--transactions", "Transactions of each combination.", min=1)] = 100,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the recordings here; databases lie here meanwhile.")
    ] = None,
    use_device: UseDevice = None,
    erase: Erase = None,
    json: Json = False,
) -> None:
    """Watch the system calls of each combination of an experiment: files, flags, writes and flushes of a commit.

    Each combination runs once, for few transactions, watched by the kernel's tracing (needs root) or by strace. Of a
    Firebird the engine's own trace is read too: each statement with its times and pages.
    Without --out databases lie in a directory that is made here and removed in the end.
    """
    from acidtest.analysis.commit_cost import commit_costs
    from acidtest.analysis.samples import rows
    from acidtest.conductor.admission import Devices
    from acidtest.conductor.run import run
    from acidtest.experiment.program import refusal
    from acidtest.report import commit_cost
    from acidtest.report.calls import as_json, print_calls
    from acidtest.report.table import print_table

    asked = planning.planned(file, quick=quick).experiment
    if asked.program is not None:
        raise refusal(file, "only the calls of an engine that acidtest starts can be watched")
    planned = _few(asked, transactions)
    chosen = _chosen(planned, engine or [], cell or [])
    _refuse_unseen(chosen, file)
    console = Console(stderr=json, highlight=False)
    devices = Devices.named(use_device or [], erase or [])
    leaves = stop_signals.GOES_ON if out is not None else stop_signals.NOTHING_KEPT
    with stop_signals.leaving(leaves), _directory(out) as where, watching(console) as watcher:
        outcome = run(chosen, file, where, watcher, devices=devices)
    by_cell = {recording.cell: recording for recording in outcome.journal.recordings}
    recordings = [by_cell[cell.id] for cell in chosen.combinations() if cell.id in by_cell]
    if json:
        cells = [as_json(recording) for recording in recordings]
        print(json_.dumps({"experiment": planned.experiment.name, "cells": cells}, indent=2))
    else:
        for recording in recordings:
            print_calls(recording, console)
        if recordings[1:]:
            print_table(commit_cost.table(commit_costs(rows(outcome.journal.header, recordings), [])), console, "")
    if any(recording.status == "failed" for recording in recordings):
        print("Some combinations could not run: see above.", file=sys.stderr)
        raise typer.Exit(3)
    if any(recording.status == "invalid" or _lost(recording) for recording in recordings):
        print("Some combinations are invalid, or events were lost: see above.", file=sys.stderr)
        raise typer.Exit(1)


def _lost(recording: Recording) -> bool:
    calls, traced = recording.calls, recording.traced_statements
    return bool(calls and calls.dropped) or bool(traced and traced.lost)


def _few(asked: experiment.Experiment, transactions: int) -> plan.Plan:
    """Each combination once, for few transactions, watched."""
    from acidtest import conductor
    from acidtest.workload import NOT_WATCHED

    used = {str(level.set["workload"]) for level in asked.factors["workload"]}
    for name, spec in asked.workload.items():
        if name in used and not spec.CAN_BE_WATCHED:
            raise BadInput(f"workload.{name} cannot be watched: {NOT_WATCHED}", "trace another workload")
    workloads = {
        name: spec.model_copy(
            update={
                "observe": True,
                "warmup_s": 0.0,
                "duration_s": None,
                "count": min(spec.count, transactions) if spec.count else transactions,
            }
        )
        for name, spec in asked.workload.items()
    }
    few = {"repetitions": 1, "workload": workloads, "given": frozenset()}  # what the user gave is verified
    return conductor.plan_of(asked.model_copy(update=few), cuts=False)


def _chosen(planned: plan.Plan, engines: list[str], cells: list[str]) -> plan.Plan:
    from acidtest.engine import catalogue

    known = {cell.engine for cell in planned.cells}
    for name in engines:
        if name not in known:
            raise catalogue.unknown("--engine", name, sorted(known))
    combinations = {cell.combination for cell in planned.cells}
    wanted = {name.partition("#")[0] for name in cells}
    for name in wanted - combinations:
        raise BadInput(not_among("--cell", name, sorted(combinations)))
    kept = tuple(
        cell
        for cell in planned.cells
        if (not engines or cell.engine in engines) and (not wanted or cell.combination in wanted)
    )
    if not kept:
        raise BadInput("--engine and --cell together leave nothing to run", "leave one of them out")
    return replace(planned, cells=kept)


def _refuse_unseen(chosen: plan.Plan, file: Path) -> None:
    """Raise BadInput where calls of a combination cannot be seen from here, however the experiment asks."""
    servers = chosen.experiment.servers
    unseen = list(dict.fromkeys(cell.engine for cell in chosen.cells if cell.engine in servers))
    if unseen:
        seen = next((cell.engine for cell in chosen.cells if cell.engine not in servers), None)
        instead = f"leave it out with --engine {seen}" if seen else "to see calls, trace an engine that acidtest starts"
        raise BadInput(
            f"trace: {unseen[0]} is a server by URL, and only calls of an engine that acidtest starts can be watched",
            f"acidtest run {shlex.quote(str(file))} --out DIR tells what sessions of a PostgreSQL wait for; {instead}",
        )
    if any(cell.place.kind in ("guest", "machine") for cell in chosen.cells):
        raise BadInput(
            "trace: calls that an engine makes in a virtual machine cannot be watched from outside",
            "give another place, or leave those combinations out with --cell",
        )


@contextmanager
def _directory(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    from acidtest.place import Ledger

    ledger = Ledger()
    made: str | None = None
    try:
        directory = Path.cwd() / f"acidtest-trace-{uuid4().hex[:8]}"
        try:
            made = ledger.make_directory(directory)
        except OSError as error:
            raise BadInput(f"{directory}: cannot be made: {error.strerror}", "give --out") from None
        yield directory / "out"
    finally:
        if made is not None:
            ledger.remove_directory(made)
        ledger.close()
