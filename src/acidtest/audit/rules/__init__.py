"""The rules over benchmarks, in files by what they look at. A file that is added adds its rules."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from acidtest.doubts import rules as doubts
from acidtest.finding import Rule, rules_of


@cache
def rules() -> tuple[Rule[Any], ...]:
    """All rules, those over our own recordings among them: the most severe first, then by name."""
    return rules_of(sys.modules[__name__], doubts)


def over(subject: type) -> tuple[Rule[Any], ...]:
    """The rules that look at ``subject``."""
    return tuple(one for one in rules() if one.over is subject)
