"""A study measured: its experiments run as a user runs them, one after the other, and their journals kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.journal import probe
from studies import recordings
from studies.study import ROOT, DiskTest, Experiment

# Whatever a run found that has ended: nothing, a verdict or finding, cells that could not run.
DONE = (0, 1, 3)
ACIDTEST = Path(sys.executable).with_name("acidtest")


def measure(study: str, experiments: Mapping[str, Experiment | DiskTest], out: Path) -> int:
    """Run them into directories below ``out``; where one holds a part already, it goes on. The exit code of the first
    that did not end, or 0. Raises BadInput for a journal that cannot be kept."""
    print(
        f"{study}: {len(experiments)} experiments, each of which says before what it will do, and goes on after Ctrl-C"
    )
    for name, experiment in experiments.items():
        if isinstance(experiment, DiskTest):
            if code := _disk_test(experiment, out / name):
                return code
            keep(study, name, experiment, out / name)
            continue
        print(f"\n{name}: {experiment.file}, into {out / name}", flush=True)
        size = ["--quick"] if experiment.quick else []
        for command in experiment.commands:
            if command == "run":
                subprocess.run([str(ACIDTEST), "plan", experiment.file, *size], cwd=ROOT, check=False)
            _, *arguments = experiment.command(command, str(out / name))
            code = subprocess.run([str(ACIDTEST), *arguments], cwd=ROOT, check=False).returncode
            if code not in DONE:
                return code
        keep(study, name, experiment, out / name)
    return 0


def _disk_test(one: DiskTest, out: Path) -> int:
    """Measure it in ``out``, unless that has one already; the exit code."""
    if (out / probe.NAME).exists():
        return 0
    out.mkdir(parents=True, exist_ok=True)
    _, *arguments = one.command(str(out), str(out))
    return subprocess.run([str(ACIDTEST), *arguments], cwd=ROOT, check=False).returncode


def keep(study: str, name: str, one: Experiment | DiskTest, directory: Path) -> None:
    """Keep what the experiment's commands have written into ``directory``, and say where. Raises BadInput where that is
    nothing."""
    if isinstance(one, DiskTest):
        print(f"kept {recordings.keep_disk_test(study, name, directory)}")
        return
    there = [command for command in one.commands if (directory / recordings.FILES[command]).exists()]
    if not there:
        raise BadInput(f"{directory}: no journal here", "give the directory that acidtest run wrote to (--out)")
    for command in there:
        path = recordings.keep(study, name, command, directory)
        print(f"kept {path}: {path.stat().st_size:,} bytes")
