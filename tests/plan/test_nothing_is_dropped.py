"""Whatever is asked for is carried into some cell, or refused: drawn over every key, every kind of place and every workload."""

from __future__ import annotations

import itertools
import json
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from acidtest import conductor, workload
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, PlaceSpec, parse
from acidtest.experiment.places import KEYS_OF_KIND, without_cuts
from acidtest.journal.models import NOT_APPLICABLE
from acidtest.plan import Cell
from acidtest.workload import BY_KIND, KINDS, WorkloadSpec
from asked import PLACE
from support import times
from workloads import ENTRIES, keys

SETTINGS: dict[str, dict[str, Any]] = {
    "sqlite": {"cache_size_kb": 123},
    "firebird": {"page_buffers": 123},
    "postgresql": {"shared_buffers_mb": 16},
    "mysql": {"innodb_buffer_pool_mb": 64},
}
ENGINES = ("sqlite", "firebird-5.0", "firebird-3.0-server", "postgresql-15", "mine")
FAMILY = {"sqlite": "sqlite", "firebird-5.0": "firebird", "firebird-3.0-server": "firebird"}


def test_every_key_of_a_place_is_drawn_and_belongs_to_some_kind() -> None:
    assert set(PLACE) == set(PlaceSpec.model_fields) - {"kind"}
    assert set().union(*KEYS_OF_KIND.values()) == set(PlaceSpec.model_fields)
    assert set(KEYS_OF_KIND) == set(typing.get_args(PlaceSpec.model_fields["kind"].annotation))


def another(kind: str, key: str) -> Any:
    """A value of a workload's key that is not the default."""
    field = BY_KIND[kind].model_fields[key]
    kinds = [
        argument
        for argument in (typing.get_args(field.annotation) or (field.annotation,))
        if argument is not type(None)
    ]
    if kinds == [bool]:
        return not field.default
    if kinds in ([int], [float]):
        return kinds[0]((field.default or 1) - 1 or 2)
    if kinds == [str]:
        return "medium_01"
    return next(value for value in kinds if value != field.default)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """A few keys of each part, fixed or as a factor; mostly, but not always, such as fit together."""

    def some(values: Iterable[Any], most: int, least: int = 0) -> list[Any]:
        among = sorted(values)
        return draw(st.lists(st.sampled_from(among), unique=True, min_size=least, max_size=most)) if among else []

    def rarely() -> bool:
        return draw(st.integers(0, 7)) == 0

    kind = draw(st.sampled_from(sorted(KEYS_OF_KIND)))
    fits_all = kind not in ("raw", "guest") or rarely()
    engines = some(ENGINES if fits_all else ["firebird-5.0"], 2, least=1)
    kinds = some(KINDS, 2, least=1)
    if rarely():
        kinds = ["tpcc"]
    whole: dict[str, Any] = {
        "name": "t",
        "repetitions": 1,
        "durability": "drive",
        "factors": {"engine": engines},
        "workload": {kind: keys(kind, count=5) for kind in kinds},
        "place": {},
        "settings": {},
    }
    if "mine" in engines or rarely():
        whole["servers"] = {"mine": {"url": "postgresql://me@db/test"}}
    if kind != "directory" and (engines != ["mine"] or rarely()):
        whole["place"] = {"kind": kind} | ({"filesystem": "ext4"} if kind != "raw" else {})
        whole["place"] |= {"device": "/dev/null"} if kind == "device" else {}
    of_place = (
        PLACE.keys() - whole["place"].keys() if rarely() else KEYS_OF_KIND[kind] - {"kind", "path", *whole["place"]}
    )
    asked = {f"place.{key}": draw(st.sampled_from(PLACE[key])) for key in some(of_place, 2)}
    families = (
        SETTINGS.keys() if rarely() else {FAMILY.get(engine, "postgresql") for engine in engines if engine != "mine"}
    )
    asked |= {
        f"{family}.{key}": value
        for family in some(families, 1) * draw(st.integers(0, 1))
        for key, value in SETTINGS[family].items()
    }
    of_kinds = set(workload.PARAMETERS) if rarely() else {key for kind in kinds for key in workload.keys_of(kind)}
    for key in some(of_kinds & set(workload.PARAMETERS) - {"duration_s", "count"}, 2):
        asked[key] = another(workload.kinds_with(key)[0], key)
    for key in some(
        {key for kind in kinds for key in ENTRIES.get(kind, {})} or (ENTRIES["sql"] if rarely() else ()), 1
    ):
        asked[key] = ENTRIES["sql"][key]
    for target, value in asked.items():
        owner, _, key = target.partition(".")
        if draw(st.booleans()):
            default = PlaceSpec.model_fields[key].default if owner == "place" else None
            levels = [{"name": "changed", "set": {target: value}}]
            if draw(st.booleans()):
                levels.append({"name": "plain", "set": {} if default is None else {target: default}})
            whole["factors"][target] = levels
        elif owner in workload.OF_TABLES:
            table = whole["workload"][draw(st.sampled_from([kind for kind in kinds if kind in ENTRIES] or kinds))]
            table[owner] = {key: value}
        elif key:
            table = whole["place"] if owner == "place" else whole["settings"].setdefault(owner, {})
            table[key] = value
        else:
            having = [kind for kind in kinds if target in BY_KIND[kind].model_fields]
            whole["workload"][draw(st.sampled_from(having or kinds))][target] = value
    if kinds == ["tpcc"] and rarely():
        whole["growth"] = {"sizes": ["1 GB"]}
    return whole


