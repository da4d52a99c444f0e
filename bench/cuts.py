"""``python -m bench cuts``: how long a cut takes from the load to its verdict, and crash states a second.

SQLite, and each embedded Firebird that is installed, ``numbered`` at level ``drive`` on an honest disk without timing
and ext4, four terminals, 50 commits. Cycles and states are those of ``acidtest powercut``, verdicts included: one that
is not ``survived`` is printed.
"""

from __future__ import annotations

import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

from acidtest import experiment, powercut
from acidtest.cli.run import watching
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
STATES = {"sqlite": 100, "firebird": 30}  # by family, of each round


def main(rounds: int) -> None:
    engines = [catalogue.describe(one.id) for one in catalogue.offers() if one.installed]
    engines = [one for one in engines if one.family in STATES and one.embedded]
    print(f"{'':<16}{'cut to verdict, s':>28}{'crash states a second':>28}")
    for engine in engines:
        states = STATES[engine.family]
        cuts = made(engine.id, failure="cut", repetitions=CUTS)
        explored = made(engine.id, failure="crash-states", repetitions=rounds, more=f"disk_states = {states}\n")
        rates = [cut.states.per_s for cut in explored if cut.states]
        print(f"{engine.id:<16}{spread([cut.cycle_s for cut in cuts], 2):>28}{spread(rates, 1):>28}")
        for cut in (*cuts, *explored):
            if cut.verdict != "survived":
                print(f"  {cut.verdict}: {'; '.join(cut.reasons[:2])}")


def made(engine: str, more: str = "", **asked: object) -> list[Cut]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "bench.toml"
        file.write_text(EXPERIMENT.format(engine=engine, **asked) + more, encoding="utf-8")
        with watching(Console(file=StringIO())) as watcher:
            outcome = powercut.cut_power(
                plan_of(experiment.read(file), cuts=True), file, Path(directory) / "out", watcher
            )
        return [recording.cut for recording in outcome.journal.recordings if recording.cut]
