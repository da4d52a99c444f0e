"""``make studies``: makes the pages of docs/studies/ again from kept recordings (``pages``), measures a study from
scratch (``measure``), or keeps the recordings of a run made elsewhere (``keep``)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from acidtest.errors import AcidtestError, BadInput, not_among
from studies import measuring, pages
from studies.study import ROOT, DiskTest, Experiment, read


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    making = parts.add_parser("pages", help="make pages of kept recordings")
    making.add_argument("study", nargs="*")
    measuring_ = parts.add_parser("measure", help="run a study's experiments, keep their recordings, make its page")
    measuring_.add_argument("study")
    measuring_.add_argument("--only", action="append", default=[], metavar="EXPERIMENT")
    measuring_.add_argument(
        "--out", type=Path, default=ROOT / "results" / "studies", help="a second call goes on there"
    )
    keeping = parts.add_parser("keep", help="keep the journal of a run made elsewhere, and make the page")
    keeping.add_argument("study")
    keeping.add_argument("experiment")
    keeping.add_argument("directory", type=Path)
    asked = parser.parse_args()
    try:
        if asked.part == "pages":
            pages.write(pages.made(asked.study))
            return 0
        if asked.part == "measure":
            experiments = {name: _experiment(asked.study, name) for name in asked.only}
            experiments = experiments or _measured(asked.study)
            if code := measuring.measure(asked.study, experiments, asked.out.absolute() / asked.study):
                return code
        else:
            measuring.keep(asked.study, asked.experiment, _experiment(asked.study, asked.experiment), asked.directory)
        pages.write(pages.made([asked.study]))
        print(f"{pages.PAGES / asked.study}.md")
    except AcidtestError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _measured(study: str) -> dict[str, Experiment | DiskTest]:
    """All that is measured for it, by name."""
    asked = read(study).study
    return {**asked.experiments, **asked.disk_tests}


def _experiment(study: str, name: str) -> Experiment | DiskTest:
    """Raises BadInput where the study has none of that name."""
    among = _measured(study)
    if name not in among:
        raise BadInput(f"{study}: {not_among('experiment', name, among)}")
    return among[name]


sys.exit(main())
