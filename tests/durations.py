"""How long each test takes, and on what.

Every run keeps both where ``ACIDTEST_DURATIONS`` names a file: one line of JSON a test. ``python tests/durations.py`` folds
such files into ``durations.json``, from which the order of tests comes (``groups``), and into the table of CONTRIBUTING.md.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
KEPT = TESTS / "durations.json"
SLOW_S = 0.5  # a test that takes less is kept as a part of its file only
BEGIN, END = "<!-- durations: make test-durations writes this -->", "<!-- end of durations -->"

# What is timed, here and in the commands that are forked (see ``forked``). What lies within another is a part of that.
KINDS = {
    "engine starts": [("acidtest.engine.server", "Server.start")],
    "guest boots": [("acidtest.place.guest.machine", "Guest._boot")],
    "places": [("acidtest.place.making", "make"), ("acidtest.place.mounted", "MountedPlace.release")],
    "loads and runs": [("acidtest.conductor.rig", "Process.lines"), ("acidtest.conductor.rig", "Process.ended")],
    "sleeps": [("time", "sleep")],
}
GROUP = re.compile(r"@[^@\]]*$")  # pytest-xdist puts a test's group behind its name
_within = threading.local()


def timed() -> None:
    """Time from now on what ``KINDS`` names; every process appends to the file that ``ACIDTEST_COSTS`` names."""
    for kind, places in KINDS.items():
        for module, name in places:
            owner: Any = __import__(module, fromlist=["*"])
            *path, attribute = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, attribute, _timed(kind, getattr(owner, attribute)))


def add(kind: str, seconds: float) -> None:
    if file := os.environ.get("ACIDTEST_COSTS"):
        with Path(file).open("a") as costs:
            costs.write(f"{kind}\t{seconds:.3f}\n")


def _timed(kind: str, does: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(does)
    def timing(*arguments: Any, **named: Any) -> Any:
        with _span(kind):
            value = does(*arguments, **named)
        return _steps(kind, value) if isinstance(value, Generator) else value

    return timing


def _steps(kind: str, steps: Generator[Any]) -> Iterator[Any]:
    try:
        while True:
            with _span(kind):
                value = next(steps, steps)
            if value is steps:
                return
            yield value
    finally:
        steps.close()


@contextmanager
def _span(kind: str) -> Iterator[None]:
    if getattr(_within, "kind", None):
        yield
        return
    _within.kind, begun = kind, time.monotonic()
    try:
        yield
    finally:
        _within.kind = None
        if (seconds := time.monotonic() - begun) > 0.002:
            add(kind, seconds)


class Recorder:
    """A plugin of pytest: of each worker, and of the process that they report to."""

    def __init__(self, config: pytest.Config) -> None:
        self._kept = None if hasattr(config, "workerinput") else os.environ.get("ACIDTEST_DURATIONS")
        self._fixtures: dict[str, float] = {}
        self._costs: Path | None = None
        self._read = 0
        self._tests: dict[str, dict[str, Any]] = defaultdict(lambda: {"s": 0.0})

    def begin(self, file: Path) -> None:
        """In a worker, before its first test."""
        os.environ["ACIDTEST_COSTS"] = str(file)
        file.touch()
        self._costs = file
        timed()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        begun = time.monotonic()
        try:
            return (yield)
        finally:
            seconds = time.monotonic() - begun
            if fixturedef.scope != "function" and seconds > 0.1:
                self._fixtures[fixturedef.argname] = self._fixtures.get(fixturedef.argname, 0) + seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = os.times()
        self._cpu_before = sum(before[:4])
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown" and self._costs:
            with self._costs.open() as file:
                file.seek(self._read)
                lines, self._read = file.read().splitlines(), file.tell()
            costs: dict[str, float] = defaultdict(float)
            for line in lines:
                kind, _, seconds = line.partition("\t")
                costs[kind] += float(seconds)
            costs["processor"] += sum(os.times()[:4]) - self._cpu_before
            extent = next((name for name in ("long", "fast") if item.get_closest_marker(name)), "test")
            report.user_properties.append(("extent", extent))
            report.user_properties.append(("costs", {kind: round(s, 2) for kind, s in costs.items() if s > 0.01}))
            report.user_properties.append(("fixtures", {name: round(s, 2) for name, s in self._fixtures.items()}))
            self._fixtures = {}
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._kept:
            told = self._tests[report.nodeid]
            told["s"] += report.duration
            if report.when == "teardown":
                told |= dict(report.user_properties)
                with Path(self._kept).open("a") as file:
                    json.dump({"test": GROUP.sub("", report.nodeid), **told}, file)
                    file.write("\n")
                del self._tests[report.nodeid]


class Kept:
    """What ``durations.json`` says."""

    def __init__(self) -> None:
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        self.files: dict[str, dict[str, Any]] = kept.get("files", {})
        self.fixtures: dict[str, dict[str, float]] = kept.get("fixtures", {})
        self.rig: dict[str, float] = kept.get("rig", {})

    def seconds(self, test: str) -> float:
        """How long this test took; of a new one, as long as others of its file."""
        file, _, name = test.partition("::")
        kept = self.files.get(file)
        if not kept:
            return 1.0
        others = kept["tests"] - len(kept["slow"])
        return float(kept["slow"].get(name, (kept["s"] - sum(kept["slow"].values())) / max(1, others)))

    def fold(self, lines: list[dict[str, Any]]) -> None:
        """Replace what it says of files of tests by these lines of a run, and drop files that are gone."""
        self.files = {file: told for file, told in self.files.items() if (TESTS.parent / file).exists()}
        by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in lines:
            by_file[line["test"].partition("::")[0]].append(line)
        for file, tests in by_file.items():
            self.files[file] = _of_file(tests)
        for name, seconds in ((name, s) for line in lines for name, s in line.get("fixtures", {}).items()):
            kept = self.fixtures.setdefault(name, {"times": 0, "s": 0.0})
            kept["times"] += 1
            kept["s"] = round(kept["s"] + seconds, 1)

    def write(self) -> None:
        """A line for each file of tests, so that a change is read as one."""
        parts = []
        for name in ("files", "fixtures", "rig"):
            lines = ",\n".join(
                f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(getattr(self, name).items())
            )
            parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
        KEPT.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def _of_file(tests: list[dict[str, Any]]) -> dict[str, Any]:
    extents: dict[str, dict[str, Any]] = {}
    for extent in ("fast", "test", "long"):
        if these := [test for test in tests if test.get("extent") == extent]:
            costs: Counter[str] = Counter()
            for test in these:
                costs.update(test["costs"])
            extents[extent] = {
                "tests": len(these),
                "s": round(sum(test["s"] for test in these), 1),
                "costs": {kind: round(s, 1) for kind, s in costs.items() if s >= 0.1},
            }
    slow = {test["test"].partition("::")[2]: round(test["s"], 1) for test in tests if test["s"] >= SLOW_S}
    return {"tests": len(tests), "s": round(sum(test["s"] for test in tests), 1), "extents": extents, "slow": slow}


def table(kept: Kept) -> str:
    """By suite: tests and seconds of each extent, and what the seconds of ``make test`` go into."""
    head = [
        "Suite",
        "Tests",
        "Seconds",
        *(kind.capitalize() for kind in KINDS),
        "Other",
        "Processor",
        "Only long: tests",
        "Seconds",
    ]
    rows, total = [], Counter[str]()
    by_suite: dict[str, Counter[str]] = defaultdict(Counter)
    for file, of in kept.files.items():
        for extent, told in of["extents"].items():
            where = "long" if extent == "long" else "test"
            found = Counter({f"{where} tests": told["tests"], f"{where} s": told["s"]})
            if where == "test":
                found.update(told["costs"])
            by_suite[file.split("/")[1]].update(found)
            total.update(found)
    for name, found in [*sorted(by_suite.items(), key=lambda pair: -pair[1]["test s"]), ("all", total)]:
        known = sum(found[kind] for kind in KINDS)
        figures = [
            found["test tests"], found["test s"], *(found[kind] for kind in KINDS), max(0, found["test s"] - known),
            found["processor"], found["long tests"], found["long s"],
        ]  # fmt: skip
        rows.append([name, *(f"{figure:,.0f}" for figure in figures)])
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rig(output: str) -> dict[str, float]:
    """How long each of Cargo's programs of tests took."""
    found: dict[str, float] = {}
    program = ""
    for line in output.splitlines():
        if running := re.search(r"Running .*/deps/(\w+)-[0-9a-f]+\)", line):
            program = running[1]
        elif seconds := re.match(r"test result: .* finished in ([\d.]+)s", line):
            found[program] = float(seconds[1])
    return found


def main(directory: Path) -> None:
    """Fold the files of a run into durations.json, and write the table of CONTRIBUTING.md."""
    kept = Kept()
    kept.fixtures = {}
    lines = [json.loads(line) for file in directory.glob("*.durations") for line in file.read_text().splitlines()]
    kept.fold(lines)
    if (directory / "rust").exists():
        kept.rig = _rig((directory / "rust").read_text(errors="replace"))
    kept.write()
    page = TESTS.parent / "CONTRIBUTING.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table(kept)}\n\n{END}{after}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
