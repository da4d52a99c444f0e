"""What of an experiment acts in no cell, why, and what to do about it. A file that asks for it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from acidtest.errors import BadInput, Problems, nearest
from acidtest.experiment.places import KEYS_OF_KIND, NEEDS, OF_CUTS, OF_MEMORY
from acidtest.plan.cells import Plan
from acidtest.plan.reach import DEFAULTS, Path
from acidtest.words import first_of
from acidtest.workload import NEEDS as OF_WORKLOADS
from acidtest.workload import OF_TABLES, kinds_with

IN_GUESTS = {
    "memory_mb": ("a control group of this machine does not hold an engine in a guest", "write guest_memory_mb"),
    "swap_mb": ("a control group of this machine does not hold an engine in a guest", "write guest_memory_mb"),
    "start": ("a guest has a file cache of its own", "choose another kind of place"),
    "access": ("a guest's files are not open on this machine", "choose another kind of place"),
}
# What acts of the experiment as acidtest powercut plans it, or as acidtest run does.
Reached = Callable[[bool], frozenset[Path]]


@dataclass(frozen=True)
class Why:
    """Why a key acts nowhere, and what to do."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Condition:
    """What a workload's key needs beside the workload; ``reach.Shape`` decides whether it is met."""

    needs: str
    unmet: Why


NOT_IN_CUTS = Why("without effect where power is cut", "acidtest run {where}, or leave it out")
# Of keys that every workload has.
DRIVING: Mapping[str, Condition] = {
    "threads": Condition(
        'an engine that is a server, and connect = "once"',
        Why(
            'without effect: an embedded engine has a thread for each terminal, and so has connect = "per_transaction"',
            "leave it out, or name an engine that is a server",
        ),
    ),
    **{key: Condition("acidtest run", NOT_IN_CUTS) for key in ("stages", "classes", "sleeping_sessions", "connect")},
    "warmup_limit_s": Condition(
        "acidtest run, and a place that is no guest",
        Why("without effect where power is cut, and in a guest", "give warmup_s in its place"),
    ),
    "sleeping_in_transaction": Condition(
        "sleeping_sessions, and acidtest run",
        Why("without effect: no session sleeps", "add sleeping_sessions to the workload's table, or leave it out"),
    ),
    "think_ms": Condition(
        "no classes that all have a rate or a think time of their own",
        Why("without effect: each class has a rate or a think time of its own", "leave it out"),
    ),
    "arrivals": Condition(
        "rate_per_s, or acidtest search",
        Why("without effect: arrivals are of an open loop", "add rate_per_s to the workload's table, or leave it out"),
    ),
    "sample_engine": Condition(
        "acidtest run, and an engine that reports where it stands: not SQLite",
        Why(
            "without effect: SQLite does not report where it stands, and no engine is asked where power is cut",
            "leave it out, or name another engine",
        ),
    ),
    "observe": Condition(
        "acidtest run, and an engine that acidtest starts on this machine",
        NOT_IN_CUTS,
    ),
    "duration_s": Condition(
        'place.disk_failure other than "crash-states"',
        Why("without effect: crash states are those of a load of so many commits", "give count in its place"),
    ),
}
NAMED_MAX = 20  # keys in one line of an error
EXCLUDED = Why("without effect: every cell that would have it is excluded", "loosen [[exclude]], or leave it out")


def check(plan: Plan, where: str, reached_by: Reached) -> None:
    """Refuse an experiment of which something acts in no cell. ``where`` is its file.

    What one of ``acidtest run`` and ``acidtest powercut`` does not use is no mistake where the other does: of an
    experiment with workloads for both, and for ``acidtest plan``, which is neither. Raises BadInput with every key that
    is without effect.
    """
    problems = Problems()
    dropped = _dropped(plan, plan.reached)
    if dropped and (plan.cuts is None or plan.experiment.whole is not None):
        reached = plan.reached | reached_by(True) | reached_by(False)
        dropped = _dropped(plan, reached)
    by_reason: dict[Why, list[str]] = {}
    for path in dropped:
        by_reason.setdefault(_why(plan, path, where), []).append(_named(path))
    for why, names in by_reason.items():
        problems.add(BadInput(f"{where}: {first_of(names, NAMED_MAX)}: {why.reason}", why.remedy))
    problems.check()


def _dropped(plan: Plan, reached: Iterable[Path]) -> list[Path]:
    """What was asked for and is not among ``reached``, in the order of the experiment."""
    reached = frozenset(reached)
    paths: list[Path] = []
    unused: set[str] = set()
    for path in sorted(plan.experiment.given):
        match path:
            case ("factors", factor):
                paths += _levels_dropped(plan, factor, reached)
            case ("workload", name, _) if not _is_used(plan, name):
                if name not in unused:
                    unused.add(name)
                    paths.append(("workload", name))
            case ("base", factor):
                if ("factors", factor, plan.experiment.base[factor]) not in reached:
                    paths.append(path)
            case _:
                paths += [path] if path not in reached else []
    return paths


def _is_used(plan: Plan, workload: str) -> bool:
    experiment = plan.experiment.whole or plan.experiment
    return any(level.set.get("workload") == workload for level in experiment.factors["workload"])


def _levels_dropped(plan: Plan, factor: str, reached: frozenset[Path]) -> list[Path]:
    """What levels that are in a combination set without effect; the factor alone where nothing of it has one."""
    experiment = plan.experiment.whole or plan.experiment
    without_effect: list[Path] = []
    acts = False
    for level in experiment.factors[factor]:
        path = ("factors", factor, level.name)
        acts |= not level.set
        if path in reached:
            missing = [
                (*path, target)
                for target in level.set
                if (*path, target) not in reached and ("excluded", *path, target) not in reached
            ]
            without_effect += missing
            acts |= len(missing) < len(level.set)
    targets = dict.fromkeys(path[3] for path in without_effect)
    return without_effect if acts or len(targets) > 1 else [("factors", factor, "", target) for target in targets]


