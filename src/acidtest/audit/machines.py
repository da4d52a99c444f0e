"""The machines that a kit's texts tell apart: what is said of one is not said of another."""

from __future__ import annotations

from collections.abc import Iterable

from acidtest.audit.bench import Bench, Claim, Statement

# A machine that only generates the load.
OF_LOAD = ("client", "load", "benchmark driver", "driver")


def for_load(one: Claim | Statement) -> bool:
    """Whether something is said of a machine on which no engine runs."""
    return one.machine.startswith(OF_LOAD)


def of_all(bench: Bench, told: Iterable[Statement]) -> bool:
    """Whether each machine that may hold a database has one of ``told``, so that it does not matter which of them a
    result is of."""
    known = {one.machine for one in bench.texts if one.machine and not for_load(one)}
    known |= {one.machine for one in bench.claims if one.machine and not for_load(one)}
    return len(known) < 2 or known <= {one.machine for one in told}
