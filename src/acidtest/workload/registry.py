"""The registry of workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union, get_origin

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from acidtest.journal.protocol import Condition
from acidtest.keys import Fixed, Kept
from acidtest.words import agreeing, harmless
from acidtest.workload import (
    commits,
    history,
    iud,
    maintenance,
    numbered,
    oltp,
    oltp_emul,
    orders,
    program,
    replay,
    scan,
    sql,
    tpcb,
    tpcc,
)
from acidtest.workload.base import GrowingWorkload, Needs, WorkloadSpec

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
    history.History,
    maintenance.Maintenance,
    sql.Sql,
    replay.Replay,
    oltp_emul.OltpEmul,
)
NAME_MAX = 200  # characters of a condition's name that are shown
# And what no file names: the items of a program of the user's, which has no half in the rig.
RECORDED: tuple[type[WorkloadSpec], ...] = (*WORKLOADS, program.ProgramItems)
BY_KIND: Mapping[str, type[WorkloadSpec]] = {spec.model_fields["kind"].default: spec for spec in RECORDED}
KINDS = tuple(spec.model_fields["kind"].default for spec in WORKLOADS)


def keys_of(kind: str) -> dict[str, FieldInfo]:
    """The keys that a table of this kind may have."""
    return {
        name: field for name, field in BY_KIND[kind].model_fields.items() if not (field.exclude or _has(field, Kept))
    }


def _has(field: FieldInfo, mark: type[Fixed | Kept]) -> bool:
    return any(isinstance(one, mark) for one in field.metadata)


def _is_table(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is dict


# The keys of all of them that hold one value: a factor may carry the name of any. And those that are tables, of which
# it may carry the name of an entry: "variables.scale".
_SETTABLE = {
    name: field for kind in KINDS for name, field in keys_of(kind).items() if name != "kind" and not _has(field, Fixed)
}
PARAMETERS = tuple(name for name, field in _SETTABLE.items() if not _is_table(field))
OF_TABLES = tuple(name for name, field in _SETTABLE.items() if _is_table(field))
DRIVING = tuple(name for name in WorkloadSpec.model_fields if name != "kind")  # those that every workload has

# Keys that do not always act, by workload, and the keys that decide it.
NEEDS: Mapping[str, Mapping[str, Needs]] = {kind: spec.NEEDS for kind, spec in BY_KIND.items() if spec.NEEDS}
DECIDING = frozenset(needs.key for of in NEEDS.values() for needs in of.values())

if TYPE_CHECKING:
    AnyWorkload = WorkloadSpec
else:
    AnyWorkload = Annotated[Union[RECORDED], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


def fixed(key: str) -> str:
    """What to do where a factor is to set ``key``, of one that none may set; "" of any other."""
    marks = (one for kind in KINDS if key in keys_of(kind) for one in keys_of(kind)[key].metadata)
    return next((mark.instead for mark in marks if isinstance(mark, Fixed)), "")


def kinds_with(key: str) -> tuple[str, ...]:
    """The workloads that have this key."""
    return tuple(kind for kind in KINDS if key in keys_of(kind))


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
    if words:
        return f"{words}: {found} ({condition.name})"
    # The user's own are sentences.
    name = harmless(condition.name, NAME_MAX)
    named = f'"{name}"' if " " in name else name
    return f"{named} does not hold: {found}"


def counts_commits(condition: str) -> bool:
    """Whether the condition of this name only compares how much is there with how many commits were acknowledged."""
    return condition.endswith(("match_acknowledged", "matches_acknowledged"))


def unit(kind: str) -> str:
    """What the rates of a kind of workload count; "commits" of one that is not known here."""
    return BY_KIND.get(kind, WorkloadSpec).UNIT


def transactions(kind: str) -> str:
    """What so many transactions of a kind of workload are called; "commits" of one that is not known here."""
    return BY_KIND.get(kind, WorkloadSpec).TRANSACTION
