"""``python -m bench audit``: the auditor on benchmarks of other people, beside what an expert says of each.

Of each half: how many of the expert's demands are met, what was said that is false, of how many files that hold results
or settings the auditor understood something, told that it did not, or was silent; seconds and peak memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.words import counted
from bench import processes
from bench.auditor import cases, snapshots
from bench.auditor.cases import Case
from bench.auditor.score import Answer, Score, score

LISTS = Path(__file__).parent / "auditor"
LONGEST_S = 300  # then a process is ended
EXIT_CODES = (0, 1, 2)  # others are failures


@dataclass(frozen=True)
class Plan:
    """Which benchmarks, and what is printed."""

    snapshots: Path
    halves: Sequence[str]
    only: str = ""  # part of the name
    details: bool = False  # each demand that was missed, each false finding, each file that nothing is said of
    jobs: int = 1
    keep: Path | None = None  # where to leave the benchmarks' files; None: nowhere


@dataclass(frozen=True)
class Ran:
    """One benchmark."""

    name: str
    case: Case
    score: Score
    exit_code: int
    seconds: float
    peak_mb: float
    absent: int = 0  # files that the snapshot lacks

    @property
    def failed(self) -> bool:
        return self.exit_code not in EXIT_CODES


def main(plan: Plan) -> None:
    for half in plan.halves:
        directory = LISTS / half
        listed = {name: case for name, case in cases.read(directory).items() if plan.only in name}
        if not listed:
            print(f"{half}: no benchmarks\n")
            continue
        with ThreadPoolExecutor(plan.jobs) as pool:
            ran = list(pool.map(lambda one: _run(one[0], one[1], plan), listed.items()))
        _print(half, dict(zip(listed, ran, strict=True)), plan)


def _run(name: str, case: Case, plan: Plan) -> Ran | None:
    """None where there is no snapshot of it."""
    git = snapshots.find(plan.snapshots, case.repository)
    if git is None:
        return None
    with tempfile.TemporaryDirectory(prefix="acidtest-audit-") as temporary:
        kit = (plan.keep or Path(temporary)) / name
        absent: tuple[str, ...] = ()
        if not kit.exists():
            kit.mkdir(parents=True)
            unpacked = snapshots.unpack(git, case.commit, case.path, case.only, kit)
            if unpacked is None:
                kit.rmdir()
                return None
            absent = unpacked.absent
        answer, seconds, peak_mb = _audit(kit)
    return Ran(name, case, score(case, answer), answer.exit_code, seconds, peak_mb, len(absent))


def _audit(kit: Path) -> tuple[Answer, float, float]:
    """What the auditor says of a kit, its seconds and its peak memory in MB."""
    command = [sys.executable, "-c", "from acidtest.cli import main; main()", "audit", str(kit), "--json"]
    ran = processes.run(["timeout", str(LONGEST_S), *command])
    try:
        answer = Answer(ran.exit_code, json.loads(ran.output) if ran.output else {})
    except ValueError:
        answer = Answer(-1)
    return answer, ran.seconds, ran.peak_mb


def _print(half: str, by_name: dict[str, Ran | None], plan: Plan) -> None:
    ran = [one for one in by_name.values() if one is not None]
    print(f"{half}: {counted(len(by_name), 'benchmark')}\n")
    # Of the untouched half only the totals, unless it is asked for by itself: who writes the auditor is to see no more.
    if half != "untouched" or (plan.details and plan.halves == [half]):
        print(
            f"{'benchmark':<46}{'met':>8}{'false invalid':>15}{'false doubtful':>16}{'severer':>9}"
            f"{'understood':>12}{'told':>6}{'silent':>8}{'s':>7}{'MB':>6}"
        )
        for one in ran:
            _print_one(one, details=plan.details)
        print()
    for name, nothing in by_name.items():
        if nothing is None:
            print(f"no snapshot below {plan.snapshots}: {name}")
    if ran:
        _print_totals(ran)
    print()


def _print_one(one: Ran, *, details: bool) -> None:
    of, demands = one.score, len(one.case.demand)
    print(
        f"{one.name[:45]:<46}{f'{len(of.met)}/{demands}':>8}{len(of.false_of('invalid')):>15}"
        f"{len(of.false_of('doubtful')):>16}{len(of.severer):>9}"
        f"{len(of.understood):>12}{len(of.told):>6}{len(of.silent):>8}{one.seconds:>7.1f}{one.peak_mb:>6.0f}"
        + (f"  ended with {one.exit_code}" if one.failed else "")
    )
    if details:
        for demand in of.missed:
            where = ", ".join(demand.where) or "anywhere"
            print(f"    missed {demand.basis} {demand.severity} {demand.rule} ({where}): {demand.why}")
        for said in of.false:
            print(f"    false {said.severity} {said.rule} ({', '.join(said.files[:3])}): {said.text}")
        for said in of.severer:
            print(f"    severer than demanded, {said.severity} {said.rule}: {said.text}")
        for file in of.silent:
            print(f"    silent about {file}")
        if one.absent:
            print(f"    {counted(one.absent, 'file')} not in the snapshot")


def _print_totals(ran: Sequence[Ran]) -> None:
    demands = [demand for one in ran for demand in one.case.demand if demand.basis == "data"]
    met = [demand for one in ran for demand in one.score.met if demand.basis == "data"]
    of_prose = [demand for one in ran for demand in one.case.demand if demand.basis == "prose"]
    false = {
        severity: [one for ran_one in ran for one in ran_one.score.false_of(severity)]
        for severity in ("invalid", "doubtful")
    }
    hit = {severity: sum(bool(one.score.false_of(severity)) for one in ran) for severity in false}  # type: ignore[arg-type]
    understood, told, silent = (
        sum(len(getattr(one.score, what)) for one in ran) for what in ("understood", "told", "silent")
    )
    files = understood + told + silent
    print(f"demands met         {len(met)} of {len(demands)}{_share(len(met), len(demands))}")
    for severity in ("invalid", "doubtful", "note"):
        of = [demand for demand in demands if demand.severity == severity]
        met_of = [demand for demand in met if demand.severity == severity]
        print(f"  {severity:<18}{len(met_of)} of {len(of)}{_share(len(met_of), len(of))}")
    print(f"out of scope        {counted(len(of_prose), 'demand')} of prose")
    for severity, of_severity in false.items():
        print(f"{'false ' + severity:<20}{len(of_severity)}, in {hit[severity]} of {counted(len(ran), 'benchmark')}")
    print(f"severer than meant  {sum(len(one.score.severer) for one in ran)}")
    of_files = f"{understood} of {files}{_share(understood, files)}"
    print(f"files understood    {of_files}, told not to be {told}, silent {silent}")
    print(f"silent about any    {sum(bool(one.score.silent) for one in ran)} of {counted(len(ran), 'benchmark')}")
    print(f"seconds             {sum(o.seconds for o in ran):.1f}, at most {max(o.seconds for o in ran):.1f}")
    print(f"peak memory         at most {max(o.peak_mb for o in ran):.0f} MB")
    failed = [one for one in ran if one.failed]
    print(f"failed              {len(failed)}{': ' if failed else ''}{', '.join(one.name for one in failed)}")


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.0%})" if whole else ""


def plan(where: Path | None, half: str | None, only: str, details: bool, jobs: int, keep: Path | None) -> Plan:
    """Raises BadInput where no snapshots are named."""
    if where is None or not where.is_dir():
        raise BadInput(
            "bench audit: needs a directory of snapshots", "--snapshots DIR, with bare git directories owner+name"
        )
    return Plan(where, [half] if half else cases.HALVES, only, details, jobs, keep)
