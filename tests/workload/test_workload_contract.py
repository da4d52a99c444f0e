"""What every workload of the registry keeps to. A new one is tested by its line there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acidtest
import workloads
from acidtest import workload
from acidtest.journal.protocol import Condition
from acidtest.workload import BY_KIND, DRIVING, KINDS, WORKLOADS, GrowingWorkload, WorkloadSpec, keys_of

SOURCE = Path(acidtest.__file__).parent
DOCS = (Path(__file__).parents[2] / "docs" / "WORKLOADS.md").read_text()
of_each = pytest.mark.parametrize("spec", WORKLOADS, ids=KINDS)


def smallest(spec: type[WorkloadSpec]) -> WorkloadSpec:
    return workloads.workload(spec, count=1)


@of_each
def test_its_kind_is_its_message_and_its_module(spec: type[WorkloadSpec]) -> None:
    kind = spec.model_fields["kind"].default
    assert smallest(spec).message().name == kind
    assert spec.__module__ == f"acidtest.workload.{kind}"
    assert type(smallest(spec).message()).__module__ == spec.__module__


@of_each
def test_its_own_keys_are_described_and_documented(spec: type[WorkloadSpec]) -> None:
    kind = spec.model_fields["kind"].default
    own = {name: field for name, field in keys_of(kind).items() if name not in (*DRIVING, "kind")}
    assert own
    assert [name for name, field in own.items() if not field.description] == []
    section = re.search(rf"^## {kind}\n(.*?)(?=^## |\Z)", DOCS, re.DOTALL | re.MULTILINE)
    assert section, f"docs/WORKLOADS.md has no section {kind}"
    assert [name for name in own if name not in section[1]] == []


@of_each
def test_no_other_file_of_the_lab_knows_it(spec: type[WorkloadSpec]) -> None:
    """But for who takes the simplest workload to ask a server by URL for its settings."""
    kind = spec.model_fields["kind"].default
    of_module = re.compile(rf"acidtest\.workload\.{kind}\b|\bkind (==|!=|in) .*\"{kind}\"")
    knows = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.parent.name != "workload" and of_module.search(file.read_text())
    ]
    assert knows == (["conductor/foreign.py"] if kind == "commits" else [])
    registry = inspect.getsource(workload.registry)
    assert len(re.findall(rf"^    {kind}\.\w+,$", registry, re.MULTILINE)) == 1


@of_each
def test_each_of_its_conditions_is_told_in_words(spec: type[WorkloadSpec]) -> None:
    """Also each that it has with other parameters; a name that others have too is told as theirs. The user's own
    conditions have the user's words."""
    names = set(smallest(spec).conditions())
    assert names <= spec.CONDITIONS.keys() or not spec.CONDITIONS
    for name in names - spec.CONDITIONS.keys():
        text = f'"{name}"' if " " in name else name
        assert workload.broken(Condition(name=name, holds=False, detail="1 rows")) == f"{text} does not hold: 1 row"
    for name, words in spec.CONDITIONS.items():
        assert "_" not in words.replace("numbered_", "")
        assert words[0].islower()
        assert not words.endswith(".")
        assert workload.broken(Condition(name=name, holds=False, detail="1 rows")) == f"{words}: 1 row ({name})"


def test_a_condition_that_is_not_known_is_told_by_its_name() -> None:
    """As in recordings of other versions."""
    told = workload.broken(Condition(name="sums", holds=False, detail="10000 and 2"))
    assert told == "sums does not hold: 10,000 and 2"


@of_each
def test_its_sizes_and_times_grow_with_its_unit_of_size(spec: type[WorkloadSpec]) -> None:
    one = smallest(spec)
    assert one.history_bytes() >= 0
    assert one.copy_s() >= 0
    assert one.run_s(1.0) > 0
    assert len(set(one.conditions())) == len(one.conditions()) > 0
    if not spec.UNIT_OF_SIZE:
        assert one.units() == 1
        return
    small, large = (one.model_copy(update={spec.UNIT_OF_SIZE: units}) for units in (1, 3))
    assert (small.units(), large.units()) == (1, 3)
    assert large.loaded_bytes() == 3 * small.loaded_bytes()
    assert large.load_s() == pytest.approx(3 * small.load_s())
    assert large.loaded_text() != small.loaded_text()


@of_each
def test_a_longer_run_of_it_takes_no_less_room(spec: type[WorkloadSpec]) -> None:
    sizes = [workloads.workload(spec, duration_s=seconds).history_bytes() for seconds in (1, 10)]
    assert sizes[0] <= sizes[1]
    limited = workloads.workload(spec, duration_s=10, rate_per_s=5).history_bytes()
    assert limited <= sizes[1]


@of_each
def test_driving_it_otherwise_needs_no_other_database(spec: type[WorkloadSpec]) -> None:
    """But where each terminal has rows of its own."""
    one = smallest(spec)
    other = workloads.workload(spec, duration_s=5, think_ms=3, warmup_s=1, retries=2)
    assert one.loaded_text() == other.loaded_text()
    assert set(one.NOT_LOADED) <= set(type(one.message()).model_fields)


@pytest.mark.parametrize("kind", workload.growing())
@given(family=st.sampled_from(["sqlite", "firebird", "postgresql", "mysql", "one that is new"]))
def test_one_that_grows_says_how_large_it_gets(kind: str, family: str) -> None:
    one = smallest(BY_KIND[kind])
    assert isinstance(one, GrowingWorkload)
    assert one.with_units(7).units() == 7
    assert one.unit_bytes(family) > 0
    assert one.fixed_bytes(family) >= 0
    assert one.shape() == one.with_units(7).shape()
    assert type(one).model_validate({"count": 1, **one.GROWN_DEFAULTS})


def test_what_a_version_before_wrote_of_every_workload_is_read_as_its_own_keys() -> None:
    bag = {
        "name": "reads", "kind": "scan", "terminals": 2, "threads": None, "warmup_s": 0.0, "duration_s": None, "count": 4,
        "think_ms": 0.0, "rate_per_s": None, "arrivals": "poisson", "retries": 10, "scale": 1, "row_bytes": 100,
        "warehouses": 1, "warehouse_percent": 100, "procedures": False, "keying": False, "roaming": False,
        "products": 10_000, "orders_per_call": 100, "repeatable": False, "rows": 5_000, "size_mb": 320, "read": "sorted",
        "tables": 1, "table_rows": 100_000, "parts": 3, "observe": False,
    }  # fmt: skip
    read = workload.recorded(bag)
    assert read is not None
    assert (read.kind, read.terminals, read.transaction_read_mb(), read.transaction_sorted_mb()) == (
        "scan",
        2,
        320,
        320,
    )
    assert workload.recorded({"kind": "of a later version", "terminals": 1}) is None
    assert (workload.unit("scan"), workload.unit("commits"), workload.unit("of a later version")) == (
        "reads",
        "commits",
        "commits",
    )
    assert workload.transactions("maintenance") == "operations"
