"""``make studies``: makes the pages of docs/studies/ again from kept recordings (``pages``), measures a study from
scratch (``measure``), or keeps the recordings of a run made elsewhere (``keep``)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from acidtest.errors import AcidtestError
from acidtest.journal import probe
from studies import pages, recordings
from studies.study import ROOT, Command, Experiment, read

# A run that ended whatever it found, whose journal is worth keeping.
DONE = (0, 1, 3)
ACIDTEST = Path(sys.executable).with_name("acidtest")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    making = parts.add_parser("pages", help="make pages of kept recordings")
    making.add_argument("study", nargs="*")
    measuring = parts.add_parser("measure", help="run a study's experiments, keep their recordings, make its page")
    measuring.add_argument("study")
    measuring.add_argument("--only", action="append", default=[], metavar="EXPERIMENT")
    measuring.add_argument("--out", type=Path, default=ROOT / "results" / "studies", help="a second call goes on there")
    keeping = parts.add_parser("keep", help="keep the journal of a run made elsewhere, and make the page")
    keeping.add_argument("study")
    keeping.add_argument("experiment")
    keeping.add_argument("directory", type=Path)
    asked = parser.parse_args()
    try:
        if asked.part == "pages":
            pages.write(pages.made(asked.study))
        elif asked.part == "measure":
            return _measure(asked.study, asked.only, asked.out)
        else:
            _keep(asked.study, asked.experiment, asked.directory)
            pages.write(pages.made([asked.study]))
    except AcidtestError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _measure(study: str, only: Sequence[str], out: Path) -> int:
    experiments = {name: one for name, one in read(study).study.experiments.items() if not only or name in only}
    print(f"{study}: {len(experiments)} experiments; before each, what it will do. All of it goes on after Ctrl-C.")
    for name, one in experiments.items():
        print(f"\n{name}: {one.file}, into {out / study / name}", flush=True)
        size = ["--quick"] if one.quick else []
        subprocess.run([str(ACIDTEST), "plan", one.file, *size], cwd=ROOT, check=False)
        for command in one.commands:
            code = _run(one, command, out / study / name)
            if code not in DONE:
                return code
        _keep(study, name, out / study / name)
    for name, test in read(study).study.disk_tests.items():
        place = out / study / name
        if (not only or name in only) and not (place / probe.NAME).exists():
            place.mkdir(parents=True, exist_ok=True)
            _, *arguments = test.command(str(place), str(place))
            if (code := subprocess.run([str(ACIDTEST), *arguments], cwd=ROOT, check=False).returncode) not in DONE:
                return code
            _keep(study, name, place)
    pages.write(pages.made([study]))
    print(f"\n{pages.PAGES / study}.md")
    return 0


def _run(one: Experiment, command: Command, out: Path) -> int:
    _, *arguments = one.command(command, str(out))
    return subprocess.run([str(ACIDTEST), *arguments], cwd=ROOT, check=False).returncode


def _keep(study: str, name: str, directory: Path) -> None:
    asked = read(study).study
    if name in asked.disk_tests:
        print(f"kept {recordings.keep_disk_test(study, name, directory).relative_to(ROOT)}")
        return
    one = asked.experiments[name]
    for command in one.commands:
        if (directory / recordings.FILES[command]).exists():
            path = recordings.keep(study, name, command, directory)
            print(f"kept {path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


sys.exit(main())
