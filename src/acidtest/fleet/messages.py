"""What the client and a lab on a host say to each other: one line of JSON each way, an assignment pickled within.

Both run the same version of acidtest, which is made sure of first; see ``host_client.facts``.
"""

from __future__ import annotations

import base64
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acidtest.errors import AcidtestError, BadInput, CellFailed, MachineLacks

if TYPE_CHECKING:  # a worker refuses in these words too, and needs nothing else of acidtest's
    from acidtest.conductor.admission import Devices
    from acidtest.journal.models import Header
    from acidtest.plan import Plan

ERRORS: dict[str, type[AcidtestError]] = {
    one.__name__: one for one in (AcidtestError, BadInput, CellFailed, MachineLacks)
}


@dataclass(frozen=True)
class Assignment:
    """What one host needs to know of a run."""

    run: str  # tells this run from all others, also on a host that several users have
    host: str
    plan: Plan  # the cells that this host may get
    left: tuple[str, ...]  # ids of those that are not in the journal
    cuts: bool
    header: Header
    where: str  # the experiment's file, named in errors
    directory: str | None
    devices: Devices

    def packed(self) -> str:
        """As a part of a line of JSON: plan and workloads are of many types."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def unpacked(cls, text: str) -> Assignment:
        """Only of what Dask has brought, which runs code of the client's anyway."""
        assignment = pickle.loads(base64.b64decode(text))
        assert isinstance(assignment, cls)
        return assignment


def refusal(error: AcidtestError) -> dict[str, Any]:
    """An error, all of its parts, to be raised on the other side."""

    def kind_of(problem: AcidtestError) -> str:
        return next(name for name, kind in reversed(ERRORS.items()) if isinstance(problem, kind))

    return {
        "errors": [
            {"kind": kind_of(problem), "message": problem.message, "remedy": problem.remedy}
            for problem in error.problems
        ]
    }


def refused(answer: dict[str, Any], host: str) -> list[AcidtestError]:
    """What a host refused, each error with its name before it."""
    return [ERRORS[one["kind"]](f"{host}: {one['message']}", one["remedy"]) for one in answer.get("errors", [])]
