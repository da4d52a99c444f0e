"""A history that lost, made smaller: the least of it, as an experiment, that still loses in the same way.

What is left out is tried one after another, each with many cuts, for a loss may depend on who was scheduled when: as
many as follow from how often the history lost before. So the answer is a history that lost, and not that no smaller one
does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acidtest.analysis.expected_loss import is_unannounced
from acidtest.analysis.files_left import in_words
from acidtest.errors import BadInput, message_of
from acidtest.experiment import Experiment, parse
from acidtest.journal.models import Recording
from acidtest.plan import Cell
from acidtest.question.text import Draft, Line, Table
from acidtest.workload import WorkloadSpec

CUTS = 8  # of a history at a time
MOST = 200  # of one history
LOSSES = 3  # of the first history, for the rate of its losses to be known
# Of the histories that lose as often are given up; with cuts in batches that is less than one of 20 at any rate.
MISSED = 0.04
FILE = "smaller.toml"


@dataclass(frozen=True)
class Loss:
    """In what way a cut lost: the checkers and the conditions that told it."""

    broken: frozenset[str]
    reasons: tuple[str, ...] = field(default=(), compare=False)
    files: tuple[str, ...] = field(default=(), compare=False)  # that it left, in words

    def is_like(self, other: Loss) -> bool:
        return bool(self.broken & other.broken)


@dataclass(frozen=True)
class Found:
    """What a history has come to under its cuts."""

    workload: WorkloadSpec
    losses: tuple[Loss, ...]  # of the cuts that lost and should not have
    cuts: int  # that could be made

    @property
    def loss(self) -> Loss | None:
        return self.losses[0] if self.losses else None

    def like(self, loss: Loss) -> Found:
        """The same, with the losses that are like this one."""
        return replace(self, losses=tuple(one for one in self.losses if one.is_like(loss)))


# Cuts the power under a workload until there are so many cuts of it.
Try = Callable[[WorkloadSpec, int], Found]


def cuts_to_see(losses: int, cuts: int) -> int:
    """How many cuts of a history that loses as often as these did show a loss, but in MISSED of such histories; at
    most MOST.

    After r losses in n cuts the next m have none with the probability (n / (n + m))^r, the rate itself being uncertain
    (the predictive distribution of a Poisson process whose rate has the prior 1/rate).
    """
    return min(MOST, math.ceil(cuts * (math.pow(MISSED, -1 / losses) - 1)))


def loss_of(recording: Recording) -> Loss | None:
    """In what way a cut lost that should not have; None of any other."""
    if recording.cut is None or not is_unannounced(recording):
        return None
    checked = recording.checks_after.conditions if recording.checks_after else []
    broken = {one.name for one in checked if not one.holds}
    broken = broken or {name for name, verdict in recording.cut.checks.items() if verdict == "lost"}
    return Loss(frozenset(broken), tuple(recording.cut.reasons), tuple(in_words(recording.cut.files)))


def smallest(first: WorkloadSpec, attempt: Try, goes_on: Callable[[], bool], tell: Callable[[Found], None]) -> Found:
    """The smallest of the histories tried that loses as ``first`` does; ``first`` itself where it did not lose at all.

    ``goes_on`` is asked before all cuts but those that come first.
    """
    found = attempt(first, CUTS)
    for many in range(2 * CUTS, MOST + 1, CUTS):
        if (found.loss and len(found.like(found.loss).losses) >= LOSSES) or not goes_on():
            break
        found = attempt(first, many)
    tell(found)
    loss = found.loss
    if loss is None:
        return found
    found = found.like(loss)
    losses, cuts = len(found.losses), found.cuts  # of all histories that lost, each smaller than the one before it
    candidates = found.workload.smaller()
    while (candidate := next(candidates, None)) is not None:
        many, enough = 0, cuts_to_see(losses, cuts)
        tried = Found(candidate, (), 0)
        while not tried.losses and many < enough:
            if not goes_on():
                return found
            many = min(enough, max(CUTS, 2 * many))
            every = attempt(candidate, many)
            tried = every.like(loss)
        tell(tried if tried.losses else every)
        if tried.losses:
            found, losses, cuts = tried, losses + len(tried.losses), cuts + tried.cuts
            candidates = found.workload.smaller()
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
        tables.append(
            Table(f"settings.{_quoted(family)}", tuple(Line(key, setting) for key, setting in settings.items()))
        )
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
    cut: Callable[[Experiment, Path, int], Sequence[Recording]],
    tell: Callable[[Found], None],
) -> Found:
    """Try smaller and smaller histories for about so long, and write the last that lost into ``out``.

    The time begins when the first history has been cut. ``cut`` makes the first so many cuts of an experiment in a
    directory of their own, but for those that are there. Raises BadInput where there is nothing to leave out of the
    workload, and where the file cannot be written.
    """
    if not list(cell.workload.smaller()):
        raise BadInput(
            f"--smaller: nothing can be left out of workload {cell.workload_name}", "it is for the workload history"
        )
    directories: dict[str, Path] = {}
    end: float | None = None

    def goes_on() -> bool:
        nonlocal end
        if end is None:
            end = time.monotonic() + seconds
        return time.monotonic() < end

    def attempt(workload: WorkloadSpec, cuts: int) -> Found:
        alone = with_workload(experiment, cell, workload, MOST)
        where = directories.setdefault(workload.model_dump_json(), out / "smaller" / str(len(directories) + 1))
        recordings = [one for one in cut(alone, where, cuts) if one.cut is not None]
        losses = tuple(loss for recording in recordings if (loss := loss_of(recording)) is not None)
        return Found(workload, losses, len(recordings))

    found = smallest(cell.workload, attempt, goes_on, tell)
    if found.loss is not None:
        heading = [f"A history that lost under {cell.combination}, made smaller; it is run by acidtest powercut.",
                   *found.loss.reasons[:3], *found.loss.files]  # fmt: skip
        cuts = cuts_to_see(len(found.losses), found.cuts)
        try:
            (out / FILE).write_text(as_text(experiment, cell, found.workload, cuts, heading), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{out / FILE}: {message_of(error)}", "give another --out") from None
    return found
