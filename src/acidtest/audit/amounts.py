"""Figures as others write them, read by whatever they stand in."""

from __future__ import annotations

import re
from typing import Any

NUMBER = r"(\d{1,15}(?:\.\d{1,20})?)"
_NUMBER = re.compile(rf"\s*+{NUMBER}\s*+")


def number(value: Any) -> float | None:
    """A figure of JSON or of text that is no less than 0; None of anything else."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e18 else None


def whole(value: Any) -> int | None:
    amount = number(value)
    return None if amount is None else int(amount)
