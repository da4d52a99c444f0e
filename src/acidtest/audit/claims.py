"""What becomes of each declared claim: computed from the kit's own results, with the statistics of our own runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from acidtest.audit.bench import Bench, Claim, DeclaredSide, Published
from acidtest.audit.declared import is_of
from acidtest.audit.result_sides import product, without_products
from acidtest.audit.result_text import rate
from acidtest.finding import Evidence, Finding
from acidtest.words import counted

if TYPE_CHECKING:
    from acidtest.analysis.compare import Judged
    from acidtest.analysis.summary import Summary

Verdict = Literal["does not follow", "cannot tell", "follows"]
VERDICTS: tuple[Verdict, ...] = ("does not follow", "cannot tell", "follows")  # the worst first
EQUAL = 1.05  # times, within which two are equal unless the claim says otherwise
ROUNDED = 0.01  # of a factor that was published
QUOTED = 3  # results of each side
# Rules by whose findings two sides did not do the same work, or did not promise the same.
UNLIKE = {
    "workload-differs": "not the same work",
    "durability-differs": "not the same durability",
    "machine-differs": "not the same machine",
}

Samples = Mapping[tuple[object, ...], Sequence[tuple[float, Published]]]  # by what was run


@dataclass(frozen=True)
class Answer:
    """A claim, and what the results say of it."""

    claim: Claim
    verdict: Verdict
    why: str
    ratio: Summary | None = None  # of what was run that says the least for it
    evidence: tuple[Evidence, ...] = ()

    @property
    def text(self) -> str:
        return self.claim.text or stated(self.claim)

    def as_json(self) -> dict[str, Any]:
        interval = self.ratio.interval if self.ratio else None
        return {
            "text": self.text,
            "file": self.claim.where.file,
            "line": self.claim.where.line,
            "published": self.claim.published or None,
            "verdict": self.verdict,
            "why": self.why,
            "ratio": self.ratio.median if self.ratio else None,
            "interval": [interval.low, interval.high] if interval else None,
        }


def stated(claim: Claim) -> str:
    """The claim as a sentence."""
    one, other = claim.sides
    by = f" by {counted(claim.by, 'time', spec='g')}" if claim.by else ""
    of = "" if claim.metric == "rate" else f" ({claim.metric})"
    return (
        f"{one} is as fast as {other}{of}." if claim.kind == "equal" else f"{one} is {claim.kind} than {other}{by}{of}."
    )


def answers(bench: Bench, findings: Sequence[Finding] = ()) -> list[Answer]:
    """Of each claim what becomes of it, the worst first. ``findings`` may say that two sides cannot be compared."""
    claims = bench.declared.claims if bench.declared else ()
    of_each = [_weighed(bench, answer(bench, claim), findings) for claim in claims]
    return sorted(of_each, key=lambda one: VERDICTS.index(one.verdict))


def _weighed(bench: Bench, found: Answer, findings: Sequence[Finding]) -> Answer:
    """What follows from results of different work, or different promises, cannot be told."""
    if found.verdict != "follows":
        return found
    homes = [_files(bench, side, found.claim) for side in found.claim.sides]
    for finding in findings:
        places = {said.file for said in finding.evidence}
        if finding.rule.name in UNLIKE and not finding.waiver and all(places & of for of in homes):
            why = f"{UNLIKE[finding.rule.name]}, by the rule {finding.rule.name}"
            return Answer(found.claim, "cannot tell", why, found.ratio, found.evidence)
    return found


def _files(bench: Bench, name: str, claim: Claim) -> set[str]:
    side = next((side for side in bench.sides if side.name == name), None)
    parts = (side.binaries, side.configurations, side.databases, side.log, side.mounts) if side else ()
    files = {part.where.file for of_kind in parts for part in of_kind}
    files |= {side.where.file for side in bench.declared.sides if side.name == name} if bench.declared else set()
    files |= {
        setting.where.file
        for configuration in (side.configurations if side else ())
        for setting in configuration.settings
    }
    return files | {one.where.file for of in samples(bench, name, claim).values() for _, one in of}


def samples(bench: Bench, name: str, claim: Claim) -> Samples:
    """The figures of a side, or of the row of that name, by what was run."""
    held: dict[tuple[object, ...], list[tuple[float, Published]]] = defaultdict(list)
    for result in _results(bench, name, claim.results):
        value = figure(result, claim.metric)
        if value:
            script = without_products(result.script)
            held[
                result.tool, result.unit, script, result.scale, result.warehouses, result.terminals, result.asked_rate
            ].append((value, result))
    return held


def _results(bench: Bench, name: str, files: Sequence[str]) -> list[Published]:
    """Of a side those in its files, else those of its engine, and of no other side; else the results of that name."""
    rested = [other for other in bench.others if not other.planned and (not files or is_of(other.where.file, files))]
    sides = bench.declared.sides if bench.declared else ()
    if not _is_side(bench, name):
        return [other for other in rested if other.name == name]

    def alone(one: Published, among: Sequence[DeclaredSide]) -> bool:
        return [side.name for side in among if side.engine and product(one) == side.engine] == [name]

    held = [(other, [side for side in sides if side.files and is_of(other.where.file, side.files)]) for other in rested]
    mine = [one for one, among in held if [side.name for side in among] == [name] or alone(one, among)]
    return mine or [one for one, among in held if not among and alone(one, sides)]


def _is_side(bench: Bench, name: str) -> bool:
    return bench.declared is not None and any(side.name == name for side in bench.declared.sides)


def figure(one: Published, metric: str) -> float | None:
    if metric == "rate":
        return one.nopm or one.tpm or one.rate
    return one.took_s if metric == "took" else one.latency_ms.get(metric)


def answer(bench: Bench, claim: Claim) -> Answer:
    """By the results alone."""
    from acidtest.analysis.compare import judge  # noqa: PLC0415 - takes longer than a small kit without claims
    from acidtest.analysis.summary import ratio  # noqa: PLC0415

    first, second = (samples(bench, side, claim) for side in claim.sides)
    for name, held in zip(claim.sides, (first, second), strict=True):
        if not held:
            lacks = not _results(bench, name, claim.results) and _is_side(bench, name)
            none = f"no result belongs to side {name} alone; add it to its files"
            return Answer(claim, "cannot tell", none if lacks else f"no result of {name} has {_called(claim)}")
    same = [key for key in first if key in second]
    if not same:
        return Answer(claim, "cannot tell", "not the same work: no result of one side was run as one of the other")
    # What takes less time is faster.
    pairs = [([value for value, _ in first[key]], [value for value, _ in second[key]]) for key in same]
    pairs = [(mine, theirs) if claim.metric == "rate" else (theirs, mine) for mine, theirs in pairs]
    pairs = [(theirs, mine) if claim.kind == "slower" else (mine, theirs) for mine, theirs in pairs]
    found = [
        Answer(claim, *_verdict(claim, judged, ratio(*pair)), ratio(*pair), tuple(_quoted(first[key], second[key])))
        for key, pair, judged in zip(same, pairs, judge(pairs), strict=True)
    ]
    return min(found, key=lambda one: VERDICTS.index(one.verdict))


def _called(claim: Claim) -> str:
    return {"rate": "a rate", "took": "a time"}.get(claim.metric, f"a latency {claim.metric}")


def _quoted(*of: Sequence[tuple[float, Published]]) -> Iterator[Evidence]:
    for held in of:
        for value, one in held[:QUOTED]:
            yield one.where.says(rate(one) if value == one.rate or value in (one.tpm, one.nopm) else f"{value:,.6g}")


def _verdict(claim: Claim, judged: Judged, of: Summary) -> tuple[Verdict, str]:
    """The ratio is above 1 where the results are as is claimed."""
    span = of.interval
    if span is None or of.median is None:
        times = f"{counted(of.median, 'time', spec='.3g')}; " if of.median else ""
        return "cannot tell", f"{times}too few repetitions: {judged.reason}"
    times = counted(of.median, "time", spec=".3g")
    shown = f"{times} ({span.low:.3g} to {span.high:.3g}), of {counted(of.n, 'repetition')}"
    if claim.kind == "equal":
        within = claim.by or EQUAL
        if 1 / within <= span.low and span.high <= within:
            return "follows", shown
        apart = span.high < 1 / within or span.low > within
        return (
            ("does not follow", shown)
            if apart
            else ("cannot tell", f"{shown}: too wide for {counted(within, 'time', spec='g')}")
        )
    if judged.verdict == "cannot tell":
        return "cannot tell", f"{shown}: {judged.reason}"
    if judged.verdict != "faster":
        return "does not follow", f"{shown}: {judged.verdict}"
    if claim.by and not span.low * (1 - ROUNDED) <= claim.by <= span.high * (1 + ROUNDED):
        return "does not follow", f"{shown}, and not {claim.by:g}"
    return "follows", shown