def carried(cells: list[Cell], target: str, value: object, *, name: str = "") -> bool:
    """Whether one of ``cells`` has what was asked for by this name; of the workload ``name``, where one is named."""
    owner, _, key = target.partition(".")

    def has(cell: Cell) -> bool:
        if owner == "place":
            found = getattr(cell.place, key)
            if key == "disk_faults":
                return bool(found) and found in (value, without_cuts(str(value)))
            return found == value and key in KEYS_OF_KIND[cell.place.kind]
        if key and owner not in workload.OF_TABLES:
            family = FAMILY.get(cell.engine, "postgresql")
            return family == owner and cell.settings.get(key) == value
        return cell.workload_name == (name or cell.workload_name) and _has(cell.workload, target, value)

    return any(map(has, cells))


def _has(spec: WorkloadSpec, target: str, value: object) -> bool:
    if target in workload.OF_TABLES:
        return isinstance(value, dict) and all(_has(spec, f"{target}.{key}", one) for key, one in value.items())
    return spec.takes(target) and spec.parameter(target) in (value, (value,))  # one path is a list of one


def cells_of(experiment: Experiment, command: str) -> list[Cell]:
    """The cells that a command verified, with those of the other one where the experiment is for both."""
    ways = {"run": [False], "powercut": [True], "plan": [False, True]}[command]
    if experiment.to_run() is not experiment or experiment.to_cut() is not experiment:
        ways = [False, True] if experiment.to_run().factors != experiment.factors else ways
    parts = [conductor.plan_of(experiment.to_cut() if cut else experiment.to_run(), cuts=cut) for cut in ways]
    return list(itertools.chain.from_iterable(part.cells for part in parts))


@pytest.mark.slow
@settings(max_examples=times(100, 250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(experiments(), st.sampled_from(["run", "powercut", "plan"]))
def test_a_key_is_carried_into_a_cell_or_refused(whole: Mapping[str, Any], command: str) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in whole.items())
    try:
        read = parse(text, "t.toml")
        asked = {"run": read.to_run, "powercut": read.to_cut, "plan": lambda: read}[command]()
        planned = conductor.plan_of(asked, cuts={"run": False, "powercut": True, "plan": None}[command])
        conductor.verify(planned, Path("t.toml"))
    except BadInput as refused:
        event("refused")
        assert all(problem.message.startswith(("t.toml: ", "t: ")) for problem in refused.problems)
        assert all("\n" not in problem.message + problem.remedy for problem in refused.problems)
        return
    event("accepted")
    cells = cells_of(read, command)
    for key, value in whole["place"].items():
        assert carried(cells, f"place.{key}", value), f"place.{key}"
    for family, table in whole["settings"].items():
        for key, value in table.items():
            assert carried(cells, f"{family}.{key}", value), f"{family}.{key}"
    for name, table in whole["workload"].items():
        for key, value in table.items():
            assert carried(cells, key, value, name=name), f"workload.{name}.{key}"
    for target, levels in whole["factors"].items():
        if target == "engine":
            continue
        for level in levels:
            mine = [cell for cell in cells if cell.levels[target] == level["name"]]
            for key, value in level["set"].items():
                default = target.startswith("place.") and value == PlaceSpec.model_fields[target[6:]].default
                assert default or carried(mine, key, value), f"factors.{target}, {level['name']}"
    assert not whole.get("servers") or any(cell.engine == "mine" for cell in cells)
    assert not whole.get("growth") or any(cell.size is not None for cell in cells)


@settings(max_examples=times(60, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(experiments())
def test_a_cell_says_nothing_that_is_not_so(whole: Mapping[str, Any]) -> None:
    """What means nothing to its place, its engine or its workload is at its default: no recording states it."""
    text = "\n".join(f"{key} = {toml(value)}" for key, value in whole.items())
    try:
        planned = conductor.plan_of(parse(text, "t.toml"))
    except BadInput:
        return
    defaults = PlaceSpec()
    for cell in planned.cells:
        asked = {key for key in PLACE if getattr(cell.place, key) != getattr(defaults, key)}
        assert asked <= KEYS_OF_KIND[cell.place.kind]
        assert asked == set() or cell.engine not in whole.get("servers", {})
        assert cell.workload.threads is None or cell.engine not in ("sqlite", "firebird-5.0")
        assert set(cell.settings) <= set(SETTINGS[FAMILY.get(cell.engine, "postgresql")])
        assert all(level != NOT_APPLICABLE for factor, level in cell.levels.items() if factor in ("engine", "workload"))
