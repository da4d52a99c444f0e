"""The workloads: one module each, with its parameters, its message to the rig, its sizes and what is checked of it.

A workload is added by its module here and a line in the registry.
"""

from acidtest.workload.base import GrowingWorkload, WorkloadSpec
from acidtest.workload.registry import (
    BY_KIND,
    DRIVING,
    KINDS,
    PARAMETERS,
    WORKLOADS,
    AnyWorkload,
    broken,
    counts_commits,
    growing,
    kinds_with,
    own_keys,
    recorded,
    transactions,
    unit,
)

__all__ = [
    "BY_KIND",
    "DRIVING",
    "KINDS",
    "PARAMETERS",
    "WORKLOADS",
    "AnyWorkload",
    "GrowingWorkload",
    "WorkloadSpec",
    "broken",
    "counts_commits",
    "growing",
    "kinds_with",
    "own_keys",
    "recorded",
    "transactions",
    "unit",
]
