"""What a study declares of itself, held against the kit and against itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from acidtest.audit import claims
from acidtest.audit.bench import Bench, Declared, DeclaredSide, Setting, of_one_series
from acidtest.finding import Found, rule

BY_WORD = {  # facts of a machine that may differ when a study varies something
    "processor": ("processor", "cores"),
    "memory": ("memory_gb",),
    "drive": ("drive",),
    "file_system": ("file_system",),
    "system": ("system",),
    "architecture": ("processor", "cores", "instance"),
}
CALLED = {"memory_gb": "memory", "file_system": "file system"}


@rule(
    "machine-differs",
    severity="invalid",
    says="The sides ran on different machines, and the machine is not what is compared.",
    remedy='Measure all sides on one machine, or declare it: varies = ["machine"].',
    disproved_by="a record of the runs that names one machine",
    source="TPC-C, clause 8.3: what was measured on is disclosed; G. Heiser, Systems Benchmarking Crimes",
)
def machine_differs(bench: Bench) -> Iterator[Found]:
    if bench.declared is None:
        return
    free = {fact for word in bench.declared.names for fact in BY_WORD.get(word, ())}
    for one, other in combinations(bench.declared.sides, 2):
        pairs = [pair for pair in _facts(bench.declared, one, other) if pair[0].name not in free]
        if pairs:
            text = "; ".join(f"{_called(a)} for {one.name} and {b.value} for {other.name}" for a, b in pairs)
            yield Found(f"{text}.", tuple(fact.says() for pair in pairs for fact in pair))


def _called(fact: Setting) -> str:
    return f"{CALLED.get(fact.name, fact.name)} is {fact.value}{' GB' if fact.name == 'memory_gb' else ''}"


def _facts(declared: Declared, one: DeclaredSide, other: DeclaredSide) -> Iterator[tuple[Setting, Setting]]:
    """Facts that are told of the machines of both and differ."""
    mine, theirs = declared.machine(one), declared.machine(other)
    for fact in mine.facts if mine and theirs else ():
        of_other = theirs.get(fact.name) if theirs else None
        if of_other and of_other.value.lower() != fact.value.lower():
            yield fact, of_other


@rule(
    "declared-otherwise",
    severity="invalid",
    says="A program or a dump of the kit is of another version than the study declares for its side.",
    remedy="Declare what was measured, or bring the files of what was measured.",
    disproved_by="a log or a version query of the measured server with the version that is declared",
    source="By definition: one of the two is wrong",
)
def declared_otherwise(bench: Bench) -> Iterator[Found]:
    by_name = {side.name: side for side in bench.sides}
    for one in bench.declared.sides if bench.declared else ():
        side = by_name.get(one.name)
        if side is None or not one.version:
            continue
        seen = [(binary.where, binary.version) for binary in side.binaries if binary.engine == one.engine]
        seen += [(conf.where, conf.version) for conf in side.configurations if conf.engine == one.engine]
        others = [(where, version) for where, version in seen if version and not of_one_series(one.version, version)]
        if others and len(others) == sum(bool(version) for _, version in seen):
            where, version = others[0]
            text = f"{one.name} is declared to be {one.version}, and {where.file} is of {version}."
            yield Found(text, (one.where.says(f"{one.name}: {one.version}"), where.says(version)))


@rule(
    "claim-does-not-follow",
    severity="invalid",
    says="A declared claim does not follow from the results of the kit.",
    remedy="Claim what the results show, or bring the results that the claim is from.",
    disproved_by="results of the same work that the claim follows from",
    source="T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time (2013); acidtest help docs/ANALYSIS.md",
)
def claim_does_not_follow(bench: Bench) -> Iterator[Found]:
    for answer in claims.answers(bench):
        if answer.verdict == "does not follow":
            yield Found(
                f"{answer.text.rstrip('.')}: the results show {answer.why}.",
                (answer.claim.where.says(answer.text), *answer.evidence),
            )
