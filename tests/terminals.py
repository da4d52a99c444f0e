"""What a function prints in a terminal of some width."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console


def printed(show: Callable[..., object], *given: object, width: int = 160) -> str:
    """The text that ``show`` writes; it takes what is ``given``, and then a console."""
    text = io.StringIO()
    show(*given, Console(file=text, width=width, highlight=False))
    return text.getvalue()


def words(text: str) -> str:
    """Without line breaks and runs of blanks."""
    return " ".join(text.split())
