"""Whether the numbers of a cell that has run may be used, and what their readers must know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acidtest.conductor import call_trace
from acidtest.conductor.recording import CellOutcome
from acidtest.engine import Engine
from acidtest.journal.models import SettingInForce, Warning
from acidtest.journal.protocol import Checked
from acidtest.plan import Cell
from acidtest.words import counted
from acidtest.workload import WorkloadSpec, broken


def why_invalid(outcome: CellOutcome, workload: WorkloadSpec) -> str | None:
    """Why the numbers of a cell that came to its end must not be used, or None."""
    if outcome.wrong:
        return outcome.wrong
    disagreeing = not_in_force(outcome.all_settings())
    if not outcome.settings and not disagreeing:
        return "the engine did not answer which settings are in force"
    if disagreeing:
        return disagreeing
    for when, checked, asked in (
        ("before", outcome.checks_before, outcome.checked_for or workload),
        ("after", outcome.checks_after, workload),
    ):
        if checked and (amiss := broken_in(checked) or unchecked_in(checked, asked)):
            return f"consistency {when} the run: {amiss}"
    unchecked = outcome.needs_checks and not (outcome.checks_before and outcome.checks_after)
    if outcome.result is None or unchecked:
        return "the rig ended without a result or a consistency check"
    if (seen := outcome.result.sleepers) and seen.awake_at_end < seen.sessions:
        gone = seen.sessions - seen.awake_at_end
        return f"{counted(gone, 'sleeping session')} of {seen.sessions:,} did not last: {seen.lost}"
    if workload.sleeping_sessions != (seen.sessions if seen else 0):
        return "the sleeping sessions that were asked for were not opened"
    if workload.connect == "per_transaction" and not (outcome.result.connections and outcome.result.connections.opened):
        return "no session was opened for a transaction of its own"
    if outcome.result.counts.committed == 0:
        return "no transaction was committed"
    return None


def not_in_force(settings: Iterable[SettingInForce]) -> str | None:
    """Which settings are in force otherwise than they were asked for, in words, or None."""
    wrong = [setting for setting in settings if setting.is_wrong]
    if not wrong:
        return None
    return wrong[0].disagreement + (f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else "")


def broken_in(checked: Checked) -> str | None:
    """The first condition that does not hold, in words, or None."""
    return next((broken(condition) for condition in checked.conditions if not condition.holds), None)


def unchecked_in(checked: Checked, workload: WorkloadSpec) -> str | None:
    """The first condition of the workload that ``checked`` does not report, or None."""
    reported = {condition.name for condition in checked.conditions}
    missing = next((name for name in workload.conditions() if name not in reported), None)
    return f"{missing} was not checked" if missing else None


def doubts(cell: Cell, engine: Engine, outcome: CellOutcome) -> list[Warning]:
    """What a reader of the cell's numbers must know of how they were had."""
    code = "engine-log" if engine.private else "not-verified"
    return [
        *cell.workload.warnings(engine.id, has_procedures=engine.has_procedures),
        *(Warning(code="build", about="settings", text=text) for text in engine.notes()),
        *cell.workload.doubts(outcome.maintenance),
        *call_trace.doubts(outcome.calls),
        *call_trace.counting(outcome.engine_counts),
        *_unverified(outcome.settings),
        *(Warning(code=code, about="settings", text=text) for text in outcome.log_findings),
    ]


def _unverified(settings: Sequence[SettingInForce]) -> list[Warning]:
    """One warning of all the settings that were asked for and that nothing shows."""
    names = ", ".join(setting.name for setting in settings if not setting.is_verifiable)
    text = f"Nothing shows whether these settings are in force, for this version cannot be asked: {names}."
    return [Warning(code="not-verifiable", about="settings", text=text)] if names else []
