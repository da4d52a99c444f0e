"""What a study claims in its ``benchmark.toml``, held against its own results."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit import claims
from acidtest.audit.bench import Bench
from acidtest.finding import Found, rule


@rule(
    "claim-does-not-follow",
    severity="invalid",
    says="A declared claim does not follow from the results of the kit.",
    remedy="Claim what the results show, or bring the results that the claim is from.",
    disproved_by="results of the same work that the claim follows from",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (2013); acidtest help docs/ANALYSIS.md",
)
def claim_does_not_follow(bench: Bench) -> Iterator[Found]:
    for one in claims.answers(bench):
        if one.verdict == "does not follow":
            yield Found(
                f"{one.text.rstrip('.')}: the results show {one.why}.", (one.claim.where.says(one.text), *one.evidence)
            )
