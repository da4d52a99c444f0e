"""How long recovery takes, piece by piece: what a cut has left is mounted, started and driven once more."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from acidtest.analysis.recovery import SECOND_NS, Before, after, back_at
from acidtest.errors import CellFailed
from acidtest.journal.models import RecoveryTimes
from acidtest.powercut.load import FIRST_S, Load

LATE_NS = 100_000_000  # after a second's end everything of it has been read


def why_unsteady(judged: Before) -> str:
    """Why nobody can tell when the rate is as it was before the cut; "" where it was steady."""
    state = judged.judged
    if state.state == "steady":
        return ""
    if state.state == "too short to tell":
        return "before the cut there were too few whole seconds to tell whether the rate was steady"
    does = "drifted" if state.state == "drifts" else "made a step"
    return f"the rate before the cut was not steady: it {does} by {100 * abs(state.change or 0):.0f} %"


def timed(
    start: Callable[[], None] | None,
    loaded: Callable[[], AbstractContextManager[Load]],
    limit_s: float,
    rate: Before,
    *,
    mount_s: float,
    clean_mount_s: float,
    clean_start_s: float | None,
) -> RecoveryTimes:
    """Start the engine (``start`` of a server), and drive load until it is as fast as ``rate``, or for ``limit_s``.

    An engine that does not start, or a load that fails, is told in ``why``: what it means is for the checkers to say.
    """
    start_s: float | None = None
    first_s: float | None = None
    full_s: int | None = None
    per_s: list[float] = []
    why = why_unsteady(rate)
    try:
        began = time.monotonic()
        if start is not None:
            start()
            start_s = time.monotonic() - began
        with loaded() as load:
            load.await_first(FIRST_S)
            first_ns = min(load.acknowledged.times_ns(0))
            opened_s = load.opened_s or 0.0
            if start_s is None:
                start_s = load.began - began + opened_s
            first_s = first_ns / SECOND_NS - began - start_s
            if rate.slowest is not None:
                per_s, full_s = _until_fast(load, first_ns, rate.slowest, limit_s)
                if full_s is None:
                    why = f"not as fast as before within {len(per_s):,} s"
    except CellFailed as error:
        why = f"the load did not go on: {error.message}"
    return RecoveryTimes(
        mount_s=mount_s,
        clean_mount_s=clean_mount_s,
        start_s=start_s,
        clean_start_s=clean_start_s,
        first_commit_s=first_s,
        full_speed_s=full_s,
        watched_s=len(per_s),
        limit_s=limit_s,
        before=rate.judged.state,
        before_per_s=rate.per_s,
        after_per_s=per_s,
        why=why,
    )


def _until_fast(load: Load, first_ns: int, slowest: float, limit_s: float) -> tuple[list[float], int | None]:
    """Commits in each second from the first one on, and the second from which they are as fast as before."""
    times_ns: list[int] = []
    for second in range(1, int(limit_s) + 1):
        load.wait_until((first_ns + second * SECOND_NS + LATE_NS) / SECOND_NS)
        times_ns += load.acknowledged.times_ns(len(times_ns))
        per_s = after(times_ns, first_ns + second * SECOND_NS)
        if (back := back_at(per_s, slowest)) is not None:
            return per_s, back
    return per_s, None
