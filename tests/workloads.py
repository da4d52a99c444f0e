"""One workload of each kind, with the keys that its kind cannot do without."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import small_kit
from acidtest.journal.protocol import DescribedKind, Description
from acidtest.workload import WorkloadSpec
from acidtest.workload.replay import FROM_LOG

SHOP = Path(__file__).parents[1] / "workloads" / "shop"
_MADE = Path(tempfile.mkdtemp(prefix="acidtest-kit-"))
atexit.register(shutil.rmtree, _MADE, ignore_errors=True)
KIT = small_kit.write(_MADE / "kit")
LOG = Path(__file__).parent / "logs" / "postgresql.csv"
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "sql": {"path": str(SHOP)},
    "replay": {"path": str(LOG), "database": str(SHOP)},
    "oltp_emul": {"path": str(KIT)},
}
# What a level may set of a kind beside its fields, with another value than it has.
ENTRIES: Mapping[str, Mapping[str, Any]] = {"sql": {"variables.scale": 3, "weights.look": 7.0}}
DESCRIPTION = Description(
    kinds=(
        DescribedKind(name="buy", weight=40.0, writes=True),
        DescribedKind(name="look", weight=60.0, writes=False),
    ),
    conditions=("No stock is negative.", "conditions.sql:7"),
    loaded_rows=(("customer", 1000), ("product", 200)),
    row_bytes=(("customer", 31), ("product", 40)),
    warnings=(),
    errors=(),
)


def keys(kind: str, **given: Any) -> dict[str, Any]:
    """The keys of a table of this kind, as a file has them."""
    from_log = FROM_LOG if kind == "replay" else ()
    return {**NEEDED.get(kind, {}), **{key: value for key, value in given.items() if key not in from_log}}


def workload(spec: type[WorkloadSpec], **given: Any) -> WorkloadSpec:
    """A workload of this kind, as an experiment has it when the rig has been asked about it."""
    kind = str(spec.model_fields["kind"].default)
    made = spec.model_validate(spec.completed(keys(kind, **given), Path()))
    return made.with_description(DESCRIPTION) if made.needs_description else made
