"""Why a cell failed: in one line, with what to do; and whether any other cell can run at all."""

from __future__ import annotations

import errno

from acidtest.conductor.context import RunContext
from acidtest.conductor.foreign import RestoreFailed
from acidtest.conductor.generators import GeneratorFailed
from acidtest.engine import Engine
from acidtest.errors import AcidtestError, told
from acidtest.files import find_rig


def why_failed(error: AcidtestError | OSError, engine: Engine) -> str:
    """Why a cell of ``engine`` could not run, when ``error`` ended it.

    An engine that is gone explains whatever followed from that. Raises ``error`` itself where something could not be
    released: nothing can begin on that.
    """
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        raise error
    if isinstance(error, GeneratorFailed):
        return engine.gone() or told(error)
    if not engine.private and not isinstance(error, RestoreFailed):
        return f"{engine.last_facts().source}: {told(error)}; see whether the server still runs and lets acidtest in"
    return engine.gone() or told(error)


def refuse_to_go_on(context: RunContext) -> None:
    """Raise where no further cell could run, so that the same command goes on when that is mended.

    MachineLacks where the rig is gone, and AcidtestError where the run's own place is.
    """
    find_rig()
    if not context.place.path.is_dir():
        raise AcidtestError(
            f"{context.place.path}: was removed while the run went on",
            "run the same command again: it goes on with what is in its journal",
        )
