"""Which tests run side by side, and which are begun first.

The workers of one run (see tests/run.sh) take one group after another. Tests of a group run in one worker, one after the
other, in the order of their files: what they share, such as a guest or an engine's template, is made once. Tests that
are marked ``alone`` measure, or change the whole machine; they come after all others, and nothing runs beside them.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

import durations
from extents import engine, mark, suite

# Each test of these makes all that it needs, and mostly waits: any worker takes the next one.
SINGLE = {"e2e", "place", "powercut", "conductor", "fleet"}


def arrange(items: list[pytest.Item]) -> None:
    """Give each test its marks and its group, and begin with the group that takes longest."""
    mark(items)
    kept = durations.Kept()
    takes: dict[str, float] = defaultdict(float)
    groups: dict[pytest.Item, str] = {}
    for item in items:
        if group := _group(item):
            item.add_marker(pytest.mark.xdist_group(group))
        groups[item] = group or item.nodeid
        takes[groups[item]] += kept.seconds(item.nodeid)
    items.sort(key=lambda item: -takes[groups[item]])  # stable: within a group the order stays


def _group(item: pytest.Item) -> str:
    """ "" for a test that any worker may take."""
    if suite(item) == "guest" or item.path.name in ("test_guest.py", "test_plug_guest.py", "test_whole_machine.py"):
        return "guest"  # an emulated machine takes a processor: one at a time
    if suite(item) in SINGLE and not _shares(item):
        return ""
    if suite(item) in ("engine", "session") and engine(item):
        return f"{suite(item)} {engine(item)}"
    return f"{suite(item)} {item.path.name}"


def _shares(item: pytest.Item) -> bool:
    """Whether a fixture of the test's own file serves several tests."""
    manager = item.session._fixturemanager
    found = [
        getfixturedef
        for name in getattr(item, "fixturenames", ())
        for getfixturedef in manager.getfixturedefs(name, item) or ()
    ]
    return any(one.scope == "module" for one in found)
