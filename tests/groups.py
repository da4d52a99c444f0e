"""Which tests run side by side.

The workers of one run (see tests/run.sh) take one group after another. Tests of a group run in one worker, one after the
other, in the order of their files: what they share, such as a guest or an engine's template, is made once. Tests that
are marked ``alone`` measure, or change the whole machine; they come after all others, and nothing runs beside them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Suites that ask nothing of the machine. What opens a browser is no part of them.
PURE = {
    "analysis", "audit", "cli", "experiment", "fuzz", "journal", "layers", "plan", "protocol", "question", "reference",
    "report", "studies", "workload",
}  # fmt: skip
FAST_ENGINE = "sqlite"
# Each test of these makes all that it needs, and mostly waits: any worker takes the next one.
SINGLE = {"e2e", "place", "powercut", "conductor", "fleet"}
# In this order they are begun: what takes long is not to be the last that a run waits for.
BEGUN = ("guest", "fleet", "e2e", "session", "engine", "place", "powercut", "conductor")


def arrange(items: list[pytest.Item]) -> None:
    """Give each test its marks and its group, and put them into the order in which groups are begun."""
    for item in items:
        if _asks_little(item) and not item.get_closest_marker("slow"):
            item.add_marker("fast")
        if group := _group(item):
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=_rank)  # stable: within a group the order stays


def _suite(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _asks_little(item: pytest.Item) -> bool:
    suite = _suite(item)
    if suite in ("engine", "session"):
        return _engine(item) == FAST_ENGINE
    return suite in PURE and "browser" not in _fixtures(item)


def _engine(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    return str(call.params.get("engine", "")) if call else ""


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


def _group(item: pytest.Item) -> str:
    """ "" for a test that any worker may take."""
    suite, engine = _suite(item), _engine(item)
    if suite == "guest" or item.path.name in ("test_guest.py", "test_plug_guest.py"):
        return "guest"  # an emulated machine takes a processor: one at a time
    if suite in SINGLE and not _shares(item):
        return ""
    if suite in ("engine", "session") and engine:
        return f"{suite} {engine}"
    return f"{suite} {item.path.name}"


def _shares(item: pytest.Item) -> bool:
    """Whether a fixture of the test's own file serves several tests."""
    manager = item.session._fixturemanager
    found = [one for name in _fixtures(item) for one in manager.getfixturedefs(name, item) or ()]
    return any(one.scope == "module" for one in found)


def _rank(item: pytest.Item) -> int:
    if _group(item) == "guest":
        return 0
    suite = _suite(item)
    return BEGUN.index(suite) if suite in BEGUN else len(BEGUN)
