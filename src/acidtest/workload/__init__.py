"""The workloads: one module each, with its parameters, its message to the rig, its sizes and what is checked of it.

A workload is added by its module here and a line in the registry.
"""

from acidtest.workload.base import NOT_WATCHED, GrowingWorkload, Needs, Refused, Runner, WorkloadSpec
from acidtest.workload.registry import (
    BY_KIND,
    DECIDING,
    DRIVING,
    KINDS,
    NEEDS,
    OF_TABLES,
    PARAMETERS,
    WORKLOADS,
    AnyWorkload,
    broken,
    counts_commits,
    fixed,
    growing,
    keys_of,
    kinds_with,
    own_keys,
    recorded,
    transactions,
    unit,
)
from acidtest.workload.shape import Stage, TerminalClass

__all__ = [
    "BY_KIND",
    "DECIDING",
    "DRIVING",
    "KINDS",
    "NEEDS",
    "NOT_WATCHED",
    "OF_TABLES",
    "PARAMETERS",
    "WORKLOADS",
    "AnyWorkload",
    "GrowingWorkload",
    "Needs",
    "Refused",
    "Runner",
    "Stage",
    "TerminalClass",
    "WorkloadSpec",
    "broken",
    "counts_commits",
    "fixed",
    "growing",
    "keys_of",
    "kinds_with",
    "own_keys",
    "recorded",
    "transactions",
    "unit",
]
