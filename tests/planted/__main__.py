"""Plant each fault, run the tests that could see it, and print which test has noticed: ``make planted``."""

from __future__ import annotations

import argparse
import fnmatch
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extents import PURE
from planted.fault import Fault, read
from planted.planting import HUNG, Copy, Failures, Untried, copied

DIRECTORY = Path(__file__).parent
KEPT = DIRECTORY / "noticed.json"
PAGE = DIRECTORY / "README.md"
BEGIN, END = "<!-- noticed: make planted writes this -->", "<!-- end of noticed -->"
CONFIRMED = 3  # tests that are run again, with the fault and without it
EXTENTS = ("fast", "test", "long")

Noticed = dict[str, Any]


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and the tests at work are ended
    faults = [read(patch) for patch in sorted(DIRECTORY.glob("*.patch")) if fnmatch.fnmatch(patch.stem, options.only)]
    column, kept, untried = "before" if options.at else "after", _kept(), 0
    with copied(options.at, options.workers) as copy:
        passes: dict[str, bool] = {}
        for fault in faults:
            if options.kept and _is_known(kept.get(fault.name, {}).get(column), fault, options.extent):
                continue
            begun = time.monotonic()
            try:
                noticed = look(copy, passes, fault, options.extent)
            except Untried as error:
                print(f"{fault.name}: ERROR: {error}", flush=True)
                untried += 1
                continue
            noticed |= {"s": round(time.monotonic() - begun), "asked": options.extent, "diff": fault.digest}
            print(f"{fault.name}: {_words(noticed)} ({noticed['s']} s)", flush=True)
            kept = _kept()  # another run may have written meanwhile
            kept.setdefault(fault.name, {})[column] = noticed
            KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    write_table(kept)
    missed = [fault.name for fault in faults if not kept.get(fault.name, {}).get(column, {"extent": "?"})["extent"]]
    print(f"{len(faults)} faults, {len(missed)} not noticed, {untried} that could not be tried")
    return int(bool(missed or untried))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make planted", description=__doc__)
    parser.add_argument("--only", default="*", help="faults whose names match this pattern, as ledger-*")
    parser.add_argument("--extent", default="test", choices=EXTENTS, help="which tests may notice")
    parser.add_argument("--at", default="", help="plant them into this commit, and keep the result as the state before")
    parser.add_argument("--workers", default=2, type=int, help="that run tests side by side")
    parser.add_argument("--kept", action="store_true", help="leave out faults of which a result is kept")
    return parser.parse_args()


def _kept() -> dict[str, dict[str, Noticed]]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def _is_known(noticed: Noticed | None, fault: Fault, extent: str) -> bool:
    """Whether another look would ask the same of the same fault, or is not needed."""
    if noticed is None or noticed["diff"] != fault.digest:
        return False
    return bool(noticed["extent"]) or noticed["asked"] in (extent, "long")


def look(copy: Copy, passes: dict[str, bool], fault: Fault, extent: str) -> Noticed:
    """Who notices it: the least extent with a test that does, that test, and how many more.

    A test notices it if it fails, fails again, and passes where nothing is planted; ``passes`` keeps what does. Raises
    Untried.
    """
    for asked in ("test", "long") if extent == "long" else (extent,):
        unsure: list[str] = []
        while True:
            with copy.planted(fault.patch):
                failed = _failures(copy, fault, asked, unsure, all_of_them=extent == "long")
                first = sorted(failed, key=lambda test: (EXTENTS.index(failed[test]), test))[:CONFIRMED]
                again = [test for test in first if _may_pass(test)]
                rig = copy.rig() if fault.crates and again else ""
                fails_again = copy.pytest(again, asked, rig=rig) if again else {}
            new = [test for test in first if test not in passes and _is_python(test)]
            broken = copy.pytest(new, asked) if new else {}
            passes |= {test: test not in broken for test in new}
            sure = [test for test in first if passes.get(test, True) and (test in fails_again or test not in again)]
            if sure:
                return {"extent": failed[sure[0]], "by": sure[0], "tests": len(failed)}
            if not failed:
                break
            unsure += first
    return {"extent": None, "by": "", "tests": 0}


def _failures(copy: Copy, fault: Fault, extent: str, left_out: Sequence[str], *, all_of_them: bool) -> Failures:
    """Of one file after the other, until a test has failed; of that file all that do, if those are wanted."""
    failed = copy.cargo(fault.crates) if fault.crates else {}
    rig = copy.rig() if fault.crates and fault.tests and not failed else ""
    options = [f"--deselect={test}" for test in left_out] + ([] if all_of_them else ["--maxfail=1"])
    for arguments in fault.tests:
        if not failed and ((copy.tree / arguments[0]).exists() or not copy.is_old):
            failed = copy.pytest(arguments, extent, *options, rig=rig, workers=copy.workers)
    return failed


def _is_python(test: str) -> bool:
    return test != HUNG and not test.startswith("cargo ")


def _may_pass(test: str) -> bool:
    """Whether it asks something of the machine, so that it may fail once for another reason."""
    return _is_python(test) and Path(test).parts[1] not in PURE


def _words(noticed: Noticed | None) -> str:
    if noticed is None:
        return ""
    if noticed["extent"] is None:
        return "NOT NOTICED"
    more = f" and {noticed['tests'] - 1} more" if noticed["tests"] > 1 else ""
    return (
        f"`{'make test-long' if noticed['extent'] == 'long' else 'make test'}`: {noticed['by'].replace('|', '/')}{more}"
    )


def write_table(kept: dict[str, dict[str, Noticed]]) -> None:
    """Write into README.md which tests notice each fault."""
    lines = ["| Fault | What it does | Before | Now |", "| --- | --- | --- | --- |"]
    for fault in map(read, sorted(DIRECTORY.glob("*.patch"))):
        found = kept.get(fault.name, {})
        before = "" if "before" not in found else "noticed" if found["before"]["extent"] else "not noticed"
        lines.append(f"| {fault.name} | {fault.what} | {before} | {_words(found.get('after'))} |")
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    sys.exit(main())
