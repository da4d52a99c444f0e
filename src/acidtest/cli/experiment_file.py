"""Writes the experiment of ``acidtest init`` and says what comes next."""

from __future__ import annotations

import json as json_
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from acidtest import conductor, experiment
from acidtest.cli import doctor, own_sql, stop_signals
from acidtest.cli.dialogue import Asker
from acidtest.cli.init_answers import OWN_SQL, Given, answers
from acidtest.cli.own_sql import Found
from acidtest.cli.spans import span
from acidtest.errors import BadInput, cannot_write
from acidtest.place.making import as_root, needs_root
from acidtest.plan import Plan
from acidtest.plan.search import typical_seconds
from acidtest.question import Answers, Assessed, Fitted, Question, fit, toml
from acidtest.words import counted


def write(given: Given, *, yes: bool, json: bool) -> None:
    """Ask for what is not ``given``, or with ``yes`` take defaults; write the file and tell about it.

    Raises BadInput for what is missing or wrong; then, and where the user stops it, nothing has been written.
    """
    if given.sql and given.question is None:
        given = replace(given, question=OWN_SQL)
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    asker = Asker(Console(stderr=json, highlight=False)) if at_terminal and not yes else None
    with stop_signals.leaving("nothing was written, and the same command begins anew"):
        try:
            if asker is None:
                given.complete(defaults=yes)
            asked, answered, found = answers(given, asker, _fitted)
        except EOFError:
            print(f"\nacidtest: stopped by Ctrl-D; {stop_signals.left()}", file=sys.stderr)
            raise typer.Exit(130) from None
        fitted = _fitted(asked, answered, found)
        conductor.verify(fitted.plan, Path(answered.file))
        made = own_sql.write(found) if found else []
        _write(Path(answered.file), fitted.text, force=given.force)
    _tell(asked, answered, fitted, made, json=json)


def _fitted(question: Question, answered: Answers, found: Found | None) -> Fitted:
    """The experiment; where it is over a folder that is not written yet, one in a scratch directory stands for that."""
    fitting = partial(assess, base=Path(answered.file).parent)
    if found is None or not found.makes:
        return fit(question, answered, fitting)
    assert answered.sql is not None
    with tempfile.TemporaryDirectory(prefix="acidtest-init-") as scratch:
        folder = Path(scratch) / "folder"
        own_sql.write_skeleton(found.makes, folder)
        trial = replace(answered, sql=own_sql.standing_for(answered.sql, found, folder))
        fitted = fit(question, trial, fitting)
    real = answered.sql.database or answered.sql.paths[0]
    return replace(fitted, text=fitted.text.replace(toml(str(folder)), toml(real)))


def assess(text: str, base: Path = Path()) -> Assessed:
    """The plan of an experiment in the directory ``base``, and the seconds that it is assumed to take."""
    planned = conductor.described(conductor.plan_of(experiment.parse(text, "init", base=base)))
    is_search = planned.experiment.search is not None
    return Assessed(planned, typical_seconds(planned) if is_search else conductor.assumed_seconds(planned))


def _write(file: Path, text: str, *, force: bool) -> None:
    """Whole or not at all. Raises BadInput where the file cannot be written, or is there and not to be overwritten."""
    if file.exists() and not force:
        raise BadInput(f"{file}: is there already", "name another file, or give --force to overwrite it")
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(file)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise cannot_write(file, error, "name a file elsewhere") from None


def _lacks(plan: Plan) -> list[doctor.Finding]:
    """What keeps this machine from running it, with the remedies."""
    kinds = {cell.place.kind for cell in plan.cells}
    findings = [doctor.rig()]
    if kinds & {"loop", "device", "raw"}:
        findings.append(doctor.loop_places())
    if "disk" in kinds:
        findings.append(doctor.simulated_disk())
    if any(cell.place.memory_mb is not None for cell in plan.cells):
        findings.append(doctor.memory_limit())
    findings += doctor.engines({cell.engine for cell in plan.cells})
    return [finding for finding in findings if finding["state"] != "ok"]


def _next(question: Question, answered: Answers, plan: Plan) -> list[str]:
    """The commands that come next, as root where they need that."""
    root = any(needs_root(cell.place) or cell.place.memory_mb is not None for cell in plan.cells)
    sudo = root and os.geteuid() != 0
    runs = [
        as_root(words[1:]) if sudo and words[1] != "growth" else command
        for command in question.commands(answered)
        for words in [shlex.split(command)]
    ]
    return [shlex.join(["acidtest", "plan", answered.file]), *runs]


def _tell(question: Question, answered: Answers, fitted: Fitted, files: Sequence[Path], *, json: bool) -> None:
    """What was written, what is wanting, and what comes next."""
    plan, repetitions = fitted.plan, fitted.plan.experiment.repetitions
    combinations = len(plan.cells) // repetitions
    lacks, commands = _lacks(plan), _next(question, answered, plan)
    doubts = _doubts(question, answered, fitted)
    if json:
        fields = {
            "file": answered.file,
            "files": [str(file) for file in files],
            "question": question.name,
            "cells": len(plan.cells),
            "combinations": combinations,
            "repetitions": repetitions,
            "seconds_asked": round(answered.seconds),
            "seconds_assumed": round(fitted.seconds, 1),
            "doubts": doubts,
            "lacks": [{key: lack[key] for key in ("what", "detail", "remedy")} for lack in lacks],
            "next": commands,
        }
        print(json_.dumps(fields, indent=2))
        return
    console = Console(highlight=False)
    what = {"powercut": "cut", "search": "run"}.get(question.command, "cell")
    each = f"{counted(combinations, 'combination')} × {counted(repetitions, 'repetition')}"
    made = f"{counted(len(plan.cells), what)} ({each})"
    if question.command == "search":
        made = (
            f"a search for each of {counted(combinations, 'combination')}, confirmed by {counted(repetitions, 'run')}"
        )
    console.print(f"\n[bold]{escape(answered.file)}[/]: {made}", soft_wrap=True)
    if files:
        names = ", ".join(file.name for file in files)
        console.print(f"[bold]{escape(str(files[0].parent))}/[/]: {escape(names)}", soft_wrap=True)
        console.print("They run as they are: change them into your own SQL.")
    console.print(f"About {span(fitted.seconds)}: an assumption until the first {what}s have run.")
    for doubt in doubts:
        console.print(f"- {doubt}", markup=False)
    for lack in lacks:
        console.print(f"- Not yet here: {lack['what']}: {lack['detail']}\n  → {lack['remedy']}", markup=False)
    console.print("\nNext:")
    for command in commands:
        console.print(f"  {command}", soft_wrap=True, markup=False)


def _doubts(question: Question, answered: Answers, fitted: Fitted) -> list[str]:
    """What a reader of the results will miss, and what the file has not, in sentences."""
    passwords = [
        f"The file has no password of {server.id}: it is taken from ACIDTEST_PASSWORD_{server.id.upper()}."
        for server in answered.servers
    ]
    return [*question.shortcomings(fitted.plan), *passwords]
