"""The rules, in files by what they look at. Every ``Rule`` at the top of a module in this package is one: adding a
file adds its rules."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from acidtest.audit.finding import SEVERITIES, Rule


@cache
def rules() -> tuple[Rule[Any], ...]:
    """All rules, the most severe first, then by name."""
    by_name: dict[tuple[str, type], Rule[Any]] = {}  # rows of ours and benchmarks may share a name
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, Rule):
                assert by_name.setdefault((one.name, one.over), one) is one, f"two rules are called {one.name}"
    return tuple(sorted(by_name.values(), key=lambda one: (SEVERITIES.index(one.severity), one.name)))


def over(subject: type) -> tuple[Rule[Any], ...]:
    """The rules that look at ``subject``."""
    return tuple(one for one in rules() if one.over is subject)
