"""``python -m bench cuts``: how long a cut takes from the load to its verdict, and crash states a second.

Beside them the processor time of a state, of the lab, the rigs and the disks: what more states took more. Work that the
kernel does for them by itself, of loop devices and journals, is not in it.

SQLite, and each embedded Firebird that is installed, ``numbered`` at level ``drive`` on an honest disk without timing
and ext4, four terminals, 50 commits. Cycles and states are those of ``acidtest powercut``, verdicts included: one that
is not ``survived`` is printed.
"""

from __future__ import annotations

import resource
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

from acidtest import experiment, powercut
from acidtest.cli.progress import watching
from acidtest.conductor import plan_of
from acidtest.engine import catalogue
from acidtest.journal.models import Cut
from bench.disk import spread

EXPERIMENT = """
name = "bench"
repetitions = {repetitions}
engine = "{engine}"
durability = "drive"
[workload.numbered]
terminals = 4
count = 50
[place]
kind = "disk"
filesystem = "ext4"
size_mb = 64
disk_failure = "{failure}"
"""
CUTS = 10
STATES = {"sqlite": 1000, "firebird": 200}  # by family, of each round
FEW = 60  # of which disks are made for six at once as well
MS = 1000


def main(rounds: int) -> None:
    engines = [catalogue.describe(offer.id) for offer in catalogue.offers() if offer.installed]
    engines = [engine for engine in engines if engine.family in STATES and engine.embedded]
    print(f"{'':<16}{'cut to verdict, s':>28}{'crash states a second':>28}{'processor ms a state':>28}")
    for engine in engines:
        states = STATES[engine.family]
        cuts = made(engine.id, failure="cut", repetitions=CUTS)
        explored: list[Cut] = []
        rates, took_ms = [], []
        for _ in range(rounds):
            (_, few_s), (looked, many_s) = (_explored(engine.id, number) for number in (FEW, states))
            explored.append(looked)
            rates += [looked.states.per_s] if looked.states else []
            took_ms.append(MS * (many_s - few_s) / (states - FEW))
        columns = spread([cut.cycle_s for cut in cuts], 2), spread(rates, 1), spread(took_ms, 1)
        print(f"{engine.id:<16}{''.join(f'{column:>28}' for column in columns)}")
        for cut in (*cuts, *explored):
            if cut.verdict != "survived":
                print(f"  {cut.verdict}: {'; '.join(cut.reasons[:2])}")


def _explored(engine: str, states: int) -> tuple[Cut, float]:
    """One load with so many states looked at, and the processor time of all that it took."""
    began = _processor_s()
    (cut,) = made(engine, failure="crash-states", repetitions=1, more=f"disk_states = {states}\n")
    return cut, _processor_s() - began


def _processor_s() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def made(engine: str, more: str = "", **asked: object) -> list[Cut]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "bench.toml"
        file.write_text(EXPERIMENT.format(engine=engine, **asked) + more, encoding="utf-8")
        with watching(Console(file=StringIO())) as watcher:
            outcome = powercut.cut_power(
                plan_of(experiment.read(file), cuts=True), file, Path(directory) / "out", watcher
            )
        return [recording.cut for recording in outcome.journal.recordings if recording.cut]
