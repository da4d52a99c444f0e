"""A history that lost, made smaller: the least of it, as an experiment, that still loses in the same way.

What is left out is tried one after another, each with some cuts, for a loss may depend on who was scheduled when. So
the answer is a history that lost, and not that no smaller one does.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acidtest.analysis.announced import is_unannounced
from acidtest.errors import BadInput, told
from acidtest.experiment import Experiment, parse
from acidtest.journal.models import Recording
from acidtest.plan import Cell
from acidtest.question.text import Draft, Line, Table
from acidtest.workload import WorkloadSpec

CUTS = 8  # of each history that is tried
FILE = "smaller.toml"


@dataclass(frozen=True)
class Loss:
    """In what way a cut lost: the checkers and the conditions that told it."""

    broken: frozenset[str]

    def is_like(self, other: Loss) -> bool:
        return bool(self.broken & other.broken)


@dataclass(frozen=True)
class Found:
    """What a history has come to under its cuts."""

    workload: WorkloadSpec
    loss: Loss | None  # of the first cut that lost and should not have
    cuts: int
    reasons: tuple[str, ...] = ()


# Cuts the power under a workload, some times or until one cut has lost.
Try = Callable[[WorkloadSpec], Found]


def loss_of(recording: Recording) -> Loss | None:
    """In what way a cut lost that should not have; None of any other."""
    if recording.cut is None or not is_unannounced(recording):
        return None
    checked = recording.checks_after.conditions if recording.checks_after else []
    broken = {one.name for one in checked if not one.holds}
    return Loss(frozenset(broken or {name for name, verdict in recording.cut.checks.items() if verdict == "lost"}))


def smallest(first: WorkloadSpec, attempt: Try, goes_on: Callable[[], bool], tell: Callable[[Found], None]) -> Found:
    """The smallest of the histories tried that loses as ``first`` does; ``first`` itself where it did not lose at all.

    ``goes_on`` is asked before each history but the first, which is tried twice before it is given up.
    """
    found = attempt(first)
    if found.loss is None and goes_on():
        found = attempt(first)
    tell(found)
    loss = found.loss
    while loss is not None:
        for candidate in found.workload.smaller():
            if not goes_on():
                return found
            tried = attempt(candidate)
            tell(tried)
            if tried.loss is not None and tried.loss.is_like(loss):
                found = tried
                break
        else:
            return found
    return found


def with_workload(experiment: Experiment, cell: Cell, workload: WorkloadSpec, cuts: int) -> Experiment:
    """The experiment with the one combination of ``cell``, its workload another, cut so often. Read anew: what does not
    go together is refused as in any file."""
    return parse(as_text(experiment, cell, workload, cuts, []), FILE)


def as_text(experiment: Experiment, cell: Cell, workload: WorkloadSpec, cuts: int, heading: Sequence[str]) -> str:
    """That experiment as TOML."""
    dumped: dict[str, Any] = experiment.model_dump(mode="json", exclude_defaults=True)
    factors = {
        name: [_level(level) for level in levels if level["name"] == cell.levels.get(name, level["name"])]
        for name, levels in dumped["factors"].items()
    }
    table = workload.model_dump(mode="json", exclude_defaults=True)
    if cell.workload_name != workload.kind:
        table = {"kind": workload.kind, **table}
    lines = [Line("name", experiment.name), Line("repetitions", cuts)]
    lines += [Line("seed", experiment.seed)]
    tables = [Table("factors", tuple(Line(name, levels) for name, levels in factors.items()))]
    tables += [Table(f"workload.{_quoted(cell.workload_name)}", tuple(Line(key, one) for key, one in table.items()))]
    for family, settings in dumped.get("settings", {}).items():
        tables.append(Table(f"settings.{_quoted(family)}", tuple(Line(key, one) for key, one in settings.items())))
    tables.append(Table("place", tuple(Line(key, one) for key, one in dumped.get("place", {}).items())))
    for name, build in dumped.get("engines", {}).items():
        tables.append(Table(f"engines.{_quoted(name)}", tuple(Line(key, one) for key, one in build.items())))
    return Draft(tuple(lines), tuple(tables)).text(heading)


def _level(level: Mapping[str, Any]) -> Any:
    """A level that only sets its factor to its own name is that name."""
    return level["name"] if list(level["set"].values()) == [level["name"]] else dict(level)


def _quoted(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'


def make_smaller(
    experiment: Experiment,
    cell: Cell,
    out: Path,
    seconds: float,
    cut: Callable[[Experiment, Path], Sequence[Recording]],
    tell: Callable[[Found], None],
) -> Found:
    """Try smaller and smaller histories for about so long, and write the last that lost into ``out``.

    The time begins when the first history has been cut. ``cut`` makes the cuts of an experiment in a directory of their
    own. Raises BadInput where there is nothing to leave out of the workload, and where the file cannot be written.
    """
    if not list(cell.workload.smaller()):
        raise BadInput(
            f"--smaller: nothing can be left out of workload {cell.workload_name}", "it is for the workload history"
        )
    numbers = itertools.count(1)
    end: float | None = None

    def goes_on() -> bool:
        nonlocal end
        if end is None:
            end = time.monotonic() + seconds
        return time.monotonic() < end

    def attempt(workload: WorkloadSpec) -> Found:
        alone = with_workload(experiment, cell, workload, CUTS)
        recordings = cut(alone, out / "smaller" / str(next(numbers)))
        losses = [(loss, one) for one in recordings if (loss := loss_of(one)) is not None]
        reasons = tuple(losses[0][1].cut.reasons) if losses and losses[0][1].cut else ()
        return Found(workload, losses[0][0] if losses else None, len(recordings), reasons)

    found = smallest(cell.workload, attempt, goes_on, tell)
    if found.loss is not None:
        heading = [f"A history that lost under {cell.combination}, made smaller; it is run by acidtest powercut.",
                   *found.reasons[:3]]  # fmt: skip
        try:
            (out / FILE).write_text(as_text(experiment, cell, found.workload, CUTS, heading), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{out / FILE}: {told(error)}", "give another --out") from None
    return found
