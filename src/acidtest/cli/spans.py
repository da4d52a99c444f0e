"""Spans of time as a person says them."""

import re

from acidtest.errors import BadInput

PARTS = re.compile(r"(?:([0-9]{1,4})\s*h)?\s*(?:([0-9]{1,5})\s*m(?:in)?)?\s*(?:([0-9]{1,6})\s*s)?")
LONGEST_S = 7 * 86_400


def span(seconds: float) -> str:
    """``42 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def seconds_of(text: str) -> int:
    """The seconds of ``90s``, ``10m``, ``10 min`` or ``1h30m``. Raises BadInput for all else, and beyond a week."""
    match = PARTS.fullmatch(text.strip().lower())
    if match is None or not any(match.groups()):
        raise BadInput(f'"{text}" is not a time', 'write it as "90s", "10m" or "1h30m"')
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    whole = hours * 3600 + minutes * 60 + seconds
    if not 1 <= whole <= LONGEST_S:
        raise BadInput(f'"{text}": a time is from 1s to {LONGEST_S // 3600}h')
    return whole
