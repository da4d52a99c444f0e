"""Why a cell failed: in one line, with what to do; and whether any other cell can run at all."""

from __future__ import annotations

import errno
import re
import socket

from acidtest.conductor.base import RunContext
from acidtest.conductor.foreign import RestoreFailed
from acidtest.conductor.generators import GeneratorFailed
from acidtest.conductor.rig import Refused
from acidtest.engine import Engine
from acidtest.engine.foreign import ForeignServer
from acidtest.errors import AcidtestError, message_of
from acidtest.files import find_rig

STATEMENT = re.compile(r"(?:^|\s)[^\s:]+\.sql:\d+: ")  # where a statement of the user's stands, before what it led to
# What engines say where they do not know a parameter's type, or take it for another one.
OF_TYPE = re.compile(
    r"data ?type (?:of parameter|unknown|mismatch)|type of parameter|inconsistent types deduced|"
    r"is of type .* but expression is of type|operator does not exist|function .* is not unique|"
    r"invalid input syntax for type|conversion error|42P18|42804",
    re.IGNORECASE,
)
ANSWERS_S = 5.0  # for a server that still runs


def why_failed(error: AcidtestError | OSError, engine: Engine) -> str:
    """Why a cell of ``engine`` could not run, when ``error`` ended it.

    An engine that is gone explains whatever followed from that. Raises ``error`` itself where something could not be
    released: nothing can begin on that.
    """
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        raise error
    if isinstance(error, GeneratorFailed):
        return engine.gone() or message_of(error)
    if isinstance(error, Refused) and STATEMENT.search(error.message) and (engine.private or _answers(engine)):
        repair = "correct the statement there"
        if OF_TYPE.search(error.message):
            repair += ", or, where the type of a parameter is the trouble, write cast(:name as integer)"
        return engine.gone() or f"{message_of(error)}; {repair}"
    if not engine.private and not isinstance(error, RestoreFailed):
        return (
            f"{engine.last_facts().source}: {message_of(error)}; see whether the server still runs and lets acidtest in"
        )
    return engine.gone() or message_of(error)


def _answers(engine: Engine) -> bool:
    """Whether the user's server still takes connections."""
    if not isinstance(engine, ForeignServer):
        return False
    try:
        socket.create_connection((engine.address.host, engine.address.port), ANSWERS_S).close()
    except OSError:
        return False
    return True


def refuse_to_go_on(context: RunContext) -> None:
    """Raise where no further cell could run, so that the same command goes on when that is repaired.

    MachineLacks where the rig is gone, and AcidtestError where the run's own place is.
    """
    find_rig()
    if not context.place.path.is_dir():
        raise AcidtestError(
            f"{context.place.path}: was removed while the run went on",
            "run the same command again: it goes on with what is in its journal",
        )
