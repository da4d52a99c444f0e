"""What survives a power cut?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from acidtest.plan import Plan
from acidtest.question import parts
from acidtest.question.answers import Answers, StorageKind
from acidtest.question.base import Question, Rung, Sketch
from acidtest.question.parts import LEVELS
from acidtest.question.text import Draft, Line, Table, Value
from acidtest.words import counted

LEVELS_SAID = "Losses at none and os are what these levels announce; at drive they are a finding."
COUNT = 200  # commits, on one of which a cut falls
DRIVES: dict[str, Value] = {
    "honest": {"place.disk_faults": ""},
    "lying": {"place.disk_faults": "lie-about-flush"},
    "tearing": {"place.disk_keeps": "torn"},
    "reordering": {"place.disk_keeps": "reordered"},
}
KEEPS = {
    "honest": "honest: a cut leaves what was reported as flushed, and nothing else",
    "lying": "lying: flushes are reported and not done",
    "tearing": "tearing: a cut also leaves the writes up to one drawn at random, and a part of that one",
    "reordering": "reordering: a cut also leaves some of what was not flushed, drawn at random",
}


class PowerCut(Question):
    """Repetitions are cuts, on a simulated disk."""

    name: ClassVar[str] = "power-cut"
    asks: ClassVar[str] = "What survives a power cut?"
    no_sql: ClassVar[str] = "counts commits, which SQL of yours does not number"
    elsewhere: ClassVar[str] = "of a program of your own: acidtest help docs/YOUR-PROGRAM.md"
    storages: ClassVar[tuple[StorageKind, ...]] = ("disk",)
    of_levels: ClassVar[bool] = True
    no_servers: ClassVar[str] = "the power of a server of yours is not acidtest's to cut"
    rungs: ClassVar[tuple[Rung, ...]] = tuple(Rung(cuts, 0.0) for cuts in (50, 40, 30, 20, 15, 10))
    scarce: ClassVar[tuple[Rung, ...]] = tuple(Rung(cuts, 0.0) for cuts in (5, 3, 2, 1))
    command: ClassVar[str] = "powercut"

    def title(self, answers: Answers) -> str:
        return f"What survives a power cut on {answers.engine_names}"

    def shortcomings(self, plan: Plan) -> list[str]:
        return []  # what so many cuts rule out stands beside their number

    def sketches(self, answers: Answers) -> Sequence[Sketch]:
        drives = tuple(DRIVES)[:3]
        breadths = dict.fromkeys(
            [(LEVELS, drives), (LEVELS, drives[:2]), (LEVELS, drives[:1]), (parts.shared(answers)[-2:], drives[:1])]
        )
        return [Sketch(partial(self._draft, answers, *breadth), lasting=False) for breadth in breadths]

    def _draft(
        self, answers: Answers, wanted: Sequence[str], drives: Sequence[str], repetitions: int, seconds: float
    ) -> Draft:
        levels = parts.durabilities(answers, wanted)
        load = (
            Line("count", COUNT, "A cut falls on one of so many commits, drawn at random."),
            *_longer(answers, levels),
            Line("terminals", 4, "Clients at once."),
        )
        return self.draft(
            answers,
            (Line("repetitions", repetitions, _cuts_said(repetitions)),),
            (
                Line("durability", levels, LEVELS_SAID + parts.breaking_said(answers, levels)),
                Line("drive", _drives(drives), _kept(drives)),
                Line(
                    "drive",
                    _drives(tuple(DRIVES)),
                    "More drives, in place of the key above; each takes as many cuts again. "
                    + _kept([drive for drive in DRIVES if drive not in drives]),
                    offered=True,
                ),
            ),
            *parts.lacking(answers, levels),
            Table("workload.numbered", load, "Transactions that can be looked for afterwards."),
            *_place(answers),
            said="Every combination of these levels is cut.",
        )


def _drives(names: Sequence[str]) -> list[Value]:
    return [{"name": name, "set": DRIVES[name]} for name in names]


def _kept(names: Sequence[str]) -> str:
    return f"{'; '.join(KEEPS[name] for name in names)}."


def _cuts_said(cuts: int) -> str:
    # The share that would have shown itself in one of so many cuts with 95 %: 1 - 0.05^(1/n).
    seen = 100 * (1 - 0.05 ** (1 / cuts))
    lose = counted(cuts, "cut loses", "cuts lose")
    rare = f"losses in more than {seen:.0f} % of all cuts are ruled out (95 %)"
    return f"Cuts of each combination. If {lose} nothing, {rare}."


def _longer(answers: Answers, levels: Sequence[str]) -> tuple[Line, ...]:
    """Where the database may break at a level: so many commits are over before the kernel writes of them."""
    if not set(parts.breaking(answers.engines)) & set(levels):
        return ()
    text = (
        "In place of count: where a level may break the database, only a load shows it of which the kernel has written "
        "a part; it begins after 30 s."
    )
    return (Line("duration_s", 60, text, offered=True),)


def _place(answers: Answers) -> tuple[Table, ...]:
    own = Line("mount", "defaults", "Mount options: give those of the machine that you ask about.", offered=True)
    lines = [Line("kind", "disk"), parts.filesystem(answers), own]
    if answers.storage.paths:
        lines += [Line("disk_medium", "file"), Line("path", answers.storage.paths[0], "Where the disk's content lies.")]
    return (
        Table(
            "place",
            tuple(lines),
            "A simulated disk whose power can be cut; acidtest help docs/POWER-CUTS.md. Needs root and FUSE.",
        ),
    )
