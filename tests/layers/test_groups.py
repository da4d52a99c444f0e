"""The groups of tests/groups.py are in force: a pytest-xdist that does not know the pytest beside it drops them silently."""

import pytest


def test_a_worker_sees_the_group_of_a_test(request: pytest.FixtureRequest) -> None:
    group = request.node.get_closest_marker("xdist_group").args[0]
    assert group == "layers test_groups.py"
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith(f"@{group}")
