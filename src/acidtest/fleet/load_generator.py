"""A load from several machines, on each of them: what the lab there says to the client, and hears of the others.

The client stands between the machines. To it goes that the database is loaded, that this machine is ready, and in the
end what its part brought; from it comes the moment at which all begin, and what the others brought.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from acidtest.conductor import foreign, shared_load
from acidtest.conductor.base import RunContext
from acidtest.conductor.generators import Brought, GeneratorFailed, Moment, Own, Served
from acidtest.conductor.rig import SILENCE_S
from acidtest.engine.foreign import ForeignServer
from acidtest.errors import AcidtestError, CellFailed
from acidtest.fleet.messages import Assignment
from acidtest.journal.protocol import Progress, Share
from acidtest.plan import Cell

Tell = Callable[[Mapping[str, Any]], None]


class Abandoned(AcidtestError):
    """The client has given the cell up: it is as if it had not begun."""


class Together:
    """This machine among those of one cell's load, as ``conductor.generators.Generators``.

    Of ``request``, "share" is its number and how many there are, None for the machine that has the server; "attempt"
    tells this run of the cell from others. ``requests`` are the lines that the client says meanwhile.
    """

    def __init__(
        self, assignment: Assignment, request: Mapping[str, Any], requests: queue.SimpleQueue[str], tell: Tell
    ) -> None:
        directory = Path(assignment.directory) if assignment.directory else None
        share = request["share"]
        self.own = Own(
            assignment.host, request["address"], Share(number=share[0], of=share[1]) if share else None, directory
        )
        self._attempt, self._requests, self._tell = request["attempt"], requests, tell
        self._early: dict[str, Any] | None = None  # heard before it was waited for

    def _told(self, what: str, **fields: Any) -> None:
        self._tell({"event": "share", "host": self.own.host, "attempt": self._attempt, "what": what, **fields})

    def loaded(self, served: Served | None) -> None:
        self._told("loaded", served=served.model_dump(mode="json", by_alias=True) if served else None)

    def ready(self) -> Moment:
        self._told("ready")
        said = self._await("go", SILENCE_S)
        return Moment(said["at_ns"], said["clock_offset_s"], said["clock_error_s"])

    def others(self, limit_s: float) -> list[Brought]:
        return [Brought.model_validate_json(part) for part in self._await("parts", limit_s)["parts"]]

    def look(self) -> None:
        with suppress(queue.Empty):
            self._early = self._heard(0.0)

    def _await(self, what: str, limit_s: float) -> dict[str, Any]:
        said, self._early = self._early, None
        try:
            said = said or self._heard(limit_s)
        except queue.Empty:
            raise Abandoned("nothing was heard of the other machines") from None
        if said["do"] != what:
            raise CellFailed(f"the client said {said['do']} where {what} was due", "this is a bug; please report it")
        return said

    def _heard(self, limit_s: float) -> dict[str, Any]:
        """The next that is said of this attempt. Raises Empty, and what ends it."""
        while True:
            answer: dict[str, Any] = json.loads(self._requests.get(block=limit_s > 0, timeout=limit_s or None))
            if answer.get("attempt") != self._attempt:
                continue
            if answer["do"] == "abandon":
                raise Abandoned(answer["why"])
            if answer["do"] == "fail":
                raise GeneratorFailed(answer["why"])
            return answer


def generate(cell: Cell, context: RunContext, together: Together, served: Mapping[str, Any] | None) -> str:
    """Drive this machine's part of the load of ``cell``; what it brought, as text.

    ``served`` is how the server is reached, where it is made for that cell. Raises CellFailed.
    """
    own = together.own
    assert own.share is not None

    def tell(event: Progress) -> None:
        context.watcher.progress(cell, event)
        together.look()

    if served is not None:
        job = shared_load.part_elsewhere(cell, Served.model_validate(served), own.share)
        brought = shared_load.drive(job, context.ledger, {}, own.host, together.ready, tell)
        return brought.model_dump_json(by_alias=True)
    engine = context.engine(cell)
    assert isinstance(engine, ForeignServer)
    instance = engine.adopt(context.place.path, cell.settings, cell.durability)
    with foreign.started(instance, context.ledger):
        job = shared_load.part_of(cell, instance, own.share)
        brought = shared_load.drive(job, context.ledger, instance.environment(), own.host, together.ready, tell)
    return brought.model_dump_json(by_alias=True)
