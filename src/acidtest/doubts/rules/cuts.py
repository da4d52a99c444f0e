"""Our own power cuts: what a combination lost, and what its cuts do not show."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.survival import Survival
from acidtest.finding import Found, rule
from acidtest.words import counted

STUDY = "M. Zheng et al.: Torturing databases for fun and profit (OSDI 2014)"
# By Cut.failure; others are power cuts.
CALLED = {
    "kill": "kill of the engine",
    "kernel-crash": "crash of the kernel",
    "full-disk": "trial with a full disk",
    "slow-disk": "trial with a slow disk",
    "stopped-disk": "trial with a disk that stops for seconds",
    "vanished-disk": "trial with a disk that vanishes",
}
SPOILED = {  # what storage did, by Cut.failure
    "read-error": "a block could not be read",
    "rot": "bits of a block of the database had turned",
    "lost-write": "a write was acknowledged and lost",
    "misdirected-write": "a write went to another place",
    "full-disk": "the file system was full",
    "slow-disk": "the drive was slow",
    "stopped-disk": "the drive had stopped for seconds",
    "vanished-disk": "the drive had vanished",
}


@rule(
    "commits-lost",
    severity="invalid",
    says="A power cut took what neither the durability level nor the drive announces that it may take: rates at this "
    "level are of commits that are less durable than the level says.",
    remedy="Find what does not flush (acidtest trace), and call no rate of this combination as durable as its level.",
    source=f"TPC-C 5.11, clause 3.5: durability; {STUDY}",
    about="place",
)
def commits_lost(row: Survival) -> Iterator[Found]:
    worst = row.witness
    if not (row.losses_unannounced and worst and worst.cut):
        return
    if worst.cut.failure != "dropped-flush":  # of a drive that fails no rate is told
        reasons = worst.cut.damage if worst.durability != "drive" and worst.cut.damage else worst.cut.reasons
        reason = reasons[0] if reasons else "commits are missing"
        what = "lost acknowledged commits at level drive"
        if worst.durability != "drive":
            what = f"took more than is announced by level {worst.durability}"
        cuts = counted(row.cuts, CALLED.get(worst.cut.failure, "power cut"))
        yield Found(f"{row.lost:,} of {cuts} {what}: {reason}.")


@rule(
    "served-wrong-silently",
    severity="doubtful",
    says="Storage did something wrong, sessions got data that are not what was acknowledged, and neither the engine "
    "nor the file system said so: not even the engine's own check.",
    remedy="Switch on checksums where the engine has them (they do not show a write that was lost), compare with a "
    "backup or a replica by content, or use a file system or drive that checks what it gives back.",
    source="L. N. Bairavasundaram et al.: An analysis of data corruption in the storage stack (FAST 2008)",
    about="place",
)
def served_wrong_silently(row: Survival) -> Iterator[Found]:
    if row.storage_failure and row.lost_silently:
        did = SPOILED.get(row.storage_failure, row.storage_failure)
        trials = counted(row.cuts, "trial")
        yield Found(f"Wrong data were served, and nobody noticed, in {row.lost_silently:,} of {trials} in which {did}.")


@rule(
    "cuts-unknown",
    severity="doubtful",
    says="It is not known of some power cuts whether commits survived: they count neither as survived nor as lost.",
    remedy="Read their reasons, remove the cause, and cut again.",
    source=f"{STUDY}: a check that cannot run is no check that passed",
    about="place",
)
def cuts_unknown(row: Survival) -> Iterator[Found]:
    if row.unknown:
        what = CALLED.get(row.storage_failure or "", "trial" if row.storage_failure else "power cut")
        yield Found(f"It is not known of {row.unknown:,} of {counted(row.cuts, what)} what survived.")


@rule(
    "cuts-without-commits",
    severity="doubtful",
    says="No commit had been acknowledged before the cuts: nothing could be lost, so these cuts show nothing.",
    remedy="Cut later, after commits have been acknowledged.",
    source="acidtest help docs/POWER-CUTS.md: only acknowledged commits count",
    about="place",
)
def cuts_without_commits(row: Survival) -> Iterator[Found]:
    if row.survived and not row.acknowledged and row.speeds:
        yield Found(f"No commit had been acknowledged before any of {counted(row.cuts, 'power cut')}.")
