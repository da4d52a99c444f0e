"""What the levels of a run may lose, beside what its power cuts found; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from acidtest.analysis.expected_loss import family_of, risk_of
from acidtest.analysis.samples import Row
from acidtest.analysis.survival import Survival, survivals
from acidtest.journal.models import NOT_APPLICABLE, Recording
from acidtest.risk import LEVELS, Risk
from acidtest.workload import unit

APART = ("workload", "engine", "durability", "observe")  # factors that do not tell risks of one engine and level apart
READS = "reads"  # what is counted of a workload that commits nothing


@dataclass(frozen=True)
class LevelRisk:
    """What some engines may lose at one level."""

    level: str
    engines: tuple[str, ...]  # ids; where settings make a difference, with the levels that bring it
    risk: Risk | None  # None: not known, of an engine that is not known here
    cuts: tuple[Survival, ...]  # of this engine at this level; then it is the only one


def level_risks(rows: Sequence[Row], cuts: Iterable[Recording] = ()) -> list[LevelRisk]:
    """One for each level and what may be lost, the weakest level first; engines that may lose the same are together.

    None where there is nothing to choose: all that was measured is at one level, which loses nothing.
    """
    groups: dict[tuple[str, str], dict[Risk | None, list[Row]]] = {}
    for row in rows:
        if row.done and unit(str(row.first.workload.get("kind"))) != READS:
            of_level = groups.setdefault((row.done[0].durability, row.engine), {})
            of_level.setdefault(risk_of(row.done[0]), []).append(row)
    found = [
        LevelRisk(level, (name,), risk, ())
        for (level, engine), by_risk in groups.items()
        for (risk, _), name in zip(by_risk.items(), _names(engine, list(by_risk.values())), strict=True)
    ]
    if len({level for level, _ in groups}) < 2 and all(
        level_risk.risk is not None and level_risk.risk.is_none for level_risk in found
    ):
        return []
    was_cut = _cuts(cuts)
    return _together(
        [replace(level_risk, cuts=was_cut.get((level_risk.level, level_risk.engines[0]), ())) for level_risk in found]
    )


def known_faults(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    """What engines were seen to lose although their levels say otherwise, in words, with the ids of those engines."""
    faults: dict[str, tuple[str, ...]] = {}
    for row in rows:
        family = family_of(row.done[0]) if row.done else None
        facts = row.done[0].engine if row.done else None
        if family and facts and (fault := family.fault(facts.known_as)) and row.engine not in faults.get(fault, ()):
            faults[fault] = (*faults.get(fault, ()), row.engine)
    return faults


def _names(engine: str, groups: list[list[Row]]) -> list[str]:
    """One name for each group of rows of an engine: its id, with the levels that no other group has."""
    if len(groups) == 1:
        return [engine]
    factors = [name for name in groups[0][0].levels if name not in APART]
    levels = {name: [{row.levels.get(name, "") for row in group} for group in groups] for name in factors}
    telling = [name for name, of in levels.items() if sum(map(len, of)) == len(set().union(*of))]
    return [f"{engine} ({', '.join(_told(levels, telling, n))})" if telling else engine for n in range(len(groups))]


def _told(levels: Mapping[str, list[set[str]]], telling: Sequence[str], group: int) -> list[str]:
    shown = [" or ".join(sorted(levels[name][group])) for name in telling]
    return [
        f"{name.rpartition('.')[2]} {level}"
        for name, level in zip(telling, shown, strict=True)
        if level != NOT_APPLICABLE
    ]


def _cuts(recordings: Iterable[Recording]) -> dict[tuple[str, str], tuple[Survival, ...]]:
    """By level and engine."""
    groups: dict[tuple[str, str], list[Recording]] = {}
    for recording in recordings:
        groups.setdefault((recording.durability, recording.engine_id), []).append(recording)
    return {key: tuple(survivals(group)) for key, group in groups.items()}


def _together(found: list[LevelRisk]) -> list[LevelRisk]:
    """Those of which no power was cut with others that may lose the same, in the order of the levels."""
    merged: dict[object, LevelRisk] = {}
    for level_risk in found:
        key = (level_risk.level, level_risk.engines) if level_risk.cuts else (level_risk.level, level_risk.risk)
        known = merged.get(key)
        merged[key] = replace(known, engines=(*known.engines, *level_risk.engines)) if known else level_risk
    return sorted(merged.values(), key=lambda one: LEVELS.index(one.level) if one.level in LEVELS else -1)
