"""Plant each fault, run the tests that could see it, and print which test has noticed: ``make planted``."""

from __future__ import annotations

import argparse
import fnmatch
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from extents import PURE
from planted.fault import DIRECTORY, Fault, read
from planted.planting import Copy, Ended, Failed, copied

KEPT = DIRECTORY / "noticed.json"
PAGE = DIRECTORY / "README.md"
BEGIN, END = "<!-- noticed: make planted writes this -->", "<!-- end of noticed -->"
CONFIRMED = 3  # tests that are run without the fault, too, before it counts as noticed
EXTENTS = ("fast", "test", "long")


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and the tests at work are ended
    faults = [read(patch) for patch in sorted(DIRECTORY.glob("*.patch")) if fnmatch.fnmatch(patch.stem, options.only)]
    kept: dict[str, dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    column = "before" if options.at else "after"
    errors = 0
    with copied(options.at, options.workers) as copy:
        clean = Clean(copy)
        for fault in faults:
            if options.kept and _is_kept(kept.get(fault.name, {}).get(column), fault, options.extent):
                continue
            begun = time.monotonic()
            try:
                noticed = look(copy, clean, fault, options.extent)
            except Failed as failed:
                print(f"{fault.name}: ERROR: {failed}", flush=True)
                errors += 1
                continue
            noticed |= {"s": round(time.monotonic() - begun), "asked": options.extent, "diff": fault.digest}
            print(f"{fault.name}: {_words(noticed)} ({noticed['s']} s)", flush=True)
            kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}  # another run may have written meanwhile
            kept.setdefault(fault.name, {})[column] = noticed
            KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    table(kept)
    missed = [one.name for one in faults if not kept.get(one.name, {}).get(column, {"extent": "?"})["extent"]]
    print(f"{len(faults)} faults, {len(missed)} not noticed, {errors} that could not be tried")
    return int(bool(missed or errors))


def _is_kept(noticed: dict[str, Any] | None, fault: Fault, extent: str) -> bool:
    """Whether another look would ask the same, or is not needed."""
    if noticed is None or noticed.get("diff", fault.digest) != fault.digest:
        return False
    return bool(noticed["extent"]) or noticed.get("asked", "test") in (extent, "long")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make planted", description=__doc__)
    parser.add_argument("--only", default="*", help="faults whose names match this pattern, as ledger-*")
    parser.add_argument("--extent", default="test", choices=EXTENTS, help="which tests may notice")
    parser.add_argument("--at", default="", help="plant them into this commit, and keep the result as the state before")
    parser.add_argument("--workers", default=2, type=int, help="that run tests side by side")
    parser.add_argument("--kept", action="store_true", help="leave out faults of which a result is kept")
    return parser.parse_args()


def look(copy: Copy, clean: Clean, fault: Fault, extent: str) -> dict[str, Any]:
    """Who notices it: the least extent with a test that does, that test, and how many more. Raises Failed.

    A test notices it if it fails, fails again, and passes where nothing is planted.
    """
    for extent_now in ("test", "long") if extent == "long" else (extent,):
        unsure: list[str] = []
        while True:
            with copy.planted(fault.patch):
                ended = _tests(copy, fault, extent_now, left_out=unsure, first=extent != "long")
                failed = sorted(ended.failed, key=lambda test: (EXTENTS.index(ended.failed[test]), test))
                again = _failed(copy, failed[:CONFIRMED], extent_now, copy.rig() if fault.crates else None)
            confirmed = clean.passes(again, extent_now)
            if ended.ended:
                return {"extent": extent_now, "by": "the tests had to be ended", "tests": 1}
            if confirmed:
                return {"extent": ended.failed[confirmed[0]], "by": confirmed[0], "tests": len(failed)}
            if not failed:
                break
            unsure += failed[:CONFIRMED]
    return {"extent": None, "by": "", "tests": 0}


class Clean:
    """The tree without a fault."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._passes: dict[str, bool] = {}

    def passes(self, tests: list[str], extent: str) -> list[str]:
        """Those that pass there."""
        new = [test for test in tests if test not in self._passes]
        python = [test for test in new if not test.startswith("cargo ")]
        failed = self._copy.pytest(python, extent, first=False, workers=0).failed if python else {}
        self._passes |= {test: test not in failed for test in new}
        return [test for test in tests if self._passes[test]]


def _failed(copy: Copy, tests: list[str], extent: str, rig: Path | None = None) -> list[str]:
    """Which of these fail now."""
    python = [test for test in tests if not _is_pure(test)]
    failed = copy.pytest(python, extent, first=False, rig=rig, workers=0).failed if python else {}
    return [test for test in tests if test in failed or test not in python]


def _is_pure(test: str) -> bool:
    """Whether it does not depend on when it runs."""
    return test.startswith("cargo ") or Path(test).parts[1] in PURE


def _tests(copy: Copy, fault: Fault, extent: str, *, left_out: list[str], first: bool) -> Ended:
    """One file after the other, until one has noticed; with all that fail in it unless only the ``first`` is wanted."""
    ended = copy.cargo(fault.crates) if fault.crates else Ended({}, ended=False)
    rig = copy.rig() if fault.crates and not ended.failed else None
    deselected = [argument for test in left_out for argument in ("--deselect", test)]
    for arguments in fault.tests:
        if ended.failed or ended.ended:
            break
        if not (copy.tree / arguments[0]).exists() and copy.is_old:
            continue
        ended = copy.pytest([*arguments, *deselected], extent, first=first, rig=rig)
    return ended


def _words(noticed: dict[str, Any] | None) -> str:
    if noticed is None:
        return ""
    if noticed["extent"] is None:
        return "NOT NOTICED"
    more = f" and {noticed['tests'] - 1} more" if noticed["tests"] > 1 else ""
    return (
        f"`{'make test-long' if noticed['extent'] == 'long' else 'make test'}`: {noticed['by'].replace('|', '/')}{more}"
    )


def table(kept: dict[str, dict[str, Any]]) -> None:
    """Write into README.md which tests notice each fault."""
    lines = ["| Fault | What it does | Before | Now |", "| --- | --- | --- | --- |"]
    for fault in map(read, sorted(DIRECTORY.glob("*.patch"))):
        found = kept.get(fault.name, {})
        was = found.get("before")
        words = "" if was is None else "noticed" if was["extent"] else "not noticed"
        lines.append(f"| {fault.name} | {fault.what} | {words} | {_words(found.get('after'))} |")
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    sys.exit(main())