def _named(path: Path) -> str:
    match path:
        case ("factors", factor, "", _):
            return f"factors.{factor}"
        case ("factors", factor, level, target):
            named = f'factors.{factor}, level "{level}"'
            return named if target == factor else f"{named}: {target}"
        case ("exclude", position):
            return f"exclude {position}"
        case _:
            return ".".join(path)


def _why(plan: Plan, path: Path, where: str) -> Why:
    experiment = plan.experiment
    match path:
        case ("exclude", _):
            return Why("matches no combination", "correct its levels, or leave it out")
        case ("base", factor):
            level = experiment.base[factor]
            return Why(f'no cell has the level "{level}", so nothing can be read against it', "name another level")
        case ("servers", name):
            return Why("no level of engine names it", f'add "{name}" to engine, or leave the server out')
        case ("engines", name):
            return Why("no level of engine names it", f'add "{name}" to engine, or leave the table out')
        case ("workload", name):
            return Why("no level of factors.workload names it", f'add "{name}" there, or leave the table out')
        case ("growth", _):
            return Why("power cuts are not for databases that grow", f"acidtest run {where}, or leave [growth] out")
        case ("load", _):
            return Why("the load of a power cut comes from one machine", f"acidtest run {where}, or leave [load] out")
        case ("place", key):
            return _overridden(plan, f"place.{key}") or _place_why(plan, key, where)
        case ("settings", family, key):
            return _overridden(plan, f"{family}.{key}") or _family_why(plan, family)
        case ("workload", name, key):
            return _overridden(plan, key) or _driving_why(plan, experiment.workload[name].kind, key, where)
        case ("factors", _, _, target):
            owner, _, key = target.partition(".")
            if owner == "place":
                return _place_why(plan, key, where)
            if owner in OF_TABLES:
                return _entry_why(plan, owner, key)
            if key:
                return _family_why(plan, owner)
            return _driving_why(plan, "", target, where)
    raise AssertionError(path)


def _overridden(plan: Plan, target: str) -> Why | None:
    """Where a factor sets in every cell what is also fixed."""
    for factor, levels in plan.experiment.factors.items():
        if all(target in level.set for level in levels):
            return Why(f"factors.{factor} sets it in every cell", "leave one of them out")
    return None


def _place_why(plan: Plan, key: str, where: str) -> Why:
    """Of a key, or a level, that means nothing to any of the places."""
    if not plan.places:
        return Why(
            "a server by URL keeps its databases where it has them",
            "leave it out, or name an engine that acidtest starts",
        )
    kinds = dict.fromkeys(place.kind for place in plan.places)
    if list(kinds) == ["guest"] and key in IN_GUESTS:
        reason, remedy = IN_GUESTS[key]
        return Why(f"without effect: {reason}", f"{remedy}, or leave it out")
    having = [kind for kind, keys in KEYS_OF_KIND.items() if key in keys]
    if not kinds.keys() & set(having):
        other = f"every place here is of kind {_listed(kinds)}"
        return Why(
            f"without effect: this needs a place of kind {_listed(having, 'or')}, and {other}",
            f'write kind = "{having[0]}" in [place], or leave it out',
        )
    if plan.cuts and key in OF_MEMORY:
        return Why("without effect where power is cut", f"acidtest run {where}, or leave it out")
    if not plan.cuts and (key in OF_CUTS or key == "disk_faults"):
        return Why(
            "acts at a power cut only, and acidtest run makes none", f"acidtest powercut {where}, or leave it out"
        )
    places = [DEFAULTS | place.model_dump() for place in plan.places if place.kind in having]
    unmet = [str(need) for need in NEEDS.get(key, ()) if not any(need.met(place) for place in places)]
    if not unmet:
        return EXCLUDED
    return Why(f"without effect: this needs {_listed(unmet)}", "change that, or leave it out")


def _family_why(plan: Plan, family: str) -> Why:
    return Why(
        f"without effect: no engine here is of the family {family}: {_listed(plan.engines)}",
        f"add an engine of {family}, or leave it out",
    )


def _entry_why(plan: Plan, table: str, name: str) -> Why:
    """Of an entry of a workload's table that a level sets."""
    having = list(dict.fromkeys(one for cell in plan.cells for one in cell.workload.names_of(table)))
    if name in having:
        return EXCLUDED
    singular = table.removesuffix("s")
    near = nearest(name, having)
    meant = f' (did you mean "{near}"?)' if near else f": they have {_listed(having)}" if having else ""
    return Why(f"without effect: no workload here has a {singular} of this name{meant}", "correct it, or leave it out")


def _driving_why(plan: Plan, kind: str, key: str, where: str) -> Why:
    """Of a key of a workload of this kind, or of any."""
    having = kinds_with(key)
    if not kind and not set(plan.kinds) & set(having):
        return Why(
            f"without effect: {key} is a key of {_listed(having)}, and the workload here is {_listed(plan.kinds)}",
            f"add a table [workload.{having[0]}], or leave it out",
        )
    if key in DRIVING:
        unmet = DRIVING[key].unmet
        return Why(unmet.reason, unmet.remedy.format(where=where))
    for one in having:
        if needs := OF_WORKLOADS.get(one, {}).get(key):
            return Why(f"without effect: this needs {needs}", "change that, or leave it out")
    return EXCLUDED


def _listed(names: Iterable[str], last: str = "and") -> str:
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
