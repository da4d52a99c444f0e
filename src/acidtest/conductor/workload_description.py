"""Asks the rig what is in workloads of the user's own, before anything is made for them."""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from dataclasses import replace

from pydantic import ValidationError

from acidtest.errors import AcidtestError, BadInput, MachineLacks, Problems
from acidtest.files import find_rig
from acidtest.journal.protocol import Description
from acidtest.plan import Plan
from acidtest.plan.reach import family_of
from acidtest.words import harmless
from acidtest.workload import WorkloadSpec
from acidtest.workload.folder import DIALECTS

LIMIT_S = 120.0  # nothing is run: the rig reads a few files of text


def described(plan: Plan) -> Plan:
    """The plan, whose cells' workloads know what is in them.

    Asks once for each workload that is not described yet. Raises BadInput with all that the rig finds wrong, each with
    its file and line, and MachineLacks where there is no rig.
    """
    asked = {id(cell.workload): cell.workload for cell in plan.cells if cell.workload.needs_description}
    if not asked:
        return plan
    families: dict[int, set[str]] = {key: set() for key in asked}
    for cell in plan.cells:
        if id(cell.workload) in families:
            families[id(cell.workload)].add(family_of(plan.experiment, cell.engine))
    told: dict[int, WorkloadSpec] = {}
    problems = Problems()
    for key, workload in asked.items():
        with problems.gather():
            told[key] = workload.with_description(_description(workload, families[key]))
    problems.check()
    cells = tuple(
        replace(cell, workload=told[id(cell.workload)]) if id(cell.workload) in told else cell for cell in plan.cells
    )
    return replace(plan, cells=cells)


def _description(workload: WorkloadSpec, families: Collection[str]) -> Description:
    """What the rig says. Raises BadInput where it finds something wrong, or that one of ``families`` cannot do."""
    description = _answer(workload.message().model_dump_json(by_alias=True).encode())
    problems = Problems()
    dialects = {DIALECTS[family] for family in families}
    for error in (*description.errors, *(why for dialect, why in description.refused if dialect in dialects)):
        problems.add(BadInput(harmless(" ".join(error.split()))))
    problems.check()
    return description


def _answer(message: bytes) -> Description:
    try:
        rig = subprocess.run([find_rig(), "describe"], input=message, capture_output=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise AcidtestError(f"the rig did not say within {LIMIT_S:.0f} s what is in the workload") from None
    except OSError as error:
        raise MachineLacks(f"the rig does not start: {error.strerror or error}", "install acidtest again") from None
    if rig.returncode != 0:
        words = " / ".join(rig.stderr.decode(errors="replace").strip().splitlines()[-3:]) or "it left no message"
        raise AcidtestError(f"the rig could not read the workload, and ended with code {rig.returncode}: {words}")
    try:
        return Description.model_validate_json(rig.stdout)
    except ValidationError:
        raise AcidtestError("the rig and this acidtest are of different versions", "install acidtest again") from None
