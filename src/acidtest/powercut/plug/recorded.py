"""A cut by a real plug as it is recorded: much of it stays empty, for nobody can look into a real drive."""

from __future__ import annotations

from acidtest.analysis.expected_loss import PLUG
from acidtest.journal.models import Cut, PlaceFacts
from acidtest.powercut.acknowledgement_log import NS_OF_MS, commit_ms
from acidtest.powercut.checkers import Judgement
from acidtest.powercut.evidence import CutEvidence


def recorded(judgement: Judgement, evidence: CutEvidence, place: PlaceFacts, *, at_s: float, cycle_s: float) -> Cut:
    """The cut of which ``evidence`` tells, and the verdict on it; ``place`` is that of before the cut.

    When power failed no clock of the machine tells: ``lost_ms`` is up to the last acknowledgement that was kept.
    """
    acknowledged = evidence.acknowledged or []
    last_ns = max((line.acknowledged_ns for line in acknowledged), default=0)
    return Cut(
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        checks=judgement.checks,
        damage=judgement.damage,
        failure=PLUG,
        after_failed_flush=None,
        failed_flush_said="",
        acknowledged_after_failed_flush=None,
        drive=place.device_model if place.device_model != "unknown" else place.device,
        at_s=at_s,
        kept_bytes=None,
        lost_bytes=None,
        torn_writes=None,
        fate=evidence.fate,
        integrity=evidence.integrity,
        filesystem_check=evidence.filesystem_check,
        filesystem_said=evidence.filesystem_message,
        filesystem_repaired=False,
        filesystem_recovery_s=None,
        engine_recovery_s=evidence.engine_recovery_s,
        cycle_s=cycle_s,
        commit_ms=commit_ms(acknowledged),
        lost_ms=(last_ns - evidence.first_missing_ns) / NS_OF_MS if evidence.first_missing_ns else None,
    )
