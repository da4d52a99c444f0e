"""Risk beside rate: what each durability level may lose, and what power cuts found of it, in few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidtest.analysis.pairs import levels_text
from acidtest.analysis.risks import LevelRisk
from acidtest.analysis.survival import Survival
from acidtest.report.table import Column, Table

ENGINES_MAX = 4  # in one line of a terminal; of more it says that it is all, where it is


def table(risks: Sequence[LevelRisk]) -> Table:
    """A row for each level and the engines that may lose the same; without rows where nothing may be lost."""

    def is_new(one: LevelRisk) -> bool:
        return next(other for other in risks if other.level == one.level) is one

    def engines(one: LevelRisk) -> str:
        is_all = len(one.engines) > ENGINES_MAX and sum(other.level == one.level for other in risks) == 1
        return "all" if is_all else ", ".join(one.engines)

    columns = [
        Column("level", lambda one: one.level if is_new(one) else "", right=False, typed=True, only="terminal"),
        Column("level", lambda one: one.level, right=False, only="page"),
        Column("engines", engines, right=False, narrow=True, only="terminal"),
        Column("engines", lambda one: ", ".join(one.engines), right=False, only="page"),
        Column("may be lost", sentence, right=False),
    ]
    return Table(
        columns,
        risks,
        "risks",
        "What may be lost at a power cut or an OS crash",
        "killed: when only the engine is",
        caption="“Killed”: when only the engine's process ends",
        headed=False,
    )


def fault_lines(faults: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{', '.join(engines)}, at every level: {fault}." for fault, engines in faults.items()]


def sentence(one: LevelRisk) -> str:
    """What may be lost, and what power cuts found."""
    text = one.risk.phrase if one.risk else "not known here"
    return f"{text}. {cuts_text(one.cuts)}" if one.cuts else text


def cuts_text(cuts: Sequence[Survival]) -> str:
    """``Power cuts: 3 of 3 survived``; where combinations came to different verdicts, each by its other levels."""
    if len({cut.verdict for cut in cuts}) > 1 and (names := _names(cuts)):
        return f"Power cuts: {'; '.join(f'{name} {_tally([cut])}' for name, cut in zip(names, cuts, strict=True))}."
    return f"Power cuts: {_tally(cuts)}."


def _tally(cuts: Sequence[Survival]) -> str:
    survived, made = sum(cut.survived for cut in cuts), sum(cut.cuts for cut in cuts)
    worst = [cut.lost_commits_worst for cut in cuts if cut.lost]
    known = [lost for lost in worst if lost]
    held = sum(cut.held for cut in cuts)
    tally = (
        f"conditions held in {held:,} of {made:,}, no commit looked for"
        if held
        else f"{survived:,} of {made:,} survived"
    )
    if known:
        tally += f", at worst {max(known):,} lost"
    return tally if not any(cut.unknown for cut in cuts) else f"{tally}, {sum(cut.unknown for cut in cuts):,} unknown"


def _names(cuts: Sequence[Survival]) -> list[str]:
    factors = [name for name in cuts[0].levels if len({cut.levels.get(name) for cut in cuts}) > 1]
    return [levels_text(cut.levels, factors) for cut in cuts]


def as_json(one: LevelRisk) -> dict[str, Any]:
    risk = one.risk.as_json() if one.risk else None
    return {
        "durability": one.level,
        "engines": list(one.engines),
        "may": risk,
        "power_cuts": {
            "made": sum(cut.cuts for cut in one.cuts),
            "survived": sum(cut.survived for cut in one.cuts),
            "lost": sum(cut.lost for cut in one.cuts),
            "unknown": sum(cut.unknown for cut in one.cuts),
        }
        if one.cuts
        else None,
        "text": sentence(one),
    }
