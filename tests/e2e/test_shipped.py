"""Each shipped experiment, run for real at a size of seconds: one cell for each level, everything in it as small as it goes.

``make test`` runs few of them, in which each conductor, kind of place, workload and family of engines is there once.
tests/experiment/test_shipped.py plans all of them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidtest import experiment, plan
from acidtest.engine import catalogue
from acidtest.journal.models import NOT_APPLICABLE
from acidtest.workload import WORKLOADS
from support import Run

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
# Without those whose load comes from several machines, which tests/fleet runs over hosts, and that of a machine which is
# cut while another one looks on: test_plug.py runs it.
SHIPPED = [
    file
    for file in sorted(EXPERIMENTS.glob("*.toml"))
    if "load" not in tomllib.loads(file.read_text()) and file.stem != "plug"
]
# The most that a cell of these tests is given, by key of a workload. One terminal, for conflicts between terminals make
# some engines break a consistency condition now and then (docs/ENGINES.md), which experiments are there to show.
MOST = {
    "duration_s": 0.5, "warmup_s": 0.1, "count": 20, "scale": 1, "warehouses": 1, "warehouse_percent": 1, "products": 500,
    "size_mb": 8, "terminals": 1,
}  # fmt: skip
OF_CUTS = {spec.model_fields["kind"].default for spec in WORKLOADS if spec.CAN_BE_SURVEYED}
# What make test leaves to other files. test_whole_machine.py boots emulated machines, as each cell of such places does, and
# test_maintenance.py backs up and restores: experiments with these are dear.
DEAR = {("place", "guest"), ("place", "machine"), ("workload", "maintenance")}
# test_search.py, test_growth.py; test_places.py; test_histories.py, test_own_workload.py, test_run.py, test_servers.py and
# tests/workload/test_replay_engines.py.
ELSEWHERE = {
    *(("conductor", name) for name in ("search", "growth")),
    *(("place", kind) for kind in ("loop", "raw")),
    *(("workload", kind) for kind in ("history", "replay", "scan", "sql", "tpcb", "tpcc")),
}
SIZES, HELD_OUT = ["6 MB", "10 MB"], ["14 MB"]
# On a busy machine a flush may take longer than such a run: then the experiment is run once more with longer ones.
NOTHING_IN_TIME, LONGER_S = ("invalid", "no transaction was committed"), (2, 20)


def overlaid(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {k: overlaid(v, over[k]) for k, v in under.items() if isinstance(v, dict) and isinstance(over.get(k), dict)}
    return {**under, **over, **both}


def smallest(written: dict[str, Any], duration_s: float = MOST["duration_s"]) -> dict[str, Any]:
    """The experiment with a small size that is smaller still: it is there in every one that is shipped."""
    most = {**MOST, "duration_s": duration_s}
    small = overlaid(written, written["quick"])
    run = small["factors"].get("workload", small["workload"])
    workloads = {
        name: {key: min(parameters[key], value) for key, value in most.items() if key in parameters}
        for name, parameters in small["workload"].items()
        if name in run
    }
    if "place.access" in small["factors"]:  # a hint is given to files that are open for longer than a few moments
        workloads = {name: {**workload, "duration_s": max(2, duration_s)} for name, workload in workloads.items()}
        for written_workload in (*written["workload"].values(), *workloads.values()):
            written_workload.pop("count", None)
    more: dict[str, Any] = {"repetitions": 1, "workload": workloads}
    if "disk_recovery_s" in small.get("place", {}):  # the rate before a cut takes its seconds
        more["workload"] = {
            name: {**workload, "duration_s": max(12, duration_s)} for name, workload in workloads.items()
        }
        more["place"] = {"disk_recovery_s": 5}
    if "disk_states" in small.get("place", {}):
        more["place"] = {"disk_states": 5}
    if "search" in small:
        more["search"] = {"runs_max": 10}
    if "growth" in small:
        more["growth"] = {"sizes": SIZES, **({"held_out": HELD_OUT} if small["growth"].get("held_out") else {})}
        levels = [level for of in small["factors"].values() for level in of if isinstance(level, dict)]
        if not any("warehouse_percent" in level.get("set", {}) for level in levels):
            more["workload"] = {name: {**workload, "warehouse_percent": 1} for name, workload in workloads.items()}
    if small.get("place", {}).get("kind") == "guest":  # each of its cells boots an emulated machine
        more["factors"] = {
            name: levels[:1] if len(levels) == 1 else [levels[0], levels[-1]]
            for name, levels in small["factors"].items()
        }
        more["factors"]["place.mount"] = small["factors"]["place.mount"][-1:]
        # An exclusion names levels, and those that were taken away here are unknown to the experiment now.
        more["exclude"] = list(_of_levels_there(small.get("exclude", []), more["factors"]))
    return {**written, "quick": overlaid(written["quick"], more)}


def _of_levels_there(exclude: list[dict[str, Any]], factors: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for one in exclude:
        there = {
            name: [
                level
                for level in (of if isinstance(of, list) else [of])
                if name not in factors or level in factors[name]
            ]
            for name, of in one.items()
        }
        if all(there.values()):
            yield there


def one_cell_a_level(small: dict[str, Any]) -> dict[str, Any]:
    """The experiment without the cells that have no level of their own."""
    shown: set[tuple[str, str]] = set()
    left_out: list[dict[str, list[str]]] = []
    for levels in _combinations(small):
        if set(levels.items()) <= shown:
            left_out.append({name: [level] for name, level in levels.items()})
        shown |= set(levels.items())
    exclude = [*small["quick"].get("exclude", small.get("exclude", [])), *left_out]
    return {**small, "quick": {**small["quick"], "exclude": exclude}}


def _combinations(small: dict[str, Any]) -> list[dict[str, str]]:
    """Levels of each, without the sizes that its database grows to, and what reaches nothing there."""
    read = experiment.parse(toml(small), "smallest", quick=True)
    written = {"workload", *small["factors"], *small["quick"].get("factors", {})}
    found = [
        {name: level for name, level in cell.levels.items() if name in written and level != NOT_APPLICABLE}
        for cell in plan.make(read).combinations()
    ]
    return [levels for position, levels in enumerate(found) if levels not in found[:position]]


def toml(value: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_inline(one)}\n" for key, one in value.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_inline(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def run(acidtest: Run, command: str, file: Path, journal: Path) -> list[dict[str, Any]]:
    """The recordings of a run or a search."""
    ran = acidtest(command, file, "--quick", "--out", journal.parent, "--json")
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout  # findings are right: all is too short here
    answer = json.loads(ran.stdout)
    assert answer["searches" if command == "search" else "rows"], answer
    lines = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    return [line for line in lines if line["kind"] == "recording"]


def struck_nothing(cut: dict[str, Any]) -> bool:
    """A fault that is drawn at random need not meet one of so few requests: then nothing is known, and it is said why."""
    why = cut["storage"]["why"] if cut["storage"] else ""
    return "did not strike" in why or "never read again" in why


def members(file: Path) -> set[tuple[str, str]]:
    """The conductors, kinds of place, workloads and families of engines that a small size of this experiment asks for."""
    written = tomllib.loads(file.read_text())
    small = overlaid(written, written["quick"])
    kinds = {name: parameters.get("kind", name) for name, parameters in small["workload"].items()}
    workloads = {kinds[name] for name in levels_of(small, "workload") or kinds}
    conductors = {"powercut"} if workloads & OF_CUTS else set()
    conductors |= {table for table in ("search", "growth", "replication") if table in small}
    if workloads - OF_CUTS:
        conductors |= {"search"} if "search" in small else {"run"}
    return {
        *(("conductor", conductor) for conductor in conductors),
        *(("place", kind) for kind in levels_of(small, "place.kind") or {"directory"}),
        *(("workload", kind) for kind in workloads),
        *(("family", family_of(engine, small)) for engine in levels_of(small, "engine")),
    }


def levels_of(small: dict[str, Any], name: str) -> set[str]:
    """What an experiment, its factors and what their levels set give for ``name``."""
    table, _, key = name.rpartition(".")
    given = (small.get(table, {}) if table else small).get(key)
    found = {given} if isinstance(given, str) else set()
    for factor, levels in small["factors"].items():
        for level in levels if isinstance(levels, list) else [levels]:
            value = level.get("value", level.get("name")) if isinstance(level, dict) else level
            sets = level.get("set", {}) if isinstance(level, dict) else {}
            found |= {str(one) for one in (value if factor == name else None, sets.get(name)) if one is not None}
    return found


def family_of(engine: str, small: dict[str, Any]) -> str:
    own = small.get("engines", {}).get(engine)
    return str(own["family"]) if own else catalogue.describe(engine).family


def cover(files: Iterable[Path]) -> set[Path]:
    """Few of these experiments, in which all members are that any of them has: always the one that adds most for its size."""
    left = {file: members(file) for file in files}
    left = {file: found for file, found in left.items() if not found & DEAR}
    missing = set().union(*left.values()) - ELSEWHERE
    chosen = set()
    while missing:
        best = max(left, key=lambda file: len(left[file] & missing) / size(file))
        missing -= left[best]
        chosen.add(best)
    return chosen


def size(file: Path) -> int:
    """About how many cells it has with one cell for each level."""
    written = tomllib.loads(file.read_text())
    factors = overlaid(written, written["quick"])["factors"].values()
    return max(len(levels) if isinstance(levels, list) else 1 for levels in factors)


IN_MAKE_TEST = cover(SHIPPED)


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=[] if file in IN_MAKE_TEST else pytest.mark.long, id=file.stem) for file in SHIPPED],
)
def test_it_runs_is_reported_and_audited(acidtest: Run, tmp_path: Path, file: Path) -> None:
    written, out = tomllib.loads(file.read_text()), tmp_path / "out"
    for parameters in written["workload"].values():
        for key in {"path", "database"} & parameters.keys():  # begin at the experiment's directory, another one here
            parameters[key] = str(file.parent / parameters[key])
    small = smallest(written)
    tiny = tmp_path / file.name
    tiny.write_text(toml(one_cell_a_level(small)))
    kinds = {parameters.get("kind", name) for name, parameters in small["workload"].items()}
    if not kinds <= OF_CUTS:
        command, journal = ("search", "search") if "search" in written else ("run", "journal")
        recordings = run(acidtest, command, tiny, out / f"{journal}.jsonl")
        for duration_s in LONGER_S:
            if NOTHING_IN_TIME in {(recording["status"], recording["reason"]) for recording in recordings}:
                out = tmp_path / f"longer-{duration_s}"
                tiny.write_text(toml(one_cell_a_level(smallest(written, duration_s))))
                recordings = run(acidtest, command, tiny, out / f"{journal}.jsonl")
        assert {(recording["status"], recording["reason"]) for recording in recordings} == {("done", None)}
        assert all(recording["result"]["counts"]["committed"] > 0 for recording in recordings)
        assert len({recording["cell"] for recording in recordings}) == len(recordings) > 1
    if kinds & OF_CUTS:
        ran = acidtest("powercut", tiny, "--quick", "--out", out, "--cuts", "1", "--json")
        assert ran.returncode in (0, 1), ran.stderr
        cuts = json.loads(ran.stdout)["cuts"]
        assert {cut["status"] for cut in cuts} == {"done"}, cuts
        assert {cut["cut"]["verdict"] for cut in cuts if not struck_nothing(cut["cut"])} <= {"survived", "lost"}
    assert (out / "report.html").stat().st_size > 100_000
    audited = acidtest("audit", out, "--json")
    assert audited.returncode in (0, 1), audited.stderr
    assert isinstance(json.loads(audited.stdout)["findings"], list)
