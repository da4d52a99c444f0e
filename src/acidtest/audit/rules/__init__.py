"""The rules over benchmarks, in files by what they look at. A file that is added adds its rules."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from acidtest.audit.bench import Bench
from acidtest.doubts import rules as doubts
from acidtest.finding import Rule, rules_of


@cache
def rules() -> tuple[Rule[Any], ...]:
    """All rules, those over our own recordings among them: the most severe first, then by name."""
    return rules_of(sys.modules[__name__], doubts)


@cache
def over(subject: type) -> tuple[Rule[Any], ...]:
    """The rules that look at ``subject``. Those over benchmarks are all here: what the others import takes longer than
    a small benchmark."""
    of = rules_of(sys.modules[__name__]) if subject is Bench else rules()
    return tuple(one for one in of if one.over is subject)
