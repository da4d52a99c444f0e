"""Checks a plan against the engines before anything is made: unknown engines, levels and settings are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acidtest import registered_builds
from acidtest.conductor import machines, memory
from acidtest.conductor.engines import describe_all, plan_of, reached_by
from acidtest.conductor.workload_description import described
from acidtest.engine import DURABILITY_LEVELS, Engine, catalogue
from acidtest.errors import AcidtestError, BadInput, Problems, not_among
from acidtest.experiment import Experiment
from acidtest.experiment.program import refusal
from acidtest.place import check as check_place
from acidtest.plan import Cell, Plan, Tell, check_effect
from acidtest.plan import search as of_search
from acidtest.workload import Runner


def planned(
    experiment: Experiment, where: Path, problems: Problems, *, cuts: bool | None = None, tell: Tell | None = None
) -> Plan:
    """The plan of ``experiment``, verified and described. ``where`` is its file, and ``problems`` what is wrong with it
    already.

    Raises BadInput with these and everything else that is wrong, and as ``described``; ``cuts`` and ``tell`` are as in
    ``plan.make``.
    """
    sound = not problems
    try:
        plan = plan_of(experiment, cuts=cuts, where=str(where), problems=problems, tell=tell)
    except BadInput as error:
        problems.add(error)
        raise problems.together() from None
    _verify(plan, where, problems, effects=sound and not problems)
    problems.check()
    return described(plan)


def verify(plan: Plan, where: Path) -> None:
    """Refuse what no engine could run, and what would be without effect. ``where`` is the experiment's file.

    Needs no engine installed. Raises BadInput with the key, what was found and what is allowed, of all that is wrong.
    """
    problems = Problems()
    _verify(plan, where, problems, effects=True)
    problems.check()


def _verify(plan: Plan, where: Path, problems: Problems, *, effects: bool) -> None:
    """Add to ``problems``. Effects are no part of it where something amiss, left out of the plan, may have had them."""
    if plan.experiment.program is not None and plan.cuts is False:
        problems.add(refusal(where, "no rate is measured of a program"))
        return
    before = Problems()
    engines = _engines(plan, where, before)
    _levels(plan, where, before)
    if before:
        problems.add(before.together())
    elif effects:
        whole = plan.experiment.whole or plan.experiment
        with problems.gather():
            check_effect(plan, str(where), lambda cuts: reached_by(whole.to_cut() if cuts else whole.to_run(), cuts))
    if plan.experiment.search is not None:
        of_search.check(plan, str(where), problems)
    machines.check(plan, engines, where, problems)
    complaints = _complaints(plan, engines)
    excludable = _leaves_something(plan, {complaint.excluding for complaint in complaints if complaint.excluding})
    for one in complaints:
        problems.add(BadInput(f"{where}: {one.message}", one.advice(excludable=excludable)))


def _engines(plan: Plan, where: Path, problems: Problems) -> dict[str, Engine]:
    """Those that are known, by the name that the experiment gives them."""
    names = {str(level.set["engine"]): None for level in plan.experiment.factors["engine"]}
    known, named = catalogue.known(), (*plan.experiment.servers, *plan.experiment.engines)
    if (program := plan.experiment.program) is not None:
        if program.name in (*known, *registered_builds.names()):
            problems.add(BadInput(f"{where}: program.name: acidtest has an engine of this name", "name it otherwise"))
        return describe_all(plan.experiment, [program.name], str(where))
    for name in names:
        if name not in known and name not in named:
            among = (*known, *named, *(name for name in registered_builds.names() if name not in named))
            problems.add(catalogue.unknown(f"{where}: engine", name, among))
    for name in plan.experiment.servers:
        if name in known:
            problems.add(BadInput(f"{where}: servers.{name}: acidtest has an engine of this name", "name it otherwise"))
    for name in plan.experiment.engines:
        if name in known:
            problems.add(BadInput(f"{where}: engines.{name}: acidtest has an engine of this name", "name it otherwise"))
    return describe_all(plan.experiment, [name for name in names if name in known or name in named], str(where))


def _levels(plan: Plan, where: Path, problems: Problems) -> None:
    levels = _level_names(plan)
    for level in plan.experiment.factors["durability"]:
        durability = str(level.set["durability"])
        if durability not in levels:
            problems.add(BadInput(f"{where}: {not_among('durability', durability, levels)}"))


def _level_names(plan: Plan) -> Sequence[str]:
    """Of durability: those of every engine, or a program's own."""
    program = plan.experiment.program
    return DURABILITY_LEVELS if program is None else list(program.levels)


Excluding = tuple[tuple[str, str], ...]  # an entry of [[exclude]]: factors, each with the name of a level


@dataclass(frozen=True)
class Complaint:
    """Why a cell cannot be run as it is asked for."""

    message: str
    remedy: str = ""
    excluding: Excluding = ()  # which entry of [[exclude]] would leave it out

    def advice(self, *, excludable: bool) -> str:
        """The remedy, and where that leaves something to run, how to leave the cell out."""
        if not (self.excluding and excludable):
            return self.remedy
        entry = ", ".join(f'{_key(factor)} = "{level}"' for factor, level in self.excluding)
        return f"{self.remedy}{', or ' if self.remedy else 'to '}leave it out: [[exclude]] {entry}"


def _key(factor: str) -> str:
    """As TOML writes it."""
    return factor if re.fullmatch("[A-Za-z0-9_-]+", factor) else f'"{factor}"'


