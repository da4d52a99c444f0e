"""The registry of workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field, ValidationError

from acidtest.journal.protocol import Condition
from acidtest.words import agreeing
from acidtest.workload import commits, iud, numbered, oltp, orders, scan, tpcb, tpcc
from acidtest.workload.base import GrowingWorkload, WorkloadSpec

# One line a workload, in the order in which they are offered.
WORKLOADS: tuple[type[WorkloadSpec], ...] = (
    commits.Commits,
    tpcb.Tpcb,
    tpcc.Tpcc,
    orders.Orders,
    iud.Iud,
    scan.Scan,
    oltp.Oltp,
    numbered.Numbered,
)
BY_KIND: Mapping[str, type[WorkloadSpec]] = {spec.model_fields["kind"].default: spec for spec in WORKLOADS}
KINDS = tuple(BY_KIND)

# The keys of all of them: a factor may carry the name of any.
PARAMETERS = tuple(dict.fromkeys(name for spec in WORKLOADS for name in spec.model_fields if name != "kind"))
DRIVING = tuple(name for name in WorkloadSpec.model_fields if name != "kind")  # those that every workload has

if TYPE_CHECKING:
    AnyWorkload = WorkloadSpec
else:
    AnyWorkload = Annotated[Union[WORKLOADS], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


def kinds_with(key: str) -> tuple[str, ...]:
    """The workloads that have this key."""
    return tuple(kind for kind, spec in BY_KIND.items() if key in spec.model_fields)


def growing() -> tuple[str, ...]:
    """The workloads whose databases can grow."""
    return tuple(kind for kind, spec in BY_KIND.items() if issubclass(spec, GrowingWorkload))


def own_keys(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a recorded workload that are its own. Versions up to 0.1 wrote those of every workload."""
    spec = BY_KIND.get(str(recorded.get("kind")))
    return {key: value for key, value in recorded.items() if spec is None or key in spec.model_fields}


def recorded(workload: Mapping[str, Any]) -> WorkloadSpec | None:
    """The workload of a recording, written by this version or an earlier one; None of one that is not known here."""
    spec = BY_KIND.get(str(workload.get("kind")))
    try:
        return spec.model_validate(own_keys(workload)) if spec else None
    except ValidationError:
        return None


def broken(condition: Condition) -> str:
    """What is wrong where a condition does not hold: in words, with what the rig found, and the condition's name."""
    words = next((spec.CONDITIONS[condition.name] for spec in WORKLOADS if condition.name in spec.CONDITIONS), None)
    found = agreeing(condition.detail)
    return f"{words}: {found} ({condition.name})" if words else f"{condition.name} does not hold: {found}"


def counts_commits(condition: str) -> bool:
    """Whether the condition of this name only compares how much is there with how many commits were acknowledged."""
    return condition.endswith(("match_acknowledged", "matches_acknowledged"))


def unit(kind: str) -> str:
    """What the rates of a kind of workload count; "commits" of one that is not known here."""
    return BY_KIND.get(kind, WorkloadSpec).UNIT


def transactions(kind: str) -> str:
    """What so many transactions of a kind of workload are called; "commits" of one that is not known here."""
    return BY_KIND.get(kind, WorkloadSpec).TRANSACTION
