"""Our own power cuts: what a combination lost, and what its cuts do not show."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.survival import Survival
from acidtest.audit.finding import Found, rule

STUDY = "M. Zheng et al.: Torturing databases for fun and profit (OSDI 2014)"


@rule(
    "commits-lost",
    severity="invalid",
    over=Survival,
    says="At level drive, on an honest disk, acknowledged commits were lost in a power cut: rates at "
    "this level are of commits that are not durable.",
    remedy="Find what does not flush (acidtest trace), and call no rate of this combination durable.",
    source=f"TPC-C 5.11, clause 3.5: durability; {STUDY}",
    about="place",
)
def commits_lost(row: Survival) -> Iterator[Found]:
    worst = row.witness
    if not (row.lost and worst and worst.cut and worst.durability == "drive"):
        return
    if worst.cut.drive == "honest" and worst.cut.failure != "dropped-flush":
        reason = worst.cut.reasons[0] if worst.cut.reasons else "commits are missing"
        yield Found(f"{row.lost} of {row.cuts} power cuts lost acknowledged commits at level drive: {reason}.")


@rule(
    "cuts-unknown",
    severity="doubtful",
    over=Survival,
    says="It is not known of some power cuts whether commits survived: they count neither as survived nor as lost.",
    remedy="Read their reasons, remove the cause, and cut again.",
    source=f"{STUDY}: a check that cannot run is no check that passed",
    about="place",
)
def cuts_unknown(row: Survival) -> Iterator[Found]:
    if row.unknown:
        yield Found(f"It is not known of {row.unknown} of {row.cuts} power cuts what survived.")


@rule(
    "cuts-without-commits",
    severity="doubtful",
    over=Survival,
    says="No commit had been acknowledged before the cuts: nothing could be lost, so these cuts show nothing.",
    remedy="Cut later, after commits have been acknowledged.",
    source="docs/POWER-CUTS.md: only acknowledged commits count",
    about="place",
)
def cuts_without_commits(row: Survival) -> Iterator[Found]:
    if row.survived and not row.acknowledged and row.speeds:
        yield Found(f"No commit had been acknowledged before any of {row.cuts} power cuts.")