def _complaints(plan: Plan, engines: Mapping[str, Engine]) -> list[Complaint]:
    """What is wrong with the cells: one complaint of each kind. Cells that are alike in all that is checked count once.

    Cells of engines and levels that are not known are left out.
    """
    of_server = memory.asked(plan.experiment.place)
    ours = any(name not in plan.experiment.servers for name in engines)
    level_names = _level_names(plan)
    found: dict[Complaint, None] = {}
    seen: set[object] = set()
    for cell in plan.combinations():
        work = cell.workload
        alike = (
            cell.levels["engine"], cell.levels["durability"], cell.engine, cell.durability, id(cell.place),
            cell.workload_name, work.observe, work.needs_procedures(), cell.size is None, *cell.settings.items(),
            *((work.model_dump_json(),) if work.NEEDS else ()),
        )  # fmt: skip
        if alike in seen:
            continue
        seen.add(alike)
        if (engine := engines.get(cell.engine)) is not None and cell.durability in level_names:
            # Of servers alone what is asked of memory was refused already, as without effect.
            asked = of_server if ours and not engine.private else []
            found |= dict.fromkeys(_of_settings(plan, cell, engine, engines.values()))
            found |= dict.fromkeys(_of_kind(cell, engine, asked))
            found |= dict.fromkeys(_of_workload(plan, cell, engine))
    return list(found)


def _of_settings(plan: Plan, cell: Cell, engine: Engine, engines: Iterable[Engine]) -> Iterator[Complaint]:
    """What is wrong with its settings, and with its level under those that are right."""
    of_engine = (("engine", cell.levels["engine"]),)
    right = dict(cell.settings)
    for name, value in cell.settings.items():
        if error := _refusal(partial(engine.check_settings, {name: value})):
            del right[name]
            others_have = any(
                name in one.setting_specs() for one in engines if one.family == engine.family and one is not engine
            )
            yield Complaint(error.message, error.remedy or "correct or remove it", of_engine if others_have else ())
    if error := _refusal(partial(engine.durability, cell.durability, right)):
        # Of the factors that set something of this engine, those that the engine complains of.
        named = {f"{engine.family}.{name}" for name in right if name in error.message}
        said = [
            (factor, level.name)
            for factor, levels in plan.experiment.factors.items()
            for level in levels
            if level.name == cell.levels[factor] and level.set.keys() & named
        ]
        excluding = (*of_engine, ("durability", cell.levels["durability"]), *said)
        yield Complaint(error.message, error.remedy, excluding)


def _of_kind(cell: Cell, engine: Engine, asked_of_server: Sequence[str]) -> Iterator[Complaint]:
    """What is asked of its engine that this kind of engine cannot give."""
    of_engine = (("engine", cell.levels["engine"]),)
    if error := _refusal(partial(check_place, cell.place)):
        yield Complaint(error.message, error.remedy)
    in_guest = cell.place.kind in ("guest", "machine")
    raw = _is_raw(cell)
    if in_guest and not engine.embedded:
        why = "cannot run in a guest, where only the rig runs with an engine embedded in it"
        yield Complaint(f"{engine.id}: {why}", "give it another place", of_engine)
    if raw and not engine.on_raw_device:
        yield Complaint(f"{engine.id}: cannot have its database on a raw device", "give it another place", of_engine)
    if cell.size is not None and (not engine.private or in_guest or raw):
        lies = "on a server by URL" if not engine.private else "on a raw device" if raw else "in a guest"
        why = f"[growth] is for databases in files that acidtest makes on this machine, not {lies}"
        yield Complaint(f"{engine.id}: {why}", "give it another place", of_engine)
    for key in asked_of_server:
        why = f"place.{key} is for engines that acidtest starts, and this is a server by URL"
        yield Complaint(f"{engine.id}: {why}", f"leave {key} out", of_engine)
    if cell.workload.observe and (not engine.private or in_guest):
        why = "observe is for engines that run on this machine and that acidtest starts"
        yield Complaint(f"{engine.id}: {why}", "leave observe out", of_engine)
    if cell.workload.needs_procedures() and not engine.has_procedures:
        why = f"has no stored procedures, and workload {cell.workload_name} asks for them"
        yield Complaint(
            f"{engine.id}: {why}", "set procedures = false", (*of_engine, ("workload", cell.levels["workload"]))
        )


def _of_workload(plan: Plan, cell: Cell, engine: Engine) -> Iterator[Complaint]:
    """What its workload asks for that this engine does not have."""
    release = re.search(r"\d+(?:\.\d+)*", engine.known_as)
    on = Runner(
        family=engine.family,
        release=tuple(map(int, release[0].split("."))) if release else (),
        private=engine.private,
        raw=_is_raw(cell),
        in_guest=cell.place.kind in ("guest", "machine"),
    )
    refused = cell.workload.refused(on)
    if refused is None:
        return
    asking = [
        (factor, level.name)
        for factor, levels in plan.experiment.factors.items()
        for level in levels
        if level.name == cell.levels[factor] and refused.key in level.set
    ]
    excluding = (("engine", cell.levels["engine"]), *(asking or [("workload", cell.levels["workload"])]))
    yield Complaint(f"{engine.id}: {refused.why}", refused.remedy, excluding)


def _is_raw(cell: Cell) -> bool:
    return cell.place.kind == "raw" or (cell.place.kind in ("guest", "disk") and cell.place.filesystem == "raw")


def _refusal(check: Callable[[], object]) -> AcidtestError | None:
    """What ``check`` raises."""
    try:
        check()
    except AcidtestError as error:
        return error
    return None


def _leaves_something(plan: Plan, excluded: set[Excluding]) -> bool:
    """Whether some combination is left when all these entries stand in [[exclude]]."""
    return any(
        not any(all(cell.levels[factor] == level for factor, level in entry) for entry in excluded)
        for cell in plan.combinations()
    )
