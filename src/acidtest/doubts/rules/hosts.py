"""The hosts of a fleet."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.analysis.hosts import Hosts
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted


@rule(
    "hosts-differ",
    severity="doubtful",
    says="Repetitions were spread over hosts that are not alike: which host a cell had is in its rate.",
    remedy='Find out why, or make host a factor (spread = "compare").',
    source="Searle, Casella and McCulloch, Variance Components (1992), chapter 5",
    about="goodput_per_s",
)
def hosts_differ(hosts: Hosts) -> Iterator[Found]:
    if not hosts.differ or hosts.between_percent is None or hosts.within_percent is None:
        return
    told = [one for one in hosts.hosts if one.relative is not None]
    fastest, slowest = (pick(told, key=lambda one: one.relative or 0) for pick in (max, min))
    yield Found(
        f"Rates vary by {hosts.between_percent:.1f} % between hosts and by {hosts.within_percent:.1f} % between "
        f"repetitions on one, over {counted(hosts.combinations, 'combination')} (p = {hosts.p:.2g}).",
        tuple(
            Evidence(f"{one.name}: {100 * (one.relative or 0):.1f} % of the mean of all hosts")
            for one in (fastest, slowest)
        ),
    )
